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

impl Rule {
    /// Whether the value is what it may be.
    pub fn is_met(&self) -> bool {
        match *self {
            Self::Within { value, low, high } => (low..=high).contains(&value),
            Self::Count { value, low, high } => (low..=high).contains(&value),
            Self::Share(value) => value > 0.0 && value <= 1.0,
            Self::Rate(value) | Self::Floor(value) => !value.is_zero(),
            Self::Period(value) => !value.is_zero(),
            Self::Step(_) | Self::Span(_) => true,
            Self::Holds { holds, .. } => holds,
        }
    }
}

impl Limit {
    /// `key` is a number from `low` to `high`.
    pub const fn within(key: &'static str, value: f64, low: f64, high: f64) -> Self {
        Self::new(key, Rule::Within { value, low, high })
    }

    /// `key` is a whole number from `low` to `high`.
    pub fn count(key: &'static str, value: impl Into<u64>, low: u64, high: u64) -> Self {
        let value = value.into();
        Self::new(key, Rule::Count { value, low, high })
    }

    /// `key` is a number above 0 and at most 1.
    pub const fn share(key: &'static str, value: f64) -> Self {
        Self::new(key, Rule::Share(value))
    }

    /// `key` is a rate at which packets can be sent.
    pub const fn rate(key: &'static str, value: Rate) -> Self {
        Self::new(key, Rule::Rate(value))
    }

    /// `key` is a rate that every host can send at.
    pub const fn floor(key: &'static str, value: Rate) -> Self {
        Self::new(key, Rule::Floor(value))
    }

    /// `key` is what a rate changes by, zero included.
    pub const fn step(key: &'static str, value: Rate) -> Self {
        Self::new(key, Rule::Step(value))
    }

    /// `key` is a time above zero.
    pub const fn period(key: &'static str, value: Duration) -> Self {
        Self::new(key, Rule::Period(value))
    }

    /// `key` is a time, zero included.
    pub const fn span(key: &'static str, value: Duration) -> Self {
        Self::new(key, Rule::Span(value))
    }

    /// `key` is as `expected` says.
    pub const fn holds(key: &'static str, holds: bool, expected: &'static str) -> Self {
        Self::new(key, Rule::Holds { holds, expected })
    }

    const fn new(key: &'static str, rule: Rule) -> Self {
        Self { key, rule }
    }
}

/// Declares parameters: a line for each key gives its doc, name, type, default and rule, a function of [`Limit`](crate::Limit).
/// Behind `where` stands what several keys must obey together, at the key that is blamed.
///
/// ```
/// use fairlane_congestion::{Parameters, parameters};
/// use fairlane_units::Duration;
///
/// parameters! {
///     /// Parameters of a delay-based algorithm.
///     Config {
///         /// Delay below which the rate rises.
///         low: Duration = Duration::from_us(50) => span,
///         /// Delay above which the rate falls.
///         high: Duration = Duration::from_us(500) => period,
///         /// Whether marks count, too.
///         marks: bool = false,
///     }
///     where |it| {
///         high: it.low <= it.high => "at least low",
///     }
/// }
/// assert_eq!(Config::default().limits().len(), 3);
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $name:ident {
            $(
                $(#[$about:meta])*
                $key:ident: $type:ty = $default:expr $(=> $rule:ident $(($($limit:expr),+))?)?,
            )*
        }
        $(where |$it:ident| { $($blamed:ident: $holds:expr => $expected:expr,)* })?
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
        pub struct $name {
            $($(#[$about])* pub $key: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $crate::Parameters for $name {
            fn limits(&self) -> $crate::alloc::vec::Vec<$crate::Limit> {
                $(let $it = self;)?
                $crate::alloc::vec![
                    $($($crate::Limit::$rule(stringify!($key), self.$key $($(, $limit)+)?),)?)*
                    $($($crate::Limit::holds(stringify!($blamed), $holds, $expected),)*)?
                ]
            }
        }
    };
}
