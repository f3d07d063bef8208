//! Tables as Parquet: Snappy, no time stamps, no random identifiers, so that equal tables are equal
//! files.

use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::column::{Column, Kind, Table, Value};
use crate::error::Error;

/// Rows that are in memory at once.
const ROW_GROUP: usize = 1 << 17;

/// Writes a table to a new file.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn write<R>(path: &Path, table: &Table<'_, R>) -> Result<(), Error> {
    let file = File::create_new(path).map_err(|error| Error::at(path, error))?;
    fill(file, table).map_err(|error| Error::at(path, error))
}

fn fill<R>(file: impl Write + Send, table: &Table<'_, R>) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(file, schema(table.columns)?, Arc::new(properties))?;
    for start in (0..table.rows).step_by(ROW_GROUP) {
        let range = start..table.rows.min(start + ROW_GROUP);
        let mut group = writer.next_row_group()?;
        for column in table.columns {
            if let Some(mut sink) = group.next_column()? {
                column_chunk(&mut sink, column, table, range.clone())?;
                sink.close()?;
            }
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn schema<R>(columns: &[Column<R>]) -> Result<TypePtr, ParquetError> {
    let fields = columns
        .iter()
        .map(|column| field(column.name, column.kind).map(Arc::new));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(
        Type::group_type_builder("table")
            .with_fields(fields)
            .build()?,
    ))
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let repetition = match kind.is_optional() {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    let builder = Type::primitive_type_builder(name, physical(kind)).with_repetition(repetition);
    match kind {
        Kind::Integer(bits) | Kind::OptionalInteger(bits) => builder
            .with_logical_type(Some(LogicalType::integer(bits.cast_signed(), false)))
            .build(),
        Kind::Word | Kind::OptionalWord => {
            builder.with_logical_type(Some(LogicalType::String)).build()
        }
        Kind::Real | Kind::OptionalReal | Kind::Flag => builder.build(),
    }
}

fn physical(kind: Kind) -> Physical {
    match kind {
        Kind::Integer(64) | Kind::OptionalInteger(64) => Physical::INT64,
        Kind::Integer(_) | Kind::OptionalInteger(_) => Physical::INT32,
        Kind::Real | Kind::OptionalReal => Physical::DOUBLE,
        Kind::Word | Kind::OptionalWord => Physical::BYTE_ARRAY,
        Kind::Flag => Physical::BOOLEAN,
    }
}

/// Writes the cells of one column in some rows.
fn column_chunk<R>(
    sink: &mut SerializedColumnWriter<'_>,
    column: &Column<R>,
    table: &Table<'_, R>,
    rows: Range<usize>,
) -> Result<(), ParquetError> {
    let cells = (column, table, rows);
    match physical(column.kind) {
        Physical::INT64 => typed::<_, Int64Type>(sink, cells, |cell| match cell {
            Value::Integer(number) => Some(number.cast_signed()),
            _ => None,
        }),
        Physical::INT32 => typed::<_, Int32Type>(sink, cells, |cell| match cell {
            Value::Integer(number) => u32::try_from(number).ok().map(u32::cast_signed),
            _ => None,
        }),
        Physical::DOUBLE => typed::<_, DoubleType>(sink, cells, |cell| match cell {
            Value::Real(number) => Some(number),
            _ => None,
        }),
        Physical::BYTE_ARRAY => typed::<_, ByteArrayType>(sink, cells, |cell| match cell {
            Value::Word(word) => Some(ByteArray::from(word)),
            _ => None,
        }),
        _ => typed::<_, BoolType>(sink, cells, |cell| match cell {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }),
    }
}

/// Writes cells of one physical type; the levels say which of them hold something.
fn typed<R, T: DataType>(
    sink: &mut SerializedColumnWriter<'_>,
    (column, table, rows): (&Column<R>, &Table<'_, R>, Range<usize>),
    convert: impl Fn(Value<'_>) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(rows.len());
    let mut levels = Vec::with_capacity(rows.len());
    for number in rows {
        let value = convert((column.value)(&(table.row)(number)));
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    sink.typed::<T>()
        .write_batch(&values, Some(&levels), None)?;
    Ok(())
}
