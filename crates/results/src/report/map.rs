//! The fabric and its states over time, for the map.

use fairlane_fabric::metrics::interval_utilisation;
use fairlane_fabric::topology::{Link, Topology, layout};
use fairlane_fabric::{PortInfo, PortSeries, Results};
use fairlane_units::Duration;

use super::data::{FramesData, MapData, NodesData, PortsData};
use super::frames::{LogScale, base64, share_code};
use super::grouping::Grouping;

/// More frames than this are merged: a slider has no more positions than pixels.
const FRAMES: usize = 200;
/// Hosts side by side; more are staggered in several rows.
const HOSTS_ABREAST: usize = 160;
/// More staggered rows would reach the switches above.
const TURNS_MAX: usize = 7;
/// Distance of staggered rows of hosts, in shares of the map's height.
const STAGGER: f32 = 0.035;

/// Everything that the map draws; nothing if the ports aren't those of a sound fabric.
pub(super) fn map_data(results: &Results) -> MapData {
    let Some(topology) = topology_of(&results.ports) else {
        return MapData::default();
    };
    MapData {
        nodes: nodes_data(&topology),
        ports: ports_data(&results.ports),
        frames: frames_data(results),
    }
}

/// The fabric that `ports` belong to, as far as a drawing needs it: without delays and losses.
fn topology_of(ports: &[PortInfo]) -> Option<Topology> {
    let nodes = ports
        .iter()
        .map(|port| port.node.get())
        .max()?
        .checked_add(1)?;
    let mut switches: Vec<u32> = ports
        .iter()
        .filter(|port| port.on_switch)
        .map(|port| port.node.get())
        .collect();
    switches.sort_unstable();
    switches.dedup();
    // Each link once, from the port with the lower number.
    let firsts = (0..).zip(ports).filter(|(id, port)| *id < port.peer.get());
    let links = firsts.map(|(_, port)| Link {
        a: port.node,
        b: port.peer_node,
        rate: port.rate,
        delay: Duration::ZERO,
        loss: 0.0,
    });
    Topology::from_links(nodes, &switches, links.collect()).ok()
}

fn nodes_data(topology: &Topology) -> NodesData {
    let mut places = layout(topology);
    stagger(topology, &mut places);
    let top = topology.tiers.iter().copied().max().unwrap_or(0);
    let round = |place: f32| (place * 1e4).round() / 1e4;
    NodesData {
        tier_names: (0..=top).map(|tier| tier_name(tier, top)).collect(),
        tier: topology.tiers.clone(),
        x: places.iter().map(|(x, _)| round(*x)).collect(),
        y: places.iter().map(|(_, y)| round(*y)).collect(),
    }
}

/// Lifts hosts of a crowded row by turns, so that they can be told apart and pointed at.
fn stagger(topology: &Topology, places: &mut [(f32, f32)]) {
    let mut row: Vec<usize> = topology.hosts().map(|host| host.index()).collect();
    let level = |pair: &[usize]| places[pair[0]].1 == places[pair[1]].1;
    if !row.windows(2).all(level) {
        return;
    }
    let turns = row.len().div_ceil(HOSTS_ABREAST).clamp(1, TURNS_MAX);
    row.sort_by(|&a, &b| places[a].0.total_cmp(&places[b].0));
    for (place, &host) in row.iter().enumerate() {
        places[host].1 -= (place % turns) as f32 * STAGGER;
    }
}

/// What one node of a tier is called, in a fabric whose highest tier is `top`.
fn tier_name(tier: u8, top: u8) -> String {
    let name = match (tier, top) {
        (0, _) => "host",
        (1, 1) => "switch",
        (1, 2) => "leaf",
        (2, 2) => "spine",
        (1, _) => "ToR",
        (2, 3) => "aggregation",
        (3, 3) => "core",
        (tier, _) => return format!("tier-{tier} switch"),
    };
    name.into()
}

fn ports_data(ports: &[PortInfo]) -> PortsData {
    PortsData {
        node: ports.iter().map(|port| port.node.get()).collect(),
        peer_node: ports.iter().map(|port| port.peer_node.get()).collect(),
        peer: ports.iter().map(|port| port.peer.get()).collect(),
        number: ports.iter().map(|port| port.number).collect(),
        rate: ports.iter().map(|port| port.rate.as_bps()).collect(),
    }
}

fn frames_data(results: &Results) -> FramesData {
    let grouping = Grouping::of(&results.series, FRAMES);
    let queues = queues(results, grouping);
    let scale = LogScale::up_to(queues.iter().copied().max().unwrap_or(0));
    let queue: Vec<u8> = queues.into_iter().map(|bytes| scale.code(bytes)).collect();
    FramesData {
        count: grouping.count,
        start_ns: grouping.start_ns,
        step_ns: grouping.step_ns,
        utilisation: base64(&utilisation(results, grouping)),
        queue: base64(&queue),
        paused: base64(&paused(&results.series, grouping)),
        queue_min: scale.low,
        queue_max: scale.high,
    }
}

/// The codes of all ports in all frames.
fn utilisation(results: &Results, grouping: Grouping) -> Vec<u8> {
    let mut codes = Vec::with_capacity(grouping.count * results.series.ports);
    for frame in 0..grouping.count {
        let mut sums = vec![0.0; results.series.ports];
        for interval in grouping.rows(frame) {
            for (sum, share) in sums.iter_mut().zip(interval_utilisation(results, interval)) {
                *sum += share;
            }
        }
        let intervals = grouping.rows(frame).len() as f64;
        codes.extend(sums.iter().map(|sum| share_code(sum / intervals)));
    }
    codes
}

/// The deepest queue of each port in each frame; 0 for ports of hosts, whose queues aren't the
/// fabric's.
fn queues(results: &Results, grouping: Grouping) -> Vec<u64> {
    let series = &results.series;
    let deepest = |frame, port: usize| {
        let on_switch = results.ports.get(port).is_some_and(|port| port.on_switch);
        let samples = samples(series, &series.queue_max, grouping, (frame, port));
        samples.filter(|_| on_switch).max().unwrap_or(0)
    };
    (0..grouping.count)
        .flat_map(|frame| (0..series.ports).map(move |port| (frame, port)))
        .map(|(frame, port)| deepest(frame, port))
        .collect()
}

fn paused(series: &PortSeries, grouping: Grouping) -> Vec<u8> {
    let code = |frame, port: usize| {
        let ns: u64 = samples(series, &series.paused_ns, grouping, (frame, port)).sum();
        share_code(ns as f64 / grouping.span_ns(frame))
    };
    (0..grouping.count)
        .flat_map(|frame| (0..series.ports).map(move |port| (frame, port)))
        .map(|(frame, port)| code(frame, port))
        .collect()
}

/// What a port recorded in the intervals of a frame.
fn samples<'a>(
    series: &'a PortSeries,
    values: &'a [u64],
    grouping: Grouping,
    (frame, port): (usize, usize),
) -> impl Iterator<Item = u64> + 'a {
    let rows = grouping.rows(frame);
    rows.filter_map(move |row| values.get(row * series.ports + port))
        .copied()
}
