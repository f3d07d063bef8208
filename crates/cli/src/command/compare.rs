//! `fairlane compare`.

mod groups;
mod page;
mod sizes;

use std::collections::BTreeSet;
use std::path::Path;

use fairlane_results::to_csv;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{Compare, TableFormat};
use crate::command::export::refuse_existing;
use crate::command::flatten::{self, Leaves};
use crate::command::overview;
use crate::failure::Failure;
use crate::{print, read};
use fairlane_results::staging::replace;
use fairlane_results::table;
use groups::Group;

/// More settings than this make lines too wide to be read.
const MOST_SETTINGS: usize = 6;

/// Several runs, side by side.
struct Comparison {
    runs: Vec<Run>,
    /// Runs that differ in their seed alone.
    groups: Vec<Group>,
    /// Settings that aren't the same in all runs.
    differing: Vec<String>,
}

/// What a run has left of itself.
struct Run {
    /// The directory.
    directory: String,
    settings: Leaves,
    figures: Leaves,
}

/// A run as JSON has it.
#[derive(Serialize)]
struct Row<'a> {
    run: &'a str,
    group: &'a str,
    /// Settings that aren't the same in all runs.
    settings: Map<String, Value>,
    figures: Map<String, Value>,
}

/// Prints the summaries of several runs, with the settings that differ, and draws them over each other.
///
/// # Errors
/// If a directory doesn't hold the results of a run, or the page can't be written.
pub(crate) fn compare(arguments: &Compare) -> Result<(), Failure> {
    if let Some(path) = &arguments.report {
        refuse_existing(path, arguments.force)?;
        refuse_missing_folder(path)?;
    }
    let runs = arguments.results.iter().map(|path| Run::read(path));
    let comparison = Comparison::new(runs.collect::<Result<_, _>>()?);
    if let Some(path) = &arguments.report {
        let page = page::page(&comparison, &arguments.results)?;
        replace(path, page.as_bytes())?;
        print::say(format_args!("report in {}", path.display()));
    }
    match arguments.format {
        TableFormat::Text => print::text(&comparison.text())?,
        TableFormat::Json => print::json(&serde_json::json!({ "runs": comparison.rows() }))?,
        TableFormat::Csv => print::text(&comparison.csv()?)?,
    }
    Ok(())
}

/// A page that has no place is refused before the runs are read.
fn refuse_missing_folder(path: &Path) -> Result<(), Failure> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            Err(Failure::at(path, "no such directory")
                .hint("make it first, or name a file in another one"))
        }
        _ => Ok(()),
    }
}

impl Run {
    fn read(directory: &Path) -> Result<Self, Failure> {
        let (path, text) = read::text(directory, "scenario.toml")?;
        let settings: Value =
            toml::from_str(&text).map_err(|error| Failure::at(&path, error.message()))?;
        let (_, figures) = read::json(directory, "summary.json")?;
        let (_, signals) = read::json(directory, "signals.json")?;
        let mut figures = flatten::leaves(&figures);
        figures.extend(counts(&signals));
        Ok(Self {
            directory: directory.display().to_string(),
            settings: flatten::leaves(&settings),
            figures,
        })
    }

    fn seed(&self) -> Value {
        flatten::get(&self.settings, "seed")
    }

    /// Whether it is another one of the same seed again: all figures that don't depend on the machine are equal.
    fn is_again(&self, other: &Self) -> bool {
        let measured = |run: &Self| -> Leaves {
            let figures = run.figures.iter();
            let figures = figures.filter(|(name, _)| !name.starts_with("host."));
            figures.cloned().collect()
        };
        measured(self) == measured(other)
    }

