//! How rates are changed so that they keep all rows and use what is left of them.
//!
//! Changing all flows of a row by one factor is always possible, but flows that hardly use a row and
//! depend on every bit of their rate lose most. So a row takes from each flow, and gives to it, in
//! proportion to what the row would be of the flow's price: as if the row's price changed.

use alloc::vec::Vec;

use crate::coupled::order::Repair;

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

    /// Changes all flows of the row by one factor.
    fn uniform(&self, row: usize) -> Repair {
        let floor = self.floors.get(row).copied().unwrap_or(0.0);
        let above = self.loads[row] - floor;
        let part = 1.0 - self.excess(row) / above;
        Repair::Part(if part.is_finite() { part.max(0.0) } else { 1.0 })
    }
}

/// As if prices were raised where a row is over its capacity, and lowered where it is under it.
///
/// With [`Repair::Price`] a flow loses `change T / phi'` of its rate to the row, and all flows together
/// `change * weight`, which is the excess; where some flow would lose too much by that, all lose the same part.
pub(crate) fn repair(rows: &RowState<'_>) -> Vec<Repair> {
    let repair = |row: usize| {
        let excess = rows.excess(row);
        let change = excess / rows.weights[row];
        if excess <= 0.0 {
            // No flow answers to the price of a row without weight.
            Repair::Price(if change.is_finite() { change } else { 0.0 })
        } else if change >= 0.0 && change * rows.tops[row] <= MOST {
            Repair::Price(change)
        } else {
            rows.uniform(row)
        }
    };
    (0..rows.loads.len()).map(repair).collect()
}

/// Changes all flows of a row by one factor.
pub(crate) fn uniform_repair(rows: &RowState<'_>) -> Vec<Repair> {
    (0..rows.loads.len()).map(|row| rows.uniform(row)).collect()
}
