//! Base transport header (IBTA 9.2; A17 for what RoCEv2 makes of it).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+-+-+---+-------+-------------------------------+
//! |    opcode     |S|M|pad|version|         partition key         |
//! +-+-+---------+-+-+-+---+-------+-------------------------------+
//! |F|B|reserved |K|              destination queue pair           |
//! +-+-+---------+-+-----------------------------------------------+
//! |A|  reserved   |            packet sequence number             |
//! +-+-------------+-----------------------------------------------+
//! S solicited event  M migration  F FECN  B BECN  A acknowledgement requested
//! K Fairlane: the sender keeps packets that arrive out of order
//!
//! An opcode for manufacturers says that a header of traffic management follows the extension headers.
//! ```

use core::fmt;

use fairlane_units::{Psn, QpNumber, TenantId};

use crate::bytes::{fits, read_u16, read_u24, room, take, write_u16, write_u24};
use crate::error::{Error, Field, Reason};
use crate::opcode::{Opcode, TrafficKind};

mod field {
    use core::ops::Range;

    pub(super) const OPCODE: usize = 0;
    pub(super) const FLAGS: usize = 1;
    pub(super) const PARTITION_KEY: Range<usize> = 2..4;
    pub(super) const CONGESTION: usize = 4;
    pub(super) const DESTINATION: Range<usize> = 5..8;
    pub(super) const ACK_REQUEST: usize = 8;
    pub(super) const PSN: Range<usize> = 9..12;
}

const SOLICITED: u8 = 0x80;
const MIGRATION: u8 = 0x40;
const PAD_SHIFT: u32 = 4;
const VERSION_MASK: u8 = 0x0f;
const FECN: u8 = 0x80;
const BECN: u8 = 0x40;
const SELECTIVE: u8 = 0x01;
const ACK_REQUEST: u8 = 0x80;

/// The header that every packet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bth {
    /// What the packet does, and which headers follow.
    pub opcode: Opcode,
    /// Whether a header of traffic management follows the extension headers, which makes the code that of a
    /// manufacturer. RC alone has it, and READ feedback always.
    pub traffic: bool,
    /// Whether the receiver of the message is to be woken.
    pub solicited: bool,
    /// State of automatic path migration; `true` means migrated.
    pub migration: bool,
    /// Bytes, 0 to 3, that fill the payload up to a multiple of four.
    pub pad_count: u8,
    /// Version of the transport headers: 0.
    pub version: u8,
    /// The partition, all 16 bits of it: the highest one tells a full member from a limited one.
    pub partition_key: TenantId,
    /// Whether the network has found congestion on the packet's way.
    pub fecn: bool,
    /// Whether the receiver of this packet is to slow down; set in a CNP.
    pub becn: bool,
    /// Whether the sender keeps packets that arrive out of order, so that only what is lost need be sent
    /// again. Fairlane's own use of the lowest of six reserved bits: peers ignore it and
    /// the ICRC doesn't cover it.
    pub selective: bool,
    /// The queue pair that is to receive the packet, 24 bits.
    pub destination: QpNumber,
    /// Whether the responder is to acknowledge this packet.
    pub ack_request: bool,
    /// Sequence number.
    pub psn: Psn,
}

impl Bth {
    /// Length in bytes.
    pub const LENGTH: usize = 12;

    /// The partition that every port is a full member of (IBTA 10.9).
    pub const DEFAULT_PARTITION: TenantId = TenantId::new(0xffff);

    /// A header in the default partition with no flag set and no pad bytes, and with a header of traffic
    /// management only if the opcode must have one.
    pub const fn new(opcode: Opcode, destination: QpNumber, psn: Psn) -> Self {
        Self {
            opcode,
            traffic: matches!(opcode, Opcode::RcReadFeedback),
            solicited: false,
            migration: false,
            pad_count: 0,
            version: 0,
            partition_key: Self::DEFAULT_PARTITION,
            fecn: false,
            becn: false,
            selective: false,
            destination,
            ack_request: false,
            psn,
        }
    }

