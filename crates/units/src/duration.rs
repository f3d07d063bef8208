//! Points in time and spans of time, in integer picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

use crate::arithmetic::arithmetic;
use crate::parse::{self, ParseError, Scale};

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

const UNITS: &[Scale] = &[
    Scale::new("s", PS_PER_S),
    Scale::new("ms", PS_PER_MS),
    Scale::new("us", PS_PER_US),
    Scale::new("ns", PS_PER_NS),
    Scale::new("ps", 1),
];

/// A point in simulated or real time, counted in picoseconds from the start of the run.
///
/// 2^64 ps are about 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// A time `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A time `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Seconds since the start, for display.
    #[expect(clippy::cast_precision_loss, reason = "display only")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The span from `earlier` to `self`, zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, or `None` past the end of representable time.
    pub const fn checked_add(self, span: Duration) -> Option<Self> {
        match self.0.checked_add(span.0) {
            Some(ps) => Some(Self(ps)),
            None => None,
        }
    }

    /// `self + span`, or [`Time::MAX`] past the end of representable time.
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * PS_PER_US)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * PS_PER_MS)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Nanoseconds as a float, for formulas that are defined on reals.
    #[expect(clippy::cast_precision_loss, reason = "spans below 2^53 ps are exact")]
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }

    /// Seconds, for display and for statistics.
    #[expect(clippy::cast_precision_loss, reason = "display and statistics only")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Whether the span is empty.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor`, or the longest span on overflow.
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, span: Duration) {
        self.0 += span.0;
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

arithmetic!(Duration, "picosecond");

impl fmt::Display for Duration {
    /// Exact decimal in the largest unit that keeps the value at or above one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::write_scaled(f, self.0, UNITS)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl FromStr for Duration {
    type Err = ParseError;
    /// Reads `"1us"`, `"0.5 ms"`, `"83ns"`; a value that isn't a whole picosecond is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::read_scaled(
            text,
            UNITS,
            "a time such as \"1us\" or \"2.5ms\" (ps, ns, us, ms, s)",
        )
        .map(Self)
    }
}

impl FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        text.parse::<Duration>().map(|span| Self(span.0))
    }
}
