//! The types of a scenario, section by section, each default with its source.

use std::path::PathBuf;

use fairlane_hpcc_files::Times;
use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optional::is_one;
use crate::planes::MOST_PLANES;
use crate::rules::{BYTE, LARGEST, LONGEST_PACKET};
use crate::section::{element, number, section, tagged_table, words};

pub use crate::attack::{Attack, AttackKind};
pub use crate::classes::ClassSchedule;
pub use crate::congestion::{BaseRtt, Congestion, CongestionOverride, Notification};
pub use crate::faults::{Faults, LinkFault, PauseFault, SlowLink};
pub use crate::forwarding::{FlowletParameters, Forwarding, IofdParameters, Switch};
pub use crate::host_set::HostSet;
pub use crate::lab::{Lab, LabAction, LabFault, LabProgram};
pub use crate::multipath::{Connections, Multipath, NextPorts, PathCosts, Plan, Twins};
pub use crate::nic::{Costs, Drum, Justitia, Nic, Policy, Share, SizeRange, Spread};
pub use crate::profile::Profile;
pub use crate::sizes::{SizePoint, Sizes};
pub use crate::tenant::Tenant;
pub use crate::workload::kinds::*;
pub use crate::workload::{Flow, LoadOf, Verb, Workload};

/// The largest seed: the largest integer that TOML has.
pub const LARGEST_SEED: u64 = i64::MAX.unsigned_abs();

/// The seed that comes `further` seeds after one; after the largest comes 0.
pub const fn seed_after(seed: u64, further: u64) -> u64 {
    seed.wrapping_add(further) & LARGEST_SEED
}

section! {
    /// One fabric, its traffic and the policies that it runs under.
    Scenario {
        /// Name in tables and reports; left out, the file's name without extension.
        name: String = "unnamed".into(),
        /// Seed of all random streams.
        seed [0, LARGEST_SEED]: u64 = 1,
        /// Rounding, ordering and hashing of the simulated fabric.
        profile: Profile,
        /// Simulated time at which the run ends, finished or not; `"never"`: when all messages are complete.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        stop: Option<Duration> => period,
        /// Ports whose packets are captured in both directions for `fairlane export pcap`: `"host:3"`, `"switch:7"` (all
        /// ports of node 7), `"switch:7/port:2"` (ports count from 1). Takes 64 bytes of memory per packet.
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
        multipath: Option<Multipath> => table,
        /// Hosts, switches and links.
        topology: Topology => table,
        /// Loss, and links that go down and come back.
        faults: Faults => table,
        /// Who the hosts send for; left out, one tenant called "default" with all hosts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tenant: Vec<Tenant> => table,
        /// What a tenant does to take more than its share; left out, all are honest.
        attack: Option<Attack> => table,
        /// Real programs at hosts, for `fairlane lab`; left out, none.
        #[serde(skip_serializing_if = "Option::is_none")]
        lab: Option<Lab> => table,
        /// What the hosts send.
        workload: Vec<Workload> => table,
    }
}

impl From<Profile> for Times {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Exact => Self::Exact,
            Profile::HpccNs3 => Self::Ns3,
        }
    }
}

