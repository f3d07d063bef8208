//! Selections of a host's applications: the prices that choose them, and what they are worth.

use alloc::vec::Vec;

use super::best::best;
use super::descent::Descent;
use super::dual::Dual;
use super::rules::{Rules, caps, implied_cap, with_caps};
use crate::error::Error;
use crate::fixed::Answer;
use crate::host::Host;
use crate::mode::Options;
use crate::problem::{Member, unit};
use crate::search::{Group, Incumbent, MET, Places, Selections, State, Tried};
use crate::solution::Solution;
use crate::solve::{Solved, check_floors, convex_or_attempts, members, solution};
use crate::supply::Staircase;

/// Applications from which on it pays to leave out those that can't be selected.
const MANY: usize = 128;

/// Applications of about the gain at which selection ends that change places, and how often.
const NEAR: usize = 3;
const ROUNDS: usize = 3;

/// Most evaluations of the dual function, and for a node of a search.
const EVALUATIONS: usize = 160;
const NODE_EVALUATIONS: usize = 60;

/// The applications of a host, of which some are selected.
pub(super) struct Chooser<'a> {
    host: &'a Host<'a>,
    rules: &'a Rules,
    options: &'a Options,
    units: Vec<f64>,
    supplies: &'a [Staircase],
    pub(super) dual: Dual<'a>,
    passes: usize,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(
        host: &'a Host<'a>,
        rules: &'a Rules,
        options: &'a Options,
        supplies: &'a [Staircase],
    ) -> Self {
        let everyone = (0..host.applications.len()).collect();
        let capped = caps(host);
        let capped = with_caps(host, &capped);
        Self {
            host,
            rules,
            options,
            units: host.rows.iter().map(|row| unit(&row.supply)).collect(),
            supplies,
            dual: Dual::new(&capped, everyone, rules.unselected(), rules.k, supplies),
            passes: 0,
        }
    }

    /// Prices where the dual function is least, and its value there.
    pub(super) fn lowest(
        &mut self,
        tried: &mut Tried,
        start: Option<Vec<f64>>,
    ) -> Result<(Vec<f64>, f64), Error> {
        let states = &self.rules.states;
        let (bound, found) = self.descend(tried, states, start, None);
        Ok((found.ok_or(Error::Range)?, bound))
    }

    /// Minimises the dual function and tries selections on the way: those that the first prices choose and the last, or all
    /// where that is cheap. Of a node, which has so many evaluations, nothing more precise is asked than its gap tells. Gives
    /// the least value and where it is.
    fn descend(
        &mut self,
        tried: &mut Tried,
        states: &[State],
        start: Option<Vec<f64>>,
        node: Option<usize>,
    ) -> (f64, Option<Vec<f64>>) {
        let cheap = self.rules.outages.is_some() || node.is_some();
        let mut descent = Descent::new(&self.dual, start, node.unwrap_or(EVALUATIONS));
        let mut reduced: Option<(Dual<'_>, Vec<State>)> = None;
        loop {
            let (evaluation, named) = match &mut reduced {
                Some((dual, states)) => (descent.evaluate(dual, states), &dual.members),
                None => (descent.evaluate(&mut self.dual, states), &self.dual.members),
            };
            self.passes += 1;
            let chosen = evaluation.chosen.iter().map(|place| named[*place]);
            let chosen: Vec<usize> = chosen.collect();
            let prices = if cheap || descent.evaluations <= 4 {
                self.try_out(tried, &chosen, &descent.prices)
            } else {
                None
            };
            descent.latest.retain(|known| *known != chosen);
            descent.latest.push(chosen);
            let tolerance = match node {
                Some(_) => 0.01 * (descent.best() - tried.best()),
                None => {
                    let known = [descent.best().abs(), tried.best().abs()];
                    let finite = known.into_iter().filter(|size| size.is_finite());
                    finite.fold(0.0, f64::max) * self.options.tolerance.max(MET) * 0.1
                }
            };
            if tried.is_met(descent.best()) || descent.next(prices, tolerance) {
                break;
            }
            if reduced.is_none() && self.dual.members.len() > MANY && descent.is_local() {
                reduced = Some(self.reduce(states, &descent));
            }
        }
        let prices = descent.best_at();
        if !tried.is_met(descent.best())
            && let Some(prices) = &prices
        {
            for chosen in descent.latest.iter().rev().take(4) {
                self.try_out(tried, chosen, prices);
            }
        }
        let bound = match &prices {
            // Of all applications: those that were left out may have come back where the region was widened.
            Some(prices) if reduced.is_some() => self.dual.evaluate(prices, states).value,
            _ => descent.best(),
        };
        (bound, prices)
    }

    /// The dual function without applications that are selected nowhere in the region left: gains fall
    /// when prices rise, so the corners of the region's box bound them.
    fn reduce(&mut self, states: &[State], descent: &Descent) -> (Dual<'a>, Vec<State>) {
        let (low, high) = descent.region.bounds();
        let mut least: Vec<f64> = self.dual.gains(&high, states).to_vec();
        self.passes += 2;
        let place = self.dual.members.len().saturating_sub(self.dual.k);
        let (_, &mut threshold, _) = least.select_nth_unstable_by(place, f64::total_cmp);
        let most = self.dual.gains(&low, states);
        let stays = |gain: f64| gain.is_nan() || gain >= threshold;
        let kept: Vec<usize> = (0..most.len())
            .filter(|place| stays(most[*place]))
            .collect();
        let states = kept.iter().map(|place| states[*place]).collect();
        (self.only(&kept, &caps(self.host)), states)
    }

    /// The dual function of some members, under other maxima.
    fn only(&self, members: &[usize], caps: &[f64]) -> Dual<'a> {
        let members = members.iter().map(|place| self.dual.members[*place]);
        let (unselected, k) = (self.rules.unselected(), self.rules.k);
        let capped = with_caps(self.host, caps);
        Dual::new(&capped, members.collect(), unselected, k, self.supplies)
    }

    /// Tries the best selection with one application in another's place, of those whose gains are about that at which
    /// selection ends.
    pub(super) fn exchange(&mut self, tried: &mut Tried, at: &[f64], bound: f64) {
        let gains = self.dual.gains(at, &self.rules.states).to_vec();
        for _ in 0..ROUNDS {
            let Some(Incumbent { chosen, solved }) = tried.incumbent.clone() else {
                return;
            };
            let near = |selected: bool, sign: f64| -> Vec<usize> {
                let free = (0..gains.len()).filter(|j| self.rules.states[*j] == State::Free);
                let side = free.filter(|j| chosen.binary_search(j).is_ok() == selected);
                let side: Vec<usize> = side.collect();
                let values: Vec<f64> = side.iter().map(|j| sign * gains[*j]).collect();
                let nearest = best(&values, NEAR.min(side.len()));
                nearest.iter().map(|entry| side[entry.1]).collect()
            };
            let (leave, enter) = (near(true, -1.0), near(false, 1.0));
            for &leaves in &leave {
                for &enters in &enter {
                    if bound - gains[leaves] + gains[enters] <= tried.best() {
                        continue;
                    }
                    let mut changed = chosen.clone();
                    changed.retain(|index| *index != leaves);
                    changed.push(enters);
                    changed.sort_unstable();
                    self.try_out(tried, &changed, at);
                }
            }
            if tried.best() <= solved.0.objective {
                return;
            }
        }
    }

    /// Leaves out who isn't selected wherever something better can be, and takes the maxima that capacities imply; gives
    /// what is decided about the others.
    pub(super) fn narrow(&mut self, tried: &Tried, at: &[f64]) -> Vec<State> {
        let caps = |index| implied_cap(self.host, index) * (1.0 + 1e-12);
        let caps: Vec<f64> = (0..self.host.applications.len()).map(caps).collect();
        let mut states = self.rules.states.clone();
        for (state, (cap, floor)) in states
            .iter_mut()
            .zip(caps.iter().zip(self.host.applications.minimum))
        {
            if *state == State::Free && cap < floor {
                *state = State::Out;
            }
        }
        let bound = self.dual.evaluate(at, &states).value;
        let gains = self.dual.gains(at, &states).to_vec();
        self.places()
            .fix(&mut states, &gains, bound, |bound| tried.is_met(bound));
        let kept: Vec<usize> = (0..states.len())
            .filter(|index| states[*index] != State::Out)
            .collect();
        self.dual = self.only(&kept, &caps);
        kept.iter().map(|index| states[*index]).collect()
    }

    pub(super) fn places(&self) -> Places {
        let items = (0..self.dual.members.len()).collect();
        let places = self.dual.k;
        Places {
            groups: alloc::vec![Group { items, places }],
            exact: self.dual.is_exact(),
        }
    }

    /// Tries the selection of some applications, from prices for the rows' units; gives its own.
    fn try_out(&mut self, tried: &mut Tried, chosen: &[usize], from: &[f64]) -> Option<Vec<f64>> {
        let must = self.rules.states.iter().enumerate();
        let mut must = must.filter(|(_, state)| **state == State::In);
        if must.any(|(index, _)| chosen.binary_search(&index).is_err()) {
            return None;
        }
        tried.consider(chosen, || {
            let start: Vec<f64> = from.iter().zip(&self.units).map(|(p, u)| p / u).collect();
            let solved = self.solve(chosen, &start)?;
            self.passes += solved.0.passes;
            Ok(solved)
        })
    }

    fn solve(&self, chosen: &[usize], start: &[f64]) -> Result<Solved, Error> {
        let (host, options) = (self.host, self.options);
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

    /// The best selection that was tried, with the bounds on all: that of prices, and what those are worth at most that a
    /// search left.
    pub(super) fn finish(
        self,
        tried: Tried,
        (at, bound): (&[f64], f64),
        left: f64,
    ) -> Result<Solution, Error> {
        let settled = tried.settled();
        let Some(incumbent) = tried.incumbent else {
            if tried.highest == f64::INFINITY {
                return Err(Error::Range);
            }
            let some = if left == f64::NEG_INFINITY {
                ""
            } else {
                " was found that"
            };
            return Err(Error::Selection {
                expected: alloc::format!(
                    "no selection{some} keeps every row with the minima of its applications"
                ),
            });
        };
        let (mut answer, polls) = incumbent.solved;
        let polls = polls.as_deref();
        answer.passes = self.passes;
        let mut solution = if self.rules.outages.is_some() {
            solution(self.host, selected(&incumbent.chosen), answer, polls)
        } else {
            let members = members(self.host, &incumbent.chosen);
            solution(self.host, members.into_iter(), answer, polls)
        };
        solution.dual_bound = bound.max(solution.objective);
        solution.dual_prices = at.iter().zip(&self.units).map(|(p, u)| p / u).collect();
        let proven = left.max(settled).max(solution.objective);
        solution.proven_bound = proven.min(solution.dual_bound);
        Ok(solution)
    }
}

impl Selections for Chooser<'_> {
    type Lowest = Vec<f64>;

    fn prices(lowest: &Vec<f64>) -> &[f64] {
        lowest
    }

    fn gains(&mut self, prices: &[f64], states: &[State]) -> Vec<f64> {
        self.passes += 1;
        self.dual.gains(prices, states).to_vec()
    }

    fn consider(&mut self, tried: &mut Tried, items: &[usize], prices: &[f64]) -> Option<Vec<f64>> {
        let chosen: Vec<usize> = items.iter().map(|item| self.dual.members[*item]).collect();
        self.try_out(tried, &chosen, prices)
    }

    fn minimise(
        &mut self,
        tried: &mut Tried,
        states: &[State],
        from: &Vec<f64>,
    ) -> (f64, Vec<f64>) {
        let most = Some(NODE_EVALUATIONS);
        let (bound, prices) = self.descend(tried, states, Some(from.clone()), most);
        // Where no prices that were tried have a value, the node may hold anything.
        (bound, prices.unwrap_or_else(|| from.clone()))
    }

    fn is_spent(&self, visited: usize) -> bool {
        visited >= self.options.nodes
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
