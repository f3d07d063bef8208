//! Rows with capacities and rows with prices, in the row's unit.

use alloc::vec::Vec;

use crate::host::Supply;
use crate::problem::unit;

/// Prices between which the supply of a row is the same, and how much it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// What is supplied between `low` and `high`.
    pub(crate) capacity: f64,
    /// What that costs.
    pub(crate) cost: f64,
}

impl Cell {
    /// Beyond a row's capacity nothing is supplied at any price.
    pub(crate) const HARD: Self = Self {
        low: 0.0,
        high: f64::INFINITY,
        capacity: 1.0,
        cost: 0.0,
    };

    /// A row that nobody uses.
    pub(crate) const UNUSED: Self = Self::HARD;

    /// Most that supplying is worth at a price of this cell.
    pub(crate) fn worth(&self, price: f64) -> f64 {
        price * self.capacity - self.cost
    }
}

/// What a row supplies at which price.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Staircase {
    /// By rising price.
    cells: Vec<Cell>,
    /// Starts and slopes of the cost; none if the row has a capacity.
    segments: Vec<(f64, f64)>,
}

impl Staircase {
    pub(crate) fn new(supply: &Supply<'_>) -> Self {
        let unit = unit(supply);
        let Supply::Price(segments) = *supply else {
            return Self {
                cells: Vec::from([Cell::HARD]),
                segments: Vec::new(),
            };
        };
        let segments: Vec<(f64, f64)> = segments
            .iter()
            .map(|&(start, slope)| (start / unit, slope * unit))
            .collect();
        let mut staircase = Self {
            cells: Vec::new(),
            segments,
        };
        staircase.cells = (0..staircase.segments.len())
            .map(|index| staircase.cell(index))
            .collect();
        staircase
    }

    /// A row that has what some rates give it, and nothing of its own.
    pub(crate) fn tie() -> Self {
        let nothing = Cell {
            capacity: 0.0,
            ..Cell::HARD
        };
        Self {
            cells: Vec::from([nothing]),
            segments: Vec::new(),
        }
    }

    /// What there is of a row without a price for it; nothing of one that is bought.
    pub(crate) fn capacity(&self) -> f64 {
        match self.is_hard() {
            true => self.cells.first().map_or(0.0, |cell| cell.capacity),
            false => 0.0,
        }
    }

    /// Whether the row has something that rates can share.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_hard() || self.capacity() > 0.0
    }

    fn cell(&self, index: usize) -> Cell {
        let low = self.segments[index].1;
        let (capacity, high) = match self.segments.get(index + 1) {
            Some(&(start, slope)) => (start, slope),
            None => (self.segments[index].0, low),
        };
        Cell {
            low,
            high,
            capacity,
            cost: self.cost(capacity),
        }
    }

    /// Whether the row has a capacity instead of a price.
    pub(crate) fn is_hard(&self) -> bool {
        self.segments.is_empty()
    }

    /// Lengths and slopes of the segments of the cost.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (f64, f64)> {
        self.segments
            .iter()
            .enumerate()
            .map(|(index, &(start, slope))| {
                let next = self.segments.get(index + 1);
                (next.map_or(f64::INFINITY, |next| next.0 - start), slope)
            })
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell that a price is in; at a step of the staircase the lower one.
    pub(crate) fn cell_of(&self, price: f64) -> usize {
        let within = |cell: &Cell| price <= cell.high;
        let last = self.cells.len().saturating_sub(1);
        self.cells.iter().position(within).unwrap_or(last)
    }

    /// What is supplied at a price; at a step of the staircase the lower end.
    pub(crate) fn supplied(&self, price: f64) -> f64 {
        self.cells.get(self.cell_of(price)).map_or(0.0, |cell| {
            if price < cell.low { 0.0 } else { cell.capacity }
        })
    }

    /// The price above which nobody uses the row.
    pub(crate) fn highest(&self) -> f64 {
        self.cells.last().map_or(f64::INFINITY, |cell| cell.high)
    }

    /// What using so much of the row costs.
    pub(crate) fn cost(&self, usage: f64) -> f64 {
        let mut cost = 0.0;
        for (index, &(start, slope)) in self.segments.iter().enumerate() {
            let end = self
                .segments
                .get(index + 1)
                .map_or(f64::INFINITY, |next| next.0);
            if usage > start {
                cost += slope * (usage.min(end) - start);
            }
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
        let Some(&(_, last)) = self.segments.last() else {
            return price;
        };
        if price > last {
            return f64::INFINITY;
        }
        let within = |cell: &&Cell| price <= cell.high;
        let cell = self.cells.iter().find(within);
        cell.map_or(0.0, |cell| {
            if price < cell.low {
                0.0
            } else {
                cell.worth(price)
            }
        })
    }
}
