//! Which queue pairs carry which flows, and what is measured of messages under way.

use std::collections::BTreeMap;

use fairlane_host::PairId;
use fairlane_units::{Bytes, Duration, Psn, Time};

use crate::packet::NONE;
use crate::queue::Queue;

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
    /// Where it begins in the stream of its connection.
    pub(crate) begins: Bytes,
    /// Packets that its host has sent again, where its connection carries others too.
    pub(crate) retransmitted: u32,
}

impl Posted {
    /// A message that is posted at a time.
    pub(crate) const fn at(start: Time) -> Self {
        Self {
            start,
            ideal: None,
            moved: None,
            begins: Bytes::ZERO,
            retransmitted: 0,
        }
    }
}

/// A connection that stays open, at the host that posts.
#[derive(Clone, Debug, Default)]
struct Standing {
    queue: Queue,
    /// Messages of the run that have ended.
    ended: u32,
}

/// The ends of connections by flow. Each host knows its own; queue pairs are set up and taken down out of
/// band, so that a packet finds the right one by its flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// At the host that posts, and at the other one.
    ends: [Vec<u32>; 2],
    /// Messages under way, by number, at the host that posts.
    pub(crate) posted: BTreeMap<u32, Posted>,
    /// Response packets that responders have sent more than once, by message or queue pair of an application.
    pub(crate) repeats: BTreeMap<u32, u32>,
    /// Connections that stay open for several messages, by flow, at the host that posts.
    standing: BTreeMap<u32, Standing>,
    /// What they bring, by flow, at the other one.
    arriving: BTreeMap<u32, Queue>,
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

    /// Counts a packet of a flow that has been sent again, by the responder or not.
    #[cold]
    pub(crate) fn count_repeat(&mut self, flow: u32, psn: Psn, from_responder: bool) {
        if from_responder {
            let queue = self.arriving.get(&flow);
            let message = queue.and_then(|queue| queue.of_response(psn));
            *self.repeats.entry(message.unwrap_or(flow)).or_default() += 1;
            return;
        }
        // Other queue pairs count themselves.
        let standing = self.standing.get(&flow);
        let message = standing.and_then(|it| it.queue.of_request(psn));
        if let Some(posted) = message.and_then(|message| self.posted.get_mut(&message)) {
            posted.retransmitted += 1;
        }
    }

    /// A message of so many packets is posted on a connection that stays open.
    pub(crate) fn queue(&mut self, flow: u32, message: u32, packets: u64) {
        let standing = self.standing.entry(flow).or_default();
        standing.queue.push(message, packets);
    }

    /// The other end of such a connection learns what it will bring.
    pub(crate) fn expect(&mut self, flow: u32, message: u32, packets: u64) {
        self.arriving
            .entry(flow)
            .or_default()
            .push(message, packets);
    }

    /// The message that has arrived next on such a connection, everything before packet `expected` having arrived.
    pub(crate) fn next_arrived(&mut self, flow: u32, expected: Psn) -> Option<u32> {
        self.arriving.get_mut(&flow)?.next_before(expected)
    }

    /// The oldest message of such a connection that hasn't ended.
    pub(crate) fn first_of_standing(&self, flow: u32) -> Option<u32> {
        self.standing.get(&flow)?.queue.first()
    }

    /// A message of such a connection has ended; returns how many of it have.
    pub(crate) fn end_one(&mut self, flow: u32) -> u32 {
        let standing = self.standing.entry(flow).or_default();
        standing.queue.pop();
        standing.ended += 1;
        standing.ended
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
        match side {
            Side::Requester => self.standing.remove(&flow).map(drop),
            Side::Responder => self.arriving.remove(&flow).map(drop),
        };
    }

    /// Takes over what another part of the fabric knows of messages.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.posted.append(&mut other.posted);
        self.standing.append(&mut other.standing);
        self.arriving.append(&mut other.arriving);
        for (message, repeats) in other.repeats {
            *self.repeats.entry(message).or_default() += repeats;
        }
    }
}
