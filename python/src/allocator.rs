//! `fairlane.drum.Allocator`: a host's problem that stands while applications come, go and change.

use std::sync::atomic::{AtomicU64, Ordering};

use fairlane_drum::{
    Allocator as Standing, Application, Claim, Fairness, Key as Name, Options, Sharing, Utility,
};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::drum::{Solution, dependency, refused, utility, wrong};

/// Names an application of an `Allocator` for as long as it is there.
#[pyclass(frozen, eq, hash, module = "fairlane.drum")]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    allocator: u64,
    name: Name,
}

/// A `fairlane.drum.Claim`.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    weight: f64,
    latency_weight: f64,
    a: f64,
    bytes_per_wqe: f64,
    poll_cost: f64,
    x_min: f64,
    x_max: f64,
    peak_rate: Option<f64>,
    outage: Option<f64>,
}

/// A host's problem that stands while applications come, go and change.
///
/// A solution starts from the prices of the last one, so that it takes a few passes over the applications
/// after a small change. It is as good as one from nothing.
///
/// `alpha`, `beta`, `Q`, `C`, `mode`, `k`, `dependency` and `tolerance` are as those of `solve`; a `k` above
/// the number of applications doesn't bind.
///
/// >>> from fairlane import drum
/// >>> allocator = drum.Allocator(alpha=1.0, Q=12e9, C=1.0)
/// >>> small = allocator.insert(drum.Claim(bytes_per_wqe=64.0, poll_cost=1e-7))
/// >>> large = allocator.insert(drum.Claim(bytes_per_wqe=65536.0, poll_cost=1e-7))
/// >>> allocator.resolve().x.round()
/// array([9826491.,  173509.])
/// >>> allocator.update(large, drum.Claim(weight=3.0, bytes_per_wqe=65536.0, poll_cost=1e-7))
/// >>> allocator.remove(small)
/// >>> allocator.resolve().x.round()
/// array([183105.])
#[pyclass(module = "fairlane.drum")]
pub(crate) struct Allocator {
    number: u64,
    utility: Utility,
    sharing: Sharing,
    standing: Standing,
}

impl Allocator {
    fn claim(&self, asked: &Asked) -> PyResult<Claim> {
        let application = Application {
            weight: asked.weight,
            latency_weight: asked.latency_weight,
            completions: asked.a,
            bytes: asked.bytes_per_wqe,
            poll_cost: asked.poll_cost,
            minimum: asked.x_min,
            maximum: asked.x_max,
        };
        let plain = Claim::default();
        let peak = match (self.sharing, asked.peak_rate) {
            (Sharing::TimeShare { .. }, None) => {
                return Err(wrong("peak_rate", "a number in mode timeshare"));
            }
            (_, peak) => peak.unwrap_or(plain.peak),
        };
        // Below alpha 1 and without latency an application that doesn't send is worth 0.
        let known = matches!(self.utility.fairness, Fairness::Alpha(alpha) if alpha < 1.0)
            && self.utility.latency == 0.0;
        let outage = match (self.sharing, asked.outage) {
            (Sharing::ActiveSet { .. }, None) if !known => {
                let expected = "a number in mode active_set, unless alpha < 1 and beta = 0";
                return Err(wrong("outage", expected));
            }
            (_, outage) => outage.unwrap_or(plain.outage),
        };
        Ok(Claim {
            application,
            peak,
            outage,
        })
    }

    /// What the key names, if it is of this allocator.
    fn own(&self, key: &Key) -> PyResult<Name> {
        let known = key.allocator == self.number && self.standing.position(key.name).is_some();
        let absent = || {
            PyKeyError::new_err("no such application: it was removed, or isn't of this allocator")
        };
        known.then_some(key.name).ok_or_else(absent)
    }

    fn key(&self, name: Name) -> Key {
        Key {
            allocator: self.number,
            name,
        }
    }
}

#[pymethods]
impl Allocator {
    #[new]
    #[pyo3(signature = (*, alpha, Q, C, beta=0.0, mode="fixed", k=None, dependency="equality", tolerance=1e-13))]
    #[expect(non_snake_case, reason = "the names of the file format")]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments")]
    fn new(
        alpha: &Bound<'_, PyAny>,
        Q: f64,
        C: f64,
        beta: f64,
        mode: &str,
        k: Option<f64>,
        dependency: &str,
        tolerance: f64,
    ) -> PyResult<Self> {
        let options = Options {
            tolerance,
            ..Options::default()
        };
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (utility, sharing) = (utility(alpha, beta)?, sharing(mode, k)?);
        let dependency = self::dependency(dependency)?;
        let standing = Standing::new(utility, Q, C, sharing);
        Ok(Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            utility,
            sharing,
            standing: standing.with_options(options).with_dependency(dependency),
        })
    }

    fn __len__(&self) -> usize {
        self.standing.len()
    }

    /// Applications in the order in which solutions have them: that of arrival, until one leaves, whose place the last one
    /// takes.
    fn keys(&self) -> Vec<Key> {
        let names = self.standing.keys().iter();
        names.map(|name| self.key(*name)).collect()
    }

    /// An application arrives. Raises ProblemError if it lacks what the mode needs.
    fn insert(&mut self, claim: Asked) -> PyResult<Key> {
        let claim = self.claim(&claim)?;
        let name = self.standing.insert(claim);
        Ok(self.key(name))
    }

    /// An application leaves. Raises KeyError if it isn't there.
    fn remove(&mut self, key: &Key) -> PyResult<()> {
        let name = self.own(key)?;
        self.standing.remove(name);
        Ok(())
    }

    /// An application asks for something else. Raises KeyError if it isn't there, ProblemError as `insert`.
    fn update(&mut self, key: &Key, claim: Asked) -> PyResult<()> {
        let (name, claim) = (self.own(key)?, self.claim(&claim)?);
        self.standing.update(name, claim);
        Ok(())
    }

    /// The host has other capacities from now on (B/s, CPU-s/s).
    #[pyo3(signature = (*, Q, C))]
    #[expect(non_snake_case, reason = "the names of the file format")]
    fn set_capacities(&mut self, Q: f64, C: f64) {
        self.standing.set_capacities(Q, C);
    }

    /// The best rates as things stand; computed if anything has changed. Raises ProblemError if there are none.
    fn resolve(&mut self, py: Python<'_>) -> PyResult<Solution> {
        let solution = py.detach(|| self.standing.resolve().cloned());
        solution.map_or_else(
            |error| Err(refused(&error)),
            |solution| Ok(Solution::new(py, solution)),
        )
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number that was checked"
)]
fn sharing(mode: &str, k: Option<f64>) -> PyResult<Sharing> {
    let whole = || match k {
        Some(k) if k >= 1.0 && k.fract() == 0.0 && k <= 1e15 => Ok(k as usize),
        _ => Err(wrong(
            "k",
            &format!("a whole number from 1 on in mode {mode}"),
        )),
    };
    match (mode, k) {
        ("fixed", None) => Ok(Sharing::All),
        ("fixed", Some(_)) => Err(wrong("k", "to be left out in mode fixed")),
        ("timeshare", Some(k)) if k > 0.0 => Ok(Sharing::TimeShare { k }),
        ("timeshare", _) => Err(wrong("k", "a number above 0 in mode timeshare")),
        ("active_set", _) => Ok(Sharing::ActiveSet { k: whole()? }),
        ("topk_utility", _) => Ok(Sharing::TopUtilities { k: whole()? }),
        _ => Err(wrong(
            "mode",
            "\"fixed\", \"topk_utility\", \"active_set\" or \"timeshare\"",
        )),
    }
}
