//! The prices of a fixed selection: projected Newton on the dual function.
//!
//! `D(prices) = sum of worth(prices) + sum over applications of max phi(x) - p x` is convex, and each of
//! its values is a bound. Where rows bind, usage is close to a power of the prices, so Newton's step on that
//! power comes close in a few passes from far away; Newton's step on `D` itself with a line search
//! takes over when that doesn't lower `D`.

use crate::linear::solve_symmetric;
use crate::math::clamp;
use crate::noting::Noting;
use crate::pass::Pass;
use crate::problem::Problem;
use crate::supply::Cell;

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

/// What rows supply, and what least rates use of them.
struct Rows<const R: usize> {
    cells: [Cell; R],
    base: [f64; R],
}

impl<const R: usize> Rows<R> {
    fn new(problem: &Problem, cells: [Cell; R]) -> Self {
        let base = problem.least_usage();
        Self { cells, base }
    }

    /// Prices at which applications answer `pass`.
    fn at(&self, prices: [f64; R], pass: Pass<R>, passes: usize) -> Minimum<R> {
        let mut bound = pass.value();
        for r in 0..R {
            bound += self.cells[r].worth(prices[r]) - prices[r] * pass.usage[r];
        }
        Minimum {
            prices,
            bound: if bound.is_nan() { f64::INFINITY } else { bound },
            pass,
            off: 0.0,
            passes,
        }
    }

    /// `dD/dprice`: what is left of a row.
    fn left(&self, at: &Minimum<R>, r: usize) -> f64 {
        self.cells[r].capacity - at.pass.usage[r]
    }

    /// Whether a row's price may move from where it is.
    fn is_free(&self, at: &Minimum<R>, r: usize) -> bool {
        let cell = &self.cells[r];
        let left = self.left(at, r);
        let rests =
            (at.prices[r] <= cell.low && left >= 0.0) || (at.prices[r] >= cell.high && left <= 0.0);
        !rests && cell.low < cell.high
    }

    /// Whether a row that is used beyond its capacity has no price.
    fn is_starved(&self, at: &Minimum<R>) -> bool {
        (0..R).any(|r| self.is_free(at, r) && at.prices[r] == 0.0)
    }

    /// About what the value of the answers, made feasible, is short of the bound.
    fn gap(&self, at: &Minimum<R>) -> f64 {
        if self.is_starved(at) {
            return f64::INFINITY;
        }
        let mut gap = 0.0;
        let mut spent = 0.0;
        let mut over: f64 = 0.0;
        for r in (0..R).filter(|&r| self.cells[r].low < self.cells[r].high) {
            let left = self.left(at, r);
            if self.is_free(at, r) || self.cells[r].low == 0.0 {
                gap += (at.prices[r] * left).abs();
            }
            if self.cells[r].high == f64::INFINITY {
                over = over.max(-left / self.cells[r].capacity);
            }
            spent += at.prices[r] * at.pass.usage[r];
        }
        gap + spent * over
    }

    /// Whether nothing is left to do.
    fn is_enough(&self, at: &Minimum<R>, limits: Limits, exact: bool) -> bool {
        let off = self.off(at);
        let closed = self.gap(at) <= limits.tolerance * at.bound.abs().max(1e-300);
        off < limits.near || closed && !(exact && off > EXACT)
    }

    /// How far rows whose price is free are from being used up, at most.
    fn off(&self, at: &Minimum<R>) -> f64 {
        let free = (0..R).filter(|r| self.is_free(at, *r));
        free.map(|r| (self.left(at, r) / self.cells[r].capacity).abs())
            .fold(0.0, f64::max)
    }

