//! What travels between the two ends, without its encoding.

use fairlane_units::{Bytes, Psn};

/// A data packet: which bytes of which message it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its sequence number.
    pub psn: Psn,
    /// Offset of its first byte in its message.
    pub offset: Bytes,
    /// Its payload.
    pub payload: Bytes,
    /// Whether it begins a message, and so carries the RETH.
    pub first: bool,
    /// Whether it ends a message.
    pub last: bool,
    /// Whether it was sent before.
    pub retransmitted: bool,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// Everything before [`Reply::expected`] has arrived.
    Ack,
    /// The same, and a later packet came too early (IBTA 9.7.5.2.8, sequence error).
    NakSequence,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Ack or NAK.
    pub kind: ReplyKind,
    /// The next packet that the responder expects. The AETH of an ACK carries the one before it,
    /// that of a NAK carries this one.
    pub expected: Psn,
}
