//! The fabric as a graph: its size, reachability, ports of hosts, thresholds and headroom of switches.

use std::collections::BTreeSet;

use fairlane_units::Rate;

use super::ns3::ensure_ns3;
use super::{Check, Subject};
use crate::error::{bail, ensure, mistake};
use crate::planes::{Planes, joined};
use crate::types::{Profile, Scenario, Topology};
use fairlane_hpcc_files::{MOST_LINKS, MOST_NODES};

/// Checks that a generated topology has a sensible size, before it is generated.
pub(super) fn counts(scenario: &Scenario) -> Check {
    let topology = &scenario.topology;
    if let Topology::FatTree(it) = topology {
        let (cores, group) = (it.cores, it.aggregations_per_pod);
        let nearest = (cores - cores % group).max(group);
        ensure!(cores.is_multiple_of(group), "topology.cores",
            "is {cores}, expected a multiple of aggregations_per_pod, {group}"; "write {nearest}");
    }
    let size = crate::layout::counts(topology);
    let (nodes, links) = (size.hosts.saturating_add(size.switches), size.links);
    ensure!(nodes <= MOST_NODES && links <= MOST_LINKS, "topology",
        "{nodes} nodes and {links} links, expected at most {MOST_NODES} and {MOST_LINKS}";
        "lower the counts");
    Ok(())
}

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let (hosts, nodes) = (subject.hosts.len(), subject.fabric.nodes);
    let file = subject.inputs.file("topology.path");
    let place = file.map(|file| file.path.display().to_string());
    let place = place.as_deref().unwrap_or("topology");
    ensure!(hosts >= 2, place, "{hosts} hosts, expected at least 2";
        "nodes that aren't listed as switches are hosts");
    let ns3 = subject.scenario.profile == Profile::HpccNs3;
    // Its addresses have 16 bits for the node.
    ensure_ns3!(!ns3 || nodes <= 1 << 16, place; "{nodes} nodes, expected at most 65536");
    parallel_links(subject)?;
    host_ports(subject, place)?;
    connected(subject, place)?;
    marking(subject)?;
    headroom(subject)
}

/// HPCC's simulator keeps one link of two nodes, the last.
fn parallel_links(subject: &Subject<'_>) -> Check {
    let mut seen = BTreeSet::new();
    let ns3 = subject.scenario.profile == Profile::HpccNs3;
    let links = subject.fabric.links.iter().enumerate().filter(|_| ns3);
    for (number, link) in links {
        let (a, b) = (link.a.min(link.b), link.a.max(link.b));
        let place = || subject.link_place(number);
        ensure_ns3!(seen.insert((a, b)), place(); "a second link between {a} and {b}");
    }
    Ok(())
}

fn host_ports(subject: &Subject<'_>, place: &str) -> Check {
    let ends = subject.fabric.links.iter().map(|link| (link.a, link.b));
    let ends: Vec<(u32, u32)> = ends.collect();
    let found = Planes::find(&subject.switch_flags(), &ends);
    let planes = found.map_err(|error| {
        let link = error.link.map(|link| subject.link_place(link));
        let place = link.unwrap_or_else(|| place.to_owned());
        mistake!(place, "{}", error.message; "{}", error.hint)
    })?;
    let ns3 = subject.scenario.profile == Profile::HpccNs3;
    let (planes, ports) = (planes.count, planes.ports);
    let stated = match subject.inputs.topology {
        Some(_) => place,
        None => "topology.planes",
    };
    ensure_ns3!(planes < 2 || !ns3, stated; "{planes} planes, expected one");
    ensure_ns3!(ports < 2 || !ns3, stated; "hosts with {ports} ports, expected one");
    let mut linked = vec![false; subject.fabric.nodes as usize];
    subject.ends().for_each(|(node, ..)| linked[node] = true);
    if let Some(node) = linked.iter().position(|linked| !linked) {
        bail!(place, "node {node} has no link, expected at least one"; "add a link");
    }
    Ok(())
}

fn connected(subject: &Subject<'_>, place: &str) -> Check {
    let links = subject.fabric.links.iter().map(|link| (link.a, link.b));
    let lowest = joined(subject.fabric.nodes as usize, links);
    if let Some(node) = lowest.iter().position(|lowest| *lowest != 0) {
        bail!(place, "node {node} can't be reached from node 0, expected one fabric";
            "add the missing link");
    }
    Ok(())
}

/// With an explicit list of thresholds, every rate of a switch port needs one.
fn marking(subject: &Subject<'_>) -> Check {
    let ecn = &subject.scenario.switch.ecn;
    if !ecn.enabled || ecn.threshold.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<Rate> = ecn.threshold.iter().map(|one| one.rate).collect();
    for (i, link) in subject.switch_links() {
        let (a, b, rate) = (link.a, link.b, link.rate);
        ensure!(known.contains(&rate), "switch.ecn.threshold",
            "no threshold for {rate}, the rate of the link between {a} and {b} ({})",
            subject.link_place(i); "add one with rate = \"{rate}\"");
    }
    Ok(())
}

/// What is reserved for ports must leave shared buffer.
fn headroom(subject: &Subject<'_>) -> Check {
    let pfc = &subject.scenario.switch.pfc;
    let Some(delays) = pfc.headroom_delays.filter(|_| pfc.enabled) else {
        return Ok(());
    };
    let mut reserved = vec![0u64; subject.fabric.nodes as usize];
    for link in &subject.fabric.links {
        let bytes = link.rate.bytes_in(link.delay).get().saturating_mul(delays);
        let port = bytes.saturating_add(pfc.reserve.get());
        for node in [link.a, link.b] {
            let sum = &mut reserved[node as usize];
            *sum = sum.saturating_add(port);
        }
    }
    let buffer = subject.scenario.switch.buffer.get();
    for switch in &subject.fabric.switches {
        let taken = reserved[*switch as usize];
        ensure!(taken < buffer, "switch.buffer",
            "is {buffer} B, but reserve and headroom of switch {switch} take {taken} B, \
            expected more";
            "raise the buffer, or lower headroom_delays or link delays");
    }
    Ok(())
}
