//! Text in columns.

use std::io::{self, Write};

use crate::Outcome;

/// Prints a title and rows, the first of which is the header: the first column to the left, all
/// others to the right.
pub(crate) fn print(title: &str, rows: &[Vec<String>]) -> Outcome<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let width = |column| {
        rows.iter()
            .map(|row| cell(row, column).chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{title}")?;
    for row in rows {
        let mut line = format!("  {:<1$}", cell(row, 0), widths[0]);
        for (column, width) in widths.iter().enumerate().skip(1) {
            line += &format!("  {:>width$}", cell(row, column));
        }
        writeln!(stdout, "{}", line.trim_end())?;
    }
    writeln!(stdout)?;
    Ok(())
}

/// Prints numbers for the process that started this one.
pub(crate) fn numbers(numbers: &[u64]) -> Outcome<()> {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    writeln!(io::stdout(), "{}", words.join(" "))?;
    Ok(())
}

/// A row of text.
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}
