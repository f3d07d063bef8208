//! Small networks: prices by Newton's method, and a search over selections where prices leave a gap.
//!
//! The search branches on the flow whose part is closest to a half, the node of the highest bound first. It ends
//! where no node can hold anything better, or its work is used up; the highest bound of a node that is left
//! bounds what any selection is worth.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::coupled::descent::CoupledOptions;
use crate::coupled::held::Held;
use crate::coupled::selection::{Choice, Selection};
use crate::coupled::smooth::{Lowest, Search};
use crate::coupled::solve::CoupledSolution;
use crate::fixed::Answer;
use crate::topk::dual::State;

/// Evaluations of flows, and of entries of matrices, that a search may take.
const WORK: usize = 120_000_000;
/// Size of `tau` over a flow's share of the value, at the root and at a node.
const FIRST: f64 = 1.0;
const NEXT: f64 = 1e-2;
/// Part of a flow that counts as all of it, or none.
const WHOLE: f64 = 1e-3;
/// Exchanges that are tried with each selection.
const EXCHANGES: usize = 40;

/// Solves a network in which all flows count; nothing if no value is a number.
pub(crate) fn solve(held: &Held, options: &CoupledOptions) -> Option<CoupledSolution> {
    let counts = alloc::vec![true; held.hosts.len()];
    let point = held.solve(&counts, Selection::default(), options.tolerance)?;
    let bound = point.bound.max(point.objective);
    let passes = point.passes;
    let prices = point.prices.clone();
    Some(solution(
        held,
        (point, Vec::new()),
        (bound, bound),
        &prices,
        passes,
    ))
}

/// Weighted max-min shares of a network.
pub(crate) fn shares(held: &Held) -> CoupledSolution {
    let point = held.shares();
    let (bound, prices, passes) = (point.bound, point.prices.clone(), point.passes);
    solution(held, (point, Vec::new()), (bound, bound), &prices, passes)
}

/// Solves a network in which some flows of each host count, from prices for whole rows.
pub(crate) fn solve_chosen(
    held: &Held,
    selection: Selection,
    options: &CoupledOptions,
    prices: &[f64],
) -> Option<CoupledSolution> {
    let k = match selection.choice {
        Choice::All => return solve(held, options),
        Choice::TopUtilities(k) | Choice::ActiveSet(k) => k,
    };
    let mut tree = Tree {
        search: Search { held, selection, k },
        options,
        incumbent: None,
        tried: BTreeMap::new(),
        open: Vec::new(),
        work: 0,
        passes: 0,
        left: f64::NEG_INFINITY,
    };
    let mut states = alloc::vec![State::Free; held.hosts.len()];
    tree.settle(&mut states);
    let mut start = tree.start(prices, &states);
    let (_, counts) = tree.search.evaluate(prices, &states);
    tree.consider(counts);
    if let Some((point, _)) = &tree.incumbent {
        // Prices from elsewhere may be of another size than utilities.
        let other = tree.start(&point.prices, &states);
        if other.bound < start.bound {
            start = other;
        }
    }
    let root = tree
        .search
        .minimise(&states, &start, FIRST, f64::NEG_INFINITY);
    tree.charge(root.passes);
    let lowest = root.clone();
    tree.dive(&states, &root);
    tree.visit(states, root);
    tree.run();
    let known = tree.enough();
    let (point, counts) = tree.incumbent?;
    // Nodes that were dropped hold nothing better than what is known.
    let bound = lowest.bound.max(point.objective);
    let proven = tree.left.max(known).min(bound);
    Some(solution(
        held,
        (point, counts),
        (bound, proven),
        &lowest.prices,
        tree.passes,
    ))
}

fn solution(
    held: &Held,
    (point, counts): (Answer, Vec<bool>),
    (dual_bound, proven_bound): (f64, f64),
    prices: &[f64],
    passes: usize,
) -> CoupledSolution {
    let usage = held.program.usage(&point.rates);
    let rows = held.capacities.iter();
    CoupledSolution {
        objective: point.objective,
        dual_bound,
        proven_bound,
        usage: usage
            .iter()
            .zip(rows.clone())
            .map(|(part, all)| part * all)
            .collect(),
        prices: prices
            .iter()
            .zip(rows)
            .map(|(price, all)| price / all)
            .collect(),
        x: point.rates,
        iterations: passes,
        counts,
    }
}

