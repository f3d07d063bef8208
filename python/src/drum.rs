//! `fairlane.drum`: numpy arrays in, numpy arrays out.

use fairlane_drum::{
    Applications, Dependency, Fairness, Host, Load, Mode, Options, Row, RowName, Supply, Utility,
};
use fairlane_units::Rate;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    _native,
    ProblemError,
    PyValueError,
    "A problem that has no solution or isn't one: where, why, and what to do."
);

/// Rates, what they are worth, and what could be reached at most.
#[pyclass(frozen, get_all, module = "fairlane.drum")]
pub(crate) struct Solution {
    /// Value of the rates.
    objective: f64,
    /// "optimal", "feasible" or "stalled".
    status: &'static str,
    /// What dual_prices prove: nothing feasible is worth more.
    dual_bound: f64,
    /// The least bound that is proven.
    proven_bound: f64,
    /// proven_bound - objective.
    gap: f64,
    /// gap over the larger size of objective and proven_bound.
    relative_gap: f64,
    /// Rates of fetching work requests (WQE/s), shape (m,).
    x: Py<PyArray1<f64>>,
    /// Rates of polling completions (CQE/s), shape (m,).
    z: Py<PyArray1<f64>>,
    /// Price of each row, shape (rows,).
    prices: Py<PyArray1<f64>>,
    /// Prices at which dual_bound holds, shape (rows,).
    dual_prices: Py<PyArray1<f64>>,
    /// Use of each row, shape (rows,).
    usage: Py<PyArray1<f64>>,
    /// Applications that were selected, ascending.
    selected: Py<PyArray1<usize>>,
    /// Passes over the applications.
    iterations: usize,
}

#[pymethods]
impl Solution {
    fn __repr__(&self) -> String {
        format!(
            "Solution(status={:?}, objective={}, proven_bound={}, iterations={})",
            self.status, self.objective, self.proven_bound, self.iterations,
        )
    }
}

impl Solution {
    pub(crate) fn new(py: Python<'_>, solution: fairlane_drum::Solution) -> Self {
        let (gap, relative_gap) = (solution.gap(), solution.relative_gap());
        let array = |values: Vec<f64>| values.into_pyarray(py).unbind();
        Self {
            objective: solution.objective,
            status: solution.status.name(),
            dual_bound: solution.dual_bound,
            proven_bound: solution.proven_bound,
            gap,
            relative_gap,
            x: array(solution.x),
            z: array(solution.z),
            prices: array(solution.prices),
            dual_prices: array(solution.dual_prices),
            usage: array(solution.usage),
            selected: solution.selected.into_pyarray(py).unbind(),
            iterations: solution.iterations,
        }
    }
}

/// A column as it was handed in, or one number for all applications.
enum Column<'py> {
    Array(PyReadonlyArray1<'py, f64>),
    Filled(Vec<f64>),
}

impl<'py> Column<'py> {
    fn new(name: &str, given: Option<&Bound<'py, PyAny>>, default: (f64, usize)) -> PyResult<Self> {
        let Some(given) = given else {
            return Ok(Self::Filled(vec![default.0; default.1]));
        };
        let refuse = || {
            PyTypeError::new_err(format!(
                "{name}: expected a contiguous one-dimensional numpy array of float64\n\
                 hint: numpy.ascontiguousarray({name}, dtype=numpy.float64)"
            ))
        };
        let array: PyReadonlyArray1<'py, f64> = given.extract().map_err(|_| refuse())?;
        if array.as_slice().is_err() {
            return Err(refuse());
        }
        Ok(Self::Array(array))
    }

    fn optional(name: &str, given: Option<&Bound<'py, PyAny>>) -> PyResult<Option<Self>> {
        given
            .map(|given| Self::new(name, Some(given), (0.0, 0)))
            .transpose()
    }

    fn slice(&self) -> &[f64] {
        match self {
            // Whether it is contiguous was asked when it came in.
            Self::Array(array) => array.as_slice().unwrap_or_default(),
            Self::Filled(values) => values,
        }
    }
}

pub(crate) fn refused(error: &fairlane_drum::Error) -> PyErr {
    ProblemError::new_err(match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    })
}

pub(crate) fn wrong(place: &str, expected: &str) -> PyErr {
    ProblemError::new_err(format!("{place}: expected {expected}"))
}

/// The columns of the applications.
struct Columns<'py> {
    weight: Column<'py>,
    latency_weight: Column<'py>,
    completions: Column<'py>,
    bytes: Column<'py>,
    poll_cost: Column<'py>,
    minimum: Column<'py>,
    maximum: Column<'py>,
}

impl Columns<'_> {
    fn applications(&self) -> Applications<'_> {
        Applications {
            weight: self.weight.slice(),
            latency_weight: self.latency_weight.slice(),
            completions: self.completions.slice(),
            bytes: self.bytes.slice(),
            poll_cost: self.poll_cost.slice(),
            minimum: self.minimum.slice(),
            maximum: self.maximum.slice(),
        }
    }
}