    /// Newton's step for `usage^-n = capacity^-n`, with the power `n` of each row's use that rises straight with its
    /// prices: if applications use rows in the same proportions, the step is exact. With `free`, rows that want next to no price get none, and nothing is answered
    /// if there is no such row.
    fn powered(&self, at: &Minimum<R>, free: bool) -> Option<[f64; R]> {
        let moves: [bool; R] = core::array::from_fn(|r| self.is_free(at, r));
        let mut matrix = [[0.0; R]; R];
        let mut right = [0.0; R];
        for r in 0..R {
            matrix[r][r] = 1.0;
            if !moves[r] {
                continue;
            }
            // What is above the least rates is close to a power of the prices.
            let usage = at.pass.usage[r] - self.base[r];
            let capacity = self.cells[r].capacity - self.base[r];
            if at.prices[r] <= 0.0 || usage <= 0.0 || capacity <= 0.0 {
                return None;
            }
            let mut elasticity = 0.0;
            for q in (0..R).filter(|&q| moves[q]) {
                matrix[r][q] = at.pass.response[r][q];
                elasticity += at.pass.response[r][q] * at.prices[q] / usage;
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
            moves[r] && self.cells[r].low == 0.0 && step[r] < (TO_NOTHING - 1.0) * at.prices[r]
        };
        while free && let Some(r) = (0..R).find(|&r| !dropped[r] && unwanted(&step, r)) {
            // The others' prices are to do without it.
            dropped[r] = true;
            matrix[r] = core::array::from_fn(|q| if q == r { 1.0 } else { 0.0 });
            right[r] = -at.prices[r];
            step = solve_symmetric(matrix, right)?;
        }
        let price = |r: usize| {
            if dropped[r] {
                0.0
            } else if moves[r] {
                let factor = clamp(1.0 + step[r] / at.prices[r], 1.0 / LONGEST, LONGEST);
                clamp(at.prices[r] * factor, self.cells[r].low, self.cells[r].high)
            } else {
                at.prices[r]
            }
        };
        (!free || dropped.contains(&true)).then(|| core::array::from_fn(price))
    }

    /// Newton's step on `D`, shortened by `length`.
    fn projected(&self, at: &Minimum<R>, length: f64) -> [f64; R] {
        let mut matrix = [[0.0; R]; R];
        let mut right = [0.0; R];
        let largest = at.prices.iter().copied().fold(0.0, f64::max);
        for r in 0..R {
            matrix[r][r] = 1.0;
            if !self.is_free(at, r) {
                continue;
            }
            right[r] = -self.left(at, r);
            for q in (0..R).filter(|&q| self.is_free(at, q)) {
                matrix[r][q] = at.pass.response[r][q];
            }
            // Where all answers rest at bounds the price moves by about its size.
            let scale = at.prices[r].max(1e-3 * largest).max(1e-300);
            matrix[r][r] += 1e-14 * matrix[r][r] + 1e-3 * right[r].abs() / scale;
        }
        let step = solve_symmetric(matrix, right).unwrap_or(right);
        let mut prices = at.prices;
        for r in (0..R).filter(|&r| self.is_free(at, r)) {
            let reach = if at.prices[r] > 0.0 {
                5.0 * at.prices[r] + 1e-3 * largest
            } else {
                f64::INFINITY
            };
            let wanted = (at.prices[r] + length * step[r]).min(reach);
            prices[r] = clamp(wanted, self.cells[r].low, self.cells[r].high);
        }
        prices
    }

    /// Size of the terms that the bound is the sum of, which rounding is relative to.
    fn size(&self, at: &Minimum<R>) -> f64 {
        let row = |r: usize| at.prices[r] * (self.cells[r].capacity + at.pass.usage[r]);
        at.pass.throughput.abs() + at.pass.latency.abs() + (0..R).map(row).sum::<f64>()
    }

    /// Whether one point is better than another, to rounding, and no price was dropped that is needed:
    /// neither one of this step, nor all of them.
    fn is_better(&self, to: &Minimum<R>, at: &Minimum<R>) -> bool {
        let gone = |r: usize| to.prices[r] <= 1e-12 * at.prices[r];
        let all = (0..R).all(gone);
        let dropped = |r: usize| (at.prices[r] > 0.0 || all) && gone(r) && self.is_free(to, r);
        let noise = 4e-15 * self.size(at);
        let lower = to.bound < at.bound - noise
            || (to.bound <= at.bound + noise && self.gap(to) < self.gap(at));
        lower && !(0..R).any(dropped)
    }
}

/// A search for prices.
struct Search<'a, 'b, const R: usize> {
    noting: &'a Noting<'b, R>,
    rows: Rows<R>,
    passes: usize,
}

impl<const R: usize> Search<'_, '_, R> {
    fn at(&mut self, prices: [f64; R]) -> Minimum<R> {
        self.passes += 1;
        let pass = self.noting.pass(prices);
        self.rows.at(prices, pass, self.passes)
    }