    /// Takes the header off the front of `bytes` and returns what follows it. Reserved bits are ignored.
    ///
    /// # Errors
    /// If the bytes end early or the opcode isn't known.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bytes, rest) = take::<{ Self::LENGTH }>(bytes, Field::Bth)?;
        let (opcode, traffic) = of_code(bytes[field::OPCODE])?;
        let flags = bytes[field::FLAGS];
        let congestion = bytes[field::CONGESTION];
        let header = Self {
            opcode,
            traffic,
            solicited: flags & SOLICITED != 0,
            migration: flags & MIGRATION != 0,
            pad_count: flags >> PAD_SHIFT & 0b11,
            version: flags & VERSION_MASK,
            partition_key: TenantId::new(read_u16(bytes, field::PARTITION_KEY).into()),
            fecn: congestion & FECN != 0,
            becn: congestion & BECN != 0,
            selective: congestion & SELECTIVE != 0,
            destination: QpNumber::new(read_u24(bytes, field::DESTINATION)),
            ack_request: bytes[field::ACK_REQUEST] & ACK_REQUEST != 0,
            psn: Psn::new(read_u24(bytes, field::PSN)),
        };
        Ok((header, rest))
    }

    /// Writes the header to the front of `buffer` and returns the room behind it.
    ///
    /// # Errors
    /// If the buffer is too small, a value has more bits than its field, or the opcode can't have a header of
    /// traffic management or must have one.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Bth)?;
        let code = self.code()?;
        fits(Field::PadCount, self.pad_count.into(), 2)?;
        fits(Field::Version, self.version.into(), 4)?;
        fits(Field::PartitionKey, self.partition_key.get(), 16)?;
        fits(Field::Destination, self.destination.get(), 24)?;
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        bytes[field::OPCODE] = code;
        bytes[field::FLAGS] = flag(self.solicited, SOLICITED)
            | flag(self.migration, MIGRATION)
            | self.pad_count << PAD_SHIFT
            | self.version;
        write_u16(bytes, field::PARTITION_KEY, self.partition_key.get() as u16);
        bytes[field::CONGESTION] =
            flag(self.fecn, FECN) | flag(self.becn, BECN) | flag(self.selective, SELECTIVE);
        write_u24(bytes, field::DESTINATION, self.destination.get());
        bytes[field::ACK_REQUEST] = flag(self.ack_request, ACK_REQUEST);
        write_u24(bytes, field::PSN, self.psn.get());
        Ok(rest)
    }

    /// Which header of traffic management follows the extension headers.
    #[inline]
    pub(crate) const fn traffic_kind(&self) -> TrafficKind {
        if self.traffic {
            self.opcode.traffic()
        } else {
            TrafficKind::None
        }
    }

    /// The first byte.
    #[inline]
    fn code(&self) -> Result<u8, Error> {
        let code = match self.opcode {
            Opcode::RcReadFeedback if !self.traffic => None,
            opcode if self.traffic => opcode.code_with_traffic(),
            opcode => Some(opcode.code()),
        };
        code.ok_or_else(|| {
            let found = self.opcode.code().into();
            Error::new(Field::Traffic, Reason::Inconsistent, found)
        })
    }
}

/// The opcode with this code, and whether a header of traffic management follows.
#[inline]
fn of_code(code: u8) -> Result<(Opcode, bool), Error> {
    match Opcode::from_code_with_traffic(code) {
        Some(opcode) => Ok((opcode, true)),
        None => Opcode::try_from(code).map(|opcode| (opcode, false)),
    }
}

