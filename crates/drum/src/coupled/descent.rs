//! Prices of a network's rows, by a quasi-Newton method on the dual function over prices that are at least 0.
//!
//! The method begins with what flows would pay for equal shares, and needs no memory of the hosts but one rate a flow.

use alloc::format;
use alloc::vec::Vec;

use crate::coupled::order::{Order, Sums};
use crate::coupled::problem::Source;
use crate::coupled::quasi::Quasi;
use crate::coupled::repair::{RowState, repair, uniform_repair};
use crate::coupled::solve::Hosts;
use crate::error::{Error, Place};
use crate::workers::Workers;

/// Load over capacity at which a flow counts as having no price.
const FAR: f64 = 1e12;
/// Part of a capacity that floors may be over it by rounding.
const ROUNDING: f64 = 1e-12;
/// Size of terms over that of their sum from which on digits are lost.
const LOST: f64 = 1e4;
/// Rows that a flow is taken to pay alike.
const SHARED: f64 = 2.0;
/// Decrease of the dual function, over that of its slope, that a step must bring.
const ARMIJO: f64 = 1e-4;
/// What is left of a step that brought too little, and of one to prices at which flows run away.
const SHORTER: (f64, f64) = (0.4, 0.25);
/// Shortest part of a step that is tried.
const SHORTEST: f64 = 0.02;
/// A row with more than this share of some flow's price keeps a part of its price in each step, so that
/// the flow doesn't run away.
const ESSENTIAL: f64 = 0.1;
/// Part of its price that such a row keeps in a step.
const KEPT: f64 = 0.2;
/// A price this far below the others, in what it charges for the whole row, counts as 0.
const NOTHING: f64 = 1e-12;
/// Answers of which one is valued, however far it is.
const EACH: usize = 10;

/// How far the network's solver goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoupledOptions {
    /// Relative gap between value and bound at which it stops.
    pub tolerance: f64,
    /// Most sums of all hosts (all-reduces of lists).
    pub iterations: usize,
}

impl Default for CoupledOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-6,
            iterations: 1000,
        }
    }
}

/// What a descent came to; the hosts has the rates.
pub(crate) struct Found {
    /// Value of the rates.
    pub(crate) value: f64,
    /// Least upper bound, and its prices.
    pub(crate) bound: f64,
    pub(crate) prices: Vec<f64>,
    /// Use of each row.
    pub(crate) loads: Vec<f64>,
    /// Sums of lists over all hosts.
    pub(crate) iterations: usize,
}

/// Where the dual function was evaluated.
struct Point {
    prices: Vec<f64>,
    dual: f64,
    /// Capacity that is left.
    gradient: Vec<f64>,
    /// Estimates of the second derivatives.
    scales: Vec<f64>,
    /// Least prices of a step from here.
    least: Vec<f64>,
}

/// The way down, with the best that was met.
pub(crate) struct Descent<'f, 'a, S, W> {
    hosts: &'f mut Hosts<'a, S>,
    workers: &'f W,
    capacities: &'a [f64],
    options: CoupledOptions,
    quasi: Quasi,
    /// Use by least rates.
    floors: Vec<f64>,
    /// What was told last, at these prices.
    sums: Sums,
    asked: Vec<f64>,
    /// Best value of rates that keep all rows, and the prices whose answers it belongs to.
    value: f64,
    best: Vec<f64>,
    /// Least upper bound, and its prices.
    bound: f64,
    prices: Vec<f64>,
    iterations: usize,
}

impl<'f, 'a, S: Source, W: Workers> Descent<'f, 'a, S, W> {
    pub(crate) fn new(
        hosts: &'f mut Hosts<'a, S>,
        options: &CoupledOptions,
        workers: &'f W,
    ) -> Self {
        let capacities = hosts.source.capacities();
        Self {
            hosts,
            workers,
            capacities,
            options: *options,
            quasi: Quasi::default(),
            floors: Vec::new(),
            sums: Sums::default(),
            asked: Vec::new(),
            value: f64::NEG_INFINITY,
            best: Vec::new(),
            bound: f64::INFINITY,
            prices: Vec::new(),
            iterations: 0,
        }
    }

