//! What every MAD begins with (IBTA 13.4.2), here of class communication management.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | base version, 1 |
//! | 1 | class, 7 |
//! | 2 | class version, 2 |
//! | 3 | method |
//! | 4 to 7 | status, class specific |
//! | 8 to 15 | transaction |
//! | 16, 17 | attribute |
//! | 18 to 23 | reserved, attribute modifier |

use crate::format::bytes::{Reader, Writer};
use crate::format::error::Malformed;

/// The length of a MAD in bytes.
pub const MAD_LENGTH: usize = 256;
/// The length of what follows the header.
pub(crate) const BODY: usize = MAD_LENGTH - LENGTH;
/// The length of the header.
pub(crate) const LENGTH: usize = 24;

/// A management datagram, as a datagram of queue pair 1 carries it.
pub type Mad = [u8; MAD_LENGTH];

const BASE_VERSION: u8 = 1;
const CLASS: u8 = 7;
pub(crate) const CLASS_VERSION: u8 = 2;

/// What is asked of the receiver (IBTA 13.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Return the value of an attribute (ComMgtGet).
    Get,
    /// Take a message (ComMgtSend).
    Send,
    /// Take the response to a `Get` (ComMgtGetResp).
    GetResponse,
}

impl Method {
    const ALL: [(Self, u8); 3] = [
        (Self::Get, 0x01),
        (Self::Send, 0x03),
        (Self::GetResponse, 0x81),
    ];

    fn of(code: u8) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, own)| *own == code);
        found.map(|(method, _)| *method)
    }

    pub(crate) fn code(self) -> u8 {
        let found = Self::ALL.iter().find(|(own, _)| *own == self);
        found.map_or(0, |(_, code)| *code)
    }
}

/// The part of the header that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) method: Method,
    pub(crate) transaction: u64,
    pub(crate) attribute: u16,
}

impl Header {
    /// Reads it off the front of a MAD, and returns what follows.
    pub(crate) fn parse(mad: &[u8]) -> Result<(Self, &[u8; BODY]), Malformed> {
        let wrong = || Malformed::Length(mad.len());
        let (header, rest) = mad.split_first_chunk::<LENGTH>().ok_or_else(wrong)?;
        let body = rest.try_into().map_err(|_| wrong())?;
        let mut reader = Reader::new(header);
        let expected = [
            ("base version", BASE_VERSION),
            ("class", CLASS),
            ("class version", CLASS_VERSION),
        ];
        for (field, value) in expected {
            let found = reader.u8();
            if found != value {
                return Err(Malformed::Header(field, found.into()));
            }
        }
        let code = reader.u8();
        let method = Method::of(code);
        let method = method.ok_or_else(|| Malformed::Header("method", code.into()))?;
        let [_status, _specific] = [reader.u16(), reader.u16()];
        let header = Self {
            method,
            transaction: reader.u64(),
            attribute: reader.u16(),
        };
        Ok((header, body))
    }

    /// A MAD that begins with it, followed by zeros.
    pub(crate) fn emit(&self) -> Mad {
        let mut mad = [0; MAD_LENGTH];
        let mut writer = Writer::new(&mut mad);
        writer.bytes(&[BASE_VERSION, CLASS, CLASS_VERSION, self.method.code()]);
        writer.u32(0);
        writer.u64(self.transaction);
        writer.u16(self.attribute);
        mad
    }
}
