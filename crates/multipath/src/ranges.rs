//! Which bytes of a message have arrived.

use alloc::vec::Vec;

/// Disjoint ranges in order, none of which touches the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    all: Vec<(u64, u64)>,
}

impl Ranges {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Forgets all of them, but keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Whether all bytes of a range are there.
    pub(crate) fn cover(&self, start: u64, end: u64) -> bool {
        let at = self.all.partition_point(|it| it.1 < end);
        start == end || self.all.get(at).is_some_and(|it| it.0 <= start)
    }

    /// Adds a range that isn't empty.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        // Those that overlap or touch it.
        let from = self.all.partition_point(|it| it.1 < start);
        let until = self.all.partition_point(|it| it.0 <= end);
        if from == until {
            return self.all.insert(from, (start, end));
        }
        let merged = (self.all[from].0.min(start), self.all[until - 1].1.max(end));
        self.all[from] = merged;
        self.all.drain(from + 1..until);
    }

    pub(crate) fn heap(&self) -> usize {
        self.all.capacity() * size_of::<(u64, u64)>()
    }
}
