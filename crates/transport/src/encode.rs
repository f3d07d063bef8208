//! From packets to the headers of the wire and back (IBTA 9.2, 9.3).
//!
//! A [`Packet`] names no queue pairs and no partition: [`Ends`] does. Payload stays where it is; the
//! driver puts it behind the headers with [`fairlane_wire::Packet`].

use fairlane_units::{Bytes, QpNumber, TenantId};
use fairlane_wire::{
    AtomicAckEth, AtomicEth, Bth, Deth, Error, Extension as Wire, Field, Headers, Ieth, ImmDt,
    Opcode, Reason, Reth,
};

use crate::packet::{Extension, Packet};
use crate::work::{Operation, Remote};

/// Between which queue pairs, and in which partition, a packet travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The queue pair that sends; only datagrams name it.
    pub source: QpNumber,
    /// The queue pair that is to receive; a datagram names its own.
    pub destination: QpNumber,
    /// The partition key, 16 bits.
    pub partition_key: TenantId,
}

impl Packet {
    /// The headers on the wire. The pad count is that of the payload's length.
    ///
    /// # Errors
    /// If the extension isn't that of the opcode, or a length has more bits than its field.
    #[inline]
    pub fn headers(&self, ends: &Ends) -> Result<Headers, Error> {
        let destination = match self.extension {
            Extension::Datagram { destination, .. } => destination,
            _ => ends.destination,
        };
        let mut bth = Bth::new(self.opcode, destination, self.psn);
        bth.partition_key = ends.partition_key;
        bth.solicited = self.solicited;
        bth.ack_request = self.ack_request;
        bth.selective = self.selective;
        bth.pad_count = (self.payload.get().wrapping_neg() & 3) as u8;
        let extension = self.extension_header(ends)?;
        if extension.kind() != self.opcode.extension() {
            return Err(mismatch(self.opcode));
        }
        Ok(Headers { bth, extension })
    }

    #[inline]
    fn extension_header(&self, ends: &Ends) -> Result<Wire, Error> {
        Ok(match self.extension {
            Extension::None => Wire::None,
            Extension::Remote {
                remote,
                length,
                immediate,
            } => {
                let reth = reth(remote, length)?;
                match immediate {
                    None => Wire::Rdma(reth),
                    Some(data) => Wire::RdmaImmediate(reth, ImmDt { data }),
                }
            }
            Extension::Immediate(data) => Wire::Immediate(ImmDt { data }),
            Extension::Invalidate(key) => Wire::Invalidate(Ieth { key }),
            Extension::Atomic(operation) => Wire::Atomic(atomic(self.opcode, &operation)?),
            Extension::Acknowledge(aeth) => Wire::Acknowledge(aeth),
            Extension::AtomicResult { aeth, original } => {
                Wire::AtomicAcknowledge(aeth, AtomicAckEth { original })
            }
            Extension::Datagram {
                queue_key,
                immediate,
                ..
            } => {
                let source = ends.source;
                let deth = Deth { queue_key, source };
                match immediate {
                    None => Wire::Datagram(deth),
                    Some(data) => Wire::DatagramImmediate(deth, ImmDt { data }),
                }
            }
        })
    }

    /// The packet with these headers and `payload` bytes behind them. Who is to receive it and in
    /// which partition is for the driver to look at.
    ///
    /// # Errors
    /// If the extension isn't that of the opcode, or it is a congestion notification, which is no
    /// packet of a queue pair.
    #[inline]
    pub fn from_headers(headers: &Headers, payload: Bytes) -> Result<Self, Error> {
        let Headers { bth, extension } = headers;
        if extension.kind() != bth.opcode.extension() {
            return Err(mismatch(bth.opcode));
        }
        Ok(Self {
            opcode: bth.opcode,
            psn: bth.psn,
            payload,
            ack_request: bth.ack_request,
            solicited: bth.solicited,
            selective: bth.selective,
            extension: packet_extension(bth, extension)?,
        })
    }
}

#[inline]
fn packet_extension(bth: &Bth, extension: &Wire) -> Result<Extension, Error> {
    Ok(match *extension {
        Wire::None => Extension::None,
        Wire::Immediate(ImmDt { data }) => Extension::Immediate(data),
        Wire::Invalidate(Ieth { key }) => Extension::Invalidate(key),
        Wire::Rdma(reth) => remote(&reth, None),
        Wire::RdmaImmediate(reth, ImmDt { data }) => remote(&reth, Some(data)),
        Wire::Acknowledge(aeth) => Extension::Acknowledge(aeth),
        Wire::AtomicAcknowledge(aeth, AtomicAckEth { original }) => {
            Extension::AtomicResult { aeth, original }
        }
        Wire::Atomic(atomic) => Extension::Atomic(atomic_operation(bth.opcode, &atomic)),
        Wire::Datagram(deth) => datagram(bth, &deth, None),
        Wire::DatagramImmediate(deth, ImmDt { data }) => datagram(bth, &deth, Some(data)),
        Wire::Cnp(_) => {
            return Err(Error {
                field: Field::Opcode,
                reason: Reason::Unsupported,
                found: bth.opcode.code().into(),
            });
        }
    })
}

const fn mismatch(opcode: Opcode) -> Error {
    Error {
        field: Field::Extension,
        reason: Reason::Inconsistent,
        found: opcode as u32,
    }
}

fn reth(remote: Remote, length: Bytes) -> Result<Reth, Error> {
    let length = u32::try_from(length.get()).map_err(|_| Error {
        field: Field::Reth,
        reason: Reason::OutOfRange,
        found: u32::MAX,
    })?;
    Ok(Reth {
        address: remote.address,
        key: remote.key,
        length,
    })
}

fn remote(reth: &Reth, immediate: Option<u32>) -> Extension {
    Extension::Remote {
        remote: Remote {
            address: reth.address,
            key: reth.key,
        },
        length: Bytes::new(reth.length.into()),
        immediate,
    }
}

const fn datagram(bth: &Bth, deth: &Deth, immediate: Option<u32>) -> Extension {
    Extension::Datagram {
        queue_key: deth.queue_key,
        source: deth.source,
        destination: bth.destination,
        immediate,
    }
}

fn atomic(opcode: Opcode, operation: &Operation) -> Result<AtomicEth, Error> {
    let (remote, swap_or_add, compare) = match (opcode, *operation) {
        (Opcode::RcFetchAdd, Operation::FetchAdd { remote, add }) => (remote, add, 0),
        (
            Opcode::RcCompareSwap,
            Operation::CompareSwap {
                remote,
                compare,
                swap,
            },
        ) => (remote, swap, compare),
        _ => return Err(mismatch(opcode)),
    };
    Ok(AtomicEth {
        address: remote.address,
        key: remote.key,
        swap_or_add,
        compare,
    })
}

fn atomic_operation(opcode: Opcode, atomic: &AtomicEth) -> Operation {
    let remote = Remote {
        address: atomic.address,
        key: atomic.key,
    };
    if opcode == Opcode::RcFetchAdd {
        Operation::FetchAdd {
            remote,
            add: atomic.swap_or_add,
        }
    } else {
        Operation::CompareSwap {
            remote,
            compare: atomic.compare,
            swap: atomic.swap_or_add,
        }
    }
}
