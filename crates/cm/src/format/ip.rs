//! What private data of REQ and SIDR_REQ begin with under the IP service (IBTA A11.3).
//!
//! | bytes | field |
//! |---|---|
//! | 0 | version, 0 |
//! | 1 | version of IP (4 bits) |
//! | 2, 3 | source port |
//! | 4 to 19, 20 to 35 | source and destination address; IPv4 in the last four bytes |

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::format::bytes::{Reader, Writer};
use crate::format::error::Malformed;

/// From where and where to a request goes in terms of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    /// The port of the sender.
    pub source_port: u16,
    /// The address of the sender.
    pub source: IpAddr,
    /// The address of the receiver.
    pub destination: IpAddr,
}

impl IpHeader {
    /// Its length in bytes.
    pub const LENGTH: usize = 36;

    /// Reads it off the front of private data, and returns what follows: what the application says.
    ///
    /// # Errors
    /// If the bytes end early, or a version is another one.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let short = Malformed::Length(bytes.len());
        let (header, rest) = bytes.split_first_chunk::<{ Self::LENGTH }>().ok_or(short)?;
        let mut from = Reader::new(header);
        let (version, ip) = (from.u8(), from.u8() >> 4);
        if version != 0 {
            return Err(Malformed::Field("IP service's version", version.into()));
        }
        let source_port = from.u16();
        let mut address = || match ip {
            4 => {
                from.array::<12>();
                Ok(IpAddr::V4(Ipv4Addr::from(from.array::<4>())))
            }
            6 => Ok(IpAddr::V6(Ipv6Addr::from(from.array::<16>()))),
            _ => Err(Malformed::Field("version of IP", ip.into())),
        };
        let (source, destination) = (address()?, address()?);
        let header = Self {
            source_port,
            source,
            destination,
        };
        Ok((header, rest))
    }

    /// Its bytes.
    ///
    /// # Errors
    /// If the addresses are of different versions.
    pub fn emit(&self) -> Result<[u8; Self::LENGTH], Malformed> {
        if self.source.is_ipv4() != self.destination.is_ipv4() {
            return Err(Malformed::Field("versions of IP addresses", 0));
        }
        let mut bytes = [0; Self::LENGTH];
        let mut to = Writer::new(&mut bytes);
        to.u8(0);
        to.u8(if self.source.is_ipv4() { 0x40 } else { 0x60 });
        to.u16(self.source_port);
        for address in [self.source, self.destination] {
            match address {
                IpAddr::V4(address) => {
                    to.bytes(&[0; 12]);
                    to.bytes(&address.octets());
                }
                IpAddr::V6(address) => to.bytes(&address.octets()),
            }
        }
        Ok(bytes)
    }

    /// Private data that begin with it, followed by what the application says and zeros.
    ///
    /// # Errors
    /// If that is too long, or the addresses are of different versions.
    pub fn before<const N: usize>(&self, said: &[u8]) -> Result<[u8; N], Malformed> {
        let mut whole = [0; N];
        let room = whole.split_first_chunk_mut::<{ Self::LENGTH }>();
        let (front, rest) = room.ok_or(Malformed::Length(N))?;
        *front = self.emit()?;
        let room = rest.get_mut(..said.len());
        room.ok_or(Malformed::Length(said.len()))?
            .copy_from_slice(said);
        Ok(whole)
    }
}
