//! Traffic extended transport header, with data: what its sender says, and what switches add. Fairlane's
//! own; `docs/wire.md` has the rules.
//!
//! ```text
//! +-+-+-+-+-------+---------------+-------------------------------+
//! |D|T|H|B| rsvd  |  time to live |             demand            |
//! +-+-+-+-+-------+---------------+-------------------------------+
//! |                    if T: time stamp, in ns                    |
//! +---------------------------------------------------------------+
//! |                   if B: backlog, in bytes                     |
//! +---------------------------------------------------------------+
//! |               if H: telemetry, 4 bytes and records            |
//! +---------------------------------------------------------------+
//! D the demand is said  T a time stamp follows  H telemetry (hops) follows  B the backlog follows
//! ```

use core::fmt;

use crate::error::{Error, Field};
use crate::telemetry::Telemetry;
use crate::time_stamp::TimeStamp;
use crate::traffic::{Words, describe};

/// What data says beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Teth<'a> {
    /// The rate that the sender could use towards this receiver, in parts of 65535 of its line rate, rounded
    /// up: 65535 is as much as it is given, 0 is nothing from here on. `None` if it doesn't say.
    pub demand: Option<u16>,
    /// Time to live or hop limit of the IP header as the sender wrote it, from which the receiver counts
    /// switches; 0 if it isn't to.
    pub ttl: u8,
    /// When the sender sent the packet, by its own clock.
    pub time: Option<TimeStamp>,
    /// Payload that the sender still has for this receiver and tenant behind this packet, in bytes; `u32::MAX` is as
    /// much or more. `None` if it doesn't say.
    pub backlog: Option<u32>,
    /// Room for what switches say.
    pub telemetry: Option<Telemetry<'a>>,
}

impl<'a> Teth<'a> {
    /// A header that says nothing.
    pub const NOTHING: Self = Self {
        demand: None,
        ttl: 0,
        time: None,
        backlog: None,
        telemetry: None,
    };

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        self.words().length()
    }

    /// How many switches have lowered the time to live to what the packet arrived with; 0 if the sender
    /// doesn't say what it began with.
    pub const fn switches(&self, arrived_with: u8) -> u8 {
        self.ttl.saturating_sub(arrived_with)
    }

    /// Takes the header off the front of `bytes` and returns what follows it. Reserved bits are ignored.
    ///
    /// # Errors
    /// If the bytes end early or there is more room than telemetry may have.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let (words, rest) = Words::parse(bytes, Field::Teth)?;
        let header = Self {
            demand: words.rate,
            ttl: words.switches,
            time: words.time,
            backlog: words.backlog,
            telemetry: words.telemetry,
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        self.words().emit(buffer, Field::Teth)
    }

    const fn words(&self) -> Words<'a> {
        Words {
            rate: self.demand,
            switches: self.ttl,
            time: self.time,
            backlog: self.backlog,
            telemetry: self.telemetry,
        }
    }
}

impl fmt::Display for Teth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "teth", &self.words(), "demand", "ttl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let bytes = [
            0xf0, 64, 0x12, 0x34, 0xaa, 0xbb, 0xcc, 0xdd, 0x0a, 0x0b, 0x0c, 0x0d, 1, 0, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        ];
        let header = Teth {
            demand: Some(0x1234),
            ttl: 64,
            time: Some(TimeStamp::new(0xaabb_ccdd)),
            backlog: Some(0x0a0b_0c0d),
            telemetry: Telemetry::collecting(1),
        };
        assert_eq!(Teth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0xff; 36];
        assert_eq!(header.emit(&mut buffer).map(|rest| rest.len()), Ok(0));
        assert_eq!((buffer, header.length()), (bytes, 36));
    }

    #[test]
    fn what_is_not_said_takes_no_room_and_reserved_bits_are_ignored() {
        let bytes = [0x0f, 0, 0xff, 0xff];
        assert_eq!(Teth::parse(&bytes), Ok((Teth::NOTHING, &[][..])));
        let mut buffer = [0xff; 4];
        assert!(Teth::NOTHING.emit(&mut buffer).is_ok());
        assert_eq!(buffer, [0; 4]);
        let time = Some(TimeStamp::new(7));
        let stamped = Teth {
            time,
            ..Teth::NOTHING
        };
        let bytes = [0x40, 0, 0, 0, 0, 0, 0, 7];
        assert_eq!(Teth::parse(&bytes), Ok((stamped, &[][..])));
    }

    #[test]
    fn a_backlog_takes_a_word_of_its_own() {
        let header = Teth {
            demand: Some(0),
            backlog: Some(u32::MAX),
            ..Teth::NOTHING
        };
        let bytes = [0x90, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Teth::parse(&bytes), Ok((header, &[][..])));
        assert!(Teth::parse(&bytes[..7]).is_err());
    }

    #[test]
    fn switches_are_what_the_time_to_live_has_lost() {
        let began = |ttl| Teth {
            ttl,
            ..Teth::NOTHING
        };
        assert_eq!(began(64).switches(61), 3);
        assert_eq!(began(0).switches(61), 0);
    }
}
