//! Reads back what `run` has written.

mod capture;
mod csv;
mod overlay;
mod parquet;
mod paths;
mod run;
#[cfg(test)]
mod written;

use std::path::{Path, PathBuf};

use crate::failure::Failure;

pub(crate) use capture::{Addresses, Capture, CaptureRow};
pub(crate) use overlay::{Overlay, overlay};
pub(crate) use run::run;

/// A row of `flows.parquet` or `flows.csv`, as far as exports need it.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// The columns of [`FlowRow`], in its order.
const FLOW_COLUMNS: [&str; 8] = [
    "source",
    "destination",
    "source_port",
    "destination_port",
    "size_bytes",
    "start_ps",
    "completion_ps",
    "standalone_ns",
];

impl FlowRow {
    /// A row from the cells of [`FLOW_COLUMNS`]; `None` if one is out of range, or missing although
    /// it mustn't be.
    fn from_cells(cells: [Option<u64>; 8]) -> Option<Self> {
        let [
            source,
            destination,
            source_port,
            destination_port,
            size,
            start,
            completion,
            alone,
        ] = cells;
        Some(Self {
            source: source?.try_into().ok()?,
            destination: destination?.try_into().ok()?,
            source_port: source_port?.try_into().ok()?,
            destination_port: destination_port?.try_into().ok()?,
            size_bytes: size?,
            start_ps: start?,
            completion_ps: completion,
            standalone_ns: alone?,
        })
    }
}

/// Hands every row of a result directory's flows to `take`, in order of completion; from
/// `flows.parquet`, or from `flows.csv` if that is missing.
///
/// # Errors
/// If there is neither, if one isn't what `run` writes, or whatever `take` returns.
pub(crate) fn flows(
    directory: &Path,
    take: &mut dyn FnMut(FlowRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    require_results(directory)?;
    let columnar = directory.join("flows.parquet");
    if columnar.exists() {
        return parquet::flows(&columnar, take);
    }
    let text = directory.join("flows.csv");
    if text.exists() {
        return csv::flows(&text, take);
    }
    Err(Failure::at(directory, "holds neither flows.parquet nor flows.csv").hint(NOT_RESULTS))
}

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

fn require_results(directory: &Path) -> Result<(), Failure> {
    match std::fs::metadata(directory) {
        Ok(facts) if facts.is_dir() => Ok(()),
        Ok(_) => Err(Failure::at(directory, "not a directory").hint(NOT_RESULTS)),
        Err(error) => Err(Failure::at(directory, error).hint(NOT_RESULTS)),
    }
}
