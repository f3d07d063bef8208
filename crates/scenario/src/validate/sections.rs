//! The sections that stand on their own: output, packet, switch, transport.

use std::collections::BTreeSet;

use fairlane_congestion::Marking;
use fairlane_units::{Bytes, Duration};

use super::limits::{LARGEST, fail, positive_span, span, within};
use super::{Check, Subject, forwarding};
use crate::types::{EcnThreshold, Profile, Scenario, Switch};

/// Jumbo frames end here on most hardware.
const MOST_MTU: u64 = 9216;
/// What a packet says for apportioning: demand and backlog (docs/wire.md).
const MOST_OF_APPORTIONING: Bytes = Bytes::new(8);
/// The longest IP packet.
const LONGEST_PACKET: u64 = 65_535;

pub(super) fn check(subject: &Subject<'_>) -> Check {
    let scenario = subject.scenario;
    let profile = scenario.profile;
    if scenario.name.trim().is_empty() {
        return fail(
            "name",
            "is empty",
            "leave it out: then the file names the scenario",
        );
    }
    // TOML has signed integers only.
    within("seed", scenario.seed, 0, i64::MAX.unsigned_abs())?;
    if let Some(stop) = scenario.stop {
        positive_span(profile, "stop", stop)?;
    }
    if let Some(interval) = scenario.output.sample_interval {
        positive_span(profile, "output.sample_interval", interval)?;
    }
    deadlocks(scenario)?;
    rates(subject)?;
    trace_nodes(subject)?;
    packet(scenario)?;
    switch(&scenario.switch, &scenario.marking())?;
    forwarding::check(profile, &scenario.switch)?;
    if let Some(timeout) = scenario.transport.ack_timeout {
        positive_span(profile, "transport.ack_timeout", timeout)?;
    }
    span(
        profile,
        "transport.nak_interval",
        scenario.transport.nak_interval,
    )
}

/// The watch of profile `hpcc-ns3` is as it is.
fn deadlocks(scenario: &Scenario) -> Check {
    let place = "output.deadlock_interval";
    let Some(interval) = scenario.output.deadlock_interval else {
        return Ok(());
    };
    positive_span(scenario.profile, place, interval)?;
    if scenario.profile == Profile::HpccNs3 {
        let message = "is stated, but profile \"hpcc-ns3\" has its own";
        return fail(place, message, "use profile \"exact\" for it");
    }
    Ok(())
}

/// Each queue pair must have a rate of its own, which the driver of profile `hpcc-ns3` keeps elsewhere.
fn rates(subject: &Subject<'_>) -> Check {
    let (scenario, place) = (subject.scenario, "output.rate_interval");
    let Some(interval) = scenario.output.rate_interval else {
        return Ok(());
    };
    positive_span(scenario.profile, place, interval)?;
    if scenario.profile == Profile::HpccNs3 {
        let message = "is stated, but profile \"hpcc-ns3\" records no rates";
        return fail(place, message, "use profile \"exact\" for them");
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
    let bytes = |key: &str, value: Bytes, least: u64, most: u64| {
        within(
            &format!("packet.{key}"),
            value,
            Bytes::new(least),
            Bytes::new(most),
        )
    };
    bytes("mtu", packet.mtu, 1, MOST_MTU)?;
    bytes("header", packet.header, 0, LONGEST_PACKET)?;
    bytes("first_header", packet.first_header, 0, LONGEST_PACKET)?;
    bytes("padding", packet.padding, 1, 64)?;
    if !packet.padding.get().is_power_of_two() {
        let message = format!("is {}, expected a power of two", packet.padding);
        return fail("packet.padding", message, "RoCE pads to 4 bytes");
    }
    bytes("telemetry", packet.telemetry, 0, LONGEST_PACKET)?;
    bytes("ack", packet.ack, 1, LONGEST_PACKET)?;
    bytes("ack_min", packet.ack_min, 0, LONGEST_PACKET)?;
    bytes("time_stamp", packet.time_stamp, 0, LONGEST_PACKET)?;
    bytes("cnp", packet.cnp, 1, LONGEST_PACKET)?;
    bytes("pause", packet.pause, 1, LONGEST_PACKET)?;
    bytes("gap", packet.gap, 0, LONGEST_PACKET)?;
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
    if longest.max(answer).get() > LONGEST_PACKET {
        let message =
            format!("with headers a packet has {longest}, expected at most {LONGEST_PACKET}B");
        return fail("packet.mtu", message, "lower mtu, header or telemetry");
    }
    Ok(())
}

fn switch(switch: &Switch, marked: &Marking) -> Check {
    within("switch.buffer", switch.buffer, Bytes::new(1), LARGEST)?;
    within(
        "switch.feedback_interval",
        switch.feedback_interval,
        Duration::from_ns(1),
        Duration::from_ms(1000),
    )?;
    within(
        "switch.pfc.reserve",
        switch.pfc.reserve,
        Bytes::ZERO,
        LARGEST,
    )?;
    within(
        "switch.pfc.resume_offset",
        switch.pfc.resume_offset,
        Bytes::ZERO,
        LARGEST,
    )?;
    within(
        "switch.pfc.threshold_shift",
        switch.pfc.threshold_shift,
        0,
        32,
    )?;
    if let Some(delays) = switch.pfc.headroom_delays {
        within("switch.pfc.headroom_delays", delays, 0, 1000)?;
    }
    marking(marked)?;
    thresholds(&switch.ecn.threshold)
}

fn marking(marking: &Marking) -> Check {
    let most = Bytes::new(1 << 30);
    within(
        "switch.ecn.kmin_per_gbps",
        marking.kmin_per_gbps,
        Bytes::ZERO,
        most,
    )?;
    within(
        "switch.ecn.kmax_per_gbps",
        marking.kmax_per_gbps,
        Bytes::ZERO,
        most,
    )?;
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
    within("switch.ecn.pmax", marking.pmax, 0.0, 1.0)
}

fn thresholds(thresholds: &[EcnThreshold]) -> Check {
    let mut rates = BTreeSet::new();
    for (i, threshold) in thresholds.iter().enumerate() {
        let key = |key: &str| format!("switch.ecn.threshold[{i}].{key}");
        super::limits::rate(&key("rate"), threshold.rate)?;
        if !rates.insert(threshold.rate) {
            let message = format!("{} has two thresholds, expected one", threshold.rate);
            return fail(key("rate"), message, "remove one of the two");
        }
        within(&key("kmax"), threshold.kmax, Bytes::ZERO, LARGEST)?;
        if threshold.kmin > threshold.kmax {
            let message = format!(
                "is {}, expected at most kmax, {}",
                threshold.kmin, threshold.kmax
            );
            return fail(key("kmin"), message, "swap the two, or raise kmax");
        }
        within(&key("pmax"), threshold.pmax, 0.0, 1.0)?;
    }
    Ok(())
}