    /// Goes down from prices for the rows, or if these are none or of no use, from what flows would pay.
    ///
    /// # Errors
    /// Floors that don't fit a row, or numbers that leave the range of double precision.
    pub(crate) fn run(mut self, start: &[f64]) -> Result<Found, Error> {
        let shares = self.weigh()?;
        let mut point = None;
        if start.len() == self.capacities.len() {
            point = self.answer(start.to_vec());
        }
        if point.is_none() {
            let paid = self.tell(&Order::Begin { shares });
            let rows = paid.iter().zip(self.capacities);
            point = self.answer(rows.map(|(paid, capacity)| paid / capacity).collect());
        }
        let mut stalled = f64::INFINITY;
        while !self.is_over() {
            let Some(from) = point else { break };
            point = self.step(&from);
            if point.is_some() || self.is_over() {
                continue;
            }
            // From the second stall at the same bound on what is left is rounding.
            if self.bound >= stalled {
                break;
            }
            stalled = self.bound;
            self.quasi.forget();
            point = self.answer(from.prices);
        }
        self.finish()
    }

    /// Whether nothing more is to be found, or may be asked for.
    fn is_over(&self) -> bool {
        self.is_certified() || self.iterations >= self.options.iterations
    }

    fn is_certified(&self) -> bool {
        let scale = self.value.abs().max(self.bound.abs()).max(1e-300);
        scale.is_finite() && self.bound - self.value <= self.options.tolerance * scale
    }

    /// Equal shares of rows.
    fn weigh(&mut self) -> Result<Vec<f64>, Error> {
        let loads = self.tell(&Order::Weigh);
        self.floors.clone_from(&self.sums.floors);
        for (r, (&needed, &capacity)) in self.floors.iter().zip(self.capacities).enumerate() {
            if needed > capacity * (1.0 + ROUNDING) {
                return Err(Error::Infeasible {
                    place: Place::Row(format!("rows[{r}]")),
                    needed,
                    capacity,
                });
            }
        }
        let share = |(capacity, load): (&f64, &f64)| match *load > 0.0 {
            true => capacity / load,
            false => f64::INFINITY,
        };
        Ok(self.capacities.iter().zip(&loads).map(share).collect())
    }

    /// Has hosts carry out an order, and gives the loads that they tell.
    fn tell(&mut self, order: &Order) -> Vec<f64> {
        self.iterations += 1;
        self.sums
            .clone_from(self.hosts.carry_out(order, self.workers));
        self.sums.loads.clone()
    }

    /// What flows answer to prices, and what that is worth if it may be the end; nothing if some flow has no price worth
    /// the name.
    fn answer(&mut self, prices: Vec<f64>) -> Option<Point> {
        let loads = self.tell(&Order::Answer {
            prices: prices.clone(),
            choose: false,
        });
        self.asked = prices.clone();
        let rows = loads.iter().zip(&self.sums.weights).zip(self.capacities);
        let sane = |((load, weight), capacity): ((&f64, &f64), &f64)| {
            *load < FAR * capacity && weight.is_finite()
        };
        if !self.sums.worth.is_finite() || !rows.into_iter().all(sane) {
            return None;
        }
        let paid = dot(&prices, self.capacities);
        let dual = self.sums.worth + paid;
        let rounding = if self.sums.worth.abs() > LOST * dual.abs() {
            1e-14 * self.sums.worth.abs()
        } else {
            0.0
        };
        if dual + rounding < self.bound {
            self.bound = dual + rounding;
            self.prices.clone_from(&prices);
        }
        let least = |(price, top): (&f64, &f64)| {
            if price * top > ESSENTIAL {
                KEPT * price
            } else {
                0.0
            }
        };
        let point = Point {
            dual,
            gradient: difference(self.capacities, &loads),
            scales: self.scales(),
            least: prices.iter().zip(&self.sums.tops).map(least).collect(),
            prices,
        };
        let rows = point.prices.iter().zip(&point.gradient);
        let slack: f64 = rows.map(|(price, left)| price * left.abs()).sum();
        if slack <= 2.0 * self.options.tolerance * dual.abs()
            || self.iterations.is_multiple_of(EACH)
            || self.is_over()
        {
            let repair = repair(&self.rows());
            let order = Order::Value { repair };
            let value = self.hosts.carry_out(&order, self.workers).worth;
            if value > self.value {
                self.value = value;
                self.best.clone_from(&self.asked);
            }
        }
        Some(point)
    }

