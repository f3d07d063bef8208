//! The types of a scenario, section by section, each default with its source.

use std::path::PathBuf;

use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// One fabric, its traffic and the policies that it runs under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Scenario {
    /// A name for tables and reports.
    pub name: String,
    /// Every random stream derives from this number.
    pub seed: u64,
    /// The rounding, ordering and formulas of the simulated fabric.
    pub profile: Profile,
    /// Simulated time at which the run ends even if messages are unfinished; `"never"`: it ends when
    /// all messages are complete.
    #[serde(with = "crate::optional::never")]
    #[schemars(schema_with = "crate::optional::never::schema")]
    pub stop: Option<Duration>,
    /// Ports whose packets are captured, for `fairlane export pcap`.
    pub capture: Vec<CapturePoint>,
    /// What is recorded.
    pub output: Output,
    /// Sizes on the wire.
    pub packet: PacketSizes,
    /// Buffers, pauses and marks of switches.
    pub switch: Switch,
    /// NICs of hosts.
    pub nic: Nic,
    /// The queue-pair protocol.
    pub transport: Transport,
    /// Congestion control and its scope.
    pub congestion: Congestion,
    /// How messages are divided among paths; left out, each takes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipath: Option<Multipath>,
    /// Hosts, switches and links.
    pub topology: Topology,
    /// Loss, and links that go down and come back.
    pub faults: Faults,
    /// Who the hosts send for; left out, one tenant called "default" with all hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<Tenant>,
    /// What a tenant does to take more than its share; left out, all are honest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack: Option<Attack>,
    /// What the hosts send.
    pub workload: Vec<Workload>,
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

/// What is recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Interval of the per-port time series, which is kept; left out, 50 us, doubled whenever there are 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample_interval: Option<Duration>,
    /// The ports that `sample_interval` is about, recorded apart from all others in `chosen.parquet`; left out, all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<CapturePoint>,
    /// How often the rates that messages may be sent at are looked at, for `rates.csv`; left out, never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_interval: Option<Duration>,
    /// How often switches are looked at for waits in a circle, by which a run ends as stalled; left out, every
    /// 10 ms, or 20 base round trips if that is longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock_interval: Option<Duration>,
    /// Nodes whose packets are recorded one by one in `packets.csv`.
    pub trace_nodes: Vec<u32>,
}

/// Sizes on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PacketSizes {
    /// Largest payload of one packet.
    pub mtu: Bytes,
    /// Headers and trailer of every data packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
    pub header: Bytes,
    /// Further header on the first packet of a WRITE and on a READ request: RETH 16. Headers of other
    /// operations have the sizes that the specification gives.
    pub first_header: Bytes,
    /// Payload is padded to a multiple of this, a power of two.
    pub padding: Bytes,
    /// An acknowledgement without telemetry: the headers above with AETH 4.
    pub ack: Bytes,
    /// Shorter acknowledgements are padded to this.
    pub ack_min: Bytes,
    /// In-band telemetry on data packets and acknowledgements, if the congestion control needs it.
    pub telemetry: Bytes,
    /// Time stamp on data packets and acknowledgements, if the congestion control needs round-trip
    /// times.
    pub time_stamp: Bytes,
    /// A congestion notification packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved 16, ICRC 4,
    /// FCS 4.
    pub cnp: Bytes,
    /// A pause frame.
    pub pause: Bytes,
    /// Idle bytes after every packet: preamble 8 and inter-packet gap 12.
    pub gap: Bytes,
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

