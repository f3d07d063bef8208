//! What travels between the two ends, without its encoding.

use fairlane_units::{Bytes, Psn, QpNumber};
use fairlane_wire::{Aeth, Opcode};

use crate::work::{Operation, Remote};

/// A packet: the fields of its headers that mean something to a queue pair, and how much payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it is.
    pub opcode: Opcode,
    /// Its sequence number; that of the request in a response.
    pub psn: Psn,
    /// Its payload.
    pub payload: Bytes,
    /// Whether an acknowledgement is asked for.
    pub ack_request: bool,
    /// Whether the completion at the other end raises a solicited event.
    pub solicited: bool,
    /// Whether the sender repeats selectively: a requester that understands which packet a NAK
    /// reports, a responder whose NAK says so and that keeps packets which come too early.
    pub selective: bool,
    /// What follows the base header.
    pub extension: Extension,
}

/// The extension headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// None.
    None,
    /// RETH, with ImmDt in a WRITE ONLY with immediate.
    Remote {
        /// Where the data goes or comes from.
        remote: Remote,
        /// Bytes of the whole message.
        length: Bytes,
        /// 32 bits beside the data.
        immediate: Option<u32>,
    },
    /// ImmDt.
    Immediate(u32),
    /// IETH: a key to invalidate.
    Invalidate(u32),
    /// AtomicETH: a FETCH-ADD or CMP-SWAP.
    Atomic(Operation),
    /// AETH. In a selective NAK the MSN is the PSN of the packet that came too early.
    Acknowledge(Aeth),
    /// AETH and AtomicAckETH.
    AtomicResult {
        /// The AETH.
        aeth: Aeth,
        /// What the eight bytes were.
        original: u64,
    },
    /// DETH, with ImmDt if there is one.
    Datagram {
        /// Key that the destination must have.
        queue_key: u32,
        /// The queue pair that sends it; whoever encodes the packet knows it.
        source: QpNumber,
        /// The queue pair that is to receive it.
        destination: QpNumber,
        /// 32 bits beside the data.
        immediate: Option<u32>,
    },
}

/// An acknowledgement or NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The last packet taken; in a NAK, the one expected.
    pub psn: Psn,
    /// What it says.
    pub aeth: Aeth,
    /// As [`Packet::selective`].
    pub selective: bool,
}

impl Reply {
    /// The packet that says so.
    #[inline]
    pub const fn packet(self) -> Packet {
        Packet {
            opcode: Opcode::RcAcknowledge,
            psn: self.psn,
            payload: Bytes::ZERO,
            ack_request: false,
            solicited: false,
            selective: self.selective,
            extension: Extension::Acknowledge(self.aeth),
        }
    }
}

/// Where the payload of an outgoing packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// There is none.
    Nothing,
    /// In the data of a work request.
    Request {
        /// The request.
        id: u64,
        /// The payload's place in its data.
        offset: Bytes,
    },
    /// In memory that the other side asked for.
    Memory(Remote),
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its headers.
    pub packet: Packet,
    /// Its payload.
    pub source: Source,
    /// Whether it was sent before.
    pub retransmitted: bool,
    /// Whether it is the last one of its work request, or of the response to a READ.
    pub ends: bool,
}

/// Where the payload of a packet that has arrived goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// To memory that the other side named.
    Memory(Remote),
    /// Into a receive.
    Receive {
        /// The receive.
        id: u64,
        /// Its place there.
        offset: Bytes,
    },
    /// Into the data of a work request: a READ's response.
    Request {
        /// The request.
        id: u64,
        /// Its place there.
        offset: Bytes,
    },
    /// The result of an atomic, eight bytes, into the data of a work request.
    Result {
        /// The request.
        id: u64,
        /// The value.
        original: u64,
    },
}
