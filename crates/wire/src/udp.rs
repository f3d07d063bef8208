//! UDP header (RFC 768; A17: destination port 4791, checksum 0, since the ICRC does its work).
//!
//! ```text
//! +-------------------------------+-------------------------------+
//! |          source port          |        destination port       |
//! +-------------------------------+-------------------------------+
//! |             length            |            checksum           |
//! +-------------------------------+-------------------------------+
//! ```

use core::fmt;

use crate::bytes::{read_u16, room, take, write_u16};
use crate::error::{Error, Field, Reason};

mod field {
    use core::ops::Range;

    pub(super) const SOURCE_PORT: Range<usize> = 0..2;
    pub(super) const DESTINATION_PORT: Range<usize> = 2..4;
    pub(super) const LENGTH: Range<usize> = 4..6;
    pub(super) const CHECKSUM: Range<usize> = 6..8;
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Udp {
    /// What switches choose a path by. The ICRC covers it.
    pub source_port: u16,
    /// [`Udp::ROCE_PORT`].
    pub destination_port: u16,
    /// Checksum, 0 if there is none. It is carried, not checked: the ICRC doesn't cover it and covers
    /// what it would.
    pub checksum: u16,
}

impl Udp {
    /// Length in bytes.
    pub const LENGTH: usize = 8;
    /// The number of UDP in IP headers.
    pub const PROTOCOL: u8 = 17;
    /// The destination port of RoCEv2.
    pub const ROCE_PORT: u16 = 4791;

    /// The header of a packet of RoCEv2 without checksum.
    pub const fn new(source_port: u16) -> Self {
        Self {
            source_port,
            destination_port: Self::ROCE_PORT,
            checksum: 0,
        }
    }

    /// Takes the header off the front of `bytes` and returns what it carries.
    ///
    /// # Errors
    /// If the bytes end early or the length isn't theirs.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (header, rest) = take::<{ Self::LENGTH }>(bytes, Field::Udp)?;
        let length = read_u16(header, field::LENGTH);
        if usize::from(length) != bytes.len() {
            let found = length.into();
            return Err(Error::new(Field::UdpLength, Reason::Inconsistent, found));
        }
        let header = Self {
            source_port: read_u16(header, field::SOURCE_PORT),
            destination_port: read_u16(header, field::DESTINATION_PORT),
            checksum: read_u16(header, field::CHECKSUM),
        };
        Ok((header, rest))
    }

    /// Writes the header of a datagram that carries `payload` bytes to the front of `buffer` and returns the
    /// room behind it.
    ///
    /// # Errors
    /// If the buffer is too small or the datagram longer than 65 535 bytes.
    #[inline]
    pub fn emit<'a>(&self, payload: usize, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Udp)?;
        let length = u16::try_from(payload.saturating_add(Self::LENGTH))
            .map_err(|_| Error::counted(Field::UdpLength, Reason::OutOfRange, payload))?;
        write_u16(bytes, field::SOURCE_PORT, self.source_port);
        write_u16(bytes, field::DESTINATION_PORT, self.destination_port);
        write_u16(bytes, field::LENGTH, length);
        write_u16(bytes, field::CHECKSUM, self.checksum);
        Ok(rest)
    }
}

impl fmt::Display for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source_port, self.destination_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 10] = [0xfa, 0x4f, 0x12, 0xb7, 0, 10, 0x12, 0x34, 1, 2];

    fn header() -> Udp {
        let checksum = 0x1234;
        Udp {
            checksum,
            ..Udp::new(0xfa4f)
        }
    }

    #[test]
    fn every_field_has_its_place() {
        assert_eq!(Udp::parse(&BYTES), Ok((header(), &[1, 2][..])));
        let mut buffer = [0; 8];
        assert!(header().emit(2, &mut buffer).is_ok());
        assert_eq!(buffer, BYTES[..8]);
    }

    #[test]
    fn a_length_that_is_not_that_of_the_bytes_is_refused() {
        for length in [0, 7, 9, 11] {
            let mut bytes = BYTES;
            bytes[5] = length;
            let error = Udp::parse(&bytes).expect_err("the length is wrong");
            assert_eq!(
                error,
                Error::new(Field::UdpLength, Reason::Inconsistent, length.into())
            );
        }
        assert!(header().emit(65_528, &mut [0; 8]).is_err());
    }
}
