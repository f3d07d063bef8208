//! How much of its rate each link is offered by messages at random times, whatever becomes of them.
//!
//! Offered is the expected payload over time of `poisson` workloads and of incasts at Poisson times. Each source sends equally
//! to all of its destinations; between two hosts equal ports have equal shares, and at each switch the next hops of shortest
//! paths, as with ECMP on average. Other workloads offer no load: they begin together, or wait for what they have sent.

use std::collections::BTreeMap;
use std::ops::Range;

use fairlane_network::routing::{Edge, Graph, HostPort, Search};
use fairlane_network::topology::Topology;
use fairlane_scenario::traffic::{Arrivals, Context};
use fairlane_scenario::{Error, LoadOf, Loaded};
use fairlane_units::{NodeId, Time};
use serde::Serialize;

use crate::surroundings::context;

/// What the links from one tier to another are offered.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierLoad {
    /// Tier of the nodes that send; 0 are hosts.
    pub from: u8,
    /// Tier of the nodes that receive.
    pub to: u8,
    /// Links between these tiers.
    pub links: usize,
    /// Rate of all these links, one way.
    pub capacity_gbps: f64,
    /// Payload that they are offered together.
    pub offered_gbps: f64,
    /// Offered payload over the rate of all these links.
    pub share: f64,
    /// The link that is offered most for its rate.
    pub worst: LinkLoad,
}

/// What a link is offered, one way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkLoad {
    /// The node that sends.
    pub node: u32,
    /// Number of its port, from 1.
    pub port: u32,
    /// The node at the other end.
    pub peer: u32,
    /// Payload offered over the link's rate.
    pub share: f64,
}

/// What links are offered, from hosts up and down again; of the moments at which workloads begin, the one that offers a
/// tier's worst link most. Nothing if no workload has messages at random times.
///
/// # Errors
/// If a workload names hosts that aren't there, or its load is that of links that none of its messages passes.
pub fn tier_loads(loaded: &Loaded, topology: &Topology) -> Result<Vec<TierLoad>, Error> {
    let scenario = &loaded.scenario;
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let graph = Graph::new(topology);
    let mut offers = Vec::new();
    for (index, workload) in (0u32..).zip(&scenario.workload) {
        let context = context(scenario, &loaded.inputs, topology, &hosts, index);
        let Some(arrivals) = workload.arrivals(&context)? else {
            continue;
        };
        let factor = of_sources(&arrivals, &context, topology)?;
        let start = Time::ZERO + arrivals.start;
        let full = Matrix::of(&arrivals, topology, workload.plane());
        let mut bps = Spread::of(&graph, &full);
        bps.iter_mut().for_each(|bps| *bps *= factor);
        offers.push((start..start.saturating_add(arrivals.duration), bps));
    }
    let mut tiers: BTreeMap<(u8, u8), Tier> = BTreeMap::new();
    for (Range { start, .. }, _) in &offers {
        let mut bps = vec![0.0; graph.owners.len()];
        for (_, own) in offers.iter().filter(|(window, _)| window.contains(start)) {
            bps.iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
        for (ends, tier) in by_tier(topology, &graph, &bps) {
            let known = tiers.entry(ends).or_insert(tier);
            if tier.worst > known.worst {
                *known = tier;
            }
        }
    }
    let mut tiers: Vec<_> = tiers.into_iter().collect();
    // Up, lowest tier first, then down.
    tiers.sort_by_key(|&((from, to), _)| match from <= to {
        true => (0, from, to),
        false => (1, u8::MAX - from, u8::MAX - to),
    });
    let load = |(ends, tier): ((u8, u8), Tier)| tier.load(ends, &graph);
    Ok(tiers.into_iter().map(load).collect())
}

/// The part of its sources' links that a workload uses.
///
/// # Errors
/// If its load is that of links between switches, and none of its messages passes one.
pub(crate) fn of_sources(
    arrivals: &Arrivals,
    context: &Context<'_>,
    topology: &Topology,
) -> Result<f64, Error> {
    if arrivals.load_of == LoadOf::Hosts {
        return Ok(arrivals.load);
    }
    let graph = Graph::new(topology);
    let full = Matrix::of(arrivals, topology, context.plane);
    let most = busiest(&graph, &Spread::of(&graph, &full));
    if most > 0.0 {
        return Ok(arrivals.load / most);
    }
    let message = "is \"fabric\", but no message passes a link between switches";
    let hint = "leave it out for the load of the sources' links";
    Err(Error::new(context.key("load_of"), message, hint))
}

/// The largest share of its rate that a link between switches is offered.
fn busiest(graph: &Graph, bps: &[f64]) -> f64 {
    let between = |port: &usize| {
        let (node, peer) = (graph.owners[*port], graph.peer(*port as u32));
        graph.is_switch[node as usize] && graph.is_switch[peer as usize]
    };
    let ports = (0..bps.len()).filter(between);
    let shares = ports.map(|port| bps[port] / graph.rates[port / 2].as_f64());
    shares.fold(0.0, f64::max)
}

/// Who sends how much to whom.
struct Matrix {
    /// By node, what it sends at full rate in bits per second; zero for nodes that aren't sources.
    rates: Vec<f64>,
    /// By node, whether it is a destination.
    receives: Vec<bool>,
    /// How many destinations there are.
    destinations: usize,
    plane: Option<u8>,
    /// Whether payload goes from destinations to sources.
    reads: bool,
}

impl Matrix {
    fn of(arrivals: &Arrivals, topology: &Topology, plane: Option<u8>) -> Self {
        let mut matrix = Self {
            rates: vec![0.0; topology.nodes.len()],
            receives: vec![false; topology.nodes.len()],
            destinations: 0,
            plane,
            reads: arrivals.reads,
        };
        for (host, rate) in &arrivals.senders {
            matrix.rates[host.index()] = *rate;
        }
        for host in &arrivals.receivers {
            matrix.add_destination(*host);
        }
        matrix
    }

    fn add_destination(&mut self, host: NodeId) {
        if let Some(receives) = self.receives.get_mut(host.index()) {
            *receives = true;
            self.destinations += 1;
        }
    }

    /// What a host sends to each of its destinations.
    fn each(&self, host: NodeId) -> f64 {
        let others = self.destinations - usize::from(self.receives[host.index()]);
        match others {
            0 => 0.0,
            others => self.rates[host.index()] / others as f64,
        }
    }
}

/// Hosts at the same switches by links of the same rates, whose paths to others don't differ between switches.
#[derive(Default)]
struct Group {
    hosts: Vec<NodeId>,
    /// What its hosts send to any single destination.
    each: f64,
    /// The part of `each` from hosts that are destinations too, which send nothing to themselves.
    own: f64,
    /// How many of them are destinations.
    destinations: f64,
    ports: Vec<PortUse>,
}

/// What the hosts of a group use a port for.
#[derive(Clone, Copy, Default)]
struct PortUse {
    /// How many destinations a host sends to by it; those that are reached by other ports too count in part.
    out: f64,
    /// What each destination receives by it.
    into: f64,
    /// How much of `out`, and of `into`, is for a host's own group: it has nothing for itself.
    own_out: f64,
    own_into: f64,
}

/// Finds what each port is offered.
struct Spread<'a> {
    graph: &'a Graph,
    matrix: &'a Matrix,
    groups: Vec<Group>,
    /// By the switch of hosts that receive, what each switch of hosts that send has for them.
    demands: BTreeMap<u32, BTreeMap<u32, f64>>,
    /// By port, in bits per second.
    bps: Vec<f64>,
}

