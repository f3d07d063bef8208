//! Atomic extended transport header (IBTA 9.3.4).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                    virtual address, 64 bits                   |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                           remote key                          |
//! +---------------------------------------------------------------+
//! |                   swap or add data, 64 bits                   |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                     compare data, 64 bits                     |
//! |                                                               |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u32, read_u64, room, take, write_u32, write_u64};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const ADDRESS: Range<usize> = 0..8;
    pub(super) const KEY: Range<usize> = 8..12;
    pub(super) const SWAP_OR_ADD: Range<usize> = 12..20;
    pub(super) const COMPARE: Range<usize> = 20..28;
}

/// What an atomic operation does, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AtomicEth {
    /// Virtual address in the responder's memory, a multiple of 8.
    pub address: u64,
    /// The key that opens the memory (R_Key).
    pub key: u32,
    /// The new value of a compare and swap, or what a fetch and add adds.
    pub swap_or_add: u64,
    /// The value that a compare and swap expects; fetch and add ignores it.
    pub compare: u64,
}

impl AtomicEth {
    /// Length in bytes.
    pub const LENGTH: usize = 28;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::AtomicEth)?;
        let header = Self {
            address: read_u64(bytes, field::ADDRESS),
            key: read_u32(bytes, field::KEY),
            swap_or_add: read_u64(bytes, field::SWAP_OR_ADD),
            compare: read_u64(bytes, field::COMPARE),
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::AtomicEth)?;
        write_u64(bytes, field::ADDRESS, self.address);
        write_u32(bytes, field::KEY, self.key);
        write_u64(bytes, field::SWAP_OR_ADD, self.swap_or_add);
        write_u64(bytes, field::COMPARE, self.compare);
        Ok(rest)
    }
}

impl fmt::Display for AtomicEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "address={:#x} key={:#x} swap-or-add={:#x} compare={:#x}",
            self.address, self.key, self.swap_or_add, self.compare
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_place() {
        let mut bytes = [0; AtomicEth::LENGTH];
        for (value, byte) in (1..).zip(&mut bytes) {
            *byte = value;
        }
        let header = AtomicEth {
            address: 0x0102_0304_0506_0708,
            key: 0x090a_0b0c,
            swap_or_add: 0x0d0e_0f10_1112_1314,
            compare: 0x1516_1718_191a_1b1c,
        };
        assert_eq!(AtomicEth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; AtomicEth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }
}
