//! What is kept of a run, and a run as something that can be sent elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fairlane_attacks::Plan;
use fairlane_fabric::metrics::Summary;
use fairlane_scenario::{Files, Loaded};
use serde::{Deserialize, Serialize};

use crate::design::simulate;
use crate::error::Error;
use crate::measure::measure;
use crate::metric::Metric;
use crate::sample::{Sample, nearest_rank};
use crate::sweep::Sweep;
use crate::sweep::wanted::{Wanted, figures};

/// Shares in percent at which distributions are kept.
pub const SHARES: [f64; 41] = [
    0.0, 1.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0, 27.5, 30.0, 35.0, 40.0,
    45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 72.5, 75.0, 77.5, 80.0, 82.5, 85.0, 87.5, 90.0, 91.0, 92.0,
    93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0, 99.9, 100.0,
];

/// What is kept of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Record {
    /// Which run it is of.
    pub key: String,
    /// The run's name, for readers.
    pub run: String,
    /// `complete`, `stopped`, `stalled` or `failed`.
    pub ending: String,
    /// What was measured; nothing where it isn't defined.
    pub figures: Vec<Option<f64>>,
    /// For each distribution, values at [`SHARES`]; none if it has none.
    pub curves: Vec<Vec<f64>>,
}

/// A run with everything that it needs, which is measured the same wherever that is done.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Task {
    key: String,
    run: String,
    seed: u64,
    /// The resolved scenario, and the files that it names.
    scenario: String,
    inputs: Vec<(String, Held)>,
    metrics: Vec<Wanted>,
    curves: Vec<Metric>,
    numbers: Vec<(String, f64)>,
}

/// What a file holds: mostly text, which is shorter as it is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
enum Held {
    Text(String),
    Bytes(Vec<u8>),
}

impl Held {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(_) => Self::Bytes(bytes.into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl Record {
    /// As one line.
    ///
    /// # Errors
    /// Never for a record that was measured.
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::new(error.to_string(), ""))
    }

    /// Reads what [`Record::to_json`] wrote.
    ///
    /// # Errors
    /// If that isn't what it is.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::new(format!("no record: {error}"), ""))
    }
}

impl Task {
    /// As one line, by which it is sent.
    ///
    /// # Errors
    /// Never for a task of a [`Sweep`].
    pub fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::new(error.to_string(), ""))
    }

    /// Reads what [`Task::to_json`] wrote.
    ///
    /// # Errors
    /// If that isn't what it is.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| Error::new(format!("no task: {error}"), ""))
    }

    /// Simulates the run and measures it, unless `stopped` says to give up.
    ///
    /// # Errors
    /// If it can't be simulated, which a panic says too, or was stopped.
    pub fn measure(&self, stopped: &dyn Fn() -> bool) -> Result<Record, Error> {
        guarded(|| {
            let inputs = self.inputs.iter();
            let held: Vec<_> = inputs
                .map(|(name, held)| (name.as_str(), held.bytes()))
                .collect();
            let files = Files::Held(&held);
            let mut loaded =
                fairlane_scenario::parse_with(&self.scenario, &self.run, files, &[], None)?;
            loaded.scenario.seed = self.seed;
            let asked = Asked {
                key: &self.key,
                run: self.run.clone(),
                metrics: &self.metrics,
                curves: self.curves.iter().collect(),
                numbers: self.numbers.clone(),
            };
            asked.measure(&loaded, stopped)
        })
    }
}

/// What is to be known of a run.
struct Asked<'a> {
    key: &'a str,
    run: String,
    metrics: &'a [Wanted],
    curves: Vec<&'a Metric>,
    numbers: Vec<(String, f64)>,
}

impl Asked<'_> {
    fn measure(self, loaded: &Loaded, stopped: &dyn Fn() -> bool) -> Result<Record, Error> {
        let plan = Plan::new(loaded)?;
        let results = simulate(&plan, stopped)?;
        let curves = self.curves.iter();
        Ok(Record {
            key: self.key.into(),
            run: self.run,
            ending: Summary::of(&results).ending.into(),
            figures: figures(self.metrics, &self.numbers, &plan, &results),
            curves: curves
                .map(|metric| match measure(&plan, &results, metric) {
                    Sample::Pool(values) => quantiles(values),
                    Sample::Figure(_) => Vec::new(),
                })
                .collect(),
        })
    }
}

/// The values of a distribution at [`SHARES`]: none if there are none.
pub fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    if values.is_empty() {
        return values;
    }
    values.sort_by(f64::total_cmp);
    SHARES
        .map(|share| values[nearest_rank(share, values.len())])
        .to_vec()
}

impl Sweep {
    /// A run with everything that it needs.
    ///
    /// # Errors
    /// If its files are gone in the meantime.
    pub fn task(&self, run: usize) -> Result<Task, Error> {
        let mut loaded = self.load(run)?;
        let seed = loaded.scenario.seed;
        // TOML has no seeds above 2^63 - 1, which a task may have.
        loaded.scenario.seed = 1;
        let (scenario, inputs) = loaded.portable()?;
        let inputs = inputs.into_iter();
        let held = inputs.map(|(path, bytes)| (path.display().to_string(), Held::of(bytes)));
        let inputs = held.collect();
        Ok(Task {
            key: self.runs[run].key.clone(),
            run: self.name(run),
            seed,
            scenario,
            inputs,
            metrics: self.metrics.clone(),
            curves: self.curve_metrics().cloned().collect(),
            numbers: self.numbers(&self.points[self.runs[run].point].at),
        })
    }

    /// Simulates a run and measures it, unless `stopped` says to give up.
    ///
    /// # Errors
    /// If it can't be simulated, which a panic says too, or was stopped.
    pub fn measure(&self, run: usize, stopped: &dyn Fn() -> bool) -> Result<Record, Error> {
        let asked = Asked {
            key: &self.runs[run].key,
            run: self.name(run),
            metrics: &self.metrics,
            curves: self.curve_metrics().collect(),
            numbers: self.numbers(&self.points[self.runs[run].point].at),
        };
        let measured = guarded(|| asked.measure(&self.load(run)?, stopped));
        measured.map_err(|error| error.within(&self.name(run)))
    }
}

/// Measures a run, of which a panic is an error as any other: those of other runs are worth keeping.
fn guarded(measure: impl FnOnce() -> Result<Record, Error>) -> Result<Record, Error> {
    // Nothing that a panic leaves half done is used afterwards.
    catch_unwind(AssertUnwindSafe(measure)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        let message = format!(
            "this is a bug in fairlane: {}",
            words.unwrap_or("a panic without words")
        );
        Err(Error::new(
            message,
            "please report it with the sweep's file, the scenario and its side files",
        ))
    })
}
