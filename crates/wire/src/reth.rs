//! RDMA extended transport header (IBTA 9.3.3).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                      virtual address, 64 bits                 |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                           remote key                          |
//! +---------------------------------------------------------------+
//! |                           DMA length                          |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u32, read_u64, room, take, write_u32, write_u64};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const ADDRESS: Range<usize> = 0..8;
    pub(super) const KEY: Range<usize> = 8..12;
    pub(super) const LENGTH: Range<usize> = 12..16;
}

/// Where a WRITE puts its data, or a READ takes it from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reth {
    /// Virtual address in the responder's memory.
    pub address: u64,
    /// The key that opens the memory (R_Key).
    pub key: u32,
    /// Length of the whole message in bytes.
    pub length: u32,
}

impl Reth {
    /// Length of the header in bytes.
    pub const LENGTH: usize = 16;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::Reth)?;
        let header = Self {
            address: read_u64(bytes, field::ADDRESS),
            key: read_u32(bytes, field::KEY),
            length: read_u32(bytes, field::LENGTH),
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Reth)?;
        write_u64(bytes, field::ADDRESS, self.address);
        write_u32(bytes, field::KEY, self.key);
        write_u32(bytes, field::LENGTH, self.length);
        Ok(rest)
    }
}

impl fmt::Display for Reth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            key,
            length,
        } = self;
        write!(f, "address={address:#x} key={key:#x} length={length}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let bytes = [
            0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xde, 0xad, 0xbe, 0xef, 0x80, 0x00,
            0x00, 0x01,
        ];
        let header = Reth {
            address: 0x0123_4567_89ab_cdef,
            key: 0xdead_beef,
            length: 0x8000_0001,
        };
        assert_eq!(Reth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0xff; Reth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }
}
