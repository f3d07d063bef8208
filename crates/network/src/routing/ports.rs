//! Which ports messages between two hosts use, where hosts have several.

use std::sync::Arc;

use fairlane_units::{NodeId, Rate};

use super::{FAR, Graph, HostPort, Search};

/// The ports of two hosts that packets between them leave by and come to; packets of the other direction have them the
/// other way round.
pub type PortPair = [u8; 2];

/// The best paths between switches with hosts, as far as the choice of ports depends on them: by the rates of the
/// topology, without failures, so that a flow keeps its ports whatever happens.
#[derive(Clone, Debug)]
pub struct PortPairs(Arc<Known>);

#[derive(Debug)]
struct Known {
    /// By node, its row among switches with hosts.
    row: Vec<u32>,
    /// By target and source among these.
    between: Vec<Best>,
    rows: usize,
    /// By link.
    rates: Vec<Rate>,
}

/// The shortest paths between two switches.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// Their links, or [`FAR`].
    links: u32,
    /// The slowest link of the widest of them.
    rate: Rate,
}

impl PortPairs {
    /// The port pairs of a fabric whose links have these rates by its topology.
    pub fn new(graph: &Graph, rates: Vec<Rate>) -> Self {
        let mut known = Known {
            row: vec![FAR; graph.edges.len()],
            between: Vec::new(),
            rows: 0,
            rates,
        };
        let hosts = (0..graph.edges.len()).filter(|&node| !graph.is_switch[node]);
        let edges = hosts.flat_map(|host| &graph.edges[host]);
        let mut switches: Vec<u32> = edges.map(|edge| edge.to).collect();
        switches.sort_unstable();
        switches.dedup();
        known.rows = switches.len();
        for (row, &switch) in (0..).zip(&switches) {
            known.row[switch as usize] = row;
        }
        for &target in &switches {
            let best = known.towards(graph, target);
            known
                .between
                .extend(switches.iter().map(|&from| best[from as usize]));
        }
        Self(Arc::new(known))
    }

    /// The pairs of ports that messages from one host to another use: those whose path has the highest rate at its slowest
    /// link, and of these the fewest links; in such an order that messages that take them in turn use as many ports of
    /// either host as they can.
    pub(crate) fn between(&self, graph: &Graph, [from, to]: [NodeId; 2]) -> Vec<PortPair> {
        let mut best = Best {
            links: FAR,
            rate: Rate::ZERO,
        };
        let mut pairs = Vec::new();
        for (out, _) in (0..).zip(&graph.edges[from.index()]) {
            for (into, _) in (0..).zip(&graph.edges[to.index()]) {
                let path = self.0.path(graph, [(from, out), (to, into)]);
                if path.links == FAR || path.is_worse_than(best) {
                    continue;
                }
                if best.is_worse_than(path) {
                    pairs.clear();
                    best = path;
                }
                pairs.push([out, into]);
            }
        }
        in_turn(pairs)
    }
}

impl Known {
    /// The best path from each switch to a target.
    fn towards(&self, graph: &Graph, target: u32) -> Vec<Best> {
        let search = Search::from(graph, target, |_| 0);
        let nothing = |&links: &u32| Best {
            links,
            rate: Rate::ZERO,
        };
        let mut best: Vec<Best> = search.distance.iter().map(nothing).collect();
        best[target as usize].rate = Rate::from_bps(u64::MAX);
        for &node in search.order.iter().skip(1) {
            let here = search.distance[node as usize];
            for edge in &graph.edges[node as usize] {
                let next = best[edge.to as usize];
                if graph.is_switch[edge.to as usize] && next.links.checked_add(1) == Some(here) {
                    let rate = next.rate.min(self.rates[edge.port as usize / 2]);
                    let known = &mut best[node as usize].rate;
                    *known = rate.max(*known);
                }
            }
        }
        best
    }

    /// The path from a port of a host to a port of another.
    fn path(&self, graph: &Graph, ends: [(NodeId, u8); 2]) -> Best {
        let edges = ends.map(|(host, port)| graph.host_edge(HostPort { host, port }));
        let [from, to] = edges.map(|edge| self.row[edge.to as usize] as usize);
        let between = self.between[to * self.rows + from];
        let rates = edges.map(|edge| self.rates[edge.port as usize / 2]);
        Best {
            links: between.links,
            rate: between.rate.min(rates[0]).min(rates[1]),
        }
    }
}

impl Best {
    fn is_worse_than(self, other: Self) -> bool {
        (self.rate, other.links) < (other.rate, self.links)
    }
}

/// Puts pairs in an order in which each port that occurs in several of them comes again as late as it can.
fn in_turn(mut pairs: Vec<PortPair>) -> Vec<PortPair> {
    let mut used = [[0u32; 256]; 2];
    for at in 0..pairs.len() {
        let uses = |pair: &PortPair| {
            let uses = [0, 1].map(|end| used[end][usize::from(pair[end])]);
            (uses[0] + uses[1], *pair)
        };
        let rest = pairs[at..].iter().map(uses);
        let Some((_, next)) = rest.min() else { break };
        let found = pairs[at..].iter().position(|pair| *pair == next);
        // The others stay in their order.
        pairs[at..=at + found.unwrap_or(0)].rotate_right(1);
        for (end, port) in next.into_iter().enumerate() {
            used[end][usize::from(port)] += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::in_turn;

    #[test]
    fn ports_of_both_hosts_are_used_before_any_comes_again() {
        let planes: Vec<_> = (0..8).map(|plane| [plane; 2]).collect();
        assert_eq!(in_turn(planes.clone()), planes);
        assert_eq!(
            in_turn(vec![[0, 0], [0, 1], [1, 0], [1, 1]]),
            [[0, 0], [1, 1], [0, 1], [1, 0]]
        );
        assert_eq!(
            in_turn(vec![[0, 0], [1, 0], [2, 0]]),
            [[0, 0], [1, 0], [2, 0]]
        );
    }
}
