//! Runs whose files are in a directory.

use std::fs;
use std::path::{Path, PathBuf};

use fairlane_results::read;
use pyo3::prelude::*;

use crate::error;
use crate::table::Table;

/// A run as its directory has it; a file is read when it is asked for.
#[pyclass(frozen, module = "fairlane._native")]
pub(crate) struct Saved {
    directory: PathBuf,
}

/// The run whose files are in a directory.
#[pyfunction]
pub(crate) fn saved(directory: PathBuf) -> PyResult<Saved> {
    read::require_results(&directory).map_err(|error| error::unreadable(error, &directory))?;
    Ok(Saved { directory })
}

#[pymethods]
impl Saved {
    /// A table by name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let read = py.detach(|| read::table(&self.directory, name));
        read.map(Table::new)
            .map_err(|error| error::unreadable(error, &self.directory))
    }

    /// The text of `summary.json`.
    fn summary(&self) -> PyResult<String> {
        self.file("summary.json")
    }

    /// One line about the run.
    fn text(&self) -> String {
        format!("results in {}", self.directory.display())
    }

    /// The resolved scenario as TOML.
    fn scenario(&self) -> PyResult<String> {
        self.file("scenario.toml")
    }

    /// The text of `report.html`.
    fn report(&self) -> PyResult<String> {
        self.file("report.html")
    }

    /// Refuses: the files are there.
    #[pyo3(signature = (directory, force = false))]
    fn write(&self, directory: PathBuf, force: bool) -> PyResult<PathBuf> {
        let _ = (directory, force);
        let message = format!("{}: the run is written already", self.directory.display());
        let error = fairlane_results::Error::new(message).hint("copy that directory");
        Err(error::results(error))
    }
}

impl Saved {
    fn file(&self, name: &str) -> PyResult<String> {
        let path: &Path = &self.directory.join(name);
        let read = fs::read_to_string(path);
        read.map_err(|error| {
            error::unreadable(fairlane_results::Error::at(path, error), &self.directory)
        })
    }
}
