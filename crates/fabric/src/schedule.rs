//! When messages are posted, and what their end sets off.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_engine::Stream;
use fairlane_host::PairId;
use fairlane_scenario::Verb;
use fairlane_transport::{Operation, Remote, WorkRequest};
use fairlane_units::{Bytes, Time};

use crate::baseline;
use crate::connections::{Posted, Side};
use crate::flow::{FiveTuple, Flow};
use crate::precedence::Precedence;
use crate::rules::Rules;
use crate::world::{World, control};
use crate::{MessageRecord, MessageSpec, Outcome};

/// Messages still to be posted.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Messages without predecessor, in order of start.
    due: Vec<u32>,
    next: usize,
    /// The end of those being posted now.
    posting: usize,
    precedence: Precedence,
    /// Messages that wait for nobody but for their time.
    delayed: BTreeSet<(Time, u32)>,
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

    /// Whether a message will be posted later whatever else happens.
    pub(crate) fn is_pending(&self) -> bool {
        self.next < self.due.len() || !self.delayed.is_empty()
    }
}

/// What the headers of messages say. Source ports are the entropy that ECMP hashes: counted from 10000 for
/// each pair of hosts as in HPCC's simulator, else random among the dynamic ports (RFC 6335) as network
/// cards draw them.
pub(crate) fn flows(specs: &[MessageSpec], rules: &Rules) -> Vec<Flow> {
    let mut counts = BTreeMap::new();
    let mut source_port = |message: u64, spec: &MessageSpec| {
        if !rules.hpcc_ns3 {
            let drawn = Stream::new(rules.seed, SOURCE_PORTS | message).below(1 << 14);
            return 0xc000 | drawn as u16;
        }
        let pair = (spec.source, spec.destination);
        let count: &mut u16 = counts.entry(pair).or_insert(10_000);
        std::mem::replace(count, count.wrapping_add(1))
    };
    let tuple = |(message, spec): (u64, &MessageSpec)| FiveTuple {
        source: spec.source,
        destination: spec.destination,
        source_port: source_port(message, spec),
        destination_port: rules.destination_port(spec.destination_port),
    };
    let tuples = (0..).zip(specs).map(tuple);
    tuples.map(Flow::new).collect()
}

/// Keeps the streams of source ports apart from those of ports and workloads.
const SOURCE_PORTS: u64 = 1 << 62;

impl World {
    /// Schedules the first messages.
    pub(crate) fn start_schedule(&mut self) {
        if let Some(at) = self.schedule.next_start(&self.specs) {
            self.schedule_control(at, control::DUE);
        }
    }

    /// Messages are due now; they are posted after everything else that happens at this instant.
    pub(crate) fn on_due(&mut self) {
        let now = self.now();
        let first = self.schedule.next;
        let due = &self.schedule.due[first..];
        let count = due
            .iter()
            .take_while(|&&m| self.specs[m as usize].start == now)
            .count();
        self.schedule.next = first + count;
        self.schedule.posting = first;
        self.schedule_control(now, control::POST);
        self.start_schedule();
    }

    pub(crate) fn on_post(&mut self) {
        for at in self.schedule.posting..self.schedule.next {
            self.post(self.schedule.due[at]);
        }
    }

    /// The messages that wait for one.
    pub(crate) fn waiting_for(&self, message: u32) -> Vec<u32> {
        let precedence = &self.schedule.precedence;
        precedence.successors(&self.specs, message).collect()
    }

    /// The host of a message has heard of one that it waits for. If it was the last, the message is posted, or
    /// will be in time.
    pub(crate) fn on_predecessor(&mut self, message: u32) {
        if !self.schedule.precedence.arrived(message) {
            return;
        }
        let now = self.now();
        let MessageSpec { start, delay, .. } = self.specs[message as usize];
        let due = start.max(now).saturating_add(delay);
        if due <= now {
            self.post(message);
        } else {
            self.schedule.delayed.insert((due, message));
            self.schedule_control(due, control::DELAYED);
        }
    }

