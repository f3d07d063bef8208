//! Attacks and published experiments, as the commands of these names try them.

use std::path::PathBuf;

use fairlane_attacks::{Asked, Plan, Run, notes_of};
use fairlane_experiments::{Outcome, Settings};
use fairlane_fabric::Results;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::table::Table;
use crate::wait::Line;
use crate::{error, source, sweep, wait};

/// What has begun: its name, its number, and how many there are.
type Begun = (String, usize, usize);

struct Watch<'a>(&'a Line<'a, Begun>);

impl fairlane_attacks::Watch for Watch<'_> {
    fn begin(&self, run: &Run, number: usize, of: usize) {
        let name = format!("{:?}, scope {}, seed {}", run.role, run.scope, run.seed + 1);
        self.0.say((name.to_lowercase(), number, of));
    }

    fn ended(&self, _run: &Run, _plan: &Plan, _results: &Results) {}

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

impl fairlane_experiments::Watch for Watch<'_> {
    fn begin(&self, part: &str, number: usize, parts: usize) {
        self.0.say((part.to_owned(), number, parts));
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// Tells Python of what has begun.
fn hear(progress: Option<Py<PyAny>>) -> impl FnMut(Python<'_>, Begun) -> PyResult<()> + Send {
    move |py, begun| match &progress {
        Some(progress) => progress.call1(py, begun).map(|_| ()),
        None => Ok(()),
    }
}

/// Rows of the verdict as JSON, notes on them, and what was left out.
#[pyfunction]
#[pyo3(signature = (
    scenario, overrides, *, attack, scope, attacker, seeds, threads, progress, folder = PathBuf::new()
))]
#[expect(
    clippy::too_many_arguments,
    reason = "each is an argument of Python's function"
)]
pub(crate) fn attack(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    attack: &str,
    scope: &str,
    attacker: Option<&str>,
    seeds: u32,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    folder: PathBuf,
) -> PyResult<(String, Vec<String>, Vec<String>)> {
    let loaded = source::load(scenario, overrides, None, &folder)?;
    let asked = Asked {
        attack,
        scope,
        attacker,
        seeds,
    };
    let suite = py.detach(|| asked.suite(loaded));
    let (suite, left_out) = suite.map_err(|error| error::scenario(&error))?;
    let threads = sweep::threads(threads);
    let work = |line: &Line<'_, Begun>| suite.run(threads, &Watch(line));
    let rows = wait::during(py, work, hear(progress))?;
    let rows = rows.map_err(|error| error::scenario(&error))?;
    let text = fairlane_results::to_json(&rows).map_err(error::results)?;
    Ok((text, notes_of(&rows), left_out))
}

/// Names and titles of the experiments of the program.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Vec<(String, String)>> {
    let all = fairlane_experiments::all().iter();
    let named = all.map(|experiment| {
        let manifest = experiment.manifest();
        let manifest = manifest.map_err(|error| error::experiment(&error))?;
        Ok((experiment.name.to_string(), manifest.title))
    });
    named.collect()
}

/// For each experiment that a name is for: what `outcome.json` holds, rows, points of curves.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    name: &str,
    quick: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<(String, Table, Table)>> {
    let experiments = fairlane_experiments::select(name);
    let experiments = experiments.map_err(|error| error::experiment(&error))?;
    let settings = Settings {
        quick,
        threads: sweep::threads(threads),
    };
    let work = |line: &Line<'_, Begun>| {
        let each = experiments.iter();
        each.map(|experiment| experiment.run(settings, &Watch(line)))
            .collect::<Result<Vec<Outcome>, _>>()
    };
    let outcomes = wait::during(py, work, hear(progress))?;
    let outcomes = outcomes.map_err(|error| error::experiment(&error))?;
    let each = outcomes.into_iter().map(|outcome| {
        let text = fairlane_results::to_json(&outcome).map_err(error::results)?;
        let (rows, curves) = (outcome.rows.frame(), outcome.curves());
        Ok((text, Table::of_frame(rows)?, Table::of_frame(curves)?))
    });
    each.collect()
}
