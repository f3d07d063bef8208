//! Work requests of programs, whose NICs outside of a simulation carry them, as results describe them.

use std::collections::BTreeMap;

use fairlane_congestion::Scope;
use fairlane_network::Network;
use fairlane_scenario::{PacketSizes, Scenario, Verb};
use fairlane_units::{Bytes, Duration, FlowId, MessageId, NodeId, TenantId, Time};

use crate::baseline::{self, Baseline, Work};
use crate::ideal::{KnownPaths, Paths, bound, ends};
use crate::rules::Rules;
use crate::{MessageRecord, Outcome};

/// A work request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequest {
    /// The flow that carried it.
    pub flow: FlowId,
    /// The host that posted it, and the other one.
    pub ends: [NodeId; 2],
    /// The number of its program, behind those of workloads.
    pub workload: u32,
    /// The traffic class of its data.
    pub class: u8,
    /// What it was.
    pub verb: Verb,
    /// Its payload.
    pub size: Bytes,
    /// Payload of each of the requests that its NIC makes of it, the last one perhaps a smaller one.
    pub part: Bytes,
    /// The path MTU of its queue pair.
    pub mtu: u16,
    /// Whether its end says that it has arrived; that of a datagram doesn't.
    pub is_reliable: bool,
    /// When it was posted.
    pub posted: Time,
    /// When it ended.
    pub ended: Time,
    /// How.
    pub outcome: Outcome,
    /// Packets sent more than once.
    pub retransmitted: u32,
    /// The number of the tenant that it belongs to.
    pub tenant: TenantId,
}

/// Work requests of programs.
#[derive(Debug)]
pub(crate) struct WorkRequests {
    records: Vec<MessageRecord>,
    /// The scenario with packets as they are on real wires.
    scenario: Scenario,
    /// By path MTU, sizes of packets.
    rules: BTreeMap<u16, Rules>,
}

impl WorkRequests {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut scenario = scenario.clone();
        scenario.packet = PacketSizes::default();
        scenario.congestion.scope = Scope::None;
        Self {
            records: Vec::new(),
            scenario,
            rules: BTreeMap::new(),
        }
    }

    /// Takes note of one that may have taken these `paths`; not if it says that it was faster than can be.
    pub(crate) fn push(
        &mut self,
        net: &Network,
        baseline: &Baseline,
        paths: KnownPaths,
        request: &WorkRequest,
    ) -> bool {
        let ideal = self.ideal(paths, request);
        let succeeded = request.outcome == Outcome::Completed;
        if succeeded && request.ended.saturating_since(request.posted) < ideal {
            return false;
        }
        let (flow, [source, destination]) = (net.flow(request.flow), request.ends);
        let size = request.size.max(Bytes::new(1));
        let pair = baseline.pair(
            net.graph(),
            net.ports_of(request.flow),
            (source, destination),
        );
        let arrived = if succeeded { request.size } else { Bytes::ZERO };
        let record = MessageRecord {
            id: MessageId::new(0),
            workload: request.workload,
            source,
            destination,
            source_port: flow.tuple.source_port,
            destination_port: flow.tuple.destination_port,
            class: request.class,
            verb: request.verb,
            size: request.size,
            acknowledged: arrived,
            placed: arrived,
            posted: true,
            start: request.posted,
            finish: succeeded.then_some(request.ended),
            ideal,
            standalone: baseline::standalone(pair, size, request.mtu.into()),
            retransmitted: request.retransmitted,
            outcome: request.outcome,
            tenant: request.tenant,
        };
        self.records.push(record);
        true
    }

    /// What no work request can beat: the fastest of the paths that its packets may take, or the hosts' links alone where links fail, so
    /// that it may have taken any. For a datagram, whose end says nothing, the least time that there is.
    fn ideal(&mut self, known: KnownPaths, request: &WorkRequest) -> Duration {
        const LEAST: Duration = Duration::from_ps(1);
        if !request.is_reliable {
            return LEAST;
        }
        let mut paths: Paths = known.known;
        let pairs = paths.iter_mut().zip(known.any);
        pairs.for_each(|(all, any)| all.extend(any));
        if !self.scenario.faults.link.is_empty() {
            paths = paths.map(|paths| paths.iter().map(|path| ends(path)).collect());
        }
        let scenario = &mut self.scenario;
        let rules = self.rules.entry(request.mtu).or_insert_with(|| {
            scenario.packet.mtu = Bytes::new(request.mtu.into());
            let mut rules = Rules::new(scenario);
            rules.lossy = true;
            rules
        });
        let work = Work {
            piece: request.part,
            counted: false,
            ..Work::message(request.verb, request.size)
        };
        bound(&paths, &work, rules).unwrap_or(LEAST)
    }

    /// Adds their records to those of messages, whose order is that of their ends.
    pub(crate) fn join(self, messages: &mut Vec<MessageRecord>) {
        if self.records.is_empty() {
            return;
        }
        let first = messages.iter().map(|record| record.id.get() + 1).max();
        let numbers = first.unwrap_or(0)..;
        let records = self.records.into_iter().zip(numbers);
        messages.extend(records.map(|(record, number)| MessageRecord {
            id: MessageId::new(number),
            ..record
        }));
        messages.sort_by_key(|record| (record.finish.is_none(), record.finish));
    }
}
