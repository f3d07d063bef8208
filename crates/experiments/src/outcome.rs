//! What an experiment amounts to.

use fairlane_results::to_csv;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use crate::condition::{Verdict, Wanted};
use crate::error::Error;
use crate::open::Open;
use crate::sweep::{Column, Data, Frame};

/// What an experiment amounts to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// The experiment's name.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// The figure there.
    pub figure: Option<String>,
    /// Whether it was run in a reduced size.
    pub quick: bool,
    /// What was measured, beside what was published: a row for each run.
    pub rows: Rows,
    /// What must hold, and what was published.
    pub checks: Vec<Check>,
    /// What the source leaves open, and what depends on it.
    pub open: Vec<Open>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// What can be drawn.
    #[serde(skip)]
    pub plots: Vec<Plot>,
    /// What can be drawn as colours.
    #[serde(skip)]
    pub maps: Vec<Map>,
}

impl Outcome {
    /// The points of every plot: `plot`, `curve`, `x`, `y`.
    pub fn curves(&self) -> Frame {
        let mut names = (Vec::new(), Vec::new());
        let mut points = (Vec::new(), Vec::new());
        for plot in &self.plots {
            for curve in &plot.curves {
                for (x, y) in &curve.points {
                    names.0.push(plot.file.clone());
                    names.1.push(curve.name.clone());
                    points.0.push(Some(*x));
                    points.1.push(Some(*y));
                }
            }
        }
        let column = |name: &str, data| Column {
            name: name.into(),
            data,
        };
        Frame {
            columns: vec![
                column("plot", Data::Text(names.0)),
                column("curve", Data::Text(names.1)),
                column("x", Data::Number(points.0)),
                column("y", Data::Number(points.1)),
            ],
        }
    }

    /// Whether every check ends as the experiment says.
    pub fn passes(&self) -> bool {
        self.checks.iter().all(Check::is_expected)
    }

    /// How many checks end so.
    pub fn count(&self, verdict: Verdict) -> usize {
        let ends = self.checks.iter().map(|check| check.verdict);
        ends.filter(|end| *end == verdict).count()
    }
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A number.
    Number(f64),
    /// Nothing: not published, or not defined.
    None,
}

impl Cell {
    /// Its value if it is a number.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::None => None,
        }
    }
}

impl From<f64> for Cell {
    /// Nothing for what isn't finite.
    fn from(number: f64) -> Self {
        match number.is_finite() {
            true => Self::Number(number),
            false => Self::None,
        }
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<bool> for Cell {
    /// 1 or 0.
    fn from(flag: bool) -> Self {
        Self::Count(flag.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl std::fmt::Display for Cell {
    /// Without rounding; empty for nothing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::None => Ok(()),
        }
    }
}

/// Rows with named columns, of which the first is `run`. In JSON a list of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// A cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl Rows {
    /// No rows yet, of columns after `run`.
    pub fn new(columns: &[impl AsRef<str>]) -> Self {
        let columns = std::iter::once("run").chain(columns.iter().map(AsRef::as_ref));
        Self {
            columns: columns.map(str::to_owned).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a run.
    pub fn push(&mut self, run: impl Into<String>, cells: impl IntoIterator<Item = Cell>) {
        let row = std::iter::once(Cell::Text(run.into()))
            .chain(cells)
            .collect::<Vec<_>>();
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    /// As CSV: numbers without rounding, nothing where there is nothing.
    ///
    /// # Errors
    /// If a row doesn't have a cell for each column.
    pub fn csv(&self) -> Result<String, Error> {
        let cells = |row: &Vec<Cell>| row.iter().map(Cell::to_string).collect();
        let header = std::iter::once(self.columns.clone());
        Ok(to_csv(header.chain(self.rows.iter().map(cells)))?)
    }

    /// The table by columns: of counts if all cells are, of numbers if all are or are nothing, else of words.
    pub fn frame(&self) -> Frame {
        let column = |(at, name): (usize, &String)| {
            let cells = || self.rows.iter().filter_map(move |row| row.get(at));
            let counts = cells().map(|cell| match cell {
                Cell::Count(count) => Some(*count),
                _ => None,
            });
            let data = if let Some(counts) = counts.collect::<Option<Vec<_>>>() {
                Data::Count(counts)
            } else if cells().any(|cell| matches!(cell, Cell::Text(_))) {
                Data::Text(cells().map(Cell::to_string).collect())
            } else {
                Data::Number(cells().map(Cell::value).collect())
            };
            let name = name.clone();
            Column { name, data }
        };
        Frame {
            columns: self.columns.iter().enumerate().map(column).collect(),
        }
    }

    /// The cell of a run in a column.
    pub fn cell(&self, run: &str, column: &str) -> Option<&Cell> {
        let column = self.columns.iter().position(|name| name == column)?;
        let row = self
            .rows
            .iter()
            .find(|row| matches!(&row[0], Cell::Text(name) if name == run))?;
        row.get(column)
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            list.serialize_element(&RowObject(&self.columns, row))?;
        }
        list.end()
    }
}

/// A row as an object.
struct RowObject<'a>(&'a [String], &'a [Cell]);

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in self.0.iter().zip(self.1) {
            object.serialize_entry(name, cell)?;
        }
        object.end()
    }
}

/// A figure that was held against a target or a published value.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What, in words.
    pub name: String,
    /// The published value.
    pub published: Option<f64>,
    /// The measured value; nothing if it isn't defined.
    pub measured: Option<f64>,
    /// What it was held against.
    pub wanted: Wanted,
    /// What became of it.
    pub verdict: Verdict,
    /// Why the published value isn't reproduced, if the experiment says so.
    pub deviates: Option<String>,
}

impl Check {
    /// Whether it ends as the experiment says: a target that is met, a published value that is reproduced, or one
    /// that is said not to be and isn't.
    pub fn is_expected(&self) -> bool {
        self.verdict.holds() != self.deviates.is_some()
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (relation, target, tolerance) = match self.wanted {
            Wanted::Target { relation, target } => (Some(relation), Some(target), None),
            Wanted::Published { tolerance, .. } => (None, None, Some(tolerance)),
        };
        let mut object = serializer.serialize_map(Some(9))?;
        object.serialize_entry("name", &self.name)?;
        object.serialize_entry("published", &self.published)?;
        object.serialize_entry("measured", &self.measured)?;
        object.serialize_entry("relation", &relation)?;
        object.serialize_entry("target", &target)?;
        object.serialize_entry("tolerance", &tolerance)?;
        object.serialize_entry("verdict", &self.verdict)?;
        object.serialize_entry("deviates", &self.deviates)?;
        object.serialize_entry("expected", &self.is_expected())?;
        object.end()
    }
}

/// A line of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What it is called in the legend.
    pub name: String,
    /// Its points, in order of x.
    pub points: Vec<(f64, f64)>,
    /// Whether it is published and not measured; drawn as dots.
    pub published: bool,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The file, without extension.
    pub file: String,
    /// What stands above it.
    pub title: String,
    /// What stands at the x axis.
    pub x: String,
    /// What stands at the y axis.
    pub y: String,
    /// Whether the y axis is logarithmic.
    pub log: bool,
    /// Its lines.
    pub curves: Vec<Curve>,
}

/// A picture of numbers around 1 as colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The file, without extension.
    pub file: String,
    /// What stands above it.
    pub title: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows: a name, and a number for each column; nothing where it isn't defined.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}
