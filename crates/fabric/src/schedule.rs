//! When messages are posted and local steps begin, and what their end sets off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairlane_engine::Stream;
use fairlane_network::five_tuple::FiveTuple;
use fairlane_network::flow::Flow;
use fairlane_network::routing::{Graph, PortPair, Seeds};
use fairlane_scenario::{Connections, Scenario, Verb, Workload};
use fairlane_transport::{Operation, Remote, WorkRequest};
use fairlane_units::{Bytes, FlowId, MessageId, NodeId, Time};

use crate::MessageSpec;
use crate::precedence::Precedence;
use crate::rules::Rules;
use crate::spec::ConnectionSpec;
use crate::steps::Local;
use crate::traffic::Traffic;
use fairlane_scenario::traffic::Steps;

/// Messages still to be posted, and local steps. Both are nodes: the steps are numbered behind the messages.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Nodes without predecessor, in order of start.
    pub(crate) due: Vec<u32>,
    pub(crate) next: usize,
    /// The end of those being posted now.
    pub(crate) posting: usize,
    pub(crate) precedence: Precedence,
    /// Messages that wait for nobody but for their time, and steps that take their time.
    pub(crate) delayed: BTreeSet<(Time, u32)>,
    pub(crate) local: Local,
    messages: u32,
}

/// What happens in a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A message is posted.
    Message(MessageId),
    /// A local step, by index.
    Step(u32),
}

impl Schedule {
    /// The schedule of the messages `specs` and the local steps.
    pub(crate) fn new(specs: &[MessageSpec], mut steps: Steps) -> Self {
        let precedence = Precedence::new(specs, &steps);
        // It has them in a form of its own.
        steps.edges = Vec::new();
        let mut schedule = Self {
            due: Vec::new(),
            next: 0,
            posting: 0,
            precedence,
            delayed: BTreeSet::new(),
            local: Local::new(Arc::new(steps)),
            messages: specs.len() as u32,
        };
        let nodes = 0..schedule.messages + schedule.local.left as u32;
        let free = nodes.filter(|&node| !schedule.precedence.waits(node));
        let mut due: Vec<u32> = free.collect();
        due.sort_by_key(|&node| schedule.start_of(specs, node));
        schedule.due = due;
        schedule
    }

    /// What a node is.
    pub(crate) const fn node(&self, node: u32) -> Node {
        match node.checked_sub(self.messages) {
            Some(step) => Node::Step(step),
            None => Node::Message(MessageId::new(node)),
        }
    }

    /// The node that a step is.
    pub(crate) const fn node_of(&self, step: u32) -> u32 {
        self.messages + step
    }

    /// The earliest time of a node.
    pub(crate) fn start_of(&self, specs: &[MessageSpec], node: u32) -> Time {
        match self.node(node) {
            Node::Step(step) => self.local.step(step).start,
            Node::Message(message) => specs[message.index()].start,
        }
    }

    /// The host that posts a message, or has a step.
    pub(crate) fn host_of(&self, specs: &[MessageSpec], node: u32) -> NodeId {
        match self.node(node) {
            Node::Step(step) => self.local.step(step).host,
            Node::Message(message) => specs[message.index()].source,
        }
    }

    /// Leaves only what happens `here`; returns how many steps that are.
    pub(crate) fn keep(&mut self, specs: &[MessageSpec], here: impl Fn(NodeId) -> bool) -> usize {
        let mut due = std::mem::take(&mut self.due);
        due.retain(|&node| here(self.host_of(specs, node)));
        self.due = due;
        self.local.keep(here)
    }

    /// When the next node without predecessor is due.
    pub(crate) fn next_start(&self, specs: &[MessageSpec]) -> Option<Time> {
        let next = self.due.get(self.next);
        next.map(|&node| self.start_of(specs, node))
    }

    /// The nodes that wait for one.
    pub(crate) fn waiting_for(&self, specs: &[MessageSpec], node: u32) -> Vec<u32> {
        self.precedence.successors(specs, node).collect()
    }

    /// Whether a message will be posted later, or a step end, whatever else happens.
    pub(crate) fn is_pending(&self) -> bool {
        self.next < self.due.len() || !self.delayed.is_empty()
    }

    /// Whether something is still to come that can't have ended `until` then: a message that hasn't been posted, or a step that takes longer.
    pub(crate) fn outlasts(&self, until: Time) -> bool {
        let due = self.due[self.next..].iter();
        let mut delayed = self.delayed.iter();
        let is_message = |node: u32| matches!(self.node(node), Node::Message(_));
        // What is due later comes last.
        due.rev().take(SOON).any(|&node| match self.node(node) {
            Node::Step(step) => {
                let step = self.local.step(step);
                step.start.saturating_add(step.time) > until
            }
            Node::Message(_) => true,
        }) || delayed.next_back().is_some_and(|&(due, _)| due > until)
            || delayed.any(|&(_, node)| is_message(node))
    }
}

/// How many of the nodes that are due are looked at, from the last, for one that takes long.
const SOON: usize = 64;

