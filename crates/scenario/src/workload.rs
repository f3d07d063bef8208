//! What hosts send.

use std::path::PathBuf;

use fairlane_hpcc_files::flows::Message;
use fairlane_program::LONGEST as LONGEST_VECTOR;
use fairlane_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collective::{CollectiveAlgorithm, CollectiveKind, Layer, TraceFormat, TracePath};
use crate::multipath::MOST as MOST_PATHS;
use crate::rules::{BYTE, LARGEST};
use crate::section::{Check, Section, element};
use crate::types::{Profile, SizeRange, is_one, one};

/// The kinds of workloads: the fields of each, and behind `+` groups of fields that several have.
macro_rules! workloads {
    (@ $(#[$doc:meta])* $kind:ident $fields:tt) => {
        element! {
            $(#[$doc])*
            $kind $fields
        }
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + class $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// Traffic class.
            #[serde(default = "default_class")]
            class: u8 => class,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + message $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each message is.
            #[serde(default)]
            verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + rank $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each message is: `"write"` or `"send"`.
            #[serde(default)]
            verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + operation $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// What each operation is.
            #[serde(default = "read")]
            verb: Verb,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + owner $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// Tenant that it belongs to; left out, the first.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tenant: Option<String>,
            /// Plane of all its messages, from 0; left out, by a hash of each five-tuple.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            plane: Option<u8>,
        } $($rest)*);
    };
    (@ $(#[$doc:meta])* $kind:ident { $($own:tt)* } + paths $($rest:tt)*) => {
        workloads!(@ $(#[$doc])* $kind {
            $($own)*
            /// Paths of each message; left out, `multipath.paths`. Refused without `[multipath]`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            paths [1, MOST_PATHS]: Option<u32>,
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

        impl Section for Workload {
            fn check(&self, profile: Profile) -> Check {
                match self {
                    $(Self::$kind(it) => it.check(profile),)*
                }
            }
        }

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
    /// Poisson arrivals at every source, each to a uniformly random other destination.
    Poisson {
        /// Sizes of messages.
        sizes: Sizes,
        /// Mean use of the source's link by payload; of several ports all links together, or the
        /// one of the `plane`.
        load: f64 => share,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Arrivals happen in `start .. start + duration`.
        duration: Duration => period,
        /// Hosts that send.
        #[serde(default)]
        sources: HostSet,
        /// Hosts that receive.
        #[serde(default)]
        destinations: HostSet,
    } + class + message + owner + paths,
    /// In each round several random hosts send to one, or with `verb = "read"` it reads from them.
    Incast {
        /// Senders in each round.
        degree: u32 => positive,
        /// Size of each message.
        size: Bytes => message,
        /// The receiver; left out, a random host each round.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receiver: Option<u32>,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Time between rounds.
        #[serde(default = "default_period")]
        period: Duration => span,
        /// Rounds.
        #[serde(default = "one")]
        rounds: u32 => positive,
        /// Each sender starts up to this much later.
        #[serde(default)]
        jitter: Duration => span,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
    } + class + message + owner + paths,
    /// Every host sends one message to another, and receives one.
    Permutation {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
    } + class + message + owner + paths,
    /// Every host sends one message to every other.
    AllToAll {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
    } + class + message + owner + paths,
    /// n hosts in ascending order, 2(n-1) steps; in each a host sends size/n to its successor once it has received the
    /// previous step. Unlike under `collective`, its next round begins with its last received block, without waiting for
    /// acknowledgements.
    RingAllReduce {
        /// Size of the vector.
        size: Bytes,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Collectives, one after the other.
        #[serde(default = "one")]
        rounds: u32 => positive,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
    } + class + message + owner + paths,
    /// A collective operation.
    Collective {
        /// The operation.
        operation: CollectiveKind,
        /// Its steps.
        #[serde(default)]
        algorithm: CollectiveAlgorithm,
        /// Hosts of an inner group of algorithm `"hierarchical"`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner: Option<u32>,
        /// Rank within each group that has the vector of a broadcast, or gets the sum of a reduce.
        #[serde(default)]
        root: u32,
        /// Size of the vector, for all but barriers at least 1 byte; of an all-to-all, what each rank sends to all.
        #[serde(default)]
        size: Bytes => within(Bytes::ZERO, LONGEST_VECTOR),
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Collectives, one after the other.
        #[serde(default = "one")]
        rounds: u32 => positive,
        /// Time that a rank computes between two.
        #[serde(default)]
        gap: Duration => span,
        /// Groups of neighbouring hosts, each with a collective of its own.
        #[serde(default = "one")]
        groups: u32 => positive,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
    } + class + rank + owner + paths,
    /// Training of a model by data, tensor and pipeline parallelism: tensor ranks are neighbours, then data ranks, then
    /// pipeline stages.
    Training {
        /// Layers of the model, in order.
        layers: Vec<Layer> => table,
        /// Steps of the optimizer.
        #[serde(default = "one")]
        steps: u32 => positive,
        /// Micro-batches of each step, forwards and backwards in turn (1F1B).
        #[serde(default = "one")]
        micro_batches: u32 => positive,
        /// Ranks that share each layer.
        #[serde(default = "one")]
        tensor: u32 => positive,
        /// Stages, among which the layers are divided.
        #[serde(default = "one")]
        pipeline: u32 => positive,
        /// Neighbouring data ranks that exchange tokens.
        #[serde(default = "one")]
        expert: u32 => positive,
        /// Bytes of a parameter's gradient.
        #[serde(default = "gradient_bytes")]
        gradient_bytes [1, 8]: u32,
        /// Gradients are reduced in buckets of this size.
        #[serde(default = "bucket")]
        bucket: Bytes => within(BYTE, LARGEST),
        /// Steps in which gradients, and activations of tensor ranks, are reduced.
        #[serde(default)]
        algorithm: CollectiveAlgorithm,
        /// Time that the optimizer computes once all gradients are reduced.
        #[serde(default)]
        optimizer: Duration => span,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Hosts that take part; those beyond `tensor` times `pipeline` are data ranks.
        #[serde(default)]
        hosts: HostSet,
    } + class + rank + owner + paths,
    /// The program of a trace.
    Program {
        /// The trace, relative to the scenario: a file, or a list of all ranks' files.
        path: TracePath,
        /// Its format; left out, by extension: `.goal` or `.et`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<TraceFormat>,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// Hosts that take part.
        #[serde(default)]
        hosts: HostSet,
        /// By rank, the index of its host among `hosts`; left out, rank r runs on the r-th.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        placement: Vec<u32>,
    } + class + rank + owner + paths,
    /// Closed loops over open connections: each posts a batch of operations, and the next once the thread has polled the
    /// last completion. Not under `hpcc-ns3`.
    KeyValue {
        /// Hosts of the applications.
        #[serde(default)]
        clients: HostSet,
        /// Hosts that they ask, in turn, connection by connection.
        servers: HostSet,
        /// Applications on each client, each a thread.
        #[serde(default = "one")]
        applications: u32 => positive,
        /// Connections of each application.
        #[serde(default = "one")]
        connections: u32 => positive,
        /// Size of every value; this, `range` or `sizes` is required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes> => message,
        /// Limits of random sizes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<SizeRange> => table,
        /// Distribution of sizes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sizes: Option<Sizes>,
        /// Operations posted at once; the last one's completion is signalled.
        #[serde(default = "one")]
        batch [1, 1 << 16]: u32,
        /// Operations of each connection.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32> => positive,
        /// No batch begins at or after `start + duration`. Without this and `count`, connections run until all
        /// `key-value` workloads that have one of them are done, or the run stops.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration: Option<Duration> => period,
        /// The thread polls at multiples of this and takes one completion each time; 0: continuously.
        #[serde(default)]
        poll_interval: Duration => span,
        /// Utility weight of each connection under policy `drum`.
        #[serde(default = "weight")]
        weight: f64 => weight,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
    } + class + operation + owner,
    /// Messages of a flow file, or listed here.
    Flows {
        /// Flow file, relative to the scenario; this or `flow` is required.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
        // What they must obey is checked in `validate/traffic.rs`, as it is for those of a file.
        /// Messages, in order of start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flow: Vec<Flow>,
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

impl From<Message> for Flow {
    fn from(message: Message) -> Self {
        Self {
            source: message.source,
            destination: message.destination,
            size: message.size,
            start: message.start,
            class: message.class,
            destination_port: message.destination_port,
            subflows: 1,
        }
    }
}

element! {
    /// One message.
    #[derive(Eq)]
    Flow {
        /// Sender.
        source: u32,
        /// Receiver.
        destination: u32,
        /// Bytes of payload.
        size: Bytes => message,
        /// When it is posted.
        #[serde(default)]
        start: Duration => span,
        /// Traffic class.
        #[serde(default = "default_class")]
        class: u8 => class,
        /// Label that stays with the message.
        #[serde(default = "default_port")]
        destination_port: u16,
        /// Equal parts, each on its own queue pair, that scopes treat as one message; not together with `paths`.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        #[schemars(extend("default" = 1))]
        subflows [1, 1024]: u32,
    }
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
    /// A built-in distribution by name, or a file: any text with `/` or `.`.
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
