//! What the ports on a packet's way have said, one record for each. Fairlane's own.
//!
//! ```text
//! +---------------+---------------+-------------------------------+
//! |     room      |    passed     |            reserved           |
//! +---------------+---------------+-------------------------------+
//! |               room x 20 bytes: a record for each hop          |
//! +---------------------------------------------------------------+
//! ```
//!
//! The sender leaves room, and each switch fills the next free record in: the packet's length never
//! changes on the way. In data, where switches write, the ICRC has ones for `passed` and all records.

use core::fmt;

use crate::bytes::{room, take};
use crate::error::{Error, Field, Reason};
use crate::hop::Hop;

mod field {
    pub(super) const ROOM: usize = 0;
    pub(super) const PASSED: usize = 1;
    /// What no switch writes to, so that the ICRC covers it.
    pub(super) const FIXED: [usize; 3] = [ROOM, 2, 3];
}

const HEAD: usize = 4;
const MAX_LENGTH: usize = HEAD + Telemetry::MAX_HOPS as usize * Hop::LENGTH;

/// Room for records, and those that are there. They stay in the packet, so that an echo copies bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Telemetry<'a> {
    room: u8,
    passed: u8,
    /// Records that are there, whole ones.
    records: &'a [u8],
}

impl<'a> Telemetry<'a> {
    /// The most records. A fat-tree of three tiers needs 5, and 6 with the sender's own port.
    pub const MAX_HOPS: u8 = 9;
    /// Length in bytes with the most records.
    pub const MAX_LENGTH: usize = MAX_LENGTH;

    /// Room for so many records and none yet; `None` above [`Telemetry::MAX_HOPS`].
    pub const fn collecting(room: u8) -> Option<Self> {
        if room > Self::MAX_HOPS {
            return None;
        }
        Some(Self {
            room,
            passed: 0,
            records: &[],
        })
    }

    /// Records, given as their bytes, of a packet that so many ports have stamped, and no further room. `None`
    /// if it isn't whole records, more than [`Telemetry::MAX_HOPS`], or more than have stamped.
    pub const fn of(passed: u8, records: &'a [u8]) -> Option<Self> {
        let count = records.len() / Hop::LENGTH;
        let fits = count <= Self::MAX_HOPS as usize && count <= passed as usize;
        if !fits || !records.len().is_multiple_of(Hop::LENGTH) {
            return None;
        }
        Some(Self {
            room: count as u8,
            passed,
            records,
        })
    }

    /// What a reply says of this: the same records without further room.
    pub const fn echo(self) -> Self {
        Self {
            room: (self.records.len() / Hop::LENGTH) as u8,
            ..self
        }
    }

    /// How many records fit, those that are there included.
    pub const fn room(&self) -> u8 {
        self.room
    }

    /// How many ports have stamped the packet, also those that found no room; 255 if more.
    pub const fn passed(&self) -> u8 {
        self.passed
    }

    /// Whether every port that has stamped the packet found room.
    pub const fn is_complete(&self) -> bool {
        self.records.len() == self.passed as usize * Hop::LENGTH
    }

    /// The records, in the order in which the packet passed the ports.
    #[inline]
    pub fn hops(&self) -> impl ExactSizeIterator<Item = Hop> + use<'a> {
        let (records, _) = self.records.as_chunks();
        records.iter().map(Hop::read)
    }

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        HEAD + self.room as usize * Hop::LENGTH
    }

    /// Takes the records off the front of `bytes` and returns what follows them. What free records hold, and
    /// reserved bits, are ignored.
    ///
    /// # Errors
    /// If the bytes end early or there is more room than allowed.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let there = bytes.len();
        let (head, rest) = take::<HEAD>(bytes, Field::Telemetry)?;
        let (room, passed) = (head[field::ROOM], head[field::PASSED]);
        check_room(room)?;
        let (records, rest) = rest
            .split_at_checked(usize::from(room) * Hop::LENGTH)
            .ok_or_else(|| Error::counted(Field::Telemetry, Reason::Truncated, there))?;
        let written = usize::from(passed.min(room)) * Hop::LENGTH;
        let telemetry = Self {
            room,
            passed,
            records: &records[..written],
        };
        Ok((telemetry, rest))
    }

    /// Writes the records to the front of `buffer`, zeros for the free ones, and returns the room behind
    /// them.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let there = buffer.len();
        let (head, rest) = room::<HEAD>(buffer, Field::Telemetry)?;
        let (records, rest) = rest
            .split_at_mut_checked(self.length() - HEAD)
            .ok_or_else(|| Error::counted(Field::Telemetry, Reason::NoRoom, there))?;
        *head = [self.room, self.passed, 0, 0];
        let (written, free) = records.split_at_mut(self.records.len());
        written.copy_from_slice(self.records);
        free.fill(0);
        Ok(rest)
    }

    /// Adds a record to what begins with `bytes`, as a switch does; without room it is only counted.
    pub(crate) fn stamp(bytes: &mut [u8], hop: &Hop) -> Result<(), Error> {
        let (telemetry, _) = Telemetry::parse(bytes)?;
        let (room, passed) = (telemetry.room, telemetry.passed);
        if passed < room {
            hop.emit(&mut bytes[HEAD + usize::from(passed) * Hop::LENGTH..])?;
        }
        bytes[field::PASSED] = passed.saturating_add(1);
        Ok(())
    }

    /// Ones for what switches write to in `bytes`, which are those of a whole header, and the rest as it is.
    pub(crate) fn masked(bytes: &[u8]) -> [u8; MAX_LENGTH] {
        let mut masked = [u8::MAX; MAX_LENGTH];
        for at in field::FIXED {
            masked[at] = bytes[at];
        }
        masked
    }
}

