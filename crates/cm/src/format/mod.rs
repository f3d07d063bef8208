//! The bytes of messages, a file for each.

mod bytes;
mod drep;
mod dreq;
mod error;
pub(crate) mod header;
mod ip;
mod mra;
mod path;
mod plain;
pub(crate) mod port_info;
mod rej;
mod rep;
mod req;
mod rtu;
mod service;
mod sidr_rep;
mod sidr_req;
mod wait;

pub use drep::Drep;
pub use dreq::Dreq;
pub use error::Malformed;
pub use header::{MAD_LENGTH, Mad};
pub use ip::IpHeader;
pub use mra::Mra;
pub use path::{Gid, Path, address_of, gid_of};
pub use rej::{Answered, Reason, Rej};
pub use rep::Rep;
pub use req::Req;
pub use rtu::Rtu;
pub use service::{PortSpace, Service, ServiceId};
pub use sidr_rep::{SidrRep, SidrStatus};
pub use sidr_req::SidrReq;
pub use wait::Wait;

use bytes::Writer;
use header::{BODY, Header, LENGTH, Method};

/// A message of connection management.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Request for a connection.
    Req(Req),
    /// The answer takes time.
    Mra(Mra),
    /// Refusal.
    Rej(Rej),
    /// Reply to a request.
    Rep(Rep),
    /// The active side is ready.
    Rtu(Rtu),
    /// The connection ends.
    Dreq(Dreq),
    /// Reply to that.
    Drep(Drep),
    /// Question for a service.
    SidrReq(SidrReq),
    /// Answer to that.
    SidrRep(SidrRep),
}

impl Message {
    /// Reads a MAD: the transaction and the message. Status and reserved fields are ignored.
    ///
    /// # Errors
    /// If it is none of connection management, or one that isn't supported (LAP and APR, of alternate paths).
    pub fn parse(mad: &[u8]) -> Result<(u64, Self), Malformed> {
        let (header, body) = Header::parse(mad)?;
        if header.method != Method::Send {
            return Err(Malformed::Header("method", header.method.code().into()));
        }
        Ok((header.transaction, Self::of_body(header.attribute, body)?))
    }

    pub(crate) fn of_body(attribute: u16, body: &[u8; BODY]) -> Result<Self, Malformed> {
        Ok(match attribute {
            0x10 => Self::Req(Req::parse(body)),
            0x11 => Self::Mra(Mra::parse(body)),
            0x12 => Self::Rej(Rej::parse(body)),
            0x13 => Self::Rep(Rep::parse(body)),
            0x14 => Self::Rtu(Rtu::parse(body)),
            0x15 => Self::Dreq(Dreq::parse(body)),
            0x16 => Self::Drep(Drep::parse(body)),
            0x17 => Self::SidrReq(SidrReq::parse(body)),
            0x18 => Self::SidrRep(SidrRep::parse(body)),
            other => return Err(Malformed::Header("attribute", other.into())),
        })
    }

    /// The number of its attribute (IBTA 16.7.3, table 304).
    const fn attribute(&self) -> u16 {
        match self {
            Self::Req(_) => 0x10,
            Self::Mra(_) => 0x11,
            Self::Rej(_) => 0x12,
            Self::Rep(_) => 0x13,
            Self::Rtu(_) => 0x14,
            Self::Dreq(_) => 0x15,
            Self::Drep(_) => 0x16,
            Self::SidrReq(_) => 0x17,
            Self::SidrRep(_) => 0x18,
        }
    }

    /// Makes a MAD of it.
    ///
    /// # Errors
    /// If a value doesn't fit its field.
    pub fn emit(&self, transaction: u64) -> Result<Mad, Malformed> {
        let header = Header {
            method: Method::Send,
            transaction,
            attribute: self.attribute(),
        };
        let mut mad = header.emit();
        let to = &mut Writer::new(&mut mad[LENGTH..]);
        match self {
            Self::Req(message) => message.emit(to)?,
            Self::Mra(message) => message.emit(to),
            Self::Rej(message) => message.emit(to)?,
            Self::Rep(message) => message.emit(to)?,
            Self::Rtu(message) => message.emit(to),
            Self::Dreq(message) => message.emit(to)?,
            Self::Drep(message) => message.emit(to),
            Self::SidrReq(message) => message.emit(to),
            Self::SidrRep(message) => message.emit(to)?,
        }
        Ok(mad)
    }
}
