//! What a sweep leaves in its folder beside the journal.

use std::path::Path;
use std::sync::Arc;

use fairlane_results::staging::replace;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::error::Error;
use crate::sweep::{Column, Data, Frame, Record, Sweep};

impl Sweep {
    /// Writes the file itself, both tables and the page into a folder; each is there whole or as it was before.
    ///
    /// # Errors
    /// If one of them can't be written.
    pub fn write(&self, folder: &Path, records: &[Option<Record>]) -> Result<(), Error> {
        let (table, means) = (self.table(records), self.means(records));
        let save = |name: &str, bytes: &[u8]| replace(&folder.join(name), bytes);
        save("sweep.toml", self.text().as_bytes())?;
        save("table.csv", table.csv()?.as_bytes())?;
        save("table.parquet", &table.parquet()?)?;
        save("means.csv", means.csv()?.as_bytes())?;
        save("means.parquet", &means.parquet()?)?;
        save("report.html", self.page(records)?.as_bytes())?;
        Ok(())
    }
}

impl Frame {
    /// The table as CSV: numbers without rounding, nothing where they aren't defined.
    ///
    /// # Errors
    /// If a cell can't be written.
    pub fn csv(&self) -> Result<String, Error> {
        self.by_rows().csv()
    }

    /// The table as a Parquet file: Snappy, no time stamps, so that equal tables are equal files.
    ///
    /// # Errors
    /// If a column can't be written.
    pub fn parquet(&self) -> Result<Vec<u8>, Error> {
        fill(self).map_err(|error| Error::new(format!("Parquet: {error}"), ""))
    }
}

fn fill(frame: &Frame) -> Result<Vec<u8>, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema(frame)?, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for column in &frame.columns {
        let Some(mut sink) = group.next_column()? else {
            continue;
        };
        match &column.data {
            Data::Text(cells) => {
                let cells: Vec<_> = cells
                    .iter()
                    .map(|cell| ByteArray::from(cell.as_str()))
                    .collect();
                sink.typed::<ByteArrayType>()
                    .write_batch(&cells, None, None)?;
            }
            Data::Count(cells) => {
                let cells: Vec<_> = cells.iter().map(|cell| cell.cast_signed()).collect();
                sink.typed::<Int64Type>().write_batch(&cells, None, None)?;
            }
            Data::Number(cells) => {
                let levels: Vec<_> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                let cells: Vec<_> = cells.iter().copied().flatten().collect();
                sink.typed::<DoubleType>()
                    .write_batch(&cells, Some(&levels), None)?;
            }
        }
        sink.close()?;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn schema(frame: &Frame) -> Result<TypePtr, ParquetError> {
    let field = |column: &Column| {
        let builder = |kind| Type::primitive_type_builder(&column.name, kind);
        let field = match column.data {
            Data::Text(_) => builder(Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_repetition(Repetition::REQUIRED),
            Data::Count(_) => builder(Physical::INT64)
                .with_logical_type(Some(LogicalType::integer(64, false)))
                .with_repetition(Repetition::REQUIRED),
            Data::Number(_) => builder(Physical::DOUBLE).with_repetition(Repetition::OPTIONAL),
        };
        field.build().map(Arc::new)
    };
    let fields = frame
        .columns
        .iter()
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(
        Type::group_type_builder("table")
            .with_fields(fields)
            .build()?,
    ))
}
