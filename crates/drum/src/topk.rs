//! Which applications take part, when not all may.
//!
//! Prices choose: at the prices that minimise the [dual function](dual) the applications of greatest gain
//! are selected, and the convex problem of a selection yields a value. Where several selections tie at the
//! best prices, their exchange is tried, and a [search](crate::search) decides between them. The bound is
//! the minimum of the dual function. For two rows it is at most the three largest gains above the
//! optimum (Shapley and Folkman; Starr, "Quasi-equilibria in markets with non-convex preferences", 1969).

use alloc::vec::Vec;

use self::chooser::Chooser;
use self::dual::{Dual, Evaluation};
use self::rules::{Rules, caps, with_caps};
use crate::error::Error;
use crate::fixed::staircases;
use crate::host::Host;
use crate::mode::{Mode, Options};
use crate::search;
use crate::solution::Solution;

mod best;
pub(crate) mod chooser;
pub(crate) mod descent;
pub(crate) mod dual;
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
    let caps = caps(host);
    let capped = with_caps(host, &caps);
    let supplies = staircases(host);
    let mut chooser = Chooser::new(host, &rules, *options);
    let everyone = (0..host.applications.len()).collect();
    let mut dual = Dual::new(&capped, everyone, rules.unselected(), rules.k, &supplies);
    let units = &chooser.units;
    let start: Vec<f64> = start.iter().zip(units).map(|(p, unit)| p * unit).collect();
    let start = (start.len() == units.len() && start.iter().any(|p| *p > 0.0)).then_some(start);
    let mut found = chooser.minimise(&mut dual, &rules.states, start)?;
    let mut lowest = dual.evaluate(&found, &rules.states);
    if chooser.is_far(lowest.value)
        && let Some(prices) = chooser.prices_of_everyone()
    {
        let again = chooser.minimise(&mut dual, &rules.states, Some(prices))?;
        let value = dual.evaluate(&again, &rules.states);
        if value.value < lowest.value {
            (found, lowest) = (again, value);
        }
    }
    chooser.exchange(&mut dual, &rules.states, &found, &lowest);
    let mut left = lowest.value;
    if !chooser.is_met(left) && options.nodes > 0 {
        left = search::run(&mut chooser, &mut dual, &found, &supplies)?;
    }
    chooser.finish(&lowest, &found, left)
}

/// The applications of the host that are chosen.
pub(crate) fn named(dual: &Dual<'_>, evaluation: &Evaluation) -> Vec<usize> {
    let chosen = evaluation.chosen.iter();
    chosen.map(|place| dual.members[*place]).collect()
}
