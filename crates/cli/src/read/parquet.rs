//! Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;
use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

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
        let cells = cells.map(|(name, cell)| (name.as_str(), Cell(cell)));
        let row = T::deserialize(MapDeserializer::new(cells)).ok();
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

/// A cell as a value; of others than these nothing is read.
struct Cell<'a>(&'a Field);

impl<'de> Deserializer<'de> for Cell<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Field::Bool(flag) => visitor.visit_bool(*flag),
            Field::UByte(number) => visitor.visit_u8(*number),
            Field::UShort(number) => visitor.visit_u16(*number),
            Field::UInt(number) => visitor.visit_u32(*number),
            Field::ULong(number) => visitor.visit_u64(*number),
            Field::Int(number) => visitor.visit_i32(*number),
            Field::Long(number) => visitor.visit_i64(*number),
            Field::Str(word) => visitor.visit_borrowed_str(word),
            _ => Err(serde::de::Error::invalid_type(Unexpected::Unit, &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Field::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Cell<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
