//! Sweeps: those of the command, on threads of this process or by an engine that Python drives.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_experiments::Error;
use fairlane_experiments::sweep::{
    self, Done, Executor, Extend, Local, MANY_RUNS, Record, Store, Task, Told, complete,
};
use fairlane_threads::Threads;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::table::Table;
use crate::{error, wait};

/// What messages call the text of a sweep that was put together from arguments.
const TEXT: &str = "sweep";

/// What became of a run elsewhere: its number, its record, or what is wrong and what to do about it.
type Answer = (usize, Option<String>, Option<(String, String)>);

/// A sweep with what is known of its runs.
#[pyclass(frozen, module = "fairlane._native")]
pub(crate) struct Sweep {
    sweep: Arc<sweep::Sweep>,
    store: Mutex<Store>,
    folder: Option<PathBuf>,
}

/// Runs that are to be measured, each once, with everything that they need.
#[pyclass(frozen, module = "fairlane._native")]
struct Tasks {
    sweep: Arc<sweep::Sweep>,
    runs: Mutex<VecDeque<usize>>,
    /// Those that couldn't be put together; nobody is asked to measure them.
    wrong: Arc<Mutex<Vec<(usize, Error)>>>,
}

#[pymethods]
impl Tasks {
    fn __iter__(own: PyRef<'_, Self>) -> PyRef<'_, Self> {
        own
    }

    fn __len__(&self) -> usize {
        lock(&self.runs).len()
    }

    fn __next__(&self, py: Python<'_>) -> Option<(usize, String, String)> {
        loop {
            let run = lock(&self.runs).pop_front()?;
            match py.detach(|| self.sweep.task(run)?.to_json()) {
                Ok(text) => return Some((run, self.sweep.name(run), text)),
                Err(error) => lock(&self.wrong).push((run, error)),
            }
        }
    }
}

#[pymethods]
impl Sweep {
    /// Reads a sweep from a file, or from a text with the place of each of its lines.
    #[new]
    #[pyo3(signature = (file, text, places, folder, *, out, extend, yes, threads))]
    #[expect(
        clippy::too_many_arguments,
        reason = "each is an argument of Python's function"
    )]
    fn new(
        py: Python<'_>,
        file: Option<PathBuf>,
        text: &str,
        places: Vec<String>,
        folder: PathBuf,
        out: Option<PathBuf>,
        extend: bool,
        yes: bool,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let most = if yes { u64::MAX } else { MANY_RUNS };
        let threads = self::threads(threads);
        let read = |line: &wait::Line<'_, ()>| {
            let stopped = || line.stopped();
            let local = Local {
                threads,
                stopped: &stopped,
            };
            match &file {
                Some(path) => sweep::Sweep::read(path, most, local),
                None => sweep::Sweep::parse(text, TEXT, &folder, (most, local)),
            }
        };
        let sweep = wait::during(py, read, |_, ()| Ok(()))?
            .map_err(|error| error::of_sweep(&error, TEXT, &places))?;
        let extend = if extend { Extend::Yes } else { Extend::No };
        let store = match &out {
            Some(out) => py.detach(|| Store::open(out, &sweep, extend)),
            None => Ok(Store::in_memory()),
        };
        Ok(Self {
            sweep: Arc::new(sweep),
            store: Mutex::new(store.map_err(|error| error::unwritten(&error))?),
            folder: out,
        })
    }

    /// Measures the runs that have no record yet; on threads, if there is no engine. Returns name, error and hint of
    /// those that failed.
    fn complete(
        &self,
        py: Python<'_>,
        engine: Option<Py<PyAny>>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<(String, String, String)>> {
        let hear = |py: Python<'_>, told: Told| match &progress {
            Some(progress) => {
                let name = told.run.map(|run| self.sweep.name(run));
                let share = share(&told);
                progress
                    .call1(py, (name, told.ended, told.runs, share))
                    .map(|_| ())
            }
            None => Ok(()),
        };
        let done = match engine {
            Some(engine) => self.by_engine(py, engine, &hear)?,
            None => {
                let work = |line: &wait::Line<'_, Told>| {
                    let stopped = || line.stopped();
                    let executor = Local {
                        threads: self::threads(threads),
                        stopped: &stopped,
                    };
                    let mut store = lock(&self.store);
                    complete(&self.sweep, &mut store, &executor, &mut |told| {
                        line.say(told);
                    })
                };
                wait::during(py, work, hear)?
            }
        };
        let failed = done.map_err(|error| error::unwritten(&error))?;
        let words = failed.into_iter().map(|failed| {
            let name = self.sweep.name(failed.run);
            (name, failed.error.message, failed.error.hint)
        });
        Ok(words.collect())
    }

    /// Gives the folder free for others.
    fn release(&self) {
        lock(&self.store).release();
    }

    /// How many runs have a record, and how many there are.
    fn kept(&self) -> (usize, usize) {
        let records = self.records();
        (records.iter().flatten().count(), records.len())
    }

    /// A row for each run and metric.
    fn table(&self) -> PyResult<Table> {
        Table::of_frame(self.sweep.table(&self.records()))
    }

    /// A row for each combination and metric.
    fn means(&self) -> PyResult<Table> {
        Table::of_frame(self.sweep.means(&self.records()))
    }

    /// Names of axes and of metrics.
    fn names(&self) -> (Vec<String>, Vec<String>) {
        let axes = self.sweep.axes().into_iter().map(|axis| axis.name);
        let metrics = self.sweep.metrics().map(str::to_owned);
        (axes.collect(), metrics.collect())
    }

    /// What is shown above everything.
    fn title(&self) -> String {
        self.sweep.title.clone()
    }

    /// Means with their intervals for readers.
    fn text(&self) -> String {
        self.sweep.grid(&self.records())
    }

    /// The text of `report.html`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let page = py.detach(|| self.sweep.page(&self.records()));
        page.map_err(|error| error::experiment(&error))
    }

    /// Writes tables and page beside the journal, if there is one.
    fn write(&self, py: Python<'_>) -> PyResult<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let written = py.detach(|| self.sweep.write(folder, &self.records()));
        written.map_err(|error| error::unwritten(&error))
    }
}

