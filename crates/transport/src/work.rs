//! What an application posts and what it hears back.

use fairlane_units::{Bytes, QpNumber};

/// A place in the memory of the other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// Virtual address of the first byte.
    pub address: u64,
    /// Key of its memory region.
    pub key: u32,
}

impl Remote {
    /// The place `offset` bytes further.
    #[inline]
    #[must_use]
    pub const fn behind(self, offset: Bytes) -> Self {
        Self {
            address: self.address.wrapping_add(offset.get()),
            key: self.key,
        }
    }
}

/// What a work request asks for (IBTA 9.4, 10.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// To a receive of the other side.
    Send,
    /// A SEND with 32 bits beside the data.
    SendImmediate(u32),
    /// A SEND that invalidates a key of the other side.
    SendInvalidate(u32),
    /// To a place that the requester names.
    Write(Remote),
    /// A WRITE that completes a receive with 32 bits.
    WriteImmediate(Remote, u32),
    /// From a place that the requester names.
    Read(Remote),
    /// Adds to eight bytes and returns what they were.
    FetchAdd {
        /// Their place.
        remote: Remote,
        /// The addend; sums wrap.
        add: u64,
    },
    /// Replaces eight bytes if they equal `compare`, and returns what they were.
    CompareSwap {
        /// Their place.
        remote: Remote,
        /// What they must equal.
        compare: u64,
        /// What they become.
        swap: u64,
    },
    /// To any queue pair, in one packet (unreliable datagram).
    Datagram {
        /// The queue pair.
        destination: QpNumber,
        /// Its queue key.
        queue_key: u32,
        /// 32 bits beside the data.
        immediate: Option<u32>,
    },
}

impl Operation {
    /// Whether the requester's packets carry the data.
    #[inline]
    pub const fn carries_payload(&self) -> bool {
        !self.awaits_response()
    }

    /// Whether it ends with a response that carries data: a READ or an atomic.
    #[inline]
    pub const fn awaits_response(&self) -> bool {
        matches!(
            self,
            Self::Read(_) | Self::FetchAdd { .. } | Self::CompareSwap { .. }
        )
    }

    /// Whether it takes a receive of the other side.
    pub const fn takes_receive(&self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::SendImmediate(_)
                | Self::SendInvalidate(_)
                | Self::WriteImmediate(..)
                | Self::Datagram { .. }
        )
    }
}

/// One entry of a send queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRequest {
    /// The application's number for it.
    pub id: u64,
    /// What to do.
    pub operation: Operation,
    /// Bytes of data; 8 for atomics.
    pub length: Bytes,
    /// Whether success is reported; failure always is.
    pub signaled: bool,
    /// Whether it waits for earlier READs and atomics (IBTA 10.8.3.3).
    pub fence: bool,
    /// Whether the other side's completion raises a solicited event.
    pub solicited: bool,
}

impl WorkRequest {
    /// A signalled request without fence or solicited event.
    pub const fn new(id: u64, operation: Operation, length: Bytes) -> Self {
        Self {
            id,
            operation,
            length,
            signaled: true,
            fence: false,
            solicited: false,
        }
    }
}

/// The end of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given when it was posted.
    pub id: u64,
    /// How it ended.
    pub status: Status,
}

/// How a work request or a receive ended (IBTA 11.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Done to the last byte.
    Success,
    /// The data didn't fit into the receive, or a response had another length than asked for.
    LocalLength,
    /// The requester's own memory didn't permit reading the data.
    LocalProtection,
    /// A response that makes no sense came back.
    BadResponse,
    /// The responder couldn't make sense of the request, or it was too long for its receive.
    RemoteInvalidRequest,
    /// The responder's memory doesn't permit what was asked.
    RemoteAccess,
    /// The responder failed.
    RemoteOperation,
    /// The retry limit was reached while this request was the oldest.
    RetryExceeded,
    /// The responder had no receive for longer than the RNR retry limit allows.
    RnrRetryExceeded,
    /// A memory window couldn't be bound, or a key not be invalidated, as this end asked itself.
    WindowBind,
    /// The queue pair failed before this request was served.
    Flushed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 11] = [
        Self::Success,
        Self::LocalLength,
        Self::LocalProtection,
        Self::BadResponse,
        Self::RemoteInvalidRequest,
        Self::RemoteAccess,
        Self::RemoteOperation,
        Self::RetryExceeded,
        Self::RnrRetryExceeded,
        Self::WindowBind,
        Self::Flushed,
    ];
}

/// One entry of a receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receive {
    /// The application's number for it.
    pub id: u64,
    /// Room for this many bytes.
    pub length: Bytes,
    /// Whether its memory doesn't permit writing, which is the fault of who posted it.
    pub closed: bool,
}

/// The end of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveCompletion {
    /// The number given when it was posted.
    pub id: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes received; of a WRITE with immediate, the bytes written.
    pub length: Bytes,
    /// Whether a WRITE with immediate ended it, whose data went elsewhere.
    pub written: bool,
    /// 32 bits that came beside the data.
    pub immediate: Option<u32>,
    /// The key that was invalidated.
    pub invalidated: Option<u32>,
    /// Whether a solicited event was asked for.
    pub solicited: bool,
    /// Who sent a datagram.
    pub source: Option<QpNumber>,
}

impl ReceiveCompletion {
    /// A receive that ended without data.
    pub const fn failed(id: u64, status: Status) -> Self {
        Self {
            id,
            status,
            length: Bytes::ZERO,
            written: false,
            immediate: None,
            invalidated: None,
            solicited: false,
            source: None,
        }
    }
}

/// Why a work request was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostError {
    /// The state of the queue pair doesn't allow it.
    State,
    /// The queue is full.
    Full,
    /// The service doesn't have this operation.
    Operation,
    /// The length is above 2^31 bytes, above the MTU of a datagram, or not 8 for an atomic.
    Length,
    /// An atomic on an address that isn't a multiple of eight.
    Alignment,
}

impl core::fmt::Display for PostError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::State => "the state of the queue pair doesn't allow posting",
            Self::Full => "the queue is full",
            Self::Operation => "the service of the queue pair doesn't have this operation",
            Self::Length => "the length is above 2^31 bytes, above the MTU of a datagram, or not 8",
            Self::Alignment => "the address of an atomic isn't a multiple of 8",
        })
    }
}

impl core::error::Error for PostError {}
