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
    topology_refused(&link("1 2 0Gbps 1us 0"), &["t.txt:4", "the rate is 0bps"]);
    topology_refused(
        &link("1 2 1Gbit 1us 0"),
        &["t.txt:4", "\"1Gbit\" is no rate"],
    );
    topology_refused(&link("1 2 1Gbps 1 0"), &["t.txt:4", "\"1\" is no delay"]);
    topology_refused(&link("1 2 1Gbps -1us 0"), &["t.txt:4", "is no delay"]);
    topology_refused(&link("1 2 1Gbps 1us 1"), &["t.txt:4", "the loss is 1"]);
    topology_refused(
        &link("1 2 1Gbps 1us NaN"),
        &["t.txt:4", "the loss is \"NaN\""],
    );
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

#[test]
fn rates_and_delays_are_read_in_every_spelling_and_profile() {
    let gbps = |gbps| Rate::from_gbps(gbps);
    for (rate, delay, expected) in [
        ("0.8Tbps", "1us", (gbps(800), Duration::from_us(1))),
        ("8e-1Tb/s", "1e0us", (gbps(800), Duration::from_us(1))),
        ("100GB/s", "+.5ms", (gbps(800), Duration::from_us(500))),
        (
            "400_000Mbps",
            "1_500ns",
            (gbps(400), Duration::from_ns(1500)),
        ),
        ("2880.0Gbps", "25ns", (gbps(2880), Duration::from_ns(25))),
        ("100000000000", "1000ns", (gbps(100), Duration::from_us(1))),
    ] {
        let text = format!("3 1 2\r\n2\r\n0 2 {rate} {delay} 0\r\n1 2 800Gbps 1us 1e-3\r\n");
        for times in [Times::Exact, Times::Ns3] {
            let read = TopologyText::parse(&text, "t", times).expect(&text);
            assert_eq!(
                (read.links[0].rate, read.links[0].delay),
                expected,
                "{text}"
            );
            assert_eq!(read.links[1].loss, 0.001);
        }
    }
    // Third parts as Python prints them: exact times and rates are rounded, those of ns-3 cut off.
    let thirds = "3 1 2\n2\n0 2 66.66666666666667Gbps 333.3333333333333ns 0\n1 2 1Gbps 1us 0\n";
    let [exact, ns3] = [Times::Exact, Times::Ns3].map(|times| {
        let link = TopologyText::parse(thirds, "t", times)
            .expect("it is right")
            .links[0];
        (link.rate.as_bps(), link.delay.as_ps())
    });
    assert_eq!(exact, (66_666_666_667, 333_333));
    assert_eq!(ns3, (66_666_666_666, 333_000));
}

#[test]
fn starts_and_sizes_are_read_in_every_spelling_and_profile() {
    for (size, start, expected) in [
        ("1000", "5e-05", 1000),
        ("1e6", "5E-05s", 1_000_000),
        ("1_000", "+.00005", 1000),
        ("64KiB", "50us", 65_536),
        ("1000.0", "5.0e-5", 1000),
    ] {
        let text = format!("1\n0 1 3 100 {size} {start}\n");
        let [exact, ns3] = [Times::Exact, Times::Ns3].map(|times| {
            let read = flows::parse(&text, "f", times).expect(&text)[0].clone();
            assert_eq!(read.size.get(), expected, "{text}");
            read.start.as_ns()
        });
        // The double of 5e-05 is below it, and ns-3 truncates.
        let truncated = if start == "50us" { 50_000 } else { 49_999 };
        assert_eq!((exact, ns3), (50_000, truncated), "{text}");
    }
    // 0.1 + 0.2 in Python.
    let sum = flows::parse("1\n0 1 3 100 1 0.30000000000000004\n", "f", Times::Exact).unwrap();
    assert_eq!(sum[0].start, Duration::from_ms(300));
    flows_refused("1\n0 1 3 100 1.5 0\n", &["f.txt:2", "the size is \"1.5\""]);
    flows_refused("1\n0 1 3 100 1 1e9\n", &["f.txt:2", "the start is \"1e9\""]);
    let normal = flows::normalize("1\n0  1 3 100 64KiB 5e-05s\n\n");
    assert_eq!(normal, "1\n0 1 3 100 64KiB 5e-05\n");
    assert_eq!(flows::normalize("0 1 3 100 1 50us"), "0 1 3 100 1 50us\n");
}

/// Two servers of two GPUs, as SimAI describes them: NVSwitches 4 and 5, switches 6 and 7.
const SIMAI: &str = "8 2 2 2 9 H100\n4 5\n6 7\n\
    0 4 2880Gbps 0.000025ms 0\n1 4 2880Gbps 0.000025ms 0\n2 5 2880Gbps 0.000025ms 0\n3 5 2880Gbps 0.000025ms 0\n\
    0 6 400Gbps 0.0005ms 0\n1 6 400Gbps 0.0005ms 0\n2 6 400Gbps 0.0005ms 0\n3 6 400Gbps 0.0005ms 0\n\
    6 7 400Gbps 0.0005ms 0\n";

#[test]
fn the_first_line_of_simai_has_six_fields() {
    for times in [Times::Exact, Times::Ns3] {
        let read = TopologyText::parse(SIMAI, "t", times).expect("it is right");
        assert_eq!((read.nodes, read.links.len()), (8, 9));
        assert_eq!(read.switches, [4, 5, 6, 7]);
        let hosts: Vec<u32> = read.hosts().iter().map(|host| host.get()).collect();
        assert_eq!(hosts, [0, 1, 2, 3]);
        let written = read.to_text();
        assert!(written.starts_with("8 4 9\n4 5 6 7\n"), "{written}");
    }
    topology_refused(
        &SIMAI.replace("2 2 9", "x 2 9"),
        &["t.txt:1", "number of NVSwitches", "\"x\""],
    );
    topology_refused(
        &SIMAI.replace("2 2 9", "5 5 9"),
        &["t.txt:1", "10 switches"],
    );
    topology_refused(
        &SIMAI.replace("H100", ""),
        &["t.txt:1", "5 fields, expected 3"],
    );
}

#[test]
fn what_follows_the_count_is_found() {
    assert_eq!(TopologyText::behind(TOPOLOGY), None);
    assert_eq!(TopologyText::behind(SIMAI), None);
    let remarks = format!("{TOPOLOGY}\n\nFirst line: nodes\n0 1 1Gbps 1us 0\n");
    assert_eq!(TopologyText::behind(&remarks), Some(7));
    assert_eq!(
        TopologyText::behind(&remarks.replace("\n2\n", "\n\n2\n")),
        Some(8)
    );
    assert_eq!(
        TopologyText::behind(&format!("{SIMAI}7 6 1Gbps 1us 0")),
        Some(13)
    );
    let flows = "2\n0 1 3 100 1 2.0\n1 0 3 100 1 2.0\n";
    assert_eq!(flows::behind(flows), None);
    assert_eq!(
        flows::behind(&format!("{flows}\n0 1 3 100 1 2.0\nremark")),
        Some(5)
    );
    for text in ["", "x", "18446744073709551615\n"] {
        assert_eq!(
            (flows::behind(text), TopologyText::behind(text)),
            (None, None)
        );
    }
}
