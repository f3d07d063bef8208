//! Congestion notification packet (A17.9.3): a BTH whose BECN is set, and 16 reserved bytes.
//!
//! ```text
//! +---------------------------------------------------------------+
//! |            BTH: opcode 0x81, BECN, PSN 0, no flags            |
//! +---------------------------------------------------------------+
//! |                       reserved, 16 bytes                      |
//! +---------------------------------------------------------------+
//! ```

use core::fmt;

use fairlane_units::{Psn, QpNumber, TenantId};

use crate::bth::Bth;
use crate::bytes::{room, take};
use crate::error::{Error, Field};
use crate::opcode::Opcode;

/// The reserved bytes of a CNP. They say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cnp;

impl Cnp {
    /// Length in bytes.
    pub const LENGTH: usize = 16;

    /// The BTH of a CNP for the sender of a marked packet: its queue pair, and the partition of the packet.
    pub const fn bth(destination: QpNumber, partition_key: TenantId) -> Bth {
        Bth {
            becn: true,
            partition_key,
            ..Bth::new(Opcode::Cnp, destination, Psn::new(0))
        }
    }

    /// Takes the reserved bytes off the front of `bytes`, whatever they are, and returns what follows them.
    ///
    /// # Errors
    /// If the bytes end early.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (_, rest) = take::<{ Self::LENGTH }>(bytes, Field::Cnp)?;
        Ok((Self, rest))
    }

    /// Writes zeros to the front of `buffer` and returns the room behind them.
    ///
    /// # Errors
    /// If the buffer is too small.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (bytes, rest) = room::<{ Self::LENGTH }>(buffer, Field::Cnp)?;
        bytes.fill(0);
        Ok(rest)
    }
}

impl fmt::Display for Cnp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("congestion")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CNP of a ConnectX-4 Lx (Scapy, test/contrib/roce.uts).
    #[test]
    fn a_notification_is_that_of_a_network_nic() {
        let mut buffer = [0xff; Bth::LENGTH + Cnp::LENGTH];
        let bth = Cnp::bth(QpNumber::new(0x118), Bth::DEFAULT_PARTITION);
        let rest = bth.emit(&mut buffer).expect("there is room");
        assert!(Cnp.emit(rest).is_ok());
        assert_eq!(
            buffer[..8],
            [0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18]
        );
        assert_eq!(buffer[8..], [0; 20]);
    }

    #[test]
    fn reserved_bytes_are_ignored() {
        assert_eq!(Cnp::parse(&[0xff; 17]), Ok((Cnp, &[0xff][..])));
    }
}
