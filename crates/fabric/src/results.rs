//! What a run leaves behind.

mod collective;

use std::collections::BTreeMap;

use fairlane_network::capture::CaptureRecord;
use fairlane_network::five_tuple::FiveTuple;
use fairlane_network::path::Path;
use fairlane_network::records::{ContendedPort, Flux, PauseRecord, PortInfo, TraceRecord};
use fairlane_scenario::Verb;
use fairlane_units::{Bytes, Duration, MessageId, NodeId, PathId, PortId, Rate, TenantId, Time};
use serde::Serialize;

pub use collective::CollectiveRecord;

/// Everything measured in one run.
#[derive(Clone, Debug)]
pub struct Results {
    /// Messages: completed ones in order of completion, then unfinished ones in order of start.
    pub messages: Vec<MessageRecord>,
    /// The ports of the fabric, by [`PortId`].
    pub ports: Vec<PortInfo>,
    /// Time series of the ports.
    pub series: PortSeries,
    /// Time series of chosen ports, if `output.ports` names any.
    pub chosen: Option<ChosenPorts>,
    /// What the network said.
    pub signals: Signals,
    /// How the run ended and what it cost in simulated terms.
    pub totals: Totals,
    /// Packets at traced nodes.
    pub trace: Vec<TraceRecord>,
    /// Pause frames in order of arrival.
    pub pauses: Vec<PauseRecord>,
    /// Links that went down or came back, in order of time.
    pub link_changes: Vec<LinkChange>,
    /// Rates of messages as they changed, in order of time and message, if `output.rate_interval` asks for them.
    pub rates: Vec<RateRecord>,
    /// Packets that passed captured ports, in order of time.
    pub capture: Vec<CaptureRecord>,
    /// By captured packet, its bytes from the IP header on in hexadecimal digits, if it has bytes; empty if none has.
    pub contents: Vec<Option<Box<str>>>,
    /// If packets were captured, the five-tuples of their flows from the requester to the responder, by flow.
    pub tuples: Vec<FiveTuple>,
    /// Applications of `key-value` workloads, by workload, host and number.
    pub applications: Vec<ApplicationRecord>,
    /// NICs of hosts, if there is a `key-value` workload.
    pub nics: Vec<NicRecord>,
    /// Collectives of programs, in their order, and steps of training.
    pub collectives: Vec<CollectiveRecord>,
    /// Tenants by number.
    pub tenants: Vec<TenantRecord>,
    /// Ports that were contended, if there are several tenants.
    pub contended: Vec<ContendedPort>,
    /// Connections with several paths, if there are any.
    pub multipath: Option<MultipathRecord>,
    /// How a run in real time kept up with it.
    pub real_time: Option<RealTime>,
}

/// How a run in real time kept up with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RealTime {
    /// How much slower than the real one its clock went.
    pub scale: f64,
    /// How late half of the events were at most, in nanoseconds of the fabric.
    pub late_p50_ns: f64,
    /// How late 99 of 100 events were at most.
    pub late_p99_ns: f64,
    /// How late the latest event was.
    pub late_max_ns: f64,
    /// The scale that would do, if one of 100 events was later than it may be.
    pub enough: Option<f64>,
}

/// Connections with several paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipathRecord {
    /// How many were opened.
    pub connections: u64,
    /// Messages that were posted.
    pub messages: u64,
    /// Work requests that were posted for them, those that were posted again included.
    pub chunks: u64,
    /// Work requests for data that was posted before.
    pub again: u64,
    /// Work requests that threads at destinations took note of, for messages that somebody waits for there.
    pub placed: u64,
    /// Such messages that were complete there.
    pub arrived: u64,
    /// Processor time of all threads for posting work requests.
    pub post: Duration,
    /// For polling completions.
    pub poll: Duration,
    /// For cutting chunks off.
    pub split: Duration,
    /// For putting messages together at destinations.
    pub reassemble: Duration,
    /// Whether the queue pairs of a connection were coupled.
    pub coupled: bool,
    /// By source, destination and number of the path.
    pub paths: Vec<PathRecord>,
}

