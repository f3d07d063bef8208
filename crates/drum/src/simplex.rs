//! Greatest throughput without a latency term: a linear program with few rows.
//!
//! The dual simplex method for variables with bounds (Maros, "Computational Techniques of the Simplex
//! Method", 2003, chapter 10): it starts with every rate at the bound that is best without rows, and a
//! step goes on past rates that can change to their other bound until the dual function rises. That
//! takes about as many steps as there are rows, not applications. Prices of rows are linear too: a
//! segment is a variable that widens the row. The basis is inverted afresh in each step, so errors
//! don't add up.

use alloc::vec::Vec;

use crate::error::Error;
use crate::fixed::{Answer, staircases};
use crate::host::{Host, Supply};
use crate::problem::{LANES, Member, Problem, unit};
use crate::supply::Staircase;

const ROWS: usize = Host::MOST_ROWS;

/// Entries of the scaled program smaller than this are rounding.
const TINY: f64 = 1e-12;

/// Solves the linear program of `members`.
///
/// # Errors
/// If values leave the range of double precision.
pub(crate) fn solve(
    host: &Host<'_>,
    members: impl ExactSizeIterator<Item = Member> + Clone,
) -> Result<Answer, Error> {
    let mut program = Program::new(host, members.clone());
    let mut steps = 0;
    // Far more steps than any program has taken; the certificate says what a stop costs.
    while steps < 1000 && program.step() {
        steps += 1;
    }
    let problem = Problem::new(host, members);
    let supplies = staircases(host);
    let mut rates = alloc::vec![[0.0; LANES]; problem.blocks()];
    program.rates(rates.as_flattened_mut());
    let hard: Vec<bool> = supplies.iter().map(Staircase::is_hard).collect();
    problem.fit(&mut rates, &hard);
    let rates = rates.as_flattened()[..problem.applications].to_vec();
    let objective = program.value(&rates, &supplies);
    let (bound, prices) = program.bound(&supplies);
    if !(objective.is_finite() && bound.is_finite()) {
        return Err(Error::Range);
    }
    Ok(Answer {
        objective,
        bound: bound.max(objective),
        rates,
        prices,
        passes: steps + 2,
    })
}

/// A variable: a rate, a segment of a price, or what is left of a row.
#[derive(Clone, Copy, Debug)]
struct Column {
    load: [f64; ROWS],
    gain: f64,
    low: f64,
    high: f64,
    at_high: bool,
    basic: bool,
    /// What one of the variable's unit is (WQE/s).
    unit: f64,
}

impl Column {
    fn rest(&self) -> f64 {
        if self.at_high { self.high } else { self.low }
    }
}

/// The linear program and its basis.
struct Program {
    rows: usize,
    applications: usize,
    capacity: [f64; ROWS],
    columns: Vec<Column>,
    /// The basic column of each row.
    basis: [usize; ROWS],
}

/// What follows from a basis.
struct Point {
    inverse: [[f64; ROWS]; ROWS],
    values: [f64; ROWS],
    prices: [f64; ROWS],
}

impl Program {
    fn new(host: &Host<'_>, members: impl ExactSizeIterator<Item = Member> + Clone) -> Self {
        let rows = host.rows.len();
        let applications = members.len();
        let mut columns: Vec<Column> = members.map(|member| rate(host, member)).collect();
        let mut capacity = [0.0; ROWS];
        for (row, slot) in capacity.iter_mut().enumerate().take(rows) {
            match host.rows[row].supply {
                Supply::Capacity(_) => *slot = 1.0,
                Supply::Price(_) => columns.extend(segments(&host.rows[row].supply, row)),
            }
        }
        let mut basis = [0; ROWS];
        for (row, slot) in basis.iter_mut().enumerate().take(rows) {
            *slot = columns.len();
            columns.push(Column {
                load: unit_vector(row, 1.0),
                gain: 0.0,
                low: 0.0,
                high: f64::INFINITY,
                at_high: false,
                basic: true,
                unit: 1.0,
            });
        }
        Self {
            rows,
            applications,
            capacity,
            columns,
            basis,
        }
    }

