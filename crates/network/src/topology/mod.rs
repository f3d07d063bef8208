//! Hosts, switches and the links between them: generated or read, checked, described and drawn.
//!
//! A [`Topology`] that exists is sound: it has hosts, and every node reaches every other. Hosts may have
//! several ports, and two nodes several links.

mod check;
mod error;
mod facts;
mod flow;
mod graph;
mod layout;

use fairlane_scenario::{Faults, PlaneError, Planes, Topology as Shape, TopologyText};
use fairlane_units::{Duration, NodeId, Rate};

pub use error::TopologyError;
pub use facts::{Facts, LinksAtRate, TierFacts, facts};
pub use layout::layout;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// Sends and receives messages.
    Host,
    /// Forwards packets.
    Switch,
}

/// A full-duplex link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One end; the lower tier where the topology is generated.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation delay, each way.
    pub delay: Duration,
    /// Probability that a packet is lost, each way.
    pub loss: f64,
}

/// A fabric: nodes by [`NodeId`] and the links between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// What each node is.
    pub nodes: Vec<NodeKind>,
    /// Height of each node above the hosts: 0 a host, 1 a ToR or leaf, 2 an aggregation or spine
    /// switch, 3 a core; in a topology from a file, links to the nearest host.
    pub tiers: Vec<u8>,
    /// Links; ports are numbered in this order.
    pub links: Vec<Link>,
    /// The rates that links have without faults.
    stated: Vec<Rate>,
}

impl Topology {
    /// Builds the fabric that a scenario describes. `file` is the parsed text of a shape of kind
    /// `file`; `loss_rate` applies to links that state no loss of their own.
    ///
    /// # Errors
    /// If the shape has no hosts, is too large, isn't connected, or its file is missing or unsound.
    pub fn build(
        shape: &Shape,
        file: Option<&TopologyText>,
        loss_rate: f64,
    ) -> Result<Self, TopologyError> {
        let mut topology = match (shape, file) {
            (Shape::File(_), Some(text)) => Self::from_text(text)?,
            (Shape::File(file), None) => {
                let path = file.path.clone();
                return Err(TopologyError::NotLoaded { path });
            }
            _ => Self::from_shape(shape)?,
        };
        for link in topology.links.iter_mut().filter(|link| link.loss == 0.0) {
            link.loss = loss_rate;
        }
        check::losses(&topology.links)?;
        Ok(topology)
    }

    /// This fabric with the slow links that a scenario has.
    #[must_use]
    pub fn slowed(mut self, faults: &Faults) -> Self {
        let links = self.links.iter_mut();
        faults.slow_down(links.map(|link| ([link.a.get(), link.b.get()], &mut link.rate)));
        self
    }

    /// A fabric of `nodes` nodes of which `switches` are switches and the rest hosts.
    ///
    /// # Errors
    /// If a node is unknown, a link unsound, a host without links, or a part of the fabric cut off.
    pub fn from_links(
        nodes: u32,
        switches: &[u32],
        links: Vec<Link>,
    ) -> Result<Self, TopologyError> {
        check::size(u128::from(nodes), links.len() as u128)?;
        let mut kinds = vec![NodeKind::Host; nodes as usize];
        for &switch in switches {
            let kind = kinds.get_mut(switch as usize);
            let kind = kind.ok_or(TopologyError::UnknownSwitch { switch, nodes })?;
            if *kind == NodeKind::Switch {
                return Err(TopologyError::SwitchTwice { switch });
            }
            *kind = NodeKind::Switch;
        }
        let mut topology = Self {
            tiers: vec![0; kinds.len()],
            nodes: kinds,
            stated: links.iter().map(|link| link.rate).collect(),
            links,
        };
        check::all(&topology)?;
        topology.tiers = graph::tiers(&topology);
        Ok(topology)
    }

    fn from_shape(shape: &Shape) -> Result<Self, TopologyError> {
        check::shape(shape)?;
        Self::from_text(&fairlane_scenario::generate(shape))
    }

    fn from_text(text: &TopologyText) -> Result<Self, TopologyError> {
        let links = text.links.iter().map(|link| Link {
            a: NodeId::new(link.a),
            b: NodeId::new(link.b),
            rate: link.rate,
            delay: link.delay,
            loss: link.loss,
        });
        Self::from_links(text.nodes, &text.switches, links.collect())
    }

    /// The hosts in ascending order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Host)
    }

    /// The switches in ascending order.
    pub fn switches(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.of_kind(NodeKind::Switch)
    }

    /// Whether `node` exists and is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()) == Some(&NodeKind::Host)
    }

    /// The ports of hosts, and the planes that they make.
    ///
    /// # Errors
    /// If hosts can't have such links, as in no sound topology.
    pub fn planes(&self) -> Result<Planes, PlaneError> {
        let switches: Vec<bool> = self
            .nodes
            .iter()
            .map(|&kind| kind == NodeKind::Switch)
            .collect();
        let links = self.links.iter().map(|link| (link.a.get(), link.b.get()));
        Planes::find(&switches, &links.collect::<Vec<_>>())
    }

    /// The rates that links have without faults, in their order.
    pub(crate) fn stated_rates(&self) -> &[Rate] {
        &self.stated
    }

    /// The rate of each host's links together, by node number; zero for switches.
    pub fn host_rates(&self) -> Vec<Rate> {
        self.sum_host_rates(|_| true)
    }

    /// The rate of each host's link to a plane, by node number; zero for switches.
    pub fn plane_rates(&self, plane: u8) -> Vec<Rate> {
        self.sum_host_rates(|port| port == plane)
    }

    fn sum_host_rates(&self, counts: impl Fn(u8) -> bool) -> Vec<Rate> {
        let mut rates = vec![Rate::ZERO; self.nodes.len()];
        let mut ports = vec![0; self.nodes.len()];
        for link in &self.links {
            for end in [link.a, link.b]
                .into_iter()
                .filter(|end| self.is_host(*end))
            {
                if counts(ports[end.index()]) {
                    let rate = &mut rates[end.index()];
                    *rate = Rate::from_bps(rate.as_bps().saturating_add(link.rate.as_bps()));
                }
                ports[end.index()] += 1;
            }
        }
        rates
    }

    fn of_kind(&self, wanted: NodeKind) -> impl Iterator<Item = NodeId> + '_ {
        (0u32..)
            .zip(&self.nodes)
            .filter(move |(_, kind)| **kind == wanted)
            .map(|(id, _)| NodeId::new(id))
    }
}
