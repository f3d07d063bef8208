//! Tables in Parquet, of the types that [`write`](crate::write) uses.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringViewArray,
};
use arrow_schema::{Field, Schema};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::damaged;
use crate::error::Error;

pub(super) fn table(path: &Path) -> Result<RecordBatch, Error> {
    let file = File::open(path).map_err(|error| Error::at(path, error))?;
    let reader = SerializedFileReader::new(file).map_err(|error| damaged(path, error))?;
    let meta = reader.metadata().file_metadata();
    let rows = usize::try_from(meta.num_rows()).unwrap_or(0);
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (index, column) in meta.schema_descr().columns().iter().enumerate() {
        let array = array(&reader, index, column).map_err(|error| damaged(path, error))?;
        let nullable = column.max_def_level() > 0;
        fields.push(Field::new(
            column.name(),
            array.data_type().clone(),
            nullable,
        ));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, arrays, &options)
        .map_err(|error| damaged(path, error))
}

type Reader = SerializedFileReader<File>;

fn array(
    reader: &Reader,
    index: usize,
    column: &ColumnDescriptor,
) -> Result<ArrayRef, ParquetError> {
    Ok(match column.physical_type() {
        Physical::INT64 => {
            integers::<UInt64Type, _>(cells::<Int64Type>(reader, index)?, i64::cast_unsigned)
        }
        Physical::INT32 => {
            let cells = cells::<Int32Type>(reader, index)?;
            match bits(column) {
                8 => integers::<UInt8Type, _>(cells, |cell| cell.cast_unsigned() as u8),
                16 => integers::<UInt16Type, _>(cells, |cell| cell.cast_unsigned() as u16),
                _ => integers::<UInt32Type, _>(cells, i32::cast_unsigned),
            }
        }
        Physical::DOUBLE => Arc::new(Float64Array::from(cells::<DoubleType>(reader, index)?)),
        Physical::BOOLEAN => Arc::new(BooleanArray::from(cells::<BoolType>(reader, index)?)),
        Physical::BYTE_ARRAY => {
            let cells = cells::<ByteArrayType>(reader, index)?;
            let words = cells
                .iter()
                .map(|cell| cell.as_ref().map(|cell| cell.as_utf8()).transpose());
            Arc::new(words.collect::<Result<StringViewArray, _>>()?)
        }
        other => {
            return Err(ParquetError::General(format!(
                "column {} is of type {other}",
                column.name()
            )));
        }
    })
}

/// The width of whole numbers of at most 32 bits.
fn bits(column: &ColumnDescriptor) -> i8 {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(whole)) => whole.bit_width,
        _ => 32,
    }
}

fn integers<T: ArrowPrimitiveType, C>(
    cells: Vec<Option<C>>,
    convert: fn(C) -> T::Native,
) -> ArrayRef {
    let cells = cells.into_iter().map(|cell| cell.map(convert));
    Arc::new(cells.collect::<PrimitiveArray<T>>())
}

/// The cells of a column, row group by row group.
fn cells<T: DataType>(reader: &Reader, index: usize) -> Result<Vec<Option<T::T>>, ParquetError> {
    let mut cells = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let optional = group
            .metadata()
            .column(index)
            .column_descr()
            .max_def_level()
            > 0;
        let mut column = get_typed_column_reader::<T>(group.get_column_reader(index)?);
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let (records, ..) =
                column.read_records(rows - read, Some(&mut levels), None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::EOF(format!("{read} of {rows} rows")));
            }
            read += records;
        }
        let mut values = values.into_iter();
        match optional {
            true => cells.extend(
                levels
                    .iter()
                    .map(|level| (*level > 0).then(|| values.next()).flatten()),
            ),
            false => cells.extend(values.map(Some)),
        }
    }
    Ok(cells)
}
