//! Files are read back as they were written, and equal results are equal files.

use std::fs;
use std::path::Path;

use fairlane_fabric::forwarding::FiveTuple;
use fairlane_fabric::{
    CaptureRecord, CapturedPacket, CapturedTransport, Ending, Flux, MessageRecord, Outcome,
    PortInfo, PortSeries, Results, Signals, Totals,
};
use fairlane_units::{Bytes, Duration, FlowId, MessageId, NodeId, PortId, Rate, Time};
use parquet::file::reader::{FileReader, SerializedFileReader};
use proptest::prelude::*;

use crate::pcap::tests::any_transport;
use crate::read::{self, Addresses, FlowRow};
use fairlane_results::write::{CAPTURE, capture, flows, ports, trace};

fn message(id: u32, finish: Option<u64>) -> MessageRecord {
    MessageRecord {
        id: MessageId::new(id),
        workload: 0,
        source: NodeId::new(id % 7),
        destination: NodeId::new(8),
        source_port: 10_000,
        destination_port: 100,
        class: 3,
        verb: fairlane_scenario::Verb::Write,
        size: Bytes::new(1_000 + u64::from(id)),
        acknowledged: Bytes::ZERO,
        placed: Bytes::ZERO,
        posted: true,
        start: Time::from_ns(5),
        finish: finish.map(Time::from_ps),
        ideal: Duration::from_ns(1),
        standalone: Duration::from_ns(2),
        retransmitted: 0,
        outcome: if finish.is_some() {
            Outcome::Completed
        } else {
            Outcome::Unfinished
        },
        tenant: fairlane_units::TenantId::new(0),
    }
}

fn messages() -> impl Strategy<Value = Vec<MessageRecord>> {
    let one = (
        any::<u32>(),
        any::<u16>(),
        any::<u64>(),
        any::<u32>(),
        any::<Option<u32>>(),
    );
    let one = one.prop_map(|(id, port, size, start, span)| MessageRecord {
        source_port: port,
        size: Bytes::new(size),
        start: Time::from_ps(start.into()),
        finish: span.map(|span| Time::from_ps(u64::from(start) + u64::from(span))),
        ..message(id, span.map(u64::from))
    });
    prop::collection::vec(one, 0..40)
}

fn read_back(directory: &Path) -> Vec<FlowRow> {
    let rows = read::flows(directory).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn expected(message: &MessageRecord) -> FlowRow {
    FlowRow {
        source: message.source.get(),
        destination: message.destination.get(),
        source_port: message.source_port,
        destination_port: message.destination_port,
        size_bytes: message.size.get(),
        start_ps: message.start.as_ps(),
        completion_ps: message
            .finish
            .map(|finish| (finish - message.start).as_ps()),
        standalone_ns: message.standalone.as_ns(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn flows_come_back_from_both_files(messages in messages()) {
        let directory = tempfile::tempdir().unwrap();
        flows::write(directory.path(), &messages).unwrap();
        let wanted: Vec<_> = messages.iter().map(expected).collect();
        prop_assert_eq!(&read_back(directory.path()), &wanted);
        fs::remove_file(directory.path().join("flows.parquet")).unwrap();
        prop_assert_eq!(&read_back(directory.path()), &wanted);
    }
}

/// A packet of one of two messages, or a pause frame.
fn captured() -> impl Strategy<Value = CaptureRecord> {
    let transport = (any_transport(), 0..2u32).prop_map(|(transport, message)| {
        CapturedPacket::Transport(CapturedTransport {
            flow: FlowId::new(message),
            ..transport
        })
    });
    let pauses = vec![CapturedPacket::Pause, CapturedPacket::Resume];
    let packet = prop_oneof![4 => transport, 1 => prop::sample::select(pauses)];
    let numbers = (any::<u64>(), 0..2u32, any::<bool>(), 0..8u8, any::<u16>());
    (packet, numbers).prop_map(
        |(packet, (time, port, outbound, class, size))| CaptureRecord {
            time: Time::from_ps(time),
            port: PortId::new(port),
            outbound,
            class,
            size,
            packet,
        },
    )
}

/// What a packet contains, if that was captured.
fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..9))
}

fn digits(bytes: &[u8]) -> Option<Box<str>> {
    let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
    Some(digits.collect::<String>().into())
}

fn tuple(flow: u32) -> FiveTuple {
    FiveTuple {
        source: NodeId::new(flow),
        destination: NodeId::new(8),
        source_port: 10_000,
        destination_port: 4791,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn captures_come_back(packets in prop::collection::vec((captured(), bytes()), 0..40)) {
        let (records, contents): (Vec<_>, Vec<Option<Vec<u8>>>) = packets.into_iter().unzip();
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        let results = Results {
            capture: records.clone(),
            contents: contents.iter().map(|bytes| bytes.as_deref().and_then(digits)).collect(),
            tuples: [0, 1].map(tuple).to_vec(),
            ..results()
        };
        fs::write(file("scenario.toml"), "capture = [\"switch:1\"]").unwrap();
        ports::write(&file("ports.parquet"), &results).unwrap();
        capture::write(&file(CAPTURE), &results).unwrap();
        let capture = read::Capture::open(directory.path()).unwrap();
        prop_assert_eq!(&capture.ports, &results.ports);
        prop_assert_eq!(&capture.captured, &[false, true]);
        let rows: Result<Vec<_>, _> = capture.packets().unwrap().collect();
        let rows = rows.unwrap();
        let read: Vec<_> = rows.iter().map(|row| row.record).collect();
        prop_assert_eq!(&read, &records);
        for (row, content) in rows.into_iter().zip(contents) {
            prop_assert_eq!(&row.content, &content);
            let addresses = row.record.packet.transport().map(|transport| {
                let mut ends = [NodeId::new(transport.flow.get()), NodeId::new(8)];
                if transport.from_responder {
                    ends.reverse();
                }
                let [source, destination] = ends;
                Addresses { source, destination, source_port: 10_000 }
            });
            prop_assert_eq!(row.addresses, addresses);
        }
    }
}

#[test]
fn a_table_larger_than_one_row_group_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let messages: Vec<_> = (0..150_000)
        .map(|id| message(id, (id % 3 > 0).then_some(9_000)))
        .collect();
    flows::write(directory.path(), &messages).unwrap();
    let rows = read_back(directory.path());
    assert_eq!(rows.len(), messages.len());
    assert!(
        rows.iter()
            .zip(&messages)
            .all(|(row, message)| *row == expected(message))
    );
}

