//! Profile `hpcc-ns3` against reference runs of HPCC's ns-3 simulator, byte for byte.
//!
//! The small cases are in `tests/data/ns3`; the fat trees stay in the folder of reference data.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use fairlane_cases::hpcc::import;
use fairlane_fabric::{Paths, Results, TraceEvent, TraceRecord, TracedPacket, paths};
use fairlane_scenario::{Loaded, load};
use fairlane_units::NodeId;

use crate::common::{plain_or_gzipped, reference, run, scratch};

/// The cases, a folder for each congestion control.
fn cases(root: &Path, prefix: &str) -> Vec<PathBuf> {
    let folders = |path: &Path| {
        let entries = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        found.sort();
        found
    };
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let chosen = folders(root)
        .into_iter()
        .filter(|path| name(path).starts_with(prefix));
    chosen.flat_map(|case| folders(&case)).collect()
}

fn imported(case: &Path) -> Loaded {
    let name = case.iter().rev().take(2).map(|part| part.to_string_lossy());
    let name: Vec<_> = name.collect();
    let path = scratch(&format!("parity-{}", name.join("-"))).join("case.toml");
    let imported = import(&case.join("config.txt")).unwrap_or_else(|error| panic!("{error}"));
    imported.write(&path).unwrap();
    load(&path, &[], None).unwrap_or_else(|error| panic!("{error}"))
}

fn address(node: NodeId) -> u32 {
    0x0b00_0001 + ((node.get() / 256) << 16) + ((node.get() % 256) << 8)
}

/// Lines `sip dip sport dport size start fct standalone`, in order of completion.
fn fct(results: &Results) -> String {
    let mut text = String::new();
    for message in results
        .messages
        .iter()
        .filter(|message| message.finish.is_some())
    {
        let taken = message.finish.unwrap() - message.start;
        writeln!(
            text,
            "{:08x} {:08x} {} {} {} {} {} {}",
            address(message.source),
            address(message.destination),
            message.source_port,
            message.destination_port,
            message.size.get(),
            message.start.as_ns(),
            taken.as_ns(),
            message.standalone.as_ns()
        )
        .unwrap();
    }
    text
}

/// Lines `time node type interface pause`, in order of arrival.
fn pfc(results: &Results) -> String {
    let mut text = String::new();
    for pause in &results.pauses {
        let port = &results.ports[pause.port.index()];
        let (switch, pauses) = (u8::from(port.on_switch), u8::from(pause.pause));
        let (time, node) = (pause.time.as_ns(), port.node);
        writeln!(text, "{time} {node} {switch} {} {pauses}", port.number).unwrap();
    }
    text
}

/// A line of the decoded trace as far as both have it: no time stamps.
fn trace_line(record: &TraceRecord) -> String {
    let event = match record.event {
        TraceEvent::Received => "Recv",
        TraceEvent::Enqueued => "Enqu",
        TraceEvent::Dequeued => "Dequ",
        TraceEvent::Dropped => "Drop",
    };
    // That simulator notes a packet that joins a queue before it counts it, and no queue for one
    // that comes in by a link.
    let queue = match record.event {
        TraceEvent::Received => 0,
        TraceEvent::Enqueued => record.queue.get().saturating_sub(u64::from(record.bytes)),
        TraceEvent::Dequeued | TraceEvent::Dropped => record.queue.get(),
    };
    let ends = (address(record.source), address(record.destination));
    let mut line = format!(
        "{} n:{} {} {queue} {event} {:08x} {:08x} {} {} ",
        record.time.as_ns(),
        record.node,
        record.port,
        ends.0,
        ends.1,
        record.source_port,
        record.destination_port
    );
    let (sequence, bytes) = (record.sequence, record.bytes);
    match record.packet {
        TracedPacket::Data => write!(line, "U {sequence} {bytes}({})", record.payload).unwrap(),
        _ => write!(line, "A {} {sequence} {bytes}", u8::from(record.marked)).unwrap(),
    }
    line
}

