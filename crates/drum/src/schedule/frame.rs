//! Epochs that repeat, and the best rates for who is active when.
//!
//! Epochs share nothing but what applications get over all of them, so the rates of one epoch after the other are made
//! the best for those of all others, until nothing changes: that is the best for all, since worth bends smoothly.

use alloc::vec::Vec;

use super::case::{Case, PerRow};
use crate::host::Host;

/// Rounds over rows of an epoch, steps of a search for a price, and doublings until it has an end.
const ROUNDS: usize = 6;
const STEPS: usize = 24;
const DOUBLINGS: usize = 400;
/// How far a row may be from full where a search for its price ends.
const FULL: f64 = 1e-7;

/// One epoch: who is active at which rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch {
    pub(super) members: Vec<usize>,
    pub(super) rates: Vec<f64>,
    prices: PerRow,
    /// Part of all time.
    pub(super) part: f64,
}

impl Epoch {
    pub(super) fn new(members: Vec<usize>, rates: Vec<f64>) -> Self {
        Self {
            members,
            rates,
            prices: [1.0; Host::MOST_ROWS],
            part: 0.0,
        }
    }

    /// What its rates are worth at slopes.
    pub(super) fn worth(&self, slopes: &[f64]) -> f64 {
        self.turns().map(|(index, rate)| slopes[index] * rate).sum()
    }

    /// Who is active, with rates.
    pub(super) fn turns(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.members.iter().copied().zip(self.rates.iter().copied())
    }
}

/// All epochs.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) epochs: Vec<Epoch>,
    /// Rates over all epochs.
    pub(super) mean: Vec<f64>,
}

impl Frame {
    /// Epochs of the same length.
    pub(super) fn new(case: &Case, mut epochs: Vec<Epoch>) -> Self {
        let part = 1.0 / epochs.len() as f64;
        epochs.iter_mut().for_each(|epoch| epoch.part = part);
        let mut frame = Self {
            epochs,
            mean: Vec::new(),
        };
        frame.average(case);
        frame
    }

    /// Sums up rates over all epochs.
    pub(super) fn average(&mut self, case: &Case) {
        self.mean = alloc::vec![0.0; case.members.len()];
        for epoch in &self.epochs {
            for (index, rate) in epoch.turns() {
                self.mean[index] += rate * epoch.part;
            }
        }
    }

    /// Brings rates to their best, in so many passes at most or until one gains less than `enough`; gives their worth.
    pub(super) fn settle(&mut self, case: &Case, passes: usize, enough: f64) -> f64 {
        let mut search = Search::new(case);
        let mut value = f64::NEG_INFINITY;
        for _ in 0..passes {
            for epoch in self.epochs.iter_mut().filter(|epoch| epoch.part > 0.0) {
                search.solve(epoch, &mut self.mean);
            }
            let before = core::mem::replace(&mut value, case.value(&self.mean));
            if value - before < enough {
                break;
            }
        }
        self.average(case);
        case.value(&self.mean)
    }

    /// Puts another epoch in the stead of one if that is worth more; gives by how much.
    pub(super) fn exchange(&mut self, case: &Case, (at, by): (usize, &Epoch)) -> Option<f64> {
        let mut search = Search::new(case);
        let before = self.epochs[at].clone();
        let mut affected: Vec<usize> = before.members.iter().chain(&by.members).copied().collect();
        affected.sort_unstable();
        affected.dedup();
        let old: Vec<f64> = affected.iter().map(|index| self.mean[*index]).collect();
        let part = before.part;
        for (index, rate) in before.turns() {
            self.mean[index] = (self.mean[index] - rate * part).max(0.0);
        }
        for (index, rate) in by.turns() {
            self.mean[index] += rate * part;
        }
        self.epochs[at] = Epoch {
            prices: before.prices,
            part,
            ..by.clone()
        };
        search.solve(&mut self.epochs[at], &mut self.mean);
        let gain = |(index, old): (&usize, &f64)| {
            let curve = &case.members[*index].curve;
            curve.value(self.mean[*index]) - curve.value(*old)
        };
        let gain: f64 = affected.iter().zip(&old).map(gain).sum();
        if gain > 1e-9 {
            return Some(gain);
        }
        self.epochs[at] = before;
        for (index, old) in affected.into_iter().zip(old) {
            self.mean[index] = old;
        }
        None
    }
}

