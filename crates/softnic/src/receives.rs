//! Queues of receives: each of one queue pair, or shared.

use std::collections::VecDeque;

use fairlane_transport::{PostError, Receive, Receives, Status};
use fairlane_units::Bytes;

use crate::error::Error;
use crate::keys::{Domain, Keys};
use crate::rights::Rights;
use crate::slots::Slots;
use crate::work::{ReceiveRequest, total};

/// A queue of receives that several queue pairs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedQueue(pub(crate) u32);

impl SharedQueue {
    /// Its number, which no other shared queue of the device has at the time.
    pub const fn index(self) -> u32 {
        self.0
    }
}

/// What a shared queue is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAttributes {
    /// Receives that it has room for.
    pub receives: u32,
    /// Pieces of a receive, at most.
    pub pieces: u32,
    /// Fewer receives than this raise the event of the SRQ limit, once; 0 for never.
    pub limit: u32,
}

/// A receive that the device has taken.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) request: ReceiveRequest,
    /// How it has failed beside what the host says.
    pub(crate) failed: Option<Status>,
}

/// Receives that wait are bounded, not those that have been taken.
const ANY: usize = u32::MAX as usize;

/// A queue of receives.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    pub(crate) domain: Domain,
    pub(crate) shared: bool,
    pub(crate) users: u32,
    capacity: usize,
    /// Receives that really fit, which a fault makes fewer than `capacity`.
    pub(crate) most: usize,
    most_pieces: usize,
    /// Fewer receives than this are told of, once; 0 for off.
    pub(crate) limit: usize,
    /// Whether that has happened and hasn't been told.
    reached: bool,
    /// Bytes at the beginning of the next receive that aren't for data.
    pub(crate) reserved: u64,
    waiting: VecDeque<u32>,
    /// Receives that wait, and receives that messages in progress have taken: one of each queue pair.
    posted: Slots<Posted>,
    /// Whether the memory of the next receive doesn't permit writing.
    pub(crate) closed: bool,
}

impl ReceiveQueue {
    pub(crate) fn new(domain: Domain, capacity: u32, most_pieces: u32) -> Self {
        Self {
            domain,
            shared: false,
            users: 0,
            capacity: capacity as usize,
            most: usize::MAX,
            most_pieces: most_pieces as usize,
            limit: 0,
            reached: false,
            reserved: 0,
            waiting: VecDeque::new(),
            posted: Slots::new(ANY),
            closed: false,
        }
    }

    /// Looks whether the memory of the next receive permits writing, before it may be taken.
    pub(crate) fn look_ahead(&mut self, keys: &Keys) {
        let next = self.waiting.front().and_then(|slot| self.posted.get(*slot));
        self.closed = next.is_some_and(|next| {
            let pieces = &next.request.pieces;
            !keys.permit(self.domain, Rights::LOCAL_WRITE, pieces)
        });
    }

    pub(crate) const fn attributes(&self) -> SharedAttributes {
        SharedAttributes {
            receives: self.capacity as u32,
            pieces: self.most_pieces as u32,
            limit: self.limit as u32,
        }
    }

    /// Changes its room, or its limit; one that it is below already is reached at once.
    pub(crate) fn modify(
        &mut self,
        receives: Option<u32>,
        limit: Option<u32>,
    ) -> Result<(), Error> {
        let capacity = receives.map_or(self.capacity, |receives| receives as usize);
        if capacity < self.waiting.len().max(1) {
            let expected = "room for all receives that are posted";
            return Err(Error::Invalid("queue of receives", expected));
        }
        if limit.is_some_and(|limit| limit as usize > capacity) {
            return Err(Error::Invalid(
                "limit of a queue of receives",
                "no more than its room",
            ));
        }
        self.capacity = capacity;
        if let Some(limit) = limit {
            self.limit = limit as usize;
            self.note_limit();
        }
        Ok(())
    }

    #[inline]
    fn note_limit(&mut self) {
        if self.waiting.len() < self.limit {
            (self.limit, self.reached) = (0, true);
        }
    }

    pub(crate) fn post(&mut self, request: ReceiveRequest) -> Result<(), Error> {
        if request.pieces.len() > self.most_pieces {
            return Err(Error::Invalid(
                "receive",
                "no more pieces than the queue was made for",
            ));
        }
        if self.waiting.len() >= self.capacity.min(self.most) {
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

    /// Whether it has just fallen below its limit, which then is off.
    #[inline]
    pub(crate) fn reached_limit(&mut self) -> bool {
        std::mem::take(&mut self.reached)
    }

    /// Receives that wait or have been taken and haven't ended.
    #[cfg(feature = "testing")]
    pub(crate) fn live(&self) -> usize {
        self.posted.iter().count()
    }

    /// Forgets all receives.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.posted = Slots::new(ANY);
    }
}

impl Receives for ReceiveQueue {
    fn take(&mut self) -> Option<Receive> {
        let slot = self.waiting.pop_front()?;
        self.note_limit();
        let posted = self.posted.get(slot)?;
        let room = total(&posted.request.pieces).saturating_sub(self.reserved);
        Some(Receive {
            id: slot.into(),
            length: Bytes::new(room),
            closed: self.closed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receives_that_have_been_taken_leave_room_for_others() {
        let domain = Keys::new().allocate_domain().unwrap();
        let mut queue = ReceiveQueue::new(domain, 1, 1);
        let request = |id| ReceiveRequest {
            id,
            pieces: Vec::new(),
        };
        let mut taken = Vec::new();
        for id in 0..100 {
            queue.post(request(id)).unwrap();
            assert!(queue.post(request(id)).is_err());
            taken.push(queue.take().unwrap().id);
        }
        let ended = taken
            .into_iter()
            .map(|id| queue.end(id).unwrap().request.id);
        assert!(ended.eq(0..100));
    }
}
