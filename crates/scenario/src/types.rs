//! The types of a scenario, section by section, each default with its source.

use std::path::PathBuf;

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::section::{element, section};
use crate::validate::limits::{BYTE, LARGEST, LONGEST_PACKET};

pub use crate::attack::{Attack, AttackKind};
pub use crate::congestion::{BaseRtt, Congestion, Notification};
pub use crate::faults::{Faults, LinkFault, PauseFault, SlowLink};
pub use crate::forwarding::{FlowletParameters, Forwarding, IofdParameters, Switch};
pub use crate::multipath::{Connections, Multipath, NextPorts, PathCosts, Plan, Twins};
pub use crate::nic::{Costs, Drum, Justitia, Nic, Policy, Share, SizeRange, Spread};
pub use crate::tenant::Tenant;
pub(crate) use crate::workload::default_class;
pub use crate::workload::{
    AllToAll, Collective, Flow, Flows, HostSet, Incast, KeyValue, Permutation, Poisson, Program,
    RingAllReduce, SizePoint, Sizes, Training, Verb, Workload,
};

section! {
    /// One fabric, its traffic and the policies that it runs under.
    Scenario {
        /// A name for tables and reports.
        name: String = "unnamed".into(),
        /// Every random stream derives from this number.
        // TOML has signed integers only.
        seed [0, i64::MAX.unsigned_abs()]: u64 = 1,
        /// The rounding, ordering and formulas of the simulated fabric.
        profile: Profile,
        /// Simulated time at which the run ends even if messages are unfinished; `"never"`: it ends when
        /// all messages are complete.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        stop: Option<Duration> => period,
        /// Ports whose packets are captured, for `fairlane export pcap`.
        capture: Vec<CapturePoint>,
        /// What is recorded.
        output: Output => table,
        /// Sizes on the wire.
        packet: PacketSizes => table,
        /// Buffers, pauses and marks of switches.
        switch: Switch => table,
        /// NICs of hosts.
        nic: Nic => table,
        /// The queue-pair protocol.
        transport: Transport => table,
        /// Congestion control and its scope.
        congestion: Congestion => table,
        /// How messages are divided among paths; left out, each takes one.
        #[serde(skip_serializing_if = "Option::is_none")]
        multipath: Option<Multipath> => table,
        /// Hosts, switches and links.
        topology: Topology,
        /// Loss, and links that go down and come back.
        faults: Faults => table,
        /// Who the hosts send for; left out, one tenant called "default" with all hosts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tenant: Vec<Tenant>,
        /// What a tenant does to take more than its share; left out, all are honest.
        #[serde(skip_serializing_if = "Option::is_none")]
        attack: Option<Attack> => table,
        /// What the hosts send.
        workload: Vec<Workload>,
    }
}

/// The rounding, ordering and formulas of the simulated fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Exact picoseconds; simultaneous events in the order of the components that they wake.
    #[default]
    Exact,
    /// The nanosecond rounding, hashing and insertion order of HPCC's ns-3 simulator.
    HpccNs3,
}

section! {
    /// What is recorded.
    Output {
        /// Interval of the per-port time series, which is kept; left out, 50 us, doubled whenever there are 1024.
        #[serde(skip_serializing_if = "Option::is_none")]
        sample_interval: Option<Duration> => period,
        /// The ports that `sample_interval` is about, recorded apart from all others in `chosen.parquet`; left out, all.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<CapturePoint>,
        /// How often the rates that messages may be sent at are looked at, for `rates.csv`; left out, never.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate_interval: Option<Duration> => period,
        /// How often switches are looked at for waits in a circle, by which a run ends as stalled; left out, every
        /// 10 ms, or 20 base round trips if that is longer.
        #[serde(skip_serializing_if = "Option::is_none")]
        deadlock_interval: Option<Duration> => period,
        /// Nodes whose packets are recorded one by one in `packets.csv`.
        trace_nodes: Vec<u32>,
    }
}

/// Jumbo frames end here on most hardware.
const MOST_MTU: Bytes = Bytes::new(9216);

