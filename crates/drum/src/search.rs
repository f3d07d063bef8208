//! Branch and bound over selections, where prices alone leave a gap.
//!
//! A node decides about some items: applications of a host, or flows of a network, of each of whose hosts so many may
//! be selected. Its bound is the minimum of the dual function under these decisions; items whose other decision would
//! bring that bound below the best value known are decided too. The node of the highest bound is branched first, on the
//! item closest to where selection ends.

use alloc::collections::{BTreeSet, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::error::Error;
use crate::solve::Solved;
use crate::topk::best::best;

/// Relative gap at which a value counts as met by a bound, whatever tolerance is asked for: convex problems aren't solved
/// to more digits.
pub(crate) const MET: f64 = 1e-12;

/// Part of its terms that rounding takes from a sum of three.
const ROUNDING: f64 = 1e-14;

/// What is decided about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing.
    Free,
    /// The item is selected.
    In,
    /// The item isn't selected.
    Out,
}

/// Items of which so many may be selected.
pub(crate) struct Group {
    pub(crate) items: Vec<usize>,
    pub(crate) places: usize,
}

/// How many items may be selected.
pub(crate) struct Places {
    pub(crate) groups: Vec<Group>,
    /// Whether all places are taken rather than some of them.
    pub(crate) exact: bool,
}

impl Places {
    /// Draws the conclusions that the number of places allows; false if there is no selection.
    pub(crate) fn settle(&self, states: &mut [State]) -> bool {
        for Group { items, places } in &self.groups {
            let count = |wanted| items.iter().filter(|item| states[**item] == wanted).count();
            let (inside, free) = (count(State::In), count(State::Free));
            if inside > *places || (self.exact && inside + free < *places) {
                return false;
            }
            let rest = if inside == *places {
                State::Out
            } else if self.exact && inside + free == *places {
                State::In
            } else {
                continue;
            };
            for &item in items {
                if states[item] == State::Free {
                    states[item] = rest;
                }
            }
        }
        true
    }

    /// Decides about items whose other decision holds nothing better than what is known, by what each gains at the prices
    /// of a bound; gives for each item how far from the end of its group's selection it is.
    pub(crate) fn fix(
        &self,
        states: &mut [State],
        gains: &[f64],
        bound: f64,
        is_met: impl Fn(f64) -> bool,
    ) -> Vec<f64> {
        let mut distances = alloc::vec![f64::INFINITY; states.len()];
        for Group { items, places } in &self.groups {
            let inside = items.iter().filter(|item| states[**item] == State::In);
            let places = places.saturating_sub(inside.count());
            let free = items.iter().filter(|item| states[**item] == State::Free);
            let free: Vec<usize> = free.copied().collect();
            let values: Vec<f64> = free.iter().map(|item| gains[*item]).collect();
            let ranked = best(&values, places + 1);
            let wanted = |gain: f64| self.exact || gain > 0.0;
            let chosen = ranked.iter().take(places).filter(|entry| wanted(entry.0));
            let chosen = chosen.count();
            // What an entering item displaces, and what takes the place of one that leaves.
            let displaced = match ranked[..chosen].last() {
                Some(last) if chosen == places => last.0,
                _ => 0.0,
            };
            let next = ranked
                .get(chosen)
                .map_or(f64::NEG_INFINITY, |entry| entry.0);
            let successor = if self.exact { next } else { next.max(0.0) };
            let edge = 0.5 * (displaced + successor);
            let edge = if edge.is_finite() { edge } else { 0.0 };
            for &item in &free {
                distances[item] = (gains[item] - edge).abs();
                if is_met(exchanged(bound, displaced, gains[item])) {
                    states[item] = State::Out;
                }
            }
            for &(gain, place) in &ranked[..chosen] {
                states[free[place]] = match is_met(exchanged(bound, gain, successor)) {
                    true => State::In,
                    false => State::Free,
                };
            }
        }
        distances
    }
}

