//! Ethernet II header, perhaps with one 802.1Q tag (IEEE 802.3 3.1.1, IEEE 802.1Q 9.3).
//!
//! ```text
//! +-----------------------+-----------------------+---------------+
//! |  destination, 6 bytes |     source, 6 bytes   |   EtherType   |
//! +-----------------------+-----------------------+---------------+
//! with a tag, between source and EtherType:
//! +-------------------------------+-----+-+-----------------------+
//! |            0x8100             | PCP |D|        VLAN id        |
//! +-------------------------------+-----+-+-----------------------+
//! D drop eligible
//! ```

use core::fmt;

use crate::bytes::{array, fits, read_u16, room, take, write_u16};
use crate::error::{Error, Field, Reason};

mod field {
    use core::ops::Range;

    pub(super) const DESTINATION: Range<usize> = 0..6;
    pub(super) const SOURCE: Range<usize> = 6..12;
    pub(super) const ETHERTYPE: Range<usize> = 12..14;

    /// Within the tag, which begins where the EtherType of an untagged frame stands.
    pub(super) const TAG_CONTROL: Range<usize> = 0..2;
    pub(super) const TAG_ETHERTYPE: Range<usize> = 2..4;
}

const TAGGED: u16 = 0x8100;
const PRIORITY_SHIFT: u32 = 13;
const DROP_ELIGIBLE: u16 = 0x1000;
const VLAN_MASK: u16 = 0x0fff;

/// The address of a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// What an Ethernet frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum EtherType {
    /// IPv4.
    Ipv4 = 0x0800,
    /// IPv6.
    Ipv6 = 0x86dd,
}

impl EtherType {
    const fn from_code(code: u16) -> Result<Self, Error> {
        match code {
            0x0800 => Ok(Self::Ipv4),
            0x86dd => Ok(Self::Ipv6),
            other => Err(Error::new(
                Field::EtherType,
                Reason::Unsupported,
                other as u32,
            )),
        }
    }
}

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VlanTag {
    /// Priority (PCP), 3 bits: what PFC pauses.
    pub priority: u8,
    /// Whether the frame may be dropped first.
    pub drop_eligible: bool,
    /// VLAN identifier, 12 bits; 0 if only the priority counts.
    pub vlan: u16,
}

impl VlanTag {
    /// Length in bytes.
    pub const LENGTH: usize = 4;

    const fn from_control(control: u16) -> Self {
        Self {
            priority: (control >> PRIORITY_SHIFT) as u8,
            drop_eligible: control & DROP_ELIGIBLE != 0,
            vlan: control & VLAN_MASK,
        }
    }

    fn control(self) -> Result<u16, Error> {
        fits(Field::VlanTag, self.priority.into(), 3)?;
        fits(Field::VlanTag, self.vlan.into(), 12)?;
        let drop_eligible = if self.drop_eligible { DROP_ELIGIBLE } else { 0 };
        Ok(u16::from(self.priority) << PRIORITY_SHIFT | drop_eligible | self.vlan)
    }
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ethernet {
    /// Who is to receive the frame.
    pub destination: MacAddress,
    /// Who has sent it.
    pub source: MacAddress,
    /// Priority and VLAN.
    pub tag: Option<VlanTag>,
    /// What follows.
    pub ethertype: EtherType,
}

impl Ethernet {
    /// Length in bytes, without a tag.
    pub const LENGTH: usize = 14;

    /// The header of an untagged frame that carries IPv4.
    pub const fn ipv4(source: MacAddress, destination: MacAddress) -> Self {
        Self {
            destination,
            source,
            tag: None,
            ethertype: EtherType::Ipv4,
        }
    }

    /// The header of an untagged frame that carries IPv6.
    pub const fn ipv6(source: MacAddress, destination: MacAddress) -> Self {
        Self {
            destination,
            source,
            tag: None,
            ethertype: EtherType::Ipv6,
        }
    }

    /// Length of this header in bytes, with its tag.
    pub const fn length(&self) -> usize {
        match self.tag {
            Some(_) => Self::LENGTH + VlanTag::LENGTH,
            None => Self::LENGTH,
        }
    }

