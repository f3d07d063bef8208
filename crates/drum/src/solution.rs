//! Answers with certificates.

use alloc::vec::Vec;

/// Rates of a host's applications, what they are worth, and what could be reached at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Value of the rates; they keep every row and every bound.
    pub objective: f64,
    /// Nothing that keeps the rows and bounds is worth more: the Lagrangian at `dual_prices`.
    pub dual_bound: f64,
    /// Sum of the sizes of the terms that the value adds up: throughput and latency of each application, and the
    /// cost of each row with a price. Values near 0 are differences of such terms.
    pub scale: f64,
    /// Rate at which work requests are fetched, by application (WQE/s).
    pub x: Vec<f64>,
    /// Rate at which completions are polled, by application (CQE/s).
    pub z: Vec<f64>,
    /// Price of each row, in utility for a unit of the row's capacity, for the selection made.
    pub prices: Vec<f64>,
    /// Prices at which `dual_bound` holds; equal to `prices` unless applications had to be selected.
    pub dual_prices: Vec<f64>,
    /// Applications that were selected, ascending.
    pub selected: Vec<usize>,
    /// How much of each row is used.
    pub usage: Vec<f64>,
    /// Passes over the applications.
    pub iterations: usize,
    /// Whether no selection can be better: the bound is met, or a complete search found none.
    pub proven: bool,
}

impl Solution {
    /// How far the value can be from the best at most.
    pub fn gap(&self) -> f64 {
        (self.dual_bound - self.objective).max(0.0)
    }

    /// [`gap`](Self::gap) over the largest of the sizes of value and bound, and [`scale`](Self::scale): so it stays small
    /// where terms of different signs add up to a value near 0.
    pub fn relative_gap(&self) -> f64 {
        let size = self.objective.abs().max(self.scale);
        relative(self.gap(), size, self.dual_bound)
    }
}

/// A gap over the larger size of the two values that it separates.
pub(crate) fn relative(gap: f64, objective: f64, bound: f64) -> f64 {
    gap / objective.abs().max(bound.abs()).max(1e-300)
}
