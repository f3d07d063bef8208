//! The files of a result directory, described in `docs/results.md`.

mod capture;
mod column;
mod csv;
mod flows;
mod parquet;
mod paths;
mod ports;
mod trace;

pub(crate) use capture::{PAUSE, RESUME};

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use fairlane_fabric::Results;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;

/// Every name that a result directory may hold.
pub(crate) const NAMES: &[&str] = &[
    "scenario.toml",
    "inputs",
    "flows.parquet",
    "flows.csv",
    "ports.parquet",
    "signals.json",
    "summary.json",
    "packets.csv",
    CAPTURE,
    "pauses.csv",
    "rates.csv",
    "paths.csv",
    "report.html",
];

/// Packets at captured ports.
pub(crate) const CAPTURE: &str = "capture.parquet";

/// What goes into a result directory.
pub(crate) struct Content<'a> {
    /// The resolved scenario.
    pub(crate) scenario: &'a str,
    /// Files that the scenario names, relative to it.
    pub(crate) inputs: &'a [(PathBuf, String)],
    /// What was measured.
    pub(crate) results: &'a Results,
    /// Text of `summary.json`.
    pub(crate) summary: &'a str,
    /// Text of `report.html`.
    pub(crate) report: &'a str,
    /// Whether packets were recorded one by one.
    pub(crate) traced: bool,
    /// Whether packets were captured.
    pub(crate) captured: bool,
    /// Whether rates were recorded.
    pub(crate) rated: bool,
}

/// Writes all files into an empty directory.
///
/// # Errors
/// If a file can't be written, or as soon as a signal has arrived.
pub(crate) fn all(
    directory: &Path,
    content: &Content<'_>,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let file = |name: &str| directory.join(name);
    let results = content.results;
    text(&file("scenario.toml"), content.scenario)?;
    for (path, words) in content.inputs {
        side_file(directory, path, words)?;
    }
    flows::write(directory, &results.messages)?;
    interrupt.check()?;
    ports::write(&file("ports.parquet"), results)?;
    interrupt.check()?;
    if content.traced {
        trace::packets(&file("packets.csv"), &results.trace)?;
    }
    if content.captured {
        capture::write(&file(CAPTURE), results)?;
        interrupt.check()?;
    }
    trace::pauses(&file("pauses.csv"), results)?;
    if content.rated {
        trace::rates(&file("rates.csv"), &results.rates)?;
    }
    if let Some(multipath) = &results.multipath {
        text(&file("paths.csv"), &paths::text(multipath))?;
    }
    text(&file("signals.json"), &print::to_json(&results.signals)?)?;
    text(&file("report.html"), content.report)?;
    text(&file("summary.json"), content.summary)?;
    interrupt.check()
}

/// Writes a new text file, ending it with a line break.
fn text(path: &Path, text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    File::create_new(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.write_all(end.as_bytes()))
        })
        .map_err(|error| Failure::at(path, error))
}

/// Writes a file that the scenario names.
fn side_file(directory: &Path, relative: &Path, words: &str) -> Result<(), Failure> {
    let path = directory.join(relative);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
    }
    fs::write(&path, words).map_err(|error| Failure::at(&path, error))
}