impl<'a> Spread<'a> {
    /// By port, what it is offered in bits per second if all sources send at full rate.
    fn of(graph: &'a Graph, matrix: &'a Matrix) -> Vec<f64> {
        let mut spread = Self {
            graph,
            matrix,
            groups: Vec::new(),
            demands: BTreeMap::new(),
            bps: vec![0.0; graph.owners.len()],
        };
        spread.find_groups();
        for from in 0..spread.groups.len() {
            for to in 0..spread.groups.len() {
                spread.add_pair(from, to);
            }
        }
        spread.add_hosts();
        for (target, demand) in std::mem::take(&mut spread.demands) {
            spread.carry(target, &demand);
        }
        spread.bps
    }

    fn find_groups(&mut self) {
        let mut groups: BTreeMap<Vec<(u32, u64)>, Group> = BTreeMap::new();
        for (node, edges) in (0u32..).zip(&self.graph.edges) {
            let host = NodeId::new(node);
            let receives = self.matrix.receives[host.index()];
            if self.graph.is_switch[host.index()]
                || !receives && self.matrix.rates[host.index()] == 0.0
            {
                continue;
            }
            let rate = |edge: &Edge| self.graph.rates[edge.port as usize / 2].as_bps();
            let links = edges.iter().map(|edge| (edge.to, rate(edge))).collect();
            let group = groups.entry(links).or_default();
            let each = self.matrix.each(host);
            group.hosts.push(host);
            group.ports.resize(edges.len(), PortUse::default());
            group.each += each;
            if receives {
                group.own += each;
                group.destinations += 1.0;
            }
        }
        self.groups = groups.into_values().collect();
    }