    /// One step of the dual simplex method; false at the optimum.
    fn step(&mut self) -> bool {
        let Some(point) = self.point() else {
            return false;
        };
        let Some((row, violation, above)) = self.leaving(&point) else {
            return false;
        };
        let candidates = self.candidates(&point, row, above);
        let mut slope = violation;
        for (position, candidate) in candidates.iter().enumerate() {
            let column = &self.columns[candidate.index];
            slope -= candidate.pivot.abs() * (column.high - column.low);
            if slope > 0.0 && position + 1 < candidates.len() {
                continue;
            }
            for passed in &candidates[..position] {
                let column = &mut self.columns[passed.index];
                column.at_high = !column.at_high;
            }
            let leaving = &mut self.columns[self.basis[row]];
            (leaving.basic, leaving.at_high) = (false, above);
            self.columns[candidate.index].basic = true;
            self.basis[row] = candidate.index;
            return true;
        }
        false
    }

    /// The basis's inverse, values and prices; nothing if it is singular.
    fn point(&self) -> Option<Point> {
        let mut right = self.capacity;
        for column in self.columns.iter().filter(|column| !column.basic) {
            let rest = column.rest();
            if rest != 0.0 {
                for row in 0..self.rows {
                    right[row] -= column.load[row] * rest;
                }
            }
        }
        let inverse = self.inverse()?;
        let mut values = [0.0; ROWS];
        let mut prices = [0.0; ROWS];
        for row in 0..self.rows {
            for k in 0..self.rows {
                values[row] += inverse[row][k] * right[k];
                prices[k] += self.columns[self.basis[row]].gain * inverse[row][k];
            }
        }
        Some(Point {
            inverse,
            values,
            prices,
        })
    }

    fn inverse(&self) -> Option<[[f64; ROWS]; ROWS]> {
        let n = self.rows;
        let mut matrix = [[0.0; ROWS]; ROWS];
        let mut inverse = [[0.0; ROWS]; ROWS];
        for row in 0..n {
            inverse[row][row] = 1.0;
            for column in 0..n {
                matrix[row][column] = self.columns[self.basis[column]].load[row];
            }
        }
        for column in 0..n {
            let size = |row: &usize| matrix[*row][column].abs();
            let pivot = (column..n).max_by(|a, b| size(a).total_cmp(&size(b)))?;
            matrix.swap(column, pivot);
            inverse.swap(column, pivot);
            let lead = matrix[column][column];
            if lead.abs() < 1e-200 {
                return None;
            }
            for k in 0..n {
                matrix[column][k] /= lead;
                inverse[column][k] /= lead;
            }
            for row in (0..n).filter(|row| *row != column) {
                let factor = matrix[row][column];
                for k in 0..n {
                    matrix[row][k] -= factor * matrix[column][k];
                    inverse[row][k] -= factor * inverse[column][k];
                }
            }
        }
        Some(inverse)
    }

    /// The basic variable that is farthest out of its bounds: its row, how far, and whether above.
    fn leaving(&self, point: &Point) -> Option<(usize, f64, bool)> {
        let mut worst = None;
        let mut most = 0.0;
        for row in 0..self.rows {
            let column = &self.columns[self.basis[row]];
            let value = point.values[row];
            let (below, above) = (column.low - value, value - column.high);
            let violation = below.max(above);
            if violation > TINY * (1.0 + value.abs()) && violation > most {
                most = violation;
                worst = Some((row, violation, above > below));
            }
        }
        worst
    }

