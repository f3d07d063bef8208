//! Tables in CSV. What a column holds shows in its cells: whole numbers, numbers, yes or no, else words; an empty cell is nothing.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringViewArray, UInt64Array,
};

use super::damaged;
use crate::error::Error;

pub(super) fn table(path: &Path) -> Result<RecordBatch, Error> {
    let broken = |error: csv::Error| damaged(path, error);
    let mut reader = csv::Reader::from_path(path).map_err(broken)?;
    let header = reader.headers().map_err(broken)?.clone();
    let mut columns: Vec<Vec<String>> = vec![Vec::new(); header.len()];
    for record in reader.records() {
        let record = record.map_err(broken)?;
        for (column, cell) in columns.iter_mut().zip(&record) {
            column.push(cell.to_owned());
        }
    }
    let arrays = columns.iter().map(|cells| array(cells));
    let named = header.iter().zip(arrays);
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, array)| {
        let nullable = array.null_count() > 0;
        (name, array, nullable)
    }))
    .map_err(|error| damaged(path, error))
}

fn array(cells: &[String]) -> ArrayRef {
    if let Some(numbers) = all::<u64>(cells) {
        return Arc::new(UInt64Array::from(numbers));
    }
    if let Some(numbers) = all::<f64>(cells) {
        return Arc::new(Float64Array::from(numbers));
    }
    if let Some(flags) = all::<bool>(cells) {
        return Arc::new(BooleanArray::from(flags));
    }
    let words = cells
        .iter()
        .map(|cell| Some(cell.as_str()).filter(|cell| !cell.is_empty()));
    Arc::new(words.collect::<StringViewArray>())
}

/// The cells as values of a type, if they all are.
fn all<T: std::str::FromStr>(cells: &[String]) -> Option<Vec<Option<T>>> {
    let cell = |cell: &String| match cell.is_empty() {
        true => Ok(None),
        false => cell.parse().map(Some),
    };
    cells.iter().map(cell).collect::<Result<_, _>>().ok()
}
