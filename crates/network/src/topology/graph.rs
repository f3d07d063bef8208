//! Neighbours and distances.

use fairlane_units::NodeId;

use super::{NodeKind, Topology};

/// The neighbours of every node in one array.
pub(crate) struct Graph {
    /// Where the neighbours of each node begin; one entry more than there are nodes.
    offsets: Vec<usize>,
    ends: Vec<NodeId>,
    /// Hosts end ways: only switches forward.
    is_host: Vec<bool>,
}

impl Graph {
    /// The graph of a topology whose links all end at nodes that exist.
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut offsets = vec![0; topology.nodes.len() + 1];
        for link in &topology.links {
            offsets[link.a.index() + 1] += 1;
            offsets[link.b.index() + 1] += 1;
        }
        for node in 1..offsets.len() {
            offsets[node] += offsets[node - 1];
        }
        let mut next = offsets.clone();
        let mut ends = vec![NodeId::new(0); 2 * topology.links.len()];
        for link in &topology.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                ends[next[from.index()]] = to;
                next[from.index()] += 1;
            }
        }
        Self {
            offsets,
            ends,
            is_host: topology
                .nodes
                .iter()
                .map(|&kind| kind == NodeKind::Host)
                .collect(),
        }
    }

    pub(crate) fn neighbours(&self, node: NodeId) -> &[NodeId] {
        &self.ends[self.offsets[node.index()]..self.offsets[node.index() + 1]]
    }

    /// Links from the nearest of `sources` to every node, `None` for nodes that none reaches.
    pub(crate) fn distances(&self, sources: &[NodeId]) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.offsets.len() - 1];
        let mut queue = Vec::from(sources);
        for source in sources {
            distances[source.index()] = Some(0);
        }
        let mut head = 0;
        while let Some(&node) = queue.get(head) {
            head += 1;
            if self.is_host[node.index()] && distances[node.index()] != Some(0) {
                continue;
            }
            let next = distances[node.index()].map(|distance: u32| distance + 1);
            for peer in self.neighbours(node) {
                if distances[peer.index()].is_none() {
                    distances[peer.index()] = next;
                    queue.push(*peer);
                }
            }
        }
        distances
    }
}

/// Links from every node to the nearest host.
pub(crate) fn tiers(topology: &Topology) -> Vec<u8> {
    let hosts: Vec<_> = topology.hosts().collect();
    let distances = Graph::new(topology).distances(&hosts);
    let tier = |distance: Option<u32>| u8::try_from(distance.unwrap_or(0)).unwrap_or(u8::MAX);
    distances.into_iter().map(tier).collect()
}
