//! What an application posts, and the work requests that it becomes.

use core::fmt;

use fairlane_units::{Bytes, Duration, PathId};

use crate::Frame;

/// A piece of local memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Its first byte.
    pub address: u64,
    /// Its bytes.
    pub length: u64,
    /// The local key.
    pub key: u32,
}

/// A place in the memory of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The first byte.
    pub address: u64,
    /// The remote key.
    pub key: u32,
}

impl Remote {
    /// The place so many bytes further on.
    pub(crate) const fn after(self, offset: u64) -> Self {
        Self {
            address: self.address.wrapping_add(offset),
            key: self.key,
        }
    }
}

/// What an atomic does to eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Adds a number.
    FetchAdd(u64),
    /// Stores the second number if the first one is there.
    CompareSwap(u64, u64),
}

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Puts the data there.
    Write(Remote),
    /// Gets the data from there.
    Read(Remote),
    /// Consumes a receive of the other end.
    Send,
    /// Changes eight bytes there, and gets what they were.
    Atomic(Remote, Atomic),
}

/// A message, as an application posts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// What it does.
    pub operation: Operation,
    /// The local memory, in order.
    pub memory: &'a [Segment],
    /// Whether it waits for all READs and atomics before it (IBTA 10.8.3.3).
    pub fence: bool,
    /// Given back with the completion.
    pub context: u64,
}

impl<'a> Request<'a> {
    /// A message without fence.
    pub const fn new(operation: Operation, memory: &'a [Segment]) -> Self {
        Self {
            operation,
            memory,
            fence: false,
            context: 0,
        }
    }
}

/// Names a work request until its completion; late ones of a tag that is no more are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(u64);

impl Tag {
    pub(crate) const fn of(slot: u32, generation: u32) -> Self {
        Self((generation as u64) << 32 | slot as u64)
    }

    pub(crate) const fn slot(self) -> usize {
        self.0 as u32 as usize
    }

    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The number to put into a work request.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The tag of a work request with this number.
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }
}

/// A work request for one queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Comes back with the completion.
    pub tag: Tag,
    /// The path whose queue pair it is for.
    pub path: PathId,
    /// The number of the message, from 0 in the order of posting; `None` of probes and grants.
    pub message: Option<u64>,
    /// What to do.
    pub work: Work,
    /// Where it begins in the message.
    pub offset: Bytes,
    /// Its bytes, without the frame of a SEND.
    pub length: Bytes,
}

/// What a work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A WRITE.
    Write(Remote),
    /// A READ.
    Read(Remote),
    /// A SEND of these bytes, then those of the chunk.
    Send(Frame),
    /// An atomic.
    Atomic(Remote, Atomic),
}

/// How a work request ended.
///
/// After any but the first the queue pair is in its error state (IBTA 10.3.1): the driver brings it back before it
/// posts the next work request there, and reports the others that were flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged.
    Delivered,
    /// The card has given up to retry.
    RetryExceeded,
    /// Another one on this queue pair had failed.
    Flushed,
    /// The other end refuses it: it would refuse it on every path.
    Rejected,
}

/// The completion of a work request, with what the card or the driver knows of its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether a packet of it was marked.
    pub marked: bool,
    /// Whether a packet of it was sent more than once.
    pub retransmitted: bool,
    /// The round trip of a packet of it, if it was measured.
    pub round_trip: Option<Duration>,
}

impl Completion {
    /// Acknowledged, and nothing else is known.
    pub const DELIVERED: Self = Self::of(Outcome::Delivered);

    /// Ended, and nothing else is known.
    pub const fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            marked: false,
            retransmitted: false,
            round_trip: None,
        }
    }
}

/// Why a message failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The number of the message.
    pub message: u64,
    /// The reason.
    pub cause: Cause,
}

/// The reason of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No path answers.
    NoPath {
        /// How many there are.
        paths: u32,
        /// Probes of each that failed in a row, at least.
        probes: u8,
    },
    /// A part failed on one path after another.
    Retries {
        /// Where it begins.
        offset: u64,
        /// How often it was tried.
        attempts: u8,
        /// Where it was tried last.
        path: PathId,
    },
    /// An atomic's path failed: nobody knows whether it was executed, and twice would be wrong.
    Indeterminate {
        /// Where.
        path: PathId,
    },
    /// The other end refuses it: wrong key, address, length or operation.
    Rejected {
        /// Where it was said.
        path: PathId,
    },
    /// The receive that it would consume is too small.
    TooLong {
        /// Bytes of the message.
        size: u64,
        /// Bytes of the receive.
        room: u64,
    },
    /// A message before it failed.
    Flushed,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error message {}: ", self.message)?;
        match self.cause {
            Cause::NoPath { paths, probes } => write!(
                f,
                "none of {paths} paths answers; {probes} probes failed on each\n\
                 hint: see whether the other end runs and its link is up; `retries` is how often"
            ),
            Cause::Retries {
                offset,
                attempts,
                path,
            } => write!(
                f,
                "the part at {offset} failed {attempts} times, last on path {path}\n\
                 hint: if paths lose packets, take limiter `doubling`; `retries` is how often"
            ),
            Cause::Indeterminate { path } => write!(
                f,
                "path {path} failed under an atomic, which may or may not have been executed\n\
                 hint: READ the value on a new connection before trying again"
            ),
            Cause::Rejected { path } => write!(
                f,
                "the other end refuses it, as heard on path {path}\n\
                 hint: see key, address, length and access rights"
            ),
            Cause::TooLong { size, room } => write!(
                f,
                "it has {size} bytes; the receive that it would consume has room for {room}\n\
                 hint: post larger receives"
            ),
            Cause::Flushed => write!(
                f,
                "a message before it failed\nhint: open another connection and post it again"
            ),
        }
    }
}

impl core::error::Error for Failure {}
