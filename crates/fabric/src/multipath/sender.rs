//! The sending end of a connection: messages become work requests, and their ends become that of the message.

use std::collections::VecDeque;

use fairlane_middleware::{self as middleware, Endpoint, Event};
use fairlane_multipath::{
    Atomic, Completion, Connection, Grant, Health, Opening, Operation, Outcome, Refusal, Remote,
    Request, Segment, Tag, Work,
};
use fairlane_network::Network;
use fairlane_scenario::{Twins, Verb};
use fairlane_transport::Status;
use fairlane_units::{Bytes, Duration, FlowId, MessageId, PathId, Time};

use super::report::PathTally;
use super::request::{describe, outcome};
use super::subflow::{Posted, Subflow};
use super::{Multipath, MultipathConnection, Output, Task};
use crate::MessageSpec;

/// A receive as large as any message; no memory is simulated.
const ROOM: u64 = u64::MAX >> 1;

/// How a work request ended, and what its queue pair had heard by then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) tag: u64,
    pub(crate) status: Status,
    /// Packets that the queue pair has sent again.
    pub(crate) retransmitted: u64,
    /// Marks that it has been told of.
    pub(crate) marks: u32,
    /// The queue pair has been replaced since.
    generation: u32,
}

/// A message that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageEnd {
    pub(crate) message: MessageId,
    pub(crate) succeeded: bool,
    pub(crate) acknowledged: Bytes,
    pub(crate) retransmitted: u64,
}

/// A message that has been posted and hasn't ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub(super) message: MessageId,
    pub(super) verb: Verb,
    pub(super) size: u64,
    /// Its number among WRITEs that are heard of at the other end, if it is.
    pub(super) write: Option<u64>,
    /// The end of what was given to paths.
    pub(super) given: u64,
    /// Bytes that are acknowledged.
    pub(super) delivered: u64,
}

/// A message that there was no room for.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    message: MessageId,
    verb: Verb,
    size: Bytes,
    /// Whether the other end waits for its data.
    awaited: bool,
}

/// The sending end of one connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) endpoint: Endpoint,
    /// Counts connections that have failed.
    epoch: u32,
    pub(super) subflows: Vec<Subflow>,
    /// Messages of the connection, oldest first, and the number of the first.
    under_way: VecDeque<UnderWay>,
    first: u64,
    /// Messages that there was no room for.
    backlog: VecDeque<Waiting>,
    /// Where the next WRITE goes: no two touch the same bytes.
    address: u64,
    writes: u64,
    /// Packets sent again that no message has been charged with.
    retransmitted: u64,
    deadline: Time,
}

impl Sender {
    /// Whether a deadline will have it go on.
    pub(super) fn will_act(&self) -> bool {
        self.endpoint.connection().outstanding() > 0 && self.endpoint.deadline().is_some()
    }

    pub(super) fn goes_on(&self, message: MessageId, until: Time) -> bool {
        let mine = |it: &&UnderWay| it.message == message;
        let later = || self.endpoint.deadline().is_none_or(|at| at > until);
        let unposted = |it: &UnderWay| it.given < it.size;
        self.under_way.iter().find(mine).is_some_and(unposted) && later()
    }

    pub(super) fn open_flows(
        &self,
        connection: &MultipathConnection,
    ) -> impl Iterator<Item = FlowId> + '_ {
        let numbered = connection.flows().zip((0..).map(PathId::new));
        numbered.filter_map(|(flow, path)| self.endpoint.is_in_use(path).then_some(flow))
    }

    fn message(&mut self, number: u64) -> Option<&mut UnderWay> {
        let at = number.checked_sub(self.first)?;
        self.under_way.get_mut(at as usize)
    }
}

impl Multipath {
    /// Posts a message; `awaited` says that the other end waits for its data.
    pub(crate) fn post(
        &mut self,
        net: &Network,
        message: MessageId,
        spec: &MessageSpec,
        awaited: bool,
    ) {
        let Some(connection) = self.connection_of_message(message) else {
            return;
        };
        let awaited = awaited || !self.costs.reassemble.is_zero();
        let failed = |it: &Sender| it.has_failed() && it.under_way.is_empty();
        match self.senders.get(&connection).map(|it| failed(it)) {
            None => {
                let opening = self.open(connection);
                let endpoint = Endpoint::new(self.settings.clone(), &opening);
                let mut sender = Sender::new(endpoint.expect("the scenario was checked"));
                self.prepare(net, connection, sender.endpoint.connection_mut());
                self.senders.insert(connection, Box::new(sender));
            }
            Some(true) => {
                let opening = self.open(connection);
                if let Some(mut sender) = self.senders.remove(&connection) {
                    sender.restart(&opening);
                    self.prepare(net, connection, sender.endpoint.connection_mut());
                    self.senders.insert(connection, sender);
                }
            }
            Some(false) => {}
        }
        self.tallies.messages += 1;
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        sender.backlog.push_back(Waiting {
            message,
            verb: spec.verb,
            size: spec.size,
            awaited,
        });
        self.pump(net.now(), connection);
    }

