//! Topology, flow and size files: what they mean and what is refused.

use std::path::Path;

use fairlane_scenario::{SizeDistribution, load};
use fairlane_units::Rate;

use crate::common::{Folder, refusal};

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 0.001ms 0.01\n";

fn load_topology(name: &str, text: &str) -> String {
    let folder = Folder::new(name)
        .with("t.txt", text)
        .with("s.toml", "[topology]\nkind = \"file\"\npath = \"t.txt\"");
    refusal(load(&folder.0.join("s.toml"), &[], None))
}

#[test]
fn graphs_that_are_no_fabric() {
    // Host 1 doesn't forward what 0 sends to 2.
    let message = load_topology(
        "forwarding",
        "5 2 4\n3 4\n0 3 1Gbps 1us 0\n1 3 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 4 1Gbps 1us 0\n",
    );
    assert!(
        message.contains("t.txt")
            && message.contains("no path of switches leads from host 0 to host 2"),
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

/// Exponents, signs, points at either end and `_`, as Python and people write them.
#[test]
fn numbers_are_read_alike_in_scenarios_and_side_files() {
    let scenario = "topology = { kind = \"file\", path = \"t.txt\" }\n\
        [[workload]]\nkind = \"flows\"\npath = \"f.txt\"\n\
        [[workload]]\nkind = \"flows\"\n\
        flow = [{ source = 0, destination = 1, size = 1e6, start = \"5e-05s\" }]\n\
        [[workload]]\nkind = \"flows\"\n\
        flow = [{ source = 0, destination = 1, size = \"1_000 kB\", start = \"+.05 ms\" }]\n";
    let folder = Folder::new("numbers")
        .with(
            "t.txt",
            "3 1 2\n2\n0 2 0.8Tbps 1us 0\n1 2 800Gbps 1e0us 0\n",
        )
        .with("f.txt", "1\n0 1 3 100 1000000 5e-05\n")
        .with("s.toml", scenario);
    for profile in ["exact", "hpcc-ns3"] {
        let set = format!("profile={profile}");
        let loaded = load(&folder.0.join("s.toml"), &[set], None).unwrap();
        let links = loaded.inputs.topology.unwrap().links;
        assert_eq!(links[0].rate, Rate::from_gbps(800));
        assert_eq!(
            (links[0].rate, links[0].delay),
            (links[1].rate, links[1].delay)
        );
        for (workload, flows) in loaded.inputs.flows.iter().enumerate() {
            let flow = &flows.as_ref().unwrap()[0];
            // Read as ns-3 reads it, the double below 5e-05 is truncated.
            let ns = if workload == 0 && profile == "hpcc-ns3" {
                49_999
            } else {
                50_000
            };
            assert_eq!((flow.size.get(), flow.start.as_ns()), (1_000_000, ns));
        }
    }
}

#[test]
fn files_may_begin_with_a_byte_order_mark_and_end_lines_as_on_windows() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let sizes = "name = \"x\"\npublication = \"y\"\npoints = [{ size = 1, percent = 0 }, { size = 8, percent = 100 }]\n";
    let scenario = "topology = { kind = \"file\", path = \"t.txt\" }\n\
        [[workload]]\nkind = \"flows\"\npath = \"f.txt\"\n\
        [[workload]]\nkind = \"poisson\"\nsizes = \"./c.txt\"\nload = 0.5\nduration = \"1us\"\n\
        [[workload]]\nkind = \"poisson\"\nsizes = \"./c.toml\"\nload = 0.5\nduration = \"1us\"\n";
    let folder = Folder::new("marks")
        .with("t.txt", &windows(TOPOLOGY))
        .with("f.txt", &windows("1\n0 1 3 100 1000 0\n"))
        .with("c.txt", &windows("1 0\n1_0 5e1 # half\n1e2 100\n"))
        .with("c.toml", &windows(sizes))
        .with("s.toml", &windows(scenario));
    let loaded = load(&folder.0.join("s.toml"), &[], None).unwrap();
    assert_eq!(loaded.inputs.flows[0].as_ref().unwrap().len(), 1);
    assert_eq!(loaded.inputs.sizes[1].as_ref().unwrap().points().len(), 3);
    assert_eq!(loaded.inputs.sizes[2].as_ref().unwrap().points().len(), 2);
    let wrong = folder.with("s.toml", &windows("seed = 1\nsede = 2\n"));
    let message = refusal(load(&wrong.0.join("s.toml"), &[], None));
    assert!(message.contains("s.toml:2:1"), "{message}");
}
