//! The prices of a fixed selection: projected Newton on the dual function.
//!
//! `D(prices) = sum of prices + sum over applications of max phi(x) - p x`, capacities being 1, is convex, and each of
//! its values is a bound. Where rows bind, usage is close to a power of the prices, so Newton's step on that
//! power comes close in a few passes from far away; Newton's step on `D` itself with a line search
//! takes over when that doesn't lower `D`.

use crate::last_iterate::LastIterate;
use crate::linear::solve_symmetric;
use crate::math::clamp;
use crate::pass::Pass;
use crate::problem::Problem;

/// Where a search for prices ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minimum<const R: usize> {
    pub(crate) prices: [f64; R],
    pub(crate) bound: f64,
    pub(crate) pass: Pass<R>,
    /// How far rows that bind are from being used up, at most, over what they have.
    pub(crate) off: f64,
    pub(crate) passes: usize,
}

/// Part of a row that rates may leave over. Where one term outweighs the others a value says little of their rates.
pub(crate) const EXACT: f64 = 1e-9;

/// What the search may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Relative gap at which it stops.
    pub(crate) tolerance: f64,
    /// Most passes.
    pub(crate) passes: usize,
    /// How far rows may be from being used up where it stops, too, for a last step that is straight in prices.
    pub(crate) near: f64,
}

/// Largest factor of a price's change in one step.
const LONGEST: f64 = 50.0;
/// A row whose use answers less to its prices than this, part by part, isn't taken for a power of them.
const STIFF: f64 = 1e-3;
/// A row whose price wants to fall by more than this factor is tried without one.
const TO_NOTHING: f64 = 0.2;

impl<const R: usize> Minimum<R> {
    /// Prices at which applications answer `pass`.
    fn new(prices: [f64; R], pass: Pass<R>, passes: usize) -> Self {
        let mut bound = pass.value();
        for r in 0..R {
            bound += prices[r] - prices[r] * pass.usage[r];
        }
        Self {
            prices,
            bound: if bound.is_nan() { f64::INFINITY } else { bound },
            pass,
            off: 0.0,
            passes,
        }
    }

    /// `dD/dprice`: what is left of a row.
    fn left(&self, r: usize) -> f64 {
        1.0 - self.pass.usage[r]
    }

    /// Whether a row's price may move from where it is.
    fn is_free(&self, r: usize) -> bool {
        self.prices[r] > 0.0 || self.left(r) < 0.0
    }

    /// Whether a row that is used beyond its capacity has no price.
    fn is_starved(&self) -> bool {
        (0..R).any(|r| self.is_free(r) && self.prices[r] == 0.0)
    }

    /// About what the value of the answers, made feasible, is short of the bound.
    fn gap(&self) -> f64 {
        if self.is_starved() {
            return f64::INFINITY;
        }
        let (mut gap, mut spent, mut over) = (0.0, 0.0, 0.0_f64);
        for r in 0..R {
            let left = self.left(r);
            gap += (self.prices[r] * left).abs();
            over = over.max(-left);
            spent += self.prices[r] * self.pass.usage[r];
        }
        gap + spent * over
    }

    /// Whether nothing is left to do.
    fn is_enough(&self, limits: Limits, exact: bool) -> bool {
        let off = self.off();
        let closed = self.gap() <= limits.tolerance * self.bound.abs().max(1e-300);
        off < limits.near || closed && !(exact && off > EXACT)
    }

    /// How far rows whose price is free are from being used up, at most.
    pub(crate) fn off(&self) -> f64 {
        let free = (0..R).filter(|r| self.is_free(*r));
        free.map(|r| self.left(r).abs()).fold(0.0, f64::max)
    }

