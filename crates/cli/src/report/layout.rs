//! Where the map draws each node.
//!
//! The tier of a node is its distance from the nearest host in links. Tiers are rows, hosts at the
//! bottom in blocks below their switch, and the nodes of a row follow the nodes that they are
//! linked to, which keeps pods together and links short.

use std::collections::VecDeque;

use fairlane_fabric::PortInfo;

/// Top and bottom of the rows of switches.
const SWITCHES: (f32, f32) = (0.07, 0.66);
/// The only row of switches, where there is just one.
const LONE_ROW: f32 = 0.26;
/// How far the ends of a bent row lie below its place.
const ARCH_FOOT: f32 = 0.4;
/// Top and bottom of the rows of hosts.
const HOSTS: (f32, f32) = (0.84, 0.97);
/// Hosts side by side over the full width, before another row begins.
const HOSTS_ABREAST: f32 = 160.0;

/// The place of each node, 0 to 1 from the left and from the top.
pub(super) struct Layout {
    pub(super) tier: Vec<u8>,
    pub(super) x: Vec<f32>,
    pub(super) y: Vec<f32>,
}

/// The neighbours of each node, in order of ports.
fn neighbours(ports: &[PortInfo]) -> Vec<Vec<usize>> {
    let nodes = ports
        .iter()
        .map(|port| port.node.index() + 1)
        .max()
        .unwrap_or(0);
    let mut lists = vec![Vec::new(); nodes];
    for port in ports {
        lists[port.node.index()].push(port.peer_node.index());
    }
    lists
}

/// Links to the nearest host, for each node; switches that reach no host count as the first tier.
fn tiers(ports: &[PortInfo], links: &[Vec<usize>]) -> Vec<u8> {
    let mut tier = vec![0_u8; links.len()];
    let mut reached = vec![true; links.len()];
    for port in ports.iter().filter(|port| port.on_switch) {
        tier[port.node.index()] = 1;
        reached[port.node.index()] = false;
    }
    let mut waiting: VecDeque<usize> = (0..links.len()).filter(|&node| reached[node]).collect();
    while let Some(node) = waiting.pop_front() {
        for &next in &links[node] {
            if reached.get(next) == Some(&false) {
                reached[next] = true;
                tier[next] = tier[node].saturating_add(1);
                waiting.push_back(next);
            }
        }
    }
    tier
}

/// The layout of the fabric that `ports` describe.
pub(super) fn layout(ports: &[PortInfo]) -> Layout {
    let links = neighbours(ports);
    let tier = tiers(ports, &links);
    let mut plan = Layout {
        x: vec![0.5; links.len()],
        y: vec![0.5; links.len()],
        tier,
    };
    let top = plan.tier.iter().copied().max().unwrap_or(0);
    for row in 1..=top {
        place_row(&mut plan, &links, row, top);
    }
    place_hosts(&mut plan, &links);
    plan
}

/// Spreads the switches of one tier over a row, ordered by the mean place of those below them.
fn place_row(plan: &mut Layout, links: &[Vec<usize>], row: u8, top: u8) {
    let mut nodes: Vec<usize> = (0..links.len())
        .filter(|&node| plan.tier[node] == row)
        .collect();
    if row > 1 {
        // Thousandths, so that sums in another order don't tear equal places apart.
        nodes.sort_by_key(|&node| ((mean_below(plan, &links[node], row) * 1000.0) as i32, node));
    }
    let inner = |&node: &usize| links[node].iter().any(|&next| plan.tier[next] == row);
    let arched = nodes.len() > 2 && nodes.iter().any(inner);
    let height = height_of(row, top);
    for (place, &node) in nodes.iter().enumerate() {
        let along = (place as f32 + 0.5) / nodes.len() as f32;
        plan.x[node] = along;
        plan.y[node] = if arched { arch(along, height) } else { height };
    }
}

/// A row whose switches are linked to each other bends, or its links would lie on each other.
fn arch(along: f32, height: f32) -> f32 {
    let from_middle = along * 2.0 - 1.0;
    let lift = (1.0 - from_middle * from_middle) * (SWITCHES.1 - SWITCHES.0);
    (height + ARCH_FOOT - lift).clamp(SWITCHES.0, SWITCHES.1)
}

fn height_of(row: u8, top: u8) -> f32 {
    if top < 2 {
        return LONE_ROW;
    }
    let share = f32::from(top - row) / f32::from(top - 1);
    SWITCHES.0 + share * (SWITCHES.1 - SWITCHES.0)
}

fn mean_below(plan: &Layout, links: &[usize], row: u8) -> f32 {
    let below = links.iter().filter(|&&next| plan.tier[next] + 1 == row);
    let (sum, count) = below.fold((0.0, 0), |(sum, count), &next| {
        (sum + plan.x[next], count + 1)
    });
    if count == 0 { 0.5 } else { sum / count as f32 }
}

/// Puts the hosts of each switch in a block below it.
fn place_hosts(plan: &mut Layout, links: &[Vec<usize>]) {
    let mut blocks = vec![Vec::new(); links.len()];
    for node in (0..links.len()).filter(|&node| plan.tier[node] == 0) {
        let home = links[node].first().copied().unwrap_or(node);
        blocks[home].push(node);
    }
    let used = blocks
        .iter()
        .filter(|block| !block.is_empty())
        .count()
        .max(1);
    let width = 1.0 / used as f32;
    let abreast = (width * HOSTS_ABREAST).max(1.0) as usize;
    let rows = blocks
        .iter()
        .map(|block| block.len().div_ceil(abreast))
        .max()
        .unwrap_or(1);
    for (home, block) in blocks.iter().enumerate() {
        let centre = plan.x[home];
        let columns = block.len().div_ceil(rows).max(1);
        for (place, &node) in block.iter().enumerate() {
            let column = (place % columns) as f32 + 0.5;
            let offset = column / columns as f32 - 0.5;
            plan.x[node] = (centre + offset * width * 0.86).clamp(0.0, 1.0);
            plan.y[node] = host_height(place / columns, rows);
        }
    }
}

fn host_height(row: usize, rows: usize) -> f32 {
    if rows < 2 {
        return f32::midpoint(HOSTS.0, HOSTS.1);
    }
    HOSTS.0 + row as f32 / (rows - 1) as f32 * (HOSTS.1 - HOSTS.0)
}
