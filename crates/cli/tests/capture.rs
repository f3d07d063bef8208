//! Exported captures: every packet is one of RoCEv2 with a right ICRC, and all agree with `flows.csv`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use fairlane_wire::{Frame, NakCode, Network, Opcode, Syndrome};

use crate::support::flows::{self, MTU, Message};
use crate::support::pcapng::{self, Captured};
use crate::support::{Case, STAR, mixed};

/// Runs a scenario with settings, and exports its capture.
fn exported(scenario: &str, sets: &str) -> (Case, Vec<Captured>, Vec<String>) {
    let case = Case::with("s.toml", scenario);
    let ran = case.run(&format!("run s.toml --out d {sets}"));
    assert_eq!(
        ran.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let done = case.run("export pcap d -o c.pcapng");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let file = fs::read(case.path("c.pcapng")).unwrap();
    let (packets, interfaces) = pcapng::read(&file);
    (case, packets, interfaces)
}

fn is_pause_frame(packet: &Captured) -> bool {
    packet.bytes[..6] == [0x01, 0x80, 0xc2, 0, 0, 1]
}

/// What the capture has of a message at the hosts.
#[derive(Default)]
struct Seen {
    /// Packets with payload, and requests for a response.
    data: u32,
    requests: u32,
    /// Payload by PSN.
    payload: BTreeMap<u32, usize>,
    lengths: BTreeSet<u32>,
    /// Of acknowledgements that have come back.
    completed: bool,
    naks: u32,
}

/// By message, what left and reached the hosts that are its ends.
fn seen(packets: &[Captured], messages: &[Message]) -> Vec<Seen> {
    let pairs = messages.iter().enumerate();
    let pairs: BTreeMap<u32, usize> = pairs
        .flat_map(|(index, message)| message.queue_pairs().map(|pair| (pair, index)))
        .collect();
    let mut seen: Vec<Seen> = messages.iter().map(|_| Seen::default()).collect();
    for packet in packets.iter().filter(|packet| !is_pause_frame(packet)) {
        let frame = Frame::parse(&packet.bytes).unwrap_or_else(|error| panic!("{error}"));
        let bth = frame.datagram.packet.bth();
        let index = pairs[&bth.destination.get()];
        let message = &messages[index];
        let back = bth.destination.get() == message.queue_pairs()[0];
        let Network::Ipv4(header) = frame.datagram.network else {
            panic!("not IPv4: {frame}");
        };
        let mut ends = [message.source, message.destination];
        if back {
            ends.reverse();
        }
        assert_eq!(
            [header.source, header.destination],
            ends.map(flows::address),
            "{frame}"
        );
        assert_eq!(
            frame.datagram.udp.source_port, message.source_port,
            "{frame}"
        );
        if packet.interface.starts_with("host") {
            seen[index].take(&frame, packet.outbound);
        }
    }
    seen
}

impl Seen {
    fn take(&mut self, frame: &Frame<'_>, outbound: bool) {
        let packet = &frame.datagram.packet;
        let extension = packet.headers.extension;
        let (opcode, psn) = (packet.bth().opcode, packet.bth().psn.get());
        if outbound {
            self.lengths
                .extend(extension.reth().map(|reth| reth.length));
            self.data += u32::from(opcode.has_payload());
            let asks = opcode == Opcode::RcReadRequest || opcode.has_atomic_eth();
            self.requests += u32::from(asks);
        } else if opcode.has_payload() {
            let before = self.payload.insert(psn, packet.payload.len());
            assert!(before.is_none_or(|length| length == packet.payload.len()));
        } else if let Some(aeth) = extension.aeth() {
            match aeth.syndrome {
                Syndrome::Nak(NakCode::SequenceError) => self.naks += 1,
                Syndrome::Ack { credits: 31 } => self.completed |= aeth.msn > 0,
                other => panic!("nobody says {other}"),
            }
        }
    }
}

/// Everything that a capture at all hosts and `flows.csv` must agree upon.
fn agree(case: &Case, packets: &[Captured], direct: bool) -> Vec<Seen> {
    let messages = flows::read(&case.text("d/flows.csv"));
    let seen = seen(packets, &messages);
    for (message, seen) in messages.iter().zip(&seen) {
        let Message { size, verb, .. } = message;
        let atomic = verb.contains("-");
        let count = if atomic { 0 } else { size.div_ceil(MTU) as u32 };
        let asks = u32::from(atomic || verb == "read");
        let (sent, once) = (seen.data + seen.requests, count + asks);
        let most = once + message.retransmitted;
        match verb.as_str() {
            // What a responder sends for a repeated request counts as repeated, were it sent or not.
            "read" => assert!((once..=most).contains(&sent), "{sent} for {message:?}"),
            _ => assert_eq!(sent, most, "packets of {message:?}"),
        }
        let payload = if atomic { 0 } else { *size as usize };
        assert_eq!(seen.payload.values().sum::<usize>(), payload, "{message:?}");
        match (verb.as_str(), direct) {
            ("write", true) => assert!(seen.lengths.iter().all(|length| u64::from(*length) <= MTU)),
            // A READ that is asked for again asks for the rest.
            ("read", _) => assert_eq!(seen.lengths.last().copied(), Some(*size as u32)),
            ("write", false) => assert!(seen.lengths.iter().eq([&(*size as u32)])),
            _ => assert!(seen.lengths.is_empty()),
        }
        assert!(seen.completed || verb == "read", "{message:?}");
    }
    seen
}

#[test]
fn every_verb_agrees_with_the_flows() {
    let (case, packets, interfaces) = exported(&mixed(), "");
    let expected: Vec<_> = (0..6)
        .flat_map(|n| [format!("host{n}-port1"), format!("switch6-port{}", n + 1)])
        .collect();
    assert_eq!(interfaces, expected);
    assert!(packets.is_sorted_by_key(|packet| packet.time_ns));
    assert!(packets.iter().any(is_pause_frame));
    agree(&case, &packets, false);
}

#[test]
fn packets_placed_directly_agree_with_the_flows() {
    let (case, packets, _) = exported(&mixed(), "--set transport.direct_placement=true");
    agree(&case, &packets, true);
}

#[test]
fn recovery_from_loss_agrees_with_the_flows() {
    for recovery in ["go-back-n", "selective-repeat"] {
        for direct in [false, true] {
            let sets = format!(
                "--set transport.recovery={recovery} --set transport.direct_placement={direct} \
                 --set faults.loss_rate=0.01 --set transport.ack_timeout=100us \
                 --set transport.retry_limit=100 --set transport.nak_interval=20us"
            );
            let (case, packets, _) = exported(&mixed(), &sets);
            let seen = agree(&case, &packets, direct);
            assert!(seen.iter().any(|seen| seen.naks > 0), "{sets}");
        }
    }
}

#[test]
fn marks_come_back_as_congestion_notifications() {
    let sets = "--set congestion.algorithm=dcqcn --set congestion.notification=cnp \
                --set switch.ecn.kmin_per_gbps=100B --set switch.ecn.kmax_per_gbps=100B \
                --set switch.buffer=32MiB";
    let (case, packets, _) = exported(&mixed(), sets);
    agree(&case, &packets, false);
    let notifications = packets.iter().filter(|packet| {
        let frame = Frame::parse(&packet.bytes).unwrap();
        let bth = frame.datagram.packet.bth();
        let arrives = packet.interface.starts_with("host") && !packet.outbound;
        arrives && bth.opcode == Opcode::Cnp && bth.becn
    });
    let signals: serde_json::Value = serde_json::from_str(&case.text("d/signals.json")).unwrap();
    let count = notifications.count();
    assert!(count > 0);
    assert_eq!(signals["cnps"]["count"], count);
}

#[test]
fn packets_between_switches_are_captured_at_chosen_ports() {
    let scenario = crate::support::LEAF_SPINE.replacen(
        "[topology]",
        "capture = [\"switch:4/port:3\"]\n[topology]",
        1,
    );
    let (_, packets, interfaces) = exported(&scenario, "");
    assert_eq!(interfaces, ["switch4-port3"]);
    assert!(!packets.is_empty());
    for packet in &packets {
        let frame = Frame::parse(&packet.bytes).unwrap();
        let Network::Ipv4(header) = frame.datagram.network else {
            panic!("not IPv4: {frame}");
        };
        // One switch before the port; on the way back, the leaf there and the spine.
        assert_eq!(header.ttl, if packet.outbound { 63 } else { 62 });
    }
}

#[test]
fn a_port_without_packets_is_an_interface() {
    let scenario = format!(
        "capture = [\"host:1\"]\n{}",
        STAR.replace("source = 1", "source = 0")
    );
    let (_, packets, interfaces) = exported(&scenario, "");
    assert_eq!(interfaces, ["host1-port1"]);
    assert_eq!(packets.len(), 0);
}

#[test]
fn exports_are_equal_and_the_resolved_scenario_captures_too() {
    let (case, packets, _) = exported(&mixed(), "");
    assert!(case.run("run d/scenario.toml --out e").status.success());
    assert!(case.run("export pcap e -o e.pcapng").status.success());
    assert!(!packets.is_empty());
    let read = |name| fs::read(case.path(name)).unwrap();
    assert!(read("c.pcapng") == read("e.pcapng"));
    assert!(read("d/capture.parquet") == read("e/capture.parquet"));
}
