//! IPv4 header (RFC 791 section 3.1; A17 for what RoCEv2 makes of it: no options, no fragments).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+-------+-----------+---+-------------------------------+
//! |   4   |   5   |   DSCP    |ECN|          total length         |
//! +-------+-------+-----------+---+-+-+-+-------------------------+
//! |         identification        |0|D|M|     fragment offset     |
//! +---------------+---------------+-+-+-+-------------------------+
//! |  time to live |   protocol    |        header checksum        |
//! +---------------+---------------+-------------------------------+
//! |                         source address                        |
//! +---------------------------------------------------------------+
//! |                      destination address                      |
//! +---------------------------------------------------------------+
//! D don't fragment  M more fragments
//! ```

use core::fmt;
use core::net::Ipv4Addr;

use crate::bytes::{array, read_u16, room, take, write_u16};
use crate::error::{Error, Field, Reason};
use crate::traffic_class::{Ecn, TrafficClass};
use crate::udp::Udp;

mod field {
    use core::ops::Range;

    pub(super) const VERSION: usize = 0;
    pub(super) const TRAFFIC_CLASS: usize = 1;
    pub(super) const TOTAL_LENGTH: Range<usize> = 2..4;
    pub(super) const IDENTIFICATION: Range<usize> = 4..6;
    pub(super) const FRAGMENT: Range<usize> = 6..8;
    pub(super) const TTL: usize = 8;
    pub(super) const PROTOCOL: usize = 9;
    pub(super) const CHECKSUM: Range<usize> = 10..12;
    pub(super) const SOURCE: Range<usize> = 12..16;
    pub(super) const DESTINATION: Range<usize> = 16..20;
}

const VERSION: u8 = 4;
const HEADER_WORDS: u8 = 5;
const DONT_FRAGMENT: u16 = 0x4000;
/// The flag for more fragments and the offset.
const FRAGMENTED: u16 = 0x3fff;

/// The header of an IPv4 packet that carries UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv4 {
    /// Who has sent the packet.
    pub source: Ipv4Addr,
    /// Who is to receive it.
    pub destination: Ipv4Addr,
    /// How the network is to treat it.
    pub traffic_class: TrafficClass,
    /// Number for the fragments of one packet. The ICRC covers it.
    pub identification: u16,
    /// Whether it must not be cut. The ICRC covers it.
    pub dont_fragment: bool,
    /// How many more routers it may pass.
    pub ttl: u8,
}

impl Ipv4 {
    /// Length in bytes.
    pub const LENGTH: usize = 20;
    /// Time to live of packets from here.
    pub const DEFAULT_TTL: u8 = 64;

    /// A header as a UDP socket without path MTU fragmentation sends it: identification 0, don't
    /// fragment; capable of ECN.
    pub const fn new(source: Ipv4Addr, destination: Ipv4Addr) -> Self {
        Self {
            source,
            destination,
            traffic_class: TrafficClass {
                dscp: 0,
                ecn: Ecn::Capable0,
            },
            identification: 0,
            dont_fragment: true,
            ttl: Self::DEFAULT_TTL,
        }
    }

    /// Takes the header off the front of `bytes` and returns what it carries, as far as its length says.
    ///
    /// # Errors
    /// If the bytes end early, the checksum is wrong, or the packet has options, is a fragment or
    /// doesn't carry UDP.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (header, rest) = take::<{ Self::LENGTH }>(bytes, Field::Ipv4)?;
        check_shape(header)?;
        let total = read_u16(header, field::TOTAL_LENGTH);
        let payload = usize::from(total)
            .checked_sub(Self::LENGTH)
            .ok_or_else(|| Error::new(Field::IpLength, Reason::OutOfRange, total.into()))?;
        let payload = rest
            .get(..payload)
            .ok_or_else(|| Error::counted(Field::IpLength, Reason::Truncated, bytes.len()))?;
        let fragment = read_u16(header, field::FRAGMENT);
        let header = Self {
            source: Ipv4Addr::from(array(header, field::SOURCE)),
            destination: Ipv4Addr::from(array(header, field::DESTINATION)),
            traffic_class: TrafficClass::from_byte(header[field::TRAFFIC_CLASS]),
            identification: read_u16(header, field::IDENTIFICATION),
            dont_fragment: fragment & DONT_FRAGMENT != 0,
            ttl: header[field::TTL],
        };
        Ok((header, payload))
    }

    /// Writes the header of a packet that carries `payload` bytes to the front of `buffer` and returns the
    /// room behind it.
    ///
    /// # Errors
    /// If the buffer is too small, the packet longer than 65 535 bytes or the DSCP longer than 6 bits.
    #[inline]
    pub fn emit<'a>(&self, payload: usize, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Ipv4)?;
        let total = u16::try_from(payload.saturating_add(Self::LENGTH))
            .map_err(|_| Error::counted(Field::IpLength, Reason::OutOfRange, payload))?;
        bytes[field::VERSION] = VERSION << 4 | HEADER_WORDS;
        bytes[field::TRAFFIC_CLASS] = self.traffic_class.byte()?;
        write_u16(bytes, field::TOTAL_LENGTH, total);
        write_u16(bytes, field::IDENTIFICATION, self.identification);
        let fragment = if self.dont_fragment { DONT_FRAGMENT } else { 0 };
        write_u16(bytes, field::FRAGMENT, fragment);
        bytes[field::TTL] = self.ttl;
        bytes[field::PROTOCOL] = Udp::PROTOCOL;
        write_u16(bytes, field::CHECKSUM, 0);
        bytes[field::SOURCE].copy_from_slice(&self.source.octets());
        bytes[field::DESTINATION].copy_from_slice(&self.destination.octets());
        let checksum = !sum(bytes);
        write_u16(bytes, field::CHECKSUM, checksum);
        Ok(rest)
    }
}

