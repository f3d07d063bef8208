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
    pub(crate) in_flight: Bytes,
    /// Position up to which everything is acknowledged.
    pub(crate) acknowledged: Bytes,
    /// Whether it has something that it may send.
    pub(crate) ready: bool,
    before: u32,
    behind: u32,
}

impl Member {
    pub(crate) const fn new(lane: u32, history: u32) -> Self {
        Self {
            lane,
            history,
            in_flight: Bytes::ZERO,
            acknowledged: Bytes::ZERO,
            ready: false,
            before: NONE,
            behind: NONE,
        }
    }
}

/// Queue pairs in turn, linked through [`Member`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    head: u32,
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

    /// The one whose turn it is.
    pub(crate) const fn first(&self) -> Option<u32> {
        match self.head {
            NONE => None,
            head => Some(head),
        }
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

/// The open queue pairs that share a pacer.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) pair: u32,
    /// Index of the tenant at this NIC.
    pub(crate) tenant: u32,
    pub(crate) available: Time,
    pub(crate) window: Window,
    pub(crate) in_flight: Bytes,
    pub(crate) last_size: Bytes,
    pub(crate) last_rate: Rate,
    /// Queue pairs with packets.
    pub(crate) ready: Ring,
    /// Number of its entry among those of its tenant; entries with others are out of date.
    pub(crate) entry: u64,
    /// The time of that entry, [`Time::MAX`] if there is none.
    pub(crate) entry_at: Time,
    /// Open queue pairs.
    pub(crate) members: u32,
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