impl fmt::Display for Bth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} qp={:#x} psn={} pkey={:#06x}",
            self.opcode,
            self.destination.get(),
            self.psn,
            self.partition_key.get()
        )?;
        let flags = [
            (self.traffic, " traffic"),
            (self.solicited, " solicited"),
            (self.migration, " migrated"),
            (self.fecn, " fecn"),
            (self.becn, " becn"),
            (self.selective, " selective"),
            (self.ack_request, " ack-request"),
        ];
        for (_, name) in flags.iter().filter(|(set, _)| *set) {
            f.write_str(name)?;
        }
        if self.pad_count > 0 {
            write!(f, " pad={}", self.pad_count)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const BYTES: [u8; Bth::LENGTH] = [
        0x0a, 0xf0, 0x12, 0x34, 0xc1, 0xab, 0xcd, 0xef, 0x80, 0x01, 0x02, 0x03,
    ];

    fn header() -> Bth {
        Bth {
            opcode: Opcode::RcWriteOnly,
            traffic: false,
            solicited: true,
            migration: true,
            pad_count: 3,
            version: 0,
            partition_key: TenantId::new(0x1234),
            fecn: true,
            becn: true,
            selective: true,
            destination: QpNumber::new(0xab_cdef),
            ack_request: true,
            psn: Psn::new(0x01_0203),
        }
    }

    #[test]
    fn every_field_has_its_place() {
        assert_eq!(Bth::parse(&BYTES), Ok((header(), &[][..])));
        let mut buffer = [0xff; Bth::LENGTH];
        assert!(header().emit(&mut buffer).is_ok());
        assert_eq!(buffer, BYTES);
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let mut bytes = BYTES;
        bytes[4] |= 0x3e;
        bytes[8] |= 0x7f;
        assert_eq!(Bth::parse(&bytes), Ok((header(), &[][..])));
    }

    #[test]
    fn a_traffic_header_makes_the_code_that_of_a_manufacturer() {
        let mut bytes = BYTES;
        bytes[0] = 0xca;
        let header = Bth {
            traffic: true,
            ..header()
        };
        assert_eq!(Bth::parse(&bytes), Ok((header, &[][..])));
        let mut buffer = [0; Bth::LENGTH];
        assert!(header.emit(&mut buffer).is_ok());
        assert_eq!(buffer, bytes);
        for code in [0xcc, 0xd8, 0xe0, 0xff] {
            bytes[0] = code;
            let error = Bth::parse(&bytes).expect_err("nobody's");
            assert_eq!((error.field, error.found), (Field::Opcode, code.into()));
        }
    }

    #[test]
    fn opcodes_that_contradict_the_traffic_header_are_refused() {
        for (opcode, traffic) in [
            (Opcode::RcReadRequest, true),
            (Opcode::UcSendOnly, true),
            (Opcode::Cnp, true),
            (Opcode::RcReadFeedback, false),
        ] {
            let base = Bth::new(opcode, QpNumber::new(1), Psn::new(1));
            let error = Bth { traffic, ..base }.emit(&mut [0; 12]).map(|_| ());
            let error = error.expect_err("it contradicts");
            assert_eq!(
                (error.field, error.reason),
                (Field::Traffic, Reason::Inconsistent)
            );
        }
    }

    #[test]
    fn values_that_have_too_many_bits_are_refused() {
        let base = Bth::new(Opcode::RcSendOnly, QpNumber::new(1), Psn::new(1));
        let (pad_count, version) = (4, 16);
        let partition_key = TenantId::new(1 << 16);
        let destination = QpNumber::new(1 << 24);
        for (header, field) in [
            (Bth { pad_count, ..base }, Field::PadCount),
            (Bth { version, ..base }, Field::Version),
            (
                Bth {
                    partition_key,
                    ..base
                },
                Field::PartitionKey,
            ),
            (
                Bth {
                    destination,
                    ..base
                },
                Field::Destination,
            ),
        ] {
            let error = header.emit(&mut [0; 12]).expect_err("it doesn't fit");
            assert_eq!((error.field, error.reason), (field, Reason::OutOfRange));
        }
    }
}
