//! Networks that fit in memory, by the interior-point method, and a [search](crate::search) among their selections.

use alloc::vec::Vec;

use crate::coupled::descent::CoupledOptions;
use crate::coupled::held::Held;
use crate::coupled::selection::{Choice, Selection};
use crate::coupled::smooth::{Dual, Lowest};
use crate::coupled::solve::CoupledSolution;
use crate::error::Error;
use crate::fixed::Answer;
use crate::search::{self, Group, Incumbent, Places, Selections, State, Tried};
use crate::topk::best::best;

/// Evaluations of flows, and of entries of matrices, that a search may take.
const WORK: usize = 120_000_000;
/// Size of `tau` over a flow's share of the value, at the root and at a node.
const FIRST: f64 = 1.0;
const NEXT: f64 = 1e-2;
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
    let dual = Dual { held, selection, k };
    let mut groups = alloc::vec![Vec::new(); held.host_count];
    for (flow, host) in held.hosts.iter().enumerate() {
        groups[*host].push(flow);
    }
    let group = |items: Vec<usize>| Group {
        places: k.min(items.len()),
        items,
    };
    let places = Places {
        groups: groups.into_iter().map(group).collect(),
        exact: dual.is_exact(),
    };
    let mut states = alloc::vec![State::Free; held.hosts.len()];
    places.settle(&mut states);
    let mut tried = Tried::new(options.tolerance);
    let mut chooser = Chooser {
        dual,
        tolerance: 0.1 * options.tolerance,
        places: &places,
        work: 0,
        passes: 0,
    };
    let (mut start, counts) = chooser.dual.start(prices, &states);
    let inside: Vec<usize> = (0..counts.len()).filter(|flow| counts[*flow]).collect();
    if let Some(own) = chooser.consider(&mut tried, &inside, prices) {
        // Prices from elsewhere may be of another size than utilities.
        let (other, _) = chooser.dual.start(&own, &states);
        if other.bound < start.bound {
            start = other;
        }
    }
    let lowest = chooser
        .dual
        .minimise(&states, &start, FIRST, f64::NEG_INFINITY);
    chooser.charge(lowest.passes);
    let left = search::run(&mut chooser, &mut tried, &places, (states, &lowest));
    let settled = tried.settled();
    let passes = chooser.passes;
    let incumbent = tried.incumbent?;
    let point = incumbent.solved.0;
    let mut counts = alloc::vec![false; held.hosts.len()];
    incumbent
        .chosen
        .iter()
        .for_each(|flow| counts[*flow] = true);
    let bound = lowest.bound.max(point.objective);
    let proven = left.max(settled).min(bound);
    Some(solution(
        held,
        (point, counts),
        (bound, proven),
        &lowest.prices,
        passes,
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

/// The flows of a network, of which some count on each host.
struct Chooser<'a> {
    dual: Dual<'a>,
    tolerance: f64,
    places: &'a Places,
    work: usize,
    passes: usize,
}

impl Chooser<'_> {
    fn charge(&mut self, passes: usize) {
        let held = self.dual.held;
        let size = held.capacities.len() + held.host_count;
        self.passes += passes;
        self.work += passes * (6 * held.hosts.len() + size * size * size / 400);
    }

    /// The flows of the largest parts, where nothing is decided.
    fn rounded(&self, states: &[State], lowest: &Lowest) -> Vec<usize> {
        let part = |f: usize| match states[f] {
            State::Free => lowest.parts[f],
            State::In => f64::INFINITY,
            State::Out => f64::NEG_INFINITY,
        };
        let Places { groups, exact } = self.places;
        let mut chosen = Vec::new();
        for Group { items, places } in groups {
            let parts: Vec<f64> = items.iter().map(|f| part(*f)).collect();
            let most = best(&parts, *places);
            let counted = most.iter().filter(|entry| *exact || entry.0 >= 0.5);
            chosen.extend(counted.map(|entry| items[entry.1]));
        }
        chosen.sort_unstable();
        chosen
    }

    /// Tries the best selection with one flow of a host in another's place, as long as that helps: a search may end with its
    /// work long before its last node. At the prices of a selection the difference of two gains bounds what their exchange
    /// is worth.
    fn exchange(&mut self, tried: &mut Tried) {
        let mut tries = EXCHANGES;
        while let Some(Incumbent { chosen, solved }) = tried.incumbent.clone() {
            let gains = self.dual.gains(&solved.0.prices);
            let mut pairs = self.pairs(&chosen, &gains);
            pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
            for (gain, leaves, enters) in pairs {
                if tried.is_met(solved.0.bound + gain) || tried.best() > solved.0.objective {
                    break;
                }
                if tries == 0 || self.work > WORK / 2 {
                    return;
                }
                tries -= 1;
                let stays = chosen.iter().filter(|flow| Some(**flow) != leaves);
                let mut changed: Vec<usize> = stays.copied().chain(enters).collect();
                changed.sort_unstable();
                self.consider(tried, &changed, &solved.0.prices);
            }
            if tried.best() <= solved.0.objective {
                return;
            }
            tries = EXCHANGES;
        }
    }

    /// Flows that may change places: what that gains at most, who leaves and who enters.
    fn pairs(&self, chosen: &[usize], gains: &[f64]) -> Vec<(f64, Option<usize>, Option<usize>)> {
        let mut pairs = Vec::new();
        for Group { items, places } in &self.places.groups {
            let (inside, outside): (Vec<usize>, Vec<usize>) = items
                .iter()
                .partition(|flow| chosen.binary_search(flow).is_ok());
            for &leaves in &inside {
                for &enters in &outside {
                    pairs.push((gains[enters] - gains[leaves], Some(leaves), Some(enters)));
                }
            }
            if self.places.exact {
                continue;
            }
            pairs.extend(inside.iter().map(|flow| (-gains[*flow], Some(*flow), None)));
            if inside.len() < *places {
                pairs.extend(outside.iter().map(|flow| (gains[*flow], None, Some(*flow))));
            }
        }
        pairs
    }
}

impl Selections for Chooser<'_> {
    type Lowest = Lowest;

    fn prices(lowest: &Lowest) -> &[f64] {
        &lowest.prices
    }

    fn gains(&mut self, prices: &[f64], _: &[State]) -> Vec<f64> {
        self.dual.gains(prices)
    }

    fn consider(&mut self, tried: &mut Tried, items: &[usize], _: &[f64]) -> Option<Vec<f64>> {
        tried.consider(items, || {
            let Dual {
                held, selection, ..
            } = self.dual;
            let mut counts = alloc::vec![false; held.hosts.len()];
            items.iter().for_each(|flow| counts[*flow] = true);
            self.charge(30);
            let point = held.solve(&counts, selection, self.tolerance);
            Ok((point.ok_or(Error::Range)?, None))
        })
    }

    fn minimise(&mut self, tried: &mut Tried, states: &[State], from: &Lowest) -> (f64, Lowest) {
        let lowest = self.dual.minimise(states, from, NEXT, tried.enough());
        self.charge(lowest.passes);
        if !tried.is_met(lowest.bound) {
            let best = tried.best();
            self.consider(tried, &self.rounded(states, &lowest), &lowest.prices);
            if tried.best() > best {
                self.exchange(tried);
            }
        }
        (lowest.bound, lowest)
    }

    /// Gains of different hosts are of different sizes; parts are not.
    fn distance(&self, lowest: &Lowest, item: usize, _: f64) -> f64 {
        (lowest.parts[item] - 0.5).abs()
    }

    fn is_spent(&self, _: usize) -> bool {
        self.work >= WORK
    }
}
