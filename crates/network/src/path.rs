//! A path from host to host, as people name it.

use fairlane_units::NodeId;

use crate::routing::Graph;

/// A path from host to host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Nodes that it passes, both hosts included.
    pub nodes: Vec<NodeId>,
    /// By link, which it is of several between the same two nodes, from 0 in the order of the topology; `None` for
    /// one that is alone.
    pub indices: Vec<Option<u32>>,
}

impl Path {
    /// The path that leaves `host` by the first of `ports` and each switch behind it by the next.
    pub fn new(graph: &Graph, host: NodeId, ports: impl IntoIterator<Item = u32>) -> Self {
        let mut path = Self {
            nodes: vec![host],
            indices: Vec::new(),
        };
        for port in ports {
            path.nodes.push(NodeId::new(graph.peer(port)));
            path.indices.push(graph.index_of(port));
        }
        path
    }

    /// Its nodes as text; behind one to which several links lead, the index of the link taken: `0`, `4`, `5#2`, `2`.
    pub fn steps(&self) -> Vec<String> {
        let indices = std::iter::once(None).chain(self.indices.iter().copied());
        let step = |(node, index): (&NodeId, Option<u32>)| match index {
            Some(index) => format!("{node}#{index}"),
            None => node.to_string(),
        };
        self.nodes.iter().zip(indices).map(step).collect()
    }
}