/// The flows of a run, by number, with the labels of their packets. Source ports are the entropy that ECMP hashes: counted from 10000 for
/// each pair of hosts as in HPCC's simulator, else random among the dynamic ports (RFC 6335) as network
/// NICs draw them.
pub(crate) fn flows(
    traffic: &Traffic,
    workloads: &[Workload],
    rules: &Rules,
    graph: &Graph,
) -> Vec<Flow> {
    let mut chooser = PortChooser::new(graph, rules.net.seeds);
    let mut counts = BTreeMap::new();
    let mut source_port = |flow: FlowId, spec: &ConnectionSpec| {
        if !rules.net.quirks.five_tuples {
            let stream = SOURCE_PORTS | u64::from(flow.get());
            let drawn = Stream::new(rules.net.seed, stream).below(1 << 14);
            return 0xc000 | drawn as u16;
        }
        let pair = (spec.source, spec.destination);
        let count: &mut u16 = counts.entry(pair).or_insert(10_000);
        std::mem::replace(count, count.wrapping_add(1))
    };
    let label = |flow: FlowId| {
        let spec = traffic.connection(flow);
        let tuple = FiveTuple {
            source: spec.source,
            destination: spec.destination,
            source_port: source_port(flow, &spec),
            destination_port: rules.destination_port(spec.destination_port),
        };
        let stated = spec.stated_plane(workloads, graph.planes);
        let ports = chooser.ports(&tuple, 0, stated);
        Flow::new(tuple, ports, spec.class)
    };
    traffic.flows().map(label).collect()
}

/// Whether a message may share a connection with others of the same number.
pub(crate) fn shares(scenario: &Scenario, spec: &MessageSpec) -> bool {
    let workload = scenario.workload.get(spec.workload as usize);
    workload.is_some_and(|workload| scenario.connections_of(workload) == Connections::Pair)
}

/// Seeds the hash that chooses ports, where switches have their numbers.
const CHOOSER: u32 = u32::MAX;

/// Chooses the ports of flows.
#[derive(Debug)]
pub(crate) struct PortChooser<'a> {
    graph: &'a Graph,
    seed: u32,
    /// By hosts, the pairs of ports that they use.
    known: BTreeMap<[NodeId; 2], Vec<PortPair>>,
}

impl<'a> PortChooser<'a> {
    pub(crate) fn new(graph: &'a Graph, seeds: Seeds) -> Self {
        Self {
            graph,
            seed: seeds.of(CHOOSER),
            known: BTreeMap::new(),
        }
    }

    /// How many planes there are.
    pub(crate) const fn planes(&self) -> u8 {
        self.graph.planes
    }

    /// The ports of requester and responder that packets with a five-tuple take, and the answers to them: those of the
    /// `stated` plane, else the pair that the hash of the tuple hits, or for each `further` path of a message the next one.
    pub(crate) fn ports(
        &mut self,
        tuple: &FiveTuple,
        further: u32,
        stated: Option<u8>,
    ) -> PortPair {
        if self.graph.ports == 1 {
            return [0, 0];
        }
        if let Some(plane) = stated.filter(|_| self.graph.planes > 1) {
            return [plane; 2];
        }
        let ends = [tuple.source, tuple.destination];
        let find = || self.graph.port_pairs(ends);
        let pairs = self.known.entry(ends).or_insert_with(find);
        let first = tuple.hash(self.seed) as usize % pairs.len().max(1);
        let at = behind(pairs, first, further as usize);
        pairs.get(at).copied().unwrap_or_default()
    }
}

/// The index of the pair `further` places behind `first`, of pairs in an order in which ports take turns: before the next
/// round comes the rest of the one in which each port of the host that has more of them occurs once.
fn behind(pairs: &[PortPair], first: usize, further: usize) -> usize {
    let ports = |end: usize| pairs.iter().map(|pair| pair[end]).collect::<BTreeSet<u8>>();
    let round = ports(0).len().max(ports(1).len()).max(1);
    let count = pairs.len().max(1);
    if !count.is_multiple_of(round) {
        return (first + further) % count;
    }
    let place = (first + further) % round;
    (first / round + further / round) * round % count + place
}

/// Keeps the streams of source ports apart from those of ports and workloads.
const SOURCE_PORTS: u64 = 1 << 62;

/// What a message asks of its queue pair.
pub(crate) fn work_request(message: MessageId, spec: &MessageSpec) -> WorkRequest {
    let remote = Remote::default();
    let operation = match spec.verb {
        Verb::Write => Operation::Write(remote),
        Verb::Send => Operation::Send,
        Verb::Read => Operation::Read(remote),
        Verb::FetchAdd => Operation::FetchAdd { remote, add: 1 },
        Verb::CompareSwap => Operation::CompareSwap {
            remote,
            compare: 0,
            swap: 1,
        },
    };
    WorkRequest::new(u64::from(message.get()), operation, spec.size)
}

/// Whether a message arrives at the host that posted it.
pub(crate) const fn arrives_at_source(verb: Verb) -> bool {
    verb.awaits_response()
}

/// Payload of all messages.
pub(crate) fn total_bytes(specs: &[MessageSpec]) -> Bytes {
    specs.iter().map(|spec| spec.size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_use_all_ports_wherever_they_begin() {
        let pairs = [[0, 0], [1, 1], [0, 1], [1, 0]];
        for first in 0..4 {
            let taken: Vec<PortPair> = (0..4)
                .map(|path| pairs[behind(&pairs, first, path)])
                .collect();
            for two in taken.chunks(2) {
                assert!(
                    two[0][0] != two[1][0] && two[0][1] != two[1][1],
                    "{taken:?}"
                );
            }
            assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 4, "{taken:?}");
        }
        let planes: Vec<PortPair> = (0..8).map(|plane| [plane; 2]).collect();
        let taken: Vec<usize> = (0..10).map(|path| behind(&planes, 6, path)).collect();
        assert_eq!(taken, [6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    }

    /// There may be hundreds of millions of them.
    #[test]
    fn edges_are_not_kept_twice() {
        let steps = Steps {
            edges: Vec::with_capacity(1000),
            ..Steps::default()
        };
        let schedule = Schedule::new(&[], steps);
        assert_eq!(schedule.local.plan.edges.capacity(), 0);
    }
}