    /// Takes the header off the front of `bytes` and returns what follows it.
    ///
    /// # Errors
    /// If the bytes end early or the frame carries neither IPv4 nor IPv6.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, mut rest) = take::<{ Self::LENGTH }>(bytes, Field::Ethernet)?;
        let mut ethertype = read_u16(bytes, field::ETHERTYPE);
        let mut tag = None;
        if ethertype == TAGGED {
            let (inner, behind) = take::<{ VlanTag::LENGTH }>(rest, Field::VlanTag)?;
            tag = Some(VlanTag::from_control(read_u16(inner, field::TAG_CONTROL)));
            ethertype = read_u16(inner, field::TAG_ETHERTYPE);
            rest = behind;
        }
        let header = Self {
            destination: MacAddress(array(bytes, field::DESTINATION)),
            source: MacAddress(array(bytes, field::SOURCE)),
            tag,
            ethertype: EtherType::from_code(ethertype)?,
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small or the tag has too many bits.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Ethernet)?;
        bytes[field::DESTINATION].copy_from_slice(&self.destination.0);
        bytes[field::SOURCE].copy_from_slice(&self.source.0);
        let Some(tag) = self.tag else {
            write_u16(bytes, field::ETHERTYPE, self.ethertype as u16);
            return Ok(rest);
        };
        let (inner, rest) = room::<{ VlanTag::LENGTH }>(rest, Field::VlanTag)?;
        write_u16(bytes, field::ETHERTYPE, TAGGED);
        write_u16(inner, field::TAG_CONTROL, tag.control()?);
        write_u16(inner, field::TAG_ETHERTYPE, self.ethertype as u16);
        Ok(rest)
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source, self.destination)?;
        match self.tag {
            Some(tag) => write!(f, " vlan={} priority={}", tag.vlan, tag.priority),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [u8; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x86, 0xdd];
    const WITH_TAG: [u8; 18] = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x81, 0x00, 0x7a, 0xbc, 0x08, 0x00,
    ];

    fn plain() -> Ethernet {
        Ethernet::ipv6(
            MacAddress([7, 8, 9, 10, 11, 12]),
            MacAddress([1, 2, 3, 4, 5, 6]),
        )
    }

    fn tagged() -> Ethernet {
        Ethernet {
            tag: Some(VlanTag {
                priority: 3,
                drop_eligible: true,
                vlan: 0xabc,
            }),
            ethertype: EtherType::Ipv4,
            ..plain()
        }
    }

    #[test]
    fn every_field_has_its_place() {
        for (header, bytes) in [(plain(), &PLAIN[..]), (tagged(), &WITH_TAG[..])] {
            assert_eq!(Ethernet::parse(bytes), Ok((header, &[][..])));
            let mut buffer = [0; 18];
            let left = header.emit(&mut buffer).expect("there is room").len();
            assert_eq!(&buffer[..18 - left], bytes);
            assert_eq!(header.length(), bytes.len());
        }
    }

    #[test]
    fn other_protocols_and_a_second_tag_are_refused() {
        for ethertype in [[0x08, 0x06], [0x88, 0x08], [0x81, 0x00]] {
            let mut bytes = WITH_TAG;
            bytes[16..].copy_from_slice(&ethertype);
            let error = Ethernet::parse(&bytes).expect_err("it isn't IP");
            let found = u16::from_be_bytes(ethertype).into();
            assert_eq!(
                error,
                Error::new(Field::EtherType, Reason::Unsupported, found)
            );
        }
    }

    #[test]
    fn tags_with_too_many_bits_are_refused() {
        let (high, wide) = (
            VlanTag {
                priority: 8,
                ..VlanTag::default()
            },
            VlanTag {
                vlan: 4096,
                ..VlanTag::default()
            },
        );
        for tag in [high, wide] {
            let header = Ethernet {
                tag: Some(tag),
                ..plain()
            };
            let error = header.emit(&mut [0; 18]).expect_err("it doesn't fit");
            assert_eq!(error.field, Field::VlanTag);
        }
    }
}
