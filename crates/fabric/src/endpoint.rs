//! What stands behind the queue pairs of `key-value` workloads: applications with their threads, queue
//! pairs that stay open, the agent of a host, and NICs with costs.
//!
//! An [`Application`] is one thread with a completion queue. Each of its [`Channel`]s posts a batch of
//! operations and, once it has seen the completion of the last, another one. A channel has a
//! [`OpenPair`] of its own, or shares it with others. Who writes work requests for the NIC, and when, is
//! the policy: the thread itself, behind a lock or not (`client`), an agent (`agent`) or a pacer
//! (`pacer`).

mod agent;
mod build;
mod cache;
mod client;
mod costs;
mod pacer;
mod pair;
mod pipeline;
mod processing;
mod report;
pub(crate) mod subflow;

use std::collections::VecDeque;

use fairlane_engine::{Event, Stream, Wake};
use fairlane_middleware::MemberId;
use fairlane_scenario::{Policy, SizeDistribution, SizeRange, Verb};
use fairlane_transport::WorkRequest;
use fairlane_units::{Bytes, Duration, FlowId, HostId, MessageId, NodeId, QpId, Time};

pub(crate) use agent::Agent;
pub(crate) use build::{add_paths, build};
use costs::Costs;
pub(crate) use pacer::Pacer;
use pipeline::{Lock, Pipeline, Wqe};
pub(crate) use processing::Contexts;

/// Everything behind long-lived queue pairs.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    pub(crate) costs: Costs,
    pub(crate) policy: Policy,
    /// Whether the NIC needs the state of a connection: datagrams have none.
    pub(crate) cached: bool,
    /// Whether completions mean that the other side has everything.
    pub(crate) reliable: bool,
    /// Whether messages are datagrams, which name their destination.
    pub(crate) datagrams: bool,
    /// READs that a queue pair may have under way.
    pub(crate) max_reads: u32,
    /// By host.
    pub(crate) pipelines: Vec<Pipeline>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) pacers: Vec<Pacer>,
    pub(crate) pairs: Vec<OpenPair>,
    pub(crate) applications: Vec<Application>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) free_operations: Vec<u32>,
    /// The number of the next operation in the results.
    pub(crate) next_id: u32,
    /// By operation, the event in which it began.
    pub(crate) births: Vec<Event>,
    /// What is to be done by others, in order.
    pub(crate) outputs: Vec<Output>,
    /// Operations that have begun, and applications that have ended, since somebody looked.
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    /// Applications that end by themselves and haven't.
    pub(crate) ending: usize,
    /// Whether there are such applications in other parts of the fabric.
    pub(crate) others_go_on: bool,
    /// Whether there is none, so that all go on until the run stops.
    pub(crate) endless: bool,
}

/// What endpoints have others do.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// A work request goes to a queue pair.
    Post {
        flow: FlowId,
        host: HostId,
        request: WorkRequest,
    },
    /// The NIC is done with a work request of a message with several paths, which goes to its queue pair.
    Begin(FlowId),
    /// The NIC of a host may do more once that has happened.
    Advance(HostId),
    /// The NIC of a host pauses a class of what its switch sends, or ends that.
    Pause {
        host: HostId,
        class: u8,
        pause: bool,
    },
    /// The application has seen the end of an operation.
    Ended(u32),
}

/// A queue pair that stays open.
#[derive(Clone, Debug)]
pub(crate) struct OpenPair {
    pub(crate) flow: FlowId,
    /// The host of the requester.
    pub(crate) host: HostId,
    pub(crate) verb: Verb,
    /// Work requests that the requester has and that haven't ended.
    pub(crate) posted: VecDeque<Wqe>,
    /// Work requests that wait for a READ to end.
    pub(crate) parked: VecDeque<Wqe>,
    /// Whether one of them is on its way back to the NIC's queue.
    pub(crate) resuming: bool,
    /// Work requests that the NIC has begun and whose packets haven't all been sent.
    pub(crate) unsent: u32,
    /// Channels that have operations under way: threads that look for completions.
    pub(crate) busy: u32,
    pub(crate) shared: bool,
    pub(crate) lock: Lock,
    /// The paths that it had, for ideal times.
    pub(crate) paths: Vec<crate::ideal::KnownPaths>,
    /// The last ideal time.
    pub(crate) ideal: Option<(crate::baseline::Work, Duration)>,
    pub(crate) failed: bool,
}

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The thread writes the work requests of a channel.
    Post(u32),
    /// The thread takes the completion of a channel.
    Reap(u32),
}

/// A thread with a completion queue.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    pub(crate) workload: u32,
    pub(crate) host: HostId,
    pub(crate) node: NodeId,
    /// Number among those of its workload and host.
    pub(crate) number: u32,
    pub(crate) batch: u32,
    pub(crate) poll_interval: Duration,
    pub(crate) start: Time,
    /// No batch begins at or after this.
    pub(crate) end: Time,
    /// Whether it goes on until all others have ended.
    pub(crate) background: bool,
    pub(crate) task: Option<Task>,
    /// Channels that are to post.
    pub(crate) idle: VecDeque<u32>,
    /// Completions: from when they can be seen, and of which channel.
    pub(crate) completions: VecDeque<(Time, u32)>,
    /// The polls up to here are over.
    pub(crate) polled: Time,
    pub(crate) wake: Wake,
    /// Channels that haven't ended.
    pub(crate) open: u32,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
    pub(crate) longest_wait: Duration,
}

