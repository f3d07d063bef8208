//! Queue pairs that take turns behind one pacer.

use alloc::vec::Vec;

use fairlane_units::{Bytes, Rate, Time};

use super::pair::NONE;
use crate::Window;

/// A queue pair at a NIC.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) lane: u32,
    /// Which history its telemetry is compared with.
    pub(crate) history: u32,
    /// Bytes of its next packet on the wire.
    pub(crate) wire: Bytes,
    pub(crate) in_flight: Bytes,
    /// Position up to which everything is acknowledged.
    pub(crate) acknowledged: Bytes,
    /// Which list it is in.
    pub(crate) place: Place,
    before: u32,
    behind: u32,
}

/// Where a queue pair waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: it has nothing that it may send.
    Idle,
    /// With a message of which less than a bandwidth-delay product has been sent.
    Early,
    /// With any other message.
    Late,
}

impl Member {
    pub(crate) const fn new(lane: u32, history: u32) -> Self {
        Self {
            lane,
            history,
            wire: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            acknowledged: Bytes::ZERO,
            place: Place::Idle,
            before: NONE,
            behind: NONE,
        }
    }
}

/// Queue pairs in turn, linked through [`Member`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub(crate) head: u32,
    tail: u32,
}

impl Ring {
    pub(crate) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
    };

    pub(crate) const fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub(crate) fn push(&mut self, members: &mut [Member], at: u32) {
        let member = &mut members[at as usize];
        (member.before, member.behind) = (self.tail, NONE);
        match self.tail {
            NONE => self.head = at,
            tail => members[tail as usize].behind = at,
        }
        self.tail = at;
    }

    pub(crate) fn remove(&mut self, members: &mut [Member], at: u32) {
        let Member { before, behind, .. } = members[at as usize];
        match before {
            NONE => self.head = behind,
            before => members[before as usize].behind = behind,
        }
        match behind {
            NONE => self.tail = before,
            behind => members[behind as usize].before = before,
        }
    }
}

/// Whether a pair counts among the limited ones of its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    No,
    Yes,
    /// It does, and is young.
    Beginner,
}

/// The open queue pairs that share a pacer.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) pair: u32,
    /// Index of the tenant at this NIC.
    pub(crate) tenant: u32,
    pub(crate) available: Time,
    pub(crate) window: Window,
    pub(crate) in_flight: Bytes,
    /// Bytes acknowledged since the lane opened.
    pub(crate) delivered: Bytes,
    pub(crate) last_size: Bytes,
    pub(crate) last_rate: Rate,
    pub(crate) early: Ring,
    pub(crate) late: Ring,
    /// Number of its entry among those that wait for their pacer; entries with others are out of date.
    pub(crate) entry: u64,
    /// The time of that entry, [`Time::MAX`] if there is none.
    pub(crate) entry_at: Time,
    /// Open queue pairs.
    pub(crate) members: u32,
    /// Whether it waits for the bucket.
    pub(crate) in_express: bool,
    pub(crate) limited: Limited,
    /// What it counts for among them.
    pub(crate) weight: u32,
    /// Bytes in flight that its tenant's aggregate waits for.
    pub(crate) awaited: Bytes,
}

impl Lane {
    /// Whether any queue pair has a packet.
    pub(crate) const fn has_packet(&self) -> bool {
        !self.early.is_empty() || !self.late.is_empty()
    }

    /// The queue pair in turn.
    pub(crate) const fn first(&self) -> Option<u32> {
        match (self.early.head, self.late.head) {
            (NONE, NONE) => None,
            (NONE, late) => Some(late),
            (early, _) => Some(early),
        }
    }

    pub(crate) fn ring_mut(&mut self, place: Place) -> Option<&mut Ring> {
        match place {
            Place::Idle => None,
            Place::Early => Some(&mut self.early),
            Place::Late => Some(&mut self.late),
        }
    }
}

/// Things by index; an index is used again.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    pub(crate) all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "memory ends earlier")]
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(at) = self.free.pop() {
            self.all[at as usize] = value;
            return at;
        }
        self.all.push(value);
        (self.all.len() - 1) as u32
    }

    pub(crate) fn remove(&mut self, at: u32) {
        self.free.push(at);
    }
}
