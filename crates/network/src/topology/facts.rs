//! What a topology amounts to.

use fairlane_units::{NodeId, Rate};
use serde::Serialize;

use super::graph::Graph;
use super::{Topology, flow};

/// What a topology amounts to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Hosts.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Links.
    pub links: usize,
    /// Links of each rate, slowest first.
    pub links_by_rate: Vec<LinksAtRate>,
    /// Links on the shortest path of the two hosts that are furthest apart.
    pub diameter_links: u32,
    /// Switches by tier, from the bottom up.
    pub tiers: Vec<TierFacts>,
    /// Most that the first half of the hosts, by number, can send to the other half if routing is
    /// perfect (maximum flow); left out for one host and for fabrics of more than 50,000 links.
    pub bisection_gbps: Option<f64>,
}

/// How many links have one rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinksAtRate {
    /// The rate in Gb/s.
    pub rate_gbps: f64,
    /// Links of this rate.
    pub links: usize,
}

/// The switches of one tier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TierFacts {
    /// The tier: 1 is next to hosts.
    pub tier: u8,
    /// Its switches.
    pub switches: usize,
    /// Capacity of all its links towards hosts.
    pub down_gbps: f64,
    /// Capacity of all its links to higher tiers and, counted at both ends, within the tier.
    pub up_gbps: f64,
    /// The largest ratio of capacity down to capacity up of any of its switches that has both.
    pub oversubscription: Option<f64>,
}

/// Counts what `topology` amounts to.
pub fn facts(topology: &Topology) -> Facts {
    Facts {
        hosts: topology.hosts().count(),
        switches: topology.switches().count(),
        links: topology.links.len(),
        links_by_rate: links_by_rate(topology),
        diameter_links: diameter(topology),
        tiers: tiers(topology),
        bisection_gbps: flow::bisection(topology).map(gbps),
    }
}

fn gbps(rate: Rate) -> f64 {
    rate.as_f64() / 1e9
}

fn links_by_rate(topology: &Topology) -> Vec<LinksAtRate> {
    let mut rates: Vec<_> = topology.links.iter().map(|link| link.rate).collect();
    rates.sort_unstable();
    let runs = rates.chunk_by(|a, b| a == b);
    runs.map(|run| LinksAtRate {
        rate_gbps: gbps(run[0]),
        links: run.len(),
    })
    .collect()
}

/// Distances are taken between the switches that hosts hang on, not between hosts: a fabric has far
/// fewer of them.
fn diameter(topology: &Topology) -> u32 {
    let graph = Graph::new(topology);
    let attached = topology.hosts().flat_map(|host| {
        let mut switches = graph.neighbours(host).to_vec();
        switches.sort_unstable();
        // A host may have two links to one.
        switches.dedup();
        switches
    });
    let mut above: Vec<NodeId> = attached.collect();
    above.sort_unstable();
    let shared = above.chunk_by(|a, b| a == b).any(|hosts| hosts.len() > 1);
    above.dedup();
    if above.iter().any(|node| topology.is_host(*node)) {
        return 1;
    }
    let furthest = |from: &NodeId| {
        let distances = graph.distances(&[*from]);
        above
            .iter()
            .filter_map(|to| distances[to.index()])
            .max()
            .unwrap_or(0)
    };
    match above.iter().map(furthest).max() {
        Some(0) if !shared => 0,
        Some(distance) => distance + 2,
        None => 0,
    }
}

/// Capacity of one switch in bits per second; sums of many fast links fit 128 bits.
#[derive(Clone, Copy, Default)]
struct Capacity {
    down: u128,
    up: u128,
}

impl Capacity {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
    fn ratio(self) -> Option<f64> {
        (self.down > 0 && self.up > 0).then(|| self.down as f64 / self.up as f64)
    }
}

fn tiers(topology: &Topology) -> Vec<TierFacts> {
    let capacities = capacities(topology);
    let top = topology.tiers.iter().copied().max().unwrap_or(0);
    (1..=top)
        .map(|tier| tier_facts(topology, &capacities, tier))
        .collect()
}

fn capacities(topology: &Topology) -> Vec<Capacity> {
    let mut capacities = vec![Capacity::default(); topology.nodes.len()];
    for link in &topology.links {
        let rate = u128::from(link.rate.as_bps());
        for (node, peer) in [(link.a, link.b), (link.b, link.a)] {
            let capacity = &mut capacities[node.index()];
            if topology.tiers[peer.index()] < topology.tiers[node.index()] {
                capacity.down += rate;
            } else {
                capacity.up += rate;
            }
        }
    }
    capacities
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn tier_facts(topology: &Topology, capacities: &[Capacity], tier: u8) -> TierFacts {
    let of_tier = || {
        let pairs = topology.tiers.iter().zip(capacities);
        pairs
            .filter(move |(of, _)| **of == tier)
            .map(|(_, capacity)| *capacity)
    };
    TierFacts {
        tier,
        switches: of_tier().count(),
        down_gbps: of_tier().map(|capacity| capacity.down).sum::<u128>() as f64 / 1e9,
        up_gbps: of_tier().map(|capacity| capacity.up).sum::<u128>() as f64 / 1e9,
        oversubscription: of_tier().filter_map(Capacity::ratio).max_by(f64::total_cmp),
    }
}
