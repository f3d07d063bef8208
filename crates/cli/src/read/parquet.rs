//! `flows.parquet`.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use crate::failure::Failure;
use crate::read::{FLOW_COLUMNS, FlowRow};

const DAMAGED: &str = "the file is damaged; without it, flows.csv is read instead";

/// Hands every row to `take`.
///
/// # Errors
/// If the file isn't what `run` writes, or whatever `take` returns.
pub(crate) fn flows(
    path: &Path,
    take: &mut dyn FnMut(FlowRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let broken = |error: ParquetError| Failure::at(path, error).hint(DAMAGED);
    let file = File::open(path).map_err(|error| Failure::at(path, error))?;
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    let schema = projection(path, reader.metadata().file_metadata().schema())?;
    for (number, row) in reader
        .get_row_iter(Some(schema))
        .map_err(broken)?
        .enumerate()
    {
        let row = row.map_err(broken)?;
        take(flow(&row).ok_or_else(|| bad_row(path, number))?)?;
    }
    Ok(())
}

/// The part of a schema that a [`FlowRow`] needs; the reader wants it in the file's own order.
fn projection(path: &Path, schema: &Type) -> Result<Type, Failure> {
    let known = schema
        .get_fields()
        .iter()
        .filter(|field| FLOW_COLUMNS.contains(&field.name()));
    let fields: Vec<_> = known.map(Arc::clone).collect();
    if let Some(name) = FLOW_COLUMNS
        .iter()
        .find(|name| !fields.iter().any(|field| field.name() == **name))
    {
        return Err(Failure::at(path, format!("there is no column \"{name}\"")));
    }
    Type::group_type_builder(schema.name())
        .with_fields(fields)
        .build()
        .map_err(|error| Failure::at(path, error))
}

fn flow(row: &Row) -> Option<FlowRow> {
    let mut cells = [None; 8];
    for (name, field) in row.get_column_iter() {
        let index = FLOW_COLUMNS.iter().position(|column| column == name)?;
        cells[index] = integer(field)?;
    }
    FlowRow::from_cells(cells)
}

/// The outer `None` is for what isn't a whole number.
fn integer(field: &Field) -> Option<Option<u64>> {
    match *field {
        Field::Null => Some(None),
        Field::UByte(number) => Some(Some(number.into())),
        Field::UShort(number) => Some(Some(number.into())),
        Field::UInt(number) => Some(Some(number.into())),
        Field::ULong(number) => Some(Some(number)),
        Field::Int(number) => Some(Some(u64::try_from(number).ok()?)),
        Field::Long(number) => Some(Some(u64::try_from(number).ok()?)),
        _ => None,
    }
}

fn bad_row(path: &Path, number: usize) -> Failure {
    Failure::new(format!(
        "{}: row {number}: expected whole numbers in the columns {}",
        path.display(),
        FLOW_COLUMNS.join(", ")
    ))
}
