//! Steps of the interior-point method.

use alloc::vec::Vec;

use super::factor::{Factor, Pattern, Term};
use super::{Column, Program};
use crate::newton::EXACT;
use crate::supply::Staircase;

/// Part of the way to the nearest bound that a step goes.
const REACH: f64 = 0.995;
/// Most that a rate grows by in a step, and what is left of it at least: what bends is known around the rate alone.
const GROWTH: f64 = 20.0;
const SHRINKING: f64 = 0.3;
/// Part of the products that Newton's step alone aims at.
const CENTRED: f64 = 0.3;
/// Part of what is wrong that products are kept at.
const BEHIND: f64 = 0.1;
/// Part of the sum of terms that is rounding.
const ROUNDING: f64 = 1e-15;
/// Halvings of a step, and the part of the error that a whole step must take away.
const HALVINGS: usize = 8;
const LEAST: f64 = 0.01;
/// Sum of products over the sum of utilities below which a point is worth a certificate.
const CLOSE: f64 = 1e-6;

/// A variable: a rate, or the part of a row that is bought at a slope of its price.
#[derive(Clone, Copy, Debug)]
struct Variable {
    value: f64,
    /// Distances from its bounds, far below the last digit of the value where it comes to rest at one; the upper one is
    /// infinite if there is none.
    to_low: f64,
    to_high: f64,
    /// Multipliers of the bounds.
    below: f64,
    above: f64,
    /// It has no choice.
    is_fixed: bool,
}

impl Variable {
    /// A variable near `value` between its bounds, each product being `mu`.
    fn new(value: f64, low: f64, high: f64, mu: f64) -> Self {
        let value = if high.is_finite() {
            let margin = 0.01 * (high - low);
            value.clamp(low + margin, high - margin)
        } else {
            value.max(low * (1.0 + 1e-9)).max(1e-12)
        };
        Self {
            value,
            to_low: value - low,
            to_high: high - value,
            below: mu / (value - low),
            above: mu / (high - value),
            is_fixed: low >= high,
        }
    }
}

/// Part of what rows have left that rates take where they begin, and of what others give those that are tied to them.
const FIRST: f64 = 0.9;
const TIED: f64 = 0.5;

/// Rates to begin with: above the least ones by as much as leaves all rows room.
fn starts(program: &Program) -> Vec<f64> {
    let all =
        |value: &dyn Fn(&Column) -> f64| program.columns.iter().map(value).collect::<Vec<f64>>();
    let loads = program.usage(&all(&|_| 1.0));
    let base = program.usage(&all(&|column| column.low));
    let room = |row: usize| match program.supplies[row].is_hard() {
        true => (1.0 - base[row]).max(0.0) / loads[row],
        false => 1.0 / loads[row],
    };
    let is_tie = |row: &u32| !program.supplies[*row as usize].has_room();
    let above = |index: usize| {
        let rows = program.uses(index).iter().map(|(row, _)| row);
        let share = rows
            .filter(|row| !is_tie(row))
            .map(|row| room(*row as usize));
        let share = FIRST * share.fold(f64::INFINITY, f64::min);
        let Column { low, high, .. } = program.columns[index];
        match (share.is_finite(), high.is_finite()) {
            (true, _) => share.min(high - low),
            (false, true) => 0.5 * (high - low),
            (false, false) => 1.0,
        }
    };
    let mut above: Vec<f64> = (0..program.columns.len()).map(above).collect();
    let mut given = alloc::vec![0.0; program.supplies.len()];
    for (index, above) in above.iter().enumerate() {
        for (row, load) in program.uses(index) {
            given[*row as usize] += (-load).max(0.0) * above;
        }
    }
    for (index, above) in above.iter_mut().enumerate() {
        for (row, load) in program
            .uses(index)
            .iter()
            .filter(|(row, load)| is_tie(row) && *load > 0.0)
        {
            *above = above.min(TIED * given[*row as usize] / load);
        }
    }
    program
        .columns
        .iter()
        .zip(above)
        .map(|(column, above)| column.low + above)
        .collect()
}

