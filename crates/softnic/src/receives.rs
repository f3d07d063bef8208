//! Queues of receives: each of one queue pair, or shared.

use std::collections::VecDeque;

use fairlane_transport::{PostError, Receive, Receives, Status};
use fairlane_units::Bytes;

use crate::error::Error;
use crate::keys::Domain;
use crate::slots::Slots;
use crate::work::{ReceiveRequest, total};

/// A queue of receives that several queue pairs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedQueue(pub(crate) u32);

/// A receive that the device has taken.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) request: ReceiveRequest,
    /// How it has failed beside what the host says.
    pub(crate) failed: Option<Status>,
}

/// A queue of receives.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    pub(crate) domain: Domain,
    pub(crate) shared: bool,
    pub(crate) users: u32,
    capacity: usize,
    most_pieces: usize,
    /// Bytes at the beginning of each receive that aren't for data.
    pub(crate) reserved: u64,
    waiting: VecDeque<u32>,
    posted: Slots<Posted>,
}

impl ReceiveQueue {
    pub(crate) fn new(domain: Domain, capacity: u32, most_pieces: u32) -> Self {
        Self {
            domain,
            shared: false,
            users: 0,
            capacity: capacity as usize,
            most_pieces: most_pieces as usize,
            reserved: 0,
            waiting: VecDeque::new(),
            posted: Slots::new(capacity as usize * 2 + 1),
        }
    }

    pub(crate) fn post(&mut self, request: ReceiveRequest) -> Result<(), Error> {
        if request.pieces.len() > self.most_pieces {
            return Err(Error::Invalid(
                "receive",
                "no more pieces than the queue was made for",
            ));
        }
        if self.waiting.len() >= self.capacity {
            return Err(Error::Post(PostError::Full));
        }
        let posted = Posted {
            request,
            failed: None,
        };
        let slot = self.posted.insert(|_| posted).ok_or(PostError::Full)?;
        self.waiting.push_back(slot);
        Ok(())
    }

    pub(crate) fn get_mut(&mut self, slot: u64) -> Option<&mut Posted> {
        self.posted.get_mut(u32::try_from(slot).ok()?)
    }

    /// Takes a receive that has ended.
    pub(crate) fn end(&mut self, slot: u64) -> Option<Posted> {
        self.posted.remove(u32::try_from(slot).ok()?)
    }

    /// Takes the oldest receive that nothing has come for.
    pub(crate) fn flush(&mut self) -> Option<Posted> {
        let slot = self.waiting.pop_front()?;
        self.posted.remove(slot)
    }

    /// Forgets all receives.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.posted = Slots::new(self.capacity * 2 + 1);
    }
}

impl Receives for ReceiveQueue {
    fn take(&mut self) -> Option<Receive> {
        let slot = self.waiting.pop_front()?;
        let posted = self.posted.get(slot)?;
        let room = total(&posted.request.pieces).saturating_sub(self.reserved);
        Some(Receive {
            id: slot.into(),
            length: Bytes::new(room),
        })
    }
}
