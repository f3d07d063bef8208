//! Answers with certificates.

use alloc::vec::Vec;

/// Largest relative gap that counts as none.
pub(crate) const PROOF: f64 = 1e-9;

/// What an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Nothing is better: at most 1e-9 lies between value and bound, relatively.
    Optimal,
    /// Feasible with a gap: that of a selection which nothing proves to be the best, or one that the tolerance allows.
    #[default]
    Feasible,
    /// Feasible with a gap above the tolerance where none need be: the method got no further, or wasn't given the passes.
    Stalled,
}

impl Status {
    /// What an answer with this relative gap is, of a problem in which applications were selected or not.
    pub fn new(relative_gap: f64, tolerance: f64, selects: bool) -> Self {
        if relative_gap <= PROOF {
            Self::Optimal
        } else if selects || relative_gap <= tolerance {
            Self::Feasible
        } else {
            Self::Stalled
        }
    }

    /// In one word: `optimal`, `feasible` or `stalled`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Optimal => "optimal",
            Self::Feasible => "feasible",
            Self::Stalled => "stalled",
        }
    }
}

/// Rates of a host's applications, what they are worth, and what could be reached at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Value of the rates; they keep every row and every bound.
    pub objective: f64,
    /// What `dual_prices` prove: nothing that keeps the rows and bounds is worth more than the Lagrangian there.
    pub dual_bound: f64,
    /// The least bound that is proven: `dual_bound`, or less where a search among selections found that none is worth more.
    pub proven_bound: f64,
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
    /// What all this amounts to.
    pub status: Status,
}

impl Solution {
    /// How far the value can be from the best at most: `proven_bound - objective`.
    pub fn gap(&self) -> f64 {
        (self.proven_bound - self.objective).max(0.0)
    }

    /// [`gap`](Self::gap) over the largest of the sizes of value and proven bound, and [`scale`](Self::scale): so it stays small
    /// where terms of different signs add up to a value near 0.
    pub fn relative_gap(&self) -> f64 {
        let size = self.objective.abs().max(self.scale);
        relative(self.gap(), size, self.proven_bound)
    }
}

/// A gap over the larger size of the two values that it separates.
pub(crate) fn relative(gap: f64, objective: f64, bound: f64) -> f64 {
    gap / objective.abs().max(bound.abs()).max(1e-300)
}
