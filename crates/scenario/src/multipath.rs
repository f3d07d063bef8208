//! How messages are divided among paths.

use std::path::PathBuf;

use fairlane_multipath::{BalancerKind, LimiterKind, Settings, TwoSided};
use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::types::Workload;

/// Several queue pairs for each connection, and who gets what. docs/multipath.md says what each parameter does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Multipath {
    /// Queue pairs of each connection; 1 for ordinary messages.
    pub paths: u32,
    /// Which messages share a connection.
    pub connections: Connections,
    /// Who decides which path a chunk takes.
    pub balancer: BalancerKind,
    /// Who decides how large a chunk may be.
    pub limiter: LimiterKind,
    /// The size of chunks under limiter `fixed`, and the first one under the others.
    pub chunk: Bytes,
    /// The smallest chunk of limiters that change it.
    pub chunk_least: Bytes,
    /// The largest chunk of limiters that change it.
    pub chunk_most: Bytes,
    /// How long limiter `adaptive` wants a chunk to occupy its path.
    pub chunk_time: Duration,
    /// The largest message that a queue pair takes.
    pub message_limit: Bytes,
    /// Chunks in flight on each path.
    pub depth: u32,
    /// Messages of a connection that are posted and not complete.
    pub messages: u32,
    /// Two-sided messages up to this size are one SEND.
    pub single_send: Bytes,
    /// How larger ones cross.
    pub two_sided: TwoSided,
    /// How often a chunk is tried again, and a path probed that has failed, before a message fails.
    pub retries: u8,
    /// The silence after which a path is suspected while nothing is known of it.
    pub first_timeout: Duration,
    /// Its lower bound later; two of the largest base round trips are a lower bound in any case.
    pub timeout_least: Duration,
    /// Its upper bound, and that of the pause before a path is probed again.
    pub timeout_most: Duration,
    /// Chunks that a path must deliver, one at a time, before it is good again.
    pub probation: u8,
    /// The bytes of a sample of capacity, and of a probe.
    pub probe: Bytes,
    /// The percentage of chunks lost above which a path is suspected.
    pub suspect_loss: u8,
    /// Paths that balancer `reps` keeps.
    pub reps_cache: u32,
    /// Packets that balancer `reps` sends at random before it recycles.
    pub reps_explore: u32,
    /// How long balancer `reps` doesn't explore after a failure.
    pub reps_freeze: Duration,
    /// What tells paths apart.
    pub plan: Plan,
    /// How paths that take the same way are found.
    pub twins: Twins,
    /// Whether the queue pairs of a connection take one share together under scope `qp`; without, each takes one.
    pub coupled: bool,
    /// What the software of hosts costs; left out, nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<PathCosts>,
}

/// Which messages share a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Connections {
    /// Each has its own.
    #[default]
    Message,
    /// Those of one source, destination, class and tenant; it stays open.
    Pair,
}

/// How paths that take the same way are found, of which one is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Twins {
    /// The simulator knows.
    #[default]
    Route,
    /// Flows on two paths at a time are measured before the first message.
    Probe,
    /// They aren't: all are used.
    Keep,
}

/// What tells the paths of a connection apart: their UDP source ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "\"ports\", a list of ports, or a file such as { file = \"ports.cfg\" }"
)]
pub enum Plan {
    /// Those that follow the one of the message.
    Next(NextPorts),
    /// These, for every connection.
    List(Vec<u16>),
    /// Those that a file has for the two hosts.
    File {
        /// The file, relative to the scenario: lines `srcIP,dstIP=port,port,...`.
        file: PathBuf,
    },
}

/// The word for consecutive ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextPorts {
    /// The next ports.
    #[default]
    Ports,
}

/// Processor time of the one thread that drives all connections of a host, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PathCosts {
    /// To post a work request.
    pub post: Duration,
    /// To poll a completion.
    pub poll: Duration,
    /// To cut a chunk off its message, and choose its path.
    pub split: Duration,
    /// To place a chunk at the receiver.
    pub reassemble: Duration,
}

impl Default for PathCosts {
    fn default() -> Self {
        Self {
            // Kalia et al., Design guidelines (ATC 2016), section 3: tens of nanoseconds each.
            post: Duration::from_ns(50),
            poll: Duration::from_ns(50),
            // benches/src/multipath.rs: a chunk posted and completed, and one at the receiving end.
            split: Duration::from_ns(43),
            reassemble: Duration::from_ns(16),
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::Next(NextPorts::Ports)
    }
}

impl Default for Multipath {
    fn default() -> Self {
        let settings = Settings::default();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            paths: 8,
            connections: Connections::Message,
            balancer: settings.balancer,
            limiter: settings.limiter,
            chunk: settings.chunk,
            chunk_least: settings.chunk_least,
            chunk_most: settings.chunk_most,
            chunk_time: settings.chunk_time,
            message_limit: settings.message_limit,
            depth: settings.depth,
            messages: count(settings.messages),
            single_send: settings.single_send,
            two_sided: settings.two_sided,
            retries: settings.retries,
            first_timeout: settings.first_timeout,
            timeout_least: settings.timeout_least,
            timeout_most: settings.timeout_most,
            probation: settings.probation,
            probe: settings.probe,
            suspect_loss: settings.suspect_loss,
            reps_cache: count(settings.reps_cache),
            reps_explore: settings.reps_explore,
            reps_freeze: settings.reps_freeze,
            plan: Plan::default(),
            twins: Twins::Route,
            coupled: true,
            costs: None,
        }
    }
}

impl Multipath {
    /// The parameters of connections whose packets have payload of `mtu` and whose hosts have ports of `line_rate`.
    pub fn settings(&self, mtu: Bytes, line_rate: Rate) -> Settings {
        Settings {
            balancer: self.balancer,
            limiter: self.limiter,
            chunk: self.chunk,
            chunk_least: self.chunk_least,
            chunk_most: self.chunk_most,
            chunk_time: self.chunk_time,
            message_limit: self.message_limit,
            mtu,
            depth: self.depth,
            messages: self.messages as usize,
            // No sender makes more holes than it has work requests in flight.
            holes: 1 << 20,
            single_send: self.single_send,
            two_sided: self.two_sided,
            retries: self.retries,
            first_timeout: self.first_timeout,
            timeout_least: self.timeout_least,
            timeout_most: self.timeout_most,
            probation: self.probation,
            probe: self.probe,
            suspect_loss: self.suspect_loss,
            line_rate,
            reps_cache: self.reps_cache as usize,
            reps_explore: self.reps_explore,
            reps_freeze: self.reps_freeze,
            ..Settings::default()
        }
    }
}

impl Workload {
    /// How many paths each message has, if it is stated.
    pub const fn paths(&self) -> Option<u32> {
        match self {
            Self::Poisson(it) => it.paths,
            Self::Incast(it) => it.paths,
            Self::Permutation(it) => it.paths,
            Self::AllToAll(it) => it.paths,
            Self::RingAllReduce(it) => it.paths,
            Self::Collective(it) => it.paths,
            Self::Training(it) => it.paths,
            Self::Program(it) => it.paths,
            Self::Flows(it) => it.paths,
            Self::KeyValue(_) => None,
        }
    }
}
