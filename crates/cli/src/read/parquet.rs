//! Parquet files.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use crate::failure::Failure;
use crate::read::{FLOW_COLUMNS, FlowRow};

/// A file and some of its columns.
pub(crate) struct Columns<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// The names, in the order in which cells are handed out.
    pub(crate) names: &'a [&'static str],
    /// What to do if the file is damaged.
    pub(crate) remedy: &'a str,
}

/// What is done with the cells of a row, whether to go on after it, or `None` if a cell isn't what it
/// should be.
pub(crate) type Take<'a> = dyn FnMut(&[&Field]) -> Option<Result<ControlFlow<()>, Failure>> + 'a;

impl Columns<'_> {
    /// Hands the cells of every row to `take`, until that breaks.
    ///
    /// # Errors
    /// If the file isn't what `run` writes, or whatever `take` returns.
    pub(crate) fn rows(&self, take: &mut Take<'_>) -> Result<(), Failure> {
        let broken = |error: ParquetError| Failure::at(self.path, error).hint(self.remedy);
        let file = File::open(self.path).map_err(|error| Failure::at(self.path, error))?;
        let reader = SerializedFileReader::new(file).map_err(broken)?;
        let schema = self.projection(reader.metadata().file_metadata().schema())?;
        let order = self.order(&schema);
        let rows = reader.get_row_iter(Some(schema)).map_err(broken)?;
        for (number, row) in rows.enumerate() {
            let row: Row = row.map_err(broken)?;
            let mut cells = vec![&Field::Null; self.names.len()];
            for ((_, cell), place) in row.get_column_iter().zip(&order) {
                cells[*place] = cell;
            }
            let taken = take(&cells).unwrap_or_else(|| Err(self.bad_row(number)));
            if taken?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The part of a schema that is asked for; the reader wants it in the file's own order.
    fn projection(&self, schema: &Type) -> Result<Type, Failure> {
        let known = schema
            .get_fields()
            .iter()
            .filter(|field| self.names.contains(&field.name()));
        let fields: Vec<_> = known.map(Arc::clone).collect();
        let missing = |name: &&&str| !fields.iter().any(|field| field.name() == **name);
        if let Some(name) = self.names.iter().find(missing) {
            let message = format!("there is no column \"{name}\"");
            return Err(Failure::at(self.path, message).hint(self.remedy));
        }
        Type::group_type_builder(schema.name())
            .with_fields(fields)
            .build()
            .map_err(|error| Failure::at(self.path, error))
    }

    /// Where each column of a projection stands among the names.
    fn order(&self, schema: &Type) -> Vec<usize> {
        let place = |field: &Arc<Type>| self.names.iter().position(|name| *name == field.name());
        schema.get_fields().iter().filter_map(place).collect()
    }

    fn bad_row(&self, number: usize) -> Failure {
        Failure::new(format!(
            "{}: row {number}: expected what `fairlane run` writes in the columns {}",
            self.path.display(),
            self.names.join(", ")
        ))
        .hint(self.remedy)
    }
}

/// Hands every row of `flows.parquet` to `take`.
///
/// # Errors
/// If the file isn't what `run` writes, or whatever `take` returns.
pub(crate) fn flows(
    path: &Path,
    take: &mut dyn FnMut(FlowRow) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let columns = Columns {
        path,
        names: &FLOW_COLUMNS,
        remedy: "the file is damaged; without it, flows.csv is read instead",
    };
    columns.rows(&mut |cells| {
        let flow = flow(cells)?;
        Some(take(flow).map(ControlFlow::Continue))
    })
}

fn flow(fields: &[&Field]) -> Option<FlowRow> {
    let mut cells = [None; 8];
    for (cell, field) in cells.iter_mut().zip(fields) {
        *cell = integer(field)?;
    }
    FlowRow::from_cells(cells)
}

/// The outer `None` is for what isn't a whole number.
pub(crate) fn integer(field: &Field) -> Option<Option<u64>> {
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

/// `None` for what isn't yes or no.
pub(crate) fn flag(field: &Field) -> Option<bool> {
    match *field {
        Field::Bool(flag) => Some(flag),
        _ => None,
    }
}

/// `None` for what isn't a word.
pub(crate) fn word(field: &Field) -> Option<&str> {
    match field {
        Field::Str(word) => Some(word),
        _ => None,
    }
}
