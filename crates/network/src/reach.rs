//! Shortest ways from switch to switch, for what switches send to each other.

use crate::routing::{Graph, Routes, Search};

/// No way.
const FAR: u16 = u16::MAX;

/// How far switches are from each other, under the present routes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Node of each switch.
    nodes: Vec<u32>,
    /// By target and switch, hops between them.
    hops: Vec<u16>,
}

impl Reach {
    pub(crate) fn new(graph: &Graph) -> Self {
        let nodes = (0u32..).zip(&graph.is_switch);
        let nodes: Vec<u32> = nodes.filter_map(|(node, is)| is.then_some(node)).collect();
        let hops = |&target: &u32| {
            let search = Search::from(graph, target, |_| 0);
            let hops = nodes
                .iter()
                .map(|&node| u16::try_from(search.distance[node as usize]).unwrap_or(FAR));
            hops.collect::<Vec<_>>()
        };
        Self {
            hops: nodes.iter().flat_map(hops).collect(),
            nodes,
        }
    }

    /// The port by which a packet goes on from one switch to another; of several, `pick` says which.
    pub(crate) fn next(
        &self,
        (graph, routes): (&Graph, &Routes),
        (from, to): (u32, u32),
        pick: u32,
    ) -> Option<u32> {
        let row = to as usize * self.nodes.len();
        let here = self.hops[row + from as usize];
        if here == FAR || here == 0 {
            return None;
        }
        let edges = graph.edges[self.nodes[from as usize] as usize].iter();
        let nearer = edges.filter(|edge| {
            graph.link_up[edge.port as usize / 2]
                && graph.is_switch[edge.to as usize]
                && self.hops[row + routes.number(edge.to) as usize] + 1 == here
        });
        let count = nearer.clone().count() as u32;
        let chosen = nearer.clone().nth((pick % count.max(1)) as usize);
        chosen.map(|edge| edge.port)
    }
}