/// The same of a line `time n:node port:queue bytes event ecn sip dip sport dport kind ...`.
fn reference_line(line: &str) -> String {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [
        time,
        node,
        queue,
        bytes,
        event,
        _ecn,
        sip,
        dip,
        sport,
        dport,
        kind,
        rest @ ..,
    ] = &fields[..]
    else {
        panic!("a short line: {line}");
    };
    let port = queue.split(':').next().unwrap();
    let head = format!("{time} {node} {port} {bytes} {event} {sip} {dip} {sport} {dport} {kind}");
    match (*kind, rest) {
        ("U", [sequence, _stamp, _class, size]) => format!("{head} {sequence} {size}"),
        ("A", [flags, _class, sequence, _stamp, size]) => {
            format!(
                "{head} {} {sequence} {size}",
                flags.trim_start_matches("0x0")
            )
        }
        _ => panic!("an unknown line: {line}"),
    }
}

/// Compares texts line by line, so that a difference is a line and not a file.
fn assert_same(what: &str, ours: &str, theirs: &str) {
    let mut theirs_lines = theirs.lines();
    for (number, line) in (1..).zip(ours.lines()) {
        assert_eq!(Some(line), theirs_lines.next(), "{what}, line {number}");
    }
    assert_eq!(None, theirs_lines.next(), "{what} has more lines");
    assert_eq!(ours, theirs, "{what}");
}

/// Runs a case and compares all that its folder has.
fn compare(case: &Path) {
    let results = run(&imported(case));
    let theirs = |file: &str| plain_or_gzipped(&case.join(file));
    let compare = |file: &str, ours: &str, theirs: &str| {
        assert_same(&case.join(file).display().to_string(), ours, theirs);
    };
    compare(
        "fct.txt",
        &fct(&results),
        &theirs("fct.txt").expect("completion times"),
    );
    compare(
        "pfc.txt",
        &pfc(&results),
        &theirs("pfc.txt").expect("pauses"),
    );
    if let Some(trace) = theirs("packet_trace.txt") {
        let ours: Vec<String> = results.trace.iter().map(trace_line).collect();
        let theirs: Vec<String> = trace.lines().map(reference_line).collect();
        compare("packet_trace.txt", &ours.join("\n"), &theirs.join("\n"));
    }
}

#[test]
fn small_cases_are_equal_in_every_line() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ns3");
    let cases = cases(&data, "");
    assert_eq!(cases.len(), 24);
    cases.iter().for_each(|case| compare(case));
}

/// Compares the cases of the reference folder whose names start with `prefix`.
fn compare_reference(prefix: &str, count: usize) {
    let Some(folder) = reference() else { return };
    let cases = cases(&folder.join("ns3"), prefix);
    assert_eq!(cases.len(), count);
    cases.iter().for_each(|case| compare(case));
}

#[test]
fn a_fat_tree_for_100_us_is_equal_in_every_line() {
    compare_reference("fat_fb50_100us", 4);
}

#[test]
fn a_fat_tree_for_1_ms_is_equal_in_every_line() {
    compare_reference("fat_fb50_1ms", 3);
}

#[test]
fn lone_packets_in_a_fat_tree_are_equal_in_every_line() {
    compare_reference("fat_paths200", 1);
}

#[test]
fn every_path_through_a_fat_tree_is_equal() {
    let Some(folder) = reference() else { return };
    let case = folder.join("ns3/fat_paths200");
    let loaded = imported(&case.join("dcqcn"));
    let text = plain_or_gzipped(&case.join("paths.txt")).expect("a reference of paths");
    let mut compared = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |field: &str| field.parse::<u32>().unwrap();
        let ends = (
            NodeId::new(number(fields[0])),
            NodeId::new(number(fields[1])),
        );
        let ports = (number(fields[2]) as u16, number(fields[3]) as u16);
        let preview = |ends, source_port, label| {
            let Paths::ByPort(mut found) = paths(&loaded, ends, [source_port], label).unwrap()
            else {
                panic!("a source port decides");
            };
            found.remove(0)
        };
        let found = match fields[4] {
            "U" => preview(ends, ports.0, ports.1).forward,
            _ => preview((ends.1, ends.0), ports.1, ports.0).reverse,
        };
        let nodes: Vec<u32> = found.nodes.iter().skip(1).map(|node| node.get()).collect();
        let expected: Vec<u32> = fields[5..].iter().map(|field| number(field)).collect();
        assert_eq!(nodes, expected, "{line}");
        compared += 1;
    }
    assert_eq!(compared, 400);
}
