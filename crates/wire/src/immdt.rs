//! Immediate data (IBTA 9.3.6).
//!
//! ```text
//! +---------------------------------------------------------------+
//! |                        immediate data                         |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u32, room, take, write_u32};
use crate::error::{Error, Field};

mod field {
    use core::ops::Range;

    pub(super) const DATA: Range<usize> = 0..4;
}

/// Data that a SEND or WRITE hands to the receiver's completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ImmDt {
    /// The data, most significant byte first on the wire.
    pub data: u32,
}

impl ImmDt {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::ImmDt)?;
        let data = read_u32(bytes, field::DATA);
        Ok((Self { data }, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::ImmDt)?;
        write_u32(bytes, field::DATA, self.data);
        Ok(rest)
    }
}

impl fmt::Display for ImmDt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "immdt={:#x}", self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_significant_byte_comes_first() {
        let bytes = [0x12, 0x34, 0x56, 0x78];
        let header = ImmDt { data: 0x1234_5678 };
        assert_eq!(ImmDt::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; ImmDt::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }
}
