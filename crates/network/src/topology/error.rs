//! Why a topology can't be built.

use core::fmt;
use std::path::PathBuf;

use fairlane_scenario::PlaneError;
use fairlane_units::NodeId;

use super::Link;

/// Why a topology can't be built. Links are counted from 1 in the order of the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TopologyError {
    /// The text of a topology of kind `file` wasn't handed in.
    NotLoaded {
        /// The file that the scenario names.
        path: PathBuf,
    },
    /// There is nobody to send or receive.
    NoHosts,
    /// More nodes or links than any run could hold.
    TooLarge {
        /// Nodes asked for.
        nodes: u128,
        /// Links asked for.
        links: u128,
    },
    /// The cores of a fat-tree can't be shared out among the aggregation switches of a pod.
    UnevenCores {
        /// Cores.
        cores: u32,
        /// Aggregation switches in a pod.
        aggregations: u32,
    },
    /// The list of switches names a node that doesn't exist.
    UnknownSwitch {
        /// The number in the list.
        switch: u32,
        /// Nodes in the topology.
        nodes: u32,
    },
    /// The list of switches names a node twice.
    SwitchTwice {
        /// The number in the list.
        switch: u32,
    },
    /// A link ends at a node that doesn't exist.
    UnknownNode {
        /// Number of the link, from 1.
        link: usize,
        /// The node.
        node: NodeId,
        /// Nodes in the topology.
        nodes: u32,
    },
    /// Both ends of a link are the same node.
    SelfLink {
        /// Number of the link, from 1.
        link: usize,
        /// The node.
        node: NodeId,
    },
    /// A link carries nothing.
    ZeroRate {
        /// Number of the link, from 1.
        link: usize,
        /// The nodes.
        ends: (NodeId, NodeId),
    },
    /// A loss rate isn't a probability.
    Loss {
        /// Number of the link, from 1.
        link: usize,
        /// The nodes.
        ends: (NodeId, NodeId),
        /// What was given.
        loss: f64,
    },
    /// A host has no link.
    Unlinked {
        /// The host.
        host: NodeId,
    },
    /// Hosts can't have such links.
    Planes(PlaneError),
    /// Some nodes can't reach each other.
    Disconnected {
        /// A node.
        from: NodeId,
        /// A node that it doesn't reach; both are hosts if two hosts are cut off from each other.
        to: NodeId,
    },
}

impl TopologyError {
    pub(crate) fn ends(link: &Link) -> (NodeId, NodeId) {
        (link.a, link.b)
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotLoaded { .. } => "load the scenario from its file so that side files are read",
            Self::NoHosts => "give at least one host; every node that isn't a switch is a host",
            Self::TooLarge { .. } => "build a smaller fabric",
            Self::UnevenCores { .. } => "make `cores` a multiple of `aggregations_per_pod`",
            Self::UnknownSwitch { .. } | Self::UnknownNode { .. } => {
                "nodes are numbered from 0 to the number of nodes minus 1"
            }
            Self::SwitchTwice { .. } => "list every switch once",
            Self::SelfLink { .. } => "a link joins two different nodes",
            Self::ZeroRate { .. } => "give every link a rate above 0, such as \"100Gbps\"",
            Self::Loss { .. } => "a loss rate is a probability from 0 to 1",
            Self::Unlinked { .. } => "link the host to a switch, or list it as a switch",
            Self::Planes(error) => error.hint,
            Self::Disconnected { .. } => "add links until every node reaches every other",
        }
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(f)?;
        write!(f, "\nhint: {}", self.hint())
    }
}

impl TopologyError {
    /// What is wrong, without the hint.
    pub fn message(&self) -> String {
        struct Message<'a>(&'a TopologyError);
        impl fmt::Display for Message<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.describe(f)
            }
        }
        Message(self).to_string()
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded { path } => {
                write!(f, "path: {} hasn't been read", path.display())
            }
            Self::NoHosts => f.write_str("has no hosts"),
            Self::TooLarge { nodes, links } => {
                write!(f, "{nodes} nodes and {links} links are too many")
            }
            Self::UnevenCores {
                cores,
                aggregations,
            } => write!(
                f,
                "{cores} cores can't be shared out evenly among {aggregations} \
                 aggregation switches per pod"
            ),
            Self::UnknownSwitch { switch, nodes } => {
                write!(
                    f,
                    "switch {switch} is unknown, expected a number below {nodes}"
                )
            }
            Self::SwitchTwice { switch } => {
                write!(f, "switch {switch} is listed twice")
            }
            Self::Unlinked { host } => {
                write!(f, "host {host} has no link, expected at least one")
            }
            Self::Planes(error) => f.write_str(&error.message),
            Self::Disconnected { from, to } => {
                write!(f, "nodes {from} and {to} can't reach each other")
            }
            _ => self.describe_link(f),
        }
    }

    fn describe_link(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownNode { link, node, nodes } => {
                write!(f, "link {link} ends at node {node}, expected below {nodes}")
            }
            Self::SelfLink { link, node } => {
                write!(f, "link {link} joins node {node} to itself")
            }
            Self::ZeroRate { link, ends: (a, b) } => {
                write!(f, "link {link} of nodes {a} and {b} has rate 0")
            }
            Self::Loss {
                link,
                ends: (a, b),
                loss,
            } => {
                write!(f, "link {link} of nodes {a} and {b} has loss rate {loss}")
            }
            _ => Ok(()),
        }
    }
}

impl core::error::Error for TopologyError {}
