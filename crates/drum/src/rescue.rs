//! Prices of a fixed selection for where Newton's steps don't get through: with as many rows as rates that can
//! move, the dual function has kinks, and where terms of utility have nothing in common, so have prices. Rows are
//! [settled one by one](crate::nested), or if that takes too long, by cutting planes.

use alloc::vec::Vec;

use crate::cutting::minimise;
use crate::fixed::OPEN;
use crate::mode::Options;
use crate::nested::Nested;
use crate::newton::{EXACT, Model};
use crate::supply::Staircase;

/// Most evaluations of the dual function. Rare enough to be generous.
const EVALUATIONS: usize = 2000;

/// Prices below this part of the largest are none.
const NOTHING: f64 = 1e-9;

/// About the prices at which the dual function is least, found from `guess`, prices for the rows' units, in
/// at most `passes` passes; and how many it took.
pub(crate) fn prices<const R: usize, M: Model<R>>(
    model: &M,
    supplies: &[Staircase],
    guess: &[f64],
    passes: usize,
) -> (Vec<f64>, usize) {
    if model.is_linear() {
        return by_cuts(model, supplies, guess, passes);
    }
    let mut nested = Nested::new(model, supplies, guess, passes - passes / 3);
    if nested.run() {
        return (nested.prices[..supplies.len()].to_vec(), nested.passes);
    }
    let (prices, more) = by_cuts(model, supplies, guess, passes / 3);
    (prices, nested.passes + more)
}

/// As [`prices`], by cutting planes.
fn by_cuts<const R: usize, M: Model<R>>(
    model: &M,
    supplies: &[Staircase],
    guess: &[f64],
    passes: usize,
) -> (Vec<f64>, usize) {
    // A guess may have lost its way to nothing.
    let typical: [f64; R] = model.first_prices();
    let most = guess.iter().chain(&typical).copied().fold(1e-300, f64::max);
    let upper = alloc::vec![4.0 * most; guess.len()];
    let limits: Vec<f64> = supplies.iter().map(Staircase::highest).collect();
    let found = minimise(
        &upper,
        &limits,
        0.0,
        passes.min(EVALUATIONS),
        |at, slope| {
            let prices: [f64; R] = core::array::from_fn(|r| at.get(r).copied().unwrap_or(0.0));
            let pass = model.pass(prices);
            let mut value = pass.value();
            for (r, supply) in supplies.iter().enumerate() {
                value += supply.worth(at[r]) - at[r] * pass.usage[r];
                slope[r] = supply.supplied(at[r]) - pass.usage[r];
            }
            if value.is_finite() {
                return value;
            }
            slope.fill(-1.0);
            f64::INFINITY
        },
    );
    let most = found.at.iter().copied().fold(0.0, f64::max);
    let clear = |price: &f64| if *price < NOTHING * most { 0.0 } else { *price };
    (found.at.iter().map(clear).collect(), found.evaluations)
}

/// Fewest passes with which it is worth while.
const WORTHWHILE: usize = 20;

/// Passes that the first search for prices gets at least, if there are so many.
const ENOUGH: usize = 100;

/// What the first search for prices gets: the rest is left for another.
pub(crate) fn first(options: &Options) -> Options {
    let iterations = options.iterations.min(ENOUGH.max(options.iterations / 4));
    Options {
        iterations,
        ..*options
    }
}

/// Of what is left of `options` after so many passes, those for prices and those for what follows; nothing if that
/// isn't worth while.
pub(crate) fn rest(options: &Options, spent: usize) -> Option<(usize, Options)> {
    let left = options.iterations.saturating_sub(spent);
    let iterations = left / 4;
    (iterations >= WORTHWHILE).then_some((
        left - iterations,
        Options {
            iterations,
            ..*options
        },
    ))
}

/// Whether an answer needs no other prices: by its gap, and by how far its rows are from being used up.
pub(crate) fn is_enough(options: &Options, gap: f64, off: f64) -> bool {
    let exact = off <= EXACT || options.tolerance > EXACT;
    gap <= options.tolerance.max(OPEN) && exact
}

/// Whether the gap of an answer is better than another's, or its rows where both gaps are as good as none.
pub(crate) fn is_better(to: (f64, f64), than: (f64, f64)) -> bool {
    if to.0 <= OPEN && than.0 <= OPEN {
        to.1 < than.1
    } else {
        to.0 < than.0
    }
}
