//! Feedback extended transport header, with acknowledgements and with READ feedback: what the receiver of
//! data says to its sender. Fairlane's own; `docs/wire.md` has the rules.
//!
//! ```text
//! +-+-+-+---------+---------------+-------------------------------+
//! |S|T|H|reserved |   switches    |             share             |
//! +-+-+-+---------+---------------+-------------------------------+
//! |                 if T: time stamp of the data                  |
//! +---------------------------------------------------------------+
//! |         if H: telemetry of the data, 4 bytes and records      |
//! +---------------------------------------------------------------+
//! S the share is said  T a time stamp follows  H telemetry (hops) follows
//! ```

use core::fmt;

use fairlane_units::{Psn, QpNumber, TenantId};

use crate::bth::Bth;
use crate::error::{Error, Field};
use crate::opcode::Opcode;
use crate::telemetry::Telemetry;
use crate::teth::Teth;
use crate::time_stamp::TimeStamp;
use crate::traffic::{Words, describe};

/// What a receiver says to the sender of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Feth<'a> {
    /// The rate that the sender may use towards this receiver, in parts of 65535 of the sender's line rate,
    /// rounded down, at least 1; 0 if the receiver isn't busy. `None` if it doesn't say.
    pub share: Option<u16>,
    /// How many switches the data has passed; 0 if its sender didn't want to know.
    pub switches: u8,
    /// The time stamp of the data, as it came.
    pub time: Option<TimeStamp>,
    /// The telemetry of the data, as it came.
    pub telemetry: Option<Telemetry<'a>>,
}

impl<'a> Feth<'a> {
    /// A header that says nothing.
    pub const NOTHING: Self = Self {
        share: None,
        switches: 0,
        time: None,
        telemetry: None,
    };

    /// What echoes the header of data that arrived with this time to live or hop limit, and says nothing of a
    /// share.
    pub const fn echo(data: &Teth<'a>, arrived_with: u8) -> Self {
        let telemetry = match data.telemetry {
            Some(telemetry) => Some(telemetry.echo()),
            None => None,
        };
        Self {
            share: None,
            switches: data.switches(arrived_with),
            time: data.time,
            telemetry,
        }
    }

    /// The BTH of the feedback for a packet of a READ's response: the responder's queue pair, the
    /// partition and PSN of the packet, and whether it was marked, which is BECN.
    pub const fn bth(
        destination: QpNumber,
        partition_key: TenantId,
        psn: Psn,
        marked: bool,
    ) -> Bth {
        Bth {
            becn: marked,
            partition_key,
            ..Bth::new(Opcode::RcReadFeedback, destination, psn)
        }
    }

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        self.words().length()
    }

    /// Takes the header off the front of `bytes` and returns what follows it. Reserved bits are ignored.
    ///
    /// # Errors
    /// If the bytes end early or there is more room than telemetry may have.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Error> {
        let (words, rest) = Words::parse(bytes, Field::Feth)?;
        let header = Self {
            share: words.rate,
            switches: words.switches,
            time: words.time,
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
        self.words().emit(buffer, Field::Feth)
    }

    const fn words(&self) -> Words<'a> {
        Words {
            rate: self.share,
            switches: self.switches,
            time: self.time,
            backlog: None,
            telemetry: self.telemetry,
        }
    }
}

impl fmt::Display for Feth<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, "feth", &self.words(), "share", "switches")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hop::Hop;

    #[test]
    fn a_share_takes_one_word() {
        let header = Feth {
            share: Some(0x8001),
            ..Feth::NOTHING
        };
        let bytes = [0x80, 0, 0x80, 0x01];
        assert_eq!(Feth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0xff; 4];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }

    #[test]
    fn the_bit_of_the_backlog_is_reserved_here() {
        let bytes = [0x90, 0, 0x80, 0x01, 7];
        let header = Feth {
            share: Some(0x8001),
            ..Feth::NOTHING
        };
        assert_eq!(Feth::parse(&bytes), Ok((header, &[7][..])));
    }

    #[test]
    fn an_echo_has_what_came_without_free_room() {
        let mut data = [0; 4 + 4 + 4 + 3 * Hop::LENGTH];
        let sent = Teth {
            demand: Some(9),
            ttl: 64,
            time: Some(TimeStamp::new(0x0102_0304)),
            backlog: None,
            telemetry: Telemetry::collecting(3),
        };
        assert!(sent.emit(&mut data).is_ok());
        let hop = Hop {
            port: 0xa1b2_c3d4,
            ..Hop::default()
        };
        assert_eq!(Telemetry::stamp(&mut data[8..], &hop), Ok(()));
        let (came, _) = Teth::parse(&data).expect("it was written");
        let echo = Feth::echo(&came, 62);
        let mut buffer = [0xff; 32];
        assert_eq!(echo.emit(&mut buffer).map(|rest| rest.len()), Ok(0));
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&[
            0x60, 2, 0, 0, 1, 2, 3, 4, 1, 1, 0, 0, 0xa1, 0xb2, 0xc3, 0xd4,
        ]);
        assert_eq!(buffer, bytes);
        assert_eq!(Feth::parse(&bytes), Ok((echo, &[][..])));
    }
}
