//! A primal-dual interior-point method, for where rates don't follow from prices alone, or not in few steps.
//!
//! At alpha 0 an application without latency takes all or nothing, whatever its price, so that the dual function
//! has kinks, and rates at its least value are anything between their bounds. Here rates are unknowns beside prices, and so
//! is what is bought of a row with a price: Newton's method on the conditions of optimality, in which each product of a distance and its multiplier is to be
//! `mu` rather than 0, while `mu` falls (Mehrotra, "On the implementation of a primal-dual interior point method",
//! 1992). A step eliminates all but the prices, so it takes time in proportion to applications, and the cube of rows.

mod factor;
mod full;
pub(crate) mod host;
mod start;
mod step;

use alloc::vec::Vec;

use self::step::Iterate;
use crate::fixed::{Answer, GREATEST};
use crate::kernel::Kernel;
use crate::math::clamp;
use crate::newton::EXACT;
use crate::problem::{AnyKernel, with_kernel};
use crate::supply::Staircase;

/// Most steps.
const STEPS: usize = 400;
/// Most multiplications of a step's normal equations: about ten seconds.
const WORK: f64 = 2e10;
/// Part of a value by which a bound may be below it, as sums over thousands are.
const UNSOUND: f64 = 1e-12;
/// Part of a value that is rounding.
const ROUNDING: f64 = 1e-14;
/// Steps without a smaller gap after which rounding has taken over.
const PATIENCE: usize = 20;

/// Rates with bounds, and rows that they share.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) kernel: AnyKernel,
    pub(crate) alpha: f64,
    /// By rate.
    pub(crate) columns: Vec<Column>,
    /// Uses of rows, rate by rate: rows and coefficients, in the row's unit.
    pub(crate) uses: Vec<(u32, f64)>,
    /// By row.
    pub(crate) supplies: Vec<Staircase>,
}

/// `rate^-exponent`.
fn power(rate: f64, exponent: f64) -> f64 {
    let inverse = 1.0 / rate;
    if exponent == 0.0 {
        1.0
    } else if exponent == 0.5 {
        libm::sqrt(inverse)
    } else if exponent == 1.0 {
        inverse
    } else if exponent == 2.0 {
        inverse * inverse
    } else if exponent == 3.0 {
        inverse * inverse * inverse
    } else {
        libm::pow(rate, -exponent)
    }
}

/// A rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Column {
    pub(crate) weight: f64,
    pub(crate) kappa: f64,
    /// What each unit costs beside its use of rows.
    pub(crate) cost: f64,
    pub(crate) low: f64,
    /// Finite where nothing bends.
    pub(crate) high: f64,
    /// Where its uses end.
    pub(crate) end: usize,
}

/// Whether a bound is above its value but for rounding: at great prices it may be rounding itself.
fn is_sound(point: &Answer) -> bool {
    let scale = point.objective.abs().max(point.bound.abs());
    scale.is_finite() && point.bound - point.objective >= -UNSOUND * scale
}

/// Prices at which rows supply something; those near the end of the range of numbers, whose answers are beyond it, are none.
pub(crate) fn offered(supplies: &[Staircase], prices: &[f64]) -> Vec<f64> {
    let price = |(supply, price): (&Staircase, &f64)| match *price < crate::solve::LEAST {
        true => 0.0,
        false => price.min(supply.highest()),
    };
    supplies.iter().zip(prices).map(price).collect()
}

impl Column {
    /// Whether a rate is worth nothing.
    fn is_idle(&self) -> bool {
        self.weight == 0.0 && self.kappa == 0.0
    }

    /// Whether its utility bends.
    fn bends(&self, alpha: f64) -> bool {
        self.kappa > 0.0 || (self.weight > 0.0 && alpha > 0.0)
    }
}

