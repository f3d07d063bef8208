//! Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::Value;

use crate::failure::Failure;
use crate::read::{bad_row, columns};

/// What `read` makes of the rows of a file, from the columns that the fields of `T` are called. `remedy` is what to do if the
/// file is damaged.
///
/// # Errors
/// If the file isn't what `run` writes; of a row, also if `read` makes nothing of it.
pub(crate) fn rows<T: DeserializeOwned, U, R: FnMut(T) -> Option<U>>(
    path: &Path,
    remedy: &'static str,
    mut read: R,
) -> Result<impl Iterator<Item = Result<U, Failure>> + use<T, U, R>, Failure> {
    let path = path.to_owned();
    let file = File::open(&path).map_err(|error| Failure::at(&path, error))?;
    let broken = {
        let path = path.clone();
        move |error: ParquetError| Failure::at(&path, error).hint(remedy)
    };
    let reader = SerializedFileReader::new(file).map_err(&broken)?;
    let schema = reader.metadata().file_metadata().schema();
    let names = schema.get_fields().iter().map(|field| field.name());
    if let Some(name) = columns::missing::<T>(names) {
        let message = format!("there is no column \"{name}\"");
        return Err(Failure::at(&path, message).hint(remedy));
    }
    let projection = projection(schema, columns::names::<T>()).map_err(&broken)?;
    let rows = RowIter::from_file_into(Box::new(reader)).project(Some(projection));
    let rows = rows.map_err(&broken)?.enumerate();
    Ok(rows.map(move |(number, row)| {
        let row = row.map_err(&broken)?;
        let cells = row.get_column_iter();
        let cells = cells.map(|(name, cell)| (name.as_str(), value(cell)));
        let row = T::deserialize(MapDeserializer::<_, serde_json::Error>::new(cells)).ok();
        let row = row.and_then(&mut read);
        row.ok_or_else(|| bad_row::<T>(&path, "row", number as u64, remedy))
    }))
}

/// The part of a schema that is asked for.
fn projection(schema: &Type, names: &[&str]) -> Result<Type, ParquetError> {
    let fields = schema.get_fields().iter();
    let known = fields.filter(|field| names.contains(&field.name()));
    Type::group_type_builder(schema.name())
        .with_fields(known.map(Arc::clone).collect())
        .build()
}

/// A cell as a value; what no column that is read holds is a list, which no field takes.
fn value(cell: &Field) -> Value {
    match cell {
        Field::Null => Value::Null,
        Field::Bool(flag) => (*flag).into(),
        Field::UByte(number) => (*number).into(),
        Field::UShort(number) => (*number).into(),
        Field::UInt(number) => (*number).into(),
        Field::ULong(number) => (*number).into(),
        Field::Int(number) => (*number).into(),
        Field::Long(number) => (*number).into(),
        Field::Str(word) => word.as_str().into(),
        _ => Value::Array(Vec::new()),
    }
}
