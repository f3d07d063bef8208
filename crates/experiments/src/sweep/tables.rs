//! Tables of a sweep, by columns.

use fairlane_results::table;

use crate::outcome::{Cell, Rows};
use crate::sweep::record::Record;
use crate::sweep::{Point, Sweep};

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Its columns, equally long.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub data: Data,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Words.
    Text(Vec<String>),
    /// Counts.
    Count(Vec<u64>),
    /// Numbers; nothing where they aren't defined.
    Number(Vec<Option<f64>>),
}

impl Frame {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.data {
            Data::Text(cells) => cells.len(),
            Data::Count(cells) => cells.len(),
            Data::Number(cells) => cells.len(),
        })
    }

    /// The frame by rows.
    pub fn by_rows(&self) -> Rows {
        let names = self.columns.iter().map(|column| column.name.clone());
        let row = |row: usize| {
            let cell = |column: &Column| match &column.data {
                Data::Text(cells) => Cell::Text(cells[row].clone()),
                Data::Count(cells) => Cell::Count(cells[row]),
                Data::Number(cells) => cells[row].map_or(Cell::None, Cell::Number),
            };
            self.columns.iter().map(cell).collect()
        };
        Rows {
            columns: names.collect(),
            rows: (0..self.rows()).map(row).collect(),
        }
    }

    fn text(&mut self, name: &str, cells: impl Iterator<Item = String>) {
        self.push(name, Data::Text(cells.collect()));
    }

    fn numbers(&mut self, name: &str, cells: impl Iterator<Item = Option<f64>>) {
        self.push(name, Data::Number(cells.collect()));
    }

    fn push(&mut self, name: &str, data: Data) {
        self.columns.push(Column {
            name: name.into(),
            data,
        });
    }
}

impl Sweep {
    /// Means with half the width of their intervals for readers, a row for each combination.
    pub fn grid(&self, records: &[Option<Record>]) -> String {
        let mut header = vec!["run"];
        header.extend(self.metrics());
        let cell = |point: usize, metric: usize| {
            let estimate = self.estimate(point, metric, records);
            match (estimate.mean, estimate.half_width) {
                (Some(mean), Some(half)) => {
                    format!("{} ± {}", table::number(mean), table::number(half))
                }
                (mean, _) => mean.map_or_else(|| "-".into(), table::number),
            }
        };
        let metrics = header.len() - 1;
        let row = |(number, point): (usize, &Point)| {
            let cells = (0..metrics).map(|metric| cell(number, metric));
            std::iter::once(point.name.clone()).chain(cells).collect()
        };
        let rows: Vec<_> = self.points().iter().enumerate().map(row).collect();
        table::grid(&header, &rows)
    }

    /// A row for each run that has a record and each metric: `run`, a column for each axis, `seed`, `ending`,
    /// `metric` and `value`.
    pub fn table(&self, records: &[Option<Record>]) -> Frame {
        let names: Vec<&str> = self.metrics().collect();
        let measured = records.iter().enumerate();
        let measured = measured.filter_map(|(run, record)| Some((run, record.as_ref()?)));
        let rows: Vec<(usize, &Record, usize)> = measured
            .flat_map(|(run, record)| (0..names.len()).map(move |metric| (run, record, metric)))
            .collect();
        let runs = self.runs();
        let mut frame = Frame::default();
        let points: Vec<usize> = rows.iter().map(|row| runs[row.0].point).collect();
        self.place(&mut frame, &points);
        frame.push(
            "seed",
            Data::Count(rows.iter().map(|row| runs[row.0].seed).collect()),
        );
        frame.text("ending", rows.iter().map(|row| row.1.ending.clone()));
        frame.text("metric", rows.iter().map(|row| names[row.2].to_owned()));
        let value = |row: &(usize, &Record, usize)| row.1.figures.get(row.2).copied().flatten();
        frame.numbers("value", rows.iter().map(value));
        frame
    }

    /// A row for each combination and each metric: `run`, a column for each axis, `metric`, `mean`, `ci95` (half the
    /// width of the 95 % confidence interval), `min`, `max` and `n`, how many runs have the figure.
    pub fn means(&self, records: &[Option<Record>]) -> Frame {
        let names: Vec<&str> = self.metrics().collect();
        let rows: Vec<(usize, usize)> = (0..self.points().len())
            .flat_map(|point| (0..names.len()).map(move |metric| (point, metric)))
            .collect();
        let points: Vec<usize> = rows.iter().map(|row| row.0).collect();
        let mut frame = Frame::default();
        self.place(&mut frame, &points);
        frame.text("metric", rows.iter().map(|row| names[row.1].to_owned()));
        let estimates = rows
            .iter()
            .map(|(point, metric)| self.estimate(*point, *metric, records));
        let estimates: Vec<_> = estimates.collect();
        frame.numbers("mean", estimates.iter().map(|estimate| estimate.mean));
        frame.numbers("ci95", estimates.iter().map(|estimate| estimate.half_width));
        let extreme = |pick: fn(f64, f64) -> f64| {
            let figures = move |(point, metric): &(usize, usize)| {
                let of_point = self.of_point(*point, records).iter().flatten();
                let figures = of_point.filter_map(|record| *record.figures.get(*metric)?);
                figures.reduce(pick)
            };
            rows.iter().map(figures)
        };
        frame.numbers("min", extreme(f64::min));
        frame.numbers("max", extreme(f64::max));
        frame.push(
            "n",
            Data::Count(
                estimates
                    .iter()
                    .map(|estimate| estimate.count as u64)
                    .collect(),
            ),
        );
        frame
    }

    /// The columns that say which combination a row is of.
    fn place(&self, frame: &mut Frame, points: &[usize]) {
        let of = |point: &usize| &self.points()[*point];
        frame.text("run", points.iter().map(|point| of(point).name.clone()));
        for axis in self.axes() {
            let place = |point: &usize| of(point).at[axis.crossed];
            match &axis.numbers {
                Some(numbers) => {
                    frame.numbers(
                        &axis.name,
                        points.iter().map(|point| Some(numbers[place(point)])),
                    );
                }
                None => {
                    let name = |point: &usize| axis.values[place(point)].clone();
                    frame.text(&axis.name, points.iter().map(name));
                }
            }
        }
    }
}
