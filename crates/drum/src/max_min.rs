//! Weighted max-min shares by progressive filling.
//!
//! All applications rise together, `x_j = omega_j t` kept within their bounds, where the weights `omega`
//! are shares of rate. When a row is full, the applications that use it stay where they are and the
//! others rise on, until nobody can. The result is the lexicographic maximum: no rate can be raised
//! without lowering one that is smaller for its weight.
//!
//! As one number, the objective is the *level*: the greatest `t` at which every application has
//! `omega_j t`, or its maximum if that is less. It is where the first row fills whose users don't all have
//! their maxima. The dual bound is the level at which floors and shares alone would cost more than all
//! capacities at the prices given: at prices `p` no level is possible beyond the one where
//! `sum_j p_j max(lo_j, min(omega_j t, hi_j))` is the price of the capacities. If there is no such row,
//! everyone has the maximum, and the level is the one where the last gets there.

use alloc::vec::Vec;

use crate::error::Error;
use crate::fixed::Answer;
use crate::host::{Host, Supply};
use crate::interior::{self, Program};
use crate::problem::Member;

/// A rate that is this part of its maximum has the maximum but for rounding.
const ROUNDED: f64 = 1.0 - 1e-9;

/// Fills the rates of `members`; weights of those that don't count are 0, and so they get their floors.
///
/// # Errors
/// If a row has a price instead of a capacity.
pub(crate) fn solve(
    host: &Host<'_>,
    members: impl Iterator<Item = Member>,
) -> Result<Answer, Error> {
    let priced = |supply: &Supply<'_>| matches!(supply, Supply::Price(_));
    match host.rows.iter().find(|row| priced(&row.supply)) {
        Some(row) => Err(Error::Unsupported {
            place: row.name.place(),
            reason: "max-min shares have no value that a price could be weighed against",
            hint: "give the row a capacity, or use a finite alpha",
        }),
        None => Ok(fill(&interior::host::program(host, members))),
    }
}

/// Fills the rates of a program, whose weights are shares of rate.
pub(crate) fn fill(program: &Program) -> Answer {
    let lane = |column: &interior::Column| Lane {
        weight: column.weight,
        floor: column.low,
        cap: column.high,
    };
    let lanes = program.columns.iter().map(lane).collect();
    Filling { program, lanes }.fill()
}

/// An application while it is filled.
#[derive(Clone, Copy, Debug)]
struct Lane {
    weight: f64,
    floor: f64,
    cap: f64,
}

impl Lane {
    /// Its rate at a level.
    fn at(&self, level: f64) -> f64 {
        (self.weight * level).min(self.cap).max(self.floor)
    }

    /// Level from which on it has more than its floor.
    fn first(&self) -> f64 {
        self.floor / self.weight
    }

    /// Level at which it has its maximum.
    fn last(&self) -> f64 {
        self.cap / self.weight
    }

    /// How fast it rises just above a level.
    fn slope(&self, level: f64) -> f64 {
        if self.weight > 0.0 && self.first() <= level && level < self.last() {
            self.weight
        } else {
            0.0
        }
    }
}

/// Where the first row fills.
struct Full {
    level: f64,
    /// The row, none if everyone gets the maximum first.
    full: Option<usize>,
    /// How much more of the row a level more would take.
    slope: f64,
}

struct Filling<'a> {
    program: &'a Program,
    lanes: Vec<Lane>,
}

