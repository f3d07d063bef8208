//! What hosts are told to do, and what they tell.

use alloc::vec::Vec;

/// What all hosts are to do next, and tell the sums of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    /// Tell what rates of 1 would use of each row.
    Weigh,
    /// Take the smallest of the shares of a flow's rows as its rate, and tell what flows would pay for it.
    Begin {
        /// Equal share of each row (WQE/s).
        shares: Vec<f64>,
    },
    /// Take the best rates at prices, and tell what flows keep after paying for them.
    Answer {
        /// Price of each row.
        prices: Vec<f64>,
        /// Whether flows that are to count are chosen at these prices.
        choose: bool,
    },
    /// Tell what the rates are worth once they are changed to fit the rows; rates stay.
    Value {
        /// How each row is repaired.
        repair: Vec<Repair>,
    },
    /// Change the rates to fit the rows: they are the result.
    ///
    /// The row of a flow that takes most or gives least decides, so that what is left of each is enough for what
    /// is added.
    Keep {
        /// How each row is repaired.
        repair: Vec<Repair>,
    },
}

/// What a row does to the rates of its flows, above their least ones, so that they fit it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Repair {
    /// Takes `change T / phi'` of each, where `T` is the flow's use of the row: as if its price rose by so much,
    /// or fell if that is negative.
    Price(f64),
    /// Leaves this part of each.
    Part(f64),
}

/// What rates add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Use of each row; after a `Begin`, what it is paid.
    pub(crate) loads: Vec<f64>,
    /// A weight for each row, how strongly its use answers to its price: `sum T^2 (x - lo) / phi'(x)`.
    pub(crate) weights: Vec<f64>,
    /// The largest `T / phi'` of each row's flows: how much a flow loses at most when the row's price rises.
    pub(crate) tops: Vec<f64>,
    /// Use of each row by the least rates; empty where they are all 0.
    pub(crate) floors: Vec<f64>,
    /// What the rates are worth (`Value`, `Keep`), or what flows keep after paying (`Answer`).
    pub(crate) worth: f64,
    /// How strongly flows answer to a change of all prices by one factor: `sum p^2 / -phi''` over their prices `p`,
    /// after an `Answer`.
    pub(crate) response: f64,
}

impl Sums {
    /// Zero for so many rows.
    pub(crate) fn zero(rows: usize) -> Self {
        Self {
            loads: alloc::vec![0.0; rows],
            weights: alloc::vec![0.0; rows],
            tops: alloc::vec![0.0; rows],
            ..Self::default()
        }
    }

    /// Zero again, keeping buffers.
    pub(crate) fn clear(&mut self) {
        self.loads.fill(0.0);
        self.weights.fill(0.0);
        self.tops.fill(0.0);
        self.floors.clear();
        (self.worth, self.response) = (0.0, 0.0);
    }

    /// Adds the sums of others.
    pub(crate) fn add(&mut self, other: &Self) {
        add(&mut self.loads, &other.loads);
        add(&mut self.weights, &other.weights);
        for (top, other) in self.tops.iter_mut().zip(&other.tops) {
            *top = if *other > *top { *other } else { *top };
        }
        if !other.floors.is_empty() {
            self.floors.resize(self.loads.len(), 0.0);
            add(&mut self.floors, &other.floors);
        }
        self.worth += other.worth;
        self.response += other.response;
    }
}

/// Adds one list to another.
pub(crate) fn add(to: &mut [f64], what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}