/// Whether a header is one that RoCEv2 has.
#[inline]
fn check_shape(header: &[u8; Ipv4::LENGTH]) -> Result<(), Error> {
    let refuse = |field, reason, found: u16| Err(Error::new(field, reason, found.into()));
    let version = header[field::VERSION];
    if version >> 4 != VERSION {
        return refuse(
            Field::IpVersion,
            Reason::Unsupported,
            u16::from(version >> 4),
        );
    }
    if version & 0x0f != HEADER_WORDS {
        let words = u16::from(version & 0x0f);
        return refuse(Field::HeaderLength, Reason::Unsupported, words);
    }
    if sum(header) != u16::MAX {
        let checksum = read_u16(header, field::CHECKSUM);
        return refuse(Field::HeaderChecksum, Reason::Corrupt, checksum);
    }
    let fragment = read_u16(header, field::FRAGMENT);
    if fragment & FRAGMENTED != 0 {
        return refuse(Field::Fragment, Reason::Unsupported, fragment & FRAGMENTED);
    }
    let protocol = header[field::PROTOCOL];
    if protocol != Udp::PROTOCOL {
        return refuse(Field::Protocol, Reason::Unsupported, protocol.into());
    }
    Ok(())
}

/// The one's complement sum of the words of a header (RFC 1071).
#[inline]
fn sum(header: &[u8; Ipv4::LENGTH]) -> u16 {
    let (words, _) = header.as_chunks();
    let sum: u32 = words
        .iter()
        .map(|word| u32::from(u16::from_be_bytes(*word)))
        .sum();
    // Ten words carry less than 16 bits, and adding the carry once more at most one.
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum + (sum >> 16)) as u16
}

impl fmt::Display for Ipv4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} > {} {} id={} ttl={}",
            self.source, self.destination, self.traffic_class, self.identification, self.ttl
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a CNP of a ConnectX-4 Lx (Scapy, test/contrib/roce.uts).
    const BYTES: [u8; 20] = [
        0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11,
        0x01, 0x0a, 0x00, 0x12, 0x01,
    ];

    fn header() -> Ipv4 {
        Ipv4 {
            traffic_class: TrafficClass {
                dscp: 48,
                ecn: Ecn::Capable0,
            },
            identification: 0x718c,
            ..Ipv4::new(Ipv4Addr::new(10, 0, 17, 1), Ipv4Addr::new(10, 0, 18, 1))
        }
    }

    fn packet() -> [u8; 62] {
        let mut packet = [0xee; 62];
        packet[..20].copy_from_slice(&BYTES);
        packet
    }

    #[test]
    fn every_field_has_its_place() {
        let packet = packet();
        assert_eq!(Ipv4::parse(&packet), Ok((header(), &packet[20..60])));
        let mut buffer = [0xff; 20];
        assert!(header().emit(40, &mut buffer).is_ok());
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn what_roce_does_not_have_is_refused() {
        for (at, value, field) in [
            (0, 0x65, Field::IpVersion),
            (0, 0x46, Field::HeaderLength),
            (1, 0xc3, Field::HeaderChecksum),
            (6, 0x60, Field::Fragment),
            (7, 0x01, Field::Fragment),
            (9, 0x06, Field::Protocol),
        ] {
            let mut packet = packet();
            packet[at] = value;
            if field != Field::HeaderChecksum {
                refresh_checksum(&mut packet);
            }
            let error = Ipv4::parse(&packet).expect_err("it isn't RoCEv2");
            assert_eq!(error.field, field);
        }
    }

    fn refresh_checksum(packet: &mut [u8; 62]) {
        packet[10..12].fill(0);
        let header = packet.first_chunk().expect("it is longer");
        let checksum = !sum(header);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let short = Ipv4::parse(&packet()[..59]).expect_err("a byte is missing");
        assert_eq!(
            (short.field, short.reason),
            (Field::IpLength, Reason::Truncated)
        );
        let mut packet = packet();
        packet[2..4].copy_from_slice(&[0, 19]);
        refresh_checksum(&mut packet);
        let tiny = Ipv4::parse(&packet).expect_err("shorter than its header");
        assert_eq!(
            (tiny.field, tiny.reason),
            (Field::IpLength, Reason::OutOfRange)
        );
        let long = header().emit(65_516, &mut [0; 20]).expect_err("too long");
        assert_eq!(
            (long.field, long.reason),
            (Field::IpLength, Reason::OutOfRange)
        );
        assert!(header().emit(65_515, &mut [0; 20]).is_ok());
    }
}
