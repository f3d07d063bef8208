//! Branch and bound over selections, where prices alone leave a gap.
//!
//! A node decides about some applications. Its bound is the minimum of the dual function under these
//! decisions, with the maxima that capacities imply; applications whose other decision would bring that
//! bound below the best value known are decided too. The node of the highest bound is branched first, on
//! the application whose gain is closest to where selection ends.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::error::Error;
use crate::supply::Staircase;
use crate::topk::chooser::Chooser;
use crate::topk::descent::Descent;
use crate::topk::dual::{Dual, Evaluation, State};
use crate::topk::named;
use crate::topk::rules::{implied_cap, with_caps};

/// Most evaluations of the dual function for a node.
const EVALUATIONS: usize = 60;

/// Decisions, and what they allow at most.
struct Node {
    bound: f64,
    order: usize,
    states: Vec<State>,
    prices: Vec<f64>,
    branch: usize,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        let bound = self.bound.total_cmp(&other.bound);
        bound.then(other.order.cmp(&self.order))
    }
}

/// Searches from the prices `at` of the root until no node is left or as many as allowed were
/// visited; gives what selections that were neither tried nor passed over are worth at most.
pub(crate) fn run(
    chooser: &mut Chooser<'_>,
    root: &mut Dual<'_>,
    at: &[f64],
    supplies: &[Staircase],
) -> Result<f64, Error> {
    let host = chooser.host;
    let rules = chooser.rules;
    let caps: Vec<f64> = (0..host.applications.len())
        .map(|index| implied_cap(host, index))
        .map(|cap| cap * (1.0 + 1e-12))
        .collect();
    let floors = host.applications.minimum;
    let mut states = rules.states.clone();
    for (state, (cap, floor)) in states.iter_mut().zip(caps.iter().zip(floors)) {
        if *state == State::Free && cap < floor {
            *state = State::Out;
        }
    }
    let evaluation = root.evaluate(at, &states);
    fix(chooser, root, &mut states, at, &evaluation);
    let members: Vec<usize> = (0..states.len())
        .filter(|index| states[*index] != State::Out)
        .collect();
    let states: Vec<State> = members.iter().map(|index| states[*index]).collect();
    let tight = with_caps(host, &caps);
    let mut search = Search {
        dual: Dual::new(&tight, members, rules.unselected(), rules.k, supplies),
        chooser,
        open: BinaryHeap::new(),
        visited: 0,
    };
    search.visit(states, at);
    Ok(search.run())
}

struct Search<'a, 'b, 'c> {
    dual: Dual<'a>,
    chooser: &'b mut Chooser<'c>,
    open: BinaryHeap<Node>,
    visited: usize,
}

impl Search<'_, '_, '_> {
    fn run(&mut self) -> f64 {
        while let Some(node) = self.open.pop() {
            if self.chooser.is_met(node.bound) {
                break;
            }
            if self.visited >= self.chooser.options.nodes {
                return node.bound;
            }
            for decision in [State::In, State::Out] {
                let mut states = node.states.clone();
                states[node.branch] = decision;
                self.visit(states, &node.prices);
            }
        }
        f64::NEG_INFINITY
    }

    /// Bounds a node, and keeps it if something better can be in it.
    fn visit(&mut self, mut states: Vec<State>, from: &[f64]) {
        self.visited += 1;
        if !self.settle(&mut states) {
            return;
        }
        let Some((bound, prices)) = self.minimise(&states, from) else {
            return;
        };
        let evaluation = self.dual.evaluate(&prices, &states);
        self.chooser.count(1);
        let edge = fix(
            self.chooser,
            &mut self.dual,
            &mut states,
            &prices,
            &evaluation,
        );
        if !self.settle(&mut states) {
            return;
        }
        let gains = self.dual.gains(&prices, &states);
        let closest = (0..states.len())
            .filter(|place| states[*place] == State::Free)
            .min_by(|a, b| {
                let distance = |place: &usize| (gains[*place] - edge).abs();
                distance(a).total_cmp(&distance(b)).then(a.cmp(b))
            });
        match closest {
            Some(branch) => self.open.push(Node {
                bound,
                order: self.visited,
                states,
                prices,
                branch,
            }),
            None => self.decide(&states, &prices),
        }
    }

    /// Draws the conclusions that the number of selected applications allows; false if there is no
    /// selection.
    fn settle(&self, states: &mut [State]) -> bool {
        let inside = states.iter().filter(|state| **state == State::In).count();
        let out = states.iter().filter(|state| **state == State::Out).count();
        if inside > self.dual.k {
            return false;
        }
        let rest = if inside == self.dual.k {
            State::Out
        } else if !self.dual.is_exact() {
            return true;
        } else if states.len() - out < self.dual.k {
            return false;
        } else if states.len() - out == self.dual.k {
            State::In
        } else {
            return true;
        };
        for state in states.iter_mut().filter(|state| **state == State::Free) {
            *state = rest;
        }
        true
    }

    /// Solves the one selection that a node leaves.
    fn decide(&mut self, states: &[State], prices: &[f64]) {
        let inside = (0..states.len()).filter(|place| states[*place] == State::In);
        let chosen: Vec<usize> = inside.map(|place| self.dual.members[place]).collect();
        self.chooser.consider(&chosen, prices);
    }

    /// The node's bound and where it is attained; nothing if the node holds nothing better.
    fn minimise(&mut self, states: &[State], from: &[f64]) -> Option<(f64, Vec<f64>)> {
        if !states.contains(&State::Free) {
            self.decide(states, from);
            return None;
        }
        let mut descent = Descent::new(&self.dual, Some(from.to_vec()));
        loop {
            let evaluation = descent.evaluate(&mut self.dual, states);
            self.chooser.count(1);
            let chosen = named(&self.dual, &evaluation);
            let prices = self.chooser.consider(&chosen, &descent.prices);
            if self.chooser.is_met(descent.best()) {
                return None;
            }
            let gap = descent.best() - self.chooser.best();
            if descent.next(prices, 0.01 * gap) || descent.evaluations >= EVALUATIONS {
                // Where no prices that were tried have a value, the node may hold anything.
                let prices = descent.best_at().unwrap_or_else(|| from.to_vec());
                return Some((descent.best(), prices));
            }
        }
    }
}

/// Decides about applications whose other decision holds nothing better than what is known; gives the gain
/// at which selection ends.
fn fix(
    chooser: &Chooser<'_>,
    dual: &mut Dual<'_>,
    states: &mut [State],
    prices: &[f64],
    evaluation: &Evaluation,
) -> f64 {
    let full = evaluation.chosen.len() == dual.k;
    let exact = dual.is_exact();
    let (last, next) = evaluation.edge;
    // What a selected application displaces, and what takes the place of one that isn't any more.
    let displaced = if full { last } else { 0.0 };
    let successor = if exact { next } else { next.max(0.0) };
    let gains = dual.gains(prices, states).to_vec();
    let mut selected = alloc::vec![false; states.len()];
    for &place in &evaluation.chosen {
        selected[place] = true;
    }
    for place in 0..states.len() {
        if states[place] != State::Free {
            continue;
        }
        let other = if selected[place] {
            evaluation.value + (successor - gains[place])
        } else {
            evaluation.value + (gains[place] - displaced)
        };
        if chooser.is_met(other) {
            states[place] = if selected[place] {
                State::In
            } else {
                State::Out
            };
        }
    }
    let middle = 0.5 * (displaced + successor);
    if middle.is_finite() { middle } else { 0.0 }
}