/// A path between two hosts, over all connections between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// The host that posts.
    pub source: NodeId,
    /// The other host.
    pub destination: NodeId,
    /// Number of the path in its connection.
    pub path: PathId,
    /// UDP source port in the first connection.
    pub source_port: u16,
    /// Connections that had it.
    pub connections: u64,
    /// Payload of work requests that were acknowledged.
    pub bytes: Bytes,
    /// Work requests for messages that were acknowledged.
    pub chunks: u64,
    /// Work requests whose queue pair gave up.
    pub failures: u64,
    /// How often the path was given up for a while.
    pub quarantines: u64,
    /// Connections in which another path was used in its place at the end, as both take the same way.
    pub twins: u64,
    /// The path that was used in its place, in the last connection.
    pub twin_of: Option<PathId>,
    /// Mean of what connections knew of its round trip at the end.
    pub round_trip: Option<Duration>,
    /// Mean of what they knew of its capacity.
    pub capacity: Option<Rate>,
    /// Mean of the largest chunks that their limiters allowed at the end.
    pub chunk_limit: Option<Bytes>,
    /// The largest share of work requests that failed or needed retransmissions, in percent, smoothed.
    pub loss: u8,
    /// How it was at the end of the last connection.
    pub health: &'static str,
    /// The path of data of the first connection at the end of the run; `None` if switches choose packet by
    /// packet.
    pub way: Option<Path>,
}

/// An application of a `key-value` workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationRecord {
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The host that it runs on.
    pub host: NodeId,
    /// Number among those of its workload and host.
    pub number: u32,
    /// Operations completed.
    pub operations: u64,
    /// Their payload.
    pub bytes: Bytes,
    /// The longest time from the posting of an operation until the NIC began it.
    pub longest_wait: Duration,
    /// Under policy `drum`: the most epochs that the first of its waiting work requests has waited.
    pub longest_wait_epochs: Option<u64>,
    /// What that may be at most: an epoch more than its connection is off in a frame.
    pub wait_bound_epochs: Option<u64>,
}

/// The NIC of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicRecord {
    /// The host.
    pub host: NodeId,
    /// Doorbells rung.
    pub doorbells: u64,
    /// Work requests that they announced.
    pub work_requests: u64,
    /// How often the state of a connection was needed.
    pub lookups: u64,
    /// How often it had to be fetched.
    pub misses: u64,
    /// How often a thread of the host waited for the lock of a queue pair.
    pub lock_waits: u64,
    /// For how long in all.
    pub lock_waited: Duration,
    /// Under policy `drum`: the most queue pairs active at any time.
    pub most_active: Option<u32>,
}

/// One message, posted on a queue pair of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Number of the message, in order of start; operations of applications come behind messages.
    pub id: MessageId,
    /// Index of its workload in the scenario.
    pub workload: u32,
    /// The host that posted it: the sender, or of a READ the receiver.
    pub source: NodeId,
    /// The other host.
    pub destination: NodeId,
    /// UDP source port: the entropy that ECMP hashes.
    pub source_port: u16,
    /// Destination port: a label.
    pub destination_port: u16,
    /// Traffic class.
    pub class: u8,
    /// What it is.
    pub verb: Verb,
    /// Payload.
    pub size: Bytes,
    /// How much of it its source knows to have arrived.
    pub acknowledged: Bytes,
    /// How much of it has been placed at its receiver. Of a message that shares its queue pair with others, or has
    /// several paths, and isn't complete: what is acknowledged.
    pub placed: Bytes,
    /// Whether it was posted before the run ended.
    pub posted: bool,
    /// When it was posted; if it wasn't, the earliest time at which it could have been.
    pub start: Time,
    /// When the source had the last acknowledgement, or all of the response.
    pub finish: Option<Time>,
    /// Completion time alone on the fabric: store-and-forward on its path, headers and the last
    /// acknowledgement included. No message finishes faster.
    pub ideal: Duration,
    /// The standalone time of HPCC's text format, which isn't a strict lower bound.
    pub standalone: Duration,
    /// Packets sent more than once.
    pub retransmitted: u32,
    /// Why it failed, if it did.
    pub outcome: Outcome,
    /// Number of the tenant that it belongs to.
    pub tenant: TenantId,
}