/// A change of everything.
struct Change {
    values: Vec<f64>,
    below: Vec<f64>,
    above: Vec<f64>,
    slack: Vec<f64>,
    prices: Vec<f64>,
}

impl Change {
    fn is_finite(&self) -> bool {
        self.prices.iter().all(|price| price.is_finite())
    }
}

/// What all steps from one point have in common.
struct Slopes {
    /// How each variable's utility bends, barriers included.
    bend: Vec<f64>,
    /// Of the normal equations.
    diagonal: Vec<f64>,
    factor: Factor,
}

/// Where the method is.
pub(super) struct Iterate<'a> {
    program: &'a Program,
    pattern: Pattern,
    /// Rates, and then segments.
    variables: Vec<Variable>,
    rates: Vec<f64>,
    /// Row and slope of each segment.
    segments: Vec<(usize, f64)>,
    slack: Vec<f64>,
    prices: Vec<f64>,
}

impl<'a> Iterate<'a> {
    /// Where to begin; nothing if a step takes more than `work` multiplications.
    pub(super) fn new(program: &'a Program, work: f64) -> Option<Self> {
        let rows = program.supplies.len();
        let pattern = Pattern::new(rows, (0..program.columns.len()).map(|j| program.uses(j)));
        if pattern.work() > work {
            return None;
        }
        let starts = starts(program);
        let columns = program.columns.iter().zip(&starts);
        let scale: f64 = columns
            .map(|(column, rate)| program.slope(column, rate.max(1e-12)).0 * rate)
            .sum();
        let scale = scale.clamp(1e-250, 1e250);
        let mu = scale / (2 * program.columns.len() + rows) as f64;
        let columns = program.columns.iter().zip(&starts);
        let mut variables: Vec<Variable> = columns
            .map(|(column, rate)| Variable::new(*rate, column.low, column.high, mu))
            .collect();
        let mut segments = Vec::new();
        for (row, supply) in program.supplies.iter().enumerate() {
            for (length, slope) in supply.segments() {
                let start = if length.is_finite() {
                    0.5 * length
                } else {
                    0.1
                };
                variables.push(Variable::new(start, 0.0, length, mu));
                segments.push((row, slope));
            }
        }
        let mut iterate = Self {
            program,
            pattern,
            rates: Vec::new(),
            variables,
            segments,
            slack: alloc::vec![0.0; rows],
            prices: alloc::vec![0.0; rows],
        };
        iterate.slack = iterate
            .left()
            .iter()
            .map(|&left| if left > 0.0 { left } else { 0.1 })
            .collect();
        iterate.prices = iterate.slack.iter().map(|slack| mu / slack).collect();
        Some(iterate)
    }

    pub(super) fn rates(&self) -> &[f64] {
        &self.rates
    }

    pub(super) fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// Whether a variable's utility bends.
    fn bends(&self, j: usize) -> bool {
        let column = self.program.columns.get(j);
        let steep = |weight: f64| weight > 0.0 && self.program.alpha > 0.0;
        column.is_some_and(|column| column.kappa > 0.0 || steep(column.weight))
    }

    /// Size of the terms that products are to be small against.
    fn scale(&self) -> f64 {
        let terms = self.program.columns.iter().zip(&self.variables);
        let worth: f64 = terms
            .map(|(column, variable)| self.program.slope(column, variable.value).0 * variable.value)
            .sum();
        worth + self.prices.iter().sum::<f64>()
    }

    /// What rows and segments have that rates don't use.
    fn left(&self) -> Vec<f64> {
        let supplies = self.program.supplies.iter();
        let mut left: Vec<f64> = supplies.map(Staircase::capacity).collect();
        let rates = self.program.columns.len();
        for (index, variable) in self.variables[..rates].iter().enumerate() {
            for &(row, load) in self.program.uses(index) {
                left[row as usize] -= load * variable.value;
            }
        }
        for (variable, (row, _)) in self.variables[rates..].iter().zip(&self.segments) {
            left[*row] += variable.value;
        }
        left
    }

