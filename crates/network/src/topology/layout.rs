//! Where to draw every node.

use core::f64::consts::{FRAC_PI_2, TAU};

use fairlane_units::NodeId;

use super::Topology;
use super::graph::Graph;

/// Room above the top row, below the bottom row and around a circle.
const MARGIN: f64 = 0.06;
/// Two nodes of a row closer than this can't be told apart.
const SMALLEST_GAP: f64 = 1e-6;
const SWITCH_RADIUS: f64 = 0.3;
const HOST_RADIUS: f64 = 0.46;

/// A place for every node: x from left to right and y from top to bottom, both in `0..=1`.
///
/// Tiers are rows, hosts at the bottom in groups under their switch, switches centred over what
/// they connect. Where most links between switches stay within a tier (a mesh, a ring), the switches
/// form a circle with their hosts around it. No two nodes share a place.
pub fn layout(topology: &Topology) -> Vec<(f32, f32)> {
    let graph = Graph::new(topology);
    let places = if is_round(topology) {
        circle(topology, &graph)
    } else {
        rows(topology, &graph)
    };
    #[expect(clippy::cast_possible_truncation, reason = "a place on a screen")]
    let narrow = |(x, y): (f64, f64)| (x as f32, y as f32);
    places.into_iter().map(narrow).collect()
}

fn is_round(topology: &Topology) -> bool {
    let tier = |node: NodeId| topology.tiers[node.index()];
    let fabric = || {
        topology
            .links
            .iter()
            .filter(|link| tier(link.a) > 0 && tier(link.b) > 0)
    };
    let level = fabric().filter(|link| tier(link.a) == tier(link.b)).count();
    topology.switches().nth(2).is_some() && 2 * level > fabric().count()
}

#[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
fn share(index: usize, count: usize) -> f64 {
    (index as f64 + 0.5) / count.max(1) as f64
}

fn circle(topology: &Topology, graph: &Graph) -> Vec<(f64, f64)> {
    let mut places = vec![(0.5, 0.5); topology.nodes.len()];
    let count = topology.switches().count();
    // Hosts use four fifths of the arc of their switch, so that groups stay apart.
    let arc = 0.8 * TAU * 2.0 * share(0, count);
    let at = |angle: f64, radius: f64| {
        (
            0.5 + radius * libm::cos(angle),
            0.5 + radius * libm::sin(angle),
        )
    };
    for (index, switch) in topology.switches().enumerate() {
        let angle = TAU * share(index, count) - FRAC_PI_2;
        places[switch.index()] = at(angle, SWITCH_RADIUS);
        let hosts = hosts_of(topology, graph, switch);
        for (place, host) in hosts.iter().enumerate() {
            let angle = angle + arc * (share(place, hosts.len()) - 0.5);
            places[host.index()] = at(angle, HOST_RADIUS);
        }
    }
    places
}

fn hosts_of(topology: &Topology, graph: &Graph, switch: NodeId) -> Vec<NodeId> {
    let neighbours = graph.neighbours(switch).iter().copied();
    let mut hosts: Vec<_> = neighbours.filter(|node| topology.is_host(*node)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

fn rows(topology: &Topology, graph: &Graph) -> Vec<(f64, f64)> {
    let top = topology.tiers.iter().copied().max().unwrap_or(0);
    let mut xs = host_row(topology, graph);
    for tier in 1..=top {
        switch_row(topology, graph, tier, &mut xs);
    }
    let row = |tier: u8| match top {
        0 => 0.5,
        _ => 1.0 - MARGIN - (1.0 - 2.0 * MARGIN) * f64::from(tier) / f64::from(top),
    };
    xs.into_iter()
        .zip(&topology.tiers)
        .map(|(x, tier)| (x, row(*tier)))
        .collect()
}

/// Hosts side by side, with a gap after the hosts of each switch.
fn host_row(topology: &Topology, graph: &Graph) -> Vec<f64> {
    let mut slots = vec![None; topology.nodes.len()];
    let mut next = 0;
    for switch in topology.switches() {
        let first = next;
        for host in hosts_of(topology, graph, switch) {
            // A host with several ports stands with those at its first one.
            if slots[host.index()].is_none() {
                slots[host.index()] = Some(next);
                next += 1;
            }
        }
        next += usize::from(next > first);
    }
    // Two hosts on one link have no switch above them.
    for host in topology.hosts() {
        if slots[host.index()].is_none() {
            slots[host.index()] = Some(next);
            next += 1;
        }
    }
    let width = if topology.switches().next().is_some() {
        next - 1
    } else {
        next
    };
    slots
        .into_iter()
        .map(|slot| slot.map_or(0.5, |slot| share(slot, width)))
        .collect()
}

/// A switch of a row with what it connects below.
struct Placed {
    node: NodeId,
    centre: f64,
    left: f64,
    right: f64,
}

/// Switches over the middle of what they connect; those that stand over the same part of the row
/// below share it evenly.
fn switch_row(topology: &Topology, graph: &Graph, tier: u8, xs: &mut [f64]) {
    let switches = topology
        .switches()
        .filter(|node| topology.tiers[node.index()] == tier);
    let mut row: Vec<_> = switches
        .map(|node| placed(topology, graph, node, xs))
        .collect();
    row.sort_by(|a, b| a.centre.total_cmp(&b.centre).then(a.node.cmp(&b.node)));
    let mut begin = 0;
    while begin < row.len() {
        let mut end = begin + 1;
        let (mut left, mut right) = (row[begin].left, row[begin].right);
        while end < row.len() && row[end].left <= right {
            left = left.min(row[end].left);
            right = right.max(row[end].right);
            end += 1;
        }
        for (index, switch) in row[begin..end].iter().enumerate() {
            xs[switch.node.index()] = left + (right - left) * share(index, end - begin);
        }
        begin = end;
    }
    spread_if_crowded(&row, xs);
}

#[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
fn placed(topology: &Topology, graph: &Graph, node: NodeId, xs: &[f64]) -> Placed {
    let tier = |node: NodeId| topology.tiers[node.index()];
    let neighbours = graph.neighbours(node).iter().copied();
    let below = neighbours.filter(|peer| tier(*peer) < tier(node));
    let below: Vec<f64> = below.map(|peer| xs[peer.index()]).collect();
    let left = below.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let right = below.iter().copied().reduce(f64::max).unwrap_or(1.0);
    let centre = match below.len() {
        0 => 0.5,
        count => below.iter().sum::<f64>() / count as f64,
    };
    Placed {
        node,
        centre,
        left,
        right,
    }
}

/// Spreads a row evenly over the full width if two of its switches would touch.
fn spread_if_crowded(row: &[Placed], xs: &mut [f64]) {
    let x = |switch: &Placed| xs[switch.node.index()];
    if row
        .windows(2)
        .all(|pair| x(&pair[1]) - x(&pair[0]) >= SMALLEST_GAP)
    {
        return;
    }
    for (index, switch) in row.iter().enumerate() {
        xs[switch.node.index()] = share(index, row.len());
    }
}
