//! Ways that go down and up again: ports of a switch beyond those on shortest paths, in a fabric of tiers.
//!
//! A *valley* is a detour from a switch whose shortest paths lead down: over a switch below that isn't on any of them, and
//! from there up to another one.

use std::collections::VecDeque;

use fairlane_scenario::Error;

use crate::routing::{Graph, Routes};

/// The valleys of a fabric under the present routes.
#[derive(Clone, Debug)]
pub(crate) struct Valleys {
    /// By node, how many links a switch is away from the nearest one that has hosts.
    tiers: Vec<u32>,
    /// By set of next hops ([`Routes::span`]), the ports that begin a valley.
    detours: Vec<Vec<u32>>,
}

impl Valleys {
    /// # Errors
    /// If links join switches of one tier, as no way along those goes up or down.
    pub(crate) fn new(graph: &Graph, routes: &Routes) -> Result<Self, Error> {
        let tiers = tiers(graph);
        let switch = |node: &u32| graph.is_switch[*node as usize];
        for port in (0..graph.owners.len() as u32).step_by(2) {
            let ends = [graph.owners[port as usize], graph.peer(port)];
            let [one, other] = ends.map(|node| tiers[node as usize]);
            if ends.iter().all(switch) && one == other {
                let [one, other] = ends;
                let message = format!(
                    "is true, expected false, as {one} and {other} are linked and equally far from hosts"
                );
                let hint = "ways down and up again need a fabric in tiers, such as a leaf-spine or a fat-tree";
                return Err(Error::new("switch.iofd.valley", message, hint));
            }
        }
        let mut this = Self {
            tiers,
            detours: Vec::new(),
        };
        this.update(graph, routes);
        Ok(this)
    }

    /// Routes have changed.
    pub(crate) fn update(&mut self, graph: &Graph, routes: &Routes) {
        let nodes = (0u32..).zip(&graph.is_switch);
        let nodes = nodes.filter_map(|(node, is_switch)| is_switch.then_some(node));
        let nodes: Vec<u32> = nodes.collect();
        let spans = 0..routes.spans();
        let detours = spans.map(|span| self.find(graph, routes, (span, &nodes)));
        self.detours = detours.collect();
    }

    /// The ports of a set of next hops' switch by which packets may go around.
    pub(crate) fn of(&self, span: usize) -> &[u32] {
        &self.detours[span]
    }

    /// Whether a link leads up from the node that owns its port.
    #[inline]
    pub(crate) fn leads_up(&self, graph: &Graph, port: u32) -> bool {
        let (here, there) = (graph.owners[port as usize], graph.peer(port));
        self.tiers[there as usize] > self.tiers[here as usize]
    }

    fn find(&self, graph: &Graph, routes: &Routes, (span, nodes): (usize, &[u32])) -> Vec<u32> {
        let (row, switch) = (span / nodes.len(), span % nodes.len());
        let hops = routes.hops_of(span);
        if hops.is_empty() || self.leads_up(graph, hops[0]) {
            return Vec::new();
        }
        let here = nodes[switch];
        let edges = graph.edges[here as usize].iter();
        let detours = edges.filter(|edge| {
            if !graph.is_switch[edge.to as usize] {
                return false;
            }
            let below = row * nodes.len() + routes.number(edge.to) as usize;
            let mut up = routes.hops_of(below).iter();
            graph.link_up[edge.port as usize / 2]
                && !self.leads_up(graph, edge.port)
                && !hops.contains(&edge.port)
                && up.any(|&port| self.leads_up(graph, port) && graph.peer(port) != here)
        });
        detours.map(|edge| edge.port).collect()
    }
}

/// By node, how far a switch is from the nearest one that has hosts.
fn tiers(graph: &Graph) -> Vec<u32> {
    let mut tiers = vec![0; graph.edges.len()];
    let mut seen: Vec<bool> = graph.is_switch.iter().map(|is_switch| !is_switch).collect();
    let mut queue = VecDeque::new();
    for (node, edges) in graph.edges.iter().enumerate() {
        if !seen[node] && edges.iter().any(|edge| !graph.is_switch[edge.to as usize]) {
            seen[node] = true;
            queue.push_back(node);
        }
    }
    while let Some(node) = queue.pop_front() {
        for edge in &graph.edges[node] {
            let to = edge.to as usize;
            if !seen[to] {
                (seen[to], tiers[to]) = (true, tiers[node] + 1);
                queue.push_back(to);
            }
        }
    }
    tiers
}
