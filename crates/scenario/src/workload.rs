//! What hosts send.

use std::path::PathBuf;

use fairlane_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collective::{CollectiveAlgorithm, CollectiveKind, Layer, TraceFormat, TracePath};
use crate::types::{SizeRange, is_one, one};

/// The kinds of workloads: the fields of each, and behind `+` groups of fields that several have.
macro_rules! workloads {
    (@ $(#[$doc:meta])* $kind:ident $fields:tt) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $kind $fields
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + class $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// Traffic class, 1 to 7.
            #[serde(default = "default_class")]
            pub class: u8,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + message $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each message is.
            #[serde(default)]
            pub verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + rank $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each message is: `write` or `send`.
            #[serde(default)]
            pub verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + operation $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each operation is.
            #[serde(default = "read")]
            pub verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + owner $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// The tenant that it belongs to; left out, the first.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub tenant: Option<String>,
            /// The plane that its messages take; left out, each takes one by a hash of its five-tuple.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub plane: Option<u8>,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + paths $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// Queue pairs of each message, 1 for an ordinary one; left out, `multipath.paths`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub paths: Option<u32>,
        } $($rest)*);
    };
    ($($(#[$doc:meta])* $kind:ident $own:tt $(+ $group:ident)*,)*) => {
        /// What hosts send. Hosts are named by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Workload {
            $($(#[$doc])* $kind($kind),)*
        }

        $(workloads!(@ $(#[$doc])* $kind $own $(+ $group)*);)*

        impl Workload {
            /// What each message is.
            pub const fn verb(&self) -> Verb {
                match self {
                    $(Self::$kind(it) => it.verb,)*
                }
            }

            /// The name of the tenant that it belongs to, if it states one.
            pub fn tenant(&self) -> Option<&str> {
                match self {
                    $(Self::$kind(it) => it.tenant.as_deref(),)*
                }
            }

            pub(crate) const fn tenant_mut(&mut self) -> &mut Option<String> {
                match self {
                    $(Self::$kind(it) => &mut it.tenant,)*
                }
            }

            /// The plane that its messages take, if it states one.
            pub const fn plane(&self) -> Option<u8> {
                match self {
                    $(Self::$kind(it) => it.plane,)*
                }
            }
        }
    };
}

workloads! {
    /// Messages arrive at every source as a Poisson process and go to a uniformly random other host.
    Poisson {
        /// Sizes: a built-in distribution (`websearch`, `hadoop`, `storage`, `rpc`) or a file.
        pub sizes: Sizes,
        /// Mean use of a source's link by payload, above 0 and at most 1.
        pub load: f64,
        /// First possible arrival.
        #[serde(default)]
        pub start: Duration,
        /// Arrivals happen in `start .. start + duration`.
        pub duration: Duration,
        /// The hosts that send.
        #[serde(default)]
        pub sources: HostSet,
        /// The hosts that receive.
        #[serde(default)]
        pub destinations: HostSet,
    } + class + message + owner + paths,
    /// Several hosts send to one at the same time, again and again.
    Incast {
        /// Senders in each round, chosen at random.
        pub degree: u32,
        /// Size of each message.
        pub size: Bytes,
        /// The receiver; left out, another random host each round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub receiver: Option<u32>,
        /// First round.
        #[serde(default)]
        pub start: Duration,
        /// Time between rounds.
        #[serde(default = "default_period")]
        pub period: Duration,
        /// Rounds.
        #[serde(default = "one")]
        pub rounds: u32,
        /// Each sender starts up to this much later, uniformly.
        #[serde(default)]
        pub jitter: Duration,
        /// The hosts that may take part.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + message + owner + paths,
    /// Every host sends one message to another, and receives one.
    Permutation {
        /// Size of each message.
        pub size: Bytes,
        /// When all start.
        #[serde(default)]
        pub start: Duration,
        /// The hosts that take part.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + message + owner + paths,
    /// Every host sends one message to every other.
    AllToAll {
        /// Size of each message.
        pub size: Bytes,
        /// When all start.
        #[serde(default)]
        pub start: Duration,
        /// The hosts that take part.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + message + owner + paths,
    /// Ring all-reduce: n hosts, 2(n-1) steps, each host sends size/n to its successor in each step
    /// once it has received the previous step from its predecessor. Results don't tell collectives apart: see `collective`.
    RingAllReduce {
        /// Size of the vector that is reduced.
        pub size: Bytes,
        /// When the first collective starts.
        #[serde(default)]
        pub start: Duration,
        /// Collectives, one after the other.
        #[serde(default = "one")]
        pub rounds: u32,
        /// The hosts of the ring, in ascending order.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + message + owner + paths,
    /// A collective operation, once or several times; every host is a rank.
    Collective {
        /// Which one.
        pub operation: CollectiveKind,
        /// In which steps.
        #[serde(default)]
        pub algorithm: CollectiveAlgorithm,
        /// Hosts of an inner group of algorithm `hierarchical`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub inner: Option<u32>,
        /// Of a broadcast or reduce, the rank within each group that has the vector, or gets the sum.
        #[serde(default)]
        pub root: u32,
        /// Size of the whole vector; of an all-to-all what each rank sends to all, of a barrier nothing.
        #[serde(default)]
        pub size: Bytes,
        /// When the ranks begin.
        #[serde(default)]
        pub start: Duration,
        /// Collectives, one after the other: a rank begins the next one when it has done its part of one, and the gap has passed.
        #[serde(default = "one")]
        pub rounds: u32,
        /// What each rank computes between two of them.
        #[serde(default)]
        pub gap: Duration,
        /// The hosts, in ascending order, are divided into so many groups of neighbours, each with a collective of its own.
        #[serde(default = "one")]
        pub groups: u32,
        /// The hosts that take part.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + rank + owner + paths,
    /// Training of a model that is divided among hosts by data, tensor and pipeline parallelism, each host a rank; tensor ranks are neighbours,
    /// then data ranks, then stages of the pipeline.
    Training {
        /// The layers of the model, in order.
        pub layers: Vec<Layer>,
        /// Steps of the optimizer.
        #[serde(default = "one")]
        pub steps: u32,
        /// Micro-batches of each step, forwards and backwards in turn (1F1B).
        #[serde(default = "one")]
        pub micro_batches: u32,
        /// Ranks that share the operations of each layer.
        #[serde(default = "one")]
        pub tensor: u32,
        /// Stages, among which the layers are divided.
        #[serde(default = "one")]
        pub pipeline: u32,
        /// Neighbouring data ranks that exchange tokens before and after the experts of a layer.
        #[serde(default = "one")]
        pub expert: u32,
        /// Bytes of a parameter's gradient.
        #[serde(default = "gradient_bytes")]
        pub gradient_bytes: u32,
        /// Gradients are reduced as soon as so many bytes of them are there.
        #[serde(default = "bucket")]
        pub bucket: Bytes,
        /// In which steps gradients are reduced among data ranks, and activations among tensor ranks.
        #[serde(default)]
        pub algorithm: CollectiveAlgorithm,
        /// What the optimizer computes once all gradients are reduced.
        #[serde(default)]
        pub optimizer: Duration,
        /// When the first step begins.
        #[serde(default)]
        pub start: Duration,
        /// The hosts that take part: tensor times data times pipeline, which says how many data ranks there are.
        #[serde(default)]
        pub hosts: HostSet,
    } + class + rank + owner + paths,
    /// The program of a trace.
    Program {
        /// The trace, relative to the scenario: a file, or of Chakra traces the files of all ranks.
        pub path: TracePath,
        /// Its format; left out, it follows from the extension: `.goal` or `.et`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub format: Option<TraceFormat>,
        /// When the ranks begin.
        #[serde(default)]
        pub start: Duration,
        /// The hosts of the ranks, in ascending order.
        #[serde(default)]
        pub hosts: HostSet,
        /// By rank, the place of its host among `hosts`; left out, the rank itself.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub placement: Vec<u32>,
    } + class + rank + owner + paths,
    /// Applications ask servers for values over connections that stay open: each connection posts a
    /// batch of operations once it has seen the completion of the batch before.
    KeyValue {
        /// The hosts that the applications run on.
        #[serde(default)]
        pub clients: HostSet,
        /// The hosts that they ask, in turn: connection by connection.
        pub servers: HostSet,
        /// Applications on each client, each with a thread of its own.
        #[serde(default = "one")]
        pub applications: u32,
        /// Connections of each application.
        #[serde(default = "one")]
        pub connections: u32,
        /// The size of every value; give this, `range` or `sizes`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub size: Option<Bytes>,
        /// Sizes between two limits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub range: Option<SizeRange>,
        /// Sizes from a distribution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sizes: Option<Sizes>,
        /// Operations posted at once (`wr_num`); the last one's completion is signalled.
        #[serde(default = "one")]
        pub batch: u32,
        /// Operations of each connection; left out, as many as there is time for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub count: Option<u32>,
        /// Batches begin in `start .. start + duration`; without `count` and `duration`, until every
        /// workload that has one of them is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub duration: Option<Duration>,
        /// Time between two polls of an application, each of which takes one completion; 0: it polls
        /// all the time.
        #[serde(default)]
        pub poll_interval: Duration,
        /// Weight of each connection's utility under policy `drum`.
        #[serde(default = "weight")]
        pub weight: f64,
        /// When the connections begin.
        #[serde(default)]
        pub start: Duration,
    } + class + operation + owner,
    /// Messages listed in the scenario or in a file.
    Flows {
        /// A file in the flow text of HPCC's simulator, relative to the scenario.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<PathBuf>,
        /// Messages, in order of start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub flow: Vec<Flow>,
    } + message + owner + paths,
}

impl Workload {
    /// Whether its messages travel on connections that stay open.
    pub const fn is_key_value(&self) -> bool {
        matches!(self, Self::KeyValue(_))
    }

    /// Whether its messages wait for each other as ranks of a program do.
    pub const fn is_program(&self) -> bool {
        matches!(
            self,
            Self::Collective(_) | Self::Training(_) | Self::Program(_)
        )
    }
}

/// What a message is. The source of a message posts it; a READ's data comes from the destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// RDMA WRITE.
    #[default]
    Write,
    /// SEND into a posted receive.
    Send,
    /// RDMA READ: the size is that of the response.
    Read,
    /// FETCH-ADD on eight bytes.
    FetchAdd,
    /// CMP-SWAP on eight bytes.
    CompareSwap,
}

impl Verb {
    /// Every verb.
    pub const ALL: [Self; 5] = [
        Self::Write,
        Self::Send,
        Self::Read,
        Self::FetchAdd,
        Self::CompareSwap,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Send => "send",
            Self::Read => "read",
            Self::FetchAdd => "fetch-add",
            Self::CompareSwap => "compare-swap",
        }
    }

    /// Whether it works on eight bytes at once.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CompareSwap)
    }

    /// Whether it ends with a response that carries data.
    pub const fn awaits_response(self) -> bool {
        matches!(self, Self::Read | Self::FetchAdd | Self::CompareSwap)
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Node number of the sender.
    pub source: u32,
    /// Node number of the receiver.
    pub destination: u32,
    /// Bytes of payload.
    pub size: Bytes,
    /// When it is posted.
    #[serde(default)]
    pub start: Duration,
    /// Traffic class, 1 to 7.
    #[serde(default = "default_class")]
    pub class: u8,
    /// Destination port: a label that stays with the message (100 and 200 are usual).
    #[serde(default = "default_port")]
    pub destination_port: u16,
    /// Parts of equal size, each on a queue pair of its own, that are one message all the same: for
    /// scopes, and for who waits for it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub subflows: u32,
}

/// A set of hosts by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HostSet(pub String);

/// A distribution of message sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "the name of a distribution, a file, or points such as [{ size = \"1kB\", percent = 0 }, ...]"
)]
pub enum Sizes {
    /// A built-in distribution by name, or a file (anything that contains `/` or `.`).
    Named(String),
    /// Points of the distribution function in the scenario itself.
    Points(Vec<SizePoint>),
}

/// A point of a distribution function: `percent` of messages are at most `size`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// Message size.
    pub size: Bytes,
    /// Cumulative percent, 0 to 100.
    pub percent: f64,
}
pub(crate) fn default_class() -> u8 {
    3
}

fn default_port() -> u16 {
    100
}

fn default_period() -> Duration {
    Duration::from_ms(1)
}

fn gradient_bytes() -> u32 {
    2
}

fn bucket() -> Bytes {
    Bytes::new(25 << 20)
}

fn weight() -> f64 {
    1.0
}

fn read() -> Verb {
    Verb::Read
}

impl Default for HostSet {
    fn default() -> Self {
        Self("all".into())
    }
}