section! {
    /// Sizes on the wire.
    #[derive(Eq)]
    PacketSizes {
        /// Largest payload of one packet.
        mtu: Bytes = Bytes::new(1024) => within(BYTE, MOST_MTU),
        /// Headers and trailer of every data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
        header: Bytes = Bytes::new(14 + 20 + 8 + 12 + 4 + 4) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Further header on the first packet of a WRITE and on a READ request: RETH 16. Headers of other
        /// operations have the sizes that the specification gives.
        first_header: Bytes = Bytes::new(16) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Payload is padded to a multiple of this, a power of two.
        // IBTA 9.2.1: the pad count of the BTH makes payload a multiple of four bytes.
        padding: Bytes = Bytes::new(4) => within(BYTE, Bytes::new(64)),
        /// An acknowledgement without telemetry: the headers above with AETH 4.
        ack: Bytes = Bytes::new(14 + 20 + 8 + 12 + 4 + 4 + 4) => within(BYTE, LONGEST_PACKET),
        /// Shorter acknowledgements are padded to this.
        ack_min: Bytes = Bytes::new(64) => within(Bytes::ZERO, LONGEST_PACKET),
        /// In-band telemetry on data packets and acknowledgements, if the congestion control needs it.
        // HPCC, section 4.1: up to 5 hops of 8 bytes and a 2-byte hop count.
        telemetry: Bytes = Bytes::new(42) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Time stamp on data packets and acknowledgements, if the congestion control needs round-trip
        /// times.
        // 64 bits, as HPCC's artefact has it for TIMELY.
        time_stamp: Bytes = Bytes::new(8) => within(Bytes::ZERO, LONGEST_PACKET),
        /// A congestion notification packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved 16, ICRC 4,
        /// FCS 4.
        // IBTA annex A17: the payload of a RoCEv2 CNP is 16 reserved bytes.
        cnp: Bytes = Bytes::new(14 + 20 + 8 + 12 + 16 + 4 + 4) => within(BYTE, LONGEST_PACKET),
        /// A pause frame.
        pause: Bytes = Bytes::new(64) => within(BYTE, LONGEST_PACKET),
        /// Idle bytes after every packet: preamble 8 and inter-packet gap 12.
        gap: Bytes = Bytes::new(20) => within(Bytes::ZERO, LONGEST_PACKET),
    }
}

/// In which order the packets of an egress queue leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// As they came.
    #[default]
    Fifo,
    /// Round robin over the ports that they came in by, packet by packet.
    Ingress,
}

// Defaults are those of HPCC's artefact, unless another source stands beside them; it has no watchdog.
section! {
    /// Priority flow control.
    #[derive(Eq)]
    Pfc {
        /// Whether switches pause their neighbours; without, a full buffer drops.
        enabled: bool = true,
        /// Buffer reserved for each ingress port and class.
        reserve: Bytes = Bytes::new(4 << 10) => within(Bytes::ZERO, LARGEST),
        /// A pause ends when the use of shared buffer is this far below the threshold.
        resume_offset: Bytes = Bytes::new(3 << 10) => within(Bytes::ZERO, LARGEST),
        /// The pause threshold is the free shared buffer / 2^shift, for ports at host speed; the shift
        /// is one less for each doubling of the port's rate above it.
        // HPCC, section 5.1: the threshold is a share of the free buffer.
        threshold_shift [0, 32]: u32 = 3,
        /// A fixed pause threshold, for the shared buffer that one ingress port and class uses, in place of that share.
        #[serde(skip_serializing_if = "Option::is_none")]
        xoff: Option<Bytes> => within(BYTE, LARGEST),
        /// Headroom of an ingress port in multiples of rate x link delay; `"lossless"`: just enough
        /// that nothing is lost.
        #[serde(with = "crate::optional::lossless")]
        #[schemars(schema_with = "crate::optional::lossless::schema")]
        headroom_delays: Option<u64> => within(0, 1000),
        /// After a port of a switch has been paused this long without a break, it ignores pauses for
        /// `watchdog_restore`; `"never"`: it always obeys.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        watchdog: Option<Duration> => period,
        /// How long a port whose watchdog has bitten ignores pauses.
        // SONiC (`pfcwd start_default`).
        watchdog_restore: Duration = Duration::from_ms(200) => period,
    }
}

/// The longest queue at which marking may begin, per Gb/s.
const MOST_PER_GBPS: Bytes = Bytes::new(1 << 30);

section! {
    /// RED-style marking at egress.
    Ecn {
        /// Whether switches mark.
        enabled: bool = true,
        /// No marks below this queue length, per Gb/s of the port; left out, what the congestion control
        /// was published with, as for the next two.
        #[serde(skip_serializing_if = "Option::is_none")]
        kmin_per_gbps: Option<Bytes> => within(Bytes::ZERO, MOST_PER_GBPS),
        /// Every packet is marked above this queue length, per Gb/s of the port.
        #[serde(skip_serializing_if = "Option::is_none")]
        kmax_per_gbps: Option<Bytes> => within(Bytes::ZERO, MOST_PER_GBPS),
        /// Probability of a mark just below kmax, rising linearly from 0 at kmin.
        #[serde(skip_serializing_if = "Option::is_none")]
        pmax [0.0, 1.0]: Option<f64>,
        /// Whether ports that face hosts mark; left out, unless receivers divide their links (`congestion.dasr`).
        #[serde(skip_serializing_if = "Option::is_none")]
        host_ports: Option<bool>,
        /// Thresholds by port rate; if any is given, every rate of a switch port needs one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        threshold: Vec<EcnThreshold> => each,
    }
}

element! {
    /// Marking thresholds of the ports of one rate.
    EcnThreshold {
        /// The port's rate.
        rate: Rate => rate,
        /// No marks at or below this queue length.
        kmin: Bytes => within(Bytes::ZERO, LARGEST),
        /// Every packet is marked above this queue length.
        kmax: Bytes => within(Bytes::ZERO, LARGEST),
        /// Probability of a mark at kmax.
        pmax [0.0, 1.0]: f64,
    }
}

