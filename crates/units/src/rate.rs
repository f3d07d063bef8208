//! Data rates in bits per second.

use core::fmt;
use core::ops::{Add, Div, Mul};
use core::str::FromStr;

use crate::parse::{self, ParseError, Scale};
use crate::{Bytes, Duration};

const UNITS: &[Scale] = &[
    Scale::new("Tbps", 1_000_000_000_000),
    Scale::new("Gbps", 1_000_000_000),
    Scale::new("Mbps", 1_000_000),
    Scale::new("kbps", 1_000),
    Scale::new("bps", 1),
    Scale::new("Tb/s", 1_000_000_000_000),
    Scale::new("Gb/s", 1_000_000_000),
    Scale::new("Mb/s", 1_000_000),
    Scale::new("kb/s", 1_000),
    Scale::new("Kb/s", 1_000),
    Scale::new("Kbps", 1_000),
    Scale::new("b/s", 1),
    // Those of ns-3 in bytes and in powers of 1024.
    Scale::new("TBps", 8_000_000_000_000),
    Scale::new("TB/s", 8_000_000_000_000),
    Scale::new("GBps", 8_000_000_000),
    Scale::new("GB/s", 8_000_000_000),
    Scale::new("MBps", 8_000_000),
    Scale::new("MB/s", 8_000_000),
    Scale::new("kBps", 8_000),
    Scale::new("kB/s", 8_000),
    Scale::new("KBps", 8_000),
    Scale::new("KB/s", 8_000),
    Scale::new("Bps", 8),
    Scale::new("B/s", 8),
    Scale::new("Gibps", 1 << 30),
    Scale::new("Gib/s", 1 << 30),
    Scale::new("Mibps", 1 << 20),
    Scale::new("Mib/s", 1 << 20),
    Scale::new("Kibps", 1 << 10),
    Scale::new("Kib/s", 1 << 10),
    Scale::new("GiBps", 8 << 30),
    Scale::new("GiB/s", 8 << 30),
    Scale::new("MiBps", 8 << 20),
    Scale::new("MiB/s", 8 << 20),
    Scale::new("KiBps", 8 << 10),
    Scale::new("KiB/s", 8 << 10),
];

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// A rate of `mbps` million bits per second.
    pub const fn from_mbps(mbps: u64) -> Self {
        Self(mbps * 1_000_000)
    }

    /// A rate of `gbps` thousand million bits per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bits per second as a float, for formulas that are defined on reals.
    #[expect(
        clippy::cast_precision_loss,
        reason = "rates below 2^53 bit/s are exact"
    )]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Whether nothing moves at this rate.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The picoseconds of one byte if that is a whole number.
    pub const fn exact_ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && 8_000_000_000_000 % self.0 == 0 {
            Some(8_000_000_000_000 / self.0)
        } else {
            None
        }
    }

    /// The bytes that flow at this rate during `span`, rounded down.
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        const PS_BITS: u64 = 8_000_000_000_000;
        match self.0.checked_mul(span.as_ps()) {
            Some(scaled) => Bytes::new(scaled / PS_BITS),
            None => {
                let scaled = self.0 as u128 * span.as_ps() as u128;
                Bytes::new((scaled / PS_BITS as u128) as u64)
            }
        }
    }

    /// The rate `factor * self`, truncated to a whole bit per second and never negative.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is the stated rounding"
    )]
    pub fn scale(self, factor: f64) -> Self {
        Self((self.as_f64() * factor) as u64)
    }

    /// `self - other`, zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Rate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Mul<u64> for Rate {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<u64> for Rate {
    type Output = Self;
    /// Rounds down to a whole bit per second.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        parse::write_scaled(f, self.0, &UNITS[..5])
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    /// Reads `"100Gbps"`, `"20 Mb/s"`; a value that isn't a whole bit per second is refused.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::read_scaled(text, UNITS, "a rate such as \"100Gbps\" or \"20Mb/s\"").map(Self)
    }
}
