//! Sizes in bytes.

use core::fmt;
use core::str::FromStr;

use crate::arithmetic::arithmetic;
use crate::parse::{self, Decimal, ParseError, Scale};
use crate::{Duration, Rate};

const UNITS: &[Scale] = &[
    Scale::new("GiB", 1 << 30),
    Scale::new("MiB", 1 << 20),
    Scale::new("KiB", 1 << 10),
    Scale::new("GB", 1_000_000_000),
    Scale::new("MB", 1_000_000),
    Scale::new("kB", 1_000),
    Scale::new("KB", 1_000),
    Scale::new("B", 1),
];

/// A size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// A size of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a float, for statistics.
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes below 2^53 bytes are exact"
    )]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Whether the size is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time these bytes take at `rate`, rounded up to a whole picosecond.
    ///
    /// # Panics
    /// If `rate` is zero.
    #[inline]
    pub const fn serialization(self, rate: Rate) -> Duration {
        const PS_BITS: u64 = 8_000_000_000_000;
        match self.0.checked_mul(PS_BITS) {
            Some(scaled) => Duration::from_ps(scaled.div_ceil(rate.as_bps())),
            None => {
                let scaled = self.0 as u128 * PS_BITS as u128;
                Duration::from_ps(scaled.div_ceil(rate.as_bps() as u128) as u64)
            }
        }
    }

    /// The rate at which these bytes take `span`, rounded down; [`u64::MAX`] bit/s if that is nothing.
    #[inline]
    pub const fn rate_over(self, span: Duration) -> Rate {
        const PS_BITS: u64 = 8_000_000_000_000;
        if span.is_zero() {
            return Rate::from_bps(u64::MAX);
        }
        let bps = match self.0.checked_mul(PS_BITS) {
            Some(scaled) => scaled / span.as_ps(),
            None => {
                let bps = self.0 as u128 * PS_BITS as u128 / span.as_ps() as u128;
                if bps > u64::MAX as u128 {
                    u64::MAX
                } else {
                    bps as u64
                }
            }
        };
        Rate::from_bps(bps)
    }

    /// `self - other`, zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

arithmetic!(Bytes, "byte");

impl fmt::Display for Bytes {
    /// The shortest whole number with a unit; where decimal and binary ones are as short, the decimal one: `256kB`
    /// rather than `250KiB`, `125MiB` rather than `131072kB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = |unit: &&Scale| (self.0 / unit.factor).checked_ilog10();
        let is_binary = |unit: &&Scale| unit.factor.is_power_of_two();
        let whole = UNITS
            .iter()
            .filter(|unit| self.0 != 0 && self.0.is_multiple_of(unit.factor))
            .min_by_key(|unit| (digits(unit), is_binary(unit)));
        let unit = whole.unwrap_or(&UNITS[UNITS.len() - 1]);
        write!(f, "{}{}", self.0 / unit.factor, unit.name)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    /// Reads `"32MiB"`, `"256 kB"`, `"1000B"` or a bare number of bytes.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let expected = "a size such as \"32MiB\", \"256kB\" or \"1000B\"";
        if let Some(bytes) = Decimal::read(text).and_then(Decimal::whole) {
            return Ok(Self(bytes));
        }
        parse::read_scaled(text, UNITS, expected).map(Self)
    }
}
