//! Capacity between the two halves of the hosts: Dinic's maximum flow on the links.

use fairlane_units::{NodeId, Rate};

use super::Topology;

const MAX_LINKS: usize = 50_000;

/// Most that the first half of the hosts can send to the second half.
pub(crate) fn bisection(topology: &Topology) -> Option<Rate> {
    let hosts: Vec<_> = topology.hosts().collect();
    let links = topology.links.len();
    if hosts.len() < 2 || links > MAX_LINKS {
        return None;
    }
    let (source, sink) = (topology.nodes.len(), topology.nodes.len() + 1);
    let mut network = Network {
        arcs: Vec::new(),
        outgoing: vec![Vec::new(); sink + 1],
    };
    for link in &topology.links {
        let rate = link.rate.as_bps();
        network.join(link.a.index(), link.b.index(), [rate, rate]);
    }
    let (first, second) = hosts.split_at(hosts.len() / 2);
    for host in first.iter().copied().map(NodeId::index) {
        network.join(source, host, [u64::MAX, 0]);
    }
    for host in second.iter().copied().map(NodeId::index) {
        network.join(host, sink, [u64::MAX, 0]);
    }
    Some(Rate::from_bps(network.maximum_flow(source, sink)))
}

struct Arc {
    to: usize,
    /// What may still flow.
    free: u64,
}

/// Arcs in pairs: `2i` and `2i + 1` are the two directions of a link.
struct Network {
    arcs: Vec<Arc>,
    outgoing: Vec<Vec<usize>>,
}

impl Network {
    fn join(&mut self, a: usize, b: usize, [forth, back]: [u64; 2]) {
        self.outgoing[a].push(self.arcs.len());
        self.arcs.push(Arc { to: b, free: forth });
        self.outgoing[b].push(self.arcs.len());
        self.arcs.push(Arc { to: a, free: back });
    }

    fn maximum_flow(&mut self, source: usize, sink: usize) -> u64 {
        let mut total = 0u64;
        loop {
            let mut levels = self.levels(source);
            if levels[sink].is_none() {
                return total;
            }
            total = total.saturating_add(self.blocking_flow(source, sink, &mut levels));
        }
    }

    fn levels(&self, source: usize) -> Vec<Option<u32>> {
        let mut levels = vec![None; self.outgoing.len()];
        levels[source] = Some(0);
        let mut queue = vec![source];
        let mut head = 0;
        while let Some(&node) = queue.get(head) {
            head += 1;
            let next = levels[node].map(|level: u32| level + 1);
            for arc in self.outgoing[node].iter().map(|&arc| &self.arcs[arc]) {
                if arc.free > 0 && levels[arc.to].is_none() {
                    levels[arc.to] = next;
                    queue.push(arc.to);
                }
            }
        }
        levels
    }

    /// Fills the shortest paths one after the other until each has a full arc.
    fn blocking_flow(&mut self, source: usize, sink: usize, levels: &mut [Option<u32>]) -> u64 {
        let mut total = 0u64;
        let mut next = vec![0; self.outgoing.len()];
        let mut path: Vec<usize> = Vec::new();
        loop {
            let node = path.last().map_or(source, |&arc| self.arcs[arc].to);
            if node == sink {
                total = total.saturating_add(self.fill(&mut path));
                continue;
            }
            let forward = |arc: usize| {
                let to = self.arcs[arc].to;
                self.arcs[arc].free > 0 && levels[to] == levels[node].map(|level| level + 1)
            };
            let tried = &self.outgoing[node][next[node]..];
            match tried.iter().position(|&arc| forward(arc)) {
                Some(skipped) => {
                    next[node] += skipped;
                    path.push(self.outgoing[node][next[node]]);
                }
                None => {
                    levels[node] = None;
                    if path.pop().is_none() {
                        return total;
                    }
                }
            }
        }
    }

    /// Sends what fits along `path` and cuts the path off before its first full arc.
    fn fill(&mut self, path: &mut Vec<usize>) -> u64 {
        let amount = path
            .iter()
            .map(|&arc| self.arcs[arc].free)
            .min()
            .unwrap_or(0);
        for &arc in path.iter() {
            self.arcs[arc].free -= amount;
            self.arcs[arc ^ 1].free = self.arcs[arc ^ 1].free.saturating_add(amount);
        }
        let full = path.iter().position(|&arc| self.arcs[arc].free == 0);
        path.truncate(full.unwrap_or(0));
        amount
    }
}