section! {
    /// What is recorded.
    Output {
        /// Interval of the per-port time series; left out, 50 us, doubled whenever there are 1,024 intervals. There may
        /// be 16,777,216 samples (ports times intervals, 640 MiB): with more, a scenario with a `stop` is refused, else
        /// the interval doubles with a warning. `summary.json` has the final one.
        sample_interval: Option<Duration> => period,
        /// Ports, written as in `capture`, that are sampled at `sample_interval` into `chosen.parquet`; `ports.parquet`
        /// then has all ports at the default interval. Left out, all.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        ports: Vec<CapturePoint>,
        /// How often the send rates of messages' queue pairs are sampled for `rates.csv`; left out, never. Needs
        /// `congestion.scope` `"qp"` or `"none"`.
        rate_interval: Option<Duration> => period,
        /// How often switches are searched for circular waits; one that lasts ends the run as stalled. Left out, every 10
        /// ms, or 20 base round trips if longer.
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
        /// Largest payload of a packet.
        ///
        /// Source: IBTA path MTU.
        mtu: Bytes = Bytes::new(1024) => within(BYTE, MOST_MTU),
        /// Headers of every data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4; under `hpcc-ns3` PPP 14,
        /// IPv4 20, UDP 8, sequence 6.
        header: Bytes = Bytes::new(14 + 20 + 8 + 12 + 4 + 4) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Extra header of the first packet of a WRITE and of a READ request: RETH 16. Other headers have the sizes of
        /// the specification.
        first_header: Bytes = Bytes::new(16) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Payload is padded to a multiple of this, a power of two.
        ///
        /// Source: IBTA 9.2.1, pad count.
        padding: Bytes = Bytes::new(4) => within(BYTE, Bytes::new(64)),
        /// Headers of an acknowledgement: those of `header` and AETH 4; under `hpcc-ns3` PPP 14, IPv4 20, 12.
        ack: Bytes = Bytes::new(14 + 20 + 8 + 12 + 4 + 4 + 4) => within(BYTE, LONGEST_PACKET),
        /// Acknowledgements, with telemetry, are padded to at least this.
        ack_min: Bytes = Bytes::new(64) => within(Bytes::ZERO, LONGEST_PACKET),
        /// In-band telemetry, if the congestion control needs it: 5 hops of 8 bytes and 2. Shortest paths over more
        /// switches, at most 9, need more; under `hpcc-ns3` there are at most 5.
        ///
        /// Source: HPCC, section 4.1.
        telemetry: Bytes = Bytes::new(42) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Time stamp of data packets and acknowledgements, if the congestion control needs round-trip times.
        ///
        /// Source: HPCC's artefact.
        time_stamp: Bytes = Bytes::new(8) => within(Bytes::ZERO, LONGEST_PACKET),
        /// Congestion notification packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved 16, ICRC 4, FCS 4.
        ///
        /// Source: IBTA annex A17.
        cnp: Bytes = Bytes::new(14 + 20 + 8 + 12 + 16 + 4 + 4) => within(BYTE, LONGEST_PACKET),
        /// Pause frame.
        pause: Bytes = Bytes::new(64) => within(BYTE, LONGEST_PACKET),
        /// Idle bytes after every packet: preamble 8, inter-packet gap 12.
        gap: Bytes = Bytes::new(20) => within(Bytes::ZERO, LONGEST_PACKET),
    }
}

words! {
    /// In which order the packets of an egress queue leave.
    Arbitration = Fifo {
        /// As they came.
        Fifo "fifo",
        /// Round robin over ingress ports, packet by packet.
        Ingress "ingress",
    }
}

// Defaults are those of HPCC's artefact, unless another source stands beside them; it has no watchdog.
section! {
    /// Priority flow control.
    #[derive(Eq)]
    Pfc {
        /// Whether switches pause their neighbours; without, a full buffer drops.
        enabled: bool = true,
        /// Buffer reserved for each ingress port and class.
        ///
        /// Source: HPCC's artefact.
        reserve: Bytes = Bytes::new(4 << 10) => within(Bytes::ZERO, LARGEST),
        /// A pause ends when shared-buffer use is this far below the threshold.
        ///
        /// Source: HPCC's artefact.
        resume_offset: Bytes = Bytes::new(3 << 10) => within(Bytes::ZERO, LARGEST),
        /// Pause threshold: free shared buffer / 2^shift at host speed; the shift is one less for each doubling of the
        /// port's rate.
        ///
        /// Source: HPCC's artefact.
        threshold_shift [0, 32]: u32 = 3,
        /// Fixed pause threshold instead: shared buffer that one ingress port and class uses. At least `resume_offset`;
        /// the buffer must hold it for all ports and classes together.
        xoff: Option<Bytes> => within(BYTE, LARGEST),
        /// Headroom of an ingress port in multiples of rate x link delay; `"lossless"`: just enough to lose nothing.
        #[serde(with = "crate::optional::lossless")]
        #[schemars(schema_with = "crate::optional::lossless::schema")]
        headroom_delays: Option<u64> => within(0, 1000),
        /// A switch port paused this long without a break ignores pauses for `watchdog_restore`; `"never"`: off.
        ///
        /// Source: HPCC's artefact has none.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        watchdog: Option<Duration> => period,
        /// How long it ignores them.
        ///
        /// Source: SONiC, `pfcwd start_default`.
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
        /// No marks below this queue length, per Gb/s of the port; left out, 4 kB, for DCTCP and InfiniBand 3 kB.
        ///
        /// Source: HPCC, section 5.1: 100 KB at 25 Gb/s.
        kmin_per_gbps: Option<Bytes> => within(Bytes::ZERO, MOST_PER_GBPS),
        /// Every packet is marked above this queue length, per Gb/s of the port; left out, 16 kB, for DCTCP and
        /// InfiniBand 3 kB.
        ///
        /// Source: HPCC, section 5.1: 400 KB at 25 Gb/s.
        kmax_per_gbps: Option<Bytes> => within(Bytes::ZERO, MOST_PER_GBPS),
        /// Probability of a mark just below kmax, rising linearly from 0 at kmin; left out, 0.2, for DCTCP and InfiniBand
        /// 1.
        ///
        /// Source: HPCC's artefact.
        pmax [0.0, 1.0]: Option<f64>,
        /// Whether ports that face hosts mark; if not, suppressed marks are counted as `filtered_marks`. Left out, they
        /// do unless receivers divide their links (`congestion.dasr.mode`). Under `hpcc-ns3` only `true`.
        host_ports: Option<bool>,
        /// Thresholds by port rate; if any, every rate of a switch port needs one.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        threshold: Vec<EcnThreshold> => table,
    }
}

