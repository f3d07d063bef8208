//! Networks in which only some flows of each host count.
//!
//! The dual function of all choices at once is convex; its value at any prices bounds what any choice is
//! worth. A subgradient method finds good prices, the flows that they choose are frozen, and the
//! network's solver does the rest.

use alloc::vec::Vec;

use crate::coupled::descent::{CoupledOptions, Descent};
use crate::coupled::exact;
use crate::coupled::held::{Held, Most};
use crate::coupled::order::{Order, Sums};
use crate::coupled::problem::{Flows, Source};
use crate::coupled::selection::{Choice, Selection};
use crate::coupled::solve::{CoupledSolution, Hosts, held_alpha, needs_holding};
use crate::error::{Error, Place};
use crate::fixed::GREATEST;
use crate::host::Utility;
use crate::workers::Workers;

/// Steps of the subgradient method in a round.
const STEPS: usize = 100;
/// Rounds of better prices, and the solution of the choice that they make.
const ROUNDS: u32 = 8;
/// Steps without a better bound after which steps become shorter.
const PATIENCE: usize = 5;
/// Part of a diagonal Newton step that the first steps take.
const LENGTH: f64 = 0.5;

/// Solves the problem of a network in which only some flows of each host count. The bound holds for
/// every choice; a gap may remain that no choice closes.
///
/// # Errors
/// What is wrong with the problem, as [`Error`] says; a choice of none, one that needs an outage value
/// where that isn't finite, or one among flows with least rates.
pub fn solve_chosen<S: Source, W: Workers>(
    source: &S,
    selection: Selection,
    options: &CoupledOptions,
    workers: &W,
) -> Result<CoupledSolution, Error> {
    let alpha = check(source.utility(), selection)?;
    if selection.choice != Choice::All {
        refuse_floors(source)?;
    }
    let held = Held::new(source, alpha, Most::CHOSEN);
    if let Some(held) = held.as_ref().filter(|_| needs_holding(alpha)) {
        let prices = alloc::vec![1.0; held.capacities.len()];
        return exact::solve_chosen(held, selection, options, &prices).ok_or(Error::Range);
    }
    let mut hosts = Hosts::new(source, selection)?;
    let rough = CoupledOptions {
        tolerance: 1e-2,
        ..*options
    };
    let found = Descent::new(&mut hosts, &rough, workers).run(&[]);
    let (first, passes) = match found {
        Ok(found) => (found.prices, found.iterations),
        Err(Error::Range) if held.is_some() => (alloc::vec![0.0; source.capacities().len()], 0),
        Err(error) => return Err(error),
    };
    if let Some(held) = &held {
        let rows = first.iter().zip(&held.capacities);
        let prices: Vec<f64> = rows.map(|(price, capacity)| price * capacity).collect();
        if let Some(found) = exact::solve_chosen(held, selection, options, &prices) {
            return Ok(found);
        }
    }
    let mut found = in_rounds(&mut hosts, first, options, workers)?;
    found.iterations += passes;
    Ok(found)
}

/// Prices that bound all choices, and the rates of the best of those that they make, by turns.
fn in_rounds<S: Source, W: Workers>(
    hosts: &mut Hosts<'_, S>,
    first: Vec<f64>,
    options: &CoupledOptions,
    workers: &W,
) -> Result<CoupledSolution, Error> {
    let mut passes = 0;
    let mut search = Search::new(first, hosts.source.capacities());
    let mut best: Option<CoupledSolution> = None;
    let mut start = search.best.clone();
    for round in 0..ROUNDS {
        if round == 0 || round % 2 == 1 {
            search.run(hosts, workers, LENGTH / f64::from(1 + 4 * round));
            start.clone_from(&search.best);
        }
        hosts.carry_out(&choice(&start), workers);
        let found = match Descent::new(hosts, options, workers).run(&start) {
            // What earlier rounds have found stands.
            Err(Error::Range) if best.is_some() => break,
            found => found?,
        };
        passes += found.iterations + 2;
        // The optimum of a choice that its own prices make again is the best of all.
        start.copy_from_slice(&found.prices);
        if best
            .as_ref()
            .is_none_or(|best| found.value > best.objective)
        {
            best = Some(hosts.solution(found));
        }
        search.evaluate(hosts, workers, &start);
        let value = best
            .as_ref()
            .map_or(f64::NEG_INFINITY, |best| best.objective);
        if search.bound - value <= options.tolerance * value.abs().max(search.bound.abs()) {
            break;
        }
    }
    let mut solution = best
        .filter(|best| best.objective > -GREATEST)
        .ok_or(Error::Range)?;
    solution.dual_bound = search.bound.max(solution.objective);
    solution.proven_bound = solution.dual_bound;
    solution.prices = search.best;
    solution.iterations = passes + search.steps;
    Ok(solution)
}

