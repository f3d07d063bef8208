//! What keys of the sections output, packet and switch must obey together.

use std::collections::BTreeSet;

use fairlane_units::Bytes;

use super::{Check, Subject};
use crate::error::ensure;
use crate::rules::LONGEST_PACKET;
use crate::types::{Arbitration, Forwarding, Pfc, Scenario, Switch};

/// What a packet says for apportioning: demand and backlog (docs/wire.md).
const MOST_OF_APPORTIONING: Bytes = Bytes::new(8);

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    ensure!(!scenario.name.trim().is_empty(), "name",
        "is empty"; "leave it out: then the file names the scenario");
    let (intervals, scope) = (scenario.output.rate_interval, scenario.congestion.scope);
    ensure!(intervals.is_none() || !scope.is_shared(), "output.rate_interval",
        "is stated, but under scope \"{scope}\" queue pairs have no rates of their own";
        "use congestion.scope = \"qp\" or \"none\", or leave it out");
    trace_nodes(subject)?;
    packet(scenario)?;
    fixed(&scenario.switch.pfc)?;
    marking(scenario)?;
    forwarding(&scenario.switch)
}

fn trace_nodes(subject: &Subject<'_>) -> Check {
    let (mut seen, nodes) = (BTreeSet::new(), subject.fabric.nodes);
    for (i, node) in subject.scenario.output.trace_nodes.iter().enumerate() {
        let place = format!("output.trace_nodes[{i}]");
        ensure!(*node < nodes, place, "node {node} doesn't exist, expected 0 to {}", nodes - 1;
            "`fairlane topology` lists the nodes");
        ensure!(seen.insert(node), place, "node {node} is named twice"; "name every node once");
    }
    Ok(())
}

fn packet(scenario: &Scenario) -> Check {
    let packet = &scenario.packet;
    ensure!(packet.padding.get().is_power_of_two(), "packet.padding",
        "is {}, expected a power of two", packet.padding; "RoCE pads to 4 bytes");
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
    ensure!(longest.max(answer) <= LONGEST_PACKET, "packet.mtu",
        "with headers a packet has {longest}, expected at most {LONGEST_PACKET}";
        "lower mtu, header or telemetry");
    Ok(())
}

/// A fixed threshold: above where a pause ends, and the only one.
fn fixed(pfc: &Pfc) -> Check {
    let (shift, offset) = (pfc.threshold_shift, pfc.resume_offset);
    let Some(xoff) = pfc.xoff else { return Ok(()) };
    ensure!(offset <= xoff, "switch.pfc.xoff",
        "is {xoff}, expected at least switch.pfc.resume_offset, {offset}";
        "a pause ends at xoff less resume_offset: raise the one or lower the other");
    ensure!(shift == Pfc::default().threshold_shift, "switch.pfc.threshold_shift",
        "is {shift}, but switch.pfc.xoff is a fixed threshold"; "leave one of the two out");
    Ok(())
}

fn marking(scenario: &Scenario) -> Check {
    let marking = scenario.marking();
    let (kmin, kmax) = (marking.kmin_per_gbps, marking.kmax_per_gbps);
    ensure!(kmin <= kmax, "switch.ecn.kmin_per_gbps",
        "is {kmin}, expected at most kmax_per_gbps, {kmax}";
        "swap the two, or raise kmax_per_gbps");
    let mut rates = BTreeSet::new();
    for (i, threshold) in scenario.switch.ecn.threshold.iter().enumerate() {
        let place = format!("switch.ecn.threshold[{i}]");
        let (rate, kmin, kmax) = (threshold.rate, threshold.kmin, threshold.kmax);
        ensure!(rates.insert(rate), format!("{place}.rate"),
            "{rate} has two thresholds, expected one"; "remove one of the two");
        ensure!(kmin <= kmax, format!("{place}.kmin"),
            "is {kmin}, expected at most kmax, {kmax}"; "swap the two, or raise kmax");
    }
    Ok(())
}

fn forwarding(switch: &Switch) -> Check {
    let (target, most) = (switch.iofd.target, switch.iofd.trigger / 2);
    // Or a flow would come back as soon as it has moved.
    ensure!(target <= most, "switch.iofd.target",
        "is {target}, expected at most {most}, half of trigger";
        "lower target, or raise trigger: flows must not move to and fro");
    // A flow's packets stay in order only in one queue for each port.
    let one_queue = switch.arbitration == Arbitration::Fifo;
    ensure!(one_queue || switch.forwarding != Forwarding::Iofd, "switch.arbitration",
        "is \"ingress\", expected \"fifo\" under switch.forwarding = \"iofd\"";
        "packets of a flow that come in by two ports would overtake each other");
    Ok(())
}
