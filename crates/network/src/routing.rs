//! Shortest paths.

mod ports;

use std::collections::VecDeque;

use fairlane_units::{NodeId, Rate};

use crate::five_tuple::FiveTuple;
use crate::topology::{NodeKind, Topology};

pub use ports::{PortPair, PortPairs};

/// No distance, no next hop.
const FAR: u32 = u32::MAX;

/// A link as one of its ends sees it.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The port of the node.
    pub port: u32,
    /// The node at the other end.
    pub to: u32,
}

/// A port of a host, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The host.
    pub host: NodeId,
    /// The host's port, counted from 0.
    pub port: u8,
}

/// Packets of one direction of a flow: what they are labelled with, and the ports of the two hosts.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    /// Addresses and ports.
    pub tuple: FiveTuple,
    /// The port that the packets leave by, and the port that they come to.
    pub ports: PortPair,
}

impl Leg {
    /// The port of a host that the packets leave by.
    pub const fn from(&self) -> HostPort {
        HostPort {
            host: self.tuple.source,
            port: self.ports[0],
        }
    }

    /// The port of a host that the packets go to.
    pub const fn to(&self) -> HostPort {
        HostPort {
            host: self.tuple.destination,
            port: self.ports[1],
        }
    }

    /// The packets that answer them, which come to the port that these leave by; `swaps` as in
    /// [`FiveTuple::answering`].
    pub const fn answering(self, swaps: bool) -> Self {
        Self {
            tuple: self.tuple.answering(swaps),
            ports: [self.ports[1], self.ports[0]],
        }
    }
}

/// Rate and delay of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The rate of the link.
    pub rate: Rate,
    /// Propagation, in picoseconds.
    pub delay: u64,
}

/// A fabric as a graph, with which links are up.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Ports of each node in the order of the topology's links.
    pub edges: Vec<Vec<Edge>>,
    /// The node that owns each port.
    pub owners: Vec<u32>,
    /// By node, whether it is a switch.
    pub is_switch: Vec<bool>,
    /// By link, whether it is up.
    pub link_up: Vec<bool>,
    /// By link, the rate.
    pub rates: Vec<Rate>,
    /// By link, propagation in picoseconds.
    pub delays: Vec<u64>,
    /// How many planes the fabric has.
    pub planes: u8,
    /// The most ports that a host has.
    pub ports: u8,
    /// Which ports messages between two hosts use.
    pub(crate) pairs: Option<PortPairs>,
}

impl Graph {
    /// The graph of a topology whose links are up.
    pub fn new(topology: &Topology) -> Self {
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
        let planes = topology
            .planes()
            .expect("hosts of a sound topology may have their links");
        let mut graph = Self {
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
            planes: planes.count,
            ports: planes.ports,
            pairs: None,
        };
        let rates = topology.stated_rates().to_vec();
        graph.pairs = (graph.ports > 1).then(|| PortPairs::new(&graph, rates));
        graph
    }

    /// The pairs of ports that messages from one host to another use, in the order in which several take them in turn.
    pub fn port_pairs(&self, ends: [NodeId; 2]) -> Vec<PortPair> {
        match &self.pairs {
            Some(pairs) => pairs.between(self, ends),
            None => vec![[0, 0]],
        }
    }

    fn up(&self, edge: &Edge) -> bool {
        self.link_up[edge.port as usize / 2]
    }

    /// Number of a port at its node, from 1.
    pub fn port_number(&self, port: u32) -> u32 {
        let node = self.owners[port as usize] as usize;
        let position = self.edges[node].iter().position(|edge| edge.port == port);
        position.map_or(0, |position| position as u32 + 1)
    }

    /// The node of a port, and the one at the other end of its link.
    pub fn ends(&self, port: u32) -> (u32, u32) {
        (self.owners[port as usize], self.peer(port))
    }

    /// The node at the other end of `port`: ports 2l and 2l + 1 face each other.
    pub fn peer(&self, port: u32) -> u32 {
        self.owners[(port ^ 1) as usize]
    }