/// Solves epochs.
struct Search<'a> {
    case: &'a Case,
    /// Rates of the epoch's members that other epochs give them, over the epoch's part of time.
    base: Vec<f64>,
    /// Rates at a price that is too low for a row.
    over: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(case: &'a Case) -> Self {
        Self {
            case,
            base: Vec::new(),
            over: Vec::new(),
        }
    }

    /// Makes the rates of an epoch the best for what its members get in others.
    fn solve(&mut self, epoch: &mut Epoch, mean: &mut [f64]) {
        let part = epoch.part;
        self.base.clear();
        for (index, rate) in epoch.turns() {
            self.base.push((mean[index] / part - rate).max(0.0));
        }
        self.price(epoch);
        let rows = 0..self.case.rows;
        let most = rows.map(|row| self.usage(epoch, row)).fold(1.0, f64::max);
        for (place, index) in epoch.members.iter().enumerate() {
            epoch.rates[place] /= most;
            mean[*index] = (self.base[place] + epoch.rates[place]) * part;
        }
    }

    /// Finds prices of rows at which nothing is used beyond its capacity.
    fn price(&mut self, epoch: &mut Epoch) {
        let alone = self.case.rows == 1;
        self.respond(epoch);
        for _ in 0..ROUNDS {
            let mut changed = false;
            for row in 0..self.case.rows {
                let usage = self.usage(epoch, row);
                let fits = usage <= 1.0 + FULL && (epoch.prices[row] == 0.0 || usage >= 1.0 - FULL);
                if !fits {
                    self.fill(epoch, row);
                    changed = true;
                }
            }
            if alone || !changed {
                break;
            }
        }
    }

    /// Finds the price at which a row is full, or 0 if it isn't at any.
    fn fill(&mut self, epoch: &mut Epoch, row: usize) {
        let start = epoch.prices[row];
        epoch.prices[row] = 0.0;
        self.respond(epoch);
        let free = self.usage(epoch, row);
        if free <= 1.0 {
            return;
        }
        self.over.clone_from(&epoch.rates);
        let (mut low, mut over) = (0.0, free);
        let mut high = if start > 0.0 { start } else { 1.0 };
        let mut under = 0.0;
        for _ in 0..DOUBLINGS {
            epoch.prices[row] = high;
            self.respond(epoch);
            under = self.usage(epoch, row);
            if under <= 1.0 {
                break;
            }
            self.over.clone_from(&epoch.rates);
            (low, over) = (high, under);
            high *= 2.0;
        }
        self.narrow(epoch, row, [(low, over), (high, under)]);
    }

    /// Narrows prices between which a row is full down to one, and shares what remains between rates at both.
    fn narrow(&mut self, epoch: &mut Epoch, row: usize, [low, high]: [(f64, f64); 2]) {
        let ((mut low, mut over), (mut high, mut under)) = (low, high);
        let mut best = epoch.rates.clone();
        for step in 0..STEPS {
            if 1.0 - under <= FULL || over - 1.0 <= FULL || high - low <= 1e-12 * high {
                break;
            }
            // Use is about a power of the price; every third step halves, where it isn't.
            let middle = match (low > 0.0 && under > 0.0, step % 3) {
                (true, 2) => libm::sqrt(low * high),
                (true, _) => {
                    let part = libm::log(over) / libm::log(over / under);
                    low * libm::exp(part * libm::log(high / low))
                }
                (false, _) => 0.5 * (low.max(high * 1e-6) + high),
            };
            epoch.prices[row] = middle;
            self.respond(epoch);
            let usage = self.usage(epoch, row);
            if usage > 1.0 {
                self.over.clone_from(&epoch.rates);
                (low, over) = (middle, usage);
            } else {
                best.clone_from(&epoch.rates);
                (high, under) = (middle, usage);
            }
        }
        epoch.prices[row] = high;
        let part = if over > under {
            (1.0 - under) / (over - under)
        } else {
            0.0
        };
        for (rate, (over, under)) in epoch.rates.iter_mut().zip(self.over.iter().zip(&best)) {
            *rate = under + part * (over - under);
        }
    }

    /// Rates that are the best at the epoch's prices.
    fn respond(&self, epoch: &mut Epoch) {
        for (place, index) in epoch.members.iter().enumerate() {
            let member = &self.case.members[*index];
            let rate = member.curve.rate(member.cost(&epoch.prices)) / epoch.part;
            epoch.rates[place] = (rate - self.base[place]).clamp(0.0, member.peak);
        }
    }

    fn usage(&self, epoch: &Epoch, row: usize) -> f64 {
        epoch
            .turns()
            .map(|(index, rate)| self.case.members[index].load[row] * rate)
            .sum()
    }
}
