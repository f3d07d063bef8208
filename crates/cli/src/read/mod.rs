//! Reads back what `run` has written.

mod capture;
mod columns;
mod csv;
mod overlay;
mod parquet;
mod run;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

pub(crate) use capture::{Addresses, Capture, CaptureRow};
pub(crate) use overlay::{Overlay, overlay};
pub(crate) use run::run;

/// A row of `flows.parquet` or `flows.csv`, as far as exports need it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct FlowRow {
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) size_bytes: u64,
    pub(crate) start_ps: u64,
    /// Nothing for a message that didn't complete.
    pub(crate) completion_ps: Option<u64>,
    pub(crate) standalone_ns: u64,
}

/// The rows of a result directory's flows in order of completion; from `flows.parquet`, or from `flows.csv` if that is
/// missing.
///
/// # Errors
/// If there is neither, or if one isn't what `run` writes.
pub(crate) fn flows(
    directory: &Path,
) -> Result<Box<dyn Iterator<Item = Result<FlowRow, Failure>>>, Failure> {
    require_results(directory)?;
    let [columnar, text] = ["flows.parquet", "flows.csv"].map(|name| directory.join(name));
    if columnar.exists() {
        let remedy = "the file is damaged; without it, flows.csv is read instead";
        return Ok(Box::new(parquet::rows(&columnar, remedy, Some)?));
    }
    if text.exists() {
        return Ok(Box::new(csv::rows(&text)?));
    }
    Err(Failure::at(directory, "holds neither flows.parquet nor flows.csv").hint(NOT_RESULTS))
}

const DAMAGED: &str = "the file is damaged; run the scenario again";
const NOT_RESULTS: &str =
    "name a directory that `fairlane run SCENARIO.toml --out DIR` has written";

/// The text of a file of a result directory.
///
/// # Errors
/// If the directory or the file can't be read.
pub(crate) fn text(directory: &Path, name: &str) -> Result<(PathBuf, String), Failure> {
    require_results(directory)?;
    let path = directory.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text)),
        Err(error) => Err(Failure::at(&path, error).hint(NOT_RESULTS)),
    }
}

/// The JSON of a file of a result directory, and where it is.
///
/// # Errors
/// If the directory or the file can't be read, or the file holds something else.
pub(crate) fn json(directory: &Path, name: &str) -> Result<(PathBuf, Value), Failure> {
    let (path, text) = text(directory, name)?;
    match serde_json::from_str(&text) {
        Ok(value) => Ok((path, value)),
        Err(error) => Err(Failure::at(&path, error).hint(DAMAGED)),
    }
}

fn require_results(directory: &Path) -> Result<(), Failure> {
    match std::fs::metadata(directory) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(Failure::at(directory, "not a directory").hint(NOT_RESULTS)),
        Err(error) => Err(Failure::at(directory, error).hint(NOT_RESULTS)),
    }
}

/// A row, or a line, isn't what it should be.
fn bad_row<T: DeserializeOwned>(path: &Path, what: &str, number: u64, remedy: &str) -> Failure {
    let names = columns::names::<T>().join(", ");
    let message =
        format!("{what} {number}: expected what `fairlane run` writes in the columns {names}");
    Failure::at(path, message).hint(remedy)
}
