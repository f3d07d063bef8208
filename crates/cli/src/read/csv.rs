//! CSV files.

use std::path::Path;

use csv::{Position, Reader, StringRecord};
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::read::{DAMAGED, bad_row, columns};

/// The rows of a file, from the columns that the fields of `T` are called.
///
/// # Errors
/// If the file isn't what `run` writes; of a row, with its line.
pub(crate) fn rows<T: DeserializeOwned>(
    path: &Path,
) -> Result<impl Iterator<Item = Result<T, Failure>> + use<T>, Failure> {
    let path = path.to_owned();
    let broken = {
        let path = path.clone();
        move |error| Failure::at(&path, error).hint(DAMAGED)
    };
    let mut reader = Reader::from_path(&path).map_err(&broken)?;
    let header = reader.headers().map_err(&broken)?.clone();
    if let Some(name) = columns::missing::<T>(header.iter()) {
        let message = format!("line 1: there is no column \"{name}\"");
        return Err(Failure::at(&path, message).hint(DAMAGED));
    }
    Ok(reader.into_records().map(move |record| {
        let record: StringRecord = record.map_err(&broken)?;
        let line = record.position().map_or(0, Position::line);
        record
            .deserialize(Some(&header))
            .map_err(|_| bad_row::<T>(&path, "line", line, DAMAGED))
    }))
}
