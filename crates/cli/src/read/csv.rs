//! `flows.csv`.

use std::path::Path;

use csv::StringRecord;

use crate::failure::Failure;
use crate::read::{FLOW_COLUMNS, FlowRow};

/// Hands every row to `take`.
///
/// # Errors
/// If the file isn't what `run` writes, with the line; or whatever `take` returns.
pub(crate) fn flows(
    path: &Path,
    take: &mut dyn FnMut(FlowRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let broken = |error: csv::Error| Failure::at(path, error);
    let mut reader = csv::Reader::from_path(path).map_err(broken)?;
    let columns = columns(path, reader.headers().map_err(broken)?)?;
    for record in reader.records() {
        let record = record.map_err(broken)?;
        take(row(&record, columns).ok_or_else(|| bad_row(path, &record))?)?;
    }
    Ok(())
}

/// Where the columns of a [`FlowRow`] stand.
fn columns(path: &Path, header: &StringRecord) -> Result<[usize; 8], Failure> {
    let mut found = [0; 8];
    for (place, name) in found.iter_mut().zip(FLOW_COLUMNS) {
        *place = header
            .iter()
            .position(|column| column == name)
            .ok_or_else(|| Failure::at(path, format!("line 1: there is no column \"{name}\"")))?;
    }
    Ok(found)
}

/// `None` if a cell is neither empty nor a number that fits.
fn row(record: &StringRecord, columns: [usize; 8]) -> Option<FlowRow> {
    let mut cells = [None; 8];
    for (cell, column) in cells.iter_mut().zip(columns) {
        *cell = match record.get(column)? {
            "" => None,
            text => Some(text.parse().ok()?),
        };
    }
    FlowRow::from_cells(cells)
}

fn bad_row(path: &Path, record: &StringRecord) -> Failure {
    let line = record.position().map_or(0, csv::Position::line);
    Failure::new(format!(
        "{}:{line}: expected whole numbers in the columns {}",
        path.display(),
        FLOW_COLUMNS.join(", ")
    ))
}
