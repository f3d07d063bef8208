//! The BTH and the extension headers that its opcode asks for (IBTA 9.2.1, table 38).
//!
//! ```text
//! +--------------+-----------------------------------------------+
//! | BTH, 12 bytes| extension headers, 0 to 28 bytes              |
//! +--------------+-----------------------------------------------+
//! ```

use core::fmt;

use crate::aeth::Aeth;
use crate::atomic_ack_eth::AtomicAckEth;
use crate::atomic_eth::AtomicEth;
use crate::bth::Bth;
use crate::cnp::Cnp;
use crate::deth::Deth;
use crate::error::{Error, Field, Reason};
use crate::ieth::Ieth;
use crate::immdt::ImmDt;
use crate::opcode::ExtensionKind;
use crate::reth::Reth;

/// Extension headers, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extension {
    /// None: SEND, and the middle of messages.
    None,
    /// Immediate data.
    Immediate(ImmDt),
    /// The key to invalidate.
    Invalidate(Ieth),
    /// Address, key and length of an RDMA operation.
    Rdma(Reth),
    /// Address, key and length of an RDMA operation, and immediate data.
    RdmaImmediate(Reth, ImmDt),
    /// Acknowledgement, also of READ responses.
    Acknowledge(Aeth),
    /// Acknowledgement of an atomic operation with the original value.
    AtomicAcknowledge(Aeth, AtomicAckEth),
    /// An atomic operation.
    Atomic(AtomicEth),
    /// Source and key of a datagram.
    Datagram(Deth),
    /// Source and key of a datagram, and immediate data.
    DatagramImmediate(Deth, ImmDt),
    /// The reserved bytes of a CNP.
    Cnp(Cnp),
}

impl Extension {
    /// Which headers these are.
    #[inline]
    pub const fn kind(&self) -> ExtensionKind {
        match self {
            Self::None => ExtensionKind::None,
            Self::Immediate(_) => ExtensionKind::Immediate,
            Self::Invalidate(_) => ExtensionKind::Invalidate,
            Self::Rdma(_) => ExtensionKind::Rdma,
            Self::RdmaImmediate(..) => ExtensionKind::RdmaImmediate,
            Self::Acknowledge(_) => ExtensionKind::Acknowledge,
            Self::AtomicAcknowledge(..) => ExtensionKind::AtomicAcknowledge,
            Self::Atomic(_) => ExtensionKind::Atomic,
            Self::Datagram(_) => ExtensionKind::Datagram,
            Self::DatagramImmediate(..) => ExtensionKind::DatagramImmediate,
            Self::Cnp(_) => ExtensionKind::Cnp,
        }
    }

    /// The RETH, if there is one.
    pub const fn reth(&self) -> Option<Reth> {
        match self {
            Self::Rdma(reth) | Self::RdmaImmediate(reth, _) => Some(*reth),
            _ => None,
        }
    }

    /// The AETH, if there is one.
    pub const fn aeth(&self) -> Option<Aeth> {
        match self {
            Self::Acknowledge(aeth) | Self::AtomicAcknowledge(aeth, _) => Some(*aeth),
            _ => None,
        }
    }

    /// The AtomicETH, if there is one.
    pub const fn atomic_eth(&self) -> Option<AtomicEth> {
        match self {
            Self::Atomic(atomic) => Some(*atomic),
            _ => None,
        }
    }

    /// The AtomicAckETH, if there is one.
    pub const fn atomic_ack_eth(&self) -> Option<AtomicAckEth> {
        match self {
            Self::AtomicAcknowledge(_, atomic) => Some(*atomic),
            _ => None,
        }
    }

    /// The immediate data, if there is any.
    pub const fn immediate(&self) -> Option<ImmDt> {
        match self {
            Self::Immediate(data)
            | Self::RdmaImmediate(_, data)
            | Self::DatagramImmediate(_, data) => Some(*data),
            _ => None,
        }
    }

    /// The IETH, if there is one.
    pub const fn ieth(&self) -> Option<Ieth> {
        match self {
            Self::Invalidate(ieth) => Some(*ieth),
            _ => None,
        }
    }

    /// The DETH, if there is one.
    pub const fn deth(&self) -> Option<Deth> {
        match self {
            Self::Datagram(deth) | Self::DatagramImmediate(deth, _) => Some(*deth),
            _ => None,
        }
    }