    /// Sum of all products, and how many there are.
    fn products(&self) -> (f64, usize) {
        let rows = self.slack.iter().zip(&self.prices);
        let mut sum: f64 = rows.map(|(slack, price)| slack * price).sum();
        let mut count = self.slack.len();
        for variable in self.variables.iter().filter(|variable| !variable.is_fixed) {
            sum += variable.below * variable.to_low;
            count += 1;
            if variable.to_high.is_finite() {
                sum += variable.above * variable.to_high;
                count += 1;
            }
        }
        (sum, count)
    }

    /// Whether a certificate of this point may be of use.
    pub(super) fn is_close(&self) -> bool {
        let left = self.left();
        let off = left
            .iter()
            .zip(&self.slack)
            .map(|(left, slack)| (left - slack).abs());
        self.products().0 < CLOSE * self.scale() && off.fold(0.0, f64::max) < CLOSE
    }

    /// Whether each row is used up, or what it costs is nothing to those who use it. A sum says little of either where some
    /// of its terms outweigh the others.
    pub(super) fn is_settled(&self) -> bool {
        let mut part = alloc::vec![0.0_f64; self.prices.len()];
        for j in 0..self.program.columns.len() {
            let (slope, _, price) = self.terms(j);
            for &(row, load) in self.program.uses(j) {
                let own = load.abs() * self.prices[row as usize];
                part[row as usize] = part[row as usize].max(own / slope.max(price));
            }
        }
        let rows = self.slack.iter().zip(part);
        rows.clone()
            .all(|(slack, part)| *slack <= EXACT || part <= EXACT)
    }

