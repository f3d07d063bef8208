//! Tables as CSV: a header line, commas, an empty cell for nothing, quotes where a word needs them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::column::{Table, Value};
use crate::error::Error;

/// Writes a table to a new file.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn write<R>(path: &Path, table: &Table<'_, R>) -> Result<(), Error> {
    let fill = || -> std::io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, File::create_new(path)?);
        header(&mut out, table)?;
        for number in 0..table.rows {
            row(&mut out, table, &(table.row)(number))?;
        }
        out.flush()
    };
    fill().map_err(|error| Error::at(path, error))
}

fn header<R>(out: &mut impl Write, table: &Table<'_, R>) -> std::io::Result<()> {
    for (index, column) in table.columns.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(out, "{comma}{}", column.name)?;
    }
    writeln!(out)
}

fn row<R>(out: &mut impl Write, table: &Table<'_, R>, row: &R) -> std::io::Result<()> {
    for (index, column) in table.columns.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        match (column.value)(row) {
            Value::Integer(number) => write!(out, "{number}")?,
            Value::Real(number) => write!(out, "{number}")?,
            // Names that come from traces may hold anything.
            Value::Word(word) if word.contains([',', '"', '\n', '\r']) => {
                write!(out, "\"{}\"", word.replace('"', "\"\""))?;
            }
            Value::Word(word) => out.write_all(word.as_bytes())?,
            Value::Flag(flag) => write!(out, "{flag}")?,
            Value::Null => {}
        }
    }
    writeln!(out)
}
