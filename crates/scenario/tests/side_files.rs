//! Topology, flow and size files: what they mean and what is refused.

use std::path::Path;

use fairlane_scenario::{Profile, SizeDistribution, TopologyText, flow_text, load};
use fairlane_units::{Bytes, Duration, NodeId, Rate};

use crate::common::{Folder, refusal};

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 0.001ms 0.01\n";

#[track_caller]
fn topology_refused(text: &str, parts: &[&str]) {
    for profile in [Profile::Exact, Profile::HpccNs3] {
        let error = TopologyText::parse(text, "t.txt", profile).expect_err(text);
        let message = error.to_string();
        assert!(!error.hint.is_empty(), "{message}");
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
}

#[track_caller]
fn flows_refused(text: &str, parts: &[&str]) {
    for profile in [Profile::Exact, Profile::HpccNs3] {
        let error = flow_text::parse(text, "f.txt", profile).expect_err(text);
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
    let plain = TopologyText::parse(TOPOLOGY, "t", Profile::Exact).unwrap();
    assert_eq!(
        TopologyText::parse(&spaced, "t", Profile::HpccNs3).unwrap(),
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

fn load_topology(name: &str, text: &str) -> String {
    let folder = Folder::new(name)
        .with("t.txt", text)
        .with("s.toml", "[topology]\nkind = \"file\"\npath = \"t.txt\"");
    refusal(load(&folder.0.join("s.toml"), &[], None))
}

#[test]
fn graphs_that_are_no_fabric() {
    let message = load_topology(
        "multihomed",
        "4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 3 1Gbps 1us 0\n\n1 3 1Gbps 1us 0\n",
    );
    assert!(
        message.contains("t.txt:7") && message.contains("host 1 has a second link"),
        "{message}"
    );
    let message = load_topology("lonely", "4 1 2\n3\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
    assert!(message.contains("node 2 has no link"), "{message}");
    let message = load_topology("split", "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n");
    assert!(
        message.contains("node 1 can't be reached from node 0"),
        "{message}"
    );
    let message = load_topology("hostless", "2 1 1\n1\n0 1 1Gbps 1us 0\n");
    assert!(
        message.contains("1 hosts, expected at least 2"),
        "{message}"
    );
}

#[test]
fn starts_of_flows_by_profile() {
    let text = "2\n0 1 3 100 1 2.002\n\n 1 0 5 200 4294967295 2.5s \n";
    let exact = flow_text::parse(text, "f", Profile::Exact).unwrap();
    let ns3 = flow_text::parse(text, "f", Profile::HpccNs3).unwrap();
    assert_eq!(exact[0].start, Duration::from_ms(2002));
    assert_eq!(ns3[0].start, Duration::from_ns(2_001_999_999));
    assert_eq!(exact[1].start, ns3[1].start);
    assert_eq!((exact[1].class, exact[1].destination_port), (5, 200));
    assert_eq!(exact[1].size, Bytes::new(u64::from(u32::MAX)));
    let fine = flow_text::parse("1\n0 1 3 100 1 0.000000000001", "f", Profile::Exact).unwrap();
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
fn flows_between_nodes_that_are_no_hosts() {
    let folder = Folder::new("nohost")
        .with("f.txt", "2\n0 1 3 100 1 0\n\n0 2 3 100 1 0\n")
        .with("s.toml", "[[workload]]\nkind = \"flows\"\npath = \"f.txt\"");
    let message = refusal(load(&folder.0.join("s.toml"), &[], None));
    assert!(
        message.contains("f.txt:4") && message.contains("destination 2 isn't a host"),
        "{message}"
    );
}

#[test]
fn sizes_of_a_file_that_the_verb_lacks_are_blamed_on_the_file() {
    let folder = Folder::new("atomics")
        .with("f.txt", "1\n0 1 3 100 64 0\n")
        .with(
            "s.toml",
            "[[workload]]\nkind = \"flows\"\nverb = \"fetch-add\"\npath = \"f.txt\"",
        );
    let message = refusal(load(&folder.0.join("s.toml"), &[], None));
    assert!(
        message.contains("`workload[0].path`") && message.contains("8 B"),
        "{message}"
    );
}

#[test]
fn size_files() {
    let sizes =
        SizeDistribution::parse("# sizes\n0 0\n\n100 50 # half\n200 100\n", "c.txt").unwrap();
    assert_eq!(sizes.mean(), 100.0);
    let refused = |text: &str, part: &str| {
        let error = SizeDistribution::parse(text, "c.txt").expect_err(text);
        assert!(
            error.to_string().contains(part) && !error.hint.is_empty(),
            "{error}"
        );
    };
    refused("", "0 points");
    refused("0 0\n10\n", "c.txt:2");
    refused("0 0\nx 100\n", "c.txt:2");
    refused("0 0\n10 60\n20 50\n30 100\n", "c.txt:3");
    refused("0 0\n10 60\n5 100\n", "c.txt:3");
    refused("10 20\n20 100\n", "c.txt:1");
    refused("0 0\n10 60\n", "last percent is 60");
    refused("0 0\n10 nan\n", "c.txt:2");
    let own = "name = \"x\"\npublication = \"y\"\npoints = [{ size = 0, percent = 0 }, { size = 8, percent = 100 }]";
    assert_eq!(SizeDistribution::parse(own, "c.toml").unwrap().mean(), 4.0);
    let error = SizeDistribution::parse("nam = 1", "c.toml").expect_err("no such key");
    assert!(error.place.starts_with("c.toml:1:"), "{error}");
}

#[test]
fn gzipped_files_stand_in() {
    use std::io::Write;
    let folder =
        Folder::new("gzipped").with("s.toml", "[topology]\nkind = \"file\"\npath = \"t.txt\"");
    let file = std::fs::File::create(folder.0.join("t.txt.gz")).unwrap();
    let mut writer = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    writer.write_all(TOPOLOGY.as_bytes()).unwrap();
    writer.finish().unwrap();
    let loaded = load(&folder.0.join("s.toml"), &[], None).unwrap();
    assert_eq!(loaded.inputs.files[0].text, TOPOLOGY);
    assert_eq!(loaded.inputs.topology.unwrap().links.len(), 2);
    assert_eq!(loaded.scenario.name, "s");
}

#[test]
fn a_long_flow_file_loads_quickly() {
    use std::fmt::Write;
    let mut text = String::from("100000\n");
    for i in 0..100_000 {
        writeln!(text, "{} {} 3 100 1000 2.{i:09}", i % 2, (i + 1) % 2).unwrap();
    }
    let folder = Folder::new("long")
        .with("f.txt", &text)
        .with("s.toml", "[[workload]]\nkind = \"flows\"\npath = \"f.txt\"");
    let start = std::time::Instant::now();
    let loaded = load(Path::new(&folder.0.join("s.toml")), &[], None).unwrap();
    assert_eq!(loaded.inputs.flows[0].as_ref().unwrap().len(), 100_000);
    // Takes some 30 ms; the bound only catches something quadratic.
    assert!(start.elapsed().as_secs() < 5, "took {:?}", start.elapsed());
}
