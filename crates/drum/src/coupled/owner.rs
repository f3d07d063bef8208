//! Who sets the prices: given the sums of an order, says what all hosts are to do next.
//!
//! It begins as consensus ADMM that collapses to one price for each row, with proximal steps of the
//! hosts. Once each flow has a price it changes to a quasi-Newton method on the dual function, which
//! needs no memory of the hosts, and goes back to proximal steps where that stalls.

mod options;
mod proximal;

use alloc::format;
use alloc::vec::Vec;

pub use self::options::{CoupledOptions, Method};
use crate::coupled::descent::{Descent, Turn};
use crate::coupled::order::{Order, Sums};
use crate::coupled::repair::{RowState, repair, uniform_repair};
use crate::error::{Error, Place};

/// Load over capacity at which a flow counts as having no price.
const FAR: f64 = 1e12;
/// Part of a capacity that floors may be over it by rounding.
const ROUNDING: f64 = 1e-12;
/// Size of terms over that of their sum from which on digits are lost.
const LOST: f64 = 1e4;
/// Proximal steps after quasi-Newton steps have stalled.
const AFTER_STALL: usize = 10;
/// Stalls after which it stops: what is left is rounding.
const STALLS: usize = 6;
/// Proximal steps before quasi-Newton steps.
const OPENING: usize = 6;

/// Rows that a flow is taken to pay alike.
const SHARED: f64 = 2.0;

/// What the owner waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Weighing,
    Beginning,
    Proximal,
    /// Whether each flow has a price, so that quasi-Newton steps can begin.
    Probing,
    /// Bound of the prices of a proximal step.
    Bounding,
    /// Value of the rates of a proximal step.
    Valuing,
    Answering,
    /// Value of the rates of an answer.
    Certifying,
    /// An answer at the prices whose repaired rates were best.
    Returning,
    Keeping,
    Done,
}

/// Sets prices for the rows of a network.
pub struct Owner {
    capacities: Vec<f64>,
    options: CoupledOptions,
    stage: Stage,
    /// Use by least rates.
    floors: Vec<f64>,
    /// Prices between proximal steps.
    prices: Vec<f64>,
    loads: Vec<f64>,
    weights: Vec<f64>,
    tops: Vec<f64>,
    /// How strongly flows answered last to a change of all prices by one factor.
    response: f64,
    /// Prices of the order that is under way.
    asked: Vec<f64>,
    proximal: usize,
    /// Proximal steps to take before the next quasi-Newton step.
    left: usize,
    /// Value of the dual function at the prices that were answered last.
    answered: f64,
    /// Value of the rates of a proximal step.
    current: f64,
    descent: Descent,
    /// Best value, and the prices whose answers it belongs to.
    value: f64,
    best: Vec<f64>,
    bound: f64,
    bound_prices: Vec<f64>,
    result: Option<f64>,
    reduces: usize,
    stalls: usize,
    /// Whether rates that were kept had to be changed once more.
    shrunk: bool,
}

impl Owner {
    /// Begins with the capacities of the rows; the first order is [`Order::Weigh`].
    pub fn new(capacities: &[f64], options: CoupledOptions) -> Self {
        let rows = capacities.len();
        Self {
            capacities: capacities.to_vec(),
            options,
            stage: Stage::Weighing,
            floors: Vec::new(),
            prices: alloc::vec![0.0; rows],
            loads: alloc::vec![0.0; rows],
            weights: alloc::vec![0.0; rows],
            tops: alloc::vec![0.0; rows],
            response: 0.0,
            asked: Vec::new(),
            proximal: 0,
            left: OPENING,
            answered: f64::INFINITY,
            current: f64::NEG_INFINITY,
            descent: Descent::default(),
            value: f64::NEG_INFINITY,
            best: Vec::new(),
            bound: f64::INFINITY,
            bound_prices: Vec::new(),
            result: None,
            reduces: 0,
            stalls: 0,
            shrunk: false,
        }
    }

    /// Begins from prices that are likely to be near, an entry for each row.
    pub fn with_prices(capacities: &[f64], options: CoupledOptions, prices: &[f64]) -> Self {
        let mut owner = Self::new(capacities, options);
        if prices.len() == capacities.len() {
            owner.prices.copy_from_slice(prices);
            owner.left = 0;
        }
        owner
    }

    /// What all hosts are to do first.
    pub fn first(&self) -> Order {
        Order::Weigh {
            capacities: self.capacities.clone(),
        }
    }

    /// Begins again, with other flows or capacities: from the prices that it has if they are of use.
    pub fn restart(&mut self, capacities: &[f64]) -> Order {
        *self = Self::with_prices(capacities, self.options, &self.bound_prices);
        self.first()
    }

