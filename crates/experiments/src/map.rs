//! Figures of runs as a map of colours.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::axis::Axis;
use crate::check::means;
use crate::error::Error;
use crate::outcome::{Cell, Map, Rows};

/// What is drawn, and over which axes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapSettings {
    /// The file, without extension.
    name: String,
    /// What stands above it.
    title: String,
    /// The columns of the rows; the first that is defined counts. Of those that a name with `*` means the greatest.
    figures: Vec<String>,
    /// The axes along the side, the last varying fastest.
    rows: Vec<String>,
    /// The axes along the top.
    columns: Vec<String>,
    /// The values of the other axes.
    #[serde(default)]
    at: BTreeMap<String, String>,
}

impl MapSettings {
    /// Checks that it names every axis once, and columns that there are.
    pub(crate) fn verify(&self, axes: &[Axis], columns: &[String]) -> Result<(), Error> {
        let wrong = |message: String| Error::new(format!("map {}: {message}", self.name), "");
        let named = || self.rows.iter().chain(&self.columns).chain(self.at.keys());
        for axis in axes {
            match named().filter(|name| **name == axis.name).count() {
                1 => {}
                count => return Err(wrong(format!("names axis \"{}\" {count} times", axis.name))),
            }
        }
        for name in named() {
            let axis = axes.iter().find(|axis| axis.name == *name);
            let axis = axis.ok_or_else(|| wrong(format!("there is no axis \"{name}\"")))?;
            let has = |wanted: &String| axis.values.iter().any(|value| value.name == *wanted);
            if let Some(lost) = self.at.get(name).filter(|wanted| !has(wanted)) {
                return Err(wrong(format!("axis \"{name}\" has no value \"{lost}\"")));
            }
        }
        let is_lost = |figure: &&String| !columns.iter().any(|name| means(figure, name));
        match self.figures.iter().find(is_lost) {
            Some(lost) => Err(wrong(format!("there is no column \"{lost}\""))),
            None => Ok(()),
        }
    }

    /// The map of rows of runs that differ in `axes`.
    pub(crate) fn map(&self, axes: &[Axis], rows: &Rows) -> Map {
        let figure = |row: &[Cell], figure: &String| {
            let cells = rows.columns.iter().zip(row);
            let meant = cells.filter(|(name, _)| means(figure, name));
            meant.filter_map(|(_, cell)| cell.value()).reduce(f64::max)
        };
        let named = rows.rows.iter().map(|row| (row[0].to_string(), row));
        let by_name: BTreeMap<String, &Vec<Cell>> = named.collect();
        let cell = |side: &Values<'_>, top: &Values<'_>| {
            let mut run = Vec::new();
            for axis in axes {
                let given = side.iter().chain(top).find(|(name, _)| *name == axis.name);
                let fixed = || self.at.get(&axis.name).map(String::as_str);
                run.push(given.map(|(_, value)| *value).or_else(fixed)?);
            }
            let row = by_name.get(&run.join("-"))?;
            self.figures.iter().find_map(|name| figure(row, name))
        };
        let tops = combinations(axes, &self.columns);
        let row = |side: &Values<'_>| {
            let cells = tops.iter().map(|top| cell(side, top));
            (name(side), cells.collect())
        };
        Map {
            file: self.name.clone(),
            title: self.title.clone(),
            columns: tops.iter().map(name).collect(),
            rows: combinations(axes, &self.rows).iter().map(row).collect(),
        }
    }
}

/// Names of axes, with that of a value of each.
type Values<'a> = Vec<(&'a str, &'a str)>;

fn name(values: &Values<'_>) -> String {
    let values: Vec<_> = values.iter().map(|(_, value)| *value).collect();
    values.join("-")
}

/// Every combination of the values of axes that are named.
fn combinations<'a>(axes: &'a [Axis], names: &[String]) -> Vec<Values<'a>> {
    let mut found = vec![Vec::new()];
    let named = |name: &String| axes.iter().find(|axis| axis.name == *name);
    for axis in names.iter().filter_map(named) {
        let longer = |values: &Values<'a>| {
            let values = values.clone();
            let more = axis.values.iter();
            let more = more.map(|value| (axis.name.as_str(), value.name.as_str()));
            more.map(move |value| [&values[..], &[value]].concat())
        };
        found = found.iter().flat_map(longer).collect();
    }
    found
}
