//! IPv6 header (RFC 8200 section 3), which is also the global route header of InfiniBand (IBTA 8.3): the
//! next header is UDP in RoCEv2, and IBTA's own number where the BTH follows at once.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------+-----------+---+---------------------------------------+
//! |   6   |   DSCP    |ECN|               flow label              |
//! +-------+-----------+---+-------+---------------+---------------+
//! |         payload length        |  next header  |   hop limit   |
//! +-------------------------------+---------------+---------------+
//! |              source address (source GID), 16 bytes            |
//! +---------------------------------------------------------------+
//! |         destination address (destination GID), 16 bytes       |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;
use core::net::Ipv6Addr;

use crate::bytes::{array, fits, read_u16, read_u32, room, take, write_u16, write_u32};
use crate::error::{Error, Field, Reason};
use crate::traffic_class::{Ecn, TrafficClass};
use crate::udp::Udp;

mod field {
    use core::ops::Range;

    pub(super) const VERSION: Range<usize> = 0..4;
    pub(super) const PAYLOAD_LENGTH: Range<usize> = 4..6;
    pub(super) const NEXT_HEADER: usize = 6;
    pub(super) const HOP_LIMIT: usize = 7;
    pub(super) const SOURCE: Range<usize> = 8..24;
    pub(super) const DESTINATION: Range<usize> = 24..40;
}

const VERSION: u32 = 6;
const VERSION_SHIFT: u32 = 28;
const TRAFFIC_CLASS_SHIFT: u32 = 20;
const FLOW_LABEL_BITS: u32 = 20;
const FLOW_LABEL_MASK: u32 = (1 << FLOW_LABEL_BITS) - 1;

/// What follows an IPv6 header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum NextHeader {
    /// UDP: RoCEv2.
    #[default]
    Udp = Udp::PROTOCOL,
    /// A BTH: InfiniBand and the first RoCE, where this header is a GRH.
    InfiniBand = Self::INFINIBAND,
}

impl NextHeader {
    pub(crate) const INFINIBAND: u8 = 0x1b;
}

/// The header of an IPv6 packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv6 {
    /// Who has sent the packet.
    pub source: Ipv6Addr,
    /// Who is to receive it.
    pub destination: Ipv6Addr,
    /// How the network is to treat it.
    pub traffic_class: TrafficClass,
    /// Label that switches may choose a path by, 20 bits. The ICRC doesn't cover it.
    pub flow_label: u32,
    /// What follows.
    pub next_header: NextHeader,
    /// How many more routers it may pass.
    pub hop_limit: u8,
}

impl Ipv6 {
    /// Length in bytes.
    pub const LENGTH: usize = 40;
    /// Hop limit of packets from here.
    pub const DEFAULT_HOP_LIMIT: u8 = 64;

    /// The header of a packet of RoCEv2 without flow label, capable of ECN.
    pub const fn new(source: Ipv6Addr, destination: Ipv6Addr) -> Self {
        Self {
            source,
            destination,
            traffic_class: TrafficClass {
                dscp: 0,
                ecn: Ecn::Capable0,
            },
            flow_label: 0,
            next_header: NextHeader::Udp,
            hop_limit: Self::DEFAULT_HOP_LIMIT,
        }
    }

