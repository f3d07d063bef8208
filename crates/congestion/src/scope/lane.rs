//! Queue pairs that take turns behind one pacer.

use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, Rate, Time};

use super::debt::Debt;
use super::pair::NONE;
use crate::{Pacer, Window};

/// A queue pair at a NIC.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) lane: u32,
    /// Which history its telemetry is compared with.
    pub(crate) history: u32,
    pub(crate) in_flight: Bytes,
    /// Position up to which everything is acknowledged.
    pub(crate) acknowledged: Bytes,
    /// Position behind the last packet sent.
    furthest: Bytes,
    /// The packet that is timed, if one is.
    pub(crate) timed: Option<Timed>,
    /// Which turn it had last.
    pub(crate) turn: u64,
    /// Whether it has something that it may send.
    pub(crate) ready: bool,
    /// Whether that is of a small message.
    pub(crate) small: bool,
    before: u32,
    behind: u32,
}

/// A packet whose round trip is timed: one at a time, and none that was sent twice (Karn's algorithm).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    /// Position behind it.
    behind: Bytes,
    sent_at: Time,
}

impl Member {
    pub(crate) const fn new(lane: u32, history: u32, turn: u64) -> Self {
        Self {
            lane,
            history,
            in_flight: Bytes::ZERO,
            acknowledged: Bytes::ZERO,
            furthest: Bytes::ZERO,
            timed: None,
            turn,
            ready: false,
            small: false,
            before: NONE,
            behind: NONE,
        }
    }

    /// A packet leaves, by which its bytes in flight have come to be what they are; it is timed unless another is.
    pub(crate) fn on_sent(&mut self, now: Time, turn: u64) {
        self.turn = turn;
        let behind = self.acknowledged + self.in_flight;
        if behind > self.furthest {
            self.furthest = behind;
            self.timed.get_or_insert(Timed {
                behind,
                sent_at: now,
            });
        }
    }

    /// The round-trip time of the packet that is timed, once that is acknowledged.
    pub(crate) fn time(&mut self, now: Time) -> Option<Duration> {
        let heard = |timed: &mut Timed| timed.behind <= self.acknowledged;
        let timed = self.timed.take_if(heard)?;
        Some(now.saturating_since(timed.sent_at))
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

/// What a controller allows, as of when something last happened to the lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// The rate of the pacer.
    pub(crate) rate: Rate,
    /// Bytes in flight.
    pub(crate) window: Bytes,
    /// What either of them lets go: the rate, or what the window carries in a round trip.
    pub(crate) carried: Rate,
}

/// The open queue pairs that share a pacer.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) pair: u32,
    /// Index of the tenant at this NIC.
    pub(crate) tenant: u32,
    pub(crate) pacer: Pacer,
    /// The rate at which the packet sent last was charged to the pacer.
    pub(crate) charged: Rate,
    pub(crate) debt: Debt,
    pub(crate) window: Window,
    /// What its controller allows.
    pub(crate) allowed: Allowed,
    pub(crate) in_flight: Bytes,
    /// Queue pairs with packets of small messages.
    pub(crate) small: Ring,
    /// Queue pairs with packets of larger messages.
    pub(crate) large: Ring,
    /// Number of its entry among those of its tenant; entries with others are out of date.
    pub(crate) entry: u64,
    /// The time of that entry, [`Time::MAX`] if there is none.
    pub(crate) entry_at: Time,
    /// Open queue pairs.
    pub(crate) members: u32,
}

impl Lane {
    /// The queue pairs with packets of small messages, or with others.
    pub(crate) const fn ring(&mut self, small: bool) -> &mut Ring {
        match small {
            true => &mut self.small,
            false => &mut self.large,
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
