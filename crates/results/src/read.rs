//! Tables of the files of a run, as Arrow has them: the reverse of [`write`](crate::write).

mod csv;
mod parquet;

use std::path::Path;

use arrow_array::RecordBatch;

use crate::error::Error;

/// Tables that files have, by the names of [`tables`](crate::tables); the others follow from several files or none.
const FILES: [(&str, &str); 8] = [
    ("messages", "flows.parquet"),
    ("ports", "ports.parquet"),
    ("chosen", "chosen.parquet"),
    ("collectives", "collectives.parquet"),
    ("capture", "capture.parquet"),
    ("pauses", "pauses.csv"),
    ("rates", "rates.csv"),
    ("packets", "packets.csv"),
];

/// Refuses a directory that holds no results.
///
/// # Errors
/// If it isn't one that [`write`](crate::write) has filled.
pub fn require_results(directory: &Path) -> Result<(), Error> {
    let hint = "name a directory that `fairlane run` or Run.write has written";
    for name in ["summary.json", "scenario.toml", "flows.parquet"] {
        if !directory.join(name).is_file() {
            return Err(Error::at(directory, format!("holds no {name}")).hint(hint));
        }
    }
    Ok(())
}

/// A table of a run whose files are in `directory`, with the columns of its file.
///
/// # Errors
/// If the run has no such file, or the file is damaged.
pub fn table(directory: &Path, name: &str) -> Result<RecordBatch, Error> {
    let Some((_, file)) = FILES.iter().find(|(known, _)| *known == name) else {
        let known = FILES.map(|(known, _)| known).join(", ");
        return Err(
            Error::at(directory, format!("no file of a run has the table {name}")).hint(format!(
                "files have {known}; run its scenario.toml again for the others"
            )),
        );
    };
    let path = directory.join(file);
    if !path.is_file() {
        return Err(Error::at(directory, format!("holds no {file}"))
            .hint("the run's scenario asked for none, see docs/results.md"));
    }
    match file.ends_with(".csv") {
        true => csv::table(&path),
        false => parquet::table(&path),
    }
}

/// What is said of a file that isn't as it was written.
fn damaged(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::at(path, error).hint("the file is damaged: run the scenario again")
}
