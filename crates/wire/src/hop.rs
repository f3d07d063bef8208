//! What one egress port says of itself when a packet leaves it (HPCC, SIGCOMM 2019, section 3.1, with
//! wider fields). Fairlane's own; `docs/wire.md` has the reasons.
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                              port                             |
//! +---------------------------------------------------------------+
//! |                       time stamp, in ns                       |
//! +---------------------------------------------------------------+
//! |                   bytes sent, 40 bits                         |
//! |               +-----------------------------------------------+
//! |               |                 rate in Mb/s                  |
//! +---------------+-----------------------------------------------+
//! |                         bytes waiting                         |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use fairlane_units::{Bytes, Rate, Time};

use crate::bytes::{array, fits, read_u24, read_u32, room, take, write_u24, write_u32};
use crate::error::{Error, Field, Reason};
use crate::time_stamp::TimeStamp;

mod field {
    use core::ops::Range;

    pub(super) const PORT: Range<usize> = 0..4;
    pub(super) const TIME: Range<usize> = 4..8;
    pub(super) const SENT: Range<usize> = 8..13;
    pub(super) const RATE: Range<usize> = 13..16;
    pub(super) const QUEUE: Range<usize> = 16..20;
}

/// One hop of a packet's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The port, by a number that no other port of the network has.
    pub port: u32,
    /// When the packet left, by the clock of the switch.
    pub time: TimeStamp,
    /// Bytes that the port has sent: 40 bits that wrap.
    pub sent: u64,
    /// Rate of the port in Mb/s, 24 bits.
    pub rate: u32,
    /// Bytes that wait at the port.
    pub queue: u32,
}

impl Hop {
    /// Length in bytes.
    pub const LENGTH: usize = 20;
    /// Where the bytes that a port has sent begin again at zero.
    pub const SENT_WRAP: u64 = 1 << 40;
    /// The highest rate in Mb/s.
    pub const MAX_RATE: u32 = (1 << 24) - 1;

    /// What a port says: bytes sent wrap, bytes waiting end at the largest value; the rate is rounded down,
    /// and is at least 1 Mb/s and at most [`Hop::MAX_RATE`].
    pub fn new(port: u32, now: Time, sent: Bytes, queue: Bytes, rate: Rate) -> Self {
        let mbps = rate.as_bps() / Rate::from_mbps(1).as_bps();
        Self {
            port,
            time: TimeStamp::at(now),
            sent: sent.get() % Self::SENT_WRAP,
            rate: mbps.clamp(1, Self::MAX_RATE.into()) as u32,
            queue: queue.get().min(u32::MAX.into()) as u32,
        }
    }

    /// Bytes that the port has sent from `earlier` to this, over at most one wrap.
    pub const fn sent_since(&self, earlier: &Self) -> Bytes {
        Bytes::new(self.sent.wrapping_sub(earlier.sent) % Self::SENT_WRAP)
    }

    /// Takes the record off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take(bytes, Field::Hop)?;
        Ok((Self::read(bytes), rest))
    }

    /// The record with these bytes.
    #[inline]
    pub(crate) fn read(bytes: &[u8; Self::LENGTH]) -> Self {
        let [a, b, c, d, e] = array(bytes, field::SENT);
        Self {
            port: read_u32(bytes, field::PORT),
            time: TimeStamp::new(read_u32(bytes, field::TIME)),
            sent: u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
            rate: read_u24(bytes, field::RATE),
            queue: read_u32(bytes, field::QUEUE),
        }
    }

    /// Writes the record to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small or a value has more bits than its field.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Hop)?;
        if self.sent >= Self::SENT_WRAP {
            let found = u32::try_from(self.sent).unwrap_or(u32::MAX);
            return Err(Error::new(Field::HopSent, Reason::OutOfRange, found));
        }
        fits(Field::HopRate, self.rate, 24)?;
        write_u32(bytes, field::PORT, self.port);
        write_u32(bytes, field::TIME, self.time.ns());
        bytes[field::SENT].copy_from_slice(&self.sent.to_be_bytes()[3..]);
        write_u24(bytes, field::RATE, self.rate);
        write_u32(bytes, field::QUEUE, self.queue);
        Ok(rest)
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "port={:#x} time={} sent={} rate={}Mb/s queue={}",
            self.port, self.time, self.sent, self.rate, self.queue
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let mut bytes = [0; Hop::LENGTH];
        for (value, byte) in (1..).zip(&mut bytes) {
            *byte = value;
        }
        let hop = Hop {
            port: 0x0102_0304,
            time: TimeStamp::new(0x0506_0708),
            sent: 0x09_0a0b_0c0d,
            rate: 0x0e_0f10,
            queue: 0x1112_1314,
        };
        assert_eq!(Hop::parse(&bytes), Ok((hop, &[][..])));
        let mut buffer = [0; Hop::LENGTH];
        assert!(hop.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }

    #[test]
    fn counters_wrap_queues_and_rates_end() {
        let now = Time::from_ns(7);
        let hop = |sent, queue, bps| {
            let (sent, queue) = (Bytes::new(sent), Bytes::new(queue));
            Hop::new(3, now, sent, queue, Rate::from_bps(bps))
        };
        let (before, after) = (hop((1 << 40) - 9, 0, 0), hop(1 << 40, 1 << 32, u64::MAX));
        assert_eq!(
            (before.sent, before.rate, before.queue),
            (Hop::SENT_WRAP - 9, 1, 0)
        );
        assert_eq!(
            (after.sent, after.rate, after.queue),
            (0, Hop::MAX_RATE, u32::MAX)
        );
        assert_eq!(after.sent_since(&before), Bytes::new(9));
        assert_eq!(hop(0, 0, 25_000_999_999).rate, 25_000);
    }

    #[test]
    fn values_that_have_too_many_bits_are_refused() {
        let emit = |sent, rate| {
            let hop = Hop {
                sent,
                rate,
                ..Hop::default()
            };
            let error = hop.emit(&mut [0; Hop::LENGTH]).map(|_| ());
            error.expect_err("it doesn't fit").field
        };
        assert_eq!(emit(1 << 40, 0), Field::HopSent);
        assert_eq!(emit(0, 1 << 24), Field::HopRate);
    }
}