fn check_room(room: u8) -> Result<(), Error> {
    if room <= Telemetry::MAX_HOPS {
        Ok(())
    } else {
        let found = room.into();
        Err(Error::new(Field::TelemetryRoom, Reason::OutOfRange, found))
    }
}

impl fmt::Display for Telemetry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "telemetry={}/{}", self.passed, self.room)?;
        for hop in self.hops() {
            write!(f, " [{hop}]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_stamp::TimeStamp;

    const HOP: Hop = Hop {
        port: 5,
        time: TimeStamp::new(0x10),
        sent: 0x20,
        rate: 0x30,
        queue: 0x40,
    };
    const RECORD: [u8; Hop::LENGTH] = [
        0, 0, 0, 5, 0, 0, 0, 0x10, 0, 0, 0, 0, 0x20, 0, 0, 0x30, 0, 0, 0, 0x40,
    ];

    fn parse(bytes: &[u8]) -> Telemetry<'_> {
        let (telemetry, rest) = Telemetry::parse(bytes).expect("it is telemetry");
        assert!(rest.is_empty());
        telemetry
    }

    #[test]
    fn a_port_fills_the_next_free_record() {
        let empty = Telemetry::collecting(2).expect("2 fit");
        let mut bytes = [0xff; 44];
        assert!(empty.emit(&mut bytes).is_ok());
        assert_eq!(bytes[..4], [2, 0, 0, 0]);
        assert_eq!(bytes[4..], [0; 40]);
        assert_eq!(Telemetry::stamp(&mut bytes, &HOP), Ok(()));
        assert_eq!(bytes[..4], [2, 1, 0, 0]);
        assert_eq!(bytes[4..24], RECORD);
        assert_eq!(bytes[24..], [0; 20]);
        let telemetry = parse(&bytes);
        assert!(telemetry.hops().eq([HOP]));
        assert!(telemetry.is_complete());
        let echo = telemetry.echo();
        assert_eq!((echo.room(), echo.length()), (1, 24));
        assert_eq!(Some(echo), Telemetry::of(1, &RECORD));
    }

    #[test]
    fn ports_that_find_no_room_are_counted() {
        let mut bytes = [0; 24];
        bytes[0] = 1;
        for port in 1..=300 {
            let hop = Hop { port, ..HOP };
            assert_eq!(Telemetry::stamp(&mut bytes, &hop), Ok(()));
        }
        let telemetry = parse(&bytes);
        assert_eq!((telemetry.room(), telemetry.passed()), (1, 255));
        assert!(telemetry.hops().map(|hop| hop.port).eq([1]));
        assert!(!telemetry.is_complete());
        assert_eq!(telemetry.echo(), telemetry);
    }

    #[test]
    fn more_room_than_nine_records_is_refused() {
        assert_eq!(Telemetry::collecting(10), None);
        assert_eq!(Telemetry::of(10, &[0; 200]), None);
        assert_eq!(Telemetry::of(1, &[0; 40]), None);
        assert_eq!(Telemetry::of(2, &[0; 39]), None);
        let error = Telemetry::parse(&[10; 300]).expect_err("10 records");
        assert_eq!(
            error,
            Error::new(Field::TelemetryRoom, Reason::OutOfRange, 10)
        );
        let most = Telemetry::collecting(Telemetry::MAX_HOPS).map(|all| all.length());
        assert_eq!(most, Some(Telemetry::MAX_LENGTH));
    }

    #[test]
    fn free_records_and_reserved_bits_are_ignored() {
        let mut bytes = [0xee; 24];
        (bytes[0], bytes[1]) = (1, 0);
        assert_eq!(Some(parse(&bytes)), Telemetry::collecting(1));
    }
}
