//! `fairlane compare`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;

use crate::args::{Compare, TableFormat};
use crate::command::flatten::{self, Leaves};
use crate::command::overview;
use crate::failure::Failure;
use crate::{print, read, table};

/// Several runs side by side.
#[derive(Debug, Serialize)]
struct Comparison {
    /// The directories.
    runs: Vec<String>,
    /// Settings of the scenarios that aren't the same in all runs.
    settings: Vec<Row>,
    /// Figures of the summaries, and counts of the signals.
    figures: Vec<Row>,
}

/// More runs than this make columns too narrow to be read.
const MOST_COLUMNS: usize = 4;

/// One setting or figure in all runs.
#[derive(Debug, Serialize)]
struct Row {
    /// Key path in `scenario.toml` or `summary.json`.
    name: String,
    /// By run; `null` where a run doesn't have it.
    values: Vec<Value>,
}

/// What a run has left of itself.
struct Run {
    settings: Leaves,
    figures: Leaves,
}

/// Prints the summaries of several runs side by side, with the settings that differ.
///
/// # Errors
/// If a directory doesn't hold the results of a run.
pub(crate) fn compare(arguments: &Compare) -> Result<ExitCode, Failure> {
    let runs = arguments.results.iter().map(|path| Run::read(path));
    let runs = runs.collect::<Result<Vec<_>, _>>()?;
    let names = arguments
        .results
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let comparison = Comparison::new(names, &runs);
    match arguments.format {
        TableFormat::Text => print::text(&comparison.text(&runs))?,
        TableFormat::Json => print::json(&comparison)?,
        TableFormat::Csv => print::text(&comparison.csv()?)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Run {
    fn read(directory: &Path) -> Result<Self, Failure> {
        let (path, text) = read::text(directory, "scenario.toml")?;
        let settings: Value =
            toml::from_str(&text).map_err(|error| Failure::at(&path, error.message()))?;
        let (path, text) = read::text(directory, "summary.json")?;
        let figures: Value =
            serde_json::from_str(&text).map_err(|error| Failure::at(&path, error))?;
        let (path, text) = read::text(directory, "signals.json")?;
        let signals: Value =
            serde_json::from_str(&text).map_err(|error| Failure::at(&path, error))?;
        let mut figures = flatten::leaves(&figures);
        figures.extend(counts(&signals));
        Ok(Self {
            settings: flatten::leaves(&settings),
            figures,
        })
    }
}

/// The counts of signals, without the reasons of those that never came.
fn counts(signals: &Value) -> Leaves {
    let counts = flatten::leaves(signals).into_iter();
    let counts = counts.filter_map(|(name, count)| {
        let name = name.strip_suffix(".count")?;
        Some((format!("signals.{name}"), count))
    });
    counts.collect()
}

impl Comparison {
    fn new(names: Vec<String>, runs: &[Run]) -> Self {
        let settings: Vec<_> = runs.iter().map(|run| &run.settings).collect();
        let figures: Vec<_> = runs.iter().map(|run| &run.figures).collect();
        let mut settings = rows(&settings);
        settings.retain(|row| row.values.iter().any(|value| *value != row.values[0]));
        Self {
            runs: names,
            settings,
            figures: rows(&figures),
        }
    }

    fn text(&self, runs: &[Run]) -> String {
        let names = overview::short_names(&self.runs);
        let mut header = vec!["settings that differ"];
        header.extend(names.iter().map(String::as_str));
        let settings = match self.settings.is_empty() {
            true => "The settings are the same.".to_owned(),
            false => table::grid(&header, &cells(&self.settings)),
        };
        let leaves: Vec<_> = runs.iter().map(|run| &run.figures).collect();
        let mut parts = vec![settings, overview::overview(&names, &leaves)];
        let kinds = &runs[0].settings;
        parts.extend(overview::workloads(&names, &leaves, kinds));
        parts.extend(overview::tenants(&names, &leaves));
        if runs.len() > MOST_COLUMNS {
            parts.push("All figures: --format csv or json.".into());
            return parts.join("\n\n");
        }
        header[0] = "figure";
        let figures: Vec<_> = self.figures.iter().filter(|row| row.in_text()).collect();
        parts.push(table::grid(&header, &cells(figures)));
        header[0] = "slowdown p50 / p95 / p99";
        let bins = self.bins();
        if !bins.is_empty() {
            parts.push(table::grid(&header, &bins));
        }
        parts.join("\n\n")
    }

    /// Slowdown by message size: a row for each bin.
    fn bins(&self) -> Vec<Vec<String>> {
        let column = |bin: usize, field: &str| {
            let name = format!("{BINS}[{bin}].{field}");
            self.figures.iter().find(|row| row.name == name)
        };
        let row = |bin: usize| {
            let sizes = column(bin, "upto_bytes")?.values.iter().map(size);
            let spread: Vec<_> = ["p50", "p95", "p99"]
                .iter()
                .filter_map(|field| column(bin, field))
                .collect();
            let cell = |run| {
                let figures: Vec<_> = spread.iter().map(|row| rounded(&row.values[run])).collect();
                figures.join(" / ")
            };
            let mut sizes: Vec<_> = sizes.collect();
            sizes.dedup();
            let label = format!("up to {}", sizes.join(" | "));
            Some(
                std::iter::once(label)
                    .chain((0..self.runs.len()).map(cell))
                    .collect(),
            )
        };
        (0..).map_while(row).collect()
    }

    fn csv(&self) -> Result<String, Failure> {
        let broken = |error: &dyn std::fmt::Display| Failure::new(format!("CSV: {error}"));
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut header = vec!["name".to_owned()];
        header.extend(self.runs.iter().cloned());
        let all = [&self.settings, &self.figures].into_iter().flatten();
        for line in std::iter::once(header).chain(all.map(Row::exact)) {
            writer.write_record(line).map_err(|error| broken(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| broken(&error))?;
        String::from_utf8(bytes).map_err(|error| broken(&error))
    }
}

/// One row for each name that any of the runs has, in the order of the runs.
fn rows(runs: &[&Leaves]) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    let names = runs
        .iter()
        .flat_map(|leaves| leaves.iter().map(|(name, _)| name));
    let names = names.filter(|name| seen.insert(name.as_str()));
    let row = |name: &String| Row {
        name: name.clone(),
        values: runs
            .iter()
            .map(|leaves| flatten::get(leaves, name))
            .collect(),
    };
    names.collect::<Vec<_>>().into_iter().map(row).collect()
}

/// The rows as text.
fn cells<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Vec<Vec<String>> {
    let cells = |row: &Row| {
        let mut cells = vec![row.name.clone()];
        cells.extend(row.values.iter().map(rounded));
        cells
    };
    rows.into_iter().map(cells).collect()
}

/// The key of the slowdown bins in `summary.json`.
const BINS: &str = "slowdown_bins";

/// A message size of a bin.
fn size(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".into(), table::bytes)
}

impl Row {
    /// Whether the row has a place in the text: lists of tables are too long for it.
    fn in_text(&self) -> bool {
        !self.name.contains('[')
    }

    /// The cells without rounding.
    fn exact(&self) -> Vec<String> {
        let mut cells = vec![self.name.clone()];
        cells.extend(self.values.iter().map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }));
        cells
    }
}

/// A value for people: fractions to four digits, large counts with commas.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn rounded(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(count), _) => table::count(count),
            (None, Some(fraction)) if fraction >= 1000.0 => table::count(fraction.round() as u64),
            (None, Some(fraction)) if fraction >= 0.0 => table::digits(fraction),
            _ => number.to_string(),
        },
        other => other.to_string(),
    }
}