    /// Takes the header off the front of `bytes` and returns what it carries, as far as its length says.
    ///
    /// # Errors
    /// If the bytes end early, or something else than UDP or a BTH follows.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (header, rest) = take::<{ Self::LENGTH }>(bytes, Field::Ipv6)?;
        let first = read_u32(header, field::VERSION);
        if first >> VERSION_SHIFT != VERSION {
            let version = first >> VERSION_SHIFT;
            return Err(Error::new(Field::IpVersion, Reason::Unsupported, version));
        }
        let next_header = match header[field::NEXT_HEADER] {
            Udp::PROTOCOL => NextHeader::Udp,
            NextHeader::INFINIBAND => NextHeader::InfiniBand,
            other => {
                let found = other.into();
                return Err(Error::new(Field::Protocol, Reason::Unsupported, found));
            }
        };
        let payload = rest
            .get(..usize::from(read_u16(header, field::PAYLOAD_LENGTH)))
            .ok_or_else(|| Error::counted(Field::IpLength, Reason::Truncated, bytes.len()))?;
        let header = Self {
            source: Ipv6Addr::from(array::<16>(header, field::SOURCE)),
            destination: Ipv6Addr::from(array::<16>(header, field::DESTINATION)),
            traffic_class: TrafficClass::from_byte((first >> TRAFFIC_CLASS_SHIFT) as u8),
            flow_label: first & FLOW_LABEL_MASK,
            next_header,
            hop_limit: header[field::HOP_LIMIT],
        };
        Ok((header, payload))
    }

    /// Writes the header of a packet that carries `payload` bytes to the front of `buffer` and returns the
    /// room behind it.
    ///
    /// # Errors
    /// If the buffer is too small, the payload longer than 65 535 bytes, or a value has more bits than its
    /// field.
    #[inline]
    pub fn emit<'a>(&self, payload: usize, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Ipv6)?;
        let length = u16::try_from(payload)
            .map_err(|_| Error::counted(Field::IpLength, Reason::OutOfRange, payload))?;
        fits(Field::FlowLabel, self.flow_label, FLOW_LABEL_BITS)?;
        let traffic_class = u32::from(self.traffic_class.byte()?);
        let first =
            VERSION << VERSION_SHIFT | traffic_class << TRAFFIC_CLASS_SHIFT | self.flow_label;
        write_u32(bytes, field::VERSION, first);
        write_u16(bytes, field::PAYLOAD_LENGTH, length);
        bytes[field::NEXT_HEADER] = self.next_header as u8;
        bytes[field::HOP_LIMIT] = self.hop_limit;
        bytes[field::SOURCE].copy_from_slice(&self.source.octets());
        bytes[field::DESTINATION].copy_from_slice(&self.destination.octets());
        Ok(rest)
    }
}

impl fmt::Display for Ipv6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} > {} {} label={:#x} hops={}",
            self.source, self.destination, self.traffic_class, self.flow_label, self.hop_limit
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Ipv6 {
        Ipv6 {
            traffic_class: TrafficClass::from_byte(0x2a),
            flow_label: 0x3_4567,
            hop_limit: 0x40,
            ..Ipv6::new(
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
            )
        }
    }

    fn packet() -> [u8; 46] {
        let mut packet = [0; 46];
        packet[..8].copy_from_slice(&[0x62, 0xa3, 0x45, 0x67, 0, 4, 17, 0x40]);
        packet[8..12].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        packet[24..28].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        (packet[23], packet[39]) = (1, 2);
        packet
    }

    #[test]
    fn every_field_has_its_place() {
        let packet = packet();
        assert_eq!(Ipv6::parse(&packet), Ok((header(), &packet[40..44])));
        let mut buffer = [0xff; 40];
        assert!(header().emit(4, &mut buffer).is_ok());
        assert_eq!(buffer, packet[..40]);
    }

    #[test]
    fn what_roce_does_not_have_is_refused() {
        for (at, value, field) in [
            (0, 0x42, Field::IpVersion),
            (6, 0x00, Field::Protocol),
            (5, 0x07, Field::IpLength),
        ] {
            let mut packet = packet();
            packet[at] = value;
            assert_eq!(
                Ipv6::parse(&packet).expect_err("it isn't RoCEv2").field,
                field
            );
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let flow_label = 1 << 20;
        let wide = Ipv6 {
            flow_label,
            ..header()
        };
        let emit = |header: Ipv6, payload| {
            let error = header.emit(payload, &mut [0; 40]).map(|_| ());
            error.expect_err("it doesn't fit").field
        };
        assert_eq!(emit(wide, 4), Field::FlowLabel);
        assert_eq!(emit(header(), 65_536), Field::IpLength);
    }
}