    /// Takes a step; false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        let (sum, count) = self.products();
        let mu = sum / count as f64;
        let slopes = self.slopes();
        let affine = self.change(&slopes, 0.0, None);
        if !affine.is_finite() {
            return false;
        }
        let length = self.longest(&affine);
        let after = self.after(&affine, length) / count as f64;
        let ratio = after / mu;
        let centring = (ratio * ratio * ratio).clamp(1e-8, 1.0);
        // Where the correction for products leads astray because utilities bend, Newton's step alone leads back.
        // Products that are far smaller than what is wrong otherwise leave no way to mend that.
        let wrong = (BEHIND * self.wrong() / count as f64).min(mu);
        let plain = ((CENTRED * mu).max(wrong), None);
        let mut taken = false;
        for (mu, affine) in [((centring * mu).max(wrong), Some(&affine)), plain] {
            let change = self.change(&slopes, mu, affine);
            if !change.is_finite() {
                return false;
            }
            taken = self.search(&change, mu);
            if taken {
                break;
            }
        }
        self.rates.clear();
        let rates = &self.variables[..self.program.columns.len()];
        self.rates
            .extend(rates.iter().map(|variable| variable.value));
        taken
    }

    /// Goes along a change until that no longer pays; false if it doesn't at all.
    fn search(&mut self, change: &Change, mu: f64) -> bool {
        let weights: Vec<f64> = self
            .variables
            .iter()
            .map(|variable| variable.value)
            .collect();
        let prices = self.prices.clone();
        let before = self.error(mu, &weights, &prices);
        let kept = (self.variables.clone(), self.slack.clone(), prices.clone());
        let mut length = (REACH * self.longest(change)).min(1.0);
        for _ in 0..HALVINGS {
            self.apply(change, length);
            let after = self.error(mu, &weights, &prices);
            if after <= (1.0 - LEAST * length) * before {
                return length > 1e-10;
            }
            self.variables.clone_from(&kept.0);
            self.slack.clone_from(&kept.1);
            self.prices.clone_from(&kept.2);
            length *= 0.5;
        }
        false
    }

    /// How far the conditions are from being met with products of `mu`, in utility.
    fn error(&self, mu: f64, weights: &[f64], prices: &[f64]) -> f64 {
        let mut error = 0.0;
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            error += weights[j] * self.residual(j);
            error += (variable.below * variable.to_low - mu).abs();
            if variable.to_high.is_finite() {
                error += (variable.above * variable.to_high - mu).abs();
            }
        }
        let left = self.left();
        for r in 0..prices.len() {
            error += prices[r] * (left[r] - self.slack[r]).abs();
            error += (self.slack[r] * self.prices[r] - mu).abs();
        }
        error
    }

    /// How far rates are from answering to prices and rows from being used as slacks say, in utility.
    fn wrong(&self) -> f64 {
        let mut wrong = 0.0;
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            wrong += variable.value * self.residual(j);
        }
        let rows = self.left().into_iter().zip(&self.slack).zip(&self.prices);
        wrong
            + rows
                .map(|((left, slack), price)| price * (left - slack).abs())
                .sum::<f64>()
    }

    /// Sum of products after a step.
    fn after(&self, change: &Change, length: f64) -> f64 {
        let mut sum = 0.0;
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            let moved = length * change.values[j];
            sum += (variable.to_low + moved) * (variable.below + length * change.below[j]);
            if variable.to_high.is_finite() {
                sum += (variable.to_high - moved) * (variable.above + length * change.above[j]);
            }
        }
        for r in 0..self.slack.len() {
            sum += (self.slack[r] + length * change.slack[r])
                * (self.prices[r] + length * change.prices[r]);
        }
        sum
    }

    /// Longest step of at most 1 that keeps everything positive.
    fn longest(&self, change: &Change) -> f64 {
        let mut length = 1.0_f64;
        let mut keep = |distance: f64, change: f64| {
            if change < 0.0 {
                length = length.min(-distance / change);
            }
        };
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            keep(variable.to_low, change.values[j]);
            keep(variable.below, change.below[j]);
            if self.bends(j) {
                keep((1.0 - SHRINKING) * variable.value, change.values[j]);
            }
            if variable.to_high.is_finite() {
                keep(variable.to_high, -change.values[j]);
                keep(variable.above, change.above[j]);
            } else {
                keep(GROWTH * variable.value, -change.values[j]);
            }
        }
        for r in 0..self.slack.len() {
            keep(self.slack[r], change.slack[r]);
            keep(self.prices[r], change.prices[r]);
        }
        length
    }

    fn apply(&mut self, change: &Change, length: f64) {
        for (j, variable) in self.variables.iter_mut().enumerate() {
            if variable.is_fixed {
                continue;
            }
            let moved = length * change.values[j];
            variable.value += moved;
            variable.to_low += moved;
            variable.to_high -= moved;
            variable.below += length * change.below[j];
            if variable.to_high.is_finite() {
                variable.above += length * change.above[j];
            }
        }
        for r in 0..self.slack.len() {
            self.slack[r] += length * change.slack[r];
            self.prices[r] += length * change.prices[r];
        }
    }

    /// Newton's step towards products of `mu`, corrected for what products of an `affine` step's changes make.
    fn change(&self, slopes: &Slopes, mu: f64, affine: Option<&Change>) -> Change {
        let rates = self.program.columns.len();
        let rows = self.slack.len();
        let count = self.variables.len();
        // Each variable changes by (pull - price of the changes of prices) / bend.
        let mut pull = alloc::vec![0.0; count];
        let bend = &slopes.bend;
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            let (slope, _, price) = self.terms(j);
            let (low, high) = self.wanted(mu, affine, j);
            pull[j] = slope - price + variable.below - variable.above + low / variable.to_low;
            if variable.to_high.is_finite() {
                pull[j] -= high / variable.to_high;
            }
        }
        let left = self.left();
        let complement = |r: usize| {
            let second = affine.map_or(0.0, |affine| affine.slack[r] * affine.prices[r]);
            mu - self.slack[r] * self.prices[r] - second
        };
        let right = (0..rows)
            .map(|r| self.slack[r] - left[r] + complement(r) / self.prices[r])
            .collect();
        let prices = self.prices_for(right, slopes, &pull);
        let mut change = Change {
            values: alloc::vec![0.0; count],
            below: alloc::vec![0.0; count],
            above: alloc::vec![0.0; count],
            slack: (0..rows)
                .map(|r| (complement(r) - self.slack[r] * prices[r]) / self.prices[r])
                .collect(),
            prices,
        };
        for (j, variable) in self.variables.iter().enumerate() {
            if variable.is_fixed {
                continue;
            }
            let charge = match j.checked_sub(rates) {
                Some(at) => -change.prices[self.segments[at].0],
                None => self.program.price(j, &change.prices),
            };
            let moved = (pull[j] - charge) / bend[j];
            let (low, high) = self.wanted(mu, affine, j);
            change.values[j] = moved;
            change.below[j] = (low - variable.below * moved) / variable.to_low;
            if variable.to_high.is_finite() {
                change.above[j] = (high + variable.above * moved) / variable.to_high;
            }
        }
        change
    }

    /// What all steps from here have in common.
    fn slopes(&self) -> Slopes {
        let rates = self.program.columns.len();
        let bend = |(j, variable): (usize, &Variable)| {
            if variable.is_fixed {
                return 1.0;
            }
            let mut bend = self.terms(j).1 + variable.below / variable.to_low;
            if variable.to_high.is_finite() {
                bend += variable.above / variable.to_high;
            }
            bend
        };
        let bend: Vec<f64> = self.variables.iter().enumerate().map(bend).collect();
        let rows = self.slack.iter().zip(&self.prices);
        let mut diagonal: Vec<f64> = rows.map(|(slack, price)| slack / price).collect();
        for (bend, (row, _)) in bend[rates..].iter().zip(&self.segments) {
            diagonal[*row] += 1.0 / bend;
        }
        let factor = self.pattern.factor(&diagonal, self.system(&bend));
        Slopes {
            bend,
            diagonal,
            factor,
        }
    }

    /// The columns of the normal equations; rates that are fixed have no part in them.
    fn system<'s>(&'s self, bend: &'s [f64]) -> impl Iterator<Item = Term<'s>> {
        let variables = self.variables[..self.program.columns.len()].iter();
        variables
            .zip(bend)
            .enumerate()
            .map(|(j, (variable, bend))| Term {
                uses: self.program.uses(j),
                factor: if variable.is_fixed { 0.0 } else { 1.0 / bend },
            })
    }

    /// Changes of prices for which rows meet `right`, where each variable changes by
    /// (pull - price of the changes) / bend.
    fn prices_for(&self, mut right: Vec<f64>, slopes: &Slopes, pull: &[f64]) -> Vec<f64> {
        let rates = self.program.columns.len();
        for (Term { uses, factor }, pull) in self.system(&slopes.bend).zip(pull) {
            for &(row, load) in uses {
                right[row as usize] += load * factor * pull;
            }
        }
        let bought = pull[rates..].iter().zip(&slopes.bend[rates..]);
        for ((row, _), (pull, bend)) in self.segments.iter().zip(bought) {
            right[*row] -= pull / bend;
        }
        let columns = || self.system(&slopes.bend);
        self.pattern
            .solve(&slopes.factor, &slopes.diagonal, columns, &right)
    }

    /// How far a variable's utility is from rising by what it costs; nothing if that is rounding.
    fn residual(&self, j: usize) -> f64 {
        let (slope, _, price) = self.terms(j);
        let Variable { below, above, .. } = self.variables[j];
        let size = slope.abs() + price.abs() + below + above;
        let off = (slope - price + below - above).abs();
        if off > ROUNDING * size { off } else { 0.0 }
    }

    /// Slope and bend of a variable's utility, and its price.
    fn terms(&self, j: usize) -> (f64, f64, f64) {
        let rates = self.program.columns.len();
        match j.checked_sub(rates) {
            Some(at) => {
                let (row, slope) = self.segments[at];
                (-slope, 0.0, -self.prices[row])
            }
            None => {
                let (slope, bend) = self
                    .program
                    .slope(&self.program.columns[j], self.variables[j].value);
                (slope, bend, self.program.price(j, &self.prices))
            }
        }
    }

    /// What a variable's products are short of.
    fn wanted(&self, mu: f64, affine: Option<&Change>, j: usize) -> (f64, f64) {
        let variable = &self.variables[j];
        let second = |multiplier: f64, sign: f64| {
            affine.map_or(0.0, |affine| sign * affine.values[j] * multiplier)
        };
        let low = mu
            - variable.below * variable.to_low
            - affine.map_or(0.0, |affine| second(affine.below[j], 1.0));
        let high = mu
            - variable.above * variable.to_high
            - affine.map_or(0.0, |affine| second(affine.above[j], -1.0));
        (low, high)
    }
}
