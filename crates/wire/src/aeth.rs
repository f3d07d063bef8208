//! Acknowledge extended transport header (IBTA 9.3.5 and 9.7.5.1.1, tables 43 to 46).
//!
//! ```text
//! +-+---+---------+-----------------------------------------------+
//! |0| T |  value  |            message sequence number            |
//! +-+---+---------+-----------------------------------------------+
//! T 00 ACK, value is a credit count  01 RNR NAK, value is a timer
//!   10 reserved                      11 NAK, value is a code
//! ```

use core::fmt;

use crate::bytes::{fits, read_u24, room, take, write_u24};
use crate::error::{Error, Field, Reason};
use crate::timer::RnrTimer;

mod field {
    use core::ops::Range;

    pub(super) const SYNDROME: usize = 0;
    pub(super) const MSN: Range<usize> = 1..4;
}

const KIND_SHIFT: u32 = 5;
const VALUE_MASK: u8 = 0x1f;
const ACK: u8 = 0b000;
const RNR_NAK: u8 = 0b001;
const NAK: u8 = 0b011;

/// Why a responder refuses a request (IBTA 9.7.5.2, table 46).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NakCode {
    /// A packet is missing before this one.
    SequenceError = 0,
    /// The request isn't one that the responder can execute: opcode, length or sequence of opcodes.
    InvalidRequest = 1,
    /// The key doesn't open the memory that the request names.
    RemoteAccess = 2,
    /// The responder failed for a reason of its own.
    RemoteOperational = 3,
    /// A request of the reliable datagram service was invalid.
    InvalidRdRequest = 4,
}

impl NakCode {
    /// Every code in the order of its number.
    pub const ALL: [Self; 5] = [
        Self::SequenceError,
        Self::InvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperational,
        Self::InvalidRdRequest,
    ];

    /// The code with this number, `None` for reserved ones.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::SequenceError),
            1 => Some(Self::InvalidRequest),
            2 => Some(Self::RemoteAccess),
            3 => Some(Self::RemoteOperational),
            4 => Some(Self::InvalidRdRequest),
            _ => None,
        }
    }

    /// The number on the wire.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for NakCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SequenceError => "sequence error",
            Self::InvalidRequest => "invalid request",
            Self::RemoteAccess => "remote access error",
            Self::RemoteOperational => "remote operational error",
            Self::InvalidRdRequest => "invalid RD request",
        })
    }
}

/// What an acknowledgement says of the request it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syndrome {
    /// Done.
    Ack {
        /// How many more requests may be sent, coded in 5 bits (IBTA table 44);
        /// [`Syndrome::NO_CREDITS`] if the responder doesn't count.
        credits: u8,
    },
    /// The receiver isn't ready.
    RnrNak {
        /// When to try again at the earliest.
        timer: RnrTimer,
    },
    /// Refused.
    Nak(NakCode),
}

impl Syndrome {
    /// The credit code that says nothing about credits.
    pub const NO_CREDITS: u8 = 31;

    /// An acknowledgement of a responder that doesn't count credits.
    pub const ACK: Self = Self::Ack {
        credits: Self::NO_CREDITS,
    };

    /// The syndrome in one byte.
    ///
    /// # Errors
    /// If the byte is reserved.
    #[inline]
    pub const fn from_byte(byte: u8) -> Result<Self, Error> {
        let value = byte & VALUE_MASK;
        let known = match byte >> KIND_SHIFT {
            ACK => Some(Self::Ack { credits: value }),
            RNR_NAK => match RnrTimer::new(value) {
                Some(timer) => Some(Self::RnrNak { timer }),
                None => None,
            },
            NAK => match NakCode::from_code(value) {
                Some(code) => Some(Self::Nak(code)),
                None => None,
            },
            _ => None,
        };
        match known {
            Some(syndrome) => Ok(syndrome),
            None => Err(Error::new(Field::Syndrome, Reason::Reserved, byte as u32)),
        }
    }

    /// The byte on the wire; of a credit code the low 5 bits.
    #[inline]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Ack { credits } => ACK << KIND_SHIFT | credits & VALUE_MASK,
            Self::RnrNak { timer } => RNR_NAK << KIND_SHIFT | timer.code(),
            Self::Nak(code) => NAK << KIND_SHIFT | code.code(),
        }
    }

    const fn fits(self) -> bool {
        !matches!(self, Self::Ack { credits } if credits > VALUE_MASK)
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ack { credits } => write!(f, "ACK credits={credits}"),
            Self::RnrNak { timer } => write!(f, "RNR NAK timer={timer}"),
            Self::Nak(code) => write!(f, "NAK {code}"),
        }
    }
}

/// The header of acknowledgements and of READ responses, except those in the middle of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Aeth {
    /// What the responder says.
    pub syndrome: Syndrome,
    /// How many messages the responder has completed, 24 bits that wrap.
    pub msn: u32,
}

impl Aeth {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early or the syndrome is reserved.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::Aeth)?;
        let header = Self {
            syndrome: Syndrome::from_byte(bytes[field::SYNDROME])?,
            msn: read_u24(bytes, field::MSN),
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small or a value has more bits than its field.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Aeth)?;
        fits(Field::Msn, self.msn, 24)?;
        if !self.syndrome.fits() {
            let byte = self.syndrome.byte().into();
            return Err(Error::new(Field::Syndrome, Reason::OutOfRange, byte));
        }
        bytes[field::SYNDROME] = self.syndrome.byte();
        write_u24(bytes, field::MSN, self.msn);
        Ok(rest)
    }
}

impl fmt::Display for Aeth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} msn={}", self.syndrome, self.msn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syndromes_have_the_bytes_of_the_specification() {
        let timer = RnrTimer::new(14).expect("5 bits");
        for (byte, syndrome) in [
            (0x00, Syndrome::Ack { credits: 0 }),
            (0x1f, Syndrome::ACK),
            (0x2e, Syndrome::RnrNak { timer }),
            (0x60, Syndrome::Nak(NakCode::SequenceError)),
            (0x61, Syndrome::Nak(NakCode::InvalidRequest)),
            (0x62, Syndrome::Nak(NakCode::RemoteAccess)),
            (0x63, Syndrome::Nak(NakCode::RemoteOperational)),
            (0x64, Syndrome::Nak(NakCode::InvalidRdRequest)),
        ] {
            assert_eq!(Syndrome::from_byte(byte), Ok(syndrome));
            assert_eq!(syndrome.byte(), byte);
        }
    }

    #[test]
    fn reserved_syndromes_are_refused() {
        for byte in (0x40..0x60).chain(0x65..=0xff) {
            let error = Syndrome::from_byte(byte).expect_err("it is reserved");
            assert_eq!(
                error,
                Error::new(Field::Syndrome, Reason::Reserved, byte.into())
            );
        }
    }

    #[test]
    fn every_field_has_its_place() {
        let header = Aeth {
            syndrome: Syndrome::Nak(NakCode::RemoteAccess),
            msn: 0xab_cdef,
        };
        let bytes = [0x62, 0xab, 0xcd, 0xef];
        assert_eq!(Aeth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; Aeth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
    }

    #[test]
    fn values_that_have_too_many_bits_are_refused() {
        let emit = |syndrome, msn| {
            let error = Aeth { syndrome, msn }.emit(&mut [0; 4]).map(|_| ());
            error.expect_err("it doesn't fit").field
        };
        assert_eq!(emit(Syndrome::ACK, 1 << 24), Field::Msn);
        assert_eq!(emit(Syndrome::Ack { credits: 32 }, 0), Field::Syndrome);
    }
}