/// A bound where the gain of an item that leaves is that of one that enters, and what rounding may have taken.
fn exchanged(bound: f64, leaves: f64, enters: f64) -> f64 {
    let lost = ROUNDING * (bound.abs() + leaves.abs() + enters.abs());
    let exchanged = bound - leaves + enters;
    if lost.is_finite() {
        exchanged + lost
    } else {
        exchanged
    }
}

/// A selection with its value.
#[derive(Clone, Debug)]
pub(crate) struct Incumbent {
    pub(crate) chosen: Vec<usize>,
    pub(crate) solved: Solved,
}

/// Selections that were tried, and the best of them.
pub(crate) struct Tried {
    tolerance: f64,
    known: BTreeSet<Vec<usize>>,
    pub(crate) incumbent: Option<Incumbent>,
    /// The highest bound of a selection that was tried, infinite once one had none.
    pub(crate) highest: f64,
}

impl Tried {
    pub(crate) fn new(tolerance: f64) -> Self {
        Self {
            tolerance: tolerance.clamp(MET, 0.999_999),
            known: BTreeSet::new(),
            incumbent: None,
            highest: f64::NEG_INFINITY,
        }
    }

    /// Value of the best selection.
    pub(crate) fn best(&self) -> f64 {
        let incumbent = self.incumbent.as_ref();
        incumbent.map_or(f64::NEG_INFINITY, |incumbent| incumbent.solved.0.objective)
    }

    /// Whether a bound says that nothing better is left.
    pub(crate) fn is_met(&self, bound: f64) -> bool {
        bound <= self.enough()
    }

    /// The highest bound at which the relative gap of the best selection is as small as asked for.
    pub(crate) fn enough(&self) -> f64 {
        let best = self.best();
        match best >= 0.0 {
            true => best / (1.0 - self.tolerance),
            false => best * (1.0 - self.tolerance),
        }
    }

    /// What selections are worth at most that were tried, or passed over since a bound on them was met.
    pub(crate) fn settled(&self) -> f64 {
        self.highest.max(self.enough())
    }

    /// Takes the answer to the convex problem of a selection; gives its prices unless it was tried before or isn't feasible.
    pub(crate) fn consider(
        &mut self,
        chosen: &[usize],
        solve: impl FnOnce() -> Result<Solved, Error>,
    ) -> Option<Vec<f64>> {
        if !self.known.insert(chosen.to_vec()) {
            return None;
        }
        let solved = solve();
        if matches!(solved, Err(Error::Range)) {
            self.highest = f64::INFINITY;
        }
        let solved = solved.ok()?;
        self.highest = self.highest.max(solved.0.bound);
        let prices = solved.0.prices.clone();
        if solved.0.objective > self.best() {
            let chosen = chosen.to_vec();
            self.incumbent = Some(Incumbent { chosen, solved });
        }
        Some(prices)
    }
}

/// A problem in which items are selected.
pub(crate) trait Selections {
    /// Where the dual function is least, and what it helps to know of that.
    type Lowest;

    /// Prices of a bound.
    fn prices(lowest: &Self::Lowest) -> &[f64];

    /// What each item gains by being selected, at prices; those that are decided count for nothing.
    fn gains(&mut self, prices: &[f64], states: &[State]) -> Vec<f64>;

    /// Tries the selection of some items, from prices.
    fn consider(&mut self, tried: &mut Tried, items: &[usize], prices: &[f64]) -> Option<Vec<f64>>;

    /// The least bound under decisions, from that of other ones, and selections tried on the way; nothing more precise
    /// than it takes to see whether something better is left.
    fn minimise(
        &mut self,
        tried: &mut Tried,
        states: &[State],
        from: &Self::Lowest,
    ) -> (f64, Self::Lowest);

    /// How far an item is from where selection ends, if more is known of that than its gain's distance says.
    fn distance(&self, _lowest: &Self::Lowest, _item: usize, distance: f64) -> f64 {
        distance
    }

