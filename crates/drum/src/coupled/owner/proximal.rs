//! Prices by proximal steps: consensus ADMM that collapses to one price for each row.

use alloc::vec::Vec;

use super::{Method, Owner, Stage};
use crate::coupled::order::{Curvature, Order, Sums};
use crate::coupled::repair::uniform_repair;

/// Over-relaxation of prices.
const OMEGA: f64 = 1.6;
/// Proximal steps whose curvature is renewed; later ones keep it, and so converge.
const RENEWED: usize = 50;

impl Owner {
    /// Loads and weights of rates between proximal steps.
    pub(super) fn on_rates(&mut self, sums: &Sums) -> Order {
        self.count();
        self.take(sums);
        if self.options.method == Method::Admm {
            self.stage = Stage::Valuing;
            return Order::Value {
                repair: uniform_repair(&self.rows()),
            };
        }
        if self.left == 0 {
            // Rates are lost with an answer, so it must be known that each flow has a price.
            self.stage = Stage::Probing;
            return Order::Bound {
                prices: self.prices.clone(),
            };
        }
        self.left -= 1;
        self.step()
    }

    pub(super) fn on_probe(&mut self, worth: f64) -> Order {
        if worth.is_finite() || self.reduces >= self.options.iterations {
            return self.ask(self.prices.clone());
        }
        self.step()
    }

    /// A proximal step: prices first, rates against the extrapolated prices.
    pub(super) fn step(&mut self) -> Order {
        let next = self.next_prices();
        let point = next
            .iter()
            .zip(&self.prices)
            .map(|(next, price)| 2.0 * next - price)
            .collect();
        for (price, next) in self.prices.iter_mut().zip(&next) {
            *price = (*price + OMEGA * (next - *price)).max(0.0);
        }
        self.proximal += 1;
        self.stage = Stage::Proximal;
        let curvature = match self.proximal {
            ..RENEWED => Curvature::Renewed,
            RENEWED => Curvature::Remembered,
            _ => Curvature::Frozen,
        };
        Order::Prox { point, curvature }
    }

    pub(super) fn next_prices(&self) -> Vec<f64> {
        let rows = 0..self.prices.len();
        rows.map(|r| {
            let excess = self.loads[r] - self.capacities[r];
            let step = if self.weights[r] > 0.0 {
                excess / self.weights[r]
            } else {
                0.0
            };
            (self.prices[r] + step).max(0.0)
        })
        .collect()
    }

    /// Value of the rates of a proximal step under ADMM alone.
    pub(super) fn on_iterate_value(&mut self, worth: f64) -> Order {
        self.current = worth;
        if worth > self.value {
            self.value = worth;
        }
        self.asked = self.next_prices();
        self.stage = Stage::Bounding;
        Order::Bound {
            prices: self.asked.clone(),
        }
    }

    pub(super) fn on_bound(&mut self, worth: f64) -> Order {
        self.lower_bound(worth);
        let certified = self.is_certified() && self.current == self.value;
        if certified || self.reduces >= self.options.iterations {
            self.stage = Stage::Keeping;
            return Order::Keep {
                repair: uniform_repair(&self.rows()),
            };
        }
        self.step()
    }
}
