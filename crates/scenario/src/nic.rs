//! NICs of hosts: what they cost, and whose work requests they take.

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::types::AckPause;

/// NICs of hosts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Nic {
    /// Which pauses hold back acknowledgements at the host.
    pub ack_pause: AckPause,
    /// How applications of `key-value` workloads share the NIC.
    #[serde(skip_serializing_if = "is_default")]
    pub policy: Policy,
    /// What work requests cost; left out, nothing, and the NIC remembers every connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<Costs>,
    /// Policy `share`.
    #[serde(skip_serializing_if = "is_default")]
    pub share: Share,
    /// Policy `drum`.
    #[serde(skip_serializing_if = "is_default")]
    pub drum: Drum,
    /// Policy `justitia`.
    #[serde(skip_serializing_if = "is_default")]
    pub justitia: Justitia,
}

/// Whether a value is what it is where a scenario is silent.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How applications share a NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each application posts directly to queue pairs of its own.
    #[default]
    Raw,
    /// Connections of a host to the same other host share queue pairs behind locks.
    Share,
    /// One agent thread fetches work requests and polls completions by solved rates, with a limited
    /// number of queue pairs active at a time.
    Drum,
    /// A token bucket of bytes paces bandwidth-hungry applications to keep a latency target.
    Justitia,
}

/// What a work request costs at the host and at its NIC. docs/nic.md has the calibration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// From the end of the thread's write to a doorbell register until the NIC has it.
    pub doorbell: Duration,
    /// Round trip of a PCIe read of work requests by the NIC.
    pub wqe_fetch: Duration,
    /// Work requests in one such read, at least 1.
    pub wqes_per_fetch: u32,
    /// Bytes of a work request.
    pub wqe_bytes: Bytes,
    /// Bandwidth of the NIC's PCIe link, one way.
    pub pcie_rate: Rate,
    /// Time of the NIC for one work request, one after the other.
    pub processing: Duration,
    /// Work requests that the NIC has begun and not yet put on the wire at most, at least 1.
    pub pipeline: u32,
    /// Connections whose state the NIC keeps, least recently used first to go, at least 1.
    pub cache_entries: u32,
    /// Fetch of the state of a connection that isn't kept, one after the other.
    pub cache_miss: Duration,
    /// Packets that wait for that at the receiver: with more, the NIC takes none of their class from the
    /// link, until there is half as much.
    pub receive_buffer: Bytes,
    /// From the end of a work request at the NIC until its completion is in host memory.
    pub cqe_write: Duration,
    /// Processor time to write one work request.
    pub post: Duration,
    /// Processor time of a poll that finds completions.
    pub poll: Duration,
    /// Processor time for each completion found.
    pub cqe: Duration,
    /// Processor time to take and release the lock of a shared queue pair.
    pub lock: Duration,
    /// Further time to take it, for each other thread that contends for it.
    pub lock_contention: Duration,
    /// From an application to an agent thread or back, through shared memory.
    pub handoff: Duration,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            // Half a PCIe round trip: a posted write.
            doorbell: Duration::from_ns(250),
            // Neugebauer et al., Understanding PCIe performance (SIGCOMM 2018), section 6: about
            // 0.5 us for small reads.
            wqe_fetch: Duration::from_ns(500),
            // A 256-byte read request.
            wqes_per_fetch: 4,
            // ConnectX work requests have blocks of 64 bytes.
            wqe_bytes: Bytes::new(64),
            // PCIe 3.0 x8: 8 GT/s x 8 lanes x 128/130.
            pcie_rate: Rate::from_mbps(63_015),
            // DRUM (S0), figure 8: 20 connections in 7.1 us, before any cache miss.
            processing: Duration::from_ns(300),
            // DRUM (S0), figure 2a: what is posted first leaves first.
            pipeline: 2,
            // DRUM (S0), figure 2c: throughput falls beyond 20 connections.
            cache_entries: 20,
            // A PCIe read, as above.
            cache_miss: Duration::from_ns(500),
            // The order of an InfiniBand port's buffers.
            receive_buffer: Bytes::new(64 << 10),
            cqe_write: Duration::from_ns(250),
            // Kalia et al., Design guidelines (ATC 2016), section 3: tens of nanoseconds each.
            post: Duration::from_ns(50),
            poll: Duration::from_ns(50),
            cqe: Duration::from_ns(50),
            lock: Duration::from_ns(50),
            // David et al., Everything about synchronization (SOSP 2013), table 2: a line moves
            // between sockets in 100 ns, and once for each contender of a spin lock.
            lock_contention: Duration::from_ns(100),
            handoff: Duration::from_ns(200),
        }
    }
}

/// Queue pairs shared behind locks (FaRM, NSDI 2014, section 3; DRUM (S0), section IV).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Share {
    /// Connections that share one queue pair at most, at least 1.
    pub ratio: u32,
}

impl Default for Share {
    fn default() -> Self {
        // DRUM (S0), section IV.B, benchmark (2).
        Self { ratio: 5 }
    }
}

/// The agent that schedules by DRUM (S0).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Drum {
    /// Queue pairs active at a time at most (k), at least 1.
    pub active: u32,
    /// How long those stay active before others take their place.
    pub epoch: Duration,
    /// Work requests that the agent has posted and not seen completed at most, at least 1.
    pub window: u32,
    /// Payload of those: the agent posts nothing further once it has this much under way.
    pub window_bytes: Bytes,
    /// A queue pair without work keeps its place for so long although others wait.
    pub linger: Duration,
    /// The fairness exponent of the utility.
    pub alpha: f64,
    /// Exchange rate between throughput and latency utility.
    pub beta: f64,
}

impl Default for Drum {
    fn default() -> Self {
        Self {
            // DRUM (S0), section III.D: k = 20.
            active: 20,
            // Several round trips of a small READ, so that most of them wait for no rotation.
            epoch: Duration::from_us(40),
            // What keeps a NIC busy that takes one in 0.3 us, over 4 us.
            window: 16,
            // A bandwidth-delay product at 40 Gb/s and 4 us.
            window_bytes: Bytes::new(20_000),
            // A NIC's answer and an application's next request.
            linger: Duration::from_us(8),
            // DRUM (S0), section III.D.
            alpha: 0.5,
            beta: 0.0,
        }
    }
}

/// Token pacing with a latency target, after Justitia (NSDI 2022). docs/nic.md names what is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Justitia {
    /// Completion time that latency-sensitive applications are to have at most.
    pub latency_target: Duration,
    /// Larger messages of paced applications are split into pieces of this size.
    pub chunk: Bytes,
    /// Time between adjustments of the rate.
    pub interval: Duration,
    /// The rate of tokens never falls below this.
    pub min_rate: Rate,
}

impl Default for Justitia {
    fn default() -> Self {
        Self {
            latency_target: Duration::from_us(10),
            chunk: Bytes::new(5000),
            interval: Duration::from_us(100),
            min_rate: Rate::from_gbps(4),
        }
    }
}

/// A range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeRange {
    /// The smallest, at least one byte.
    pub low: Bytes,
    /// The largest.
    pub high: Bytes,
    /// What is uniform: the size, or its logarithm.
    #[serde(default)]
    pub spread: Spread,
}

/// What is uniformly distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// The size.
    #[default]
    Uniform,
    /// The logarithm of the size.
    LogUniform,
}
