//! What a receiver lets a pair send, as acknowledgements carry it.

use core::num::NonZeroU16;

use fairlane_units::Rate;

/// Units of a share: parts of the sender's line rate.
const UNITS: u128 = u16::MAX as u128;

/// A rate in 16 bits, as a part of the sender's line rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(NonZeroU16);

impl Share {
    /// The least that can be said.
    pub const LEAST: Self = Self(NonZeroU16::MIN);

    /// The share with this number of units; none for zero.
    pub const fn new(units: u16) -> Option<Self> {
        match NonZeroU16::new(units) {
            Some(units) => Some(Self(units)),
            None => None,
        }
    }

    /// `rate` of a sender with this line rate: rounded down, at least one unit, at most the line rate.
    pub fn from_rate(rate: Rate, line_rate: Rate) -> Self {
        let units = u128::from(rate.as_bps()) * UNITS / u128::from(line_rate.as_bps().max(1));
        let units = NonZeroU16::new(units.min(UNITS) as u16);
        Self(units.unwrap_or(NonZeroU16::MIN))
    }

    /// The number of units, as a header carries it.
    pub const fn get(self) -> u16 {
        self.0.get()
    }

    /// The rate of a sender with this line rate.
    #[expect(clippy::cast_possible_truncation, reason = "at most the line rate")]
    pub fn of(self, line_rate: Rate) -> Rate {
        let bps = u128::from(line_rate.as_bps()) * u128::from(self.get()) / UNITS;
        Rate::from_bps(bps as u64)
    }
}

/// What a reply says of the receiver's share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    /// Nothing: it isn't an acknowledgement, or nobody divides.
    #[default]
    Unsaid,
    /// The receiver isn't busy.
    Free,
    /// The pair may send at this rate.
    Share(Share),
}
