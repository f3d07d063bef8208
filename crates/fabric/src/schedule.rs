//! When messages are posted, and what their end sets off.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_engine::Stream;
use fairlane_scenario::{Verb, Workload};
use fairlane_transport::{Operation, Remote, WorkRequest};
use fairlane_units::{Bytes, Time};

use crate::MessageSpec;
use crate::five_tuple::FiveTuple;
use crate::flow::Flow;
use crate::precedence::Precedence;
use crate::routing::Seeds;
use crate::rules::Rules;

/// Messages still to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Messages without predecessor, in order of start.
    pub(crate) due: Vec<u32>,
    pub(crate) next: usize,
    /// The end of those being posted now.
    pub(crate) posting: usize,
    pub(crate) precedence: Precedence,
    /// Messages that wait for nobody but for their time.
    pub(crate) delayed: BTreeSet<(Time, u32)>,
}

impl Schedule {
    pub(crate) fn new(specs: &[MessageSpec]) -> Self {
        let numbered = || (0u32..).zip(specs);
        let due = numbered()
            .filter(|(_, spec)| spec.after.is_none())
            .map(|(n, _)| n)
            .collect();
        Self {
            due,
            next: 0,
            posting: 0,
            precedence: Precedence::new(specs),
            delayed: BTreeSet::new(),
        }
    }

    /// Leaves only messages that are posted `here`.
    pub(crate) fn keep(&mut self, here: impl Fn(u32) -> bool) {
        self.due.retain(|&message| here(message));
    }

    /// When the next message without predecessor is due.
    pub(crate) fn next_start(&self, specs: &[MessageSpec]) -> Option<Time> {
        self.due
            .get(self.next)
            .map(|&number| specs[number as usize].start)
    }

    /// The messages that wait for one.
    pub(crate) fn waiting_for(&self, specs: &[MessageSpec], message: u32) -> Vec<u32> {
        self.precedence.successors(specs, message).collect()
    }

    /// Whether a message will be posted later whatever else happens.
    pub(crate) fn is_pending(&self) -> bool {
        self.next < self.due.len() || !self.delayed.is_empty()
    }
}

/// What the headers of messages say. Source ports are the entropy that ECMP hashes: counted from 10000 for
/// each pair of hosts as in HPCC's simulator, else random among the dynamic ports (RFC 6335) as network
/// NICs draw them.
pub(crate) fn flows(
    specs: &[MessageSpec],
    workloads: &[Workload],
    rules: &Rules,
    planes: u8,
) -> Vec<Flow> {
    let mut counts = BTreeMap::new();
    let mut source_port = |message: u64, spec: &MessageSpec| {
        if !rules.quirks.five_tuples {
            let drawn = Stream::new(rules.seed, SOURCE_PORTS | message).below(1 << 14);
            return 0xc000 | drawn as u16;
        }
        let pair = (spec.source, spec.destination);
        let count: &mut u16 = counts.entry(pair).or_insert(10_000);
        std::mem::replace(count, count.wrapping_add(1))
    };
    let mut tuple = |(message, spec): (u64, &MessageSpec)| FiveTuple {
        source: spec.source,
        destination: spec.destination,
        source_port: source_port(message, spec),
        destination_port: rules.destination_port(spec.destination_port),
    };
    let flow = |(number, spec): (u64, &MessageSpec)| {
        let tuple = tuple((number, spec));
        let stated = workloads
            .get(spec.workload as usize)
            .and_then(Workload::plane)
            .filter(|plane| *plane < planes);
        Flow::new(
            tuple,
            stated.unwrap_or_else(|| plane(&tuple, planes, rules.seeds)),
        )
    };
    (0..).zip(specs).map(flow).collect()
}

/// Seeds the hash that chooses planes, where switches have their numbers.
const CHOOSER: u32 = u32::MAX;

/// The plane that packets with a five-tuple take, and the answers to them.
pub(crate) fn plane(tuple: &FiveTuple, planes: u8, seeds: Seeds) -> u8 {
    match planes {
        1 => 0,
        _ => (tuple.hash(seeds.of(CHOOSER)) % u32::from(planes)) as u8,
    }
}

/// Keeps the streams of source ports apart from those of ports and workloads.
const SOURCE_PORTS: u64 = 1 << 62;

/// What a message asks of its queue pair.
pub(crate) fn work_request(message: u32, spec: &MessageSpec) -> WorkRequest {
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
    WorkRequest::new(u64::from(message), operation, spec.size)
}

/// Whether a message arrives at the host that posted it.
pub(crate) const fn arrives_at_source(verb: Verb) -> bool {
    verb.awaits_response()
}

/// Payload of all messages.
pub(crate) fn total_bytes(specs: &[MessageSpec]) -> Bytes {
    specs.iter().map(|spec| spec.size).sum()
}
