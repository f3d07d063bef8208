//! Selections that are tried, and the best of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::descent::Descent;
use super::dual::{Dual, Evaluation, State};
use super::named;
use super::rules::{Rules, caps, with_caps};
use crate::error::Error;
use crate::fixed::Answer;
use crate::host::Host;
use crate::mode::Options;
use crate::problem::{Member, unit};
use crate::solution::{Solution, relative};
use crate::solve::{Solved, check_floors, convex_or_attempts, members, solution};
use crate::supply::Staircase;

/// Relative gap at which a value counts as met by a bound, whatever tolerance is asked for: convex
/// problems aren't solved to more digits.
const MET: f64 = 1e-12;

/// Relative gap from which on prices are looked for from elsewhere.
const FAR: f64 = 0.3;

/// Applications from which on it pays to leave out those that can't be selected.
const MANY: usize = 128;

/// The best selection known.
#[derive(Clone, Debug)]
struct Incumbent {
    objective: f64,
    chosen: Vec<usize>,
    answer: Answer,
    /// Rates of polling, where they aren't tied to those of requests.
    polls: Option<Vec<f64>>,
}

/// Tries selections and keeps the best.
pub(crate) struct Chooser<'a> {
    pub(crate) host: &'a Host<'a>,
    pub(crate) rules: &'a Rules,
    pub(crate) options: Options,
    pub(super) units: Vec<f64>,
    /// Values of the selections that were tried, minus infinity if floors don't fit.
    tried: BTreeMap<Vec<usize>, f64>,
    incumbent: Option<Incumbent>,
    /// The highest bound of a selection that was tried, infinite once one had none.
    highest: f64,
    passes: usize,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(host: &'a Host<'a>, rules: &'a Rules, options: Options) -> Self {
        Self {
            host,
            rules,
            options,
            units: host.rows.iter().map(|row| unit(&row.supply)).collect(),
            tried: BTreeMap::new(),
            incumbent: None,
            highest: f64::NEG_INFINITY,
            passes: 0,
        }
    }

    /// Value of the best selection.
    pub(crate) fn best(&self) -> f64 {
        let incumbent = self.incumbent.as_ref();
        incumbent.map_or(f64::NEG_INFINITY, |incumbent| incumbent.objective)
    }

    /// Whether a bound says that nothing better is left.
    pub(crate) fn is_met(&self, bound: f64) -> bool {
        let best = self.best();
        best >= bound || relative(bound - best, best, bound) <= self.options.tolerance.max(MET)
    }

    /// What selections are worth at most that were tried, or passed over since a bound on them was met.
    pub(crate) fn settled(&self) -> f64 {
        let best = self.best();
        let tolerance = self.options.tolerance.clamp(MET, 1.0);
        self.highest
            .max(best + best.abs() * tolerance / (1.0 - tolerance))
    }

    /// Whether a bound is so far away that prices can't be about the best.
    pub(super) fn is_far(&self, bound: f64) -> bool {
        let best = self.best();
        best.is_finite() && relative(bound - best, best, bound) > FAR
    }

    /// Prices, for the rows' units, if all applications counted and sent; nothing if they don't fit.
    pub(super) fn prices_of_everyone(&mut self) -> Option<Vec<f64>> {
        let all: Vec<usize> = (0..self.host.applications.len()).collect();
        check_floors(self.host, selected(&all)).ok()?;
        let (answer, _) = convex_or_attempts(self.host, selected(&all), &self.options, &[]).ok()?;
        self.passes += answer.passes;
        Some(answer.prices)
    }

    fn was_tried(&self, chosen: &[usize]) -> bool {
        self.tried.contains_key(chosen)
    }

    /// Solves the convex problem of a selection, from prices for the rows' units; gives its prices
    /// unless it was tried before or isn't feasible.
    pub(crate) fn consider(&mut self, chosen: &[usize], from: &[f64]) -> Option<Vec<f64>> {
        if self.was_tried(chosen) {
            return None;
        }
        let start: Vec<f64> = from.iter().zip(&self.units).map(|(p, u)| p / u).collect();
        let answer = self.solve(chosen, &start);
        if matches!(answer, Err(Error::Range)) {
            self.highest = f64::INFINITY;
        }
        let answer = answer.ok();
        let value = answer.as_ref().map_or(f64::NEG_INFINITY, |a| a.0.objective);
        self.tried.insert(chosen.to_vec(), value);
        let (answer, polls) = answer?;
        self.highest = self.highest.max(answer.bound);
        self.passes += answer.passes;
        let prices = answer.prices.clone();
        if answer.objective > self.best() {
            self.incumbent = Some(Incumbent {
                objective: answer.objective,
                chosen: chosen.to_vec(),
                answer,
                polls,
            });
        }
        Some(prices)
    }

    fn solve(&self, chosen: &[usize], start: &[f64]) -> Result<Solved, Error> {
        let (host, options) = (self.host, &self.options);
        let Some(outages) = &self.rules.outages else {
            return convex_or_attempts(host, members(host, chosen).into_iter(), options, start);
        };
        let left = outages
            .iter()
            .enumerate()
            .filter(|(index, _)| chosen.binary_search(index).is_err());
        let kept: f64 = left.map(|(_, outage)| outage).sum();
        if chosen.is_empty() {
            let answer = Answer {
                objective: kept,
                bound: kept,
                rates: Vec::new(),
                prices: alloc::vec![0.0; self.units.len()],
                passes: 0,
            };
            return Ok((answer, None));
        }
        check_floors(host, selected(chosen))?;
        let (mut answer, polls) = convex_or_attempts(host, selected(chosen), options, start)?;
        answer.objective += kept;
        answer.bound += kept;
        Ok((answer, polls))
    }

    /// Minimises the dual function and tries the selections on the way; gives the best prices.
    pub(super) fn minimise(
        &mut self,
        dual: &mut Dual<'_>,
        states: &[State],
        start: Option<Vec<f64>>,
    ) -> Result<Vec<f64>, Error> {
        let cheap = self.rules.outages.is_some();
        let mut descent = Descent::new(dual, start);
        let mut reduced: Option<(Dual<'_>, Vec<State>)> = None;
        let supplies = dual.supplies();
        loop {
            let evaluation = match &mut reduced {
                Some((dual, states)) => descent.evaluate(dual, states),
                None => descent.evaluate(dual, states),
            };
            self.passes += 1;
            let chosen: Vec<usize> = match &reduced {
                Some((dual, _)) => named(dual, &evaluation),
                None => named(dual, &evaluation),
            };
            let prices = if cheap || descent.evaluations <= 4 {
                self.consider(&chosen, &descent.prices)
            } else {
                None
            };
            descent.latest.retain(|known| *known != chosen);
            descent.latest.push(chosen);
            let scale = descent.best().abs().max(self.best().abs());
            let tolerance = scale * self.options.tolerance.max(MET) * 0.1;
            if self.is_met(descent.best()) || descent.next(prices, tolerance) {
                break;
            }
            if reduced.is_none() && dual.members.len() > MANY && descent.is_local() {
                reduced = Some(self.reduce(dual, states, &descent, supplies));
            }
        }
        let Some(prices) = descent.best_at() else {
            return Err(Error::Range);
        };
        if !self.is_met(descent.best()) {
            for chosen in descent.latest.iter().rev().take(4) {
                self.consider(chosen, &prices);
            }
        }
        Ok(prices)
    }

    /// The dual function without applications that are selected nowhere in the region left: gains fall
    /// when prices rise, so the corners of the region's box bound them.
    fn reduce<'b>(
        &mut self,
        dual: &mut Dual<'_>,
        states: &[State],
        descent: &Descent,
        supplies: &'b [Staircase],
    ) -> (Dual<'b>, Vec<State>) {
        let (low, high) = descent.region.bounds();
        let mut least: Vec<f64> = dual.gains(&high, states).to_vec();
        self.passes += 2;
        let place = dual.members.len() - dual.k;
        let (_, &mut threshold, _) = least.select_nth_unstable_by(place, f64::total_cmp);
        let most = dual.gains(&low, states);
        let stays = |gain: f64| gain.is_nan() || gain >= threshold;
        let kept: Vec<usize> = (0..most.len())
            .filter(|place| stays(most[*place]))
            .collect();
        let states = kept.iter().map(|place| states[*place]).collect();
        let members = kept.iter().map(|place| dual.members[*place]).collect();
        let caps = caps(self.host);
        let capped = with_caps(self.host, &caps);
        let unselected = self.rules.unselected();
        let reduced = Dual::new(&capped, members, unselected, self.rules.k, supplies);
        (reduced, states)
    }

    /// Tries exchanges of one application of about the gain at which selection ends.
    pub(super) fn exchange(
        &mut self,
        dual: &mut Dual<'_>,
        states: &[State],
        prices: &[f64],
        lowest: &Evaluation,
    ) {
        if self.is_met(lowest.value) {
            return;
        }
        let gains = dual.gains(prices, states).to_vec();
        for _ in 0..3 {
            let Some(incumbent) = self.incumbent.clone() else {
                return;
            };
            let inside = |place: &usize| incumbent.chosen.binary_search(place).is_ok();
            let mut out: Vec<usize> = (0..gains.len()).filter(|j| !inside(j)).collect();
            let mut held = incumbent.chosen.clone();
            held.retain(|index| states[*index] == State::Free);
            held.sort_by(|a, b| gains[*a].total_cmp(&gains[*b]).then(b.cmp(a)));
            let near = out.len().min(3);
            if near > 0 {
                let by_gain = |a: &usize, b: &usize| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b));
                out.select_nth_unstable_by(near - 1, by_gain);
                out.truncate(near);
                out.sort_by(by_gain);
            }
            for &leaves in held.iter().take(3) {
                for &enters in &out {
                    let bound = lowest.value - gains[leaves] + gains[enters];
                    if bound.is_nan() || bound > self.best() {
                        self.swap(&incumbent.chosen, leaves, enters, prices);
                    }
                }
            }
            if self.best() <= incumbent.objective {
                return;
            }
        }
    }

    fn swap(&mut self, chosen: &[usize], leaves: usize, enters: usize, prices: &[f64]) {
        let mut changed = chosen.to_vec();
        changed.retain(|index| *index != leaves);
        changed.push(enters);
        changed.sort_unstable();
        self.consider(&changed, prices);
    }

    /// More passes over the applications.
    pub(crate) fn count(&mut self, passes: usize) {
        self.passes += passes;
    }

    pub(super) fn finish(
        self,
        lowest: &Evaluation,
        at: &[f64],
        left: f64,
    ) -> Result<Solution, Error> {
        let settled = self.settled();
        let Some(incumbent) = self.incumbent else {
            if self.highest == f64::INFINITY {
                return Err(Error::Range);
            }
            return Err(Error::Selection {
                expected: "no selection keeps every row with the minima of its applications".into(),
            });
        };
        let mut answer = incumbent.answer;
        let polls = incumbent.polls.as_deref();
        answer.passes = self.passes;
        let mut solution = if self.rules.outages.is_some() {
            solution(self.host, selected(&incumbent.chosen), answer, polls)
        } else {
            let members = members(self.host, &incumbent.chosen);
            solution(self.host, members.into_iter(), answer, polls)
        };
        solution.dual_bound = lowest.value.max(solution.objective);
        solution.dual_prices = at.iter().zip(&self.units).map(|(p, u)| p / u).collect();
        let proven = left.max(settled).max(solution.objective);
        solution.proven_bound = proven.min(solution.dual_bound);
        Ok(solution)
    }
}

/// Applications that all count.
pub(super) fn selected(chosen: &[usize]) -> impl ExactSizeIterator<Item = Member> + Clone {
    let member = |index: &usize| Member {
        index: *index,
        counts: true,
    };
    chosen.iter().map(member)
}