    /// Variables that can take the place of a basic one, in the order in which the dual function reaches
    /// them.
    fn candidates(&self, point: &Point, row: usize, above: bool) -> Vec<Candidate> {
        let sign = if above { 1.0 } else { -1.0 };
        let mut candidates = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            if column.basic || column.low == column.high {
                continue;
            }
            let pivot = dot(&point.inverse[row], &column.load);
            let towards = if column.at_high { -sign } else { sign } * pivot;
            if towards > TINY {
                let reduced = column.gain - dot(&point.prices, &column.load);
                candidates.push(Candidate {
                    index,
                    pivot,
                    ratio: reduced.abs() / towards,
                });
            }
        }
        candidates.sort_unstable_by(|a, b| {
            let larger = b.pivot.abs().total_cmp(&a.pivot.abs());
            let ratio = a.ratio.total_cmp(&b.ratio);
            ratio.then(larger).then(a.index.cmp(&b.index))
        });
        candidates
    }

    /// Writes the rates of the basis, in WQE/s.
    fn rates(&self, rates: &mut [f64]) {
        for (rate, column) in rates.iter_mut().zip(&self.columns[..self.applications]) {
            *rate = column.rest() * column.unit;
        }
        let Some(point) = self.point() else { return };
        for row in 0..self.rows {
            let index = self.basis[row];
            if index < self.applications {
                rates[index] = point.values[row].max(0.0) * self.columns[index].unit;
            }
        }
    }

    /// Throughput of rates less the cost of priced rows.
    fn value(&self, rates: &[f64], supplies: &[Staircase]) -> f64 {
        let mut value = 0.0;
        let mut usage = [0.0; ROWS];
        for (column, rate) in self.columns.iter().zip(rates) {
            let units = rate / column.unit;
            value += column.gain * units;
            for row in 0..self.rows {
                usage[row] += column.load[row] * units;
            }
        }
        let rows = supplies.iter().zip(usage);
        value - rows.map(|(supply, usage)| supply.cost(usage)).sum::<f64>()
    }

    /// The dual function at the prices of the basis, and those prices.
    fn bound(&self, supplies: &[Staircase]) -> (f64, Vec<f64>) {
        let mut prices = self.point().map_or([0.0; ROWS], |point| point.prices);
        for (price, supply) in prices.iter_mut().zip(supplies) {
            *price = price.clamp(0.0, supply.highest());
        }
        let rows = supplies.iter().zip(prices);
        let mut bound: f64 = rows.map(|(supply, price)| supply.worth(price)).sum();
        for column in &self.columns[..self.applications] {
            let reduced = column.gain - dot(&prices, &column.load);
            bound += (reduced * column.low).max(reduced * column.high);
        }
        (bound, prices[..self.rows].to_vec())
    }
}

struct Candidate {
    index: usize,
    pivot: f64,
    ratio: f64,
}

fn dot(a: &[f64; ROWS], b: &[f64; ROWS]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn unit_vector(row: usize, value: f64) -> [f64; ROWS] {
    let mut vector = [0.0; ROWS];
    vector[row] = value;
    vector
}

/// The rate of an application, in units of the most that a row has for it.
fn rate(host: &Host<'_>, member: Member) -> Column {
    let apps = &host.applications;
    let mut load = [0.0; ROWS];
    for (slot, row) in load.iter_mut().zip(&host.rows) {
        *slot = row.coefficient(apps, member.index) / unit(&row.supply);
    }
    let largest = load.iter().copied().fold(0.0, f64::max);
    let scale = if largest > 0.0 { 1.0 / largest } else { 1.0 };
    for slot in &mut load {
        *slot *= scale;
    }
    let weight = if member.counts {
        apps.weight[member.index]
    } else {
        0.0
    };
    let low = apps.minimum[member.index] / scale;
    let mut column = Column {
        load,
        gain: weight * scale,
        low,
        high: apps.maximum[member.index] / scale,
        at_high: weight > 0.0,
        basic: false,
        unit: scale,
    };
    if column.high.is_infinite() {
        column.high = column.low + 2.0 * reach(host, &column);
    }
    column
}

/// More than what rows leave an application in any optimum. Twice that as a bound is never reached, so
/// that it doesn't take the place of a row's price.
fn reach(host: &Host<'_>, column: &Column) -> f64 {
    let mut reach = f64::INFINITY;
    for (row, load) in host.rows.iter().zip(column.load) {
        if load == 0.0 {
            continue;
        }
        match row.supply {
            Supply::Capacity(_) => reach = reach.min(1.0 / load),
            Supply::Price(segments) => {
                let row_unit = unit(&row.supply);
                if let Some(&(start, slope)) = segments.last()
                    && slope * row_unit * load > column.gain
                {
                    // Beyond the last start each rate costs more than it gains.
                    reach = reach.min((start / row_unit).max(1.0) / load);
                }
            }
        }
    }
    if reach.is_finite() { reach } else { 1.0 }
}

/// Segments of a row's price as variables that widen the row.
fn segments(supply: &Supply<'_>, row: usize) -> Vec<Column> {
    let Supply::Price(segments) = *supply else {
        return Vec::new();
    };
    let row_unit = unit(supply);
    let column = |(index, &(start, slope)): (usize, &(f64, f64))| Column {
        load: unit_vector(row, -1.0),
        gain: -slope * row_unit,
        low: 0.0,
        high: segments
            .get(index + 1)
            .map_or(f64::INFINITY, |next| (next.0 - start) / row_unit),
        at_high: false,
        basic: false,
        unit: 1.0,
    };
    segments.iter().enumerate().map(column).collect()
}