impl MessageRecord {
    /// Completion time over ideal time, at least 1 for a completed message.
    pub fn slowdown(&self) -> Option<f64> {
        let span = self.finish? - self.start;
        Some(span.as_secs_f64() / self.ideal.as_secs_f64())
    }
}

/// How a message ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Acknowledged to the last byte.
    Completed,
    /// Not complete when the run ended.
    Unfinished,
    /// The retry limit was reached.
    RetryExceeded,
    /// Its connection had failed with a message before it.
    Flushed,
    /// A work request of a program was refused, at its own end or the other one.
    Refused,
}

impl Outcome {
    /// Whether its connection gave up, with it or with a message before it.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::RetryExceeded | Self::Flushed | Self::Refused)
    }
}

/// Samples of every port at regular intervals: row `i * ports + p` is port `p` in interval `i`.
#[derive(Clone, Debug, Default)]
pub struct PortSeries {
    /// Number of ports.
    pub ports: usize,
    /// Start of the first interval.
    pub start: Time,
    /// Length of an interval.
    pub interval: Duration,
    /// Bytes sent in the interval, without gaps.
    pub sent: Vec<u64>,
    /// Bytes waiting at the end of the interval.
    pub queue: Vec<u64>,
    /// Most bytes waiting at any time in the interval.
    pub queue_max: Vec<u64>,
    /// Packets marked in the interval.
    pub marked: Vec<u64>,
    /// Nanoseconds in which any class of the port was paused, in the interval.
    pub paused_ns: Vec<u64>,
}

/// Samples of chosen ports, at an interval of their own.
#[derive(Clone, Debug, Default)]
pub struct ChosenPorts {
    /// The ports, ascending.
    pub ports: Vec<PortId>,
    /// Their samples, in this order.
    pub series: PortSeries,
}

/// What the network said, and where it was silent, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Signals {
    /// Packets marked by switches.
    pub ecn_marks: Signal,
    /// Packets that ports which face hosts would have marked, if these don't mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered_marks: Option<Signal>,
    /// Congestion notifications that receivers sent: CNPs, or acknowledgements that echo a mark.
    pub cnps_sent: Signal,
    /// Congestion notifications that reached senders.
    pub cnps: Signal,
    /// Pause frames received.
    pub pauses: Signal,
    /// Total time that ports spent paused, in nanoseconds, summed over ports.
    pub paused_ns: Signal,
    /// How often the watchdog of a port began to ignore pauses, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdogs: Option<Signal>,
    /// Packets lost, by reason: `buffer-full`, `link-error`, `link-down`, `no-route`.
    pub drops: BTreeMap<&'static str, Signal>,
    /// Packets sent more than once.
    pub retransmissions: Signal,
    /// Negative acknowledgements that reached senders.
    pub naks: Signal,
    /// Acknowledgement timeouts.
    pub timeouts: Signal,
    /// Fetches of a connection's state by a NIC, if there is a `key-value` workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_misses: Option<Signal>,
    /// Waits of threads for the lock of a queue pair, if there is a `key-value` workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_waits: Option<Signal>,
    /// Plans of agents that gave every application the same because the solver refused their demands, under policy `drum`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_plans: Option<Signal>,
    /// Flows that switches moved in order, under forwarding `iofd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deflection: Option<Deflections>,
    /// By name of the tenant, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenants: Option<SignalsByTenant>,
}

