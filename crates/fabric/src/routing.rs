//! Shortest paths, and the choice among equal ones by a hash of the five-tuple.

use std::collections::VecDeque;

use fairlane_units::{NodeId, Rate};

use crate::topology::{NodeKind, Topology};

/// No distance, no next hop.
const FAR: u32 = u32::MAX;

/// A link as one of its ends sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) port: u32,
    pub(crate) to: u32,
}

/// A fabric as a graph, with which links are up.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// Ports of each node in the order of the topology's links.
    pub(crate) edges: Vec<Vec<Edge>>,
    /// The node that owns each port.
    pub(crate) owners: Vec<u32>,
    pub(crate) is_switch: Vec<bool>,
    pub(crate) link_up: Vec<bool>,
    /// Rate and delay of each link, in picoseconds.
    pub(crate) rates: Vec<Rate>,
    pub(crate) delays: Vec<u64>,
}

impl Graph {
    pub(crate) fn new(topology: &Topology) -> Self {
        let mut edges = vec![Vec::new(); topology.nodes.len()];
        let mut owners = Vec::with_capacity(topology.links.len() * 2);
        for (port, link) in (0u32..).step_by(2).zip(&topology.links) {
            edges[link.a.index()].push(Edge {
                port,
                to: link.b.get(),
            });
            edges[link.b.index()].push(Edge {
                port: port + 1,
                to: link.a.get(),
            });
            owners.extend([link.a.get(), link.b.get()]);
        }
        Self {
            edges,
            owners,
            is_switch: topology
                .nodes
                .iter()
                .map(|&kind| kind == NodeKind::Switch)
                .collect(),
            link_up: vec![true; topology.links.len()],
            rates: topology.links.iter().map(|link| link.rate).collect(),
            delays: topology
                .links
                .iter()
                .map(|link| link.delay.as_ps())
                .collect(),
        }
    }

    fn up(&self, edge: &Edge) -> bool {
        self.link_up[edge.port as usize / 2]
    }

    /// The node at the other end of `port`: ports 2l and 2l + 1 face each other.
    pub(crate) fn peer(&self, port: u32) -> u32 {
        self.owners[(port ^ 1) as usize]
    }

    /// The port of `node` towards its neighbour `to`.
    pub(crate) fn port_towards(&self, node: u32, to: u32) -> Option<u32> {
        self.edges[node as usize]
            .iter()
            .find(|edge| edge.to == to)
            .map(|edge| edge.port)
    }

    /// The only link of a host.
    pub(crate) fn host_edge(&self, host: NodeId) -> Edge {
        self.edges[host.index()][0]
    }
}

/// What the first-found shortest path from a node to a target adds up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSums {
    /// Propagation, in picoseconds.
    pub(crate) delay: u64,
    /// Serialization, as summed by the caller's function of the rate.
    pub(crate) serialization: u64,
    /// The slowest link.
    pub(crate) rate: Rate,
}

/// One breadth-first search from a target node over switches.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) distance: Vec<u32>,
    /// Nodes in the order of visits.
    order: Vec<u32>,
    pub(crate) sums: Vec<PathSums>,
}

impl Search {
    /// Visits switches nearest first, neighbours in descending number: the order in which HPCC's
    /// simulator finds them, on which its choice among equal paths depends.
    pub(crate) fn from(graph: &Graph, target: u32, serialization: impl Fn(Rate) -> u64) -> Self {
        let nodes = graph.edges.len();
        let nothing = PathSums {
            delay: 0,
            serialization: 0,
            rate: Rate::from_bps(u64::MAX),
        };
        let mut search = Self {
            distance: vec![FAR; nodes],
            order: Vec::new(),
            sums: vec![nothing; nodes],
        };
        search.distance[target as usize] = 0;
        let mut queue = VecDeque::from([target]);
        let mut neighbours: Vec<Edge> = Vec::new();
        while let Some(node) = queue.pop_front() {
            search.order.push(node);
            neighbours.clear();
            neighbours.extend(
                graph.edges[node as usize]
                    .iter()
                    .filter(|edge| graph.up(edge)),
            );
            neighbours.sort_unstable_by_key(|edge| std::cmp::Reverse(edge.to));
            for edge in &neighbours {
                let to = edge.to as usize;
                if search.distance[to] != FAR {
                    continue;
                }
                search.distance[to] = search.distance[node as usize] + 1;
                let link = edge.port as usize / 2;
                let so_far = search.sums[node as usize];
                search.sums[to] = PathSums {
                    delay: so_far.delay + graph.delays[link],
                    serialization: so_far.serialization + serialization(graph.rates[link]),
                    rate: so_far.rate.min(graph.rates[link]),
                };
                if graph.is_switch[to] {
                    queue.push_back(edge.to);
                }
            }
        }
        search
    }
}

/// Next hops of every switch towards every switch that has hosts.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// Row of each switch that has hosts, by node; [`FAR`] for other nodes.
    target_of: Vec<u32>,
    /// For each (target, node): where its next hops begin in `hops`, and how many there are.
    spans: Vec<(u32, u16)>,
    /// Egress ports.
    hops: Vec<u32>,
    nodes: usize,
    pub(crate) longest: usize,
}

