//! What applications post.

use std::net::IpAddr;

use fairlane_transport::{Operation as Asked, Remote, Status};
use fairlane_units::{QpNumber, Time};

use crate::keys::{Binding, Region};

/// A piece of local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sge {
    /// Where it begins.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// The local key of its region.
    pub key: u32,
}

impl Sge {
    /// Bytes of a region from `offset` on.
    pub const fn of(region: &Region, offset: u64, length: u32) -> Self {
        Self {
            address: region.address.wrapping_add(offset),
            length,
            key: region.local_key,
        }
    }
}

/// A place in the memory of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its address there.
    pub address: u64,
    /// The remote key of its region.
    pub key: u32,
}

impl From<Target> for Remote {
    fn from(target: Target) -> Self {
        Self {
            address: target.address,
            key: target.key,
        }
    }
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// To a receive of the other end.
    Send,
    /// A SEND with 32 bits beside the data.
    SendImmediate(u32),
    /// A SEND that invalidates a key of the other end.
    SendInvalidate(u32),
    /// To a place at the other end.
    Write(Target),
    /// A WRITE that ends a receive with 32 bits.
    WriteImmediate(Target, u32),
    /// From a place at the other end.
    Read(Target),
    /// Adds to eight bytes at the other end, and returns what they were.
    FetchAdd(Target, u64),
    /// Replaces eight bytes at the other end if they equal the first number by the second, and returns what they were.
    CompareSwap(Target, u64, u64),
    /// To a queue pair of any device, in one packet.
    Datagram {
        /// The device.
        address: IpAddr,
        /// The queue pair.
        destination: QpNumber,
        /// Its queue key; with the highest bit, which makes it a privileged one, the sender's own instead.
        queue_key: u32,
        /// 32 bits beside the data.
        immediate: Option<u32>,
    },
    /// Binds a memory window at this end, once all requests before it have ended.
    Bind(Binding),
    /// Invalidates a key at this end, once all requests before it have ended.
    Invalidate(u32),
}

impl Operation {
    /// Whether it is carried out at this end alone.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Bind(_) | Self::Invalidate(_))
    }

    /// What the NIC is asked for, if it is.
    pub(crate) fn asked(self) -> Option<Asked> {
        Some(match self {
            Self::Bind(_) | Self::Invalidate(_) => return None,
            Self::Send => Asked::Send,
            Self::SendImmediate(immediate) => Asked::SendImmediate(immediate),
            Self::SendInvalidate(key) => Asked::SendInvalidate(key),
            Self::Write(target) => Asked::Write(target.into()),
            Self::WriteImmediate(target, immediate) => {
                Asked::WriteImmediate(target.into(), immediate)
            }
            Self::Read(target) => Asked::Read(target.into()),
            Self::FetchAdd(target, add) => Asked::FetchAdd {
                remote: target.into(),
                add,
            },
            Self::CompareSwap(target, compare, swap) => Asked::CompareSwap {
                remote: target.into(),
                compare,
                swap,
            },
            Self::Datagram {
                destination,
                queue_key,
                immediate,
                ..
            } => Asked::Datagram {
                destination,
                queue_key,
                immediate,
            },
        })
    }
}

/// One request of a send queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The application's number for it.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Where the data is, or goes to.
    pub pieces: Vec<Sge>,
    /// Data that is taken along at once, instead of pieces of memory.
    pub inline: Option<Vec<u8>>,
    /// Whether success is reported; failure always is.
    pub signaled: bool,
    /// Whether it waits for earlier READs and atomics.
    pub fence: bool,
    /// Whether the other end's completion is a solicited one.
    pub solicited: bool,
}

impl SendRequest {
    /// A request whose success is reported.
    pub const fn new(id: u64, operation: Operation, pieces: Vec<Sge>) -> Self {
        Self {
            id,
            operation,
            pieces,
            inline: None,
            signaled: true,
            fence: false,
            solicited: false,
        }
    }

    /// A SEND.
    pub const fn send(id: u64, pieces: Vec<Sge>) -> Self {
        Self::new(id, Operation::Send, pieces)
    }

    /// A WRITE.
    pub const fn write(id: u64, pieces: Vec<Sge>, target: Target) -> Self {
        Self::new(id, Operation::Write(target), pieces)
    }

    /// A READ.
    pub const fn read(id: u64, pieces: Vec<Sge>, target: Target) -> Self {
        Self::new(id, Operation::Read(target), pieces)
    }

    /// Bytes of its data.
    pub(crate) fn length(&self) -> u64 {
        match &self.inline {
            Some(bytes) => bytes.len() as u64,
            None => total(&self.pieces),
        }
    }
}

/// One request of a queue of receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// The application's number for it.
    pub id: u64,
    /// Where the data goes to. Datagrams begin with 40 bytes that tell of their IP header (A17.4.5.1).
    pub pieces: Vec<Sge>,
}

/// Bytes of all pieces.
pub(crate) fn total(pieces: &[Sge]) -> u64 {
    pieces.iter().map(|piece| u64::from(piece.length)).sum()
}

/// A request that the device has taken.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) request: SendRequest,
    /// The slot of its queue pair.
    pub(crate) pair: u32,
    /// When it was posted.
    pub(crate) posted: Time,
    /// Bytes handed to the NIC: READs go in parts.
    pub(crate) handed: u64,
    /// Parts handed to the NIC that haven't ended.
    pub(crate) parts: u32,
    /// How it has failed, if it has.
    pub(crate) failed: Option<Status>,
    /// How it fails on purpose, once those before it have ended.
    pub(crate) fault: Option<Status>,
}

/// What the NIC calls a part of a work: slot below, number of the part above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId {
    pub(crate) work: u32,
    pub(crate) part: u32,
}

impl PartId {
    pub(crate) const fn to_nic(self) -> u64 {
        (self.part as u64) << 32 | self.work as u64
    }

    pub(crate) const fn from_nic(id: u64) -> Self {
        Self {
            work: id as u32,
            part: (id >> 32) as u32,
        }
    }

    /// Where its data begins in that of its work.
    pub(crate) const fn start(self) -> u64 {
        self.part as u64 * READ_PART
    }
}

/// Bytes that a READ asks for at a time, so that what is asked for and hasn't come is bounded.
pub const READ_PART: u64 = 1 << 16;
