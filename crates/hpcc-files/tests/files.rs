//! Topologies and messages: what they mean and what is refused.

use fairlane_hpcc_files::{Times, TopologyText, flows};
use fairlane_units::{Bytes, Duration, NodeId, Rate};

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 0.001ms 0.01\n";

#[track_caller]
fn topology_refused(text: &str, parts: &[&str]) {
    for times in [Times::Exact, Times::Ns3] {
        let error = TopologyText::parse(text, "t.txt", times).expect_err(text);
        let message = error.to_string();
        assert!(!error.hint.is_empty(), "{message}");
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
}

#[track_caller]
fn flows_refused(text: &str, parts: &[&str]) {
    for times in [Times::Exact, Times::Ns3] {
        let error = flows::parse(text, "f.txt", times).expect_err(text);
        let message = error.to_string();
        assert!(!error.hint.is_empty(), "{message}");
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
}

#[test]
fn a_topology_with_blank_lines() {
    let spaced = TOPOLOGY.replace('\n', "\n\n");
    let plain = TopologyText::parse(TOPOLOGY, "t", Times::Exact).unwrap();
    assert_eq!(
        TopologyText::parse(&spaced, "t", Times::Ns3).unwrap(),
        plain
    );
    assert_eq!(plain.links[1].delay, Duration::from_us(1));
    assert_eq!(plain.links[1].loss, 0.01);
    assert_eq!(plain.links[0].rate, Rate::from_gbps(100));
    assert_eq!(plain.hosts(), [NodeId::new(0), NodeId::new(1)]);
}

#[test]
fn malformed_topologies() {
    topology_refused("", &["t.txt", "ends before"]);
    topology_refused("3 1\n", &["t.txt:1", "2 fields, expected 3"]);
    topology_refused("3 1 x\n", &["t.txt:1", "number of links", "\"x\""]);
    topology_refused("9999999999 1 1\n2\n", &["t.txt:1", "expected 1 to 1000000"]);
    topology_refused("3 4 2\n", &["t.txt:1", "4 switches"]);
    topology_refused("3 2 2\n2\n", &["ends before all switches are listed"]);
    topology_refused("3 1 2\n3\n", &["t.txt:2", "node 3 doesn't exist"]);
    topology_refused("3 2 2\n2 2\n", &["t.txt:2", "listed twice"]);
    topology_refused("3 1 2\n1 2\n", &["t.txt:2", "2 switches, expected 1"]);
    let link = |line: &str| format!("3 1 2\n2\n0 2 100Gbps 1us 0\n{line}\n");
    topology_refused(
        &link(""),
        &["t.txt:1", "2 links, but 1 follow", "truncated"],
    );
    topology_refused(
        &link("1 2 1Gbps 1us 0\n0 1 1Gbps 1us 0"),
        &["t.txt:5", "more follow"],
    );
    topology_refused(&link("1 2 1Gbps 1us"), &["t.txt:4", "4 fields, expected 5"]);
    topology_refused(
        &link("1 3 1Gbps 1us 0"),
        &["t.txt:4", "node 3 doesn't exist"],
    );
    topology_refused(&link("1 1 1Gbps 1us 0"), &["t.txt:4", "to itself"]);
    topology_refused(
        &link("2 0 1Gbps 1us 0"),
        &["t.txt:4", "second link between 2 and 0"],
    );
    topology_refused(&link("1 2 0Gbps 1us 0"), &["t.txt:4", "the rate is 0bps"]);
    topology_refused(
        &link("1 2 1Gbit 1us 0"),
        &["t.txt:4", "\"1Gbit\" is no rate"],
    );
    topology_refused(&link("1 2 1Gbps 1 0"), &["t.txt:4", "\"1\" is no delay"]);
    topology_refused(&link("1 2 1Gbps -1us 0"), &["t.txt:4", "is no delay"]);
    topology_refused(&link("1 2 1Gbps 1us 1"), &["t.txt:4", "the loss is 1"]);
    topology_refused(&link("1 2 1Gbps 1us NaN"), &["t.txt:4", "the loss is NaN"]);
}

#[test]
fn starts_are_exact_or_those_of_ns3() {
    let text = "2\n0 1 3 100 1 2.002\n\n 1 0 5 200 4294967295 2.5s \n";
    let exact = flows::parse(text, "f", Times::Exact).unwrap();
    let ns3 = flows::parse(text, "f", Times::Ns3).unwrap();
    assert_eq!(exact[0].start, Duration::from_ms(2002));
    assert_eq!(ns3[0].start, Duration::from_ns(2_001_999_999));
    assert_eq!(exact[1].start, ns3[1].start);
    assert_eq!((exact[1].class, exact[1].destination_port), (5, 200));
    assert_eq!(exact[1].size, Bytes::new(u64::from(u32::MAX)));
    let fine = flows::parse("1\n0 1 3 100 1 0.000000000001", "f", Times::Exact).unwrap();
    assert_eq!(fine[0].start, Duration::from_ps(1));
}

#[test]
fn malformed_flows() {
    flows_refused("", &["f.txt", "empty"]);
    flows_refused("x\n", &["f.txt:1", "\"x\""]);
    flows_refused("1 2\n", &["f.txt:1", "2 fields, expected 1"]);
    flows_refused(
        "2\n0 1 3 100 1 2.0\n",
        &["f.txt:1", "count is 2, but 1 lines follow", "truncated"],
    );
    flows_refused(
        "1\n0 1 3 100 1 2.0\n0 1 3 100 1 2.0\n",
        &["f.txt:3", "more lines follow"],
    );
    let line = |line: &str| format!("1\n\n{line}\n");
    flows_refused(
        &line("0 1 3 100 2.0"),
        &["f.txt:3", "5 fields, expected 6", "ConWeave"],
    );
    flows_refused(&line("0 1 3 100 1 2.0 7"), &["f.txt:3", "7 fields"]);
    flows_refused(&line("-1 1 3 100 1 2.0"), &["f.txt:3", "the source"]);
    flows_refused(&line("1 1 3 100 1 2.0"), &["f.txt:3", "to itself"]);
    flows_refused(&line("0 1 0 100 1 2.0"), &["f.txt:3", "the class is 0"]);
    flows_refused(&line("0 1 8 100 1 2.0"), &["f.txt:3", "the class is 8"]);
    flows_refused(&line("0 1 3 70000 1 2.0"), &["f.txt:3", "destination port"]);
    flows_refused(&line("0 1 3 100 0 2.0"), &["f.txt:3", "the size is 0"]);
    flows_refused(
        &line("0 1 3 100 4294967296 2.0"),
        &["f.txt:3", "1 to 4294967295"],
    );
    flows_refused(&line("0 1 3 100 1 -2.0"), &["f.txt:3", "the start is"]);
    flows_refused(&line("0 1 3 100 1 nan"), &["f.txt:3", "the start is"]);
    flows_refused(
        "2\n0 1 3 100 1 2.1\n0 1 3 100 1 2.0\n",
        &["f.txt:3", "ascending"],
    );
}
