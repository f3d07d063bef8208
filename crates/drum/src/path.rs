//! Prices of rows where they differ by many orders of magnitude: along the path on which what is left of each row
//! times its price is `mu`, while `mu` falls.
//!
//! Rates answer to prices, so there are no others than these to be found. Use of rows is about a power of prices, so
//! Newton's method works on the logarithms of both: its steps have the right size whatever the size of a price, which
//! those of a method with one measure for all haven't.

use alloc::vec::Vec;

use crate::linear::solve_symmetric;
use crate::newton::Model;
use crate::pass::Pass;

/// What is left of `mu` after a stage.
const FALL: f64 = 1e-3;
/// Stages, and Newton's steps in one.
const STAGES: usize = 170;
const STEPS: usize = 40;
/// How often a step is made a quarter as long, and the part of the greatest excess that a whole one must take away.
const SHORTENINGS: i32 = 24;
const LEAST_PART: f64 = 1e-3;
/// Logarithm of use and what is left over capacity that a stage may end with, and the last stage.
const CENTRED: f64 = 0.1;
const EXACT: f64 = 1e-12;
/// Greatest change of a price's logarithm in a step.
const LONGEST: f64 = 4.0;
/// Factor by which prices are changed to begin with, and how often at most.
const FIRST: f64 = 1e3;
const TRIES: usize = 100;
/// Part of a row that is used at first, at most.
const FILLED: f64 = 0.6;
/// Part of a row that is rounding.
const NOISE: f64 = 1e-15;
/// Part of a row that may be left of those that have a price.
const FULL: f64 = 1e-10;
/// Part that is left in the end of a row that has none.
const OPEN: f64 = 1e-4;
/// Least `mu`.
const LEAST: f64 = 1e-290;

/// Rates that answer to prices of rows, each of which has a capacity of 1.
pub(crate) trait Demand {
    /// Use of each row, and what rates keep of their value after paying.
    fn ask(&mut self, prices: &[f64]) -> (Vec<f64>, f64);

    /// Whether rates that don't answer to a price may do so when it is far lower.
    fn wakes(&self) -> bool {
        false
    }

    /// Relative changes of prices that change use as wanted where was asked last, `resist` taking part of the change of its
    /// own price; nothing if there are none.
    fn changes(&self, prices: &[f64], resist: &[f64], wanted: Vec<f64>) -> Option<Vec<f64>>;
}

/// The applications of a host.
pub(crate) struct Few<'a, const R: usize, M> {
    model: &'a M,
    rows: usize,
    pass: Pass<R>,
}

impl<'a, const R: usize, M: Model<R>> Few<'a, R, M> {
    pub(crate) fn new(model: &'a M, rows: usize) -> Self {
        Self {
            model,
            rows,
            pass: Pass::ZERO,
        }
    }
}

impl<const R: usize, M: Model<R>> Demand for Few<'_, R, M> {
    fn ask(&mut self, prices: &[f64]) -> (Vec<f64>, f64) {
        let all = core::array::from_fn(|r| prices.get(r).copied().unwrap_or(0.0));
        self.pass = self.model.pass(all);
        let usage = self.pass.usage[..self.rows].to_vec();
        let paid: f64 = usage.iter().zip(prices).map(|(used, p)| used * p).sum();
        (usage, self.pass.value() - paid)
    }

    fn wakes(&self) -> bool {
        self.model.wakes()
    }

    fn changes(&self, prices: &[f64], resist: &[f64], wanted: Vec<f64>) -> Option<Vec<f64>> {
        let mut matrix = [[0.0; R]; R];
        let mut right = [0.0; R];
        for r in 0..R {
            if r >= self.rows {
                matrix[r][r] = 1.0;
                continue;
            }
            right[r] = wanted[r];
            for (q, price) in prices.iter().enumerate() {
                matrix[r][q] = self.pass.response[r][q] * price;
            }
            matrix[r][r] += resist[r];
        }
        solve_symmetric(matrix, right).map(|found| found[..self.rows].to_vec())
    }
}

/// The prices at the end, 0 for rows without one, found from some of about the right size; `base` is use by least rates.
pub(crate) fn prices(
    demand: &mut impl Demand,
    base: &[f64],
    size: f64,
    tolerance: f64,
) -> Option<(Vec<f64>, usize)> {
    let room = base.iter().map(|base| (1.0 - base).max(NOISE)).collect();
    let mut path = Path {
        demand,
        base,
        room,
        prices: Vec::new(),
        usage: alloc::vec![0.0; base.len()],
        mu: 0.0,
        passes: 0,
    };
    path.begin(size);
    let rows = base.len() as f64;
    let mut pace = alloc::vec![0.0; base.len()];
    let mut ended = false;
    for _ in 0..STAGES {
        let (before, used) = (path.prices.clone(), path.usage.clone());
        path.mu *= FALL;
        for (price, pace) in path.prices.iter_mut().zip(&pace) {
            *price *= libm::pow(FALL, *pace);
        }
        let bound = path.centre(CENTRED)?;
        for (pace, (price, before)) in pace.iter_mut().zip(path.prices.iter().zip(&before)) {
            *pace = (libm::log(price / before) / libm::log(FALL)).clamp(0.0, 1.0);
        }
        let rests = |r: usize| (path.usage[r] - used[r]).abs() <= FULL * path.room[r];
        if path.off() > CENTRED {
            path.prices = before;
            break;
        }
        let wakes = path.demand.wakes();
        let settled = (0..base.len()).all(|r| path.is_full(r) || (rests(r) && !wakes));
        let narrow = rows * path.mu <= 0.1 * tolerance * bound.abs();
        ended = (narrow && settled) || path.mu < LEAST;
        if ended {
            path.centre(EXACT);
            break;
        }
    }
    let has_price = |r: usize| !ended || path.mu <= OPEN * path.room[r] * path.prices[r];
    let price = |r: usize| if has_price(r) { path.prices[r] } else { 0.0 };
    Some(((0..base.len()).map(price).collect(), path.passes))
}

