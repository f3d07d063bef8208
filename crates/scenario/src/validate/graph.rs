//! The fabric as a graph: reachability, ports of hosts, thresholds and headroom of switches.

use std::collections::BTreeSet;

use fairlane_units::Rate;

use super::limits::fail;
use super::{Check, Subject, ns3};
use crate::planes::{Planes, joined};
use crate::types::Profile;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let place = subject.inputs.file("topology.path").map_or_else(
        || "topology".to_owned(),
        |file| file.path.display().to_string(),
    );
    if subject.hosts.len() < 2 {
        let message = format!("{} hosts, expected at least 2", subject.hosts.len());
        return fail(
            place,
            message,
            "nodes that aren't listed as switches are hosts",
        );
    }
    // Its addresses have 16 bits for the node.
    if subject.scenario.profile == Profile::HpccNs3 && subject.fabric.nodes > 1 << 16 {
        let found = format!("{} nodes, expected at most 65536", subject.fabric.nodes);
        return ns3::refuse(place, &found);
    }
    host_ports(subject, &place)?;
    connected(subject, &place)?;
    marking(subject)?;
    headroom(subject)
}

fn host_ports(subject: &Subject<'_>, place: &str) -> Check {
    let ends = subject.fabric.links.iter().map(|link| (link.a, link.b));
    let ends: Vec<(u32, u32)> = ends.collect();
    let found = Planes::find(&subject.switch_flags(), &ends);
    let planes = match found {
        Ok(planes) => planes.count,
        Err(error) => {
            let link = error.link.map(|link| subject.link_place(link));
            let place = link.unwrap_or_else(|| place.to_owned());
            return fail(place, error.message, error.hint);
        }
    };
    if planes > 1 && subject.scenario.profile == Profile::HpccNs3 {
        let place = match subject.inputs.topology {
            Some(_) => place,
            None => "topology.planes",
        };
        return ns3::refuse(place, &format!("{planes} planes, expected one"));
    }
    let mut linked = vec![false; subject.fabric.nodes as usize];
    for node in ends.into_iter().flat_map(|(a, b)| [a, b]) {
        linked[node as usize] = true;
    }
    match linked.iter().position(|linked| !linked) {
        Some(node) => fail(
            place,
            format!("node {node} has no link, expected at least one"),
            "add a link",
        ),
        None => Ok(()),
    }
}

fn connected(subject: &Subject<'_>, place: &str) -> Check {
    let links = subject.fabric.links.iter().map(|link| (link.a, link.b));
    let lowest = joined(subject.fabric.nodes as usize, links);
    match lowest.iter().position(|lowest| *lowest != 0) {
        Some(node) => {
            let message = format!("node {node} can't be reached from node 0, expected one fabric");
            fail(place, message, "add the missing link")
        }
        None => Ok(()),
    }
}

/// With an explicit list of thresholds, every rate of a switch port needs one.
fn marking(subject: &Subject<'_>) -> Check {
    let ecn = &subject.scenario.switch.ecn;
    if !ecn.enabled || ecn.threshold.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<Rate> = ecn
        .threshold
        .iter()
        .map(|threshold| threshold.rate)
        .collect();
    let switches = subject.switch_flags();
    for (i, link) in subject.fabric.links.iter().enumerate() {
        let at_switch = switches[link.a as usize] || switches[link.b as usize];
        if at_switch && !known.contains(&link.rate) {
            let message = format!(
                "no threshold for {}, the rate of the link between {} and {} ({})",
                link.rate,
                link.a,
                link.b,
                subject.link_place(i)
            );
            return fail(
                "switch.ecn.threshold",
                message,
                format!("add one with rate = \"{}\"", link.rate),
            );
        }
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
        for node in [link.a, link.b] {
            let port = bytes.saturating_add(pfc.reserve.get());
            let sum = &mut reserved[node as usize];
            *sum = sum.saturating_add(port);
        }
    }
    let buffer = subject.scenario.switch.buffer.get();
    let full = subject
        .fabric
        .switches
        .iter()
        .find(|switch| reserved[**switch as usize] >= buffer);
    let Some(switch) = full else { return Ok(()) };
    let message = format!(
        "is {buffer} B, but reserve and headroom of switch {switch} take {} B, expected more",
        reserved[*switch as usize]
    );
    fail(
        "switch.buffer",
        message,
        "raise the buffer, or lower headroom_delays or link delays",
    )
}