/// Where sizes come from.
#[derive(Clone, Debug)]
pub(crate) enum ValueSizes {
    Fixed(Bytes),
    Range(SizeRange),
    Distribution(SizeDistribution),
}

/// One application's use of a queue pair.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) application: u32,
    pub(crate) pair: QpId,
    pub(crate) server: NodeId,
    pub(crate) sizes: ValueSizes,
    pub(crate) stream: Stream,
    /// Operations still to be posted, if they are counted.
    pub(crate) left: Option<u32>,
    /// The operations of the present batch.
    pub(crate) batch: Vec<u32>,
    /// Operations of the batch that haven't ended.
    pub(crate) outstanding: u32,
    /// Mean size, for whoever schedules.
    pub(crate) mean: f64,
    pub(crate) weight: f64,
    /// Work requests that wait for the agent or the pacer.
    pub(crate) pending: VecDeque<Wqe>,
    /// What it is to the agent of its host.
    pub(crate) member: MemberId,
}

/// An operation between posting and the report of its completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) id: MessageId,
    pub(crate) channel: u32,
    pub(crate) size: Bytes,
    pub(crate) start: Time,
    /// Parts that haven't ended.
    pub(crate) parts: u32,
    /// Whether the NIC has begun it.
    pub(crate) begun: bool,
    pub(crate) failed: bool,
}

impl Endpoints {
    /// How many applications the end of the run has to wait for; one that never comes if all go on
    /// until the run stops.
    pub(crate) fn tokens(&self) -> usize {
        self.ending + usize::from(self.endless)
    }

    /// Whether there are applications that go on until all others have ended.
    pub(crate) fn has_background(&self) -> bool {
        self.applications.iter().any(|one| one.background)
    }

    /// When the first application starts.
    pub(crate) fn first_start(&self) -> Option<Time> {
        self.applications.iter().map(|one| one.start).min()
    }

    /// Leaves the ending of applications elsewhere to others.
    pub(crate) fn keep(&mut self, here: impl Fn(NodeId) -> bool) {
        let counted = |one: &&Application| !one.background && here(one.node);
        self.ending = self.applications.iter().filter(counted).count();
    }

    /// Takes in what another part of the fabric has, whose hosts are those on nodes of that part.
    pub(crate) fn absorb(&mut self, mut other: Self, here: impl Fn(HostId) -> bool) {
        let first = self.operations.len() as u32;
        self.operations.append(&mut other.operations);
        for (at, channel) in other.channels.into_iter().enumerate() {
            let application = &other.applications[channel.application as usize];
            if here(application.host) {
                self.channels[at] = channel;
                let batch = self.channels[at].batch.iter_mut();
                batch.for_each(|operation| *operation += first);
            }
        }
        let hosts = (0..self.pipelines.len() as u32).map(HostId::new);
        for host in hosts.filter(|&host| here(host)) {
            let at = host.index();
            std::mem::swap(&mut self.pipelines[at], &mut other.pipelines[at]);
            std::mem::swap(&mut self.agents[at], &mut other.agents[at]);
            std::mem::swap(&mut self.pacers[at], &mut other.pacers[at]);
        }
        for (at, pair) in other.pairs.into_iter().enumerate() {
            if here(pair.host) {
                self.pairs[at] = pair;
            }
        }
        for (at, application) in other.applications.into_iter().enumerate() {
            if here(application.host) {
                self.applications[at] = application;
            }
        }
        self.ending += other.ending;
    }

    /// Takes a place for an operation.
    pub(crate) fn insert(&mut self, operation: Operation) -> u32 {
        if let Some(at) = self.free_operations.pop() {
            self.operations[at as usize] = operation;
            return at;
        }
        self.operations.push(operation);
        (self.operations.len() - 1) as u32
    }

    /// Whether an application begins another batch at `now`.
    pub(crate) fn goes_on(&self, application: u32, now: Time) -> bool {
        let application = &self.applications[application as usize];
        let others = self.ending > 0 || self.endless || self.others_go_on;
        now < application.end && (!application.background || others)
    }
}

impl Channel {
    /// Whether it has posted all that it will ever post, and seen the end of it.
    pub(crate) fn has_ended(&self) -> bool {
        self.left == Some(0) && self.outstanding == 0 && self.pending.is_empty()
    }

    /// The size of the next value.
    pub(crate) fn draw(&mut self) -> Bytes {
        match &self.sizes {
            ValueSizes::Fixed(size) => *size,
            ValueSizes::Range(range) => in_range(range, &mut self.stream),
            ValueSizes::Distribution(sizes) => sizes.sample(self.stream.next_f64()),
        }
    }
}

/// A size from a range, both ends included.
fn in_range(range: &SizeRange, stream: &mut Stream) -> Bytes {
    let (low, high) = (range.low.get(), range.high.get());
    match range.spread {
        fairlane_scenario::Spread::Uniform => {
            Bytes::new(low + stream.below((high - low).saturating_add(1)))
        }
        fairlane_scenario::Spread::LogUniform => {
            let (from, to) = (libm::log(low as f64), libm::log(high as f64));
            let size = libm::exp(from + (to - from) * stream.next_f64()) as u64;
            Bytes::new(size.clamp(low, high))
        }
    }
}
