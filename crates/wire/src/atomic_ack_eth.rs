//! Atomic acknowledge extended transport header (IBTA 9.5.3).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                     original data, 64 bits                    |
//! |                                                               |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u64, room, take, write_u64};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const ORIGINAL: Range<usize> = 0..8;
}

/// What an atomic operation found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AtomicAckEth {
    /// The value in memory before the operation.
    pub original: u64,
}

impl AtomicAckEth {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::AtomicAckEth)?;
        let original = read_u64(bytes, field::ORIGINAL);
        Ok((Self { original }, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::AtomicAckEth)?;
        write_u64(bytes, field::ORIGINAL, self.original);
        Ok(rest)
    }
}

impl fmt::Display for AtomicAckEth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "original={:#x}", self.original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_significant_byte_comes_first() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        let original = 0x0102_0304_0506_0708;
        let header = AtomicAckEth { original };
        assert_eq!(AtomicAckEth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; AtomicAckEth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }
}
