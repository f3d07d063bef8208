//! A connection between two software NICs, with the memory of its messages.

use std::collections::{BTreeMap, VecDeque};

use fairlane_fabric::{CarriedFlow, CarriedState, MessageSpec};
use fairlane_scenario::Verb;
use fairlane_softnic::{Attributes, Operation, QpNumber, Region, SendRequest, Sge, Target};
use fairlane_units::{Bytes, MessageId, Psn};

use crate::payload::OPERAND;

/// One end of a connection: a NIC, and its queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) nic: usize,
    pub(crate) pair: QpNumber,
}

/// The connection that carries a flow.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) carried: CarriedFlow,
    /// Requester and responder.
    pub(crate) ends: [End; 2],
    /// The number of the packet that is posted next.
    next: Psn,
    /// Messages that haven't arrived at the responder, each with the number behind its last packet.
    arriving: VecDeque<(Psn, MessageId)>,
    /// Messages that haven't ended.
    under_way: BTreeMap<MessageId, UnderWay>,
    /// Bytes of all messages that were posted.
    posted: Bytes,
    /// Messages that have ended.
    ended: u32,
    /// Packets that the requester has sent more than once, of these.
    repeated: u64,
}

/// A message that is under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// Its memory at requester and responder.
    regions: [Region; 2],
    /// Where it begins among the bytes of all messages.
    begins: Bytes,
    verb: Verb,
}

/// A message that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// Its memory at requester and responder.
    pub(crate) regions: [Region; 2],
    /// How far it was.
    pub(crate) state: CarriedState,
    /// Whether it was the last one of the connection.
    pub(crate) is_last: bool,
}

impl Connection {
    pub(crate) const fn new(carried: CarriedFlow, ends: [End; 2]) -> Self {
        Self {
            carried,
            ends,
            next: Psn::new(0),
            arriving: VecDeque::new(),
            under_way: BTreeMap::new(),
            posted: Bytes::ZERO,
            ended: 0,
            repeated: 0,
        }
    }

    /// The request for a message, which has memory at both ends.
    pub(crate) fn request(
        &mut self,
        message: MessageId,
        spec: &MessageSpec,
        regions: [Region; 2],
    ) -> SendRequest {
        let under_way = UnderWay {
            regions,
            begins: self.posted,
            verb: spec.verb,
        };
        self.posted += spec.size;
        self.under_way.insert(message, under_way);
        if !spec.verb.awaits_response() {
            let mtu = self.carried.ends[0].environment.mtu.get();
            let packets = spec.size.get().div_ceil(mtu).max(1);
            self.next = self.next.advance(packets as u32);
            self.arriving.push_back((self.next, message));
        }
        let [here, there] = &regions;
        let target = Target {
            address: there.address,
            key: there.remote_key,
        };
        let operation = match spec.verb {
            Verb::Write => Operation::Write(target),
            Verb::Send => Operation::Send,
            Verb::Read => Operation::Read(target),
            Verb::FetchAdd => Operation::FetchAdd(target, OPERAND),
            Verb::CompareSwap => Operation::CompareSwap(target, 0, OPERAND),
        };
        let pieces = vec![Sge::of(here, 0, spec.size.get() as u32)];
        SendRequest::new(u64::from(message.get()), operation, pieces)
    }

    /// Returns a message that has arrived at the responder, which takes the packet `expected` next; the oldest first.
    pub(crate) fn next_arrived(&mut self, expected: Psn) -> Option<MessageId> {
        let is_there = |(end, _): &mut (Psn, _)| expected.distance(*end) >= 0;
        let next = self.arriving.pop_front_if(is_there);
        next.map(|(_, message)| message)
    }

    /// Messages that are under way.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.under_way.keys().copied()
    }

    /// How far a message is that is under way, when its queue pairs are like this.
    pub(crate) fn state(&self, message: MessageId, pairs: &[Attributes; 2]) -> CarriedState {
        let Some(own) = self.under_way.get(&message) else {
            return CarriedState::default();
        };
        let [here, there] = pairs;
        let placed = match own.verb.awaits_response() {
            true => here.placed,
            false => there.placed,
        };
        let repeated = here.retransmitted - self.repeated;
        CarriedState {
            acknowledged: here.confirmed.saturating_sub(own.begins),
            placed: placed.saturating_sub(own.begins),
            retransmitted: u32::try_from(repeated).unwrap_or(u32::MAX),
        }
    }

    /// A message has ended, when its queue pairs are like this.
    pub(crate) fn end(&mut self, message: MessageId, pairs: &[Attributes; 2]) -> Option<Ended> {
        let state = self.state(message, pairs);
        let under_way = self.under_way.remove(&message)?;
        self.ended += 1;
        self.repeated = pairs[0].retransmitted;
        Some(Ended {
            regions: under_way.regions,
            state,
            is_last: self.ended == self.carried.messages,
        })
    }
}
