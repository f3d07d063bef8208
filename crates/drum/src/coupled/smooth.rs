//! The least value of the dual function of a network in which some flows of each host count.
//!
//! This function is a maximum over selections, and so has kinks where the best prices lie. With a threshold `theta`
//! for each host, what flows gain is a sum over flows of `max(V0, V1 - theta)`, which
//! `tau ln(exp(V0 / tau) + exp((V1 - theta) / tau))` exceeds by at most `tau ln 2`, and is smooth; Newton's method
//! follows its least value while `tau` falls (Nesterov, "Smooth minimization of non-smooth functions", 2005). Prices
//! are kept positive by a barrier of the same `tau`.

use alloc::vec::Vec;

use crate::coupled::held::{Held, Way};
use crate::coupled::selection::{Choice, Selection};
use crate::linear::definite;
use crate::search::State;

/// Falls of `tau`, and what is left of it after one.
const STAGES: usize = 24;
const FALL: f64 = 0.15;
/// `tau`, times the number of prices and thresholds, over what a bound has above `enough` to begin with.
const OPENING: f64 = 0.25;
/// Newton's steps in a stage.
const STEPS: usize = 25;
/// Decrement over `tau` at which a stage ends.
const CENTRED: f64 = 1e-3;
/// Part of what a bound has above `enough` that it needn't be precise to.
const PRECISION: f64 = 0.02;
/// `tau` over the size of the value at the end.
const LEAST: f64 = 1e-15;

/// Prices where the dual function is least.
#[derive(Clone, Debug)]
pub(crate) struct Lowest {
    pub(crate) prices: Vec<f64>,
    /// Part of each flow that counts.
    pub(crate) parts: Vec<f64>,
    /// Value of the dual function, not smoothed.
    pub(crate) bound: f64,
    /// Evaluations.
    pub(crate) passes: usize,
}

/// The smoothed function and its derivatives.
struct Smooth {
    value: f64,
    gradient: Vec<f64>,
    matrix: Vec<f64>,
}

/// Sums over the ways of a flow, by the share that each has.
#[derive(Default)]
struct Moments {
    rate: f64,
    square: f64,
    flexible: f64,
    /// What counts, and its rate.
    part: f64,
    joint: f64,
}

impl Moments {
    fn of<'a>(ways: impl Iterator<Item = (&'a Way, f64)>) -> Self {
        let mut sums = Self::default();
        for (way, share) in ways.filter(|(_, share)| *share > 0.0) {
            sums.rate += share * way.rate;
            sums.square += share * way.rate * way.rate;
            sums.flexible += share * way.flexibility;
            if way.counts {
                sums.part += share;
                sums.joint += share * way.rate;
            }
        }
        sums
    }
}

/// The dual function under decisions about flows.
pub(crate) struct Dual<'a> {
    pub(crate) held: &'a Held,
    pub(crate) selection: Selection,
    /// How many may count on each host.
    pub(crate) k: usize,
}

