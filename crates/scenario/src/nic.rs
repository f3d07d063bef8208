//! NICs of hosts: what they cost, and whose work requests they take.

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::section::section;
use crate::types::AckPause;
use crate::validate::limits::{BYTE, LARGEST, SLOWEST};

/// More queue pairs than any NIC has.
const MOST_ENTRIES: u32 = 1 << 24;
/// The longest send queue of any NIC is far below.
const MOST_WQES: u32 = 1 << 16;

section! {
    /// NICs of hosts.
    Nic {
        /// Which pauses hold back acknowledgements at the host.
        ack_pause: AckPause,
        /// How applications of `key-value` workloads share the NIC.
        #[serde(skip_serializing_if = "is_default")]
        policy: Policy,
        /// What work requests cost; left out, nothing, and the NIC remembers every connection.
        #[serde(skip_serializing_if = "Option::is_none")]
        costs: Option<Costs> => table,
        /// Policy `share`.
        #[serde(skip_serializing_if = "is_default")]
        share: Share => table,
        /// Policy `drum`.
        #[serde(skip_serializing_if = "is_default")]
        drum: Drum => table,
        /// Policy `justitia`.
        #[serde(skip_serializing_if = "is_default")]
        justitia: Justitia => table,
    }
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

section! {
    /// What a work request costs at the host and at its NIC. docs/nic.md has the calibration.
    #[derive(Eq)]
    Costs {
        /// From the end of the thread's write to a doorbell register until the NIC has it.
        // Half a PCIe round trip: a posted write.
        doorbell: Duration = Duration::from_ns(250) => span,
        /// Round trip of a PCIe read of work requests by the NIC.
        // Neugebauer et al., Understanding PCIe performance (SIGCOMM 2018), section 6: about 0.5 us for small reads.
        wqe_fetch: Duration = Duration::from_ns(500) => span,
        /// Work requests in one such read, at least 1.
        // A 256-byte read request.
        wqes_per_fetch [1, MOST_WQES]: u32 = 4,
        /// Bytes of a work request.
        // ConnectX work requests have blocks of 64 bytes.
        wqe_bytes: Bytes = Bytes::new(64) => within(Bytes::ZERO, Bytes::new(1 << 16)),
        /// Bandwidth of the NIC's PCIe link, one way.
        // PCIe 3.0 x8: 8 GT/s x 8 lanes x 128/130. A root complex may be faster than any link of the fabric.
        pcie_rate: Rate = Rate::from_mbps(63_015) => within(SLOWEST, Rate::from_gbps(64_000)),
        /// Time of the NIC for one work request, one after the other.
        // DRUM (S0), figure 8: 20 connections in 7.1 us, before any cache miss.
        processing: Duration = Duration::from_ns(300) => span,
        /// Work requests that the NIC has begun and not yet put on the wire at most, at least 1.
        // DRUM (S0), figure 2a: what is posted first leaves first.
        pipeline [1, MOST_WQES]: u32 = 2,
        /// Connections whose state the NIC keeps, least recently used first to go, at least 1.
        // DRUM (S0), figure 2c: throughput falls beyond 20 connections.
        cache_entries [1, MOST_ENTRIES]: u32 = 20,
        /// Fetch of the state of a connection that isn't kept, one after the other.
        // A PCIe read, as above.
        cache_miss: Duration = Duration::from_ns(500) => span,
        /// Packets that wait for that at the receiver: with more, the NIC takes none of their class from the
        /// link, until there is half as much.
        // The order of an InfiniBand port's buffers.
        receive_buffer: Bytes = Bytes::new(64 << 10) => within(BYTE, LARGEST),
        /// From the end of a work request at the NIC until its completion is in host memory.
        cqe_write: Duration = Duration::from_ns(250) => span,
        /// Processor time to write one work request.
        // Kalia et al., Design guidelines (ATC 2016), section 3: tens of nanoseconds each.
        post: Duration = Duration::from_ns(50) => span,
        /// Processor time of a poll that finds completions.
        poll: Duration = Duration::from_ns(50) => span,
        /// Processor time for each completion found.
        cqe: Duration = Duration::from_ns(50) => span,
        /// Processor time to take and release the lock of a shared queue pair.
        lock: Duration = Duration::from_ns(50) => span,
        /// Further time to take it, for each other thread that contends for it.
        // David et al., Everything about synchronization (SOSP 2013), table 2: a line moves between sockets in 100 ns,
        // and once for each contender of a spin lock.
        lock_contention: Duration = Duration::from_ns(100) => span,
        /// From an application to an agent thread or back, through shared memory.
        handoff: Duration = Duration::from_ns(200) => span,
    }
}

section! {
    /// Queue pairs shared behind locks (FaRM, NSDI 2014, section 3; DRUM (S0), section IV).
    #[derive(Eq)]
    Share {
        /// Connections that share one queue pair at most, at least 1.
        // DRUM (S0), section IV.B, benchmark (2).
        ratio [1, MOST_WQES]: u32 = 5,
    }
}

section! {
    /// The agent that schedules by DRUM (S0).
    Drum {
        /// Queue pairs active at a time at most (k), at least 1.
        // DRUM (S0), section III.D: k = 20.
        active: u32 = 20 => positive,
        /// How long those stay active before others take their place.
        // Several round trips of a small READ, so that most of them wait for no rotation.
        epoch: Duration = Duration::from_us(40) => period,
        /// Work requests that the agent has posted and not seen completed at most, at least 1.
        // What keeps a NIC busy that takes one in 0.3 us, over 4 us.
        window: u32 = 16 => positive,
        /// Payload of those: the agent posts nothing further once it has this much under way.
        // A bandwidth-delay product at 40 Gb/s and 4 us.
        window_bytes: Bytes = Bytes::new(20_000) => within(BYTE, LARGEST),
        /// A queue pair without work keeps its place for so long although others wait.
        // A NIC's answer and an application's next request.
        linger: Duration = Duration::from_us(8) => span,
        /// The fairness exponent of the utility.
        // DRUM (S0), section III.D.
        alpha [0.0, 64.0]: f64 = 0.5,
        /// Exchange rate between throughput and latency utility.
        beta [0.0, 1e6]: f64,
    }
}

section! {
    /// Token pacing with a latency target, after Justitia (NSDI 2022). docs/nic.md names what is left out.
    #[derive(Eq)]
    Justitia {
        /// Completion time that latency-sensitive applications are to have at most.
        latency_target: Duration = Duration::from_us(10) => period,
        /// Larger messages of paced applications are split into pieces of this size.
        chunk: Bytes = Bytes::new(5000) => within(BYTE, LARGEST),
        /// Time between adjustments of the rate.
        interval: Duration = Duration::from_us(100) => period,
        /// The rate of tokens never falls below this.
        min_rate: Rate = Rate::from_gbps(4) => rate,
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