#[test]
fn equal_results_are_equal_files() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for directory in [&one, &two] {
        flows::write(
            directory.path(),
            &[message(1, Some(9_000)), message(2, None)],
        )
        .unwrap();
        ports::write(&directory.path().join("ports.parquet"), &results()).unwrap();
    }
    for name in ["flows.parquet", "flows.csv", "ports.parquet"] {
        let read = |directory: &tempfile::TempDir| fs::read(directory.path().join(name)).unwrap();
        assert_eq!(read(&one), read(&two), "{name}");
    }
}

#[test]
fn csv_names_units_and_leaves_cells_empty() {
    let directory = tempfile::tempdir().unwrap();
    flows::write(
        directory.path(),
        &[message(1, Some(9_000)), message(2, None)],
    )
    .unwrap();
    insta::assert_snapshot!(fs::read_to_string(directory.path().join("flows.csv")).unwrap(), @r"
    id,workload,source,destination,source_port,destination_port,class,verb,size_bytes,placed_bytes,start_ps,finish_ps,completion_ps,ideal_ps,slowdown,standalone_ns,retransmitted_packets,outcome,tenant
    1,0,1,8,10000,100,3,write,1001,0,5000,9000,4000,1000,4,2,0,completed,0
    2,0,2,8,10000,100,3,write,1002,0,5000,,,1000,,2,0,unfinished,0
    ");
}

#[test]
fn port_rows_go_interval_by_interval() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ports.parquet");
    ports::write(&path, &results()).unwrap();
    let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string())
        .collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    {time_ps: 1000000, port_id: 0, node: 0, on_switch: false, port: 1, peer_port_id: 1, peer_node: 1, rate_bps: 100000000000, sent_bytes: 12500, utilization: 1.0, queue_bytes: 1, queue_max_bytes: 5, marked_packets: 0, paused_ns: 0}
    {time_ps: 1000000, port_id: 1, node: 1, on_switch: true, port: 1, peer_port_id: 0, peer_node: 0, rate_bps: 100000000000, sent_bytes: 0, utilization: 0E0, queue_bytes: 2, queue_max_bytes: 6, marked_packets: 1, paused_ns: 0}
    {time_ps: 2000000, port_id: 0, node: 0, on_switch: false, port: 1, peer_port_id: 1, peer_node: 1, rate_bps: 100000000000, sent_bytes: 6250, utilization: 0.5, queue_bytes: 3, queue_max_bytes: 7, marked_packets: 0, paused_ns: 250}
    {time_ps: 2000000, port_id: 1, node: 1, on_switch: true, port: 1, peer_port_id: 0, peer_node: 0, rate_bps: 100000000000, sent_bytes: 64, utilization: 0.00512, queue_bytes: 4, queue_max_bytes: 8, marked_packets: 0, paused_ns: 0}
    ");
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pauses.csv");
    fs::write(&path, "something else").unwrap();
    assert!(trace::pauses(&path, &results()).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "something else");
}

/// Two ports of one link in two intervals.
fn results() -> Results {
    let port = |node: u32, on_switch, peer: u32| PortInfo {
        node: NodeId::new(node),
        on_switch,
        number: 1,
        peer: PortId::new(peer),
        peer_node: NodeId::new(peer),
        rate: Rate::from_gbps(100),
    };
    Results {
        messages: Vec::new(),
        applications: Vec::new(),
        collectives: Vec::new(),
        nics: Vec::new(),
        multipath: None,
        tenants: Vec::new(),
        contended: Vec::new(),
        rates: Vec::new(),
        ports: vec![port(0, false, 1), port(1, true, 0)],
        series: PortSeries {
            ports: 2,
            start: Time::from_ns(1_000),
            interval: Duration::from_us(1),
            sent: vec![12_500, 0, 6_250, 64],
            queue: vec![1, 2, 3, 4],
            queue_max: vec![5, 6, 7, 8],
            marked: vec![0, 1, 0, 0],
            paused_ns: vec![0, 0, 250, 0],
        },
        signals: Signals::default(),
        totals: totals(),
        chosen: None,
        trace: Vec::new(),
        pauses: Vec::new(),
        link_changes: Vec::new(),
        capture: Vec::new(),
        contents: Vec::new(),
        real_time: None,
        tuples: Vec::new(),
    }
}

fn totals() -> Totals {
    Totals {
        ending: Ending::Complete,
        end: Time::from_ns(3_000),
        first_start: Time::ZERO,
        transmissions: 0,
        message_transmissions: 0,
        events: 0,
        data_packets: 0,
        injected: Flux::default(),
        delivered: Flux::default(),
        dropped: Flux::default(),
        in_flight: Flux::default(),
        queue_max: Bytes::ZERO,
        base_rtt: Duration::ZERO,
        bdp: Bytes::ZERO,
    }
}
