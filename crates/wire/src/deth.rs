//! Datagram extended transport header (IBTA 9.3.2).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                           queue key                           |
//! +---------------+-----------------------------------------------+
//! |    reserved   |               source queue pair               |
//! +---------------+-----------------------------------------------+
//! ```

use core::fmt;

use fairlane_units::QpNumber;

use crate::bytes::{fits, read_u24, read_u32, room, take, write_u24, write_u32};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const QUEUE_KEY: Range<usize> = 0..4;
    pub(super) const RESERVED: usize = 4;
    pub(super) const SOURCE: Range<usize> = 5..8;
}

/// Who has sent a datagram, and the key that opens the receiver's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Deth {
    /// The key that the receiving queue pair asks for (Q_Key).
    pub queue_key: u32,
    /// The queue pair that has sent the packet, 24 bits.
    pub source: QpNumber,
}

impl Deth {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// Takes the header off the front of `bytes` and returns what follows it. Reserved bits are ignored.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::Deth)?;
        let header = Self {
            queue_key: read_u32(bytes, field::QUEUE_KEY),
            source: QpNumber::new(read_u24(bytes, field::SOURCE)),
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small or the queue pair's number has more than 24 bits.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Deth)?;
        fits(Field::SourceQp, self.source.get(), 24)?;
        write_u32(bytes, field::QUEUE_KEY, self.queue_key);
        bytes[field::RESERVED] = 0;
        write_u24(bytes, field::SOURCE, self.source.get());
        Ok(rest)
    }
}

impl fmt::Display for Deth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "qkey={:#x} source={:#x}",
            self.queue_key,
            self.source.get()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let bytes = [0x80, 0x01, 0x00, 0x00, 0x00, 0x12, 0x34, 0x56];
        let header = Deth {
            queue_key: 0x8001_0000,
            source: QpNumber::new(0x12_3456),
        };
        assert_eq!(Deth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0xff; Deth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }

    #[test]
    fn a_queue_pair_number_has_24_bits() {
        let header = Deth {
            queue_key: 0,
            source: QpNumber::new(1 << 24),
        };
        let error = header.emit(&mut [0; 8]).expect_err("25 bits");
        assert_eq!(error.field, Field::SourceQp);
    }
}
