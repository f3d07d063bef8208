//! The files of a result directory, described in `docs/results.md`.

pub mod capture;

pub(crate) mod collectives;
mod csv;
pub mod flows;
pub(crate) mod links;
mod parquet;
mod paths;
pub mod ports;
pub mod trace;

pub use capture::{PAUSE, RESUME};

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use fairlane_fabric::Results;
use fairlane_scenario::Loaded;

use crate::error::{Error, to_json};

/// Every name that a result directory may hold.
pub const NAMES: &[&str] = &[
    "scenario.toml",
    "inputs",
    "flows.parquet",
    "flows.csv",
    "ports.parquet",
    "chosen.parquet",
    "signals.json",
    "summary.json",
    "packets.csv",
    CAPTURE,
    "pauses.csv",
    "rates.csv",
    "paths.csv",
    "collectives.csv",
    "collectives.parquet",
    "programs",
    "report.html",
];

/// Packets at captured ports.
pub const CAPTURE: &str = "capture.parquet";

/// What goes into a result directory.
pub struct Content<'a> {
    /// The scenario with its inputs: what was to be recorded.
    pub loaded: &'a Loaded,
    /// The resolved scenario.
    pub scenario: &'a str,
    /// Files that the scenario names, relative to it.
    pub inputs: &'a [(PathBuf, &'a [u8])],
    /// What was measured.
    pub results: &'a Results,
    /// Text of `summary.json`.
    pub summary: &'a str,
    /// Text of `report.html`.
    pub report: &'a str,
}

/// Writes all files into an empty directory.
///
/// # Errors
/// If a file can't be written.
pub fn all(directory: &Path, content: &Content<'_>) -> Result<(), Error> {
    let file = |name: &str| directory.join(name);
    let (results, scenario) = (content.results, &content.loaded.scenario);
    text(&file("scenario.toml"), content.scenario)?;
    for (path, bytes) in content.inputs {
        side_file(directory, path, bytes)?;
    }
    flows::write(directory, &results.messages)?;
    ports::write(&file("ports.parquet"), results)?;
    if results.chosen.is_some() {
        ports::write_chosen(&file("chosen.parquet"), results)?;
    }
    if !scenario.output.trace_nodes.is_empty() {
        trace::packets(&file("packets.csv"), &results.trace)?;
    }
    if !scenario.capture.is_empty() {
        capture::write(&file(CAPTURE), results)?;
    }
    trace::pauses(&file("pauses.csv"), results)?;
    if scenario.output.rate_interval.is_some() {
        trace::rates(&file("rates.csv"), &results.rates)?;
    }
    if let Some(multipath) = &results.multipath {
        text(&file("paths.csv"), &paths::text(multipath))?;
    }
    if !results.collectives.is_empty() {
        collectives::write(directory, &results.collectives)?;
    }
    text(&file("signals.json"), &to_json(&results.signals)?)?;
    text(&file("report.html"), content.report)?;
    text(&file("summary.json"), content.summary)
}

/// Writes a new text file, ending it with a line break.
fn text(path: &Path, text: &str) -> Result<(), Error> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    File::create_new(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .and_then(|()| file.write_all(end.as_bytes()))
        })
        .map_err(|error| Error::at(path, error))
}

/// Writes a file that the scenario names.
fn side_file(directory: &Path, relative: &Path, bytes: &[u8]) -> Result<(), Error> {
    let path = directory.join(relative);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::at(folder, error))?;
    }
    fs::write(&path, bytes).map_err(|error| Error::at(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Kind, kinds};

    /// Numbers that name something: nobody adds them up.
    const NAMES: &[&str] = &[
        "id",
        "workload",
        "source",
        "destination",
        "source_port",
        "destination_port",
        "class",
        "tenant",
        "port_id",
        "node",
        "port",
        "peer_port_id",
        "peer_node",
        "message",
        "opcode",
        "psn",
        "msn",
        "syndrome",
        "step",
        "group",
        "slowest_rank",
        "slowest_host",
        "last_message",
    ];

    #[test]
    fn what_can_be_added_up_has_64_bits() {
        // Sums of dataframe libraries have the width of their column.
        let columns = [
            kinds(flows::COLUMNS),
            kinds(&ports::columns()),
            kinds(&links::columns()),
            kinds(&collectives::columns()),
            kinds(&capture::columns()),
            kinds(trace::PACKETS),
            kinds(trace::RATES),
            kinds(&trace::pause_columns()),
        ];
        for (name, kind) in columns.concat() {
            if let Kind::Integer(bits) | Kind::OptionalInteger(bits) = kind {
                assert!(
                    bits == 64 || NAMES.contains(&name),
                    "{name} has {bits} bits"
                );
            }
        }
    }
}