/// What became of flows that switches moved in order, under forwarding `iofd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deflections {
    /// How often a switch moved a flow to another port.
    pub forks: u64,
    /// Moves to a way down and up again.
    pub detours: u64,
    /// Packets whose flow a switch had no room for in its table when it would have considered a move.
    pub refused: u64,
    /// Tails that switches sent.
    pub tails: u64,
    /// Tails that had been sent before, and weren't answered in time.
    pub tails_again: u64,
    /// Answers to tails that the last switches sent.
    pub clears: u64,
    /// Packets that the last switches held until those before them had passed.
    pub held_packets: u64,
    /// Most bytes that one switch ever held.
    pub held_bytes_max: u64,
    /// Packets that reached a NIC after one that was sent later; those sent again don't count.
    pub reordered: u64,
}

/// A count, and if it is zero the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Signal {
    /// How often.
    pub count: u64,
    /// Why never, if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_zero: Option<String>,
}

/// How the run ended and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Whether the run reached its natural end.
    pub ending: Ending,
    /// Simulated time at the end.
    pub end: Time,
    /// Simulated time of the first message.
    pub first_start: Time,
    /// Packets put on links: data, acknowledgements, CNPs and pause frames, once per hop.
    pub transmissions: u64,
    /// Packets put on links that were no pause frames, once per hop.
    pub message_transmissions: u64,
    /// Events handled.
    pub events: u64,
    /// Data packets that left their sender, retransmissions included.
    pub data_packets: u64,
    /// Packets that entered the fabric at a host.
    pub injected: Flux,
    /// Packets that left the fabric at a host.
    pub delivered: Flux,
    /// Packets lost.
    pub dropped: Flux,
    /// Packets still on links and in queues at the end.
    pub in_flight: Flux,
    /// Deepest queue seen at any switch port.
    pub queue_max: Bytes,
    /// Round-trip time without queues, the largest of all host pairs.
    pub base_rtt: Duration,
    /// Bandwidth-delay product, the largest of all host pairs.
    pub bdp: Bytes,
}

/// Why the run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Every message completed.
    Complete,
    /// The scenario's `stop` came first.
    Stopped,
    /// Whoever watched the run ended it.
    Interrupted,
    /// Nothing can happen any more although messages are unfinished, or nothing has progressed for
    /// a long time.
    Stalled(Stall),
    /// Some queue pairs gave up.
    Failed,
}

/// A run that can't end.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall {
    /// When it was noticed.
    pub at: Time,
    /// Ports that wait for each other in a circle of pauses, or of pauses and packets that are held; empty if there is none.
    pub pause_cycle: Vec<PortId>,
    /// Messages that are unfinished.
    pub unfinished: u32,
    /// What happened, in words.
    pub reason: String,
}

/// A link that went down or came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// When.
    pub time: Time,
    /// The port at one of its ends.
    pub port: PortId,
    /// Whether it came back.
    pub up: bool,
}

/// The rate that a message may be sent at, from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateRecord {
    /// When it was seen.
    pub time: Time,
    /// The message.
    pub message: MessageId,
    /// The rate of its queue pair.
    pub rate: Rate,
}

/// A tenant and what reached its receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct TenantRecord {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// Payload placed at receivers of its messages.
    pub placed: Bytes,
    /// Payload placed, in bytes, in each interval of [`PortSeries`](crate::PortSeries).
    pub placed_series: Vec<u64>,
}

/// What the network said to one tenant, and where it was silent, why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TenantSignals {
    /// Its packets marked by switches.
    pub ecn_marks: Signal,
    /// Congestion notifications that reached its senders.
    pub cnps: Signal,
    /// Its packets sent more than once.
    pub retransmissions: Signal,
    /// Its packets lost, for whatever reason.
    pub drops: Signal,
}

/// The signals of tenants by name.
pub type SignalsByTenant = BTreeMap<String, TenantSignals>;
