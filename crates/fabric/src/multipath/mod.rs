//! Messages over several paths: what stands between an application's messages and the queue pairs of their paths.
//!
//! A [`MultipathConnection`] is the queue pairs of one connection, which have flow numbers of their own behind messages and
//! key-value queue pairs. Its sending end ([`sender`]) drives an endpoint of `fairlane-middleware`, its receiving end
//! ([`receiver`]) reassemblers of `fairlane-multipath`; each lives at its host and knows nothing of the other but what
//! packets and notices bring. The [`thread`] of a host drives all of them. They call
//! nobody: what others are to do comes out as [`Output`]s.

mod build;
mod receiver;
mod report;
mod request;
mod sender;
mod subflow;
mod thread;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairlane_engine::{Engine, Event};
use fairlane_middleware as middleware;
use fairlane_multipath::{BalancerKind, LimiterKind, Settings, Unit};
use fairlane_network::packet::NONE;
use fairlane_scenario::{Twins, Verb};
use fairlane_transport::WorkRequest;
use fairlane_units::{Bytes, Duration, FlowId, HostId, MessageId, NodeId, PathId, Time};

use crate::notice::Frame;

use build::Ports;
pub(crate) use build::build;
use receiver::Receiver;
pub(crate) use report::Tallies;
use sender::Sender;
pub(crate) use sender::{Heard, MessageEnd};
use thread::DriverThread;
pub(crate) use thread::Task;

/// Everything behind queue pairs of messages with several paths.
#[derive(Clone, Debug)]
pub(crate) struct Multipath {
    settings: Arc<Settings>,
    twins: Twins,
    costs: Costs,
    /// Whether the queue pairs of a connection share a budget.
    coupled: bool,
    seed: u64,
    /// The flow of the first queue pair.
    first: FlowId,
    connections: Vec<MultipathConnection>,
    plan: Ports,
    /// By message, its connection or [`NONE`].
    of_message: Arc<[u32]>,
    /// By queue pair, its connection.
    of_subflow: Arc<[u32]>,
    /// The sending ends that are in use, by connection.
    senders: BTreeMap<u32, Box<Sender>>,
    /// The receiving ends that somebody has use for.
    receivers: BTreeMap<u32, Box<Receiver>>,
    /// By host.
    threads: Vec<DriverThread>,
    /// What is to be done by others, in order.
    pub(crate) outputs: Vec<Output>,
    pub(crate) tallies: Tallies,
}

/// Processor time of steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Costs {
    post: Duration,
    poll: Duration,
    split: Duration,
    reassemble: Duration,
}

/// The queue pairs of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MultipathConnection {
    /// The flow of the first path; the others follow.
    pub(crate) first: FlowId,
    pub(crate) paths: u32,
    pub(crate) source: NodeId,
    pub(crate) destination: NodeId,
    pub(crate) verb: Verb,
    /// The numbers of both as hosts.
    pub(crate) hosts: [HostId; 2],
    /// Whether it is for several messages.
    pub(crate) stays_open: bool,
}

impl MultipathConnection {
    /// The flows of its paths.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        let first = self.first.get();
        (first..first + self.paths).map(FlowId::new)
    }

    /// The flow of a path.
    fn flow(&self, path: PathId) -> FlowId {
        FlowId::new(self.first.get() + path.get())
    }
}

/// A work request on its way to a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PostedWork {
    pub(crate) flow: FlowId,
    /// What the other end learns of it, if it is to.
    pub(crate) frame: Option<Frame>,
    /// As the sending end has it.
    written: middleware::Posting,
}

impl PostedWork {
    /// What the queue pair is given.
    pub(crate) fn request(&self) -> WorkRequest {
        request::request(&self.written.chunk)
    }
}

/// What others are to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// A work request goes to its queue pair, which is opened if it isn't.
    Post(PostedWork),
    /// A queue pair is closed at both ends; whether all that it sent has arrived.
    Close(FlowId, bool),
    /// A queue pair is closed at both ends, and opened anew.
    Renew(FlowId),
    /// A message has ended at its source.
    Ended(MessageEnd),
    /// A message has arrived at its destination.
    Arrived(MessageId),
    /// The sending end may hear of one more receive.
    Grant { connection: u32, id: u64 },
}

impl Multipath {
    /// The connection of a message, if it has several paths.
    pub(crate) fn connection_of_message(&self, message: MessageId) -> Option<u32> {
        let connection = self.of_message.get(message.index()).copied();
        connection.filter(|&connection| connection != NONE)
    }