pub(crate) fn utility(alpha: &Bound<'_, PyAny>, beta: f64) -> PyResult<Utility> {
    Ok(Utility {
        fairness: fairness(alpha)?,
        latency: beta,
    })
}

fn fairness(alpha: &Bound<'_, PyAny>) -> PyResult<Fairness> {
    if let Ok(alpha) = alpha.extract::<f64>() {
        return Ok(Fairness::Alpha(alpha));
    }
    match alpha.extract::<String>() {
        Ok(name) if name == "max-min" => Ok(Fairness::MaxMin),
        _ => Err(wrong(
            "alpha",
            "a number that is not negative, or \"max-min\"",
        )),
    }
}

pub(crate) fn dependency(name: &str) -> PyResult<Dependency> {
    match name {
        "equality" => Ok(Dependency::Equality),
        "at_least" => Ok(Dependency::AtLeast),
        _ => Err(wrong("dependency", "\"equality\" or \"at_least\"")),
    }
}

/// What a mode is made of.
struct Choice<'a> {
    name: &'a str,
    selected: Option<&'a [usize]>,
    k: Option<f64>,
    outage: Option<&'a [f64]>,
    peak: Option<&'a [f64]>,
}

impl<'a> Choice<'a> {
    fn mode(&self) -> PyResult<Mode<'a>> {
        self.check()?;
        match (self.name, self.selected) {
            ("fixed", None) => Ok(Mode::All),
            ("fixed", Some(chosen)) => Ok(Mode::Selected(chosen)),
            ("topk_utility", _) => Ok(Mode::TopUtilities { k: self.count()? }),
            ("active_set", _) => Ok(Mode::ActiveSet {
                k: self.count()?,
                outage: self.outage,
            }),
            ("timeshare", _) => Ok(Mode::TimeShare {
                k: self
                    .k
                    .ok_or_else(|| wrong("k", "a number in mode timeshare"))?,
                peak: self
                    .peak
                    .ok_or_else(|| wrong("peak_rate", "an array in mode timeshare"))?,
            }),
            _ => Err(wrong(
                "mode",
                "\"fixed\", \"topk_utility\", \"active_set\" or \"timeshare\"",
            )),
        }
    }

    /// Whether nothing was handed in that the mode doesn't read.
    fn check(&self) -> PyResult<()> {
        let unread = [
            ("k", self.k.is_some(), &["fixed"][..]),
            (
                "selected",
                self.selected.is_some(),
                &["topk_utility", "active_set", "timeshare"],
            ),
            (
                "outage",
                self.outage.is_some(),
                &["fixed", "topk_utility", "timeshare"],
            ),
            (
                "peak_rate",
                self.peak.is_some(),
                &["fixed", "topk_utility", "active_set"],
            ),
        ];
        match unread
            .iter()
            .find(|(_, given, modes)| *given && modes.contains(&self.name))
        {
            Some((name, ..)) => Err(ProblemError::new_err(format!(
                "{name}: mode \"{}\" doesn't read it\nhint: leave it out, or say mode=...",
                self.name
            ))),
            None => Ok(()),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number that was checked"
    )]
    fn count(&self) -> PyResult<usize> {
        match self.k {
            Some(k) if k >= 0.0 && k.fract() == 0.0 && k <= 1e15 => Ok(k as usize),
            _ => Err(wrong("k", &format!("a whole number in mode {}", self.name))),
        }
    }
}

/// A row beside egress and poll: its name, use by application, capacity.
type ExtraRow<'py> = (String, Bound<'py, PyAny>, f64);

