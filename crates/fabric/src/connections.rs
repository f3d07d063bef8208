//! Which queue pairs carry which flows, and what is measured of messages under way.

use std::collections::BTreeMap;

use fairlane_host::PairId;
use fairlane_units::{Duration, Time};

use crate::packet::NONE;

/// The end of a connection has been closed.
const CLOSED: u32 = NONE - 1;

/// An end of a connection, as a host knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Never opened.
    Unknown,
    Open(PairId),
    Closed,
}

/// A message that has been posted and hasn't ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) start: Time,
    /// Completion time alone on the fabric, least of the paths that it had.
    pub(crate) ideal: Option<Duration>,
    /// The same if the message is moved under way, where it may be.
    pub(crate) moved: Option<Duration>,
}

/// The ends of connections by flow. Each host knows its own; queue pairs are set up and taken down out of
/// band, so that a packet finds the right one by its flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// At the host that posts, and at the other one.
    ends: [Vec<u32>; 2],
    /// Messages under way, by number, at the host that posts.
    pub(crate) posted: BTreeMap<u32, Posted>,
    /// Response packets that responders have sent more than once, by flow.
    pub(crate) repeats: BTreeMap<u32, u32>,
    /// The first packet numbers of queue pairs that have replaced others, by flow, as each end knows them.
    renewed: [BTreeMap<u32, u32>; 2],
}

/// Which of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The requester's, at the host that posts.
    Requester,
    /// The responder's.
    Responder,
}

impl Connections {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            ends: [vec![NONE; flows], vec![NONE; flows]],
            ..Self::default()
        }
    }

    /// What the host of an end knows of it.
    #[inline]
    pub(crate) fn end(&self, flow: u32, side: Side) -> End {
        match self.ends[side as usize][flow as usize] {
            NONE => End::Unknown,
            CLOSED => End::Closed,
            pair => End::Open(PairId::from_index(pair)),
        }
    }

    /// The queue pair of an end that is open.
    #[inline]
    pub(crate) fn pair(&self, flow: u32, side: Side) -> Option<PairId> {
        match self.end(flow, side) {
            End::Open(pair) => Some(pair),
            End::Unknown | End::Closed => None,
        }
    }

    /// Counts a response packet that a responder has sent again.
    #[cold]
    pub(crate) fn count_repeat(&mut self, flow: u32) {
        *self.repeats.entry(flow).or_default() += 1;
    }

    pub(crate) fn open(&mut self, flow: u32, side: Side, pair: PairId) {
        self.ends[side as usize][flow as usize] = pair.index() as u32;
    }

    /// Takes over what another part of the fabric knows of an end.
    pub(crate) fn adopt(&mut self, other: &Self, flow: usize, side: Side) {
        self.ends[side as usize][flow] = other.ends[side as usize][flow];
    }

    /// An end that is closed will be opened again, with this first packet number.
    pub(crate) fn renew(&mut self, flow: u32, side: Side, first: u32) {
        self.ends[side as usize][flow as usize] = NONE;
        self.renewed[side as usize].insert(flow, first);
    }

    /// The first packet number of a queue pair that is being opened.
    pub(crate) fn first_of(&self, flow: u32, side: Side) -> u32 {
        self.renewed[side as usize].get(&flow).copied().unwrap_or(0)
    }

    pub(crate) fn close(&mut self, flow: u32, side: Side) {
        self.ends[side as usize][flow as usize] = CLOSED;
    }
}