    /// Best value so far of rates that keep all rows.
    pub fn value(&self) -> f64 {
        self.result.unwrap_or(self.value)
    }

    /// Least upper bound so far.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Prices of the least upper bound so far.
    pub fn prices(&self) -> &[f64] {
        if self.bound_prices.is_empty() {
            &self.prices
        } else {
            &self.bound_prices
        }
    }

    /// Use of each row by the rates that were kept at the end.
    pub fn loads(&self) -> &[f64] {
        &self.loads
    }

    /// Sums of lists over all hosts so far.
    pub fn iterations(&self) -> usize {
        self.reduces
    }

    /// Whether rates are final.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Takes the sums of the last order and says what is next; nothing once rates are final.
    ///
    /// # Errors
    /// Floors that don't fit a row, or numbers that leave the range of double precision.
    pub fn on_sums(&mut self, sums: &Sums) -> Result<Option<Order>, Error> {
        match self.stage {
            Stage::Weighing => self.on_weights(sums).map(Some),
            Stage::Beginning | Stage::Proximal => Ok(Some(self.on_rates(sums))),
            Stage::Probing => Ok(Some(self.on_probe(sums.worth))),
            Stage::Bounding => Ok(Some(self.on_bound(sums.worth))),
            Stage::Valuing => Ok(Some(self.on_iterate_value(sums.worth))),
            Stage::Answering => self.on_answer(sums).map(Some),
            Stage::Certifying => Ok(Some(self.on_value(sums.worth))),
            Stage::Returning => {
                self.take(sums);
                Ok(Some(self.keep()))
            }
            Stage::Keeping => {
                self.loads.clone_from(&sums.loads);
                if self.is_over() && !self.shrunk {
                    self.shrunk = true;
                    return Ok(Some(Order::Keep {
                        repair: uniform_repair(&self.rows()),
                    }));
                }
                self.result = Some(sums.worth);
                self.stage = Stage::Done;
                Ok(None)
            }
            Stage::Done => Ok(None),
        }
    }

    fn on_weights(&mut self, sums: &Sums) -> Result<Order, Error> {
        self.count();
        self.floors.clone_from(&sums.floors);
        for (r, (&needed, &capacity)) in self.floors.iter().zip(&self.capacities).enumerate() {
            if needed > capacity * (1.0 + ROUNDING) {
                return Err(Error::Infeasible {
                    place: Place::Row(format!("rows[{r}]")),
                    needed,
                    capacity,
                });
            }
        }
        if self.left == 0 && self.options.method != Method::Admm {
            return Ok(self.ask(self.prices.clone()));
        }
        self.stage = Stage::Beginning;
        let shares = self.capacities.iter().zip(&sums.loads);
        let shares = shares.map(|(capacity, load)| {
            if *load > 0.0 {
                capacity / load
            } else {
                f64::INFINITY
            }
        });
        Ok(Order::Begin {
            shares: shares.collect(),
        })
    }

    fn take(&mut self, sums: &Sums) {
        self.loads.clone_from(&sums.loads);
        if !sums.weights.iter().all(|&weight| weight == 0.0) {
            self.weights.clone_from(&sums.weights);
            self.tops.clone_from(&sums.tops);
        }
    }

    fn ask(&mut self, prices: Vec<f64>) -> Order {
        self.asked.clone_from(&prices);
        self.stage = Stage::Answering;
        Order::Answer {
            prices,
            choose: false,
        }
    }

    /// What flows keep and use at the prices asked for.
    fn on_answer(&mut self, sums: &Sums) -> Result<Order, Error> {
        self.count();
        if !self.is_sane(sums) {
            return self.on_infinite();
        }
        self.take(sums);
        self.lower_bound(sums.worth);
        self.answered = self.dual(sums.worth);
        self.response = sums.response;
        let last = self.reduces >= self.options.iterations;
        if last || self.is_promising(self.answered) {
            self.stage = Stage::Certifying;
            return Ok(Order::Value {
                repair: repair(&self.rows()),
            });
        }
        Ok(self.descend())
    }

    /// Whether each flow has a price worth the name.
    fn is_sane(&self, sums: &Sums) -> bool {
        let rows = sums.loads.iter().zip(&sums.weights).zip(&self.capacities);
        let sane = |((load, weight), capacity): ((&f64, &f64), &f64)| {
            *load < FAR * capacity && weight.is_finite()
        };
        sums.worth.is_finite() && rows.into_iter().all(sane)
    }

