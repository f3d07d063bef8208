//! What the results of a run say, as far as findings need it.

use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The scenario's name.
    pub name: String,
    /// When the time series begins.
    pub start_ps: u64,
    /// When the run ended.
    pub end_ps: u64,
    /// Length of an interval of the time series.
    pub interval_ps: u64,
    /// All ports of the fabric.
    pub ports: Vec<Port>,
    /// All messages.
    pub messages: Vec<Message>,
    /// What the scenario says.
    pub settings: Settings,
    /// Congestion notifications that reached senders.
    pub cnps: u64,
    /// Connections with several paths, if there are any.
    pub multipath: Option<Multipath>,
    /// Collectives that have ended, without whole steps of training.
    pub collectives: Vec<Collective>,
    /// The largest bandwidth-delay product of all pairs of hosts, in bytes.
    pub bdp_bytes: u64,
}

/// A port: one end of a link, and what that end sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// The node that owns it.
    pub node: u32,
    /// Its number at that node, from 1.
    pub number: u32,
    /// The node at the other end.
    pub peer: u32,
    /// Whether the node that owns it is a switch.
    pub on_switch: bool,
    /// Rate of the link in bits per second.
    pub rate_bps: u64,
    /// Bytes sent in each interval, with the gaps behind packets.
    pub sent: Vec<u64>,
    /// Nanoseconds of each interval in which a class was paused.
    pub paused_ns: Vec<u64>,
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its number.
    pub id: u32,
    /// The host whose data it is.
    pub source: u32,
    /// The host that the data goes to.
    pub destination: u32,
    /// Payload in bytes.
    pub size: u64,
    /// When it was posted.
    pub start_ps: u64,
    /// When it completed, if it did.
    pub finish_ps: Option<u64>,
    /// Its completion time alone on the fabric.
    pub ideal_ps: u64,
    /// Packets that were sent more than once.
    pub retransmitted: u64,
    /// Whether its queue pair gave up.
    pub failed: bool,
    /// What its data passed; nothing if that isn't known or several ways were taken.
    pub way: Way,
}

/// A collective that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// What it is called: `all-reduce ring`.
    pub what: String,
    /// The step of training or round.
    pub step: u32,
    /// From the first beginning to the last end.
    pub time_ps: u64,
    /// The rank that ended last.
    pub slowest_rank: u32,
    /// Its host.
    pub slowest_host: u32,
    /// The message that it waited for last; nothing if it began too late itself.
    pub last_message: Option<u32>,
}

/// What the scenario says, as it stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `congestion.algorithm`.
    pub algorithm: String,
    /// `congestion.scope`.
    pub scope: String,
    /// `congestion.window`.
    pub window: String,
    /// Whether links fail in it, so that messages may have left the ways that they began on.
    pub link_faults: bool,
    /// Keys of its topology that make links faster.
    pub links: LinkKeys,
}

/// Keys that make links faster; which ones there are depends on the kind of topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKeys {
    /// Key for the rate of hosts' links.
    pub host: &'static str,
    /// Key for the rate of links between switches.
    pub fabric: &'static str,
    /// Whether `topology.planes` gives hosts more links.
    pub planes: bool,
}

impl Default for LinkKeys {
    /// The keys of a leaf-spine or a fat-tree.
    fn default() -> Self {
        Self {
            host: "topology.host_link.rate",
            fabric: "topology.fabric_link.rate",
            planes: true,
        }
    }
}

/// Connections with several paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Multipath {
    /// Work requests that were posted for messages, those that were posted again included.
    pub chunks: u64,
    /// Work requests for data that was posted before.
    pub again: u64,
    /// Whether the queue pairs of a connection were coupled.
    pub coupled: bool,
    /// Work requests that a path may have in flight (`multipath.depth`).
    pub depth: u64,
    /// Processor time of the libraries.
    pub costs: Costs,
    /// By source, destination and number of the path.
    pub paths: Vec<Path>,
}

impl Multipath {
    /// What paths may have in flight together, by the size of their chunks.
    pub(crate) fn in_flight<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> u64 {
        let of_path = |path: &Path| path.bytes / path.chunks.max(1) * self.depth;
        paths.map(of_path).sum()
    }
}

/// Processor time of all libraries, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// For posting work requests.
    pub post_ns: f64,
    /// For polling completions.
    pub poll_ns: f64,
    /// For cutting chunks off.
    pub split_ns: f64,
    /// For putting messages together at destinations.
    pub reassemble_ns: f64,
}

impl Costs {
    /// What the sending end spent.
    pub(crate) fn at_source(&self) -> f64 {
        self.post_ns + self.poll_ns + self.split_ns
    }
}

/// A path between two hosts, over all connections between them.
///
/// A path is read from a row of `paths.csv`, whose columns are called as its fields.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Path {
    /// The host that posts.
    pub source: u32,
    /// The other host.
    pub destination: u32,
    /// Number of the path in its connection.
    pub path: u32,
    /// UDP source port in the first connection.
    pub source_port: u16,
    /// Payload of work requests that were acknowledged.
    pub bytes: u64,
    /// How many these were.
    pub chunks: u64,
    /// Work requests whose queue pair gave up.
    pub failures: u64,
    /// How often the path was given up for a while.
    pub quarantines: u64,
    /// The path that was used in its place, as both take one way.
    pub twin_of: Option<u32>,
    /// How it was at the end.
    pub health: String,
    /// What its data passes; nothing if switches choose packet by packet.
    pub way: Way,
}

/// The nodes that data passes, both hosts included, and the links between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Way {
    /// The nodes; none if they aren't known.
    pub nodes: Vec<u32>,
    /// By link, which it is of several between the same two nodes, from 0; 0 for one that is alone.
    pub indices: Vec<u32>,
}

impl Way {
    /// Whether it isn't known.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

impl From<Vec<u32>> for Way {
    /// The way over the first link between each node and the next.
    fn from(nodes: Vec<u32>) -> Self {
        Self {
            indices: vec![0; nodes.len().saturating_sub(1)],
            nodes,
        }
    }
}

impl<'de> Deserialize<'de> for Way {
    /// Nodes in order: `0-16-20-17-4`, or `0-4-5#2-2` by the third of several links from 4 to 5.
    fn deserialize<D: Deserializer<'de>>(text: D) -> Result<Self, D::Error> {
        let text = String::deserialize(text)?;
        let mut way = Self::default();
        for step in text.split('-').filter(|step| !step.is_empty()) {
            let (node, index) = step.split_once('#').unwrap_or((step, "0"));
            if !way.nodes.is_empty() {
                way.indices.push(index.parse().map_err(D::Error::custom)?);
            }
            way.nodes.push(node.parse().map_err(D::Error::custom)?);
        }
        Ok(way)
    }
}
