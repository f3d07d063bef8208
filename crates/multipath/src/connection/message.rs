//! A message on its way.

use crate::Operation;
use crate::connection::memory::Pieces;

/// How a message crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// WRITEs, READs or an atomic; the other end hears nothing of it.
    OneSided,
    /// One SEND with all data.
    Single,
    /// WRITEs, then a SEND without data.
    Written,
    /// SENDs, each with a transfer header.
    Stream,
}

/// How far the SEND is that makes the other end see the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// There is none.
    None,
    /// The SEND waits for the data and for messages before this one.
    Owed,
    /// The SEND is posted, or waits to be posted again.
    Posted,
    /// The SEND was acknowledged.
    Done,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) operation: Operation,
    pub(super) shape: Shape,
    pub(super) notice: Notice,
    /// Whether anything of it has been given out: an empty message has one chunk, too.
    pub(super) started: bool,
    /// Its number among those that consume a receive.
    pub(super) id: u64,
    pub(super) size: u64,
    /// Bytes that were given out.
    pub(super) given: u64,
    /// Parts that are in flight or wait to be posted again.
    pub(super) open: u32,
    /// The message starts when all messages before this number are complete.
    pub(super) starts_after: u64,
    /// The other end may see it when all messages before this number are complete.
    pub(super) seen_after: u64,
    pub(super) pieces: Pieces,
    pub(super) context: u64,
}

impl Message {
    /// Whether all data has arrived.
    #[inline]
    pub(super) const fn is_delivered(&self) -> bool {
        self.started && self.given == self.size && self.open == 0
    }

    #[inline]
    pub(super) const fn is_complete(&self) -> bool {
        self.is_delivered() && matches!(self.notice, Notice::None | Notice::Done)
    }

    pub(super) const fn consumes_receive(&self) -> bool {
        !matches!(self.shape, Shape::OneSided)
    }

    pub(super) const fn is_atomic(&self) -> bool {
        matches!(self.operation, Operation::Atomic(..))
    }

    /// Whether it changes the memory of the other end, where the application says.
    pub(super) const fn changes(&self) -> bool {
        matches!(self.operation, Operation::Write(_) | Operation::Atomic(..))
    }

    /// Whether a fence waits for it.
    pub(super) const fn answers(&self) -> bool {
        matches!(self.operation, Operation::Read(_) | Operation::Atomic(..))
    }

    /// Whether it touches one of these bytes of the other end. Keys are not looked at: two of them may name
    /// the same memory.
    pub(super) const fn touches(&self, address: u64, size: u64) -> bool {
        match self.operation {
            Operation::Send => false,
            Operation::Write(it) | Operation::Read(it) | Operation::Atomic(it, _) => {
                let before = it.address.saturating_add(self.size) <= address;
                let behind = address.saturating_add(size) <= it.address;
                !before && !behind
            }
        }
    }
}