    /// Which link a port belongs to of several between its node and the next, from 0; `None` if there is one.
    pub(crate) fn index_of(&self, port: u32) -> Option<u32> {
        let (node, peer) = (self.owners[port as usize], self.peer(port));
        let beside = self.edges[node as usize].iter();
        let mut beside = beside.filter(|edge| edge.to == peer).map(|edge| edge.port);
        let found = beside.clone().position(|one| one == port);
        beside.nth(1).and(found).map(|index| index as u32)
    }

    /// Rate and delay of a link.
    pub fn link(&self, link: usize) -> Link {
        Link {
            rate: self.rates[link],
            delay: self.delays[link],
        }
    }

    /// The link at a port of a host.
    #[inline]
    pub fn host_edge(&self, at: HostPort) -> Edge {
        self.edges[at.host.index()][usize::from(at.port)]
    }
}

/// What the first-found shortest path from a node to a target adds up to.
#[derive(Clone, Copy, Debug)]
pub struct PathSums {
    /// Propagation, in picoseconds.
    pub delay: u64,
    /// Serialization, as summed by the caller's function of the rate.
    pub serialization: u64,
    /// The slowest link.
    pub rate: Rate,
}

/// One breadth-first search from a target node over switches.
#[derive(Clone, Debug)]
pub struct Search {
    /// Links to the target, by node.
    pub distance: Vec<u32>,
    /// Nodes in the order of visits.
    pub order: Vec<u32>,
    /// Sums over shortest paths, by node.
    pub sums: Vec<PathSums>,
}

impl Search {
    /// Visits switches nearest first, neighbours in descending number: the order in which HPCC's
    /// simulator finds them, on which its choice among equal paths depends.
    pub fn from(graph: &Graph, target: u32, serialization: impl Fn(Rate) -> u64) -> Self {
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
            // Of links side by side the first one in the topology is found first.
            neighbours.sort_unstable_by_key(|edge| (std::cmp::Reverse(edge.to), edge.port));
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

/// Next hops of every switch towards every switch that has hosts. Switches are numbered among themselves.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Where hosts hang, by node and for one port of theirs after the other; of switches without meaning.
    hosts: Vec<Attachment>,
    /// How many nodes there are.
    nodes: usize,
    /// For each (target, switch): where its next hops begin in `hops`, and how many there are.
    spans: Vec<(u32, u16)>,
    /// Egress ports.
    hops: Vec<u32>,
    /// Number of each switch, by node.
    number: Vec<u32>,
    switches: usize,
    pub(crate) longest: usize,
}

/// The link of a host.
#[derive(Clone, Copy, Debug)]
struct Attachment {
    /// The switch, and its row among targets.
    switch: u32,
    row: u32,
    /// The port of the switch.
    port: u32,
    up: bool,
}

impl Routes {
    /// Shortest paths over links that are up.
    pub fn new(graph: &Graph) -> Self {
        let nodes = graph.edges.len();
        let (mut number, mut switches) = (vec![FAR; nodes], 0);
        for (node, _) in graph.is_switch.iter().enumerate().filter(|(_, is)| **is) {
            number[node] = switches;
            switches += 1;
        }
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
        let mut routes = Self {
            hosts: (0..graph.ports)
                .flat_map(|port| attachments(graph, port, (&targets, &number)))
                .collect(),
            nodes,
            spans: Vec::new(),
            hops: Vec::new(),
            number,
            switches: switches as usize,
            longest: 0,
        };
        for &target in &targets {
            routes.add_target(graph, &Search::from(graph, target, |_| 0), &targets);
        }
        routes
    }

