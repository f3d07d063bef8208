//! Text tables, and numbers as people read them.

use std::fmt::Display;

/// A table with a header; columns from the second on are aligned to the right.
pub fn grid(header: &[&str], rows: &[Vec<String>]) -> String {
    let lines = with_header(header, rows);
    align(&lines, |column| column > 0)
}

/// A table with a header; all columns are aligned to the left.
pub fn columns(header: &[&str], rows: &[Vec<String>]) -> String {
    align(&with_header(header, rows), |_| false)
}

/// A list of names and values.
pub fn list(rows: &[(&str, String)]) -> String {
    let lines = rows
        .iter()
        .map(|(name, value)| vec![(*name).to_owned(), value.clone()]);
    align(&lines.collect::<Vec<_>>(), |_| false)
}

/// A column of rows: its header, and what a cell says.
pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

/// A line for each row, as [`grid`] has them.
pub fn grid_of<R>(rows: impl IntoIterator<Item = R>, columns: &[Column<'_, R>]) -> String {
    align(&lines(rows, columns), |column| column > 0)
}

/// A line for each row, as [`columns`] has them.
pub fn columns_of<R>(rows: impl IntoIterator<Item = R>, columns: &[Column<'_, R>]) -> String {
    align(&lines(rows, columns), |_| false)
}

fn lines<R>(rows: impl IntoIterator<Item = R>, columns: &[Column<'_, R>]) -> Vec<Vec<String>> {
    let header = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let line = |row: R| columns.iter().map(|(_, cell)| cell(&row)).collect();
    std::iter::once(header)
        .chain(rows.into_iter().map(line))
        .collect()
}

/// What there is, as `show` has it, or a dash.
pub fn dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".into(), show)
}

/// A number without the zeros at the end of its decimals.
fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

fn with_header(header: &[&str], rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let header = header.iter().map(|name| (*name).to_owned()).collect();
    std::iter::once(header)
        .chain(rows.iter().cloned())
        .collect()
}

/// Pads cells to the width of their column, two blanks apart, without blanks at the ends of lines.
fn align(lines: &[Vec<String>], right: impl Fn(usize) -> bool) -> String {
    let mut widths = vec![0; lines.iter().map(Vec::len).max().unwrap_or(0)];
    for (column, width) in lines.iter().flat_map(|line| widths_of(line)) {
        widths[column] = widths[column].max(width);
    }
    let line = |cells: &Vec<String>| {
        let padded =
            cells
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, width))| match right(column) {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The columns of a line with the characters in their cells.
fn widths_of(line: &[String]) -> impl Iterator<Item = (usize, usize)> + '_ {
    line.iter().map(|cell| cell.chars().count()).enumerate()
}

/// A number of seconds in the unit that suits it, to four digits.
pub fn seconds(seconds: f64) -> String {
    let scales = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")];
    let (factor, unit) = scales
        .into_iter()
        .find(|(factor, _)| seconds >= *factor)
        .unwrap_or((1e-9, "ns"));
    if seconds == 0.0 {
        "0 s".into()
    } else {
        format!("{} {unit}", digits(seconds / factor))
    }
}

/// A number of seconds on the wall's clock: `45 s`, `2 min 05 s`, `3 h 07 min`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub fn wall(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// A large number to four digits: `12.35 M`.
pub fn magnitude(number: f64) -> String {
    let scales = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    match scales.into_iter().find(|(factor, _)| number >= *factor) {
        Some((factor, unit)) => format!("{}{unit}", digits(number / factor)),
        None => format!("{}", number.round()),
    }
}

/// A size to four digits: `1.54 MB`.
pub fn bytes(bytes: f64) -> String {
    let text = magnitude(bytes);
    if text.contains(' ') {
        format!("{text}B")
    } else {
        format!("{text} B")
    }
}

/// A count with commas: `12,345,678`.
pub fn count(number: u64) -> String {
    let plain = number.to_string();
    let mut text = String::with_capacity(plain.len() * 4 / 3);
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A positive number to four significant digits, without zeros that say nothing.
pub fn digits(number: f64) -> String {
    let places = match number {
        n if n >= 1000.0 => 0,
        n if n >= 100.0 => 1,
        n if n >= 10.0 => 2,
        _ => 3,
    };
    trimmed(&format!("{number:.places$}")).to_owned()
}

/// Any number to seven digits: `-0.01234568`, `1.5e-13`.
pub fn number(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        "0".into()
    } else if (1e-3..1e7).contains(&size) {
        let leading = if size >= 1.0 {
            format!("{:.0}", size.trunc()).len()
        } else {
            0
        };
        let places = 7usize.saturating_sub(leading);
        trimmed(&format!("{number:.places$}")).to_owned()
    } else {
        let text = format!("{number:.3e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

/// Ascending numbers with runs of three or more joined: `10000, 10004-10007`.
pub fn ranges<T: Copy + Into<u32> + Display>(numbers: &[T]) -> String {
    let runs = numbers.chunk_by(|a, b| (*a).into().checked_add(1) == Some((*b).into()));
    let words = runs.flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}-{last}")],
        short => short.iter().map(T::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(106_262_424), "106,262,424");
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(1.079_141e-3), "1.079 ms");
        assert_eq!(seconds(83e-9), "83 ns");
        assert_eq!(seconds(2.5), "2.5 s");
        assert_eq!(magnitude(12_345_678.0), "12.35 M");
        assert_eq!(magnitude(17.0), "17");
        assert_eq!(bytes(153_000.0), "153 kB");
        assert_eq!(bytes(1.0), "1 B");
        assert_eq!(wall(59.6), "1 min 00 s");
        assert_eq!(wall(7384.0), "2 h 03 min");
        let numbers = [
            0.0,
            -1.5,
            12.099_134_501,
            1e7,
            -1.25e-13,
            0.001_234_567_8,
            610.307,
        ];
        let texts = [
            "0",
            "-1.5",
            "12.09913",
            "1e7",
            "-1.25e-13",
            "0.0012346",
            "610.307",
        ];
        assert_eq!(numbers.map(number), texts);
    }

    #[test]
    fn runs_of_numbers_are_joined() {
        assert_eq!(ranges(&[1u16, 2, 4, 5, 6, 9]), "1, 2, 4-6, 9");
        assert_eq!(ranges(&[u32::MAX - 1, u32::MAX]), "4294967294, 4294967295");
    }

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".into(), "1".into()],
            vec!["long name".into(), "12.5".into()],
        ];
        assert_eq!(
            grid(&["what", "how much"], &rows),
            "what       how much\na                 1\nlong name      12.5"
        );
    }
}