    /// Newton's step for `usage^-n = 1`, with the power `n` of each row's use that rises straight with its prices: if
    /// applications use rows in the same proportions, the step is exact. Least rates use `base`. With `free`, rows that want
    /// next to no price get none, and nothing is answered if there is no such row.
    fn powered(&self, base: [f64; R], free: bool) -> Option<[f64; R]> {
        let mut matrix = [[0.0; R]; R];
        let mut right = [0.0; R];
        for r in 0..R {
            matrix[r][r] = 1.0;
            if !self.is_free(r) {
                continue;
            }
            // What is above the least rates is close to a power of the prices.
            let usage = self.pass.usage[r] - base[r];
            let capacity = 1.0 - base[r];
            if self.prices[r] <= 0.0 || usage <= 0.0 || capacity <= 0.0 {
                return None;
            }
            let mut elasticity = 0.0;
            for q in (0..R).filter(|q| self.is_free(*q)) {
                matrix[r][q] = self.pass.response[r][q];
                elasticity += self.pass.response[r][q] * self.prices[q] / usage;
            }
            if elasticity.is_nan() || elasticity < STIFF {
                return None;
            }
            // Rows that are used in the same proportions by all can't be told apart.
            matrix[r][r] *= 1.0 + 1e-12;
            right[r] = elasticity * usage * (libm::pow(usage / capacity, 1.0 / elasticity) - 1.0);
        }
        let mut step = solve_symmetric(matrix, right)?;
        let mut dropped = [false; R];
        let unwanted = |step: &[f64; R], r: usize| {
            self.is_free(r) && step[r] < (TO_NOTHING - 1.0) * self.prices[r]
        };
        while free && let Some(r) = (0..R).find(|&r| !dropped[r] && unwanted(&step, r)) {
            // The others' prices are to do without it.
            dropped[r] = true;
            matrix[r] = core::array::from_fn(|q| if q == r { 1.0 } else { 0.0 });
            right[r] = -self.prices[r];
            step = solve_symmetric(matrix, right)?;
        }
        let price = |r: usize| {
            if dropped[r] {
                0.0
            } else if self.is_free(r) {
                let factor = 1.0 + step[r] / self.prices[r];
                self.prices[r] * clamp(factor, 1.0 / LONGEST, LONGEST)
            } else {
                self.prices[r]
            }
        };
        (!free || dropped.contains(&true)).then(|| core::array::from_fn(price))
    }

    /// Newton's step on `D`, shortened by `length`.
    fn projected(&self, length: f64) -> [f64; R] {
        let mut matrix = [[0.0; R]; R];
        let mut right = [0.0; R];
        let largest = self.prices.iter().copied().fold(0.0, f64::max);
        for r in 0..R {
            matrix[r][r] = 1.0;
            if !self.is_free(r) {
                continue;
            }
            right[r] = -self.left(r);
            for q in (0..R).filter(|q| self.is_free(*q)) {
                matrix[r][q] = self.pass.response[r][q];
            }
            // Where all answers rest at bounds the price moves by about its size.
            let scale = self.prices[r].max(1e-3 * largest).max(1e-300);
            matrix[r][r] += 1e-14 * matrix[r][r] + 1e-3 * right[r].abs() / scale;
        }
        let step = solve_symmetric(matrix, right).unwrap_or(right);
        let mut prices = self.prices;
        for r in (0..R).filter(|r| self.is_free(*r)) {
            let reach = match prices[r] > 0.0 {
                true => 5.0 * prices[r] + 1e-3 * largest,
                false => f64::INFINITY,
            };
            prices[r] = (prices[r] + length * step[r]).min(reach).max(0.0);
        }
        prices
    }

    /// Size of the terms that the bound is the sum of, which rounding is relative to.
    fn size(&self) -> f64 {
        let row = |r: usize| self.prices[r] * (1.0 + self.pass.usage[r]);
        self.pass.throughput.abs() + self.pass.latency.abs() + (0..R).map(row).sum::<f64>()
    }

