//! REJ, the refusal of a connection (IBTA 12.6.7, table 108).
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3, 4 to 7 | local and remote communication id |
//! | 8 | message (2 bits) |
//! | 9 | length of the information (7 bits) |
//! | 10, 11 | reason |
//! | 12 to 83 | information that belongs to the reason |
//! | 84 to 231 | private data |

use core::fmt;

use crate::format::bytes::{Reader, Writer};
use crate::format::error::{Malformed, fits};
use crate::format::header::BODY;

/// Which message another one answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// A REQ.
    Req,
    /// A REP.
    Rep,
    /// None, or another one (in MRA: a LAP).
    Other,
}

impl Answered {
    pub(crate) const fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Req,
            1 => Self::Rep,
            _ => Self::Other,
        }
    }

    pub(crate) const fn bits(self) -> u8 {
        self as u8
    }
}

/// Why a connection is refused (IBTA 12.6.7.2, table 109).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason(pub u16);

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal: $text:literal,)*) => {
        impl Reason {
            $($(#[$doc])* pub const $name: Self = Self($code);)*
        }

        impl fmt::Display for Reason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($code => f.write_str($text),)*
                    other => write!(f, "reason {other}"),
                }
            }
        }
    };
}

reasons! {
    /// There are no resources left.
    NO_RESOURCES = 3: "no resources available",
    /// The sender has waited too long for an answer.
    TIMEOUT = 4: "timeout",
    /// Something is asked for that isn't supported.
    UNSUPPORTED_REQUEST = 5: "unsupported request",
    /// The connection that a message names isn't known.
    INVALID_ID = 6: "invalid communication id",
    /// Nobody listens to the service.
    INVALID_SERVICE_ID = 8: "invalid service id",
    /// The kind of service doesn't exist here.
    INVALID_SERVICE_TYPE = 9: "invalid transport service type",
    /// One of the two sides still has an earlier connection of the same queue pair.
    STALE_CONNECTION = 10: "stale connection",
    /// The application says so.
    CONSUMER = 28: "consumer reject",
    /// The options of a vendor aren't supported.
    VENDOR_OPTION = 35: "vendor option not supported",
}

/// A refusal, from either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rej {
    /// The sender's name of the connection, 0 if it has none.
    pub local_id: u32,
    /// The receiver's name of it, 0 if unknown.
    pub remote_id: u32,
    /// What is refused.
    pub message: Answered,
    /// How many bytes of the information count, below 128.
    pub information_length: u8,
    /// Why.
    pub reason: Reason,
    /// What belongs to the reason: to [`Reason::TIMEOUT`] the GUID of the sender of REQ.
    pub information: [u8; Self::INFORMATION],
    /// What the application says.
    pub private_data: [u8; Self::PRIVATE_DATA],
}

impl Rej {
    /// Bytes of private data.
    pub const PRIVATE_DATA: usize = 148;
    /// Bytes of information.
    pub const INFORMATION: usize = 72;

    /// A refusal without anything else.
    pub const fn new(ids: (u32, u32), message: Answered, reason: Reason) -> Self {
        Self {
            local_id: ids.0,
            remote_id: ids.1,
            message,
            information_length: 0,
            reason,
            information: [0; Self::INFORMATION],
            private_data: [0; Self::PRIVATE_DATA],
        }
    }

    /// The refusal with a GUID as information.
    pub fn with_guid(mut self, guid: u64) -> Self {
        let bytes = guid.to_be_bytes();
        self.information_length = bytes.len() as u8;
        Writer::new(&mut self.information).bytes(&bytes);
        self
    }

    /// The GUID in its information, if there is room for one.
    pub fn guid(&self) -> Option<u64> {
        (self.information_length >= 8).then(|| Reader::new(&self.information).u64())
    }

    pub(crate) fn parse(body: &[u8; BODY]) -> Self {
        let mut from = Reader::new(body);
        Self {
            local_id: from.u32(),
            remote_id: from.u32(),
            message: Answered::of_bits(from.u8() >> 6),
            information_length: from.u8() >> 1,
            reason: Reason(from.u16()),
            information: from.array(),
            private_data: from.array(),
        }
    }

    pub(crate) fn emit(&self, to: &mut Writer<'_>) -> Result<(), Malformed> {
        fits("REJ information length", self.information_length.into(), 7)?;
        to.u32(self.local_id);
        to.u32(self.remote_id);
        to.u8(self.message.bits() << 6);
        to.u8(self.information_length << 1);
        to.u16(self.reason.0);
        to.bytes(&self.information);
        to.bytes(&self.private_data);
        Ok(())
    }
}