fn check(utility: Utility, selection: Selection) -> Result<f64, Error> {
    let alpha = held_alpha(utility)?;
    if alpha == f64::INFINITY {
        return Err(Error::Unsupported {
            place: Place::Field("mode"),
            reason: "max-min serves everyone, so it can't select",
            hint: "take all flows, or a finite alpha",
        });
    }
    match selection.choice {
        Choice::TopUtilities(0) | Choice::ActiveSet(0) => Err(Error::Selection {
            expected: "at least 1".into(),
        }),
        // Up to alpha 1 utilities of some rates are positive, with latency too.
        Choice::ActiveSet(_) if alpha > 1.0 && selection.outage >= 0.0 => Err(Error::Unsupported {
            place: Place::Field("outage"),
            reason: "serving nobody would be best: above alpha 1 whoever sends is worth less than nothing",
            hint: "give a negative value of a flow that doesn't send, such as that of a thousandth of its share",
        }),
        _ if !selection.outage.is_finite() => Err(Error::Number {
            place: Place::Field("outage"),
            value: selection.outage,
            expected: "a number",
        }),
        _ => Ok(alpha),
    }
}

/// A floor would hold only for who is chosen, and choices may not keep all floors.
fn refuse_floors<S: Source>(source: &S) -> Result<(), Error> {
    let mut flows = Flows::default();
    let has_floor = |host| {
        source.fill(host, &mut flows);
        flows.minimum.iter().any(|least| *least > 0.0)
    };
    match (0..source.hosts()).any(has_floor) {
        true => Err(Error::Unsupported {
            place: Place::Field("x_min"),
            reason: "flows of a network that may not be selected have no least rates",
            hint: "leave it out, or use mode fixed",
        }),
        false => Ok(()),
    }
}

/// Diagonally scaled subgradient steps that keep the best bound.
struct Search<'a> {
    capacities: &'a [f64],
    best: Vec<f64>,
    bound: f64,
    steps: usize,
}

impl<'a> Search<'a> {
    fn new(prices: Vec<f64>, capacities: &'a [f64]) -> Self {
        Self {
            capacities,
            best: prices,
            bound: f64::INFINITY,
            steps: 0,
        }
    }

    /// Value of the dual function at prices, which become the best if it is lowest there.
    fn evaluate<'f, S: Source, W: Workers>(
        &mut self,
        hosts: &'f mut Hosts<'_, S>,
        workers: &W,
        prices: &[f64],
    ) -> (f64, &'f Sums) {
        let sums = hosts.carry_out(&choice(prices), workers);
        let paid: f64 = prices.iter().zip(self.capacities).map(|(p, b)| p * b).sum();
        let dual = sums.worth + paid;
        if dual < self.bound {
            self.bound = dual;
            self.best.copy_from_slice(prices);
        }
        (dual, sums)
    }

    fn run<S: Source, W: Workers>(&mut self, hosts: &mut Hosts<'_, S>, workers: &W, first: f64) {
        let mut length = first;
        let mut prices = self.best.clone();
        let mut without = 0;
        for _ in 0..STEPS {
            self.steps += 1;
            let before = self.bound;
            let (dual, sums) = self.evaluate(hosts, workers, &prices);
            without = if dual < before { 0 } else { without + 1 };
            if dual.is_finite() {
                step(self.capacities, &mut prices, sums, length);
            }
            if !dual.is_finite() || without > PATIENCE {
                length *= 0.6;
                without = 0;
                prices.clone_from(&self.best);
            }
        }
    }
}

/// The choice at prices.
fn choice(prices: &[f64]) -> Order {
    Order::Answer {
        prices: prices.to_vec(),
        choose: true,
    }
}

/// A step of the prices against what is left of the rows.
fn step(capacities: &[f64], prices: &mut [f64], sums: &Sums, length: f64) {
    for (r, price) in prices.iter_mut().enumerate() {
        let step = length * (capacities[r] - sums.loads[r]) / sums.weights[r];
        if step.is_finite() {
            // A price changes by half at most, so that flows keep theirs.
            *price = (*price - step).clamp(0.5 * *price, 2.0 * *price + length * 1e-3);
        } else {
            // No flow was chosen that uses the row.
            *price *= 1.0 - length;
        }
    }
}