    /// Adds what the sources of a group send to the destinations of another, or its own.
    fn add_pair(&mut self, from: usize, to: usize) {
        let (source, destination) = (&self.groups[from], &self.groups[to]);
        let mut amount = source.each * destination.destinations;
        if from == to {
            amount -= source.own;
        }
        let (each, destinations) = (source.each, destination.destinations);
        if each == 0.0 || destinations == 0.0 {
            return;
        }
        let ends = [source.hosts[0], destination.hosts[0]];
        let pairs = match self.matrix.plane {
            Some(plane) => vec![[plane; 2]],
            None => self.graph.port_pairs(ends),
        };
        let share = 1.0 / pairs.len() as f64;
        for ports in pairs {
            self.groups[from].ports[usize::from(ports[0])].out += share * destinations;
            self.groups[to].ports[usize::from(ports[1])].into += share * each;
            if from == to {
                self.groups[from].ports[usize::from(ports[0])].own_out += share;
                self.groups[to].ports[usize::from(ports[1])].own_into += share;
            }
            let [mut first, mut last] = [0, 1].map(|end| {
                let at = HostPort {
                    host: ends[end],
                    port: ports[end],
                };
                self.graph.host_edge(at).to
            });
            if self.matrix.reads {
                std::mem::swap(&mut first, &mut last);
            }
            if first != last {
                let demand = self.demands.entry(last).or_default();
                *demand.entry(first).or_default() += amount * share;
            }
        }
    }

    /// Adds what the links of hosts carry.
    fn add_hosts(&mut self) {
        for group in &self.groups {
            for &host in &group.hosts {
                let each = self.matrix.each(host);
                let receives = self.matrix.receives[host.index()];
                for (edge, port) in self.graph.edges[host.index()].iter().zip(&group.ports) {
                    let (sent, received) = match receives {
                        true => (
                            each * (port.out - port.own_out),
                            port.into - each * port.own_into,
                        ),
                        false => (each * port.out, 0.0),
                    };
                    let (out, into) = match self.matrix.reads {
                        false => (sent, received),
                        true => (received, sent),
                    };
                    self.bps[edge.port as usize] += out;
                    self.bps[edge.port as usize ^ 1] += into;
                }
            }
        }
    }

    /// Adds what links between switches carry to the hosts of a switch.
    fn carry(&mut self, target: u32, demand: &BTreeMap<u32, f64>) {
        let search = Search::from(self.graph, target, |_| 0);
        let mut there = vec![0.0; self.graph.edges.len()];
        for (&node, amount) in demand {
            there[node as usize] = *amount;
        }
        // The farthest switches first.
        for &node in search.order.iter().rev().filter(|node| **node != target) {
            let amount = there[node as usize];
            let here = search.distance[node as usize];
            let next = self.graph.edges[node as usize].iter();
            let nearer = |edge: &&Edge| {
                self.graph.is_switch[edge.to as usize]
                    && search.distance[edge.to as usize].checked_add(1) == Some(here)
            };
            let next = next.filter(nearer);
            let share = amount / next.clone().count().max(1) as f64;
            for edge in next {
                self.bps[edge.port as usize] += share;
                there[edge.to as usize] += share;
            }
        }
    }
}

/// The links from one tier to another.
#[derive(Clone, Copy, Debug, Default)]
struct Tier {
    links: usize,
    /// In bits per second.
    capacity: f64,
    offered: f64,
    /// The largest share of its rate that a link is offered, and the port that sends on it.
    worst: f64,
    port: u32,
}

impl Tier {
    fn load(&self, (from, to): (u8, u8), graph: &Graph) -> TierLoad {
        TierLoad {
            from,
            to,
            links: self.links,
            capacity_gbps: self.capacity / 1e9,
            offered_gbps: self.offered / 1e9,
            share: self.offered / self.capacity,
            worst: LinkLoad {
                node: graph.owners[self.port as usize],
                port: graph.port_number(self.port),
                peer: graph.peer(self.port),
                share: self.worst,
            },
        }
    }
}

/// What the links from each tier to another are offered.
fn by_tier(topology: &Topology, graph: &Graph, bps: &[f64]) -> BTreeMap<(u8, u8), Tier> {
    let mut tiers: BTreeMap<(u8, u8), Tier> = BTreeMap::new();
    for (port, &bps) in (0u32..).zip(bps) {
        let tier = |node: u32| topology.tiers[node as usize];
        let ends = (tier(graph.owners[port as usize]), tier(graph.peer(port)));
        let rate = graph.rates[port as usize / 2].as_f64();
        let tier = tiers.entry(ends).or_default();
        let share = bps / rate;
        if tier.links == 0 || share > tier.worst {
            (tier.worst, tier.port) = (share, port);
        }
        tier.links += 1;
        tier.capacity += rate;
        tier.offered += bps;
    }
    tiers
}