/// Priority flow control.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Whether switches pause their neighbours; without, a full buffer drops.
    pub enabled: bool,
    /// Buffer reserved for each ingress port and class.
    pub reserve: Bytes,
    /// A pause ends when the use of shared buffer is this far below the threshold.
    pub resume_offset: Bytes,
    /// The pause threshold is the free shared buffer / 2^shift, for ports at host speed; the shift
    /// is one less for each doubling of the port's rate above it.
    pub threshold_shift: u32,
    /// A fixed pause threshold, for the shared buffer that one ingress port and class uses, in place of that share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Headroom of an ingress port in multiples of rate x link delay; `"lossless"`: just enough
    /// that nothing is lost.
    #[serde(with = "crate::optional::lossless")]
    #[schemars(schema_with = "crate::optional::lossless::schema")]
    pub headroom_delays: Option<u64>,
    /// After a port of a switch has been paused this long without a break, it ignores pauses for
    /// `watchdog_restore`; `"never"`: it always obeys.
    #[serde(with = "crate::optional::never")]
    #[schemars(schema_with = "crate::optional::never::schema")]
    pub watchdog: Option<Duration>,
    /// How long a port whose watchdog has bitten ignores pauses.
    pub watchdog_restore: Duration,
}

/// RED-style marking at egress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ecn {
    /// Whether switches mark.
    pub enabled: bool,
    /// No marks below this queue length, per Gb/s of the port; left out, what the congestion control
    /// was published with, as for the next two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin_per_gbps: Option<Bytes>,
    /// Every packet is marked above this queue length, per Gb/s of the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax_per_gbps: Option<Bytes>,
    /// Probability of a mark just below kmax, rising linearly from 0 at kmin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<f64>,
    /// Whether ports that face hosts mark; left out, unless receivers divide their links (`congestion.dasr`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_ports: Option<bool>,
    /// Thresholds by port rate; if any is given, every rate of a switch port needs one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threshold: Vec<EcnThreshold>,
}

/// Marking thresholds of the ports of one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EcnThreshold {
    /// The port's rate.
    pub rate: Rate,
    /// No marks at or below this queue length.
    pub kmin: Bytes,
    /// Every packet is marked above this queue length.
    pub kmax: Bytes,
    /// Probability of a mark at kmax.
    pub pmax: f64,
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

/// The queue-pair protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Transport {
    /// The service of queue pairs; all but `"rc"` serve `key-value` workloads only.
    #[serde(skip_serializing_if = "crate::nic::is_default")]
    pub service: Service,
    /// Time without progress after which the oldest unacknowledged packet is sent again (IBTA local
    /// ACK timeout; 4.096 us x 2^14 is what perftest sets); `"never"`: not at all.
    #[serde(with = "crate::optional::never")]
    #[schemars(schema_with = "crate::optional::never::schema")]
    pub ack_timeout: Option<Duration>,
    /// Timeouts without progress after which the queue pair fails.
    pub retry_limit: u32,
    /// Shortest time between two NAKs for the same packet.
    pub nak_interval: Duration,
    /// Whether a duplicate packet is acknowledged again (IBTA 9.7.5.1.4) or ignored.
    pub ack_duplicates: bool,
    /// Every how many packets a sender asks for an acknowledgement; it also asks at the end of a
    /// message, when its window closes, and whenever it sends again.
    pub ack_interval: u32,
    /// What is sent again after a loss.
    pub recovery: Recovery,
    /// Packets that a receiver keeps out of order under selective repeat, 1 to 65535.
    pub reorder_window: u32,
    /// By how many packets one may overtake another before the one behind counts as lost, under selective
    /// repeat; left out, a base round trip of packets where switches let packets of a flow pass each
    /// other, else 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_tolerance: Option<u32>,
    /// Whether every packet of a WRITE carries its address (as a WRITE of its own), so that under
    /// selective repeat it is placed whenever it arrives.
    pub direct_placement: bool,
    /// Whether acknowledgements travel in the control queue of switches, ahead of data, instead of
    /// in the class of the data that they acknowledge.
    pub ack_control_class: bool,
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

impl Default for Scenario {
    fn default() -> Self {
        Self {
            name: "unnamed".into(),
            seed: 1,
            profile: Profile::Exact,
            stop: None,
            capture: Vec::new(),
            output: Output::default(),
            packet: PacketSizes::default(),
            switch: Switch::default(),
            nic: Nic::default(),
            transport: Transport::default(),
            congestion: Congestion::default(),
            multipath: None,
            topology: Topology::default(),
            faults: Faults::default(),
            tenant: Vec::new(),
            attack: None,
            workload: Vec::new(),
        }
    }
}
