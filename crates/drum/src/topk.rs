//! Which applications take part, when not all may.
//!
//! Prices choose: at the prices that minimise the [dual function](dual) the applications of greatest gain
//! are selected, and the convex problem of a selection yields a value. Where several selections tie at the
//! best prices, their exchange is tried, and a [search](crate::search) decides between them. The bound is
//! the minimum of the dual function. For two rows it is at most the three largest gains above the
//! optimum (Shapley and Folkman; Starr, "Quasi-equilibria in markets with non-convex preferences", 1969).

use self::chooser::Chooser;
use self::rules::Rules;
use crate::error::Error;
use crate::fixed::staircases;
use crate::host::Host;
use crate::mode::{Mode, Options};
use crate::search::{self, Tried};
use crate::solution::Solution;
use crate::solve::in_units;

pub(crate) mod best;
mod chooser;
mod descent;
mod dual;
pub(crate) mod rules;
mod side;

/// Solves a host's problem under [`Mode::TopUtilities`] or [`Mode::ActiveSet`].
///
/// # Errors
/// As [`solve`](crate::solve).
pub(crate) fn solve(
    host: &Host<'_>,
    mode: &Mode<'_>,
    options: &Options,
    start: &[f64],
) -> Result<Solution, Error> {
    let rules = Rules::new(host, mode)?;
    let supplies = staircases(host);
    let mut chooser = Chooser::new(host, &rules, options, &supplies);
    let mut tried = Tried::new(options.tolerance);
    let start = in_units(host, start).filter(|prices| prices.iter().any(|price| *price > 0.0));
    let (at, bound) = chooser.lowest(&mut tried, start)?;
    let mut left = bound;
    if !tried.is_met(bound) {
        chooser.exchange(&mut tried, &at, bound);
    }
    if !tried.is_met(bound) && options.nodes > 0 {
        let states = chooser.narrow(&tried, &at);
        let places = chooser.places();
        left = search::run(&mut chooser, &mut tried, &places, (states, &at));
    }
    chooser.finish(tried, (&at, bound), left)
}
