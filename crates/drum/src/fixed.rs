//! The convex problem of a fixed selection, with its certificate.

use alloc::vec::Vec;

use crate::error::Error;
use crate::host::Host;
use crate::last_iterate::{LastIterate, Noted};
use crate::mode::Options;
use crate::newton::{EXACT, Limits, Minimum, minimise, straight};
use crate::pass::Rates;
use crate::problem::{Block, Problem};
use crate::solution::relative;
use crate::supply::Staircase;

/// Rates that keep rows and bounds, and what they prove, in a problem's units.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) objective: f64,
    pub(crate) bound: f64,
    /// By application of the problem, feasible.
    pub(crate) rates: Vec<f64>,
    /// By row of the host, for the row's unit.
    pub(crate) prices: Vec<f64>,
    pub(crate) passes: usize,
}

impl Answer {
    /// Relative gap between value and bound; infinite if one of them is no number.
    pub(crate) fn gap(&self) -> f64 {
        let gap = relative(self.bound - self.objective, self.objective, self.bound);
        if gap.is_finite() { gap } else { f64::INFINITY }
    }
}

/// The staircases of a host's rows.
pub(crate) fn staircases(host: &Host<'_>) -> Vec<Staircase> {
    host.rows
        .iter()
        .map(|row| Staircase::new(&row.supply))
        .collect()
}

/// An answer, and how far rows that bind are from being used up, at most, over what they have.
pub(crate) type Found = (Answer, f64);

/// Solves `problem`, whose rows have capacities, from `start` (prices for the rows' units) if there is one.
pub(crate) fn solve(
    problem: &Problem,
    start: Option<&[f64]>,
    options: &Options,
) -> Result<Found, Error> {
    match problem.rows.len() {
        1 => solve_rows::<1>(problem, start, options),
        2 => solve_rows::<2>(problem, start, options),
        3 => solve_rows::<3>(problem, start, options),
        _ => solve_rows::<{ Host::MOST_ROWS }>(problem, start, options),
    }
}

fn solve_rows<const R: usize>(
    problem: &Problem,
    start: Option<&[f64]>,
    options: &Options,
) -> Result<Found, Error> {
    let last_iterate = LastIterate::new(problem, Noted::new(problem, false));
    let once = search::<R>(&last_iterate, start, &options.briefly())?;
    Ok((once.answer, once.minimum.off))
}

/// Losses from this size on are too close to the end of the range: prices and slopes are beyond it.
pub(crate) const GREATEST: f64 = 1e280;

/// Relative gap above which rates are looked for in another way.
pub(crate) const OPEN: f64 = 1e-10;

/// Whether an answer is as good as was asked for: by its gap, and by how far its rows are from being used up.
pub(crate) fn is_enough(answer: &Answer, off: f64, options: &Options) -> bool {
    let exact = off <= EXACT || options.tolerance > EXACT;
    answer.gap() <= options.tolerance.max(OPEN) && exact
}

/// What one search finds, with a last step if that is as good as was asked for.
pub(crate) fn search<const R: usize>(
    last_iterate: &LastIterate<'_, R>,
    start: Option<&[f64]>,
    options: &Options,
) -> Result<Once<R>, Error> {
    let start: Option<[f64; R]> =
        start.map(|prices| core::array::from_fn(|r| prices.get(r).copied().unwrap_or(0.0)));
    let Ok(short) = once(last_iterate, start, options, true) else {
        return once(last_iterate, start, options, false);
    };
    let full = |(price, used): (&f64, &f64)| *price == 0.0 || (used - 1.0).abs() <= EXACT;
    let mut rows = short.minimum.prices.iter().zip(&short.usage);
    if short.answer.gap() <= options.tolerance && (options.tolerance > EXACT || rows.all(full)) {
        return Ok(short);
    }
    let mut long = once(last_iterate, Some(short.minimum.prices), options, false)?;
    long.answer.passes += short.answer.passes;
    Ok(long)
}

/// What one search finds.
pub(crate) struct Once<const R: usize> {
    pub(crate) answer: Answer,
    /// Where it ended.
    pub(crate) minimum: Minimum<R>,
    /// Use of each row by the rates, in the row's unit.
    pub(crate) usage: Vec<f64>,
    /// Sum of the sizes of the terms of what the rates are worth.
    pub(crate) size: f64,
}