/// Finds the rates of greatest value; see `fairlane.drum.solve`.
#[pyfunction]
#[pyo3(signature = (
    weight, *, alpha, beta=0.0, Q=None, C=None, a=None, bytes_per_wqe=None, poll_cost=None,
    latency_weight=None, x_min=None, x_max=None, mode="fixed", k=None, selected=None, outage=None,
    peak_rate=None, rows=None, segments=None, dependency="equality", tolerance=1e-13,
    iterations=3000, nodes=2000, start=None,
))]
#[expect(non_snake_case, reason = "the names of the file format")]
#[expect(clippy::too_many_arguments, reason = "keyword arguments")]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    weight: &Bound<'py, PyAny>,
    alpha: &Bound<'py, PyAny>,
    beta: f64,
    Q: Option<&Bound<'py, PyAny>>,
    C: Option<f64>,
    a: Option<&Bound<'py, PyAny>>,
    bytes_per_wqe: Option<&Bound<'py, PyAny>>,
    poll_cost: Option<&Bound<'py, PyAny>>,
    latency_weight: Option<&Bound<'py, PyAny>>,
    x_min: Option<&Bound<'py, PyAny>>,
    x_max: Option<&Bound<'py, PyAny>>,
    mode: &str,
    k: Option<f64>,
    selected: Option<Vec<usize>>,
    outage: Option<&Bound<'py, PyAny>>,
    peak_rate: Option<&Bound<'py, PyAny>>,
    rows: Option<Vec<ExtraRow<'py>>>,
    segments: Option<Vec<[f64; 2]>>,
    dependency: &str,
    tolerance: f64,
    iterations: usize,
    nodes: usize,
    start: Option<Vec<f64>>,
) -> PyResult<Solution> {
    let weight = Column::new("weight", Some(weight), (1.0, 0))?;
    let m = weight.slice().len();
    let column = |name, given, default| Column::new(name, given, (default, m));
    let columns = Columns {
        latency_weight: column("latency_weight", latency_weight, 1.0)?,
        completions: column("a", a, 1.0)?,
        bytes: column("bytes_per_wqe", bytes_per_wqe, 1.0)?,
        poll_cost: column("poll_cost", poll_cost, 1.0)?,
        minimum: column("x_min", x_min, 0.0)?,
        maximum: column("x_max", x_max, f64::INFINITY)?,
        weight,
    };
    let outage = Column::optional("outage", outage)?;
    let peak = Column::optional("peak_rate", peak_rate)?;
    let extra = extra_rows(rows.unwrap_or_default(), m)?;
    let segments: Option<Vec<(f64, f64)>> =
        segments.map(|pairs| pairs.into_iter().map(Into::into).collect());
    let capacity = Q.map(capacity).transpose()?;
    let egress = egress(capacity, segments.as_deref())?;
    let host = Host {
        applications: columns.applications(),
        utility: utility(alpha, beta)?,
        dependency: self::dependency(dependency)?,
        rows: shared_rows(egress, C, &extra),
    };
    let choice = Choice {
        name: mode,
        selected: selected.as_deref(),
        k,
        outage: outage.as_ref().map(Column::slice),
        peak: peak.as_ref().map(Column::slice),
    };
    let options = Options {
        tolerance,
        iterations,
        nodes,
    };
    let (mode, start) = (choice.mode()?, start.unwrap_or_default());
    let solution = py.detach(|| fairlane_drum::resolve(&host, &mode, &options, &start));
    solution.map_or_else(
        |error| Err(refused(&error)),
        |solution| Ok(Solution::new(py, solution)),
    )
}

/// Bytes per second, as a number, or as text with a unit of rates.
fn capacity(given: &Bound<'_, PyAny>) -> PyResult<f64> {
    let rate = |text: String| Some(text.parse::<Rate>().ok()?.as_f64() / 8.0);
    let number = given.extract::<f64>().ok();
    let found = number.or_else(|| rate(given.extract().ok()?));
    found.ok_or_else(|| {
        wrong(
            "Q",
            "a number (B/s), or a rate with its unit, such as \"100Gbps\"",
        )
    })
}

/// What supplies egress: a capacity or a price, if either is given.
fn egress(capacity: Option<f64>, price: Option<&[(f64, f64)]>) -> PyResult<Option<Supply<'_>>> {
    match (capacity, price) {
        (Some(_), Some(_)) => Err(wrong(
            "Q",
            "to be left out beside segments, which are the price of egress",
        )),
        (capacity, None) => Ok(capacity.map(Supply::Capacity)),
        (None, Some(segments)) => Ok(Some(Supply::Price(segments))),
    }
}

/// A further row as it was handed in: use by application, name, capacity.
type Extra<'py> = (Column<'py>, String, f64);

fn extra_rows(rows: Vec<ExtraRow<'_>>, applications: usize) -> PyResult<Vec<Extra<'_>>> {
    let checked = rows.into_iter().map(|(name, loads, capacity)| {
        let loads = Column::new(&name, Some(&loads), (0.0, applications))?;
        Ok((loads, name, capacity))
    });
    checked.collect()
}

/// Egress, polling and further rows, as far as there are any.
fn shared_rows<'a>(
    egress: Option<Supply<'a>>,
    budget: Option<f64>,
    extra: &'a [Extra<'_>],
) -> Vec<Row<'a>> {
    let row = |name, load, supply| Row { name, load, supply };
    let egress = egress.map(|supply| row(RowName::Egress, Load::Bytes, supply));
    let poll = budget.map(|budget| row(RowName::Poll, Load::Polls, Supply::Capacity(budget)));
    let extra = extra.iter().map(|(loads, name, capacity)| {
        row(
            RowName::Other(name),
            Load::Requests(loads.slice()),
            Supply::Capacity(*capacity),
        )
    });
    egress.into_iter().chain(poll).chain(extra).collect()
}
