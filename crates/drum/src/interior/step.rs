//! Steps of the interior-point method.

use alloc::vec::Vec;

use super::factor::{Factor, Pattern, Term};
use super::start::starts;
use super::{Column, Program};
use crate::newton::EXACT;

/// Part of the way to the nearest bound that a step goes.
const REACH: f64 = 0.995;
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

/// Parts of the way between its bounds that a variable stays away from them where it begins.
const LOWEST: f64 = 1e-9;
const HIGHEST: f64 = 1e-2;
/// The least that one without an upper bound begins with.
const LEAST_VALUE: f64 = 1e-100;

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
    /// Whether its bounds leave one value only.
    is_fixed: bool,
}

impl Variable {
    /// A variable near `value` between its bounds, each product being `mu`.
    fn new(value: f64, low: f64, high: f64, mu: f64) -> Self {
        let value = if high.is_finite() {
            let span = high - low;
            value.clamp(low + LOWEST * span, high - HIGHEST * span)
        } else {
            value.max(low * (1.0 + LOWEST)).max(LEAST_VALUE)
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
struct System {
    /// How each variable's utility bends, barriers included.
    bend: Vec<f64>,
    /// Diagonal term of the normal equations, by row.
    diagonal: Vec<f64>,
    factor: Factor,
}

/// Slope and bend of a variable's utility, and its price.
#[derive(Clone, Copy, Debug)]
struct Terms {
    slope: f64,
    bend: f64,
    price: f64,
}

/// Variables, what is left of rows, and prices.
#[derive(Clone)]
struct Point {
    variables: Vec<Variable>,
    slack: Vec<f64>,
    prices: Vec<f64>,
    /// What rows have beyond least values.
    room: Vec<f64>,
    /// By variable.
    terms: Vec<Terms>,
    /// What rows have that variables don't use.
    left: Vec<f64>,
}

impl Point {
    /// Variables near where they are to begin, each product being `mu`.
    fn new(program: &Program, starts: &[f64], mu: f64) -> Self {
        let columns = program.columns.iter().zip(starts);
        let variable =
            |(column, start): (&Column, &f64)| Variable::new(*start, column.low, column.high, mu);
        let mut at = Self {
            variables: columns.map(variable).collect(),
            slack: Vec::new(),
            prices: alloc::vec![0.0; program.supplies.len()],
            room: program.room(),
            terms: Vec::new(),
            left: Vec::new(),
        };
        at.update(program);
        let left = at.left.iter();
        let slack = left.map(|&left| if left > 0.0 { left } else { 0.1 });
        at.slack = slack.collect();
        at.prices = at.slack.iter().map(|slack| mu / slack).collect();
        at.update(program);
        if program.alpha == 0.0 {
            at.answer_prices(program);
        }
        at
    }

    /// Multipliers that make up for what utilities rise beyond or below prices: at alpha 0 rates hardly answer to either.
    fn answer_prices(&mut self, program: &Program) {
        for (j, column) in program.columns.iter().enumerate() {
            let excess = self.excess(j);
            let variable = &mut self.variables[j];
            if variable.is_fixed || column.is_idle() {
                continue;
            }
            if excess < 0.0 {
                variable.below -= excess;
            } else if variable.to_high.is_finite() {
                variable.above += excess;
            }
        }
    }

    /// Brings what follows from variables and prices up to date.
    fn update(&mut self, program: &Program) {
        self.terms.clear();
        self.left.clone_from(&self.room);
        for (j, (column, variable)) in program.columns.iter().zip(&self.variables).enumerate() {
            let mut price = 0.0;
            for &(row, load) in program.uses(j) {
                price += load * self.prices[row as usize];
                self.left[row as usize] -= load * variable.to_low;
            }
            let (slope, bend) = program.slope(column, variable.value);
            self.terms.push(Terms { slope, bend, price });
        }
    }

    /// The variables that have a choice, and their places.
    fn open(&self) -> impl Iterator<Item = (usize, &Variable)> {
        let variables = self.variables.iter().enumerate();
        variables.filter(|(_, variable)| !variable.is_fixed)
    }

    /// By how much a variable's utility rises beyond what it costs, bounds included.
    fn excess(&self, j: usize) -> f64 {
        let Terms { slope, price, .. } = self.terms[j];
        let Variable { below, above, .. } = self.variables[j];
        slope - price + below - above
    }

    /// The size of that; nothing if it is rounding.
    fn residual(&self, j: usize) -> f64 {
        let Terms { slope, price, .. } = self.terms[j];
        let Variable { below, above, .. } = self.variables[j];
        let (off, size) = (
            self.excess(j).abs(),
            slope.abs() + price.abs() + below + above,
        );
        if off > ROUNDING * size { off } else { 0.0 }
    }

    /// Sum of all products, and how many there are.
    fn products(&self) -> (f64, usize) {
        let rows = self.slack.iter().zip(&self.prices);
        let mut sum: f64 = rows.map(|(slack, price)| slack * price).sum();
        let mut count = self.slack.len();
        for (_, variable) in self.open() {
            sum += variable.below * variable.to_low;
            count += 1;
            if variable.to_high.is_finite() {
                sum += variable.above * variable.to_high;
                count += 1;
            }
        }
        (sum, count)
    }

    /// How far utilities are from rising by what they cost, and rows from being used as slacks say, in utility by values
    /// and prices.
    fn wrong(&self, values: impl Fn(usize) -> f64, prices: &[f64]) -> f64 {
        let open = self.open();
        let variables: f64 = open.map(|(j, _)| values(j) * self.residual(j)).sum();
        let rows = self.left.iter().zip(&self.slack).zip(prices);
        let off = |((left, slack), price): ((&f64, &f64), &f64)| price * (left - slack).abs();
        variables + rows.map(off).sum::<f64>()
    }

    /// How far the conditions are from being met with products of `mu`, in utility by the values and prices of a point.
    fn error(&self, mu: f64, from: &Self) -> f64 {
        let mut error = self.wrong(|j| from.variables[j].value, &from.prices);
        for (_, variable) in self.open() {
            error += (variable.below * variable.to_low - mu).abs();
            if variable.to_high.is_finite() {
                error += (variable.above * variable.to_high - mu).abs();
            }
        }
        let rows = self.slack.iter().zip(&self.prices);
        error
            + rows
                .map(|(slack, price)| (slack * price - mu).abs())
                .sum::<f64>()
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
            variable.above += length * change.above[j];
        }
        for r in 0..self.slack.len() {
            self.slack[r] += length * change.slack[r];
            self.prices[r] += length * change.prices[r];
        }
    }

    /// What a variable's products are short of `mu`, corrected for what products of an `affine` step's changes make.
    fn wanted(&self, mu: f64, affine: Option<&Change>, j: usize) -> (f64, f64) {
        let variable = &self.variables[j];
        let second = affine.map_or((0.0, 0.0), |affine| {
            let moved = affine.values[j];
            (moved * affine.below[j], -moved * affine.above[j])
        });
        let low = mu - variable.below * variable.to_low - second.0;
        let high = match variable.to_high.is_finite() {
            true => mu - variable.above * variable.to_high - second.1,
            false => 0.0,
        };
        (low, high)
    }
}

/// Where the method is.
pub(super) struct Iterate {
    /// With a column for each segment of a row with a price.
    program: Program,
    rates: usize,
    pattern: Pattern,
    at: Point,
}

impl Iterate {
    /// Where to begin; nothing if a step takes more than `work` multiplications.
    pub(super) fn new(mut program: Program, work: f64) -> Option<Self> {
        let rates = program.columns.len();
        let mut starts = starts(&program);
        let columns = program.columns.iter().zip(&starts);
        let scale: f64 = columns
            .filter(|(_, rate)| **rate > 0.0)
            .map(|(column, rate)| program.slope(column, *rate).0 * rate)
            .sum();
        let mu = scale.clamp(1e-250, 1e250) / (2 * rates + program.supplies.len()) as f64;
        for (row, most) in program.most_bought().into_iter().enumerate() {
            let segments: Vec<(f64, f64)> = program.supplies[row].segments().collect();
            let mut left = most;
            for (length, slope) in segments {
                let length = if length.is_finite() {
                    length
                } else {
                    left.max(0.0) + 0.1
                };
                left -= length;
                starts.push(if length.is_finite() {
                    0.5 * length
                } else {
                    0.1
                });
                program.use_row(row, -1.0);
                program.columns.push(Column {
                    cost: slope,
                    high: length,
                    end: program.uses.len(),
                    ..Column::default()
                });
            }
        }
        let columns = 0..program.columns.len();
        let pattern = Pattern::new(program.supplies.len(), columns.map(|j| program.uses(j)));
        if pattern.work() > work {
            return None;
        }
        let mut at = Point::new(&program, &starts, mu);
        let (sum, count) = at.products();
        let wrong = at.wrong(|j| at.variables[j].value, &at.prices);
        if wrong > sum {
            // What rates are worth where they begin says too little of what they will be.
            at = Point::new(&program, &starts, wrong / count as f64);
        }
        Some(Self {
            program,
            rates,
            pattern,
            at,
        })
    }

    pub(super) fn rates(&self) -> Vec<f64> {
        let rates = self.at.variables[..self.rates].iter();
        rates.map(|variable| variable.value).collect()
    }

    pub(super) fn prices(&self) -> &[f64] {
        &self.at.prices
    }

    /// Whether a certificate of this point may be of use.
    pub(super) fn is_close(&self) -> bool {
        let variables = self.at.variables[..self.rates].iter().zip(&self.at.terms);
        let worth: f64 = variables
            .map(|(variable, terms)| terms.slope * variable.value)
            .sum();
        let scale = worth + self.at.prices.iter().sum::<f64>();
        self.at.products().0 < CLOSE * scale
    }

    /// Whether each row is used up, or what it costs is nothing to those who use it. A sum says little of either where some
    /// of its terms outweigh the others.
    pub(super) fn is_settled(&self) -> bool {
        let mut part = alloc::vec![0.0_f64; self.at.prices.len()];
        for (j, _) in self.at.open().filter(|(j, _)| *j < self.rates) {
            let Terms { slope, price, .. } = self.at.terms[j];
            for &(row, load) in self.program.uses(j) {
                let own = load.abs() * self.at.prices[row as usize];
                part[row as usize] = part[row as usize].max(own / slope.max(price));
            }
        }
        let rows = self.program.supplies.iter().zip(&self.at.slack).zip(part);
        let mut rows = rows.filter(|((supply, _), _)| supply.is_hard() && supply.has_room());
        rows.all(|((_, slack), part)| *slack <= EXACT || part <= EXACT)
    }

    /// Takes a step; false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        let (sum, count) = self.at.products();
        let mu = sum / count as f64;
        let system = self.system();
        let affine = self.change(&system, 0.0, None);
        if !affine.is_finite() {
            return false;
        }
        let length = self.longest(&affine);
        let ratio = self.after(&affine, length) / sum;
        let centring = (ratio * ratio * ratio).clamp(1e-8, 1.0);
        // Products that are far smaller than what is wrong otherwise leave no way to mend that.
        let wrong = self
            .at
            .wrong(|j| self.at.variables[j].value, &self.at.prices);
        let least = (BEHIND * wrong / count as f64).min(mu);
        // Where the correction for products leads astray because utilities bend, Newton's step alone leads back.
        let plain = ((CENTRED * mu).max(least), None);
        for (mu, affine) in [((centring * mu).max(least), Some(&affine)), plain] {
            let change = self.change(&system, mu, affine);
            if !change.is_finite() {
                return false;
            }
            if self.search(&change, mu) {
                return true;
            }
        }
        false
    }

    /// Goes along a change until that no longer pays; false if it doesn't at all.
    fn search(&mut self, change: &Change, mu: f64) -> bool {
        let from = self.at.clone();
        let before = from.error(mu, &from);
        let mut length = (REACH * self.longest(change)).min(1.0);
        for _ in 0..HALVINGS {
            self.at.apply(change, length);
            self.at.update(&self.program);
            if self.at.error(mu, &from) <= (1.0 - LEAST * length) * before {
                return length > 1e-10;
            }
            self.at.clone_from(&from);
            length *= 0.5;
        }
        false
    }

    /// Sum of products after a step.
    fn after(&self, change: &Change, length: f64) -> f64 {
        let mut sum = 0.0;
        for (j, variable) in self.at.open() {
            let moved = length * change.values[j];
            sum += (variable.to_low + moved) * (variable.below + length * change.below[j]);
            if variable.to_high.is_finite() {
                sum += (variable.to_high - moved) * (variable.above + length * change.above[j]);
            }
        }
        for (r, (slack, price)) in self.at.slack.iter().zip(&self.at.prices).enumerate() {
            sum += (slack + length * change.slack[r]) * (price + length * change.prices[r]);
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
        for (j, variable) in self.at.open() {
            keep(variable.to_low, change.values[j]);
            keep(variable.below, change.below[j]);
            if variable.to_high.is_finite() {
                keep(variable.to_high, -change.values[j]);
                keep(variable.above, change.above[j]);
            }
        }
        for (r, (slack, price)) in self.at.slack.iter().zip(&self.at.prices).enumerate() {
            keep(*slack, change.slack[r]);
            keep(*price, change.prices[r]);
        }
        length
    }

    /// Newton's step towards products of `mu`, corrected for what products of an `affine` step's changes make.
    fn change(&self, system: &System, mu: f64, affine: Option<&Change>) -> Change {
        let at = &self.at;
        let count = at.variables.len();
        let mut change = Change {
            values: alloc::vec![0.0; count],
            below: alloc::vec![0.0; count],
            above: alloc::vec![0.0; count],
            slack: Vec::new(),
            prices: Vec::new(),
        };
        let complement = |r: usize| {
            let second = affine.map_or(0.0, |affine| affine.slack[r] * affine.prices[r]);
            mu - at.slack[r] * at.prices[r] - second
        };
        let rows = 0..at.slack.len();
        let right = |r: usize| at.slack[r] - at.left[r] + complement(r) / at.prices[r];
        let mut right: Vec<f64> = rows.clone().map(right).collect();
        // Each variable changes by (pull - price of the changes of prices) / bend.
        let mut pull = alloc::vec![0.0; count];
        for (j, variable) in at.open() {
            let (low, high) = at.wanted(mu, affine, j);
            pull[j] = at.excess(j) + low / variable.to_low - high / variable.to_high;
            for &(row, load) in self.program.uses(j) {
                right[row as usize] += load * pull[j] / system.bend[j];
            }
        }
        let columns = || self.columns(&system.bend);
        let prices = self
            .pattern
            .solve(&system.factor, &system.diagonal, columns, &right);
        for (j, variable) in at.open() {
            let moved = (pull[j] - self.program.price(j, &prices)) / system.bend[j];
            let (low, high) = at.wanted(mu, affine, j);
            change.values[j] = moved;
            change.below[j] = (low - variable.below * moved) / variable.to_low;
            change.above[j] = (high + variable.above * moved) / variable.to_high;
        }
        let slack = |r: usize| (complement(r) - at.slack[r] * prices[r]) / at.prices[r];
        change.slack = rows.map(slack).collect();
        change.prices = prices;
        change
    }

    /// What all steps from here have in common.
    fn system(&self) -> System {
        let mut bend = alloc::vec![1.0; self.at.variables.len()];
        for (j, variable) in self.at.open() {
            let barriers = variable.below / variable.to_low + variable.above / variable.to_high;
            bend[j] = self.at.terms[j].bend + barriers;
        }
        let rows = self.at.slack.iter().zip(&self.at.prices);
        let diagonal: Vec<f64> = rows.map(|(slack, price)| slack / price).collect();
        let factor = self.pattern.factor(&diagonal, self.columns(&bend));
        System {
            bend,
            diagonal,
            factor,
        }
    }

    /// The columns of the normal equations; variables that are fixed have no part in them.
    fn columns<'s>(&'s self, bend: &'s [f64]) -> impl Iterator<Item = Term<'s>> {
        let variables = self.at.variables.iter().zip(bend).enumerate();
        variables.map(|(j, (variable, bend))| Term {
            uses: self.program.uses(j),
            factor: if variable.is_fixed { 0.0 } else { 1.0 / bend },
        })
    }
}
