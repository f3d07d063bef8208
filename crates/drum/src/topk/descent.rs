//! The way down the dual function.

use alloc::vec::Vec;

use super::dual::{Dual, Evaluation};
use crate::cutting::Localiser;
use crate::search::State;

/// Jumps to the prices of selections before the region is laid out.
const JUMPS: usize = 3;

/// The way down the dual function: first to the prices of the selections that prices choose, then by
/// cutting planes.
pub(crate) struct Descent {
    pub(crate) prices: Vec<f64>,
    pub(super) region: Localiser,
    /// Values from before the region was laid out.
    first: Vec<(Vec<f64>, Evaluation)>,
    started: bool,
    pub(crate) evaluations: usize,
    /// Selections met, the last one last.
    pub(super) latest: Vec<Vec<usize>>,
    limits: Vec<f64>,
    lowest: f64,
    /// Evaluations that there may be.
    most: usize,
}

impl Descent {
    pub(crate) fn new(dual: &Dual<'_>, start: Option<Vec<f64>>, most: usize) -> Self {
        let limits = dual.limits();
        let mut prices = start.unwrap_or_else(|| dual.first_prices());
        for (price, limit) in prices.iter_mut().zip(&limits) {
            *price = price.min(*limit);
        }
        Self {
            region: Localiser::new(&prices, &limits),
            prices,
            first: Vec::new(),
            started: false,
            evaluations: 0,
            latest: Vec::new(),
            limits,
            lowest: f64::INFINITY,
            most,
        }
    }

    pub(crate) fn evaluate(&mut self, dual: &mut Dual<'_>, states: &[State]) -> Evaluation {
        let evaluation = dual.evaluate(&self.prices, states);
        self.evaluations += 1;
        self.lowest = self.lowest.min(evaluation.value);
        if self.started {
            let slope = if evaluation.value.is_finite() {
                evaluation.slope.clone()
            } else {
                // Prices too low for a value have to rise.
                alloc::vec![-1.0; self.prices.len()]
            };
            self.region.on_value(&self.prices, evaluation.value, &slope);
        } else {
            self.first.push((self.prices.clone(), evaluation.clone()));
        }
        evaluation
    }

    pub(crate) fn best(&self) -> f64 {
        self.lowest
    }

    pub(crate) fn best_at(&self) -> Option<Vec<f64>> {
        let finite = self.first.iter().filter(|entry| entry.1.value.is_finite());
        let first = finite.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
        match (self.region.best_at(), first) {
            (Some(at), Some((_, entry))) if entry.value >= self.region.best() => Some(at.to_vec()),
            (Some(at), None) => Some(at.to_vec()),
            (_, first) => first.map(|entry| entry.0.clone()),
        }
    }

    /// Goes to the next prices, those of a selection if they can be better; true if there are none.
    pub(crate) fn next(&mut self, jump: Option<Vec<f64>>, tolerance: f64) -> bool {
        if !self.started {
            if let Some(prices) = jump.clone().filter(|_| self.evaluations <= JUMPS) {
                self.prices = prices;
                self.clamp();
                return false;
            }
            self.start();
        }
        if self.evaluations >= self.most || self.region.is_done(tolerance) {
            return true;
        }
        match jump {
            Some(prices) if self.region.contains(&prices) => self.prices = prices,
            _ => self.region.next(&mut self.prices),
        }
        self.clamp();
        false
    }

    fn clamp(&mut self) {
        for (price, limit) in self.prices.iter_mut().zip(&self.limits) {
            *price = price.min(*limit);
        }
    }

    /// Lays the region out around the prices met so far.
    fn start(&mut self) {
        self.started = true;
        let mut upper = alloc::vec![0.0_f64; self.prices.len()];
        for (prices, _) in &self.first {
            for (upper, price) in upper.iter_mut().zip(prices) {
                *upper = upper.max(4.0 * price);
            }
        }
        let most = upper.iter().copied().fold(1e-300, f64::max);
        for upper in &mut upper {
            *upper = upper.max(0.05 * most);
        }
        self.region = Localiser::new(&upper, &self.limits);
        for (prices, evaluation) in &self.first {
            if evaluation.value.is_finite() {
                self.region
                    .on_value(prices, evaluation.value, &evaluation.slope);
            }
        }
    }

    /// Whether the region is small and surely holds the least value.
    pub(super) fn is_local(&self) -> bool {
        let (low, high) = self.region.bounds();
        let most = high.iter().copied().fold(0.0, f64::max);
        let narrow = |(low, high): (&f64, &f64)| *high < 2.0 * low || *high < 0.02 * most;
        self.started && self.region.is_inside() && low.iter().zip(&high).all(narrow)
    }
}
