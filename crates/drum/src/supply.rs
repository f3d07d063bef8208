//! Rows with capacities and rows with prices, in the row's unit.

use alloc::vec::Vec;

use crate::host::Supply;
use crate::problem::unit;

/// What a row supplies at which price.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staircase {
    /// What there is without a cost.
    capacity: f64,
    /// Starts and slopes of the cost, by rising slope; none if the row has a capacity.
    segments: Vec<(f64, f64)>,
}

impl Staircase {
    pub(crate) fn new(supply: &Supply<'_>) -> Self {
        let unit = unit(supply);
        match *supply {
            Supply::Capacity(_) => Self {
                capacity: 1.0,
                segments: Vec::new(),
            },
            Supply::Price(segments) => Self {
                capacity: 0.0,
                segments: segments
                    .iter()
                    .map(|&(start, slope)| (start / unit, slope * unit))
                    .collect(),
            },
        }
    }

    /// A row that has what some rates give it, and nothing of its own.
    pub(crate) const fn tie() -> Self {
        Self {
            capacity: 0.0,
            segments: Vec::new(),
        }
    }

    /// What there is of a row without a price for it; nothing of one that is bought.
    pub(crate) const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Whether the row has something that rates can share.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_hard() || self.capacity > 0.0
    }

    /// Whether the row has a capacity instead of a price.
    pub(crate) fn is_hard(&self) -> bool {
        self.segments.is_empty()
    }

    /// Lengths and slopes of the segments of the cost.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (f64, f64)> {
        let next = self.segments.iter().skip(1).map(|(start, _)| *start);
        let ends = next.chain([f64::INFINITY]);
        let segments = self.segments.iter().zip(ends);
        segments.map(|(&(start, slope), end)| (end - start, slope))
    }

    /// What is supplied at a price; at a step of the staircase the lower end.
    pub(crate) fn supplied(&self, price: f64) -> f64 {
        let Some(last) = self.segments.last() else {
            return self.capacity;
        };
        let mut dearer = self.segments.iter().filter(|(_, slope)| *slope >= price);
        dearer.next().unwrap_or(last).0
    }

    /// The price above which nobody uses the row.
    pub(crate) fn highest(&self) -> f64 {
        self.segments.last().map_or(f64::INFINITY, |last| last.1)
    }

    /// What using so much of the row costs.
    pub(crate) fn cost(&self, usage: f64) -> f64 {
        let mut left = usage;
        let mut cost = 0.0;
        for (length, slope) in self.segments() {
            cost += slope * left.min(length).max(0.0);
            left -= length;
        }
        cost
    }

    /// What more use costs where so much is used.
    pub(crate) fn slope(&self, usage: f64) -> f64 {
        let begun = self
            .segments
            .iter()
            .take_while(|(start, _)| *start <= usage);
        begun.last().map_or(0.0, |(_, slope)| *slope)
    }

    /// Most that supplying is worth at a price: infinite above the last slope.
    pub(crate) fn worth(&self, price: f64) -> f64 {
        if price > self.highest() {
            return f64::INFINITY;
        }
        let supplied = self.supplied(price);
        price * supplied - self.cost(supplied)
    }
}
