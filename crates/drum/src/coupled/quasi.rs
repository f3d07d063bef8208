//! Directions for prices: limited-memory BFGS over the prices that may move, scaled by how strongly
//! the use of each row answers to its price.

use alloc::vec::Vec;

/// Pairs of steps that are remembered.
const MEMORY: usize = 20;

/// Least and greatest part of a diagonal Newton step that directions begin with.
const SCALE: (f64, f64) = (0.2, 1.5);

struct Correction {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// Remembers how the gradient changed with the prices.
#[derive(Default)]
pub(crate) struct Quasi {
    pairs: Vec<Correction>,
}

impl Quasi {
    pub(crate) fn forget(&mut self) {
        self.pairs.clear();
    }

    /// Remembers a step of prices and the change of the gradient with it.
    pub(crate) fn remember(&mut self, step: Vec<f64>, change: Vec<f64>) {
        if self.pairs.len() == MEMORY {
            self.pairs.remove(0);
        }
        self.pairs.push(Correction { step, change });
    }

    /// By how much to lower prices; rows that are not `free` stay. `weights` are estimates of the
    /// second derivatives.
    pub(crate) fn direction(&self, gradient: &[f64], weights: &[f64], free: &[bool]) -> Vec<f64> {
        let mut direction: Vec<f64> = gradient.to_vec();
        mask(&mut direction, free);
        let mut used: Vec<(&Correction, f64, f64)> = Vec::new();
        for pair in self.pairs.iter().rev() {
            let product = masked(&pair.step, &pair.change, free);
            let length = weigh(&pair.step, free, |r| weights[r]);
            let bend = weigh(&pair.change, free, |r| 1.0 / weights[r].max(1e-300));
            // Squares, so that no root is needed: a pair without curvature says nothing.
            if product <= 0.0 || product * product <= 1e-20 * length * bend {
                continue;
            }
            let along = masked(&pair.step, &direction, free) / product;
            subtract(&mut direction, &pair.change, along, free);
            used.push((pair, along, product));
        }
        let scale = used.first().map_or(1.0, |(pair, _, product)| {
            let bend = weigh(&pair.change, free, |r| 1.0 / weights[r].max(1e-300));
            (product / bend).clamp(SCALE.0, SCALE.1)
        });
        for (value, weight) in direction.iter_mut().zip(weights) {
            *value *= scale / weight.max(1e-300);
        }
        for (pair, along, product) in used.iter().rev() {
            let back = masked(&pair.change, &direction, free) / product;
            subtract(&mut direction, &pair.step, back - along, free);
        }
        mask(&mut direction, free);
        direction
    }
}

fn mask(list: &mut [f64], free: &[bool]) {
    for (value, free) in list.iter_mut().zip(free) {
        if !free {
            *value = 0.0;
        }
    }
}

fn masked(a: &[f64], b: &[f64], free: &[bool]) -> f64 {
    let terms = a.iter().zip(b).zip(free);
    terms
        .map(|((a, b), free)| if *free { a * b } else { 0.0 })
        .sum()
}

fn weigh(a: &[f64], free: &[bool], weight: impl Fn(usize) -> f64) -> f64 {
    let terms = a.iter().zip(free).enumerate();
    terms
        .map(|(r, (a, free))| if *free { a * a * weight(r) } else { 0.0 })
        .sum()
}

fn subtract(from: &mut [f64], what: &[f64], times: f64, free: &[bool]) {
    for ((value, what), free) in from.iter_mut().zip(what).zip(free) {
        if *free {
            *value -= times * what;
        }
    }
}