    /// The next prices, if any are better.
    fn next(&mut self, at: &Minimum<R>, limit: usize) -> Option<Minimum<R>> {
        for free in [true, false] {
            let to = self.rows.powered(at, free).map(|prices| self.at(prices));
            if let Some(to) = to.filter(|to| self.rows.is_better(to, at)) {
                return Some(to);
            }
        }
        let mut length = 1.0;
        while self.passes < limit && length > 1e-7 {
            let to = self.at(self.rows.projected(at, length));
            if self.rows.is_better(&to, at) {
                return Some(to);
            }
            length *= 0.25;
        }
        None
    }
}

/// About the prices at which rows with capacities are used up, from `prices` at which applications answer `pass`: by a
/// step on a power of usage, unless a row gets its first price or loses it.
pub(crate) fn foreseen<const R: usize>(
    problem: &Problem,
    prices: [f64; R],
    pass: Pass<R>,
) -> [f64; R] {
    let (straight, _) = straight(problem, prices, pass);
    let rows = Rows::new(problem, [Cell::HARD; R]);
    let at = rows.at(prices, pass, 0);
    let same = (0..R).all(|r| (straight[r] > 0.0) == (prices[r] > 0.0));
    let powered = same.then(|| rows.powered(&at, false)).flatten();
    powered.unwrap_or(straight)
}

/// Steps straight in prices, each of which is damped: the next ones make up for that, and for rows that get a price.
const STEPS: usize = 3;

/// About the same prices if responses didn't change, and the pass there but for its responses.
pub(crate) fn straight<const R: usize>(
    problem: &Problem,
    prices: [f64; R],
    pass: Pass<R>,
) -> ([f64; R], Pass<R>) {
    let rows = Rows::new(problem, [Cell::HARD; R]);
    let mut at = rows.at(prices, pass, 0);
    for _ in 0..STEPS {
        at.prices = rows.projected(&at, 1.0);
        for r in 0..R {
            let change = |q: usize| pass.response[r][q] * (at.prices[q] - prices[q]);
            at.pass.usage[r] = pass.usage[r] - (0..R).map(change).sum::<f64>();
        }
    }
    (at.prices, at.pass)
}

/// Finds the prices in `cells` at which the dual function is least.
pub(crate) fn minimise<const R: usize>(
    noting: &Noting<'_, R>,
    cells: [Cell; R],
    start: Option<[f64; R]>,
    limits: Limits,
) -> Minimum<R> {
    let rows = Rows::new(noting.problem, cells);
    let mut search = Search {
        noting,
        rows,
        passes: 0,
    };
    let within =
        |prices: [f64; R]| core::array::from_fn(|r| clamp(prices[r], cells[r].low, cells[r].high));
    let warm = start.map(|prices| search.at(within(prices)));
    let mut at = match warm {
        Some(at) if at.bound.is_finite() && !search.rows.is_starved(&at) => at,
        _ => search.at(within(noting.problem.typical_prices())),
    };
    let exact = limits.tolerance <= EXACT && limits.near == 0.0;
    while search.passes < limits.passes && !search.rows.is_enough(&at, limits, exact) {
        match search.next(&at, limits.passes) {
            Some(next) => at = next,
            None => break,
        }
    }
    at.passes = search.passes;
    at.off = if exact { search.rows.off(&at) } else { 0.0 };
    at
}
