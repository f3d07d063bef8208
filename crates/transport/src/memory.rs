//! What a responder asks its surroundings.

use alloc::collections::VecDeque;

use crate::work::{Operation, Receive, Remote};
use fairlane_units::Bytes;

/// What a remote operation does to memory (IBTA 10.6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// RDMA READ.
    Read,
    /// RDMA WRITE.
    Write,
    /// FETCH-ADD and CMP-SWAP.
    Atomic,
}

/// The memory of a responder. Payload doesn't pass through here, only permissions and the eight
/// bytes of an atomic.
pub trait Memory {
    /// Whether `access` to `length` bytes at `remote` is allowed.
    fn permits(&self, access: Access, remote: Remote, length: Bytes) -> bool;

    /// Carries out an atomic operation that [`permits`](Self::permits) allowed; returns what the
    /// eight bytes were.
    fn execute(&mut self, operation: &Operation) -> u64;

    /// Invalidates a key; `false` if there is none to invalidate.
    fn invalidate(&mut self, key: u32) -> bool;
}

/// Where a responder takes receives from: a queue of its own or a shared one.
pub trait Receives {
    /// Takes the oldest receive.
    fn take(&mut self) -> Option<Receive>;
}

/// Memory that permits everything and holds nothing, for simulations that carry no payload.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unchecked;

impl Memory for Unchecked {
    #[inline]
    fn permits(&self, _: Access, _: Remote, _: Bytes) -> bool {
        true
    }

    #[inline]
    fn execute(&mut self, _: &Operation) -> u64 {
        0
    }

    #[inline]
    fn invalidate(&mut self, _: u32) -> bool {
        true
    }
}

/// There is always a receive, as long as any message.
impl Receives for Unchecked {
    #[inline]
    fn take(&mut self) -> Option<Receive> {
        Some(Receive {
            id: 0,
            length: Bytes::new(u64::MAX),
            closed: false,
        })
    }
}

/// Posted receives, oldest first.
#[derive(Clone, Debug, Default)]
pub struct ReceiveQueue {
    posted: VecDeque<Receive>,
}

impl ReceiveQueue {
    /// An empty queue with room for `capacity` receives before it allocates again.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            posted: VecDeque::with_capacity(capacity),
        }
    }

    /// Adds a receive behind the others.
    pub fn post(&mut self, receive: Receive) {
        self.posted.push_back(receive);
    }

    /// How many are posted.
    pub fn len(&self) -> usize {
        self.posted.len()
    }

    /// Whether none is posted.
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty()
    }
}

impl Receives for ReceiveQueue {
    fn take(&mut self) -> Option<Receive> {
        self.posted.pop_front()
    }
}
