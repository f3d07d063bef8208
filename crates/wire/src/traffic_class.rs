//! The byte that IPv4 calls type of service and IPv6 traffic class (RFC 2474 section 3, RFC 3168
//! section 5).
//!
//! ```text
//! +-----------+---+
//! |   DSCP    |ECN|
//! +-----------+---+
//! ```

use core::fmt;

use crate::bytes::fits;
use crate::error::{Error, Field};

const DSCP_SHIFT: u32 = 2;
const ECN_MASK: u8 = 0b11;

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// The transport doesn't understand marks: switches drop instead.
    #[default]
    NotCapable = 0b00,
    /// ECT(1).
    Capable1 = 0b01,
    /// ECT(0), which NICs send.
    Capable0 = 0b10,
    /// Congestion experienced: marked by a switch.
    Marked = 0b11,
}

impl Ecn {
    const fn from_bits(bits: u8) -> Self {
        match bits & ECN_MASK {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Marked,
        }
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotCapable => "Not-ECT",
            Self::Capable1 => "ECT(1)",
            Self::Capable0 => "ECT(0)",
            Self::Marked => "CE",
        })
    }
}

/// How the network is to treat a packet. The ICRC doesn't cover it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrafficClass {
    /// The class of service, 6 bits.
    pub dscp: u8,
    /// Whether the packet may be marked, and has been.
    pub ecn: Ecn,
}

impl TrafficClass {
    /// What stands for a class of priority flow control. Its upper three bits are the class, so that class 3 has 26, the usual
    /// choice for RoCE; class 0, control, has that of CS6 (RFC 4594, section 3.1), 48, the usual choice for CNPs.
    pub const fn of_priority(class: u8, ecn: Ecn) -> Self {
        let dscp = match class {
            0 => 48,
            class => ((class & 7) << 3) | 2,
        };
        Self { dscp, ecn }
    }

    /// The class with this byte.
    #[inline]
    pub const fn from_byte(byte: u8) -> Self {
        Self {
            dscp: byte >> DSCP_SHIFT,
            ecn: Ecn::from_bits(byte),
        }
    }

    /// The byte on the wire.
    ///
    /// # Errors
    /// If the DSCP has more than 6 bits.
    #[inline]
    pub fn byte(self) -> Result<u8, Error> {
        fits(Field::Dscp, self.dscp.into(), 6)?;
        Ok(self.dscp << DSCP_SHIFT | self.ecn as u8)
    }
}

impl fmt::Display for TrafficClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dscp={} {}", self.dscp, self.ecn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_a_class() {
        for byte in 0..=u8::MAX {
            assert_eq!(TrafficClass::from_byte(byte).byte(), Ok(byte));
        }
        let marked = TrafficClass {
            dscp: 48,
            ecn: Ecn::Capable0,
        };
        assert_eq!(marked.byte(), Ok(0xc2));
    }

    #[test]
    fn a_class_of_service_has_six_bits() {
        let ecn = Ecn::Marked;
        let error = TrafficClass { dscp: 64, ecn }.byte();
        assert_eq!(error.expect_err("7 bits").field, Field::Dscp);
    }
}