    /// What a connection begins with.
    fn open(&mut self, connection: u32) -> Opening {
        self.tallies.connections += 1;
        Opening {
            paths: self.connection(connection).paths as usize,
            seed: self.seed ^ u64::from(connection),
            group: connection,
            probe_region: (self.twins == Twins::Probe).then_some(Remote::default()),
        }
    }

    /// Tells a connection, before its first message, what is known of its paths and the other end.
    fn prepare(&self, net: &Network, connection: u32, sending: &mut Connection) {
        let one = *self.connection(connection);
        if self.twins == Twins::Route && net.plan().foreseen && !net.plan().forks {
            let back = one.verb.awaits_response();
            for (path, flow) in (0..).map(PathId::new).zip(one.flows()) {
                if let Some(route) = net.flow(flow).route(net.graph(), back) {
                    sending.on_route(path, route);
                }
            }
        }
        let receives = match one.stays_open {
            false => 1,
            true => u64::from(self.settings.messages),
        };
        for id in 0..receives {
            sending.on_grant(&grant(id));
        }
        if self.twins == Twins::Probe {
            let probed = sending.probe();
            debug_assert!(probed.is_ok(), "{probed:?}");
        }
    }

    /// Hears of one more receive at the other end.
    pub(crate) fn on_grant(&mut self, now: Time, connection: u32, id: u64) {
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.endpoint.connection_mut().on_grant(&grant(id));
            self.pump(now, connection);
        }
    }

    pub(super) fn on_deadline(&mut self, now: Time, connection: u32) {
        if let Some(sender) = self.senders.get_mut(&connection) {
            sender.deadline = Time::MAX;
            sender.endpoint.on_deadline(now);
            self.pump(now, connection);
        }
    }

    /// A work request has ended: the thread of the host can see it from `visible` on.
    pub(crate) fn on_completed(
        &mut self,
        now: Time,
        (flow, visible): (FlowId, Time),
        mut heard: Heard,
    ) {
        let (connection, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let subflow = &mut sender.subflows[path.index()];
        heard.generation = sender.endpoint.generation(path);
        let reads = subflow.posted.iter().find(|it| it.tag == heard.tag);
        let reads = reads.is_some_and(|it| it.reads);
        if heard.status != Status::Success {
            // It takes no more, whatever its path is worth.
            sender.endpoint.on_error(path);
            self.replace(connection);
        }
        let placed = match reads {
            true => self.costs.reassemble,
            false => Duration::ZERO,
        };
        self.tallies.cpu.poll += self.costs.poll;
        self.tallies.cpu.reassemble += placed;
        let host = self.connection(connection).hosts[0];
        let work = self.costs.poll + placed;
        let task = Task::Completed { flow, heard };
        if visible > now {
            self.threads[host.index()].await_completion(visible, work, task);
        } else {
            self.schedule(now, (host, work), task);
        }
    }

    /// The thread of the host has seen that a work request has ended.
    pub(super) fn on_polled(&mut self, now: Time, flow: FlowId, heard: &Heard) {
        let (connection, path) = self.place(flow);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        if sender.endpoint.generation(path) != heard.generation {
            return;
        }
        let subflow = &mut sender.subflows[path.index()];
        let again = heard.retransmitted.saturating_sub(subflow.retransmitted);
        let marked = heard.marks != subflow.marks;
        (subflow.retransmitted, subflow.marks) = (heard.retransmitted, heard.marks);
        sender.retransmitted += again;
        let outcome = outcome(heard.status);
        let at = subflow.posted.iter().position(|it| it.tag == heard.tag);
        let posted = at.and_then(|at| subflow.posted.remove(at));
        let tally = &mut subflow.tally;
        tally.failures += u64::from(outcome == Outcome::RetryExceeded);
        if let Some(posted) = posted.filter(|_| outcome == Outcome::Delivered) {
            tally.chunks += u64::from(posted.message.is_some());
            tally.bytes += posted.length;
            let message = posted.message.and_then(|number| sender.message(number));
            if let Some(message) = message.filter(|_| posted.counts) {
                message.delivered += posted.length;
            }
        }
        let completion = Completion {
            outcome,
            marked,
            retransmitted: again > 0,
            round_trip: None,
        };
        let tag = Tag::from_number(heard.tag);
        sender.endpoint.on_completion(now, tag, &completion);
        self.pump(now, connection);
    }

    /// Has a connection do all that it can now.
    fn pump(&mut self, now: Time, connection: u32) {
        loop {
            self.report(now, connection);
            let Some(sender) = self.senders.get_mut(&connection) else {
                return;
            };
            if sender.has_failed() && sender.under_way.is_empty() {
                break;
            }
            sender.admit(now);
            match sender.endpoint.poll_posting(now) {
                Some(posting) => self.give(now, connection, posting),
                None if self.report(now, connection) => {}
                None => break,
            }
        }
        let host = self.connection(connection).hosts[0];
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let sending = sender.endpoint.connection();
        let idle = sending.outstanding() == 0 && !sending.is_probing();
        let at = sending.deadline().filter(|_| !idle);
        let before = std::mem::replace(&mut sender.deadline, at.unwrap_or(Time::MAX));
        if before != sender.deadline {
            let thread = &mut self.threads[host.index()];
            thread.set_deadline(connection, before, sender.deadline);
        }
        if idle && !self.connection(connection).stays_open {
            self.close(connection);
        }
    }

    /// Hears what has happened to messages and paths; whether anything has.
    fn report(&mut self, _now: Time, connection: u32) -> bool {
        let one = *self.connection(connection);
        let mut any = false;
        while let Some(sender) = self.senders.get_mut(&connection) {
            let Some(event) = sender.endpoint.poll_event() else {
                break;
            };
            any = true;
            match event {
                Event::Completed { .. } => self.end(connection, true),
                Event::Failed { .. } => {
                    self.end(connection, false);
                    let sender = self.senders.get(&connection);
                    if sender.is_some_and(|it| it.endpoint.connection().outstanding() == 0) {
                        // The next message takes a new connection.
                        self.break_up(connection);
                    }
                }
                Event::Path { path, health } => {
                    if health == Health::Quarantined {
                        self.on_given_up(one.flow(path));
                    }
                }
                // The other end tells of what has arrived there.
                Event::Received { .. } => {}
            }
        }
        any
    }

    /// The oldest message of a connection has ended.
    fn end(&mut self, connection: u32, succeeded: bool) {
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let Some(it) = sender.under_way.pop_front() else {
            return;
        };
        sender.first += 1;
        let retransmitted = std::mem::take(&mut sender.retransmitted);
        self.outputs.push(Output::Ended(MessageEnd {
            message: it.message,
            succeeded,
            acknowledged: Bytes::new(it.delivered.min(it.size)),
            retransmitted,
        }));
    }

    /// The thread writes a chunk's work request.
    fn give(&mut self, now: Time, connection: u32, posting: middleware::Posting) {
        let (one, chunk) = (*self.connection(connection), &posting.chunk);
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        let (path, epoch) = (chunk.path, sender.epoch);
        let message = chunk.message.and_then(|number| sender.message(number));
        let (offset, length) = (chunk.offset.get(), chunk.length.get());
        let (mut frame, mut counts) = (None, false);
        if let Some(message) = message {
            frame = describe((message, epoch), chunk);
            // The SEND that follows WRITEs has no data of its own, and ends where they end.
            counts = length > 0 || message.size == 0;
            self.tallies.again += u64::from(offset < message.given && length > 0);
            message.given = message.given.max(offset + length);
        }
        self.tallies.chunks += u64::from(chunk.message.is_some());
        let subflow = &mut sender.subflows[path.index()];
        subflow.posted.push_back(Posted {
            tag: chunk.tag.get(),
            message: chunk.message,
            length,
            counts,
            reads: matches!(chunk.work, Work::Read(_)),
            frame,
        });
        let split = match chunk.message {
            Some(_) => self.costs.split,
            None => Duration::ZERO,
        };
        self.tallies.cpu.post += self.costs.post;
        self.tallies.cpu.split += split;
        let work = self.costs.post + split;
        let flow = one.flow(chunk.path);
        self.schedule(now, (one.hosts[0], work), Task::Post(flow, posting));
    }

    /// A connection has failed, and all its messages have ended: those that come get another one, over new queue
    /// pairs.
    fn break_up(&mut self, connection: u32) {
        let flows = self.connection(connection).flows();
        let Some(sender) = self.senders.get_mut(&connection) else {
            return;
        };
        // What waits behind would have been flushed.
        for waiting in std::mem::take(&mut sender.backlog) {
            self.outputs.push(Output::Ended(MessageEnd {
                message: waiting.message,
                succeeded: false,
                acknowledged: Bytes::ZERO,
                retransmitted: 0,
            }));
        }
        match self.connection(connection).stays_open {
            false => self.close(connection),
            true => flows.for_each(|flow| self.give_up(flow)),
        }
    }

    /// A connection is over.
    fn close(&mut self, connection: u32) {
        let Some(sender) = self.senders.remove(&connection) else {
            return;
        };
        let one = *self.connection(connection);
        let thread = &mut self.threads[one.hosts[0].index()];
        thread.set_deadline(connection, sender.deadline, Time::MAX);
        for ((flow, subflow), path) in one.flows().zip(&sender.subflows).zip(0..) {
            if sender.endpoint.is_in_use(PathId::new(path)) {
                let settled = subflow.posted.is_empty();
                self.outputs.push(Output::Close(flow, settled));
            }
        }
        self.tallies.on_over(&one, &sender.tallies());
    }
}

