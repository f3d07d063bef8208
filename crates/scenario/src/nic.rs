//! NICs of hosts: what they cost, and whose work requests they take.

use fairlane_units::{Bytes, Duration, Rate};

use crate::rules::{BYTE, LARGEST, SLOWEST};
use crate::section::{element, section, words};
use crate::types::{AckPause, ClassSchedule};

/// More queue pairs than any NIC has.
const MOST_ENTRIES: u32 = 1 << 24;
/// The longest send queue of any NIC is far below.
const MOST_WQES: u32 = 1 << 16;

section! {
    /// NICs of hosts.
    Nic {
        /// Which pauses stop acknowledgements at the sending host.
        ack_pause: AckPause,
        /// When each traffic class sends, behind acknowledgements and CNPs; left out, queue pairs take turns whatever their
        /// classes are. Needs `congestion.scope` `"qp"` or `"none"`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        class: Vec<ClassSchedule> => table,
        /// How applications of `key-value` workloads share the NIC.
        #[serde(skip_serializing_if = "is_default")]
        policy: Policy,
        /// What work requests cost; left out, nothing, and the NIC remembers every connection.
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

words! {
    /// How applications share a NIC.
    Policy = Raw {
        /// Each posts directly to its own queue pairs.
        Raw "raw",
        /// Connections between the same two hosts share queue pairs with locks.
        Share "share",
        /// An agent posts by solved rates, with a limit on active queue pairs.
        Drum "drum",
        /// A token bucket paces bandwidth-hungry applications to keep a latency target.
        Justitia "justitia",
    }
}

section! {
    /// What a work request costs at the host and at its NIC. docs/nic.md has the calibration.
    #[derive(Eq)]
    Costs {
        /// From the end of the write to a doorbell register until the NIC has it.
        ///
        /// Source: half a PCIe round trip.
        doorbell: Duration = Duration::from_ns(250) => span,
        /// Round trip of a PCIe read of work requests by the NIC.
        ///
        /// Source: Neugebauer et al., SIGCOMM 2018, section 6.
        wqe_fetch: Duration = Duration::from_ns(500) => span,
        /// Work requests per read.
        ///
        /// Source: a read of 256 bytes.
        wqes_per_fetch [1, MOST_WQES]: u32 = 4,
        /// Bytes of a work request.
        ///
        /// Source: ConnectX's blocks.
        wqe_bytes: Bytes = Bytes::new(64) => within(Bytes::ZERO, Bytes::new(1 << 16)),
        /// Bandwidth of the NIC's PCIe link, one way.
        ///
        /// Source: PCIe 3.0 x8.
        pcie_rate: Rate = Rate::from_mbps(63_015) => within(SLOWEST, Rate::from_gbps(64_000)),
        /// NIC time per work request, one at a time.
        ///
        /// Source: DRUM (S0), figure 8: 20 connections in 7.1 us.
        processing: Duration = Duration::from_ns(300) => span,
        /// Most work requests begun and not yet on the wire.
        ///
        /// Source: DRUM (S0), figure 2a: what is posted first leaves first.
        pipeline [1, MOST_WQES]: u32 = 2,
        /// Connections in the NIC's cache, replaced least recently used first.
        ///
        /// Source: DRUM (S0), figure 2c.
        cache_entries [1, MOST_ENTRIES]: u32 = 20,
        /// Fetch of a connection that isn't cached, one at a time.
        ///
        /// Source: a PCIe read.
        cache_miss: Duration = Duration::from_ns(500) => span,
        /// Bytes of packets waiting for such fetches at the receiver; above it, the NIC pauses their class at its switch
        /// until half is left, if `switch.pfc` is on.
        ///
        /// Source: the order of an InfiniBand port's buffers.
        receive_buffer: Bytes = Bytes::new(64 << 10) => within(BYTE, LARGEST),
        /// From the end of a work request at the NIC until its completion is in host memory.
        cqe_write: Duration = Duration::from_ns(250) => span,
        /// Processor time to write a work request.
        ///
        /// Source: Kalia et al., ATC 2016, section 3: tens of nanoseconds.
        post: Duration = Duration::from_ns(50) => span,
        /// Processor time of a poll that finds completions.
        poll: Duration = Duration::from_ns(50) => span,
        /// Processor time per completion found.
        cqe: Duration = Duration::from_ns(50) => span,
        /// Processor time to take and release the lock of a shared queue pair.
        lock: Duration = Duration::from_ns(50) => span,
        /// Extra time to take it for each other contending thread.
        ///
        /// Source: David et al., SOSP 2013, table 2.
        lock_contention: Duration = Duration::from_ns(100) => span,
        /// From an application to an agent thread or back, through shared memory.
        handoff: Duration = Duration::from_ns(200) => span,
    }
}

section! {
    /// Queue pairs shared behind locks (FaRM, NSDI 2014, section 3; DRUM (S0), section IV).
    #[derive(Eq)]
    Share {
        /// Most connections per shared queue pair.
        ///
        /// Source: DRUM (S0), section IV.B.
        ratio [1, MOST_WQES]: u32 = 5,
    }
}

section! {
    /// The agent that schedules by DRUM (S0).
    Drum {
        /// Most queue pairs active at a time (k).
        ///
        /// Source: DRUM (S0), section III.D.
        active: u32 = 20 => positive,
        /// Time that they stay active before others replace them.
        ///
        /// Source: several round trips of a small READ.
        epoch: Duration = Duration::from_us(40) => period,
        /// Most work requests of the agent posted and not completed; each active queue pair may always have one.
        ///
        /// Source: 4 us of a NIC that takes one in 0.3 us.
        window: u32 = 16 => positive,
        /// Fairness exponent of the utility.
        ///
        /// Source: DRUM (S0), section III.D.
        alpha [0.0, 64.0]: f64 = 0.5,
        /// Weight of latency against throughput utility.
        beta [0.0, 1e6]: f64,
    }
}

section! {
    /// Token pacing with a latency target, after Justitia (NSDI 2022). docs/nic.md names what is left out.
    #[derive(Eq)]
    Justitia {
        /// Target completion time of latency-sensitive applications.
        latency_target: Duration = Duration::from_us(10) => period,
        /// Larger messages of paced applications are split into pieces of this size.
        chunk: Bytes = Bytes::new(5000) => within(BYTE, LARGEST),
        /// Time between adjustments of the rate.
        interval: Duration = Duration::from_us(100) => period,
        /// Lowest rate of tokens.
        min_rate: Rate = Rate::from_gbps(4) => rate,
    }
}

element! {
    /// A range of sizes.
    #[derive(Copy, Eq)]
    SizeRange {
        /// The smallest.
        low: Bytes => message,
        /// The largest.
        high: Bytes => message,
        /// What is uniform.
        spread: Spread = "Spread::default",
    }
}

words! {
    /// What is uniformly distributed.
    Spread = Uniform {
        /// The size.
        Uniform "uniform",
        /// The logarithm of the size.
        LogUniform "log-uniform",
    }
}
