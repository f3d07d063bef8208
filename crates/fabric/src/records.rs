//! What results say of messages.

use fairlane_network::Network;
use fairlane_network::packet::Side;
use fairlane_nic::PairId;
use fairlane_scenario::Verb;
use fairlane_units::{Bytes, MessageId, Time};

use crate::baseline;
use crate::hosts::Hosts;
use crate::{MessageRecord, Outcome};

impl Hosts {
    /// What is known of a message under way, or of one that has just ended, with when and how.
    pub(crate) fn record(
        &self,
        net: &Network,
        (message, pair): (MessageId, Option<PairId>),
        (finish, outcome): (Option<Time>, Outcome),
    ) -> MessageRecord {
        let spec = self.traffic.message(message);
        let nic = &self.nic_at(spec.source).core;
        let posted = self.connections.posted.get(&message);
        let (mut acknowledged, mut retransmitted) = (Bytes::ZERO, 0);
        if let Some(pair) = pair {
            let requester = nic.pair(pair).requester();
            let position = requester.next_position() - requester.bytes_in_flight();
            acknowledged = position.saturating_sub(posted.map_or(Bytes::ZERO, |it| it.begins));
            retransmitted = requester.retransmitted();
        }
        if self.traffic.is_shared(self.traffic.flow_of(message)) {
            retransmitted = posted.map_or(0, |posted| posted.retransmitted.into());
        }
        let outside = self.outside.as_deref();
        if let Some(state) = outside.and_then(|outside| outside.state(message)) {
            (acknowledged, retransmitted) = (state.acknowledged, state.retransmitted.into());
        }
        let acknowledged = match finish {
            Some(_) => spec.size,
            None => acknowledged.min(spec.size),
        };
        let never = self.never_posted(net, message);
        MessageRecord {
            acknowledged,
            placed: acknowledged,
            posted: true,
            start: posted.map_or(spec.start, |posted| posted.start),
            finish,
            // A message that never had a path has no ideal time of its own.
            ideal: posted
                .and_then(|posted| posted.ideal)
                .unwrap_or(never.standalone),
            retransmitted: u32::try_from(retransmitted).unwrap_or(u32::MAX),
            outcome,
            ..never
        }
    }

    /// How much of a message that is under way has been placed at its receiver: at the host that has posted it, if it asks
    /// for data. Of such a message behind others on its connection nothing is known.
    pub(crate) fn placed_of(&self, record: &MessageRecord) -> Bytes {
        let (receiver, side) = match record.verb {
            Verb::Read => (record.source, Side::Requester),
            _ => (record.destination, Side::Responder),
        };
        let flow = self.traffic.flow_of(record.id);
        let shared = self.traffic.is_shared(flow);
        if shared && record.verb.awaits_response() {
            return record.acknowledged;
        }
        let outside = self.outside.as_deref();
        if let Some(state) = outside.and_then(|outside| outside.state(record.id)) {
            return state.placed.min(record.size).max(record.acknowledged);
        }
        let posted = self.connections.posted.get(&record.id);
        let begins = posted.map_or(Bytes::ZERO, |posted| posted.begins);
        let pair = self.connections.pair(flow, side);
        let nic = &self.nic_at(receiver).core;
        let placed = pair.map_or(Bytes::ZERO, |pair| nic.pair(pair).placed());
        let placed = placed.saturating_sub(begins);
        placed.min(record.size).max(record.acknowledged)
    }

    /// What is known of a message before it is posted.
    pub(crate) fn never_posted(&self, net: &Network, id: MessageId) -> MessageRecord {
        let (spec, flow) = (self.traffic.message(id), self.traffic.flow_of(id));
        let ends = (spec.source, spec.destination);
        let pair = self.baseline.pair(net.graph(), net.ports_of(flow), ends);
        let standalone = baseline::standalone(pair, spec.size, net.settings().mtu);
        MessageRecord {
            id,
            workload: spec.workload,
            source: spec.source,
            destination: spec.destination,
            source_port: net.flow(flow).tuple.source_port,
            destination_port: spec.destination_port,
            class: spec.class,
            size: spec.size,
            acknowledged: Bytes::ZERO,
            placed: Bytes::ZERO,
            posted: false,
            start: spec.start,
            finish: None,
            ideal: standalone,
            standalone,
            retransmitted: 0,
            verb: spec.verb,
            outcome: Outcome::Unfinished,
            tenant: spec.tenant,
        }
    }
}
