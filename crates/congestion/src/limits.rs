//! What values parameters may have.

use alloc::vec::Vec;

use fairlane_units::{Duration, Rate};

/// The parameters of an algorithm; their defaults are cited where they are set.
pub trait Parameters: Clone + Default {
    /// The rules that the parameters must satisfy; at least one for each that isn't a switch.
    fn limits(&self) -> Vec<Limit>;
}

/// One parameter and its rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The name of the parameter.
    pub key: &'static str,
    /// Its value and what the value may be.
    pub rule: Rule,
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// A number from `low` to `high`.
    Within {
        /// The value.
        value: f64,
        /// The least.
        low: f64,
        /// The most.
        high: f64,
    },
    /// A number above 0 and at most 1.
    Share(f64),
    /// A whole number from `low` to `high`.
    Count {
        /// The value.
        value: u64,
        /// The least.
        low: u64,
        /// The most.
        high: u64,
    },
    /// A rate at which packets can be sent.
    Rate(Rate),
    /// A rate that every host can send at.
    Floor(Rate),
    /// What a rate changes by, zero included.
    Step(Rate),
    /// A time above zero.
    Period(Duration),
    /// A time, zero included.
    Span(Duration),
    /// Anything else.
    Holds {
        /// Whether the rule is satisfied.
        holds: bool,
        /// What was expected.
        expected: &'static str,
    },
}

impl Limit {
    /// The rule of `key`.
    pub const fn new(key: &'static str, rule: Rule) -> Self {
        Self { key, rule }
    }

    /// `key` is a number from `low` to `high`.
    pub const fn within(key: &'static str, value: f64, low: f64, high: f64) -> Self {
        Self::new(key, Rule::Within { value, low, high })
    }

    /// `key` is as `expected` says.
    pub const fn holds(key: &'static str, holds: bool, expected: &'static str) -> Self {
        Self::new(key, Rule::Holds { holds, expected })
    }

    /// `key` is a whole number from `low` to `high`.
    pub const fn count(key: &'static str, value: u64, low: u64, high: u64) -> Self {
        Self::new(key, Rule::Count { value, low, high })
    }
}