struct Path<'a, D> {
    demand: &'a mut D,
    base: &'a [f64],
    /// What least rates leave.
    room: Vec<f64>,
    prices: Vec<f64>,
    /// Use of rows when it was asked for last.
    usage: Vec<f64>,
    mu: f64,
    passes: usize,
}

impl<D: Demand> Path<'_, D> {
    /// What rates keep.
    fn ask(&mut self) -> f64 {
        self.passes += 1;
        let (usage, kept) = self.demand.ask(&self.prices);
        self.usage = usage;
        kept
    }

    fn is_full(&self, r: usize) -> bool {
        self.mu <= FULL * self.room[r] * self.prices[r]
    }

    /// One price for all rows, about the least at which they have something left.
    fn begin(&mut self, size: f64) {
        let mut price = size.clamp(1e-250, 1e250);
        let fits = self.fits(price);
        for _ in 0..TRIES {
            let next = if fits { price / FIRST } else { price * FIRST };
            if !(LEAST..=1.0 / LEAST).contains(&next) {
                break;
            }
            let fitted = self.fits(next);
            if fitted || !fits {
                price = next;
            }
            if fitted != fits {
                break;
            }
        }
        self.prices.fill(price);
        self.mu = price * (1.0 - FILLED);
    }

    /// Whether all rows have something left at a price.
    fn fits(&mut self, price: f64) -> bool {
        self.prices = alloc::vec![price; self.base.len()];
        self.ask();
        let rows = 0..self.base.len();
        let mut filled = rows.map(|r| (self.usage[r] - self.base[r]) / self.room[r]);
        filled.all(|part| part <= FILLED)
    }

    /// Newton's steps at one `mu`, and what prices bound; nothing where numbers end.
    fn centre(&mut self, enough: f64) -> Option<f64> {
        let mut kept = self.ask();
        for _ in 0..STEPS {
            if self.off() <= enough {
                break;
            }
            match self.step() {
                Some(next) => kept = next,
                None => {
                    // What is left is rounding.
                    kept = self.ask();
                    break;
                }
            }
        }
        let bound = kept + self.prices.iter().sum::<f64>();
        bound.is_finite().then_some(bound)
    }

    /// Use of a row above that by least rates and what is left of it, and by how much that is above what there is, as a
    /// logarithm.
    fn excess(&self, r: usize) -> (f64, f64) {
        let used = self.usage[r] - self.base[r] + self.mu / self.prices[r];
        let used = used.clamp(1e-300, 1e300);
        let none = (used - self.room[r]).abs() <= NOISE * (1.0 + self.base[r]);
        (
            used,
            if none {
                0.0
            } else {
                libm::log(used / self.room[r])
            },
        )
    }

    fn off(&self) -> f64 {
        let rows = 0..self.prices.len();
        rows.map(|r| self.excess(r).1.abs()).fold(0.0, f64::max)
    }

    /// A step after which every row is closer to what it has, and what rates keep then; nothing if there is none. Near a
    /// rate's bound use is linear in prices rather than a power of them.
    fn step(&mut self) -> Option<f64> {
        let (from, off) = (self.prices.clone(), self.off());
        let rows = || 0..from.len();
        let resist: Vec<f64> = rows().map(|r| self.mu / from[r]).collect();
        let power = |r: usize| self.excess(r).0 * self.excess(r).1;
        let linear = |r: usize| match self.excess(r) {
            (_, 0.0) => 0.0,
            (used, _) => used - self.room[r],
        };
        let ways = [rows().map(power).collect(), rows().map(linear).collect()];
        let ways = ways.map(|wanted| self.demand.changes(&from, &resist, wanted));
        // Rows that are used alike have large changes that cancel, so that all have to be shortened alike; those of a row that
        // hardly answers say nothing of others.
        let alike = |changes: &Vec<f64>| {
            let longest = changes
                .iter()
                .fold(0.0_f64, |most, change| most.max(change.abs()));
            let part = (LONGEST / longest).min(1.0);
            changes
                .iter()
                .map(|change| part * change)
                .collect::<Vec<f64>>()
        };
        let apart = |changes: &Vec<f64>| {
            let limited = changes.iter().map(|change| change.clamp(-LONGEST, LONGEST));
            limited.collect::<Vec<f64>>()
        };
        let [power, linear] = ways;
        let ways = [
            power.as_ref().map(alike),
            linear.as_ref().map(alike),
            power.as_ref().map(apart),
        ];
        for shortenings in 0..SHORTENINGS {
            let length = libm::exp2(-2.0 * f64::from(shortenings));
            for changes in ways.iter().flatten() {
                for (price, (from, change)) in self.prices.iter_mut().zip(from.iter().zip(changes))
                {
                    *price = from * libm::exp(length * change);
                }
                let kept = self.ask();
                if self.off() < (1.0 - LEAST_PART * length) * off {
                    return Some(kept);
                }
            }
        }
        self.prices = from;
        None
    }
}