/// How far rows may be from being used up where a search ends that takes a last step. Its third power, or where bounds may
/// stop rates on the way its square, is as small as gaps are.
const NEAR: f64 = 1e-5;
const NEAR_BOUNDED: f64 = 3e-7;
/// Part by which responses may change on the way of a last step.
const MOST: f64 = 0.1;

/// The answer at the prices that one search finds. With `last`, it ends where rows are used up but for little, and a last
/// step is taken that is straight in prices.
fn once<const R: usize>(
    last_iterate: &LastIterate<'_, R>,
    start: Option<[f64; R]>,
    options: &Options,
    last: bool,
) -> Result<Once<R>, Error> {
    let problem = last_iterate.problem;
    let limits = Limits {
        tolerance: options.tolerance,
        passes: options.iterations,
        near: match (last, problem.bounded) {
            (false, _) => 0.0,
            (true, false) => NEAR,
            (true, true) => NEAR_BOUNDED,
        },
    };
    let minimum = minimise(last_iterate, start, limits);
    if !minimum.bound.is_finite() {
        return Err(Error::Range);
    }
    // Far from rows that are used up nothing is straight in prices.
    let last = last && minimum.off() < limits.near;
    let at = last_iterate.at(minimum.prices);
    let (mut rates, step) = match last {
        true => last_step(problem, &minimum, &at),
        false => (at.rates.clone(), None),
    };
    let usage = problem.fit(&mut rates);
    let (prices, bound) = step.map_or((minimum.prices, minimum.bound), |step| {
        (step.prices, step.bound)
    });
    let (objective, size) = match step {
        Some(step) => {
            let worth = |r: usize| step.average[r] * (usage[r] - minimum.pass.usage[r]);
            let objective = minimum.pass.value() + (0..R).map(worth).sum::<f64>() - step.slack;
            (objective, at.size())
        }
        None => problem.value(&rates),
    };
    if !(objective > -GREATEST && objective.is_finite()) {
        return Err(Error::Range);
    }
    let mut rates = rates.into_flattened();
    rates.truncate(problem.applications);
    let answer = Answer {
        objective,
        bound: bound.max(objective),
        rates,
        prices: prices[..problem.own_rows].to_vec(),
        passes: minimum.passes,
    };
    Ok(Once {
        answer,
        minimum,
        usage,
        size,
    })
}

/// Where a last step ended.
#[derive(Clone, Copy)]
struct Step<const R: usize> {
    prices: [f64; R],
    /// What the prices prove.
    bound: f64,
    /// Prices on the way, on average.
    average: [f64; R],
    /// Most by which rates are worth less than their use at average prices.
    slack: f64,
}

/// Rates a step on from where a search for rows with capacities ended, by how prices and rates answer to each other
/// there; and where that ends if no bound stops a rate and responses change by a known part at most on the way.
fn last_step<const R: usize>(
    problem: &Problem,
    minimum: &Minimum<R>,
    at: &Rates,
) -> (Vec<Block>, Option<Step<R>>) {
    let Minimum { prices, pass, .. } = *minimum;
    let (next, ahead) = straight(prices, pass);
    let changes: [f64; R] = core::array::from_fn(|r| next[r] - prices[r]);
    let rates = problem.shifted(at, changes);
    let relative = |r: usize| match changes[r] {
        0.0 => 0.0,
        change => (change / prices[r]).abs(),
    };
    let part = problem.response_elasticity() * (0..R).map(relative).fold(0.0, f64::max);
    if problem.bounded || part > MOST {
        return (rates, None);
    }
    let mut bound = minimum.bound;
    let mut curve = 0.0;
    for r in 0..R {
        bound += changes[r] * (1.0 - pass.usage[r]);
        curve += changes[r] * (pass.usage[r] - ahead.usage[r]);
    }
    // More than both series have after their second terms: a third one is a sixth of this at most.
    let slack = curve * part;
    let step = Step {
        prices: next,
        bound: bound + 0.5 * curve + slack,
        average: core::array::from_fn(|r| 0.5 * (prices[r] + next[r])),
        slack,
    };
    (rates, Some(step))
}
