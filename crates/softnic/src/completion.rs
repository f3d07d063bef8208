//! Completion queues.

use std::collections::VecDeque;
use std::net::IpAddr;

use fairlane_transport::Status;
use fairlane_units::QpNumber;

use crate::error::Error;
use crate::event::{Arm, Channel};

/// A completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CompletionQueue(pub(crate) u32);

impl CompletionQueue {
    /// Its number, which no other completion queue of the device has at the time.
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// What has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A SEND or datagram.
    Send,
    /// A WRITE.
    Write,
    /// A READ.
    Read,
    /// A FETCH-ADD.
    FetchAdd,
    /// A CMP-SWAP.
    CompareSwap,
    /// A memory window was bound.
    Bind,
    /// A key was invalidated.
    Invalidate,
    /// A receive, by a SEND.
    Receive,
    /// A receive, by a WRITE with immediate.
    ReceiveWrite,
}

/// The end of a request or receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given when it was posted.
    pub id: u64,
    /// How it ended. Of others than success, only the number and the queue pair have a meaning.
    pub status: Status,
    /// What has ended.
    pub done: Done,
    /// The queue pair.
    pub pair: QpNumber,
    /// Bytes received, or read.
    pub length: u64,
    /// 32 bits that came beside the data.
    pub immediate: Option<u32>,
    /// The key that was invalidated.
    pub invalidated: Option<u32>,
    /// Whether the sender asked for an event.
    pub solicited: bool,
    /// Who sent a datagram.
    pub source: Option<(IpAddr, QpNumber)>,
}

/// Completions that wait to be polled.
#[derive(Debug)]
pub(crate) struct Completions {
    waiting: VecDeque<Completion>,
    capacity: usize,
    /// Completions that really fit, which a fault makes fewer than `capacity`.
    pub(crate) most: usize,
    /// Whether one found no room; the queue is useless then (IBTA 11.6.3.1).
    pub(crate) overrun: bool,
    /// Queue pairs that complete to it, counted once for each of their queues.
    pub(crate) users: u32,
    /// Whom it tells.
    pub(crate) channel: Option<Channel>,
    /// The completions of which the next one raises an event, once.
    pub(crate) armed: Option<Arm>,
    /// Whether the last poll has left some.
    left: bool,
}

impl Completions {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            capacity,
            most: usize::MAX,
            overrun: false,
            users: 0,
            channel: None,
            armed: None,
            left: false,
        }
    }

    /// Adds one; `false` if there is no room for it.
    pub(crate) fn push(&mut self, completion: Completion) -> bool {
        if self.waiting.len() >= self.capacity.min(self.most) {
            return false;
        }
        self.waiting.push_back(completion);
        true
    }

    /// Has other room from now on.
    pub(crate) fn resize(&mut self, capacity: usize) -> Result<(), Error> {
        if capacity < self.waiting.len().max(1) {
            let expected = "room for 1 or more, and for those that wait";
            return Err(Error::Invalid("completion queue", expected));
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Forgets completions of a queue pair that goes.
    pub(crate) fn forget(&mut self, pair: QpNumber) {
        self.waiting.retain(|completion| completion.pair != pair);
    }

    /// Whether a completion is one that it was armed for; then it isn't any more.
    pub(crate) fn fires(&mut self, completion: &Completion) -> bool {
        let fires = self.armed.is_some_and(|arm| arm.is_for(completion));
        self.armed = self.armed.filter(|_| !fires);
        fires
    }

    /// Whether it was armed for one that a poll has left; then it isn't any more. IBTA has only the next completion told of,
    /// but mlx5 tells of all that haven't been polled, and programs (perftest) poll some, and wait.
    pub(crate) fn fires_for_left(&mut self) -> bool {
        let Some(arm) = self.armed.filter(|_| self.left) else {
            return false;
        };
        let fires = self.waiting.iter().any(|completion| arm.is_for(completion));
        self.armed = self.armed.filter(|_| !fires);
        fires
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Moves completions to the end of `into`, at most `most`.
    pub(crate) fn poll(&mut self, most: usize, into: &mut Vec<Completion>) -> Result<usize, Error> {
        let count = most.min(self.waiting.len());
        into.extend(self.waiting.drain(..count));
        self.left = !self.waiting.is_empty();
        match self.overrun && count == 0 {
            true => Err(Error::Overrun),
            false => Ok(count),
        }
    }
}