impl Routes {
    pub(crate) fn new(graph: &Graph) -> Self {
        let nodes = graph.edges.len();
        let mut routes = Self {
            target_of: vec![FAR; nodes],
            spans: Vec::new(),
            hops: Vec::new(),
            nodes,
            longest: 0,
        };
        let has_hosts = |node: usize| {
            graph.is_switch[node]
                && graph.edges[node]
                    .iter()
                    .any(|edge| !graph.is_switch[edge.to as usize])
        };
        let targets: Vec<u32> = (0..nodes)
            .filter(|&n| has_hosts(n))
            .map(|n| n as u32)
            .collect();
        for (row, &target) in (0u32..).zip(&targets) {
            routes.target_of[target as usize] = row;
            routes.add_target(graph, &Search::from(graph, target, |_| 0), &targets);
        }
        routes
    }

    fn add_target(&mut self, graph: &Graph, search: &Search, targets: &[u32]) {
        let rank = {
            let mut rank = vec![FAR; self.nodes];
            (0..)
                .zip(&search.order)
                .for_each(|(at, &node)| rank[node as usize] = at);
            rank
        };
        for (node, edges) in graph.edges.iter().enumerate() {
            let start = self.hops.len();
            let here = search.distance[node];
            if graph.is_switch[node] && here != FAR && here > 0 {
                let nearer = |edge: &&Edge| {
                    graph.up(edge)
                        && graph.is_switch[edge.to as usize]
                        && search.distance[edge.to as usize].checked_add(1) == Some(here)
                };
                let mut hops: Vec<&Edge> = edges.iter().filter(nearer).collect();
                hops.sort_unstable_by_key(|edge| rank[edge.to as usize]);
                self.hops.extend(hops.iter().map(|edge| edge.port));
            }
            self.spans
                .push((start as u32, (self.hops.len() - start) as u16));
        }
        let reached = targets
            .iter()
            .map(|&t| search.distance[t as usize])
            .filter(|&d| d != FAR);
        self.longest = self.longest.max(reached.max().unwrap_or(0) as usize + 1);
    }

    /// Equal-cost egress ports at switch `node` towards the switch `target`.
    fn towards(&self, node: u32, target: u32) -> &[u32] {
        let (start, count) =
            self.spans[self.target_of[target as usize] as usize * self.nodes + node as usize];
        &self.hops[start as usize..start as usize + usize::from(count)]
    }

    /// The egress port at switch `node` for packets with this hash input, if there is a way.
    pub(crate) fn egress(
        &self,
        graph: &Graph,
        node: u32,
        tuple: &FiveTuple,
        seeds: Seeds,
    ) -> Option<u32> {
        let last = graph.host_edge(tuple.destination);
        if last.to == node {
            return graph.up(&last).then_some(last.port ^ 1);
        }
        let hops = self.towards(node, last.to);
        match hops.len() {
            0 => None,
            1 => Some(hops[0]),
            count => Some(hops[tuple.hash(seeds.of(node)) as usize % count]),
        }
    }

    /// Writes the egress ports of switches from `tuple`'s source to its destination into `way`;
    /// returns how many, or `None` if there is no way.
    pub(crate) fn trace(
        &self,
        graph: &Graph,
        tuple: &FiveTuple,
        seeds: Seeds,
        way: &mut [u32],
    ) -> Option<usize> {
        let first = graph.host_edge(tuple.source);
        if !graph.up(&first) {
            return None;
        }
        let mut node = first.to;
        let mut hops = 0;
        while graph.is_switch[node as usize] {
            let port = self.egress(graph, node, tuple, seeds)?;
            *way.get_mut(hops)? = port;
            hops += 1;
            node = graph.peer(port);
        }
        Some(hops)
    }
}

/// How the hash of each switch is seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seeds {
    /// With the node number.
    Node,
    /// With the node number mixed with the seed of the run.
    Run(u64),
}

impl Seeds {
    fn of(self, node: u32) -> u32 {
        match self {
            Self::Node => node,
            Self::Run(seed) => {
                fairlane_engine::Stream::new(seed, u64::from(node)).next_u64() as u32
            }
        }
    }
}

/// What ECMP hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FiveTuple {
    /// Sender of the packet.
    pub(crate) source: NodeId,
    /// Receiver of the packet.
    pub(crate) destination: NodeId,
    /// UDP source port.
    pub(crate) source_port: u16,
    /// UDP destination port.
    pub(crate) destination_port: u16,
}

impl FiveTuple {
    /// The tuple of packets that go the other way. RoCEv2 packets all go to port 4791, so they have
    /// the same source port; HPCC's simulator swaps the ports (`swaps`).
    #[must_use]
    pub(crate) const fn answering(self, swaps: bool) -> Self {
        let (source_port, destination_port) = if swaps {
            (self.destination_port, self.source_port)
        } else {
            (self.source_port, self.destination_port)
        };
        Self {
            source: self.destination,
            destination: self.source,
            source_port,
            destination_port,
        }
    }

    /// MurmurHash3 (32 bits) of source address, destination address and the two ports.
    fn hash(&self, seed: u32) -> u32 {
        let ports = u32::from(self.source_port) | u32::from(self.destination_port) << 16;
        let words = [address(self.source), address(self.destination), ports];
        let mut hash = words.into_iter().fold(seed, |hash, word| {
            let word = word
                .wrapping_mul(0xcc9e_2d51)
                .rotate_left(15)
                .wrapping_mul(0x1b87_3593);
            (hash ^ word)
                .rotate_left(13)
                .wrapping_mul(5)
                .wrapping_add(0xe654_6b64)
        });
        hash ^= 12;
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^ hash >> 16
    }
}

/// The IPv4 address of a host: 11.a.b.1 for node number a * 256 + b.
pub(crate) const fn address(node: NodeId) -> u32 {
    let number = node.get();
    0x0b00_0001_u32
        .wrapping_add((number / 256) << 16)
        .wrapping_add((number % 256) << 8)
}
