//! The way down the dual function.

use alloc::vec::Vec;

use super::dual::{Dual, Evaluation};
use crate::cutting::Localiser;
use crate::search::State;

/// Jumps to the prices of selections that may lie outside the region.
const JUMPS: usize = 3;

/// The way down the dual function: first to the prices of the selections that prices choose, then by
/// cutting planes.
pub(crate) struct Descent {
    pub(crate) prices: Vec<f64>,
    pub(super) region: Localiser,
    pub(crate) evaluations: usize,
    /// Selections met, the last one last.
    pub(super) latest: Vec<Vec<usize>>,
    limits: Vec<f64>,
    /// Whether the prices are from elsewhere than the region.
    jumped: bool,
    /// Evaluations that there may be.
    most: usize,
}

impl Descent {
    pub(crate) fn new(dual: &Dual<'_>, start: Option<Vec<f64>>, most: usize) -> Self {
        let limits = dual.limits();
        let prices = start.unwrap_or_else(|| dual.first_prices());
        let mut descent = Self {
            region: Localiser::new(&around(&prices), &limits),
            prices,
            evaluations: 0,
            latest: Vec::new(),
            limits,
            jumped: true,
            most,
        };
        descent.clamp();
        descent
    }

    pub(crate) fn evaluate(&mut self, dual: &mut Dual<'_>, states: &[State]) -> Evaluation {
        let evaluation = dual.evaluate(&self.prices, states);
        self.evaluations += 1;
        let Evaluation { value, slope, .. } = &evaluation;
        if value.is_finite() {
            self.region.on_value(&self.prices, *value, slope);
        } else if !self.jumped {
            // Inside the region, where none is 0, prices without a value are too low. A selection's are 0 for rows it doesn't fill.
            let rise = alloc::vec![-1.0; self.prices.len()];
            self.region.on_value(&self.prices, *value, &rise);
        }
        evaluation
    }

    pub(crate) fn best(&self) -> f64 {
        self.region.best()
    }

    pub(crate) fn best_at(&self) -> Option<Vec<f64>> {
        self.region.best_at().map(<[f64]>::to_vec)
    }

    /// Goes to the next prices, those of a selection if they can be better; true if there are none.
    pub(crate) fn next(&mut self, jump: Option<Vec<f64>>, tolerance: f64) -> bool {
        let early = self.evaluations <= JUMPS;
        let jump = jump.filter(|prices| early || self.region.contains(prices));
        if self.evaluations >= self.most || (jump.is_none() && self.region.is_done(tolerance)) {
            return true;
        }
        self.jumped = jump.is_some();
        match jump {
            Some(prices) => {
                self.region.include(&around(&prices));
                self.prices = prices;
            }
            None => self.region.next(&mut self.prices),
        }
        self.clamp();
        false
    }

    fn clamp(&mut self) {
        for (price, limit) in self.prices.iter_mut().zip(&self.limits) {
            *price = price.min(*limit);
        }
    }

    /// Whether the region is small and surely holds the least value.
    pub(super) fn is_local(&self) -> bool {
        let (low, high) = self.region.bounds();
        let most = high.iter().copied().fold(0.0, f64::max);
        let narrow = |(low, high): (&f64, &f64)| *high < 2.0 * low || *high < 0.02 * most;
        self.region.is_inside() && low.iter().zip(&high).all(narrow)
    }
}

/// Upper ends of a region around prices.
fn around(prices: &[f64]) -> Vec<f64> {
    let most = prices.iter().copied().fold(1e-300, f64::max);
    prices
        .iter()
        .map(|price| (4.0 * price).max(0.2 * most))
        .collect()
}
