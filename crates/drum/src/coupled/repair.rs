//! How rates are reduced so that they keep all rows.
//!
//! Reducing all flows of a row by one factor is always possible, but flows that hardly use a row and
//! depend on every bit of their rate lose most. So a row takes from each flow in proportion to what
//! the row would be of the flow's price: as if the row's price were raised.

use alloc::vec::Vec;

/// Capacity that repairs leave unused, so that rounding doesn't pass it.
const MARGIN: f64 = 1e-12;
/// Largest part of a flow's rate that a row takes in this way.
const MOST: f64 = 0.5;

/// What is known of the rows.
pub(crate) struct RowState<'a> {
    pub(crate) capacities: &'a [f64],
    /// Use by least rates; empty where they are all 0.
    pub(crate) floors: &'a [f64],
    pub(crate) loads: &'a [f64],
    /// `sum T^2 (x - lo) / phi'` of each row.
    pub(crate) weights: &'a [f64],
    /// Largest `T / phi'` of each row's flows.
    pub(crate) tops: &'a [f64],
}

impl RowState<'_> {
    /// By how much a row is over its capacity.
    fn excess(&self, row: usize) -> f64 {
        self.loads[row] - self.capacities[row] * (1.0 - MARGIN)
    }

    /// Code that reduces all flows of the row by one factor.
    fn uniform(&self, row: usize) -> f64 {
        let floor = self.floors.get(row).copied().unwrap_or(0.0);
        let above = self.loads[row] - floor;
        -(self.excess(row) / above).clamp(0.0, 1.0)
    }
}

/// A code for each row: as if prices were raised, where no flow loses too much by that.
///
/// A flow loses `code T / phi'` of its rate to the row, and all flows together `code * weight`, which is
/// the excess.
pub(crate) fn repair(rows: &RowState<'_>) -> Vec<f64> {
    let code = |row: usize| {
        let excess = rows.excess(row);
        if excess <= 0.0 {
            return 0.0;
        }
        let code = excess / rows.weights[row];
        if code * rows.tops[row] <= MOST {
            code
        } else {
            rows.uniform(row)
        }
    };
    (0..rows.loads.len()).map(code).collect()
}

/// A code for each row that reduces all flows of a row by one factor.
pub(crate) fn uniform_repair(rows: &RowState<'_>) -> Vec<f64> {
    let code = |row: usize| {
        if rows.excess(row) > 0.0 {
            rows.uniform(row)
        } else {
            0.0
        }
    };
    (0..rows.loads.len()).map(code).collect()
}
