//! Payload that has been placed at receivers, over time.

use crate::sampler::fold_pairs;

/// Bytes placed at receivers in each interval of the time series, by tenant.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    /// By tenant, bytes placed before this interval.
    before: Vec<u64>,
    /// By interval and tenant.
    rows: Vec<u64>,
}

impl Placed {
    /// Nothing yet, of so many tenants.
    pub(crate) fn new(tenants: usize) -> Self {
        Self {
            before: vec![0; tenants],
            rows: Vec::new(),
        }
    }

    /// Ends an interval; `placed` are the bytes by tenant since the run began.
    pub(crate) fn add_row(&mut self, placed: impl Iterator<Item = u64>) {
        for (before, placed) in self.before.iter_mut().zip(placed) {
            self.rows.push(placed - *before);
            *before = placed;
        }
    }

    /// Makes one interval of every two.
    pub(crate) fn halve(&mut self) {
        fold_pairs(&mut self.rows, self.before.len(), |a, b| a + b);
    }

    /// Takes in what was placed in another part of the fabric.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let pairs = self.rows.iter_mut().zip(&other.rows);
        pairs.for_each(|(all, part)| *all += part);
    }

    /// By interval, the bytes of one tenant.
    pub(crate) fn of(&self, tenant: usize) -> Vec<u64> {
        let rows = self.rows.chunks_exact(self.before.len());
        rows.map(|row| row[tenant]).collect()
    }
}
