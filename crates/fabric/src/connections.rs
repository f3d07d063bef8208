//! Which queue pairs carry which flows, and what is measured of messages under way.

use std::collections::BTreeMap;

use fairlane_network::packet::NONE;
use fairlane_network::packet::Side;
use fairlane_nic::PairId;
use fairlane_units::{Bytes, Duration, FlowId, MessageId, Psn, Time};

use crate::queue::Queue;
use crate::traffic::FlowKind;

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
    /// Completion time alone on the fabric if the message is moved under way, where it may be.
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
    pub(crate) posted: BTreeMap<MessageId, Posted>,
    /// Response packets that responders have sent more than once, by message.
    pub(crate) repeats: BTreeMap<MessageId, u32>,
    /// Connections that stay open for several messages, by flow, at the host that posts.
    standing: BTreeMap<FlowId, Standing>,
    /// What they bring, by flow, at the other one.
    arriving: BTreeMap<FlowId, Queue>,
    /// The first packet numbers of queue pairs that have replaced others, by flow, as each end knows them.
    renewed: [BTreeMap<FlowId, u32>; 2],
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
    pub(crate) fn end(&self, flow: FlowId, side: Side) -> End {
        match self.ends[side as usize][flow.index()] {
            NONE => End::Unknown,
            CLOSED => End::Closed,
            pair => End::Open(PairId::from_index(pair)),
        }
    }

    /// The queue pair of an end that is open.
    #[inline]
    pub(crate) fn pair(&self, flow: FlowId, side: Side) -> Option<PairId> {
        match self.end(flow, side) {
            End::Open(pair) => Some(pair),
            End::Unknown | End::Closed => None,
        }
    }

    /// Counts a packet that the responder of a flow has sent again.
    #[cold]
    pub(crate) fn count_response_again(&mut self, flow: FlowId, kind: FlowKind, psn: Psn) {
        let message = match kind {
            FlowKind::Message(message) => message,
            FlowKind::Shared(first) => {
                let queue = self.arriving.get(&flow);
                let message = queue.and_then(|queue| queue.of_response(psn));
                message.unwrap_or(first)
            }
            FlowKind::Application(_) | FlowKind::Path(_) => return,
        };
        *self.repeats.entry(message).or_default() += 1;
    }

    /// Counts a packet that the requester of a flow has sent again, if that carries several messages: other queue pairs count
    /// themselves.
    #[cold]
    pub(crate) fn count_request_again(&mut self, flow: FlowId, psn: Psn) {
        let standing = self.standing.get(&flow);
        let message = standing.and_then(|it| it.queue.of_request(psn));
        if let Some(posted) = message.and_then(|message| self.posted.get_mut(&message)) {
            posted.retransmitted += 1;
        }
    }

    /// A message of so many packets is posted on a connection that stays open.
    pub(crate) fn queue(&mut self, flow: FlowId, message: MessageId, packets: u64) {
        let standing = self.standing.entry(flow).or_default();
        standing.queue.push(message, packets);
    }

    /// The other end of such a connection learns what it will bring.
    pub(crate) fn expect(&mut self, flow: FlowId, message: MessageId, packets: u64) {
        self.arriving
            .entry(flow)
            .or_default()
            .push(message, packets);
    }

    /// The message that has arrived next on such a connection, everything before packet `expected` having arrived.
    pub(crate) fn next_arrived(&mut self, flow: FlowId, expected: Psn) -> Option<MessageId> {
        self.arriving.get_mut(&flow)?.next_before(expected)
    }

    /// The oldest message of such a connection that hasn't ended.
    pub(crate) fn first_of_standing(&self, flow: FlowId) -> Option<MessageId> {
        self.standing.get(&flow)?.queue.first()
    }

    /// A message of such a connection has ended; returns how many of it have.
    pub(crate) fn end_one(&mut self, flow: FlowId) -> u32 {
        let standing = self.standing.entry(flow).or_default();
        standing.queue.pop();
        standing.ended += 1;
        standing.ended
    }

    pub(crate) fn open(&mut self, flow: FlowId, side: Side, pair: PairId) {
        self.ends[side as usize][flow.index()] = pair.index() as u32;
    }

    /// Takes over what another part of the fabric knows of an end.
    pub(crate) fn adopt(&mut self, other: &Self, flow: FlowId, side: Side) {
        self.ends[side as usize][flow.index()] = other.ends[side as usize][flow.index()];
    }

    /// An end that is closed will be opened again, with this first packet number.
    pub(crate) fn renew(&mut self, flow: FlowId, side: Side, first: u32) {
        self.ends[side as usize][flow.index()] = NONE;
        self.renewed[side as usize].insert(flow, first);
    }

    /// The first packet number of a queue pair that is being opened.
    pub(crate) fn first_of(&self, flow: FlowId, side: Side) -> u32 {
        self.renewed[side as usize].get(&flow).copied().unwrap_or(0)
    }

    pub(crate) fn close(&mut self, flow: FlowId, side: Side) {
        self.ends[side as usize][flow.index()] = CLOSED;
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
