//! A clock's reading in 32 bits. Fairlane's own; `docs/wire.md` has who writes it and who reads it.
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                          nanoseconds                          |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use fairlane_units::{Duration, Time};

use crate::bytes::{read_u32, room, take, write_u32};
use crate::error::{Error, Field};

/// When something happened by the clock of whoever says so: nanoseconds, rounded down, that wrap after
/// 4.29 s. Only stamps of one clock can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimeStamp(u32);

impl TimeStamp {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// The stamp with this number of nanoseconds.
    pub const fn new(ns: u32) -> Self {
        Self(ns)
    }

    /// The stamp of a clock that shows `now`.
    pub const fn at(now: Time) -> Self {
        Self(now.as_ns() as u32)
    }

    /// Nanoseconds, as on the wire.
    pub const fn ns(self) -> u32 {
        self.0
    }

    /// Time from `earlier` to this stamp if less than a wrap lies between; off by less than a nanosecond.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_ns(self.0.wrapping_sub(earlier.0) as u64)
    }

    /// Takes the stamp off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::TimeStamp)?;
        Ok((Self(read_u32(bytes, 0..Self::LENGTH)), rest))
    }

    /// Writes the stamp to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::TimeStamp)?;
        write_u32(bytes, 0..Self::LENGTH, self.0);
        Ok(rest)
    }
}

impl fmt::Display for TimeStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_significant_byte_comes_first() {
        let bytes = [0x12, 0x34, 0x56, 0x78];
        let stamp = TimeStamp::new(0x1234_5678);
        assert_eq!(TimeStamp::parse(&bytes), Ok((stamp, &[][..])));
        let mut buffer = [0; TimeStamp::LENGTH];
        assert!(stamp.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }

    #[test]
    fn a_stamp_is_rounded_down_and_wraps() {
        assert_eq!(TimeStamp::at(Time::from_ps(1_999)).ns(), 1);
        let before = TimeStamp::at(Time::from_ns((1 << 32) - 1));
        let after = TimeStamp::at(Time::from_ns((1 << 32) + 5));
        assert_eq!((before.ns(), after.ns()), (u32::MAX, 5));
        assert_eq!(after.since(before), Duration::from_ns(6));
        assert_eq!(after.since(after), Duration::ZERO);
    }
}
