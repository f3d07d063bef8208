//! What hosts send.

use std::path::PathBuf;

use fairlane_hpcc_files::flows::Message;
use fairlane_program::LONGEST as LONGEST_VECTOR;
use fairlane_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::collective::{CollectiveAlgorithm, CollectiveKind, Layer, TraceFormat, TracePath};
use crate::multipath::{Connections, MOST as MOST_PATHS};
use crate::rules::{BYTE, LARGEST};
use crate::section::{element, kinds, number, words};
use crate::types::{CongestionOverride, SizeRange, is_one};

/// Most channels of a communicator: `MAXCHANNELS` of NCCL 2.20.
const MOST_CHANNELS: u32 = 64;

/// The kinds of workloads: in brackets the key with hosts of the tenant, the fields of each, behind `+` groups of fields
/// that several have, and `& paths` unless its messages can't have several.
macro_rules! workloads {
    (@ [$($head:tt)*] $keys:tt) => {
        element! { $($head)* $keys }
    };
    (@ $head:tt { $($own:tt)* } + class $($rest:tt)*) => {
        workloads!(@ $head {
            $($own)*
            /// Traffic class.
            class: u8 = "number::<3, u8>" => class,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + message $($rest:tt)*) => {
        workloads!(@ $head {
            $($own)*
            /// What each message is.
            verb: Verb = "Verb::default",
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + rank $($rest:tt)*) => {
        workloads!(@ $head {
            $($own)*
            /// What each message is: `"write"` or `"send"`.
            verb: Verb = "Verb::default",
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + sends $($rest:tt)*) => {
        workloads!(@ $head {
            $($own)*
            /// Parallel connections from one rank to another. Each carries an equal part of every collective's vector,
            /// in steps of its own; sends of programs take them in turn.
            channels [1, MOST_CHANNELS]: u32 = "number::<1, u32>",
            /// Time from when a message may be sent until its host hands it to the NIC.
            send_latency: Duration = "Duration::default" => span,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } + owner $($rest:tt)*) => {
        workloads!(@ $head {
            $($own)*
            /// Tenant that it belongs to; left out, the first.
            tenant: Option<String>,
            /// Plane of all its messages, from 0; left out, by a hash of each five-tuple.
            plane: Option<u8>,
            /// Congestion control of its queue pairs; left out, that of its tenant or of the fabric.
            #[serde(skip_serializing_if = "Option::is_none")]
            congestion: Option<Box<CongestionOverride>> => table,
        } $($rest)*);
    };
    (@ $head:tt { $($own:tt)* } & paths) => {
        workloads!(@ $head {
            $($own)*
            /// Paths of each message; left out, `multipath.paths`. Refused without `[multipath]`.
            paths [1, MOST_PATHS]: Option<u32>,
            /// Which messages share a connection; left out, `multipath.connections`. If that isn't stated either,
            /// `"pair"` for kinds with `channels`, `"message"` for others and under `hpcc-ns3`.
            connections: Option<Connections>,
        });
    };
    (@ paths $connections:expr) => { $connections };
    ($(
        $(#[$doc:meta])*
        $kind:ident $([$hosts:ident])? { $($own:tt)* } $(+ $group:ident)* $(& $paths:ident)?,
    )*) => {
        kinds! {
            /// What hosts send. Hosts are named by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
            Workload { $($(#[$doc])* $kind($kind),)* }
        }

        $(workloads!(@ [$(#[$doc])* $kind] { $($own)* } $(+ $group)* $(& $paths)?);)*

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

            /// The set of hosts that must be its tenant's, and its key; a list of messages has none.
            pub(crate) fn hosts(&self) -> Option<(&'static str, &HostSet)> {
                match self {
                    $(Self::$kind(_it) => None$(.or(Some((stringify!($hosts), &_it.$hosts))))?,)*
                }
            }

            /// The name of its tenant, and the set of hosts that must be the tenant's.
            pub(crate) fn owner_mut(&mut self) -> (&mut Option<String>, Option<&mut HostSet>) {
                match self {
                    $(Self::$kind(it) => (&mut it.tenant, None$(.or(Some(&mut it.$hosts)))?),)*
                }
            }

            /// The plane that its messages take, if it states one.
            pub const fn plane(&self) -> Option<u8> {
                match self {
                    $(Self::$kind(it) => it.plane,)*
                }
            }

            /// The congestion control of its queue pairs, if it states one.
            pub fn congestion(&self) -> Option<&CongestionOverride> {
                match self {
                    $(Self::$kind(it) => it.congestion.as_deref(),)*
                }
            }

            /// How many paths each message has, if it is stated.
            pub fn paths(&self) -> Option<u32> {
                match self {
                    $(Self::$kind(_it) => None$(.or(_it.$paths))?,)*
                }
            }

            /// Which of its messages share a connection, if it is stated.
            pub fn connections(&self) -> Option<Connections> {
                match self {
                    $(Self::$kind(_it) => None$(.or(workloads!(@ $paths _it.connections)))?,)*
                }
            }
        }
    };
}

workloads! {
    /// Poisson arrivals at every source, each to a uniformly random other destination.
    Poisson [sources] {
        /// Sizes of messages.
        sizes: Sizes,
        /// Mean use of links by payload, of those that `load_of` names; of several ports all links together, or the
        /// one of the `plane`.
        load: f64 => share,
        /// Whose use `load` is.
        load_of: LoadOf = "LoadOf::default",
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Arrivals happen in `start .. start + duration`.
        duration: Duration => period,
        /// Hosts that send.
        sources: HostSet = "HostSet::default",
        /// Hosts that receive.
        destinations: HostSet = "HostSet::default",
    } + class + message + owner & paths,
    /// In each round several random hosts send to one, or with `verb = "read"` it reads from them. Rounds come every `period`, or
    /// at Poisson times with a `load`.
    Incast [hosts] {
        /// Senders in each round.
        degree: u32 => positive,
        /// Size of each message.
        size: Bytes => message,
        /// The receiver; left out, a random host each round.
        receiver: Option<u32>,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Time between rounds; left out, 1 ms. Not together with `load`.
        period: Option<Duration> => span,
        /// Rounds; left out, 1. Not together with `load`.
        rounds: Option<u32> => positive,
        /// Rounds at Poisson times instead: payload of all rounds, in bytes per second, over the sum of the rates of the links of
        /// `hosts` (of all ports, or the one of the `plane`).
        load: Option<f64> => share,
        /// With `load`: rounds begin in `start .. start + duration`.
        duration: Option<Duration> => period,
        /// Each sender starts up to this much later.
        jitter: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths,
    /// Every host sends one message to another, and receives one.
    Permutation [hosts] {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths,
    /// Every host sends one message to every other.
    AllToAll [hosts] {
        /// Size of each message.
        size: Bytes => message,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + owner & paths,
    /// n hosts in ascending order, 2(n-1) steps; in each a host sends size/n to its successor once it has received the
    /// previous step. Unlike under `collective`, its next round begins with its last received block, without waiting for
    /// acknowledgements.
    RingAllReduce [hosts] {
        /// Size of the vector.
        size: Bytes,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Collectives, one after the other.
        rounds: u32 = "number::<1, u32>" => positive,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + message + sends + owner & paths,
    /// A collective operation.
    Collective [hosts] {
        /// The operation.
        operation: CollectiveKind,
        /// Its steps.
        algorithm: CollectiveAlgorithm = "CollectiveAlgorithm::default",
        /// Hosts of an inner group of algorithm `"hierarchical"`.
        inner: Option<u32>,
        /// Rank within each group that has the vector of a broadcast, or gets the sum of a reduce.
        root: u32 = "u32::default",
        /// Size of the vector, for all but barriers at least 1 byte; of an all-to-all, what each rank sends to all.
        size: Bytes = "Bytes::default" => within(Bytes::ZERO, LONGEST_VECTOR),
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Collectives, one after the other.
        rounds: u32 = "number::<1, u32>" => positive,
        /// Time that a rank computes between two.
        gap: Duration = "Duration::default" => span,
        /// Groups of neighbouring hosts, each with a collective of its own.
        groups: u32 = "number::<1, u32>" => positive,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + rank + sends + owner & paths,
    /// Training of a model by data, tensor and pipeline parallelism: tensor ranks are neighbours, then data ranks, then
    /// pipeline stages.
    Training [hosts] {
        /// Layers of the model, in order.
        layers: Vec<Layer> => table,
        /// Steps of the optimizer.
        steps: u32 = "number::<1, u32>" => positive,
        /// Micro-batches of each step, forwards and backwards in turn (1F1B).
        micro_batches: u32 = "number::<1, u32>" => positive,
        /// Ranks that share each layer.
        tensor: u32 = "number::<1, u32>" => positive,
        /// Stages, among which the layers are divided.
        pipeline: u32 = "number::<1, u32>" => positive,
        /// Neighbouring data ranks that exchange tokens.
        expert: u32 = "number::<1, u32>" => positive,
        /// Bytes of a parameter's gradient.
        gradient_bytes [1, 8]: u32 = "number::<2, u32>",
        /// Gradients are reduced in buckets of this size.
        bucket: Bytes = "bucket" => within(BYTE, LARGEST),
        /// Steps in which gradients, and activations of tensor ranks, are reduced.
        algorithm: CollectiveAlgorithm = "CollectiveAlgorithm::default",
        /// Time that the optimizer computes once all gradients are reduced.
        optimizer: Duration = "Duration::default" => span,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part; those beyond `tensor` times `pipeline` are data ranks.
        hosts: HostSet = "HostSet::default",
    } + class + rank + sends + owner & paths,
    /// The program of a trace.
    Program [hosts] {
        /// The trace, relative to the scenario: a file, or those of all ranks as a folder, a pattern (`"t.*.et"`), the beginning of
        /// their names, or a list.
        path: TracePath,
        /// Its format; left out, by extension: `.goal` or `.et`.
        format: Option<TraceFormat>,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
        /// By rank, the index of its host among `hosts`; left out, rank r runs on the r-th.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        placement: Vec<u32>,
    } + class + rank + sends + owner & paths,
    /// Closed loops over open connections: each posts a batch of operations, and the next once the thread has polled the
    /// last completion. Not under `hpcc-ns3`.
    KeyValue [clients] {
        /// Hosts of the applications.
        clients: HostSet = "HostSet::default",
        /// Hosts that they ask, in turn, connection by connection.
        servers: HostSet,
        /// Applications on each client, each a thread.
        applications: u32 = "number::<1, u32>" => positive,
        /// Connections of each application.
        connections: u32 = "number::<1, u32>" => positive,
        /// Size of every value; this, `range` or `sizes` is required.
        size: Option<Bytes> => message,
        /// Limits of random sizes.
        range: Option<SizeRange> => table,
        /// Distribution of sizes.
        sizes: Option<Sizes>,
        /// Operations posted at once; the last one's completion is signalled.
        batch [1, 1 << 16]: u32 = "number::<1, u32>",
        /// Operations of each connection.
        count: Option<u32> => positive,
        /// No batch begins at or after `start + duration`. Without this and `count`, connections run until all
        /// `key-value` workloads that have one of them are done, or the run stops.
        duration: Option<Duration> => period,
        /// The thread polls at multiples of this and takes one completion each time; 0: continuously.
        poll_interval: Duration = "Duration::default" => span,
        /// Utility weight of each connection under policy `drum`.
        weight: f64 = "number::<1, f64>" => weight,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Traffic class.
        class: u8 = "number::<3, u8>" => class,
        /// What each operation is.
        verb: Verb = "read",
    } + owner,
    /// Messages of a flow file, or listed here.
    Flows {
        /// Flow file, relative to the scenario; this or `flow` is required.
        path: Option<PathBuf>,
        // What they must obey is checked in `validate/workload/flows.rs`, as it is for those of a file.
        /// Messages, in order of start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flow: Vec<Flow>,
    } + message + owner & paths,
}

impl Incast {
    /// Time between rounds that aren't at Poisson times.
    pub fn period(&self) -> Duration {
        self.period.unwrap_or(Duration::from_ms(1))
    }

    /// Rounds, if they aren't at Poisson times.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(1)
    }
}

impl Workload {
    /// Whether its messages travel on connections that stay open.
    pub const fn is_key_value(&self) -> bool {
        matches!(self, Self::KeyValue(_))
    }

    /// How ranks send: channels of a communicator, and the time that a send takes its host; nothing for messages
    /// between hosts that aren't ranks.
    pub const fn sends(&self) -> Option<(u32, Duration)> {
        match self {
            Self::RingAllReduce(it) => Some((it.channels, it.send_latency)),
            Self::Collective(it) => Some((it.channels, it.send_latency)),
            Self::Training(it) => Some((it.channels, it.send_latency)),
            Self::Program(it) => Some((it.channels, it.send_latency)),
            _ => None,
        }
    }

    /// Whether its messages wait for each other as ranks of a program do.
    pub const fn is_program(&self) -> bool {
        matches!(
            self,
            Self::Collective(_) | Self::Training(_) | Self::Program(_)
        )
    }
}

words! {
    /// Which links have the load of messages at random times.
    LoadOf = Hosts {
        /// The links of sources.
        Hosts "hosts",
        /// The link between switches that is expected to carry most for its rate.
        Fabric "fabric",
    }
}

words! {
    /// What a message is. The source of a message posts it; a READ's data comes from the destination.
    Verb = Write {
        /// RDMA WRITE.
        Write "write",
        /// SEND into a posted receive.
        Send "send",
        /// RDMA READ: the size is that of the response.
        Read "read",
        /// FETCH-ADD on eight bytes.
        FetchAdd "fetch-add",
        /// CMP-SWAP on eight bytes.
        CompareSwap "compare-swap",
    }
}

impl Verb {
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
        start: Duration = "Duration::default" => span,
        /// Traffic class.
        class: u8 = "number::<3, u8>" => class,
        /// Label that stays with the message.
        destination_port: u16 = "number::<100, u16>",
        /// Equal parts, each on its own queue pair, that scopes treat as one message; not together with `paths`.
        #[serde(skip_serializing_if = "is_one")]
        #[schemars(extend("default" = 1))]
        subflows [1, 1024]: u32 = "number::<1, u32>",
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

fn bucket() -> Bytes {
    Bytes::new(25 << 20)
}

fn read() -> Verb {
    Verb::Read
}

impl Default for HostSet {
    fn default() -> Self {
        Self("all".into())
    }
}
