//! What the page receives, field by field: the contract with `report/*.js`.

use fairlane_fabric::Outcome;
use serde::Serialize;

/// All data of the page.
#[derive(Debug, Serialize)]
pub(super) struct ReportData {
    pub(super) heading: HeadingData,
    pub(super) ending: EndingData,
    pub(super) tiles: Vec<Tile>,
    pub(super) slowdown: Vec<SlowdownBin>,
    pub(super) completion: Distribution,
    pub(super) queue: Distribution,
    pub(super) series: SeriesData,
    pub(super) signals: Vec<SignalRow>,
    pub(super) map: MapData,
    /// Links that went down or came back, in order of time.
    pub(super) faults: Vec<FaultData>,
    /// The slowest messages, the slowest first.
    pub(super) slowest: Vec<SlowRow>,
    /// Collectives and steps of training, perhaps only the slowest.
    pub(super) collectives: CollectivesData,
    /// The switch ports that used most of their rate, the hottest first.
    pub(super) hottest: Vec<HotRow>,
    /// Only if there are several.
    pub(super) tenants: Option<TenantsData>,
    /// Only of an attack that is drawn beside an honest run.
    pub(super) attack: Option<AttackData>,
    pub(super) scenario: String,
}

/// The head of the page.
#[derive(Debug, Serialize)]
pub(super) struct HeadingData {
    pub(super) name: String,
    /// Label and text, in the order of display.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) version: String,
}

/// How the run ended.
#[derive(Debug, Serialize)]
pub(super) struct EndingData {
    pub(super) kind: EndingKind,
    /// A word or two.
    pub(super) label: &'static str,
    /// A sentence; empty if there is nothing to explain.
    pub(super) reason: String,
    /// The ports of a circle of pauses.
    pub(super) details: Vec<String>,
}

/// Decides the colour of the ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EndingKind {
    /// The run goes on.
    Running,
    Complete,
    Stopped,
    Stalled,
    Failed,
}

/// One key figure.
#[derive(Debug, Serialize)]
pub(super) struct Tile {
    pub(super) label: &'static str,
    pub(super) value: String,
    pub(super) unit: String,
    /// Small print below.
    pub(super) note: String,
    /// Whether it is a reason for concern.
    pub(super) bad: bool,
}

/// Slowdown percentiles of the messages of one bin of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowdownBin {
    /// Largest size in the bin, in bytes.
    pub size: u64,
    /// Messages in the bin.
    pub count: u64,
    /// Median; this and other percentiles of enough messages.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
}

/// A distribution function: `share[i]` of the values are at most `value[i]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Values in ascending order, above 0.
    pub value: Vec<f64>,
    /// Shares from 0 to 1, not descending.
    pub share: Vec<f64>,
    /// The share of values that are 0.
    pub zero: f64,
    /// The number of values.
    pub count: u64,
}

/// What happened over time, all of equal length.
#[derive(Debug, Default, Serialize)]
pub(super) struct SeriesData {
    /// Start of the first interval in nanoseconds.
    pub(super) start_ns: f64,
    /// Length of an interval in nanoseconds.
    pub(super) step_ns: f64,
    /// Rate in Gb/s at which links deliver to hosts, headers included.
    pub(super) delivered_gbps: Vec<f64>,
    /// Packets marked.
    pub(super) marks: Vec<f64>,
    /// Pause frames received.
    pub(super) pauses: Vec<f64>,
    /// Share of port time spent paused, 0 to 1.
    pub(super) paused_share: Vec<f64>,
    /// Most bytes waiting at any switch port.
    pub(super) queue_max: Vec<u64>,
}

/// A link that went down or came back.
#[derive(Debug, Serialize)]
pub(super) struct FaultData {
    pub(super) time_ns: f64,
    /// The port at one of its ends.
    pub(super) port: u32,
    pub(super) up: bool,
}

/// One of the slowest messages.
#[derive(Debug, Serialize)]
pub(super) struct SlowRow {
    pub(super) id: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
    /// In bytes.
    pub(super) size: u64,
    pub(super) start_ns: f64,
    /// Until it completed, or until the end of the run.
    pub(super) span_ns: f64,
    /// `span_ns` over the time alone on the fabric.
    pub(super) slowdown: f64,
    /// Packets sent more than once.
    pub(super) retransmitted: u32,
    pub(super) outcome: Outcome,
    /// Number of its tenant.
    pub(super) tenant: u32,
}

/// Collectives and steps of training.
#[derive(Debug, Default, Serialize)]
pub(super) struct CollectivesData {
    /// In order of step; the slowest, if there are many.
    pub(super) rows: Vec<CollectiveRow>,
    /// How many there are.
    pub(super) count: usize,
}

/// A collective, or a step of training.
#[derive(Debug, Serialize)]
pub(super) struct CollectiveRow {
    pub(super) step: u32,
    /// Operation, algorithm and name.
    pub(super) what: String,
    pub(super) ranks: u32,
    /// In bytes; of a step that of all its messages.
    pub(super) size: u64,
    /// Nothing if it hasn't ended.
    pub(super) time_ns: Option<f64>,
    pub(super) algorithm_gbps: Option<f64>,
    pub(super) bus_gbps: Option<f64>,
    /// The rank that ended last, and what it waited for.
    pub(super) slowest: String,
}