impl Sweep {
    fn records(&self) -> Vec<Option<Record>> {
        lock(&self.store).records(&self.sweep)
    }

    /// Measures what is missing where Python says. Everything happens on the caller's thread, so that signals reach
    /// the engine, which ends its workers.
    fn by_engine(
        &self,
        py: Python<'_>,
        engine: Py<PyAny>,
        hear: &(dyn Fn(Python<'_>, Told) -> PyResult<()> + Sync),
    ) -> PyResult<Result<Vec<sweep::Failed>, Error>> {
        let raised = Mutex::new(None);
        let engine = Engine {
            sweep: &self.sweep,
            engine,
            raised: &raised,
        };
        let mut watch = |told| {
            if let Err(error) = Python::attach(|py| hear(py, told)) {
                lock(&raised).get_or_insert(error);
            }
        };
        let done = py.detach(|| {
            let mut store = lock(&self.store);
            complete(&self.sweep, &mut store, &engine, &mut watch)
        });
        match lock(&raised).take() {
            Some(raised) => Err(raised),
            None => Ok(done),
        }
    }
}

/// Runs in other processes: a function of Python that takes tasks and gives an iterator of answers.
struct Engine<'a> {
    sweep: &'a Arc<sweep::Sweep>,
    engine: Py<PyAny>,
    /// What Python has raised.
    raised: &'a Mutex<Option<PyErr>>,
}

impl Executor for Engine<'_> {
    fn execute(
        &self,
        _sweep: &sweep::Sweep,
        runs: &[usize],
        done: &mut Done<'_>,
    ) -> Result<(), Error> {
        Python::attach(|py| {
            if let Err(error) = self.drive(py, runs, done) {
                lock(self.raised).get_or_insert(error);
            }
        });
        Ok(())
    }
}

impl Engine<'_> {
    fn drive(&self, py: Python<'_>, runs: &[usize], done: &mut Done<'_>) -> PyResult<()> {
        let wrong = Arc::default();
        let tasks = Tasks {
            sweep: Arc::clone(self.sweep),
            runs: Mutex::new(runs.iter().copied().collect()),
            wrong: Arc::clone(&wrong),
        };
        let answers = self.engine.bind(py).call1((tasks,))?;
        let mut iterator = answers.try_iter()?;
        loop {
            let answer = iterator.next();
            let is_last = answer.is_none();
            let unasked = std::mem::take(&mut *lock(&wrong));
            let mut heard: Vec<_> = unasked
                .into_iter()
                .map(|(run, error)| (run, Err(error)))
                .collect();
            if let Some(answer) = answer {
                heard.push(self.measured(answer?.extract()?)?);
            }
            let flow = py.detach(|| heard.into_iter().try_for_each(|(run, it)| done(run, it)));
            if is_last {
                return Ok(());
            }
            if flow.is_break() || lock(self.raised).is_some() {
                // A generator ends its workers.
                return answers.call_method0("close").map(|_| ());
            }
        }
    }

    fn measured(&self, (run, record, wrong): Answer) -> PyResult<(usize, Result<Record, Error>)> {
        let asked = self.sweep.runs().get(run);
        let asked = asked.ok_or_else(|| PyIndexError::new_err(format!("there is no run {run}")))?;
        let record = match (record, wrong) {
            (Some(text), None) => Record::from_json(&text),
            (_, wrong) => {
                let (message, hint) = wrong.unwrap_or_default();
                Err(Error::new(message, hint))
            }
        };
        let record = record.and_then(|record| match record.key == asked.key {
            true => Ok(record),
            false => Err(Error::new("a worker answered with another run", "")),
        });
        Ok((run, record))
    }
}

/// Simulates a run that was sent here and returns its record.
#[pyfunction]
pub(crate) fn measure(py: Python<'_>, task: &str) -> PyResult<String> {
    let measured = py.detach(|| Task::from_json(task)?.measure(&|| false)?.to_json());
    measured.map_err(|error| error::experiment(&error))
}

/// So many threads, or one for each processor.
pub(crate) fn threads(wanted: Option<usize>) -> Threads {
    wanted.map_or_else(Threads::available, Threads::new)
}

#[expect(clippy::cast_precision_loss, reason = "a share of progress")]
fn share(told: &Told) -> f64 {
    match told.work {
        0 => 1.0,
        work => told.done as f64 / work as f64,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