    /// Estimates of the dual function's second derivatives that steps of all prices at once may rely on: of a
    /// row whose flows pay others too, more than the derivative by its own price.
    fn scales(&self) -> Vec<f64> {
        let elasticity = self.sums.response / dot(&self.asked, &self.sums.loads);
        let scale = |r: usize| {
            let shared = self.sums.loads[r] / self.asked[r];
            let own = SHARED * self.sums.weights[r];
            elasticity * if shared < own { shared } else { own }
        };
        (0..self.asked.len()).map(scale).collect()
    }

    /// A step along a quasi-Newton direction, shortened until it brings enough; nothing if none does.
    fn step(&mut self, from: &Point) -> Option<Point> {
        let free = free(from);
        let mut direction = self.quasi.direction(&from.gradient, &from.scales, &free);
        if dot(&direction, &from.gradient) <= 0.0 {
            self.quasi.forget();
            direction = self.quasi.direction(&from.gradient, &from.scales, &free);
        }
        if direction.iter().all(|&value| value == 0.0) {
            return None;
        }
        let mut part = 1.0;
        while part > SHORTEST {
            let rows = from.prices.iter().zip(&direction).zip(&from.least);
            let prices = rows.map(|((price, down), least)| (price - part * down).max(*least));
            let point = self.answer(prices.collect());
            if self.is_over() {
                return None;
            }
            let Some(point) = point else {
                part *= SHORTER.1;
                continue;
            };
            let step = difference(&point.prices, &from.prices);
            let slope = dot(&step, &from.gradient);
            if point.dual <= from.dual + ARMIJO * slope && slope < 0.0 {
                let change = difference(&point.gradient, &from.gradient);
                self.quasi.remember(step, change);
                return Some(point);
            }
            part *= SHORTER.0;
        }
        None
    }

    fn rows(&self) -> RowState<'_> {
        RowState {
            capacities: self.capacities,
            floors: &self.floors,
            loads: &self.sums.loads,
            weights: &self.sums.weights,
            tops: &self.sums.tops,
        }
    }

    /// Gives hosts the best rates.
    fn finish(mut self) -> Result<Found, Error> {
        if self.best.is_empty() {
            self.best.clone_from(&self.prices);
        }
        if self.best.is_empty() {
            return Err(Error::Range);
        }
        let iterations = self.iterations;
        if self.asked != self.best {
            self.tell(&Order::Answer {
                prices: self.best.clone(),
                choose: false,
            });
        }
        let repair = repair(&self.rows());
        self.tell(&Order::Keep { repair });
        // Repairs by prices rely on slopes, which may be beyond numbers.
        let mut rows = self.sums.loads.iter().zip(self.capacities);
        if rows.any(|(load, capacity)| *load > capacity * (1.0 + ROUNDING)) {
            let repair = uniform_repair(&self.rows());
            self.tell(&Order::Keep { repair });
        }
        Ok(Found {
            value: self.sums.worth,
            bound: self.bound,
            prices: self.prices,
            loads: self.sums.loads,
            iterations,
        })
    }
}

/// Which prices may move: not those at 0 of rows with capacity left, nor those of rows without flows.
fn free(from: &Point) -> Vec<bool> {
    // Each price in what it stands for: utility for the part of the row that answers to it.
    let size = |r: usize| from.prices[r] * libm::sqrt(from.scales[r]);
    let largest = (0..from.scales.len()).map(size).fold(0.0, f64::max);
    let free =
        |r: usize| from.scales[r] > 0.0 && (from.gradient[r] < 0.0 || size(r) > NOTHING * largest);
    (0..from.scales.len()).map(free).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