/// Decisions, and what they allow at most.
struct Node {
    states: Vec<State>,
    lowest: Lowest,
}

struct Tree<'a> {
    search: Search<'a>,
    options: &'a CoupledOptions,
    incumbent: Option<(Answer, Vec<bool>)>,
    /// Bounds of the selections that were tried.
    tried: BTreeMap<Vec<bool>, f64>,
    open: Vec<Node>,
    work: usize,
    passes: usize,
    /// Highest bound of a node that was left.
    left: f64,
}

impl Tree<'_> {
    /// What each flow gains by counting, at prices.
    fn gains(&self, prices: &[f64]) -> Vec<f64> {
        let held = self.search.held;
        let gain = |f: usize| {
            let price = held.program.price(f, prices);
            let (ways, count) = held.ways(f, price, self.search.selection);
            let most = |counts: bool| {
                let ways = ways[..count].iter().filter(|way| way.counts == counts);
                ways.map(|way| way.keeps).fold(f64::NEG_INFINITY, f64::max)
            };
            most(true) - most(false)
        };
        (0..held.hosts.len()).map(gain).collect()
    }

    /// Prices and thresholds to begin with.
    fn start(&self, prices: &[f64], states: &[State]) -> Lowest {
        let held = self.search.held;
        let mut gains: Vec<Vec<f64>> = alloc::vec![Vec::new(); held.host_count];
        for (gain, host) in self.gains(prices).into_iter().zip(&held.hosts) {
            gains[*host].push(gain);
        }
        let threshold = |gains: &mut Vec<f64>| {
            gains.sort_by(|a, b| b.total_cmp(a));
            gains
                .get(self.search.k.saturating_sub(1))
                .copied()
                .unwrap_or(0.0)
        };
        let (bound, _) = self.search.evaluate(prices, states);
        Lowest {
            prices: prices.to_vec(),
            thresholds: gains.iter_mut().map(threshold).collect(),
            parts: Vec::new(),
            bound,
            passes: 1,
            path: Vec::new(),
        }
    }

    fn charge(&mut self, passes: usize) {
        let held = self.search.held;
        let size = held.capacities.len() + held.host_count;
        self.passes += passes;
        self.work += passes * (6 * held.hosts.len() + size * size * size / 400);
    }

    fn best(&self) -> f64 {
        let incumbent = self.incumbent.as_ref();
        incumbent.map_or(f64::NEG_INFINITY, |(point, _)| point.objective)
    }

    /// What a bound must exceed for something better to be possible.
    fn enough(&self) -> f64 {
        let best = self.best();
        best + self.options.tolerance.max(1e-12) * best.abs()
    }

    /// Draws the conclusions that the number of flows of each host allows; false if there is no selection.
    fn settle(&self, states: &mut [State]) -> bool {
        let held = self.search.held;
        for host in 0..held.host_count {
            let count = |wanted: State| {
                let own = states
                    .iter()
                    .zip(&held.hosts)
                    .filter(|(_, of)| **of == host);
                own.filter(|(state, _)| **state == wanted).count()
            };
            let (inside, free) = (count(State::In), count(State::Free));
            let exact = self.search.is_exact();
            if inside > self.search.k || (exact && inside + free < self.search.k) {
                return false;
            }
            let rest = if inside == self.search.k {
                State::Out
            } else if exact && inside + free == self.search.k {
                State::In
            } else {
                continue;
            };
            for (state, of) in states.iter_mut().zip(&held.hosts) {
                if *of == host && *state == State::Free {
                    *state = rest;
                }
            }
        }
        true
    }

    /// Solves the network for a selection unless that was done; gives what it is worth at most.
    fn consider(&mut self, counts: Vec<bool>) -> f64 {
        if let Some(bound) = self.tried.get(&counts) {
            return *bound;
        }
        let (held, selection) = (self.search.held, self.search.selection);
        let tolerance = 0.1 * self.options.tolerance;
        let point = held.solve(&counts, selection, tolerance);
        self.charge(30);
        let bound = point.as_ref().map_or(f64::INFINITY, |point| point.bound);
        self.tried.insert(counts.clone(), bound);
        if let Some(point) = point.filter(|point| point.objective > self.best()) {
            self.incumbent = Some((point, counts));
        }
        bound
    }

    /// The flows of the largest parts, where nothing is decided.
    fn rounded(&self, states: &[State], lowest: &Lowest) -> Vec<bool> {
        let held = self.search.held;
        let part = |f: usize| match states[f] {
            State::Free => lowest.parts[f],
            State::In => f64::INFINITY,
            State::Out => f64::NEG_INFINITY,
        };
        let mut order: Vec<usize> = (0..states.len()).collect();
        order.sort_by(|a, b| part(*b).total_cmp(&part(*a)).then(a.cmp(b)));
        let mut places = alloc::vec![self.search.k; held.host_count];
        let mut counts = alloc::vec![false; states.len()];
        for f in order {
            let place = &mut places[held.hosts[f]];
            if *place > 0 && (self.search.is_exact() || part(f) >= 0.5) {
                *place -= 1;
                counts[f] = true;
            }
        }
        counts
    }

    /// The free flow whose part is closest to a half, if any has less than all and more than none.
    fn split(states: &[State], lowest: &Lowest) -> Option<usize> {
        let distance = |f: &usize| (lowest.parts[*f] - 0.5).abs();
        let free = (0..states.len()).filter(|f| states[*f] == State::Free);
        free.min_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)))
    }

    /// Decides about one flow after the other in favour of the larger part.
    fn dive(&mut self, states: &[State], lowest: &Lowest) {
        let mut states = states.to_vec();
        let mut lowest = lowest.clone();
        loop {
            self.consider(self.rounded(&states, &lowest));
            let split = Self::split(&states, &lowest);
            let open = split.filter(|f| (WHOLE..1.0 - WHOLE).contains(&lowest.parts[*f]));
            let Some(flow) = open.filter(|_| self.work < WORK / 2) else {
                break;
            };
            states[flow] = if lowest.parts[flow] >= 0.5 {
                State::In
            } else {
                State::Out
            };
            if !self.settle(&mut states) {
                break;
            }
            let enough = self.enough();
            lowest = self.search.minimise(&states, &lowest, NEXT, enough);
            self.charge(lowest.passes);
            if lowest.bound <= enough {
                break;
            }
        }
        self.exchange();
    }

    /// Tries the best selection with one flow of a host in another's place, as long as that helps. At the prices
    /// of a selection the difference of two gains bounds what their exchange is worth.
    fn exchange(&mut self) {
        let mut tries = EXCHANGES;
        while let Some((point, counts)) = &self.incumbent {
            let gains = self.gains(&point.prices);
            let best = point.objective;
            let counts = counts.clone();
            let least = self.enough() - point.bound;
            let mut pairs = self.pairs(&counts, &gains);
            pairs.retain(|pair| pair.0 > least);
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            for (_, leaves, enters) in pairs {
                if self.work > WORK / 2 || tries == 0 {
                    return;
                }
                tries -= 1;
                let mut changed = counts.clone();
                for (flow, counts) in [(leaves, false), (enters, true)] {
                    if let Some(flow) = flow {
                        changed[flow] = counts;
                    }
                }
                self.consider(changed);
                if self.best() > best {
                    break;
                }
            }
            if self.best() <= best {
                return;
            }
            tries = EXCHANGES;
        }
    }

    /// Flows that may change places: what that gains at most, who leaves and who enters.
    fn pairs(&self, counts: &[bool], gains: &[f64]) -> Vec<(f64, Option<usize>, Option<usize>)> {
        let held = self.search.held;
        let mut pairs = Vec::new();
        for host in 0..held.host_count {
            let own = |wanted: bool| {
                let flows = (0..counts.len()).filter(move |f| held.hosts[*f] == host);
                flows.filter(move |f| counts[*f] == wanted)
            };
            for leaves in own(true) {
                for enters in own(false) {
                    pairs.push((gains[enters] - gains[leaves], Some(leaves), Some(enters)));
                }
            }
            if self.search.is_exact() {
                continue;
            }
            pairs.extend(own(true).map(|leaves| (-gains[leaves], Some(leaves), None)));
            if own(true).count() < self.search.k {
                pairs.extend(own(false).map(|enters| (gains[enters], None, Some(enters))));
            }
        }
        pairs
    }

    /// Decides about flows whose other decision holds nothing better than what is known; false if there is no
    /// selection left.
    fn fix(&self, states: &mut [State], lowest: &Lowest) -> bool {
        let held = self.search.held;
        let (gains, enough) = (self.gains(&lowest.prices), self.enough());
        for host in 0..held.host_count {
            let own = |f: &usize| held.hosts[*f] == host;
            let inside = (0..states.len()).filter(|f| states[*f] == State::In);
            let places = self.search.k.saturating_sub(inside.filter(own).count());
            let free = (0..states.len()).filter(|f| states[*f] == State::Free);
            let mut ranked: Vec<usize> = free.filter(own).collect();
            ranked.sort_by(|a, b| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b)));
            let wanted = |f: &&usize| self.search.is_exact() || gains[**f] > 0.0;
            let chosen = ranked.iter().take(places).filter(wanted).count();
            // What an entering flow displaces, and what takes the place of one that leaves.
            let displaced = match ranked[..chosen].last() {
                Some(last) if chosen == places => gains[*last],
                _ => 0.0,
            };
            let next = ranked.get(chosen).map(|next| gains[*next]);
            let successor = if self.search.is_exact() {
                next.unwrap_or(f64::NEG_INFINITY)
            } else {
                next.unwrap_or(0.0).max(0.0)
            };
            for (rank, f) in ranked.iter().enumerate() {
                if rank < chosen && lowest.bound - gains[*f] + successor <= enough {
                    states[*f] = State::In;
                } else if rank >= chosen && lowest.bound - displaced + gains[*f] <= enough {
                    states[*f] = State::Out;
                }
            }
        }
        self.settle(states)
    }

    /// Keeps a node if something better can be in it.
    fn visit(&mut self, mut states: Vec<State>, lowest: Lowest) {
        if lowest.bound <= self.enough() {
            return;
        }
        let best = self.best();
        self.consider(self.rounded(&states, &lowest));
        if self.best() > best {
            self.exchange();
        }
        if lowest.bound <= self.enough() || !self.fix(&mut states, &lowest) {
            return;
        }
        if states.contains(&State::Free) {
            self.open.push(Node { states, lowest });
        } else {
            let bound = self.consider(self.rounded(&states, &lowest));
            self.left = self.left.max(lowest.bound.min(bound));
        }
    }

    fn run(&mut self) {
        while !self.open.is_empty() {
            let highest = (0..self.open.len()).max_by(|a, b| {
                self.open[*a]
                    .lowest
                    .bound
                    .total_cmp(&self.open[*b].lowest.bound)
            });
            let Some(highest) = highest else { break };
            if self.work >= WORK {
                break;
            }
            let node = self.open.swap_remove(highest);
            if node.lowest.bound <= self.enough() {
                continue;
            }
            let Some(flow) = Self::split(&node.states, &node.lowest) else {
                continue;
            };
            for decision in [State::In, State::Out] {
                let mut states = node.states.clone();
                states[flow] = decision;
                if !self.settle(&mut states) {
                    continue;
                }
                let enough = self.enough();
                let lowest = self.search.minimise(&states, &node.lowest, NEXT, enough);
                self.charge(lowest.passes);
                self.visit(states, lowest);
            }
        }
        let open = self.open.iter().map(|node| node.lowest.bound);
        self.left = open.fold(self.left, f64::max);
    }
}