element! {
    /// Marking thresholds of the ports of one rate.
    EcnThreshold {
        /// Rate of the port.
        rate: Rate => rate,
        /// No marks at or below this queue length.
        kmin: Bytes => within(Bytes::ZERO, LARGEST),
        /// Every packet is marked above this queue length.
        kmax: Bytes => within(Bytes::ZERO, LARGEST),
        /// Probability of a mark just below kmax.
        pmax [0.0, 1.0]: f64,
    }
}

words! {
    /// Which pauses hold back acknowledgements at the host that sends them.
    AckPause = OwnClass {
        /// Those of the acknowledgement's class.
        OwnClass "own-class",
        /// Those of class 3.
        Class3 "class3",
        /// None.
        Never "never",
    }
}

section! {
    /// The queue-pair protocol.
    #[derive(Eq)]
    Transport {
        /// Service of queue pairs; all but `"rc"` are for `key-value` workloads only.
        #[serde(skip_serializing_if = "crate::nic::is_default")]
        service: Service,
        /// Time without progress until the oldest unacknowledged packet is sent again; `"never"`: not at all.
        ///
        /// Source: IBTA local ACK timeout 14, 4.096 us x 2^14.
        #[serde(with = "crate::optional::never")]
        #[schemars(schema_with = "crate::optional::never::schema")]
        ack_timeout: Option<Duration> = Some(Duration::from_ns(4096 << 14)) => period,
        /// Timeouts without progress until the queue pair fails.
        ///
        /// Source: IBTA's largest.
        retry_limit: u32 = 7,
        /// Least time between two NAKs for one packet.
        ///
        /// Source: HPCC's artefact.
        nak_interval: Duration = Duration::from_us(500) => span,
        /// Whether duplicate packets are acknowledged again (IBTA 9.7.5.1.4), else ignored.
        ack_duplicates: bool = true,
        /// Packets per acknowledgement request. A sender also requests one at the end of a message, when its window
        /// closes (one packet late if the window shrinks) and when it sends again.
        ack_interval [1, 1 << 16]: u32 = 1,
        /// What is sent again after a loss.
        recovery: Recovery,
        /// Packets of WRITEs that a receiver keeps out of order under selective repeat.
        reorder_window [1, 65_535]: u32 = 1024,
        /// Under selective repeat, by how many packets one may overtake another before the other counts as lost; less
        /// than `reorder_window`. Left out, the largest bandwidth-delay product in packets if `switch.forwarding` isn't
        /// `"ecmp"`, else 0.
        ///
        /// Source: RFC 8985, section 6.2: at most a round trip.
        reorder_tolerance: Option<u32>,
        /// Whether every packet of a WRITE carries its address, like a WRITE of its own, so that selective repeat places
        /// it on arrival.
        direct_placement: bool,
        /// Whether acknowledgements use the switches' control queue, ahead of data.
        ack_control_class: bool,
    }
}