    /// A figure that is a number.
    fn number(&self, name: &str) -> Option<f64> {
        flatten::get(&self.figures, name).as_f64()
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
    fn new(runs: Vec<Run>) -> Self {
        let mut differing = names(runs.iter().map(|run| &run.settings));
        differing.retain(|name| {
            let mut values = runs.iter().map(|run| flatten::get(&run.settings, name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        });
        Self {
            groups: groups::groups(&runs, &differing),
            runs,
            differing,
        }
    }

    fn text(&self) -> String {
        let names = short_names(&self.runs);
        let leaves: Vec<_> = self.runs.iter().map(|run| &run.figures).collect();
        let mut parts = vec![self.settings(&names), overview::overview(&names, &leaves)];
        if let Some(run) = self.runs.first() {
            parts.extend(overview::workloads(&names, &leaves, &run.settings));
        }
        parts.extend(overview::tenants(&names, &leaves));
        if self.groups.iter().any(|group| group.seeds.len() > 1) {
            parts.push(groups::table(&self.groups, &self.runs));
        }
        parts.push("All figures: --format csv or json.".into());
        parts.join("\n\n")
    }

    /// The settings that differ, a row for each run.
    fn settings(&self, names: &[String]) -> String {
        if self.differing.is_empty() {
            return "The settings are the same.".into();
        }
        let shown = &self.differing[..self.differing.len().min(MOST_SETTINGS)];
        let mut header = vec!["settings that differ"];
        header.extend(shown.iter().map(String::as_str));
        let row = |(name, run): (&String, &Run)| {
            let values = shown
                .iter()
                .map(|setting| dashed(&flatten::get(&run.settings, setting)));
            std::iter::once(name.clone()).chain(values).collect()
        };
        let rows: Vec<_> = names.iter().zip(&self.runs).map(row).collect();
        let grid = table::grid(&header, &rows);
        match self.differing.len() - shown.len() {
            0 => grid,
            more => format!("{grid}\nand {more} more: --format csv or json"),
        }
    }

    fn rows(&self) -> Vec<Row<'_>> {
        let row = |(number, run)| {
            let run: &Run = run;
            let setting = |name: &String| (name.clone(), flatten::get(&run.settings, name));
            Row {
                run: &run.directory,
                group: self.group_of(number),
                settings: self.differing.iter().map(setting).collect(),
                figures: run.figures.iter().cloned().collect(),
            }
        };
        self.runs.iter().enumerate().map(row).collect()
    }

    fn group_of(&self, run: usize) -> &str {
        let group = self.groups.iter().find(|group| group.runs.contains(&run));
        group.map_or("", |group| &group.name)
    }

    /// A row for each run.
    fn csv(&self) -> Result<String, Failure> {
        let figures = names(self.runs.iter().map(|run| &run.figures));
        let settings = self.differing.iter().map(|name| format!("scenario.{name}"));
        let header = ["run", "group"].map(str::to_owned).into_iter();
        let header = header.chain(settings).chain(figures.iter().cloned());
        let line = |(number, run): (usize, &Run)| {
            let ends = [run.directory.clone(), self.group_of(number).to_owned()];
            let settings = self.differing.iter();
            let settings = settings.map(|name| flatten::get(&run.settings, name));
            let figures = figures.iter().map(|name| flatten::get(&run.figures, name));
            let cells = settings.chain(figures).map(|value| exact(&value));
            ends.into_iter().chain(cells).collect()
        };
        let lines = self.runs.iter().enumerate().map(line);
        Ok(to_csv(
            std::iter::once(header.collect::<Vec<_>>()).chain(lines),
        )?)
    }
}

/// Names of runs, short.
fn short_names(runs: &[Run]) -> Vec<String> {
    let names: Vec<_> = runs.iter().map(|run| run.directory.clone()).collect();
    overview::short_names(&names)
}

/// Every name that any of the runs has, in the order of the runs.
fn names<'a>(runs: impl Iterator<Item = &'a Leaves>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let all = runs.flat_map(|leaves| leaves.iter().map(|(name, _)| name));
    all.filter(|name| seen.insert(name.as_str()))
        .cloned()
        .collect()
}

/// A value without rounding; empty for nothing.
fn exact(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value without rounding; a dash for nothing.
fn dashed(value: &Value) -> String {
    let value = exact(value);
    if value.is_empty() { "-".into() } else { value }
}
