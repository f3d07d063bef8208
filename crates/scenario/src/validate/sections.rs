//! What keys of the sections output, packet and switch must obey together.

use std::collections::BTreeSet;

use fairlane_congestion::Marking;
use fairlane_units::Bytes;

use super::limits::{LONGEST_PACKET, fail};
use super::{Check, Subject, forwarding};
use crate::types::{EcnThreshold, Pfc, Scenario};

/// What a packet says for apportioning: demand and backlog (docs/wire.md).
const MOST_OF_APPORTIONING: Bytes = Bytes::new(8);

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    if scenario.name.trim().is_empty() {
        return fail(
            "name",
            "is empty",
            "leave it out: then the file names the scenario",
        );
    }
    rates(subject)?;
    trace_nodes(subject)?;
    packet(scenario)?;
    fixed(&scenario.switch.pfc)?;
    marking(&scenario.marking())?;
    thresholds(&scenario.switch.ecn.threshold)?;
    forwarding::check(&scenario.switch)
}

/// Each queue pair must have a rate of its own.
fn rates(subject: &Subject<'_>) -> Check {
    let (scenario, place) = (subject.scenario, "output.rate_interval");
    if scenario.output.rate_interval.is_none() {
        return Ok(());
    }
    let scope = scenario.congestion.scope;
    if scope.is_shared() {
        let message = format!(
            "is stated, but under scope \"{scope}\" queue pairs have no rates of their own"
        );
        let hint = "use congestion.scope = \"qp\" or \"none\", or leave it out";
        return fail(place, message, hint);
    }
    Ok(())
}

fn trace_nodes(subject: &Subject<'_>) -> Check {
    let mut seen = BTreeSet::new();
    for (i, node) in subject.scenario.output.trace_nodes.iter().enumerate() {
        let place = format!("output.trace_nodes[{i}]");
        let nodes = subject.fabric.nodes;
        if *node >= nodes {
            let message = format!("node {node} doesn't exist, expected 0 to {}", nodes - 1);
            return fail(place, message, "`fairlane topology` lists the nodes");
        }
        if !seen.insert(node) {
            return fail(
                place,
                format!("node {node} is named twice"),
                "name every node once",
            );
        }
    }
    Ok(())
}

fn packet(scenario: &Scenario) -> Check {
    let packet = &scenario.packet;
    if !packet.padding.get().is_power_of_two() {
        let message = format!("is {}, expected a power of two", packet.padding);
        return fail("packet.padding", message, "RoCE pads to 4 bytes");
    }
    // An AtomicETH is 12 bytes longer than a RETH.
    let extension = packet.first_header.max(Bytes::new(28)) + packet.padding;
    let apportioning = match scenario.congestion.dasr.mode.divides() {
        true => MOST_OF_APPORTIONING,
        false => Bytes::ZERO,
    };
    let extra = packet.telemetry + packet.time_stamp + apportioning;
    let longest = packet.mtu + packet.header + extension + extra;
    // The answer to an atomic is an acknowledgement with eight bytes more.
    let answer = (packet.ack + extra).max(packet.ack_min) + Bytes::new(8);
    if longest.max(answer) > LONGEST_PACKET {
        let message =
            format!("with headers a packet has {longest}, expected at most {LONGEST_PACKET}");
        return fail("packet.mtu", message, "lower mtu, header or telemetry");
    }
    Ok(())
}

/// A fixed threshold: above where a pause ends, and the only one.
fn fixed(pfc: &Pfc) -> Check {
    let Some(xoff) = pfc.xoff else { return Ok(()) };
    let place = "switch.pfc.xoff";
    if pfc.resume_offset > xoff {
        let message = format!(
            "is {xoff}, expected at least switch.pfc.resume_offset, {}",
            pfc.resume_offset
        );
        let hint = "a pause ends at xoff less resume_offset: raise the one or lower the other";
        return fail(place, message, hint);
    }
    if pfc.threshold_shift != Pfc::default().threshold_shift {
        let message = format!(
            "is {}, but switch.pfc.xoff is a fixed threshold",
            pfc.threshold_shift
        );
        return fail(
            "switch.pfc.threshold_shift",
            message,
            "leave one of the two out",
        );
    }
    Ok(())
}

fn marking(marking: &Marking) -> Check {
    if marking.kmin_per_gbps > marking.kmax_per_gbps {
        let message = format!(
            "is {}, expected at most kmax_per_gbps, {}",
            marking.kmin_per_gbps, marking.kmax_per_gbps
        );
        return fail(
            "switch.ecn.kmin_per_gbps",
            message,
            "swap the two, or raise kmax_per_gbps",
        );
    }
    Ok(())
}

fn thresholds(thresholds: &[EcnThreshold]) -> Check {
    let mut rates = BTreeSet::new();
    for (i, threshold) in thresholds.iter().enumerate() {
        let key = |key: &str| format!("switch.ecn.threshold[{i}].{key}");
        if !rates.insert(threshold.rate) {
            let message = format!("{} has two thresholds, expected one", threshold.rate);
            return fail(key("rate"), message, "remove one of the two");
        }
        if threshold.kmin > threshold.kmax {
            let message = format!(
                "is {}, expected at most kmax, {}",
                threshold.kmin, threshold.kmax
            );
            return fail(key("kmin"), message, "swap the two, or raise kmax");
        }
    }
    Ok(())
}
