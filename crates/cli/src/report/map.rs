//! The fabric and its states over time, for the map.

use fairlane_fabric::{PortInfo, PortSeries, Results};

use super::data::{FramesData, MapData, NodesData, PortsData};
use super::frames::{LogScale, base64, share_code};
use super::gather::Grouping;
use super::layout::{Layout, layout};

/// More frames than this are merged: a slider has no more positions than pixels.
const FRAMES: usize = 200;

/// Everything that the map draws.
pub(super) fn map_data(results: &Results) -> MapData {
    MapData {
        nodes: nodes_data(layout(&results.ports)),
        ports: ports_data(&results.ports),
        frames: frames_data(&results.ports, &results.series),
    }
}

fn nodes_data(plan: Layout) -> NodesData {
    let top = plan.tier.iter().copied().max().unwrap_or(0);
    let round = |places: Vec<f32>| {
        places
            .iter()
            .map(|place| (place * 1e4).round() / 1e4)
            .collect()
    };
    NodesData {
        tier_names: (0..=top).map(|tier| tier_name(tier, top)).collect(),
        tier: plan.tier,
        x: round(plan.x),
        y: round(plan.y),
    }
}

/// What one node of a tier is called, in a fabric whose highest tier is `top`.
pub(super) fn tier_name(tier: u8, top: u8) -> String {
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

fn frames_data(ports: &[PortInfo], series: &PortSeries) -> FramesData {
    let grouping = Grouping::of(series, FRAMES);
    let queue_max = grouping.max_over(series, &series.queue_max, |port| on_switch(ports, port));
    let scale = LogScale::up_to(queue_max.iter().copied().max().unwrap_or(0));
    let cells = grouping.count * series.ports;
    let (mut used, mut queue, mut paused) = (
        Vec::with_capacity(cells),
        Vec::with_capacity(cells),
        Vec::with_capacity(cells),
    );
    for frame in 0..grouping.count {
        for port in 0..series.ports {
            let cell = Cell {
                grouping,
                series,
                frame,
                port,
            };
            let rate = ports.get(port).map_or(0, |port| port.rate.as_bps());
            used.push(share_code(cell.utilisation(rate)));
            queue.push(if on_switch(ports, port) {
                scale.code(cell.queue())
            } else {
                0
            });
            paused.push(share_code(cell.paused()));
        }
    }
    FramesData {
        count: grouping.count,
        start_ns: grouping.start_ns,
        step_ns: grouping.step_ns,
        utilisation: base64(&used),
        queue: base64(&queue),
        paused: base64(&paused),
        queue_min: scale.low,
        queue_max: scale.high,
    }
}

fn on_switch(ports: &[PortInfo], port: usize) -> bool {
    ports.get(port).is_some_and(|port| port.on_switch)
}

/// One port in one frame.
struct Cell<'a> {
    grouping: Grouping,
    series: &'a PortSeries,
    frame: usize,
    port: usize,
}

impl Cell<'_> {
    fn samples<'a>(&'a self, values: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        let rows = self.grouping.rows(self.frame);
        rows.filter_map(|row| values.get(row * self.series.ports + self.port))
            .map(|&value| u64::from(value))
    }

    fn utilisation(&self, rate_bps: u64) -> f64 {
        let sent: u64 = self.samples(&self.series.sent).sum();
        let room = rate_bps as f64 * self.grouping.seconds(self.frame);
        if room > 0.0 {
            sent as f64 * 8.0 / room
        } else {
            0.0
        }
    }

    fn queue(&self) -> u64 {
        self.samples(&self.series.queue_max).max().unwrap_or(0)
    }

    fn paused(&self) -> f64 {
        let ns: u64 = self.samples(&self.series.paused_ns).sum();
        let span = self.grouping.seconds(self.frame) * 1e9;
        if span > 0.0 { ns as f64 / span } else { 0.0 }
    }
}