words! {
    /// The service of queue pairs (IBTA 9.1).
    Service = Rc {
        /// Reliable connection.
        Rc "rc",
        /// Unreliable connection: WRITE and SEND.
        Uc "uc",
        /// Unreliable datagram: SEND of one packet.
        Ud "ud",
    }
}

words! {
    /// What is sent again after a loss.
    Recovery = GoBackN {
        /// Everything from the lost packet on.
        GoBackN "go-back-n",
        /// Only lost packets.
        SelectiveRepeat "selective-repeat",
    }
}

element! {
    /// Rate and delay of a link.
    #[derive(Copy, Eq)]
    LinkSpec {
        /// Rate in each direction.
        rate: Rate => rate,
        /// Propagation delay in each direction; 0 only under `hpcc-ns3`.
        delay: Duration => delay,
    }
}

tagged_table! {
    /// Hosts, switches and links. Hosts are numbered first, then switches.
    Topology {
        /// Two switches with hosts, joined by one link.
        Dumbbell(Dumbbell) {
            /// Hosts on the first switch.
            left: u32 => positive,
            /// Hosts on the second switch.
            right: u32 => positive,
            /// Links of hosts.
            host_link: LinkSpec => table,
            /// The link between the switches.
            core_link: LinkSpec => table,
        },
        /// One switch.
        Star(Star) {
            /// Hosts.
            hosts: u32 => positive,
            /// Links of hosts.
            host_link: LinkSpec => table,
            /// Planes: copies of the switches, each with a port of every host.
            #[serde(skip_serializing_if = "is_one")]
            #[schemars(extend("default" = 1))]
            planes [1, MOST_PLANES]: u32 = "number::<1, u32>",
        },
        /// Every leaf linked to every spine.
        LeafSpine(LeafSpine) {
            /// Leaf switches.
            leaves: u32 => positive,
            /// Spine switches.
            spines: u32 => positive,
            /// Hosts on each leaf.
            hosts_per_leaf: u32 => positive,
            /// Links of hosts.
            host_link: LinkSpec => table,
            /// Links between switches.
            fabric_link: LinkSpec => table,
            /// Planes: copies of the switches, each with a port of every host.
            #[serde(skip_serializing_if = "is_one")]
            #[schemars(extend("default" = 1))]
            planes [1, MOST_PLANES]: u32 = "number::<1, u32>",
        },
        /// Every switch linked to every other.
        Mesh(Mesh) {
            /// Switches.
            switches: u32 => positive,
            /// Hosts on each switch.
            hosts_per_switch: u32 => positive,
            /// Links of hosts.
            host_link: LinkSpec => table,
            /// Links between switches.
            fabric_link: LinkSpec => table,
        },
        /// In each pod every ToR linked to every aggregation switch; aggregation switch `a` of every pod linked to the a-th
        /// group of cores.
        FatTree(FatTree) {
            /// Pods.
            pods: u32 => positive,
            /// Top-of-rack switches in each pod.
            tors_per_pod: u32 => positive,
            /// Aggregation switches in each pod.
            aggregations_per_pod: u32 => positive,
            /// Core switches; a multiple of the aggregation switches in a pod.
            cores: u32 => positive,
            /// Hosts on each ToR.
            hosts_per_tor: u32 => positive,
            /// Links of hosts.
            host_link: LinkSpec => table,
            /// Links between switches.
            fabric_link: LinkSpec => table,
            /// Planes: copies of the switches, each with a port of every host.
            #[serde(skip_serializing_if = "is_one")]
            #[schemars(extend("default" = 1))]
            planes [1, MOST_PLANES]: u32 = "number::<1, u32>",
        },
        /// Read from a topology file.
        File(TopologyFile) {
            /// Topology file, relative to the scenario.
            path: PathBuf,
        },
    }
}

/// One or all ports of a node by its number: `"host:3"`, `"switch:7"`, `"switch:7/port:2"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CapturePoint(pub String);