    /// Whether a search that has visited so many nodes has to end.
    fn is_spent(&self, visited: usize) -> bool;
}

/// Decisions, and what they allow at most.
struct Node<L> {
    bound: f64,
    order: usize,
    states: Vec<State>,
    lowest: L,
    branch: usize,
}

impl<L> PartialEq for Node<L> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<L> Eq for Node<L> {}

impl<L> PartialOrd for Node<L> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<L> Ord for Node<L> {
    fn cmp(&self, other: &Self) -> Ordering {
        let bound = self.bound.total_cmp(&other.bound);
        bound.then(other.order.cmp(&self.order))
    }
}

/// Searches among the selections that `states` allow until nothing better is left, or the work is spent; gives what
/// selections that were neither tried nor passed over are worth at most.
pub(crate) fn run<S: Selections>(
    problem: &mut S,
    tried: &mut Tried,
    places: &Places,
    (states, from): (Vec<State>, &S::Lowest),
) -> f64 {
    let mut search = Search {
        problem,
        tried,
        places,
        open: BinaryHeap::new(),
        visited: 0,
    };
    search.visit(states, from);
    search.run()
}

struct Search<'a, S: Selections> {
    problem: &'a mut S,
    tried: &'a mut Tried,
    places: &'a Places,
    open: BinaryHeap<Node<S::Lowest>>,
    visited: usize,
}

impl<S: Selections> Search<'_, S> {
    fn run(&mut self) -> f64 {
        while let Some(node) = self.open.pop() {
            if self.tried.is_met(node.bound) {
                break;
            }
            if self.problem.is_spent(self.visited) {
                return node.bound;
            }
            for decision in [State::In, State::Out] {
                let mut states = node.states.clone();
                states[node.branch] = decision;
                self.visit(states, &node.lowest);
            }
        }
        f64::NEG_INFINITY
    }

    /// Bounds a node, and keeps it if something better can be in it.
    fn visit(&mut self, mut states: Vec<State>, from: &S::Lowest) {
        self.visited += 1;
        if !self.places.settle(&mut states) {
            return;
        }
        if !states.contains(&State::Free) {
            return self.decide(&states, from);
        }
        let (bound, lowest) = self.problem.minimise(self.tried, &states, from);
        if self.tried.is_met(bound) {
            return;
        }
        let gains = self.problem.gains(S::prices(&lowest), &states);
        let tried = &self.tried;
        let distances = self
            .places
            .fix(&mut states, &gains, bound, |b| tried.is_met(b));
        if !self.places.settle(&mut states) {
            return;
        }
        let distance = |item: &usize| self.problem.distance(&lowest, *item, distances[*item]);
        let free = (0..states.len()).filter(|item| states[*item] == State::Free);
        let branch = free.min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
        match branch {
            Some(branch) => self.open.push(Node {
                bound,
                order: self.visited,
                states,
                lowest,
                branch,
            }),
            None => self.decide(&states, &lowest),
        }
    }

    /// Tries the one selection that a node leaves.
    fn decide(&mut self, states: &[State], lowest: &S::Lowest) {
        let inside = (0..states.len()).filter(|item| states[*item] == State::In);
        let items: Vec<usize> = inside.collect();
        self.problem.consider(self.tried, &items, S::prices(lowest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_bound_decides_nothing_by_what_rounding_leaves() {
        let places = Places {
            groups: alloc::vec![Group {
                items: alloc::vec![0, 1],
                places: 1,
            }],
            exact: false,
        };
        let mut states = [State::Free; 2];
        places.fix(&mut states, &[2e20, 0.0], 2e20, |bound| bound <= 0.1);
        assert_eq!(states, [State::Free; 2]);
        places.fix(&mut states, &[2.0, 0.0], 2.0, |bound| bound <= 0.1);
        assert_eq!(states, [State::In, State::Out]);
    }
}