impl Filling<'_> {
    /// Fills all rates.
    fn fill(&self) -> Answer {
        let mut rates: Vec<f64> = self.lanes.iter().map(|lane| lane.floor).collect();
        let mut rising: Vec<usize> = (0..self.lanes.len())
            .filter(|index| self.lanes[*index].weight > 0.0)
            .collect();
        let mut prices = alloc::vec![0.0; self.program.supplies.len()];
        let (mut level, mut passes) = (0.0, 0);
        let mut first = true;
        while !rising.is_empty() {
            let (found, asked) = self.level(&rising, &rates, level);
            passes += asked;
            level = found.level;
            for &index in &rising {
                rates[index] = self.lanes[index].at(level);
            }
            let Some(row) = found.full else { break };
            let stays = |index: usize| {
                self.program
                    .uses(index)
                    .iter()
                    .any(|it| it.0 as usize == row)
            };
            // A row that is full where its users have their maxima isn't what limits them.
            let limits =
                |index: &usize| stays(*index) && rates[*index] < self.lanes[*index].cap * ROUNDED;
            if first && rising.iter().any(limits) {
                prices[row] = 1.0 / found.slope;
                first = false;
            }
            rising.retain(|&index| !stays(index) && level < self.lanes[index].last());
        }
        self.program.reduce(&mut rates);
        let objective = self.reached(&rates);
        let bound = self.bound(&prices).max(objective);
        Answer {
            objective,
            bound,
            rates,
            prices,
            passes,
        }
    }

    /// The level at which the first row fills when only `rising` rise from `from` on, and how often
    /// the rows were added up.
    fn level(&self, rising: &[usize], rates: &[f64], from: f64) -> (Full, usize) {
        let mut points: Vec<f64> = rising
            .iter()
            .flat_map(|&index| [self.lanes[index].first(), self.lanes[index].last()])
            .filter(|point| point.is_finite() && *point > from)
            .collect();
        points.push(from);
        points.sort_unstable_by(f64::total_cmp);
        points.dedup();
        let base = self.base(rising, rates);
        let (mut low, mut high, mut asked) = (0, points.len(), 0);
        // Rows have room at the lowest point, since floors fit.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            asked += 1;
            if self.fits(rising, &base, points[middle]) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let next = points.get(high).copied().unwrap_or(f64::INFINITY);
        (self.within(rising, &base, points[low], next), asked + 1)
    }

    /// Use of rows by all that don't rise.
    fn base(&self, rising: &[usize], rates: &[f64]) -> Vec<f64> {
        let mut still: Vec<f64> = rates.to_vec();
        for &index in rising {
            still[index] = 0.0;
        }
        self.program.usage(&still)
    }

    /// Use of rows by what those that rise have.
    fn risen(&self, rising: &[usize], has: impl Fn(&Lane) -> f64) -> Vec<f64> {
        let mut usage = alloc::vec![0.0; self.program.supplies.len()];
        for &index in rising {
            let rate = has(&self.lanes[index]);
            for &(row, load) in self.program.uses(index) {
                usage[row as usize] += load * rate;
            }
        }
        usage
    }

    /// Whether no row that anybody who rises has a part of is too full.
    fn fits(&self, rising: &[usize], base: &[f64], level: f64) -> bool {
        let risen = self.risen(rising, |lane| lane.at(level));
        let mut rows = risen.iter().zip(base);
        rows.all(|(risen, base)| *risen == 0.0 || base + risen <= 1.0)
    }

    /// The level between two neighbouring points, from the first of which on use rises linearly.
    fn within(&self, rising: &[usize], base: &[f64], low: f64, next: f64) -> Full {
        let mut found = Full {
            level: f64::INFINITY,
            full: None,
            slope: 0.0,
        };
        let risen = self.risen(rising, |lane| lane.at(low));
        let slopes = self.risen(rising, |lane| lane.slope(low));
        for (row, &slope) in slopes.iter().enumerate() {
            if slope == 0.0 {
                continue;
            }
            let room = 1.0 - (base[row] + risen[row]);
            let level = low + room.max(0.0) / slope;
            if level < found.level {
                found = Full {
                    level,
                    full: Some(row),
                    slope,
                };
            }
        }
        // At the next point, if there is one, some row is too full, whatever rounding says.
        found.level = if found.full.is_some() {
            found.level.min(next)
        } else {
            low
        };
        found
    }

    /// The level that rates prove: of those with a share and below their maximum the least.
    fn reached(&self, rates: &[f64]) -> f64 {
        let counted = || {
            let pairs = self.lanes.iter().zip(rates);
            pairs.filter(|(lane, _)| lane.weight > 0.0)
        };
        let level = counted()
            .filter(|(lane, rate)| **rate < lane.cap * ROUNDED)
            .map(|(lane, rate)| rate / lane.weight)
            .fold(f64::INFINITY, f64::min);
        if level.is_finite() { level } else { self.top() }
    }

    /// The level at which the last application has its maximum.
    fn top(&self) -> f64 {
        let lanes = self.lanes.iter().filter(|lane| lane.weight > 0.0);
        lanes.map(Lane::last).fold(0.0, f64::max)
    }

    /// The level that prices say can't be exceeded.
    fn bound(&self, prices: &[f64]) -> f64 {
        let worth: f64 = prices.iter().sum();
        if worth == 0.0 {
            return self.top();
        }
        let costs = (0..self.lanes.len()).map(|index| self.program.price(index, prices));
        let costs: Vec<f64> = costs.collect();
        // Newton from below on pieces: the cost of a level is piecewise linear and rises.
        let mut points: Vec<f64> = self
            .lanes
            .iter()
            .filter(|lane| lane.weight > 0.0)
            .flat_map(|lane| [lane.first(), lane.last()])
            .filter(|point| point.is_finite())
            .collect();
        points.push(0.0);
        points.sort_unstable_by(f64::total_cmp);
        let cost = |level: f64| -> f64 {
            let lanes = self.lanes.iter().zip(&costs);
            lanes.map(|(lane, cost)| cost * lane.at(level)).sum()
        };
        // Floors that fill a row may cost more than it by rounding.
        let most = worth * (1.0 + 1e-12);
        let low = points[points.partition_point(|point| cost(*point) <= most).max(1) - 1];
        let slope: f64 = self
            .lanes
            .iter()
            .zip(&costs)
            .map(|(lane, cost)| cost * lane.slope(low))
            .sum();
        // What floors that fill a row leave over may be rounding, too.
        let left = worth - cost(low);
        let left = if left > 1e-15 * worth { left } else { 0.0 };
        if slope > 0.0 {
            low + left / slope
        } else {
            self.top()
        }
    }
}
