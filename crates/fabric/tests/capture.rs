//! What passes captured ports.

use fairlane_fabric::{CaptureRecord, CapturedPacket, CapturedTransport, PauseRecord, Results};
use fairlane_units::{Duration, NodeId};
use fairlane_wire::{NakCode, Opcode, Syndrome};

use crate::common::{complete, drops, flows, loaded, run, star};

const FIXED: &str = "congestion.algorithm=\"fixed\"";
const EVERYWHERE: &str = r#"capture=["host:0", "host:1", "switch:2"]"#;

/// One message of 5000 B between two hosts at a switch.
fn alone(verb: &str, sets: &[&str]) -> Results {
    let text = star(2) + &flows(&[(0, 1, 5000, "0ns")]);
    let verb = format!("workload.0.verb=\"{verb}\"");
    let mut settings = vec![FIXED, verb.as_str()];
    settings.extend_from_slice(sets);
    complete(&loaded(&text, &settings))
}

/// Eight messages at once to one host behind a small buffer, with some loss.
fn incast(sets: &[&str]) -> Results {
    let list: Vec<_> = (0..8).map(|n| (n, 8, 200_000, "0ns")).collect();
    let text = star(9) + &flows(&list);
    let mut settings = vec![
        FIXED,
        "switch.buffer=\"1MiB\"",
        "faults.loss_rate=0.002",
        "transport.ack_timeout=\"100us\"",
    ];
    settings.extend_from_slice(sets);
    run(&loaded(&text, &settings))
}

fn at(results: &Results, node: u32, outbound: bool) -> Vec<&CaptureRecord> {
    let here = |record: &&CaptureRecord| {
        results.ports[record.port.index()].node == NodeId::new(node) && record.outbound == outbound
    };
    results.capture.iter().filter(here).collect()
}

fn transports<'a>(records: &[&'a CaptureRecord]) -> Vec<&'a CapturedTransport> {
    let transports = records.iter().map(|record| record.packet.transport());
    transports.map(|t| t.expect("no pauses here")).collect()
}

#[test]
fn nothing_is_captured_unless_asked_for() {
    assert!(alone("write", &[]).capture.is_empty());
}

#[test]
fn a_capture_changes_nothing() {
    let all = r#"capture=["switch:9", "host:0"]"#;
    let (without, with) = (incast(&[]), incast(&[all]));
    assert!(!with.capture.is_empty());
    assert_eq!(with.messages, without.messages);
    assert_eq!(with.totals, without.totals);
    assert_eq!(with.pauses, without.pauses);
    assert_eq!(incast(&[all]).capture, with.capture);
}

#[test]
fn both_ends_of_a_link_see_a_packet() {
    let results = alone("write", &[EVERYWHERE]);
    let (sent, received) = (at(&results, 0, true), at(&results, 2, false));
    // 80 ps a byte, and 1 us.
    let there: Vec<_> = received
        .iter()
        .filter(|record| results.ports[record.port.index()].peer_node == NodeId::new(0))
        .collect();
    assert_eq!(sent.len(), 5);
    assert_eq!(there.len(), 5);
    for (sent, received) in sent.iter().zip(there) {
        let taken = Duration::from_ps(u64::from(sent.size) * 80) + Duration::from_us(1);
        assert_eq!(received.time, sent.time + taken);
        assert_eq!((received.packet, received.size), (sent.packet, sent.size));
    }
    assert!(results.capture.is_sorted_by_key(|record| record.time));
}

