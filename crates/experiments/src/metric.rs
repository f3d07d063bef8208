//! What can be measured of a run.

use fairlane_units::Bytes;
use serde::{Deserialize, Serialize};

/// Something that is measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Metric {
    /// Its column.
    pub(crate) name: String,
    /// What it is of.
    pub(crate) of: Quantity,
    /// Which percentile, or `mean` or `max`, of completion times, slowdowns and jobs.
    #[serde(default)]
    pub(crate) percentile: Option<Statistic>,
    /// Only messages of this workload.
    #[serde(default)]
    pub(crate) workload: Option<u32>,
    /// Only what this tenant sends.
    #[serde(default)]
    pub(crate) tenant: Option<String>,
    /// Only messages, or jobs, of at least this size.
    #[serde(default)]
    pub(crate) from: Option<Limit>,
    /// Only messages, or jobs, below this size.
    #[serde(default)]
    pub(crate) below: Option<Limit>,
    /// Only messages that begin at this time or later.
    #[serde(default)]
    pub(crate) after: Option<fairlane_units::Duration>,
    /// The size that `extrapolated` is about.
    #[serde(default)]
    pub(crate) size: Option<Bytes>,
    /// Only what is placed before this time, for `goodput` and shares.
    #[serde(default)]
    pub(crate) until: Option<fairlane_units::Duration>,
    /// The node that `path_share` is about.
    #[serde(default)]
    pub(crate) through: Option<u32>,
}

/// A size that bounds others.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Limit {
    /// A number of bytes.
    Size(Bytes),
    /// A word.
    Word(LimitWord),
}

/// Sizes that have a name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimitWord {
    /// The largest bandwidth-delay product of the fabric.
    Bdp,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Quantity {
    /// Time from post to completion (us).
    Completion,
    /// Payload over time (Gb/s).
    Throughput,
    /// Messages over time (millions/s).
    Rate,
    /// From the first start to the last finish (ms).
    Duration,
    /// The longest time for which an application had to wait for its turn (us).
    LongestWait,
    /// The longest wait over its proven bound.
    WaitShare,
    /// Misses of the connection caches over look-ups.
    MissShare,
    /// Completion time over ideal time.
    Slowdown,
    /// Completion time over the standalone time of HPCC's text format, which other simulators divide by.
    OverStandalone,
    /// How many messages `slowdown` is about.
    Messages,
    /// Payload placed at receivers over time (Gb/s).
    Goodput,
    /// A tenant's part of what is placed at receivers.
    Share,
    /// The tenant's goodput divided by its weighted share.
    WeightShare,
    /// From the first start to the last finish of the pieces of an honest message (us).
    JobTime,
    /// Payload of an honest message that has arrived over that time (Gb/s).
    JobRate,
    /// Arrived payload over job time, both summed over honest messages (Gb/s).
    JobGoodput,
    /// From the beginning of a collective to its end (us).
    Collective,
    /// The deepest queue of a switch (kB).
    DeepestQueue,
    /// Pause frames.
    Pauses,
    /// Packets marked by switches.
    Marks,
    /// Packets that ports which face hosts would have marked, if they don't mark.
    Filtered,
    /// Congestion notifications that reached senders.
    Cnps,
    /// Packets that reached a NIC after one that was sent later, under forwarding `iofd`.
    Reordered,
    /// How often a switch moved a flow, under forwarding `iofd`.
    Forks,
    /// Most bytes that a switch held, under forwarding `iofd` (kB).
    Held,
    /// Payload of messages, finished or not, that their sources know to have arrived, over time (Gb/s).
    Delivered,
    /// Packets sent more than once.
    Retransmissions,
    /// The part of messages that completed.
    Finished,
    /// 1 if the run ended as stalled, 0 if it didn't.
    Stalled,
    /// Base round trips until rates are fair for good after the last message of a workload begins.
    Join,
    /// Base round trips until rates are fair for good after the last message of a workload ends.
    Leave,
    /// What a message of a size would take, on the line through the smallest and the largest that completed (us).
    Extrapolated,
    /// Processor time of the libraries that divide messages among paths (us).
    Cpu,
    /// Processor time of the libraries that divide messages among paths, over the time from the first start to the last finish.
    CpuShare,
    /// The largest chunk that limiters allowed at the end, mean of the paths that carried some (B).
    ChunkLimit,
    /// Payload placed at receivers over that of all messages: 1 if nothing is missing and nothing came twice.
    Placed,
    /// Work requests for data that was posted before, on another path or the same.
    Again,
    /// How often paths were given up for a while.
    Quarantines,
    /// The part of all carried chunks of messages that passed a node.
    PathShare,
}

/// Which figure of a distribution.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Statistic {
    /// A percentile from 0 to 100.
    Percentile(f64),
    /// A word.
    Word(StatisticWord),
}

/// Figures that have a name.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StatisticWord {
    /// The arithmetic mean.
    Mean,
    /// The greatest.
    Max,
}
