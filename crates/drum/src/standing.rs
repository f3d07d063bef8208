//! A problem that is kept while applications come, go and change.
//!
//! What one application adds to the sums over all is known without a pass over the others. So are the prices after
//! a change, but for the square of how much it changes them.

use crate::fixed;
use crate::host::{Dependency, Fairness, Host};
use crate::last_iterate::{LastIterate, Noted};
use crate::mode::Options;
use crate::newton::foreseen;
use crate::pass::{Output, Pass, Rates};
use crate::problem::{Problem, everyone, put, swap_remove, unit};
use crate::solution::Solution;
use crate::solve::{in_terms, in_units, judged, scaling};

/// Rows of a host that stands: its egress and its polling.
const ROWS: usize = 2;

/// The computed problem of a host in which everyone takes part, and where its prices were found.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    problem: Problem,
    /// Where prices were found, brought up to date with each change.
    at: Option<At>,
    capacities: [f64; ROWS],
}

/// Rates that applications answer to prices for the rows' units, and their sums.
#[derive(Clone, Debug)]
struct At {
    noted: Noted<ROWS>,
    pass: Pass<ROWS>,
}

impl At {
    /// Adds what the only application of a problem answers to the sums, as many times as `sign` says; gives its rate.
    fn count(&mut self, sign: f64, one: &Problem) -> Rates {
        let mut rates = Rates::new(one, true);
        let pass = one.answers(self.noted.prices, Output::Rates(&mut rates));
        self.pass.add(sign, &pass);
        rates
    }

    /// Takes what an application answers from the sums.
    fn leave(&mut self, problem: &Problem, index: usize) {
        let (worth, _) = problem.answer_of(index, &self.noted.prices);
        let loads: [f64; ROWS] = core::array::from_fn(|r| problem.rows[r].as_flattened()[index]);
        self.pass.throughput -= worth.throughput;
        self.pass.latency -= worth.latency;
        for r in 0..ROWS {
            self.pass.usage[r] -= loads[r] * worth.rate;
            for q in 0..ROWS {
                self.pass.response[r][q] -= loads[r] * loads[q] * worth.flexibility;
            }
        }
    }
}

impl Standing {
    /// Keeps a host's problem; nothing if it is wrong, or rates don't follow from prices alone.
    pub(crate) fn new(host: &Host<'_>) -> Option<Self> {
        suits(host).then(|| Self {
            problem: Problem::new(host, everyone(host.applications.len())),
            at: None,
            capacities: capacities(host),
        })
    }

    /// The application of a host of its own takes the place of another, or one behind the last; false if the problem can't
    /// be kept.
    pub(crate) fn put(&mut self, index: usize, new: &Host<'_>) -> bool {
        let apps = &new.applications;
        let bounded = apps.minimum[0] > 0.0 || apps.maximum[0].is_finite();
        if !suits(new) || (bounded && !self.problem.bounded) {
            return false;
        }
        let mut one = self.one(new);
        if let Some(at) = &mut self.at {
            if index < self.problem.applications {
                at.leave(&self.problem, index);
            }
            let mut rate = at.count(1.0, &one);
            put(at.noted.rates.columns().zip(rate.columns()), index);
        }
        self.problem.put(index, &mut one);
        true
    }

    /// The application of a host of its own leaves, and the last one takes its place; false if nobody is left.
    pub(crate) fn swap_remove(&mut self, index: usize, old: &Host<'_>) -> bool {
        let mut one = self.one(old);
        let applications = self.problem.applications;
        if let Some(at) = &mut self.at {
            let mut rate = at.count(-1.0, &one);
            let columns = at.noted.rates.columns().zip(rate.columns());
            swap_remove(columns, index, applications);
        }
        self.problem.swap_remove(index, &mut one);
        self.problem.applications > 0
    }

    /// The problem of a host with one application.
    fn one(&self, host: &Host<'_>) -> Problem {
        Problem::with_bounds(host, everyone(1), self.problem.bounded)
    }

    /// The host has other capacities; false if the problem can't be kept.
    pub(crate) fn set_capacities(&mut self, host: &Host<'_>) -> bool {
        let new = capacities(host);
        if !new
            .iter()
            .all(|capacity| *capacity > 0.0 && capacity.is_finite())
        {
            return false;
        }
        if !self.problem.set_loads(host) {
            return false;
        }
        // Rates stay while prices for what rows count in do.
        let ratio: [f64; ROWS] = core::array::from_fn(|r| self.capacities[r] / new[r]);
        if let Some(At { noted, pass }) = &mut self.at {
            for r in 0..ROWS {
                noted.prices[r] /= ratio[r];
                pass.usage[r] *= ratio[r];
                for q in 0..ROWS {
                    pass.response[r][q] *= ratio[r] * ratio[q];
                }
            }
        }
        self.capacities = new;
        true
    }

    /// Solves from where prices were found last, or else from `prices`; nothing if that isn't as good as was asked for.
    pub(crate) fn solve(
        &mut self,
        host: &Host<'_>,
        options: &Options,
        prices: &[f64],
    ) -> Option<Solution> {
        options.check().ok()?;
        let floors: [f64; ROWS] = self.problem.least_usage();
        if floors.iter().any(|needed| *needed > 1.0) {
            return None;
        }
        let found = self.at.take();
        let next = |at: &At| foreseen(&self.problem, at.noted.prices, at.pass).to_vec();
        let next = found.as_ref().map(next);
        let start = next.or_else(|| in_units(host, prices));
        let noted = found.map_or_else(|| Noted::new(&self.problem, true), |at| at.noted);
        let last_iterate = LastIterate::new(&self.problem, noted);
        let once = fixed::search(&last_iterate, start.as_deref(), &options.briefly()).ok()?;
        if !fixed::is_enough(&once.answer, once.minimum.off, options) {
            return None;
        }
        let (noted, pass) = (last_iterate.into_last(), once.minimum.pass);
        self.at = Some(At { noted, pass });
        let everyone = everyone(self.problem.applications);
        let mut found = in_terms(host, everyone, once.answer, None);
        let usage = once.usage.iter().zip(self.capacities);
        found.usage = usage.map(|(part, capacity)| part * capacity).collect();
        found.scale = once.size;
        judged(host, found, options.tolerance, false).ok()
    }
}

/// Whether rates of a host follow from prices in numbers as they are.
fn suits(host: &Host<'_>) -> bool {
    let bends = matches!(host.utility.fairness, Fairness::Alpha(alpha) if alpha > 0.0);
    bends
        && host.dependency == Dependency::Equality
        && host.check().is_ok()
        && scaling(host).is_none()
}

fn capacities(host: &Host<'_>) -> [f64; ROWS] {
    core::array::from_fn(|r| unit(&host.rows[r].supply))
}