/// Which pauses hold back acknowledgements at the host that sends them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPause {
    /// Those of the acknowledgement's own class.
    #[default]
    OwnClass,
    /// Those of class 3, whatever the acknowledgement's class.
    Class3,
    /// None.
    Never,
}

section! {
    /// The queue-pair protocol.
    #[derive(Eq)]
    Transport {
        /// The service of queue pairs; all but `"rc"` serve `key-value` workloads only.
        #[serde(skip_serializing_if = "crate::nic::is_default")]
        service: Service,
        /// Time without progress after which the oldest unacknowledged packet is sent again (IBTA local
        /// ACK timeout; 4.096 us x 2^14 is what perftest sets); `"never"`: not at all.
        // IBTA 11.6.2.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        ack_timeout: Option<Duration> = Some(Duration::from_ns(4096 << 14)) => period,
        /// Timeouts without progress after which the queue pair fails.
        retry_limit: u32 = 7,
        /// Shortest time between two NAKs for the same packet.
        nak_interval: Duration = Duration::from_us(500) => span,
        /// Whether a duplicate packet is acknowledged again (IBTA 9.7.5.1.4) or ignored.
        ack_duplicates: bool = true,
        /// Every how many packets a sender asks for an acknowledgement; it also asks at the end of a
        /// message, when its window closes, and whenever it sends again.
        ack_interval [1, 1 << 16]: u32 = 1,
        /// What is sent again after a loss.
        recovery: Recovery,
        /// Packets that a receiver keeps out of order under selective repeat, 1 to 65535.
        reorder_window [1, 65_535]: u32 = 1024,
        /// By how many packets one may overtake another before the one behind counts as lost, under selective
        /// repeat; left out, a base round trip of packets where switches let packets of a flow pass each
        /// other, else 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        reorder_tolerance: Option<u32>,
        /// Whether every packet of a WRITE carries its address (as a WRITE of its own), so that under
        /// selective repeat it is placed whenever it arrives.
        direct_placement: bool,
        /// Whether acknowledgements travel in the control queue of switches, ahead of data, instead of
        /// in the class of the data that they acknowledge.
        ack_control_class: bool,
    }
}

/// The service of queue pairs (IBTA 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Reliable connection.
    #[default]
    Rc,
    /// Unreliable connection: WRITE and SEND.
    Uc,
    /// Unreliable datagram: SEND of one packet.
    Ud,
}

/// What is sent again after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// Everything from the lost packet on.
    #[default]
    GoBackN,
    /// What is lost; the receiver keeps WRITE packets that come too early.
    SelectiveRepeat,
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation delay, each way.
    pub delay: Duration,
}

/// Hosts, switches and links. Hosts are numbered first, then switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Two switches, hosts on either side, one link between.
    Dumbbell {
        /// Hosts on the first switch.
        left: u32,
        /// Hosts on the second switch.
        right: u32,
        /// Links of hosts.
        host_link: LinkSpec,
        /// The link between the switches.
        core_link: LinkSpec,
    },
    /// One switch.
    Star {
        /// Hosts.
        hosts: u32,
        /// Links of hosts.
        host_link: LinkSpec,
        /// How often there are its switches, each time with a port of every host; 1 to 8.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        planes: u32,
    },
    /// Every leaf is linked to every spine.
    LeafSpine {
        /// Leaf switches.
        leaves: u32,
        /// Spine switches.
        spines: u32,
        /// Hosts on each leaf.
        hosts_per_leaf: u32,
        /// Links of hosts.
        host_link: LinkSpec,
        /// Links between leaves and spines.
        fabric_link: LinkSpec,
        /// How often there are its switches, each time with a port of every host; 1 to 8.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        planes: u32,
    },
    /// Every switch is linked to every other.
    Mesh {
        /// Switches.
        switches: u32,
        /// Hosts on each switch.
        hosts_per_switch: u32,
        /// Links of hosts.
        host_link: LinkSpec,
        /// Links between switches.
        fabric_link: LinkSpec,
    },
    /// Three tiers: in each pod every ToR is linked to every aggregation switch; aggregation switch
    /// `a` of every pod is linked to the a-th group of cores.
    FatTree {
        /// Pods.
        pods: u32,
        /// Top-of-rack switches in each pod.
        tors_per_pod: u32,
        /// Aggregation switches in each pod.
        aggregations_per_pod: u32,
        /// Core switches; a multiple of the aggregation switches in a pod.
        cores: u32,
        /// Hosts on each ToR.
        hosts_per_tor: u32,
        /// Links of hosts.
        host_link: LinkSpec,
        /// Links between switches.
        fabric_link: LinkSpec,
        /// How often there are its switches, each time with a port of every host; 1 to 8.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        planes: u32,
    },
    /// From a file in the topology text of HPCC's simulator.
    File {
        /// The file, relative to the scenario.
        path: PathBuf,
    },
}
/// One or all ports of a node by its number: `"host:3"`, `"switch:7"`, `"switch:7/port:2"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CapturePoint(pub String);

pub(crate) fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) const fn is_one(count: &u32) -> bool {
    *count == 1
}