impl Dual<'_> {
    /// Whether exactly `k` count.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.selection.choice, Choice::TopUtilities(_))
    }

    fn allows(&self, state: State, way: &Way) -> bool {
        match state {
            State::Free => true,
            State::In => way.counts,
            State::Out => !way.counts,
        }
    }

    /// How many of each host's free flows may count; nothing where none is free.
    fn places(&self, states: &[State]) -> Vec<Option<f64>> {
        let mut places = alloc::vec![None; self.held.host_count];
        for (state, host) in states.iter().zip(&self.held.hosts) {
            if *state == State::Free {
                places[*host].get_or_insert(self.k as f64);
            }
        }
        for (state, host) in states.iter().zip(&self.held.hosts) {
            if let (State::In, Some(place)) = (state, &mut places[*host]) {
                *place -= 1.0;
            }
        }
        places
    }

    /// The dual function itself, and which flows count.
    pub(crate) fn evaluate(&self, prices: &[f64], states: &[State]) -> (f64, Vec<bool>) {
        let most: Vec<[f64; 2]> = (0..states.len()).map(|f| self.most(f, prices)).collect();
        let gain = |f: usize| most[f][1] - most[f][0];
        let mut counts: Vec<bool> = states.iter().map(|state| *state == State::In).collect();
        let free = (0..states.len()).filter(|f| states[*f] == State::Free);
        let mut free: Vec<usize> = free.collect();
        let host = |f: usize| self.held.hosts[f];
        free.sort_by(|&a, &b| {
            let hosts = host(a).cmp(&host(b));
            hosts.then(gain(b).total_cmp(&gain(a))).then(a.cmp(&b))
        });
        let mut places = self.places(states);
        for f in free {
            if let Some(place) = &mut places[host(f)]
                && *place >= 1.0
                && (gain(f) > 0.0 || self.is_exact())
            {
                *place -= 1.0;
                counts[f] = true;
            }
        }
        // Without gains: an outage may be so large that nothing is left of a difference.
        let kept = most.iter().zip(&counts);
        let kept: f64 = kept.map(|(most, counts)| most[usize::from(*counts)]).sum();
        let value = prices.iter().sum::<f64>() + kept;
        (if value.is_nan() { f64::INFINITY } else { value }, counts)
    }

    /// Prices to begin with, and the flows that they choose.
    pub(crate) fn start(&self, prices: &[f64], states: &[State]) -> (Lowest, Vec<bool>) {
        let (bound, counts) = self.evaluate(prices, states);
        let lowest = Lowest {
            prices: prices.to_vec(),
            parts: Vec::new(),
            bound,
            passes: 1,
        };
        (lowest, counts)
    }

    /// What each flow gains by counting, at prices.
    pub(crate) fn gains(&self, prices: &[f64]) -> Vec<f64> {
        let gain = |f: usize| {
            let [without, with] = self.most(f, prices);
            with - without
        };
        (0..self.held.hosts.len()).map(gain).collect()
    }

    /// What a flow keeps at prices at most where it doesn't count, and where it does.
    fn most(&self, f: usize, prices: &[f64]) -> [f64; 2] {
        let (ways, count) = self.held.ways(f, self.price(f, prices), self.selection);
        [false, true].map(|counts| {
            let ways = ways[..count].iter().filter(|way| way.counts == counts);
            ways.map(|way| way.keeps).fold(f64::NEG_INFINITY, f64::max)
        })
    }

    fn price(&self, f: usize, prices: &[f64]) -> f64 {
        self.held.program.price(f, prices)
    }

    /// Minimises it from prices, until `enough` is reached or nothing more is gained.
    pub(crate) fn minimise(
        &self,
        states: &[State],
        from: &Lowest,
        first: f64,
        enough: f64,
    ) -> Lowest {
        let places = self.places(states);
        let rows = from.prices.len();
        let (bound, _) = self.evaluate(&from.prices, states);
        let top = from.prices.iter().copied().fold(1e-300, f64::max);
        let size = bound.abs().min(1e200).max(top);
        let mut at = from.prices.clone();
        at.resize(rows + self.held.host_count, 0.0);
        let mut tau = first * size / states.len() as f64;
        let open = from.bound - enough;
        if open.is_finite() && open > 0.0 {
            tau = tau.min(OPENING * open / at.len() as f64);
        }
        for (index, value) in at.iter_mut().enumerate() {
            if index < rows || !self.is_exact() {
                *value = value.max(1e-4 * top.min(tau));
            }
        }
        self.level(states, &places, &mut at, tau);
        let mut lowest = Lowest {
            bound,
            passes: 4,
            ..from.clone()
        };
        let mut path = Vec::new();
        for _ in 0..STAGES {
            let passes = self.centre(states, &places, &mut at, tau);
            lowest.passes += passes + 1;
            let (bound, _) = self.evaluate(&at[..rows], states);
            if bound < lowest.bound {
                lowest.bound = bound;
                lowest.prices.copy_from_slice(&at[..rows]);
            }
            path.push((tau, at.clone()));
            // What a smaller `tau` can still take away.
            let rest = 2.0 * tau * at.len() as f64;
            let open = lowest.bound - enough;
            if open <= 0.0 || tau < LEAST * size || (open.is_finite() && rest < PRECISION * open) {
                break;
            }
            tau *= FALL;
            self.predict(&path, tau, &mut at);
        }
        let used = tau.max(1e-9 * size / states.len() as f64);
        lowest.parts = (0..states.len())
            .map(|f| self.part(f, &at, states[f], used))
            .collect();
        lowest
    }

    /// Puts the threshold of each host where it belongs at the prices.
    fn level(&self, states: &[State], places: &[Option<f64>], at: &mut [f64], tau: f64) {
        let rows = self.held.capacities.len();
        let mut gains: Vec<Vec<f64>> = alloc::vec![Vec::new(); places.len()];
        for (f, host) in self.held.hosts.iter().enumerate() {
            if states[f] == State::Free {
                gains[*host].push(self.gain(f, at, tau));
            }
        }
        for (host, gains) in gains.iter().enumerate() {
            let Some(place) = places[host] else { continue };
            let least = gains.iter().copied().fold(f64::INFINITY, f64::min) - 50.0 * tau;
            let most = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max) + 50.0 * tau;
            let (mut low, mut high) = (least, most);
            if !self.is_exact() {
                (low, high) = (0.0, most.max(0.0) + 2.0 * tau);
            }
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                let part = |gain: &f64| 1.0 / (1.0 + libm::exp((middle - gain) / tau));
                let mut taken: f64 = gains.iter().map(part).sum();
                if !self.is_exact() {
                    taken += tau / middle;
                }
                if taken > place {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            at[rows + host] = 0.5 * (low + high);
        }
    }

    /// What a flow gains by counting, smoothed.
    fn gain(&self, f: usize, at: &[f64], tau: f64) -> f64 {
        let (ways, count) = self.held.ways(f, self.price(f, at), self.selection);
        let sum = |counts: bool| {
            let keeps = || ways[..count].iter().filter(move |way| way.counts == counts);
            let most = keeps()
                .map(|way| way.keeps)
                .fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = keeps().map(|way| libm::exp((way.keeps - most) / tau)).sum();
            most + tau * libm::log(sum)
        };
        sum(true) - sum(false)
    }

    /// Goes on along the line of the last two points: what is least moves in proportion to `tau` as that falls.
    fn predict(&self, path: &[(f64, Vec<f64>)], tau: f64, at: &mut [f64]) {
        let [.., (before, from), (last, to)] = path else {
            return;
        };
        let rows = self.held.capacities.len();
        let part = (tau - last) / (last - before);
        for (index, (value, (from, to))) in at.iter_mut().zip(from.iter().zip(to)).enumerate() {
            let next = to + part * (to - from);
            let positive = index < rows || !self.is_exact();
            *value = if positive { next.max(0.05 * to) } else { next };
        }
    }

    /// Ways of a flow with what each is worth after its threshold, and their shares.
    fn shares(
        &self,
        f: usize,
        at: &[f64],
        state: State,
        tau: f64,
    ) -> ([Way; 3], [f64; 3], f64, f64) {
        let rows = self.held.capacities.len();
        let price = self.price(f, at);
        let (ways, count) = self.held.ways(f, price, self.selection);
        let threshold = if state == State::Free {
            at[rows + self.held.hosts[f]]
        } else {
            0.0
        };
        let mut net = [f64::NEG_INFINITY; 3];
        for (net, way) in net.iter_mut().zip(&ways[..count]) {
            if self.allows(state, way) {
                *net = way.keeps - if way.counts { threshold } else { 0.0 };
            }
        }
        let most = net.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut shares = net.map(|net| libm::exp((net - most) / tau));
        let sum: f64 = shares.iter().sum();
        for share in &mut shares {
            *share /= sum;
        }
        (ways, shares, most + tau * libm::log(sum), price)
    }

    fn part(&self, f: usize, at: &[f64], state: State, tau: f64) -> f64 {
        let (ways, shares, ..) = self.shares(f, at, state, tau);
        let counted = ways.iter().zip(shares).filter(|(way, _)| way.counts);
        counted.map(|(_, share)| share).sum()
    }

    /// Newton's method at one `tau`; gives how often the function was evaluated.
    fn centre(
        &self,
        states: &[State],
        places: &[Option<f64>],
        at: &mut Vec<f64>,
        tau: f64,
    ) -> usize {
        let mut passes = 2;
        let mut here = self.smooth(states, places, at, tau, true);
        for _ in 0..STEPS {
            let minus: Vec<f64> = here.gradient.iter().map(|slope| -slope).collect();
            let Some(step) = definite(here.matrix, minus) else {
                return passes;
            };
            let slope: f64 = step.iter().zip(&here.gradient).map(|(a, b)| a * b).sum();
            if -slope <= CENTRED * tau {
                return passes;
            }
            let rows = self.held.capacities.len();
            let mut length = 1.0_f64;
            for (index, (value, change)) in at.iter().zip(&step).enumerate() {
                if (index < rows || !self.is_exact()) && *change < 0.0 {
                    length = length.min(-0.95 * value / change);
                }
            }
            let from = at.clone();
            let mut all = true;
            here = loop {
                for (value, (from, change)) in at.iter_mut().zip(from.iter().zip(&step)) {
                    *value = from + length * change;
                }
                let there = self.smooth(states, places, at, tau, all);
                passes += 1 + usize::from(all);
                if there.value <= here.value + 0.1 * length * slope {
                    break if all {
                        there
                    } else {
                        passes += 2;
                        self.smooth(states, places, at, tau, true)
                    };
                }
                all = false;
                length *= 0.4;
                if length < 1e-6 {
                    // What is left is rounding.
                    at.clone_from(&from);
                    return passes;
                }
            };
        }
        passes
    }

    /// The smoothed function, and its derivatives if `all`.
    fn smooth(
        &self,
        states: &[State],
        places: &[Option<f64>],
        at: &[f64],
        tau: f64,
        all: bool,
    ) -> Smooth {
        let rows = self.held.capacities.len();
        let size = at.len();
        let mut value: f64 = at[..rows].iter().sum();
        let mut gradient = alloc::vec![1.0; size];
        let mut matrix = alloc::vec![0.0; if all { size * size } else { 0 }];
        for index in 0..size {
            let is_price = index < rows;
            let place = if is_price { None } else { places[index - rows] };
            if !is_price {
                gradient[index] = place.unwrap_or(0.0);
                value += place.unwrap_or(0.0) * at[index];
            }
            if is_price || (place.is_some() && !self.is_exact()) {
                value -= tau * libm::log(at[index]);
                gradient[index] -= tau / at[index];
                if all {
                    matrix[index * size + index] += tau / (at[index] * at[index]);
                }
            } else if all {
                matrix[index * size + index] += if place.is_some() { 1e-14 } else { 1.0 };
            }
        }
        for (f, state) in states.iter().enumerate() {
            let (ways, shares, worth, _) = self.shares(f, at, *state, tau);
            value += worth;
            if !all {
                continue;
            }
            let Moments {
                rate,
                square,
                flexible,
                part,
                joint,
            } = Moments::of(ways.iter().zip(shares));
            let bend = flexible + (square - rate * rate).max(0.0) / tau;
            let uses = self.held.program.uses(f);
            for &(row, load) in uses {
                gradient[row as usize] -= load * rate;
                for &(other, factor) in uses {
                    matrix[row as usize * size + other as usize] += load * factor * bend;
                }
            }
            if *state == State::Free {
                let host = rows + self.held.hosts[f];
                gradient[host] -= part;
                matrix[host * size + host] += part * (1.0 - part) / tau;
                let cross = (joint - part * rate) / tau;
                for &(row, load) in uses {
                    matrix[row as usize * size + host] += load * cross;
                    matrix[host * size + row as usize] += load * cross;
                }
            }
        }
        Smooth {
            value: if value.is_nan() { f64::INFINITY } else { value },
            gradient,
            matrix,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupled::held::Most;
    use crate::coupled::{Network, RowKind, SharedRow};
    use crate::host::{Fairness, Utility};

    #[test]
    fn bounds_keep_their_digits_beside_great_outages() {
        let entries = (0..3).map(|f| (f, 1.0 + f as f64)).collect();
        let network = Network {
            hosts: 1,
            applications: 3,
            utility: Utility {
                fairness: Fairness::Alpha(0.5),
                latency: 0.0,
            },
            weight: alloc::vec![1e-8, 2e-8, 3e-8],
            latency_weight: alloc::vec![1.0; 3],
            completions: alloc::vec![1.0; 3],
            minimum: Vec::new(),
            maximum: Vec::new(),
            rows: alloc::vec![SharedRow {
                kind: RowKind::Core,
                host: None,
                capacity: 1.0,
                entries,
            }],
        };
        let source = network.indexed().expect("a network");
        let held = Held::new(&source, 0.5, Most::CHOSEN).expect("a small one");
        let dual = Dual {
            held: &held,
            selection: Selection {
                choice: Choice::ActiveSet(3),
                outage: -1e6,
            },
            k: 3,
        };
        let (inside, _) = dual.evaluate(&[3e-8], &[State::In; 3]);
        let (free, counts) = dual.evaluate(&[3e-8], &[State::Free; 3]);
        assert!(counts.iter().all(|counts| *counts));
        assert!(
            (free - inside).abs() <= 1e-15 * inside,
            "{free:e} {inside:e}"
        );
    }
}
