//! `paths.csv`.

use std::path::Path as File;

use csv::StringRecord;
use fairlane_explain::Path;

use crate::failure::Failure;

const DAMAGED: &str = "the file is damaged; run the scenario again";

/// The columns, in the order in which [`row`] takes them.
const COLUMNS: [&str; 11] = [
    "source",
    "destination",
    "path",
    "source_port",
    "bytes",
    "chunks",
    "failures",
    "quarantines",
    "twin_of",
    "health",
    "way",
];

/// Reads the paths between hosts.
///
/// # Errors
/// If the file isn't what `run` writes, with the line.
pub(crate) fn paths(file: &File) -> Result<Vec<Path>, Failure> {
    let broken = |error: csv::Error| Failure::at(file, error).hint(DAMAGED);
    let mut reader = csv::Reader::from_path(file).map_err(broken)?;
    let header = reader.headers().map_err(broken)?.clone();
    let mut columns = [0; COLUMNS.len()];
    for (place, name) in columns.iter_mut().zip(COLUMNS) {
        *place = header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| {
                let message = format!("line 1: there is no column \"{name}\"");
                Failure::at(file, message).hint(DAMAGED)
            })?;
    }
    let mut paths = Vec::new();
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let path = row(&record, columns).ok_or_else(|| {
            let line = record.position().map_or(0, csv::Position::line);
            let message = format!("line {line}: expected what `fairlane run` writes");
            Failure::at(file, message).hint(DAMAGED)
        })?;
        paths.push(path);
    }
    Ok(paths)
}

/// `None` if a cell isn't what it should be.
fn row(record: &StringRecord, columns: [usize; COLUMNS.len()]) -> Option<Path> {
    let cell = |column: usize| record.get(columns[column]);
    let number = |column: usize| cell(column)?.parse::<u64>().ok();
    let node = |column: usize| cell(column)?.parse::<u32>().ok();
    let twin = match cell(8)? {
        "" => None,
        twin => Some(twin.parse().ok()?),
    };
    let nodes = cell(10)?.split('-').filter(|node| !node.is_empty());
    let way = nodes.map(str::parse);
    Some(Path {
        source: node(0)?,
        destination: node(1)?,
        path: node(2)?,
        source_port: cell(3)?.parse().ok()?,
        bytes: number(4)?,
        chunks: number(5)?,
        failures: number(6)?,
        quarantines: number(7)?,
        twin_of: twin,
        health: cell(9)?.to_owned(),
        way: way.collect::<Result<_, _>>().ok()?,
    })
}