    pub(crate) fn on_delayed(&mut self) {
        while let Some(&(due, message)) = self.schedule.delayed.first() {
            if due > self.now() {
                break;
            }
            self.schedule.delayed.pop_first();
            self.post(message);
        }
    }

    /// Posts a message on a connection of its own.
    fn post(&mut self, message: u32) {
        let spec = self.specs[message as usize];
        let (now, source) = (self.now(), self.host(spec.source));
        let pair = self.connect(message);
        let posted = Posted {
            start: now,
            ideal: None,
        };
        self.connections.posted.insert(message, posted);
        self.note_ideal(message, Default::default());
        let request = work_request(message, &spec);
        self.nics[source as usize].host.post(now, pair, request);
        self.send_from_host(source);
    }

    /// Records the end of a message.
    pub(crate) fn finish(&mut self, message: u32, pair: PairId, succeeded: bool) {
        let outcome = match succeeded {
            true => Outcome::Completed,
            false => Outcome::RetryExceeded,
        };
        self.counters.failed += u32::from(!succeeded);
        let finish = succeeded.then_some(self.now());
        let record = self.record((message, pair), finish, outcome);
        self.records.push(self.engine.current(), record);
        self.connections.posted.remove(&message);
    }

    /// What is known of a message under way.
    fn record(
        &self,
        (message, pair): (u32, PairId),
        finish: Option<Time>,
        outcome: Outcome,
    ) -> MessageRecord {
        let spec = &self.specs[message as usize];
        let host = &self.nics[self.host(spec.source) as usize].host;
        let requester = host.requester(pair);
        let acknowledged = requester.next_position() - requester.bytes_in_flight();
        let posted = self.connections.posted.get(&message);
        let never = self.never_posted(message, spec);
        MessageRecord {
            acknowledged: match finish {
                Some(_) => spec.size,
                None => acknowledged.min(spec.size),
            },
            posted: true,
            start: posted.map_or(spec.start, |posted| posted.start),
            finish,
            // A message that never had a path has no ideal time of its own.
            ideal: posted
                .and_then(|posted| posted.ideal)
                .unwrap_or(never.standalone),
            retransmitted: u32::try_from(requester.retransmitted()).unwrap_or(u32::MAX),
            outcome,
            ..never
        }
    }

    /// Records of messages that have not ended, in order of start.
    pub(crate) fn unfinished(&self) -> Vec<MessageRecord> {
        let posted = self.connections.posted.keys().filter_map(|&message| {
            let pair = self.connections.pair(message, Side::Requester)?;
            let record = self.record((message, pair), None, Outcome::Unfinished);
            Some((message, record))
        });
        let mut open: BTreeMap<u32, MessageRecord> = posted.collect();
        let ended: BTreeSet<u32> = self
            .records
            .entries
            .iter()
            .map(|record| record.id)
            .collect();
        for (id, spec) in (0u32..).zip(&self.specs[..self.messages]) {
            if !ended.contains(&id) && !open.contains_key(&id) {
                open.insert(id, self.never_posted(id, spec));
            }
        }
        open.into_values().collect()
    }

    fn never_posted(&self, id: u32, spec: &MessageSpec) -> MessageRecord {
        let pair = self
            .baseline
            .pair(&self.graph, spec.source, spec.destination);
        let standalone = baseline::standalone(pair, spec.size, self.rules.mtu);
        MessageRecord {
            id,
            workload: spec.workload,
            source: spec.source,
            destination: spec.destination,
            source_port: self.flows[id as usize].tuple.source_port,
            destination_port: spec.destination_port,
            class: spec.class,
            size: spec.size,
            acknowledged: Bytes::ZERO,
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

/// What a message asks of its queue pair.
fn work_request(message: u32, spec: &MessageSpec) -> WorkRequest {
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

/// Payload of all messages.
pub(crate) fn total_bytes(specs: &[MessageSpec]) -> Bytes {
    specs.iter().map(|spec| spec.size).sum()
}