    fn add_target(&mut self, graph: &Graph, search: &Search, targets: &[u32]) {
        let rank = {
            let mut rank = vec![FAR; graph.edges.len()];
            (0..)
                .zip(&search.order)
                .for_each(|(at, &node)| rank[node as usize] = at);
            rank
        };
        let switches = graph.edges.iter().enumerate();
        for (node, edges) in switches.filter(|(node, _)| graph.is_switch[*node]) {
            let start = self.hops.len();
            let here = search.distance[node];
            if here != FAR && here > 0 {
                let nearer = |edge: &&Edge| {
                    graph.up(edge)
                        && graph.is_switch[edge.to as usize]
                        && search.distance[edge.to as usize].checked_add(1) == Some(here)
                };
                let mut hops: Vec<&Edge> = edges.iter().filter(nearer).collect();
                hops.sort_unstable_by_key(|edge| (rank[edge.to as usize], edge.port));
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

    /// Equal-cost egress ports at switch number `switch` towards a host. A packet that set out when its
    /// host was already cut off (`aware`) goes nowhere; others come as far as the last switch.
    #[inline]
    pub fn towards(&self, switch: u32, host: HostPort, aware: bool) -> &[u32] {
        let last = self.attachment(host);
        let here = last.switch == switch;
        if !last.up && (aware || here) {
            return &[];
        }
        if here {
            return std::slice::from_ref(&last.port);
        }
        self.hops_of(last.row as usize * self.switches + switch as usize)
    }

    /// Whether a switch is the last one before a host.
    pub(crate) fn is_last(&self, switch: u32, host: HostPort) -> bool {
        self.attachment(host).switch == switch
    }

    /// Which of all sets of next hops a switch has towards a host.
    pub(crate) fn span(&self, switch: u32, host: HostPort) -> usize {
        self.attachment(host).row as usize * self.switches + switch as usize
    }

    /// How many sets of next hops there are.
    pub(crate) const fn spans(&self) -> usize {
        self.spans.len()
    }

    /// A set of next hops.
    #[inline]
    pub(crate) fn hops_of(&self, span: usize) -> &[u32] {
        let (start, count) = self.spans[span];
        &self.hops[start as usize..start as usize + usize::from(count)]
    }

    /// Where a host hangs with one of its ports.
    #[inline]
    fn attachment(&self, at: HostPort) -> &Attachment {
        &self.hosts[usize::from(at.port) * self.nodes + at.host.index()]
    }

    /// The number of a node among switches.
    pub fn number(&self, node: u32) -> u32 {
        self.number[node as usize]
    }

    /// The egress ports of switches from host to host where `choose` says which of several a switch takes; `None` if
    /// there is no path.
    pub fn trace(
        &self,
        graph: &Graph,
        leg: &Leg,
        choose: impl Fn(u32, u32) -> u32,
    ) -> Option<Vec<u32>> {
        let first = graph.host_edge(leg.from());
        if !graph.up(&first) {
            return None;
        }
        let mut node = first.to;
        let mut path = Vec::with_capacity(self.longest);
        while graph.is_switch[node as usize] {
            let switch = self.number(node);
            let port = match self.towards(switch, leg.to(), true) {
                [] => return None,
                [only] => *only,
                several => several[choose(switch, several.len() as u32) as usize],
            };
            path.push(port);
            node = graph.peer(port);
        }
        Some(path)
    }
}

/// Where hosts hang with their port of a number, by node.
fn attachments(graph: &Graph, port: u8, (targets, number): (&[u32], &[u32])) -> Vec<Attachment> {
    let attach = |(node, edges): (usize, &Vec<Edge>)| {
        let link = edges.get(usize::from(port));
        let link = link.filter(|_| !graph.is_switch[node]);
        Attachment {
            switch: link.map_or(FAR, |link| number[link.to as usize]),
            row: link
                .and_then(|link| targets.binary_search(&link.to).ok())
                .map_or(FAR, |row| row as u32),
            port: link.map_or(FAR, |link| link.port ^ 1),
            up: link.is_some_and(|link| graph.up(link)),
        }
    };
    graph.edges.iter().enumerate().map(attach).collect()
}

/// How the hash of each switch is seeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// With the node number.
    Node,
    /// With the node number mixed with the seed of the run.
    Run(u64),
}

impl Seeds {
    /// What the hash of switch `node` begins with.
    pub fn of(self, node: u32) -> u32 {
        match self {
            Self::Node => node,
            Self::Run(seed) => {
                fairlane_engine::Stream::new(seed, u64::from(node)).next_u64() as u32
            }
        }
    }
}