    /// Some flow has no price at all: nothing can be said at these prices.
    fn on_infinite(&mut self) -> Result<Order, Error> {
        if self.reduces >= self.options.iterations {
            return self.finish().ok_or(Error::Range);
        }
        if self.descent.is_trying() {
            let turn = self.descent.shorten(0.25);
            return Ok(self.take_turn(turn));
        }
        // Prices of a warm start that don't fit, or too few proximal steps so far.
        self.left = 4;
        self.stage = Stage::Weighing;
        Ok(self.first())
    }

    /// A quasi-Newton step from the last answer, or a shorter one than that which led to it.
    fn descend(&mut self) -> Order {
        let gradient: Vec<f64> = self
            .capacities
            .iter()
            .zip(&self.loads)
            .map(|(b, y)| b - y)
            .collect();
        let scales = self.scales();
        let turn = self
            .descent
            .turn(&self.asked, self.answered, gradient, (&scales, &self.tops));
        self.take_turn(turn)
    }

    /// Estimates of the dual function's second derivatives that steps of all prices at once may rely on: of a
    /// row whose flows pay others too, more than the derivative by its own price.
    fn scales(&self) -> Vec<f64> {
        let paid: f64 = self
            .asked
            .iter()
            .zip(&self.loads)
            .map(|(price, load)| price * load)
            .sum();
        let elasticity = self.response / paid;
        let scale = |r: usize| {
            let shared = self.loads[r] / self.asked[r];
            let own = SHARED * self.weights[r];
            elasticity * if shared < own { shared } else { own }
        };
        (0..self.loads.len()).map(scale).collect()
    }

    fn take_turn(&mut self, turn: Turn) -> Order {
        match turn {
            Turn::Ask(prices) => self.ask(prices),
            Turn::Stalled(prices) => {
                self.stalls += 1;
                if self.stalls > STALLS
                    && let Some(order) = self.finish()
                {
                    return order;
                }
                self.left = AFTER_STALL;
                self.prices.clone_from(&prices);
                self.stage = Stage::Proximal;
                Order::Resume { prices }
            }
        }
    }

    fn rows(&self) -> RowState<'_> {
        RowState {
            capacities: &self.capacities,
            floors: &self.floors,
            loads: &self.loads,
            weights: &self.weights,
            tops: &self.tops,
        }
    }

    fn dual(&self, kept: f64) -> f64 {
        let paid: f64 = self
            .asked
            .iter()
            .zip(&self.capacities)
            .map(|(p, b)| p * b)
            .sum();
        kept + paid
    }

    /// What rounding may take from the dual function, where its terms are far larger than their sum.
    fn rounding(&self, kept: f64) -> f64 {
        let dual = self.dual(kept).abs();
        if kept.abs() > LOST * dual {
            1e-14 * kept.abs()
        } else {
            0.0
        }
    }

    fn lower_bound(&mut self, kept: f64) {
        let dual = self.dual(kept) + self.rounding(kept);
        if dual < self.bound {
            self.bound = dual;
            self.bound_prices.clone_from(&self.asked);
        }
    }

    /// Whether asking for the value of repaired rates may end it.
    fn is_promising(&self, dual: f64) -> bool {
        let rows = self.asked.iter().zip(&self.loads).zip(&self.capacities);
        let slack: f64 = rows
            .map(|((price, load), capacity)| price * (capacity - load).abs())
            .sum();
        slack <= 2.0 * self.options.tolerance * dual.abs() || self.reduces.is_multiple_of(10)
    }

    fn on_value(&mut self, worth: f64) -> Order {
        if worth > self.value {
            self.value = worth;
            self.best.clone_from(&self.asked);
        }
        if self.is_certified() && worth == self.value {
            return self.keep();
        }
        if self.is_certified() || self.reduces >= self.options.iterations {
            return self.finish().unwrap_or_else(|| self.keep());
        }
        self.descend()
    }

    fn is_certified(&self) -> bool {
        let scale = self.value.abs().max(self.bound.abs()).max(1e-300);
        scale.is_finite() && self.bound - self.value <= self.options.tolerance * scale
    }

    /// Goes back to the best rates.
    fn finish(&mut self) -> Option<Order> {
        if self.best.is_empty() {
            return None;
        }
        self.asked.clone_from(&self.best);
        self.stage = Stage::Returning;
        Some(Order::Answer {
            prices: self.best.clone(),
            choose: false,
        })
    }

    fn keep(&mut self) -> Order {
        self.stage = Stage::Keeping;
        Order::Keep {
            repair: repair(&self.rows()),
        }
    }

    /// Whether rates that were kept don't keep some row: repairs by prices rely on slopes, which may be beyond numbers.
    fn is_over(&self) -> bool {
        let mut rows = self.loads.iter().zip(&self.capacities);
        rows.any(|(load, capacity)| *load > capacity * (1.0 + ROUNDING))
    }

    fn count(&mut self) {
        self.reduces += 1;
    }
}
