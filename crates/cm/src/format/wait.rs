//! Times of connection management, coded in five bits.

use core::fmt;

use fairlane_units::Duration;

/// A time as the exponent in 4.096 us * 2^n (IBTA 12.7.4): 4.096 us to 8796 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait(u8);

impl Wait {
    const BITS: u8 = 0x1f;
    const UNIT: Duration = Duration::from_ns(4_096);

    /// The time with this exponent, `None` above 31.
    pub const fn new(exponent: u8) -> Option<Self> {
        if exponent <= Self::BITS {
            Some(Self(exponent))
        } else {
            None
        }
    }

    /// The time with the low five bits of a byte as exponent.
    pub const fn of_bits(byte: u8) -> Self {
        Self(byte & Self::BITS)
    }

    /// Its exponent, below 32.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// How long it is.
    pub fn duration(self) -> Duration {
        Self::UNIT * (1 << self.0)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.duration().fmt(f)
    }
}