impl Sender {
    fn new(endpoint: Endpoint) -> Self {
        let paths = endpoint.connection().paths().count();
        Self {
            endpoint,
            epoch: 0,
            subflows: vec![Subflow::default(); paths],
            under_way: VecDeque::new(),
            first: 0,
            backlog: VecDeque::new(),
            address: 0,
            writes: 0,
            retransmitted: 0,
            deadline: Time::MAX,
        }
    }

    fn has_failed(&self) -> bool {
        self.endpoint.connection().failure().is_some()
    }

    /// Goes on with another connection over the same queue pairs, which are being replaced.
    fn restart(&mut self, opening: &Opening) {
        let begun = self.endpoint.restart(opening);
        debug_assert!(begun.is_ok(), "{begun:?}");
        self.epoch += 1;
        (self.first, self.writes, self.retransmitted) = (0, 0, 0);
    }

    /// Takes messages as far as there is room.
    fn admit(&mut self, now: Time) {
        while let Some(&waiting) = self.backlog.front() {
            let size = waiting.size.get();
            let remote = Remote {
                address: self.address,
                key: 0,
            };
            let operation = match waiting.verb {
                Verb::Write => Operation::Write(remote),
                Verb::Read => Operation::Read(remote),
                Verb::Send => Operation::Send,
                Verb::FetchAdd => Operation::Atomic(remote, Atomic::FetchAdd(1)),
                Verb::CompareSwap => Operation::Atomic(remote, Atomic::CompareSwap(0, 1)),
            };
            let memory = [Segment {
                address: self.address,
                length: size,
                key: 0,
            }];
            let posted = self.endpoint.post(now, &Request::new(operation, &memory));
            if let Err(refusal) = posted {
                debug_assert!(!matches!(refusal, Refusal::Mistake(_)), "{refusal}");
                return;
            }
            self.backlog.pop_front();
            self.address += size;
            let heard_of = waiting.awaited && waiting.verb == Verb::Write;
            self.under_way.push_back(UnderWay {
                message: waiting.message,
                verb: waiting.verb,
                size,
                write: heard_of.then_some(self.writes),
                given: 0,
                delivered: 0,
            });
            self.writes += u64::from(heard_of);
        }
    }

    /// What its paths have carried, and what is known of them.
    pub(super) fn tallies(&self) -> Vec<PathTally> {
        let paths = self.endpoint.connection().paths();
        let numbered = self.subflows.iter().enumerate();
        numbered
            .map(|(path, subflow)| subflow.tally.with(paths, path))
            .collect()
    }

    /// How much of a message is known to have arrived.
    pub(super) fn acknowledged(&self, message: MessageId) -> Option<Bytes> {
        let found = self.under_way.iter().find(|it| it.message == message)?;
        Some(Bytes::new(found.delivered.min(found.size)))
    }
}

impl Heard {
    /// The end of the work request with this number.
    pub(crate) const fn new(tag: u64, status: Status, (retransmitted, marks): (u64, u32)) -> Self {
        Self {
            tag,
            status,
            retransmitted,
            marks,
            generation: 0,
        }
    }
}

/// The receive with this number.
const fn grant(id: u64) -> Grant {
    Grant {
        id,
        length: ROOM,
        remote: Remote { address: 0, key: 0 },
    }
}