#[test]
fn one_port_of_a_switch_is_captured_alone() {
    let all = alone("write", &[EVERYWHERE]).capture;
    let one = alone("write", &[r#"capture=["switch:2/port:2"]"#]);
    let port = one.capture[0].port;
    assert_eq!(
        (
            one.ports[port.index()].number,
            one.ports[port.index()].peer_node
        ),
        (2, NodeId::new(1))
    );
    let same: Vec<_> = all
        .into_iter()
        .filter(|record| record.port == port)
        .collect();
    assert_eq!(one.capture, same);
}

#[test]
fn a_write_has_its_headers() {
    let results = alone("write", &[EVERYWHERE]);
    let (sent, heard) = (at(&results, 0, true), at(&results, 0, false));
    let sent = transports(&sent);
    let column = |field: fn(&CapturedTransport) -> u32| -> Vec<u32> {
        sent.iter().map(|transport| field(transport)).collect()
    };
    assert_eq!(column(|t| t.opcode.code().into()), [6, 7, 7, 7, 8]);
    assert_eq!(column(|t| t.psn.get()), [0, 1, 2, 3, 4]);
    assert_eq!(column(|t| t.payload.into()), [1024, 1024, 1024, 1024, 904]);
    assert_eq!(column(|t| t.ack_request.into()), [1, 1, 1, 1, 1]);
    let lengths: Vec<_> = sent.iter().filter_map(|t| t.access).collect();
    assert_eq!(
        (
            lengths.len(),
            lengths[0].length.get(),
            lengths[0].offset.get()
        ),
        (1, 5000, 0)
    );
    let msns: Vec<_> = transports(&heard)
        .iter()
        .map(|t| {
            (
                t.psn.get(),
                t.aeth.expect("an acknowledgement").msn,
                t.switches,
            )
        })
        .collect();
    assert_eq!(
        msns,
        [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1), (4, 1, 1)]
    );
}

#[test]
fn packets_placed_directly_are_messages_of_their_own() {
    let results = alone("write", &[EVERYWHERE, "transport.direct_placement=true"]);
    let (sent, heard) = (at(&results, 0, true), at(&results, 0, false));
    for (number, transport) in (0u64..).zip(transports(&sent)) {
        let access = transport.access.expect("each has a RETH");
        assert_eq!(transport.opcode, Opcode::RcWriteOnly);
        assert_eq!(access.offset.get(), number * 1024);
        assert_eq!(access.length.get(), u64::from(transport.payload));
    }
    let msns = transports(&heard)
        .into_iter()
        .map(|t| t.aeth.map(|aeth| aeth.msn));
    assert!(msns.eq((1..=5).map(Some)));
}

#[test]
fn a_read_is_asked_for_and_answered() {
    let dcqcn = "congestion.algorithm=\"dcqcn\"";
    let results = alone("read", &[EVERYWHERE, dcqcn]);
    let (sent, heard) = (at(&results, 0, true), at(&results, 0, false));
    let (sent, heard) = (transports(&sent), transports(&heard));
    assert_eq!(sent[0].opcode, Opcode::RcReadRequest);
    assert_eq!(sent[0].access.map(|access| access.length.get()), Some(5000));
    // Feedback for each packet of the response.
    assert!(
        sent[1..]
            .iter()
            .all(|t| t.opcode == Opcode::RcAcknowledge && !t.from_responder)
    );
    assert!(heard.iter().all(|t| t.from_responder));
    assert!(
        heard
            .iter()
            .map(|t| t.opcode.code())
            .eq([0x0d, 0x0e, 0x0e, 0x0e, 0x0f])
    );
    let msns: Vec<_> = heard.iter().map(|t| t.aeth.map(|aeth| aeth.msn)).collect();
    assert_eq!(msns, [Some(1), None, None, None, Some(1)]);
}

#[test]
fn pauses_are_seen_by_both_ends() {
    let everywhere: Vec<_> = (0..9).map(|n| format!("\"host:{n}\"")).collect();
    let capture = format!("capture=[{}, \"switch:9\"]", everywhere.join(", "));
    let results = incast(&[&capture]);
    assert!(!results.pauses.is_empty());
    let pauses = results.capture.iter().filter(|record| !record.outbound);
    let pauses = pauses.filter_map(|record| match record.packet {
        CapturedPacket::Transport(_) => None,
        frame => Some(PauseRecord {
            time: record.time,
            port: record.port,
            class: record.class,
            pause: frame == CapturedPacket::Pause,
        }),
    });
    assert!(pauses.eq(results.pauses.iter().copied()));
    // Everything is captured, so that every transmission is there; what is missing got lost.
    let (sent, received): (Vec<_>, Vec<_>) = results
        .capture
        .iter()
        .copied()
        .partition(|record| record.outbound);
    assert_eq!(sent.len() as u64, results.totals.transmissions);
    let missing = (sent.len() - received.len()) as u64;
    let lost = drops(&results, "link-error");
    assert!(
        lost > 0 && missing >= lost,
        "{missing} of which {lost} lost"
    );
    let flying = results.totals.in_flight.packets + 2;
    assert!(
        missing - lost <= flying,
        "{missing} less {lost}, {flying} flying"
    );
}

#[test]
fn negative_acknowledgements_say_what_is_missing() {
    for recovery in ["go-back-n", "selective-repeat"] {
        let recovery_set = format!("transport.recovery=\"{recovery}\"");
        let results = incast(&[r#"capture=["switch:9"]"#, &recovery_set]);
        let heard = results.capture.iter().filter(|record| !record.outbound);
        let naks: Vec<_> = heard
            .filter_map(|record| record.packet.transport())
            .filter_map(|transport| Some((transport, transport.aeth?)))
            .filter(|(_, aeth)| aeth.syndrome == Syndrome::Nak(NakCode::SequenceError))
            .collect();
        assert!(!naks.is_empty());
        for (transport, aeth) in naks {
            assert_eq!(transport.selective, recovery == "selective-repeat");
            match transport.selective {
                // The PSN of the packet that came too early.
                true => assert!(aeth.msn > transport.psn.get()),
                false => assert_eq!(aeth.msn, 0),
            }
        }
    }
}

#[test]
fn a_packet_counts_the_switches_it_has_passed() {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let fabric = format!(
        "topology = {{ kind = \"dumbbell\", left = 1, right = 1, host_link = {link}, core_link = {link} }}\n"
    );
    let text = fabric + &flows(&[(0, 1, 1000, "0ns")]);
    let all = r#"capture=["host:0", "host:1", "switch:2", "switch:3"]"#;
    let results = complete(&loaded(&text, &[FIXED, all]));
    let there = results.capture.iter().filter_map(|record| {
        let transport = record.packet.transport()?;
        let node = results.ports[record.port.index()].node.get();
        let data = transport.opcode == Opcode::RcWriteOnly;
        data.then_some((node, record.outbound, transport.switches))
    });
    let expected = [
        (0, true, 0),
        (2, false, 0),
        (2, true, 1),
        (3, false, 1),
        (3, true, 2),
        (1, false, 2),
    ];
    assert!(there.eq(expected));
}

/// Their flows are numbered behind messages, as their operations are.
#[test]
fn packets_of_applications_go_between_their_hosts() {
    let clients =
        "kind = \"key-value\"\nclients = \"0-2\"\nservers = \"3\"\nsize = \"2kB\"\ncount = 4\n";
    let text = format!("{}[[workload]]\n{clients}", star(4));
    let results = run(&loaded(
        &text,
        &["capture=[\"host:0\", \"host:1\", \"host:2\"]"],
    ));
    let mut seen = 0;
    for record in &results.capture {
        let host = results.ports[record.port.index()].node;
        let transport = record.packet.transport().unwrap();
        let tuple = results.tuples[transport.flow.index()];
        assert_eq!((tuple.source, tuple.destination.get()), (host, 3));
        assert_eq!(record.outbound, !transport.from_responder);
        seen += 1;
    }
    assert!(seen > 3 * 4 * 2);
}
