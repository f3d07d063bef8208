//! Capture points, and ports that are sampled: nodes and ports that exist.

use std::collections::BTreeSet;

use super::limits::fail;
use super::{Check, Subject};
use crate::capture_point::CapturePorts;
use crate::error::Error;
use crate::types::CapturePoint;

const HINT: &str = "`fairlane topology` lists hosts and switches";

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let output = &subject.scenario.output;
    points(subject, "capture", &subject.scenario.capture)?;
    points(subject, "output.ports", &output.ports)?;
    if !output.ports.is_empty() && output.sample_interval.is_none() {
        let message = "are named, but not how often they are sampled";
        let hint = "write sample_interval, \"1us\" for example, in section [output]";
        return fail("output.ports", message, hint);
    }
    Ok(())
}

/// The points of one key.
fn points(subject: &Subject<'_>, key: &str, points: &[CapturePoint]) -> Check {
    if points.is_empty() {
        return Ok(());
    }
    let (counts, mut seen) = (port_counts(subject), BTreeSet::new());
    for (i, point) in points.iter().enumerate() {
        let place = format!("{key}[{i}]");
        let ports = point.ports().map_err(|error| Error {
            place: place.clone(),
            message: format!(
                "\"{}\" {}",
                fairlane_hpcc_files::lines::shorten(&point.0),
                error.message
            ),
            hint: error.hint,
        })?;
        check_node(subject, &place, ports)?;
        let count = counts[ports.node as usize];
        if let Some(port) = ports.port
            && !(1..=count).contains(&port)
        {
            let node = ports.node;
            let message = format!("node {node} has no port {port}, expected 1 to {count}");
            return fail(
                place,
                message,
                "ports are numbered in the order of the links",
            );
        }
        let numbers = (1..=count).filter(|number| ports.contains(ports.node, *number));
        for number in numbers {
            if !seen.insert((ports.node, number)) {
                let message = format!("port {number} of node {} is named twice", ports.node);
                return fail(place, message, "name every port once");
            }
        }
    }
    Ok(())
}

/// The node exists and is what it is said to be.
fn check_node(subject: &Subject<'_>, place: &str, ports: CapturePorts) -> Check {
    let (node, nodes) = (ports.node, subject.fabric.nodes);
    if node >= nodes {
        let message = format!("node {node} doesn't exist, expected 0 to {}", nodes - 1);
        return fail(place, message, HINT);
    }
    if ports.on_switch != subject.is_host(node) {
        return Ok(());
    }
    let (is, expected) = match ports.on_switch {
        true => ("host", "switch"),
        false => ("switch", "host"),
    };
    let message = format!("node {node} is a {is}, expected a {expected}");
    fail(place, message, format!("write \"{is}:{node}\"; {HINT}"))
}

/// How many links each node has.
fn port_counts(subject: &Subject<'_>) -> Vec<u32> {
    let mut counts = vec![0; subject.fabric.nodes as usize];
    for link in &subject.fabric.links {
        counts[link.a as usize] += 1;
        counts[link.b as usize] += 1;
    }
    counts
}
