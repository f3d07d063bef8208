//! When messages are posted, and what their end sets off.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_congestion::{Controller, Environment, NotificationPoint, Pacer, Window};
use fairlane_engine::Stream;
use fairlane_scenario::Verb;
use fairlane_transport::{Operation, Remote, Requester, Responder, WorkRequest};
use fairlane_units::{Bytes, Psn, Time};

use crate::baseline;
use crate::connection::{Connection, Response};
use crate::nic::Turn;
use crate::packet::NONE;
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

/// Source ports of messages, the entropy that ECMP hashes: counted from 10000 for each pair of hosts
/// as in HPCC's simulator, else random among the dynamic ports (RFC 6335) as network cards draw them.
pub(crate) fn source_ports(specs: &[MessageSpec], rules: &Rules) -> Vec<u16> {
    if !rules.hpcc_ns3 {
        let draw =
            |message: u64| Stream::new(rules.seed, SOURCE_PORTS | message).below(1 << 14) as u16;
        return (0..)
            .zip(specs)
            .map(|(message, _)| 0xc000 | draw(message))
            .collect();
    }
    let mut counts = BTreeMap::new();
    let mut next = |spec: &MessageSpec| {
        let count: &mut u16 = counts
            .entry((spec.source, spec.destination))
            .or_insert(10_000);
        std::mem::replace(count, count.wrapping_add(1))
    };
    specs.iter().map(&mut next).collect()
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

    /// A message has arrived completely: those that waited for nothing else are posted.
    pub(crate) fn on_message_received(&mut self, message: u32) {
        let now = self.now();
        let precedence = &mut self.schedule.precedence;
        for at in precedence
            .arrived(&self.specs, message)
            .into_iter()
            .flatten()
        {
            let next = self.schedule.precedence.successor(at);
            let MessageSpec { start, delay, .. } = self.specs[next as usize];
            let due = start.max(now).saturating_add(delay);
            if due <= now {
                self.post(next);
            } else {
                self.schedule.delayed.insert((due, next));
                self.schedule_control(due, control::DELAYED);
            }
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
        let slot = self.open(message, NONE);
        let config = &self.rules.transport;
        let connection = self.connections.get_mut(slot);
        connection
            .requester
            .post(config, work_request(message, &spec));
        self.refresh(slot);
        let source = self.connections.get(slot).source;
        self.send_from_host(source);
    }

    /// Opens a connection for a message, or for a queue pair that stays open.
    pub(crate) fn open(&mut self, message: u32, pair: u32) -> u32 {
        let spec = self.specs[message as usize];
        let now = self.now();
        let source = self.host(spec.source);
        let ends = (spec.source, spec.destination);
        let trip = self
            .baseline
            .for_controller(&self.graph, self.base_rtt, ends);
        let destination = self.host(spec.destination);
        let sender = if spec.verb == Verb::Read {
            destination
        } else {
            source
        };
        let line_rate = self.ports[self.nics[sender as usize].port as usize].rate;
        let environment = Environment {
            line_rate,
            base_rtt: trip.rtt,
            bdp: trip.bdp,
            mtu: Bytes::new(u64::from(self.rules.mtu)),
        };
        let controller = Controller::new(&self.rules.params, &environment);
        let window = Window::new(self.rules.window, trip.bdp, line_rate);
        let config = &self.rules.transport;
        let requester = Requester::new(config, Psn::new(0));
        let slot = self.connections.insert(Connection {
            requester,
            window_limit: Bytes::ZERO,
            controller,
            notification_point: NotificationPoint::new(),
            pacer: Pacer::new(now),
            window,
            responder: Responder::new(config, Psn::new(0)),
            verb: spec.verb,
            owes_mark: false,
            stays_open: pair != NONE,
            tenant: spec.tenant.get() as u16,
            response: Response::new(destination),
            position: 0,
            whole: spec.part_of.unwrap_or(NONE),
            message,
            packets: 0,
            source,
            class: spec.class,
            live: true,
            timeout_armed: false,
            start: now,
            ideal: None,
            pair,
            sender: NONE,
        });
        self.connections.get_mut(slot).update_window();
        self.enforce(slot, &environment);
        self.find_way(slot);
        let position = self.nics[source as usize].turns.push(Turn::request(slot));
        self.connections.get_mut(slot).position = position;
        slot
    }

    /// Looks up the way of a connection there and back under the present routes.
    ///
    /// Data and acknowledgements may be on old and new ways at once, so the ideal time is the least
    /// over the combinations.
    pub(crate) fn find_way(&mut self, slot: u32) {
        let message = self.connections.get(slot).message;
        let tuple = self.tuple_of_message(message);
        let mut there = self.known_hops(slot, false);
        let mut back = self.known_hops(slot, true);
        for (is_back, tuple) in [(false, tuple), (true, tuple.answering(self.rules.hpcc_ns3))] {
            let way = self.connections.way_mut(slot, is_back);
            way.fill(NONE);
            let found = self
                .routes
                .trace(&self.graph, &tuple, self.rules.seeds, way);
            if found.is_none() {
                // The first switch without a way drops the packet.
                way.fill(NONE);
            }
        }
        there.extend(self.known_hops(slot, false));
        back.extend(self.known_hops(slot, true));
        if self.stays_open(slot) {
            self.note_ways(slot, &there, &back);
            return;
        }
        let MessageSpec { verb, size, .. } = self.specs[message as usize];
        for forward in &there {
            for reverse in &back {
                let ideal = baseline::ideal([forward, reverse], verb, size, &self.rules);
                let least = &mut self.connections.get_mut(slot).ideal;
                *least = Some(least.map_or(ideal, |so_far| so_far.min(ideal)));
            }
        }
    }

    /// The hops of the way that a connection has, if it has one.
    fn known_hops(&mut self, slot: u32, back: bool) -> Vec<Vec<baseline::Link>> {
        let tuple = self.tuple_of_message(self.connections.get(slot).message);
        let tuple = if back {
            tuple.answering(self.rules.hpcc_ns3)
        } else {
            tuple
        };
        let way = self.connections.way_mut(slot, back);
        let length = way.iter().position(|&port| port == NONE);
        let way = &way[..length.unwrap_or(way.len())];
        let end = match way.last() {
            Some(&port) => self.graph.peer(port),
            None => self.graph.host_edge(tuple.source).to,
        };
        let arrives = end == tuple.destination.get();
        arrives
            .then(|| baseline::hops(&self.graph, &tuple, way))
            .into_iter()
            .collect()
    }

    /// What is known of a connection's message.
    pub(crate) fn record(
        &self,
        slot: u32,
        finish: Option<Time>,
        outcome: Outcome,
    ) -> MessageRecord {
        let connection = self.connections.get(slot);
        let spec = &self.specs[connection.message as usize];
        let pair = self
            .baseline
            .pair(&self.graph, spec.source, spec.destination);
        let standalone = baseline::standalone(pair, spec.size, self.rules.mtu);
        let requester = &connection.requester;
        let acknowledged = requester.next_position() - requester.bytes_in_flight();
        MessageRecord {
            id: connection.message,
            workload: spec.workload,
            source: spec.source,
            destination: spec.destination,
            source_port: self.source_ports[connection.message as usize],
            destination_port: spec.destination_port,
            class: spec.class,
            size: spec.size,
            acknowledged: match finish {
                Some(_) => spec.size,
                None => acknowledged.min(spec.size),
            },
            posted: true,
            start: connection.start,
            finish,
            // A message that never had a way has no ideal time of its own.
            ideal: connection.ideal.unwrap_or(standalone),
            standalone,
            retransmitted: u32::try_from(connection.requester.retransmitted())
                .unwrap_or(u32::MAX)
                .saturating_add(connection.response.repeated),
            verb: spec.verb,
            outcome,
            tenant: spec.tenant,
        }
    }

    /// Records of messages that have not ended, in order of start.
    pub(crate) fn unfinished(&self) -> Vec<MessageRecord> {
        let mut open: BTreeMap<u32, MessageRecord> = self
            .connections
            .live()
            .filter(|&slot| !self.stays_open(slot))
            .map(|slot| self.record(slot, None, Outcome::Unfinished))
            .map(|record| (record.id, record))
            .collect();
        let ended: BTreeSet<u32> = self.records.iter().map(|record| record.id).collect();
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
            source_port: self.source_ports[id as usize],
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