    /// Whether it is better than another one, to rounding, and no price was dropped that is needed: neither one of this
    /// step, nor all of them.
    fn is_better(&self, than: &Self) -> bool {
        let gone = |r: usize| self.prices[r] <= 1e-12 * than.prices[r];
        let all = (0..R).all(gone);
        let dropped = |r: usize| (than.prices[r] > 0.0 || all) && gone(r) && self.is_free(r);
        let noise = 4e-15 * than.size();
        let lower = self.bound < than.bound - noise
            || (self.bound <= than.bound + noise && self.gap() < than.gap());
        lower && !(0..R).any(dropped)
    }
}

/// A search for prices.
struct Search<'a, 'b, const R: usize> {
    last_iterate: &'a LastIterate<'b, R>,
    /// Use of rows by least rates.
    base: [f64; R],
    passes: usize,
}

impl<const R: usize> Search<'_, '_, R> {
    fn at(&mut self, prices: [f64; R]) -> Minimum<R> {
        self.passes += 1;
        Minimum::new(prices, self.last_iterate.pass(prices), self.passes)
    }

    /// The next prices, if any are better.
    fn next(&mut self, at: &Minimum<R>, limit: usize) -> Option<Minimum<R>> {
        for free in [true, false] {
            let to = at.powered(self.base, free).map(|prices| self.at(prices));
            if let Some(to) = to.filter(|to| to.is_better(at)) {
                return Some(to);
            }
        }
        let mut length = 1.0;
        while self.passes < limit && length > 1e-7 {
            let to = self.at(at.projected(length));
            if to.is_better(at) {
                return Some(to);
            }
            length *= 0.25;
        }
        None
    }
}

/// About the prices at which rows are used up, from `prices` at which applications answer `pass`: by a step on a power of
/// usage, unless a row gets its first price or loses it.
pub(crate) fn foreseen<const R: usize>(
    problem: &Problem,
    prices: [f64; R],
    pass: Pass<R>,
) -> [f64; R] {
    let (straight, _) = straight(prices, pass);
    let same = (0..R).all(|r| (straight[r] > 0.0) == (prices[r] > 0.0));
    let at = Minimum::new(prices, pass, 0);
    let powered = same.then(|| at.powered(problem.least_usage(), false));
    powered.flatten().unwrap_or(straight)
}

/// Steps straight in prices, each of which is damped: the next ones make up for that, and for rows that get a price.
const STEPS: usize = 3;

/// About the same prices if responses didn't change, and the pass there but for its responses.
pub(crate) fn straight<const R: usize>(prices: [f64; R], pass: Pass<R>) -> ([f64; R], Pass<R>) {
    let mut at = Minimum::new(prices, pass, 0);
    for _ in 0..STEPS {
        at.prices = at.projected(1.0);
        for r in 0..R {
            let change = |q: usize| pass.response[r][q] * (at.prices[q] - prices[q]);
            at.pass.usage[r] = pass.usage[r] - (0..R).map(change).sum::<f64>();
        }
    }
    (at.prices, at.pass)
}

/// Finds the prices at which the dual function is least.
pub(crate) fn minimise<const R: usize>(
    last_iterate: &LastIterate<'_, R>,
    start: Option<[f64; R]>,
    limits: Limits,
) -> Minimum<R> {
    let mut search = Search {
        last_iterate,
        base: last_iterate.problem.least_usage(),
        passes: 0,
    };
    let warm = start.map(|prices| search.at(prices.map(|price| price.max(0.0))));
    let mut at = match warm {
        Some(at) if at.bound.is_finite() && !at.is_starved() => at,
        _ => search.at(last_iterate.problem.typical_prices()),
    };
    let exact = limits.tolerance <= EXACT && limits.near == 0.0;
    while search.passes < limits.passes && !at.is_enough(limits, exact) {
        match search.next(&at, limits.passes) {
            Some(next) => at = next,
            None => break,
        }
    }
    at.passes = search.passes;
    at.off = if exact { at.off() } else { 0.0 };
    at
}