impl Program {
    /// Uses of rows by a rate.
    pub(crate) fn uses(&self, index: usize) -> &[(u32, f64)] {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.columns[before].end);
        &self.uses[start..self.columns[index].end]
    }

    /// Says that the rate to come next uses so much of a row.
    pub(crate) fn use_row(&mut self, row: usize, load: f64) {
        if load != 0.0 {
            self.uses.push((row as u32, load));
        }
    }

    /// `phi'` and `-phi''` of a rate.
    pub(super) fn slope(&self, column: &Column, rate: f64) -> (f64, f64) {
        let throughput = column.weight * power(rate, self.alpha);
        let latency = column.kappa * power(rate, 3.0);
        let (throughput, latency) = match (column.weight > 0.0, column.kappa > 0.0) {
            (true, true) => (throughput, latency),
            (true, false) => (throughput, 0.0),
            (false, true) => (0.0, latency),
            (false, false) => (0.0, 0.0),
        };
        (
            throughput + latency - column.cost,
            (self.alpha * throughput + 3.0 * latency) / rate,
        )
    }

    /// Value of a rate.
    pub(crate) fn worth(&self, column: &Column, rate: f64) -> f64 {
        if column.is_idle() {
            return 0.0;
        }
        with_kernel!(self.kernel, k => {
            let worth = k.worth::<true>(k.weight(column.weight), k.kappa(column.kappa), k.variable(rate));
            worth.throughput + worth.latency
        })
    }

    /// The best rate at a price.
    pub(crate) fn answer(&self, column: &Column, price: f64) -> f64 {
        self.response(column, price).0
    }

    /// The best rate at a price, and how it answers to a lower one.
    pub(crate) fn response(&self, column: &Column, price: f64) -> (f64, f64) {
        if column.is_idle() {
            return (column.low, 0.0);
        }
        let free = with_kernel!(self.kernel, k => {
            let flow = (k.weight(column.weight), k.kappa(column.kappa));
            k.worth::<true>(flow.0, flow.1, k.answer::<true>(flow.0, flow.1, price))
        });
        let rate = clamp(free.rate, column.low, column.high);
        let moves = rate == free.rate;
        (rate, if moves { free.flexibility } else { 0.0 })
    }

    /// Price of a rate; 0, whose sign answers depend on, if it uses nothing.
    pub(crate) fn price(&self, index: usize, prices: &[f64]) -> f64 {
        let uses = self.uses(index).iter();
        uses.fold(0.0, |price, &(row, load)| {
            price + load * prices[row as usize]
        })
    }

    /// The dual function.
    pub(crate) fn bound(&self, prices: &[f64]) -> f64 {
        let rows = self.supplies.iter().zip(prices);
        let mut bound: f64 = rows.map(|(supply, price)| supply.worth(*price)).sum();
        for (index, column) in self.columns.iter().enumerate() {
            let price = self.price(index, prices);
            let rate = self.answer(column, price);
            // Nothing is paid for what is used without end at no price.
            let paid = if price > 0.0 { price * rate } else { 0.0 };
            bound += self.worth(column, rate) - paid;
        }
        if bound.is_nan() { f64::INFINITY } else { bound }
    }

    /// What is bought of each row with a price at most: no price is above the last slope. Rates that others are tied to have
    /// no such limit of their own.
    fn most_bought(&self) -> Vec<f64> {
        let mut most = alloc::vec![0.0; self.supplies.len()];
        for (index, column) in self.columns.iter().enumerate() {
            let gives = self.uses(index).iter().any(|(_, load)| *load < 0.0);
            for &(row, load) in self.uses(index) {
                let supply = &self.supplies[row as usize];
                if !supply.is_hard() && load > 0.0 {
                    most[row as usize] += match gives {
                        true => f64::INFINITY,
                        false => load * self.answer(column, load * supply.highest()),
                    };
                }
            }
        }
        most
    }

    /// What rows have without a price beyond least rates.
    fn room(&self) -> Vec<f64> {
        let mut room: Vec<f64> = self.supplies.iter().map(Staircase::capacity).collect();
        for (index, column) in self.columns.iter().enumerate() {
            for &(row, load) in self.uses(index) {
                room[row as usize] -= load * column.low;
            }
        }
        room
    }

    /// Use of each row.
    pub(crate) fn usage(&self, rates: &[f64]) -> Vec<f64> {
        let mut usage = alloc::vec![0.0; self.supplies.len()];
        for (index, rate) in rates.iter().enumerate() {
            for &(row, load) in self.uses(index) {
                usage[row as usize] += load * rate;
            }
        }
        usage
    }

    /// Value of rates.
    pub(crate) fn value(&self, rates: &[f64]) -> f64 {
        let columns = self.columns.iter().zip(rates);
        let worth: f64 = columns
            .map(|(column, rate)| self.worth(column, *rate))
            .sum();
        let rows = self.supplies.iter().zip(self.usage(rates));
        worth - rows.map(|(supply, usage)| supply.cost(usage)).sum::<f64>()
    }

    /// Reduces rates towards their floors until they keep all rows, after raising them as far as rows have room: a value may
    /// be met although a row isn't filled, where one term of it outweighs the others.
    pub(crate) fn fit(&self, rates: &mut [f64]) {
        let usage = self.usage(rates);
        for (index, column) in self.columns.iter().enumerate() {
            let room = |(row, _): &(u32, f64)| match self.supplies[*row as usize].is_hard() {
                true => 1.0 / usage[*row as usize],
                false => 1.0,
            };
            let part = self
                .uses(index)
                .iter()
                .map(room)
                .fold(f64::INFINITY, f64::min);
            if part > 1.0 && part.is_finite() {
                rates[index] = (rates[index] * part).min(column.high);
            }
        }
        self.reduce(rates);
    }

    /// Reduces rates towards their floors until they keep all rows; who uses none has the maximum, who gains nothing the floor.
    pub(crate) fn reduce(&self, rates: &mut [f64]) {
        let floors: Vec<f64> = self.columns.iter().map(|column| column.low).collect();
        let base = self.usage(&floors);
        for (index, (rate, column)) in rates.iter_mut().zip(&self.columns).enumerate() {
            *rate = if column.is_idle() {
                column.low
            } else if self.uses(index).is_empty() {
                column.high
            } else {
                clamp(*rate, column.low, column.high)
            };
        }
        // More than once, since rounding may leave a row an ulp over its capacity.
        for _ in 0..3 {
            let usage = self.usage(rates);
            let part = |row: usize| {
                let supply = &self.supplies[row];
                if supply.is_hard() && supply.has_room() && usage[row] > 1.0 {
                    let part = (1.0 - base[row]) / (usage[row] - base[row]);
                    if part > 0.0 { part } else { 0.0 }
                } else {
                    1.0
                }
            };
            let parts: Vec<f64> = (0..usage.len()).map(part).collect();
            if parts.iter().all(|part| *part >= 1.0) {
                return;
            }
            for (index, column) in self.columns.iter().enumerate() {
                let uses = self.uses(index).iter().filter(|(_, load)| *load > 0.0);
                let part = uses
                    .map(|(row, _)| parts[*row as usize])
                    .fold(1.0, f64::min);
                if part < 1.0 {
                    rates[index] = column.low + (rates[index] - column.low) * part;
                }
            }
        }
    }

    /// Rates and prices of which one certifies the other; nothing if a step takes too long, or values leave the range.
    pub(crate) fn solve(&self, tolerance: f64) -> Option<Answer> {
        self.solve_with(tolerance, |rates, prices, passes| {
            self.certified(rates, prices, passes)
        })
    }

    /// As [`solve`](Self::solve), with another way to make rates feasible and to bound what prices allow.
    pub(crate) fn solve_with(
        &self,
        tolerance: f64,
        certify: impl Fn(&[f64], &[f64], usize) -> Answer,
    ) -> Option<Answer> {
        if !self.columns.iter().any(|column| column.bends(self.alpha))
            && let rest = self.at_rest(&certify)
            && rest.gap() <= tolerance
        {
            return Some(rest);
        }
        let full = self.full_rows();
        let certify = |iterate: &Iterate, passes| {
            let mut prices = iterate.prices().to_vec();
            self.price_full_rows(&full, &mut prices);
            certify(&iterate.rates(), &prices, passes)
        };
        let mut iterate = Iterate::new(self.without_choices(&full), WORK)?;
        let mut best: Option<Answer> = None;
        let (mut taken, mut since) = (0, 0);
        for passes in 1..=STEPS {
            if !iterate.advance() {
                break;
            }
            taken = passes;
            if !iterate.is_close() {
                continue;
            }
            let point = certify(&iterate, passes);
            let gap = |point: &Answer| (point.bound - point.objective).abs();
            let scale = point.objective.abs().max(point.bound.abs());
            // Of points whose gaps are rounding the last is the best.
            let closer = gap(&point) <= ROUNDING * scale
                || best.as_ref().is_none_or(|best| gap(&point) < gap(best));
            since = if (closer && is_sound(&point)) || best.is_none() {
                0
            } else {
                since + 1
            };
            if closer && is_sound(&point) {
                let exact = self.alpha == 0.0 || tolerance > EXACT || iterate.is_settled();
                let done = gap(&point) <= tolerance * scale && exact;
                best = Some(point);
                if done {
                    break;
                }
            }
            if since >= PATIENCE {
                break;
            }
        }
        // What comes to nothing isn't close to anything.
        let mut best = best.unwrap_or_else(|| certify(&iterate, taken));
        if !is_sound(&best) || best.objective <= -GREATEST {
            return None;
        }
        best.bound = best.bound.max(best.objective);
        Some(best)
    }

    /// Least rates, which are the best where nobody gains by more.
    fn at_rest(&self, certify: impl Fn(&[f64], &[f64], usize) -> Answer) -> Answer {
        let rates: Vec<f64> = self.columns.iter().map(|column| column.low).collect();
        let rows = self.supplies.iter().zip(self.usage(&rates));
        let prices: Vec<f64> = rows.map(|(supply, usage)| supply.slope(usage)).collect();
        let mut rest = certify(&rates, &prices, 1);
        rest.bound = match is_sound(&rest) {
            true => rest.bound.max(rest.objective),
            false => f64::INFINITY,
        };
        rest
    }

    fn certified(&self, rates: &[f64], prices: &[f64], passes: usize) -> Answer {
        let mut rates = rates.to_vec();
        self.fit(&mut rates);
        let prices = offered(&self.supplies, prices);
        Answer {
            objective: self.value(&rates),
            bound: self.bound(&prices),
            rates,
            prices,
            passes,
        }
    }
}