/// One of the hottest switch ports.
#[derive(Debug, Serialize)]
pub(super) struct HotRow {
    pub(super) port: u32,
    /// The part of the port's rate that it sends over the whole run, 0 to about 1.
    pub(super) utilisation: f64,
    /// In its busiest interval.
    pub(super) busiest: f64,
    /// Most bytes that waited.
    pub(super) queue_max: u64,
    /// Packets.
    pub(super) marked: u64,
    pub(super) paused_ns: u64,
}

/// A line of the signals table.
#[derive(Debug, Serialize)]
pub(super) struct SignalRow {
    pub(super) name: String,
    pub(super) value: String,
    /// What it counts, or why it is zero.
    pub(super) note: String,
    pub(super) zero: bool,
}

/// The fabric and its states.
#[derive(Debug, Default, Serialize)]
pub(super) struct MapData {
    pub(super) nodes: NodesData,
    pub(super) ports: PortsData,
    pub(super) frames: FramesData,
}

/// Nodes, by node number.
#[derive(Debug, Default, Serialize)]
pub(super) struct NodesData {
    /// Tier, 0 for hosts.
    pub(super) tier: Vec<u8>,
    /// 0 (left) to 1.
    pub(super) x: Vec<f32>,
    /// 0 (top) to 1.
    pub(super) y: Vec<f32>,
    /// Name of one node of each tier.
    pub(super) tier_names: Vec<String>,
}

/// Ports, by port number; each is one direction of a link.
#[derive(Debug, Default, Serialize)]
pub(super) struct PortsData {
    /// The node that sends.
    pub(super) node: Vec<u32>,
    /// The node that receives.
    pub(super) peer_node: Vec<u32>,
    /// The port of the other direction.
    pub(super) peer: Vec<u32>,
    /// Number of the port at its node.
    pub(super) number: Vec<u32>,
    /// Rate in bits per second.
    pub(super) rate: Vec<u64>,
}

/// States of the ports: byte `frame * ports + port` of each array, in base64.
#[derive(Debug, Default, Serialize)]
pub(super) struct FramesData {
    pub(super) count: usize,
    /// Start of the first frame in nanoseconds.
    pub(super) start_ns: f64,
    /// Length of a frame in nanoseconds.
    pub(super) step_ns: f64,
    /// Bytes sent over bytes that fit: 0 to 255 for 0 to 1.
    pub(super) utilisation: String,
    /// Deepest queue of the frame: 0 for 0, then 1 to 255 for `queue_min` to `queue_max` on a
    /// logarithmic scale.
    pub(super) queue: String,
    /// Share of the frame in which the port was paused: 0 to 255 for 0 to 1, at least 1 if ever.
    pub(super) paused: String,
    /// Bytes that code 1 of `queue` stands for.
    pub(super) queue_min: f64,
    /// Bytes that code 255 of `queue` stands for.
    pub(super) queue_max: f64,
}

/// Tenants side by side.
#[derive(Debug, Serialize)]
pub(super) struct TenantsData {
    /// Jain's index of throughput over weight.
    pub(super) fairness: Option<String>,
    pub(super) tenants: Vec<TenantData>,
    /// Links that several tenants contended for, the longest first, perhaps not all.
    pub(super) links: Vec<LinkData>,
    /// How many of those there are.
    pub(super) shared_links: usize,
    /// Contended links, including the ones that one tenant alone filled.
    pub(super) contended_links: usize,
}

/// One tenant.
#[derive(Debug, Serialize)]
pub(super) struct TenantData {
    pub(super) name: String,
    /// Weight, messages, throughput, slowdown p50, p99 and p99.9, small messages and their p99 and p99.9,
    /// marks, CNPs, retransmissions, drops.
    pub(super) cells: Vec<String>,
    /// Payload placed at receivers, in the intervals of [`SeriesData`].
    pub(super) placed_gbps: Vec<f64>,
    pub(super) slowdown: Vec<SlowdownBin>,
}

/// A link that several tenants contended for.
#[derive(Debug, Serialize)]
pub(super) struct LinkData {
    /// The node that sends.
    pub(super) node: u32,
    /// The node that receives.
    pub(super) peer_node: u32,
    /// For how long it was contended.
    pub(super) contended_ns: f64,
    /// By tenant, its part of the bytes sent in that time.
    pub(super) shares: Vec<f64>,
    /// Jain's index of these parts over weight.
    pub(super) fairness: Option<String>,
}

/// An attack beside the honest run.
#[derive(Debug, Serialize)]
pub(super) struct AttackData {
    /// Which attack under which scope.
    pub(super) title: String,
    /// When it begins and ends, in nanoseconds.
    pub(super) window_ns: [f64; 2],
    /// Attacker and victims.
    pub(super) lines: Vec<AttackLine>,
}

/// Payload placed at receivers, in the intervals of [`SeriesData`].
#[derive(Debug, Serialize)]
pub(super) struct AttackLine {
    pub(super) name: String,
    /// Number of the tenant, if it is about one.
    pub(super) tenant: Option<u32>,
    pub(super) gbps: Vec<f64>,
    /// In the honest run; nothing after its end.
    pub(super) honest_gbps: Vec<Option<f64>>,
}
