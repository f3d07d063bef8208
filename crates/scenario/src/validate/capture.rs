//! Capture points, and ports that are sampled: nodes and ports that exist.

use std::collections::BTreeSet;

use super::{Check, Subject};
use crate::capture_point::CapturePorts;
use crate::error::{ensure, mistake};
use crate::types::CapturePoint;
use fairlane_hpcc_files::lines::shorten;

const HINT: &str = "`fairlane topology` lists hosts and switches";

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let output = &subject.scenario.output;
    points(subject, "capture", &subject.scenario.capture)?;
    points(subject, "output.ports", &output.ports)?;
    ensure!(output.ports.is_empty() || output.sample_interval.is_some(), "output.ports",
        "are named, but not how often they are sampled";
        "write sample_interval, \"1us\" for example, in section [output]");
    Ok(())
}

/// The points of one key.
fn points(subject: &Subject<'_>, key: &str, points: &[CapturePoint]) -> Check {
    let mut counts = vec![0; subject.fabric.nodes as usize];
    subject.ends().for_each(|(node, ..)| counts[node] += 1);
    let mut seen = BTreeSet::new();
    for (i, point) in points.iter().enumerate() {
        let place = format!("{key}[{i}]");
        let ports = point.ports().map_err(|error| {
            let text = shorten(&point.0);
            mistake!(&place, "\"{text}\" {}", error.message; "{}", error.hint)
        })?;
        check_node(subject, &place, ports)?;
        let (node, count) = (ports.node, counts[ports.node as usize]);
        if let Some(port) = ports.port {
            ensure!((1..=count).contains(&port), place,
                "node {node} has no port {port}, expected 1 to {count}";
                "ports are numbered in the order of the links");
        }
        for number in (1..=count).filter(|number| ports.contains(node, *number)) {
            ensure!(seen.insert((node, number)), place,
                "port {number} of node {node} is named twice"; "name every port once");
        }
    }
    Ok(())
}

/// The node exists and is what it is said to be.
fn check_node(subject: &Subject<'_>, place: &str, ports: CapturePorts) -> Check {
    let (node, nodes) = (ports.node, subject.fabric.nodes);
    ensure!(node < nodes, place,
        "node {node} doesn't exist, expected 0 to {}", nodes - 1; "{HINT}");
    let (is, expected) = match ports.on_switch {
        true => ("host", "switch"),
        false => ("switch", "host"),
    };
    ensure!(ports.on_switch != subject.is_host(node), place,
        "node {node} is a {is}, expected a {expected}"; "write \"{is}:{node}\"; {HINT}");
    Ok(())
}
