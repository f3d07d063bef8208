//! Invalidate extended transport header (IBTA 9.3.7).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                          remote key                           |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u32, room, take, write_u32};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const KEY: Range<usize> = 0..4;
}

/// The key that a SEND with Invalidate takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ieth {
    /// The key to invalidate (R_Key).
    pub key: u32,
}

impl Ieth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::Ieth)?;
        let key = read_u32(bytes, field::KEY);
        Ok((Self { key }, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Ieth)?;
        write_u32(bytes, field::KEY, self.key);
        Ok(rest)
    }
}

impl fmt::Display for Ieth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ieth={:#x}", self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_significant_byte_comes_first() {
        let bytes = [0x12, 0x34, 0x56, 0x78];
        let header = Ieth { key: 0x1234_5678 };
        assert_eq!(Ieth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; Ieth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }
}