    /// Takes the headers of this kind off the front of `bytes` and returns what follows them.
    ///
    /// # Errors
    /// If the bytes end early or a field is reserved.
    #[inline]
    pub fn parse(kind: ExtensionKind, bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        Ok(match kind {
            ExtensionKind::None => (Self::None, bytes),
            ExtensionKind::Immediate => one(ImmDt::parse(bytes)?, Self::Immediate),
            ExtensionKind::Invalidate => one(Ieth::parse(bytes)?, Self::Invalidate),
            ExtensionKind::Rdma => one(Reth::parse(bytes)?, Self::Rdma),
            ExtensionKind::RdmaImmediate => {
                let (reth, rest) = Reth::parse(bytes)?;
                one(ImmDt::parse(rest)?, |data| Self::RdmaImmediate(reth, data))
            }
            ExtensionKind::Acknowledge => one(Aeth::parse(bytes)?, Self::Acknowledge),
            ExtensionKind::AtomicAcknowledge => {
                let (aeth, rest) = Aeth::parse(bytes)?;
                one(AtomicAckEth::parse(rest)?, |atomic| {
                    Self::AtomicAcknowledge(aeth, atomic)
                })
            }
            ExtensionKind::Atomic => one(AtomicEth::parse(bytes)?, Self::Atomic),
            ExtensionKind::Datagram => one(Deth::parse(bytes)?, Self::Datagram),
            ExtensionKind::DatagramImmediate => {
                let (deth, rest) = Deth::parse(bytes)?;
                one(ImmDt::parse(rest)?, |data| {
                    Self::DatagramImmediate(deth, data)
                })
            }
            ExtensionKind::Cnp => one(Cnp::parse(bytes)?, Self::Cnp),
        })
    }

    /// Writes the headers to the front of `buffer` and returns the room behind them.
    ///
    /// # Errors
    /// If the buffer is too small or a value has more bits than its field.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        match self {
            Self::None => Ok(buffer),
            Self::Immediate(data) => data.emit(buffer),
            Self::Invalidate(ieth) => ieth.emit(buffer),
            Self::Rdma(reth) => reth.emit(buffer),
            Self::RdmaImmediate(reth, data) => data.emit(reth.emit(buffer)?),
            Self::Acknowledge(aeth) => aeth.emit(buffer),
            Self::AtomicAcknowledge(aeth, atomic) => atomic.emit(aeth.emit(buffer)?),
            Self::Atomic(atomic) => atomic.emit(buffer),
            Self::Datagram(deth) => deth.emit(buffer),
            Self::DatagramImmediate(deth, data) => data.emit(deth.emit(buffer)?),
            Self::Cnp(cnp) => cnp.emit(buffer),
        }
    }
}

/// The last header that was read becomes the extension.
#[inline]
fn one<T>((header, rest): (T, &[u8]), wrap: impl FnOnce(T) -> Extension) -> (Extension, &[u8]) {
    (wrap(header), rest)
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Immediate(data) => data.fmt(f),
            Self::Invalidate(ieth) => ieth.fmt(f),
            Self::Rdma(reth) => reth.fmt(f),
            Self::RdmaImmediate(reth, data) => write!(f, "{reth} {data}"),
            Self::Acknowledge(aeth) => aeth.fmt(f),
            Self::AtomicAcknowledge(aeth, atomic) => write!(f, "{aeth} {atomic}"),
            Self::Atomic(atomic) => atomic.fmt(f),
            Self::Datagram(deth) => deth.fmt(f),
            Self::DatagramImmediate(deth, data) => write!(f, "{deth} {data}"),
            Self::Cnp(cnp) => cnp.fmt(f),
        }
    }
}

/// All transport headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Headers {
    /// The base transport header.
    pub bth: Bth,
    /// What follows it; of the kind that the opcode asks for.
    pub extension: Extension,
}

impl Headers {
    /// Length of the longest headers in bytes: those of an atomic operation.
    pub const MAX_LENGTH: usize = Bth::LENGTH + AtomicEth::LENGTH;

    /// Length in bytes.
    #[inline]
    pub const fn length(&self) -> usize {
        self.bth.opcode.header_length()
    }

    /// Takes the headers off the front of `bytes` and returns what follows them.
    ///
    /// # Errors
    /// If the bytes end early, the opcode isn't known, or a field is reserved.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let (bth, rest) = Bth::parse(bytes)?;
        let (extension, rest) = Extension::parse(bth.opcode.extension(), rest)?;
        Ok((Self { bth, extension }, rest))
    }

    /// Writes the headers to the front of `buffer` and returns the room behind them.
    ///
    /// # Errors
    /// If the buffer is too small, the extension isn't that of the opcode, or a value has more bits than its
    /// field.
    #[inline]
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let opcode = self.bth.opcode;
        if self.extension.kind() != opcode.extension() {
            let code = opcode.code().into();
            return Err(Error::new(Field::Extension, Reason::Inconsistent, code));
        }
        self.extension.emit(self.bth.emit(buffer)?)
    }
}

impl fmt::Display for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extension {
            Extension::None => self.bth.fmt(f),
            extension => write!(f, "{} {extension}", self.bth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::Opcode;
    use fairlane_units::{Psn, QpNumber};

    #[test]
    fn an_extension_that_is_not_that_of_the_opcode_is_refused() {
        let bth = Bth::new(Opcode::RcWriteFirst, QpNumber::new(1), Psn::new(0));
        let extension = Extension::Immediate(ImmDt::default());
        let mut buffer = [0; 64];
        let error = Headers { bth, extension }.emit(&mut buffer);
        let error = error.expect_err("a WRITE needs a RETH");
        assert_eq!(
            (error.field, error.reason),
            (Field::Extension, Reason::Inconsistent)
        );
    }

    #[test]
    fn the_longest_headers_are_those_of_an_atomic_operation() {
        let longest = Opcode::ALL
            .iter()
            .map(|opcode| opcode.header_length())
            .max();
        assert_eq!(longest, Some(Headers::MAX_LENGTH));
    }
}
