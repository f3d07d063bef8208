//! Runs of scenarios, and what they leave behind.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use fairlane_attacks::Plan;
use fairlane_fabric::{Control, Progress, Results, metrics};
use fairlane_results::figures::{self, Figures};
use fairlane_results::meter::{Host, Usage, Work};
use fairlane_results::staging::Staging;
use fairlane_results::{summary, tables, to_json, write};
use fairlane_scenario::Loaded;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::table::Table;
use crate::{error, source};

/// Signals wait no longer than this; to look more often would cost the run.
const PATIENCE: Duration = Duration::from_millis(50);

/// A finished run.
#[pyclass(frozen, module = "fairlane._native")]
pub(crate) struct Run {
    loaded: Loaded,
    results: Results,
    host: Host,
    figures: Figures,
    /// Made with the run, as all ask for it.
    messages: RecordBatch,
}

#[pymethods]
impl Run {
    /// A table by name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let make = match name {
            "messages" => return Ok(Table::new(self.messages.clone())),
            "ports" => tables::ports,
            "chosen" => tables::chosen,
            "links" => tables::links,
            "signals" => tables::signals,
            "tenants" => tables::tenants,
            "throughput" => tables::throughput,
            "pauses" => tables::pauses,
            "collectives" => tables::collectives,
            "rates" => tables::rates,
            "packets" => tables::packets,
            "capture" => tables::capture,
            _ => return Err(PyKeyError::new_err(name.to_owned())),
        };
        let made = py.detach(|| make(&self.results));
        made.map(Table::new).map_err(error::results)
    }

    /// The text of `summary.json`.
    fn summary(&self) -> PyResult<String> {
        to_json(&self.file()).map_err(error::results)
    }

    /// The tables that the command prints.
    fn text(&self) -> String {
        self.file().text(&self.results, false)
    }

    /// The resolved scenario as TOML.
    fn scenario(&self) -> PyResult<String> {
        self.loaded
            .to_toml()
            .map_err(|error| error::scenario(&error))
    }

    /// The text of `report.html`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let scenario = self.scenario()?;
        Ok(py.detach(|| self.page(&scenario)))
    }

    /// Writes the files of a result directory and returns its path.
    #[pyo3(signature = (directory, force = false))]
    fn write(&self, py: Python<'_>, directory: PathBuf, force: bool) -> PyResult<PathBuf> {
        let staging = Staging::begin(&directory, force).map_err(error::results)?;
        self.publish(py, staging)
    }
}

impl Run {
    fn file(&self) -> summary::File<'_> {
        summary::File::new(&self.loaded.scenario, &self.figures, &self.host)
    }

    fn page(&self, scenario: &str) -> String {
        figures::page(&self.loaded, scenario, (&self.results, None), &self.figures)
    }

    fn publish(&self, py: Python<'_>, staging: Staging) -> PyResult<PathBuf> {
        let portable = self.loaded.portable();
        let (scenario, inputs) = portable.map_err(|error| error::scenario(&error))?;
        let summary = self.summary()?;
        let write = || {
            let content = write::Content {
                loaded: &self.loaded,
                scenario: &scenario,
                inputs: &inputs,
                results: &self.results,
                summary: &summary,
                report: &self.page(&scenario),
            };
            write::all(staging.path(), &content)?;
            staging.publish(write::NAMES)
        };
        py.detach(write).map_err(error::results)
    }
}

/// Runs a scenario; `out` is reserved before.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, *, seed = None, threads = None, folder = PathBuf::new(), out = None, force = false))]
#[expect(
    clippy::too_many_arguments,
    reason = "each is an argument of Python's function"
)]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    seed: Option<u64>,
    threads: Option<usize>,
    folder: PathBuf,
    out: Option<PathBuf>,
    force: bool,
) -> PyResult<Run> {
    let loaded = source::load(scenario, overrides, seed, &folder)?;
    let staging = out.map(|out| Staging::begin(&out, force));
    let staging = staging.transpose().map_err(error::results)?;
    let run = py.detach(|| simulate(loaded, threads))?;
    if let Some(staging) = staging {
        run.publish(py, staging)?;
    }
    Ok(run)
}

/// The simulation itself, without the interpreter's lock.
fn simulate(loaded: Loaded, threads: Option<usize>) -> PyResult<Run> {
    let (begun, before) = (Instant::now(), Usage::now());
    let plan = Plan::new(&loaded).and_then(|plan| plan.simulation());
    let simulation = plan.map_err(|error| error::scenario(&error))?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| simulation.threads_that_pay(cores()));
    let mut watch = Watch {
        last: begun,
        raised: None,
    };
    let (results, _) = simulation.run_on(threads.max(1), &mut |progress| watch.look(progress));
    if let Some(raised) = watch.raised {
        return Err(raised);
    }
    let totals = &results.totals;
    let work = Work {
        transmissions: totals.message_transmissions,
        events: totals.events,
    };
    let host = Host::between(before, Usage::now(), begun.elapsed().as_secs_f64(), work);
    let lossless = metrics::is_lossless(&loaded.scenario, &results);
    let violations = metrics::check(&results, lossless);
    if !violations.is_empty() {
        return Err(error::bug(&violations));
    }
    let figures = figures::figures(&results);
    let messages = tables::messages(&results).map_err(error::results)?;
    Ok(Run {
        loaded,
        results,
        host,
        figures,
        messages,
    })
}

/// Looks for signals that Python is to handle, Ctrl-C above all.
struct Watch {
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    fn look(&mut self, _progress: &Progress<'_>) -> Control {
        if self.last.elapsed() >= PATIENCE {
            self.last = Instant::now();
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        match self.raised {
            Some(_) => Control::Interrupt,
            None => Control::Continue,
        }
    }
}