    /// Whether a message of this size is cut into packets where a single queue pair would cut it.
    pub(crate) fn keeps_packets(&self, size: Bytes) -> bool {
        let settings = &*self.settings;
        let quota = matches!(
            settings.balancer,
            BalancerKind::StaticEven | BalancerKind::Proportional
        );
        let whole = |size: Bytes| size.get().is_multiple_of(settings.mtu.get());
        let fixed = settings.limiter == LimiterKind::Fixed && whole(settings.chunk);
        let one = size <= settings.chunk.min(settings.chunk_least);
        let aligned = settings.balancer.unit() == Unit::Packet || fixed || one;
        aligned && !quota && whole(settings.message_limit)
    }

    /// Whether the queue pairs of a connection share a budget.
    pub(crate) const fn couples(&self) -> bool {
        self.coupled
    }

    /// The connection of a queue pair.
    pub(crate) fn connection_of_flow(&self, flow: FlowId) -> u32 {
        self.of_subflow[(flow.get() - self.first.get()) as usize]
    }

    pub(crate) fn connection(&self, number: u32) -> &MultipathConnection {
        &self.connections[number as usize]
    }

    /// The connection and the path that a flow is of.
    fn place(&self, flow: FlowId) -> (u32, PathId) {
        let connection = self.connection_of_flow(flow);
        let path = flow.get() - self.connection(connection).first.get();
        (connection, PathId::new(path))
    }

    /// Whether something other than a packet that arrives makes a connection go on.
    pub(crate) fn will_act(&self) -> bool {
        let busy = |thread: &DriverThread| thread.is_busy();
        self.threads.iter().any(busy) || self.senders.values().any(|sender| sender.will_act())
    }

    /// Whether a message has parts that were never posted, and its connection doesn't give up `until` then.
    pub(crate) fn goes_on(&self, message: MessageId, until: Time) -> bool {
        let sender = self
            .connection_of_message(message)
            .and_then(|it| self.senders.get(&it));
        sender.is_some_and(|sender| sender.goes_on(message, until))
    }

    /// The open queue pairs of the sending end that a message has.
    pub(crate) fn open_flows(&self, message: MessageId) -> impl Iterator<Item = FlowId> + '_ {
        let connection = self.connection_of_message(message);
        let sender = connection.and_then(|it| Some((self.connection(it), self.senders.get(&it)?)));
        sender
            .into_iter()
            .flat_map(|(connection, sender)| sender.open_flows(connection))
    }

    /// The driver thread of a host has something to do; every such call comes from an event, and the queue pairs are told
    /// what follows by [`outputs`](Self::outputs).
    pub(crate) fn on_thread(&mut self, engine: &mut Engine, host: HostId, event: Event) {
        let now = engine.now();
        if !self.threads[host.index()].wake.fires(engine, event) {
            return;
        }
        while let Some((cost, task)) = self.threads[host.index()].take_visible(now) {
            self.schedule(now, (host, cost), task);
        }
        while let Some(task) = self.threads[host.index()].take(now) {
            self.perform(now, task);
        }
        while let Some(connection) = self.threads[host.index()].take_deadline(now) {
            self.on_deadline(now, connection);
        }
        self.arm(engine, host);
    }

    /// Sees to it that the driver thread of a host is woken.
    pub(crate) fn arm(&mut self, engine: &mut Engine, host: HostId) {
        self.threads[host.index()].arm(engine, host);
    }

    /// Has the thread of a host do something that takes `cost`, at once if that is nothing and it has nothing to do.
    fn schedule(&mut self, now: Time, (host, cost): (HostId, Duration), task: Task) {
        if let Some(task) = self.threads[host.index()].accept(now, cost, task) {
            self.perform(now, task);
        }
    }

    fn perform(&mut self, now: Time, task: Task) {
        match task {
            Task::Post(flow, posting) => self.on_written(flow, posting),
            Task::Completed { flow, heard } => self.on_polled(now, flow, &heard),
            Task::Arrived(message) => self.outputs.push(Output::Arrived(message)),
        }
    }

    /// Takes in what another part of a fabric has.
    pub(crate) fn absorb(&mut self, other: Self) {
        // A sending end is where its host is, and so is a receiving end.
        self.senders.extend(other.senders);
        self.receivers.extend(other.receivers);
        for (own, theirs) in self.threads.iter_mut().zip(&other.threads) {
            own.absorb(theirs);
        }
        self.tallies.absorb(other.tallies);
    }
}
