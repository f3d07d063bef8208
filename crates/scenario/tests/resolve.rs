//! What a scenario means: defaults, overrides, resolved text, hosts and layouts.

use std::path::Path;

use fairlane_congestion::{Algorithm, WindowMode};
use fairlane_scenario::{
    AckPause, HostSet, Inputs, Loaded, Poisson, Profile, Scenario, Workload, hosts, layout, load,
    parse,
};
use fairlane_units::{Bytes, Duration, NodeId, Rate};

use crate::common::{Folder, read, refused};

fn with(text: &str, overrides: &[&str]) -> Loaded {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    parse(text, "x.toml", Path::new("."), &overrides, None).unwrap()
}

const EVERYTHING: &str = r#"
name = "everything"
stop = "5ms"
[switch.pfc]
headroom_delays = 2
[transport]
ack_timeout = "never"
[[switch.ecn.threshold]]
rate = "100Gbps"
kmin = "400kB"
kmax = "1600kB"
pmax = 0.2
[[switch.ecn.threshold]]
rate = "400Gbps"
kmin = "1600kB"
kmax = "6400kB"
pmax = 0.2
[topology]
kind = "fat-tree"
pods = 2
tors_per_pod = 2
aggregations_per_pod = 2
cores = 4
hosts_per_tor = 3
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "400Gbps", delay = "1us" }
[faults]
loss_rate = 0.01
link = [{ between = [0, 12], down = "1ms", up = "2ms" }, { between = [12, 0], down = "2ms" }]
[[workload]]
kind = "poisson"
sizes = "hadoop"
load = 1
duration = "1ms"
[[workload]]
kind = "poisson"
sizes = [{ size = 100, percent = 0 }, { size = 100, percent = 100 }]
load = 0.01
duration = "1ms"
sources = "0-3,7"
[[workload]]
kind = "incast"
degree = 11
size = "1MB"
receiver = 5
rounds = 3
[[workload]]
kind = "permutation"
size = "1MB"
[[workload]]
kind = "all-to-all"
size = "1kB"
hosts = "0-3"
[[workload]]
kind = "ring-all-reduce"
size = "1GB"
[[workload]]
kind = "flows"
flow = [{ source = 0, destination = 1, size = "1kB" }]
"#;

#[test]
fn an_empty_scenario_is_the_defaults() {
    let mut expected = Scenario::defaults(Profile::Exact);
    expected.resolve();
    assert_eq!(read("").unwrap().scenario, expected);
    let mut expected = Scenario::defaults(Profile::HpccNs3);
    expected.resolve();
    assert_eq!(read("profile = \"hpcc-ns3\"").unwrap().scenario, expected);
}

#[test]
fn what_is_stated_wins_over_the_profile() {
    let loaded = read("profile = \"hpcc-ns3\"\n[packet]\nmtu = 500\n")
        .unwrap()
        .scenario;
    assert_eq!(loaded.packet.mtu, Bytes::new(500));
    assert_eq!(
        loaded.packet.header,
        Bytes::new(48),
        "the rest of the section keeps its default"
    );
    assert_eq!(loaded.nic.ack_pause, AckPause::Class3);
}

#[test]
fn every_default_is_visible() {
    let text = read("").unwrap().to_toml().unwrap();
    for line in [
        "window = \"none\"",
        "stop = \"never\"",
        "headroom_delays = \"lossless\"",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let hpcc = read("[congestion]\nalgorithm = \"hpcc\"").unwrap();
    assert_eq!(hpcc.scenario.congestion.window, Some(WindowMode::Scaled));
}

#[test]
fn sizes_keep_the_unit_that_was_written() {
    let text = "[switch]\nbuffer = \"32768 KiB\"\n[packet]\nmtu = 1024\n[[tenant]]\nname = \"1024B\"\n\
        [[workload]]\nkind = \"incast\"\ndegree = 1\nsize = \"256kB\"\n\
        [[workload]]\nkind = \"incast\"\ndegree = 1\nsize = \"250KiB\"\n";
    let loaded = read(text).unwrap();
    let resolved = loaded.to_toml().unwrap();
    for line in [
        "buffer = \"32768 KiB\"",
        "name = \"1024B\"",
        "size = \"256kB\"",
        "size = \"250KiB\"",
    ] {
        assert!(resolved.contains(line), "{line} in\n{resolved}");
    }
    let size = Bytes::new(256_000);
    assert_eq!(loaded.size_text("workload[0].size", size), "256kB");
    assert_eq!(loaded.size_text("workload[1].size", size), "250KiB");
    // A size that has changed since isn't the one that was written.
    let other = Bytes::new(512_000);
    assert_eq!(loaded.size_text("workload[1].size", other), "512kB");
    let mut changed = loaded;
    let Workload::Incast(incast) = &mut changed.scenario.workload[1] else {
        panic!("an incast");
    };
    incast.size = other;
    assert!(changed.to_toml().unwrap().contains("size = \"512kB\""));
}

#[test]
fn resolved_text_reads_back_equal() {
    let own_units = "[switch]\nbuffer = \"32768KiB\"";
    for text in ["", "profile = \"hpcc-ns3\"", EVERYTHING, own_units] {
        let loaded = read(text).unwrap();
        let again = read(&loaded.to_toml().unwrap()).unwrap();
        assert_eq!(again, loaded);
        assert_eq!(again.to_toml(), loaded.to_toml());
    }
    // What one profile leaves out by default can be left out in the other too.
    let never =
        read("profile = \"hpcc-ns3\"\n[switch.pfc]\nheadroom_delays = \"lossless\"").unwrap();
    assert_eq!(never.scenario.switch.pfc.headroom_delays, None);
    assert_eq!(
        read(EVERYTHING).unwrap().scenario.transport.ack_timeout,
        None
    );
}

#[test]
fn overrides_reach_every_value() {
    let loaded = with(
        EVERYTHING,
        &[
            "workload.0.load=0.7",
            "name=two words",
            "congestion.algorithm=hpcc",
            "topology.host_link.rate=100Gb/s",
            "output.trace_nodes=[1, 2]",
            "workload.1.sizes.1.size=200",
            "stop=1ms",
            "stop=2ms",
        ],
    );
    let scenario = loaded.scenario;
    assert!(matches!(
        scenario.workload[0],
        Workload::Poisson(Poisson { load: 0.7, .. })
    ));
    assert_eq!(scenario.name, "two words");
    assert_eq!(scenario.congestion.algorithm, Algorithm::Hpcc);
    assert_eq!(
        scenario.congestion.window,
        Some(WindowMode::Scaled),
        "resolved after overrides"
    );
    assert_eq!(scenario.output.trace_nodes, [1, 2]);
    assert_eq!(loaded.inputs.sizes[1].as_ref().unwrap().mean(), 150.0);
    assert_eq!(
        scenario.stop,
        Some(Duration::from_ms(2)),
        "the last one counts"
    );
}

#[test]
fn overrides_reach_all_elements_and_add_some() {
    let overrides = [
        "workload=[{ size = \"9kB\" }, {}]",
        "workload.*.kind=permutation",
        "workload.1.size=4kB",
        "workload.+={ kind = \"all-to-all\" }",
        "workload.2.size=1kB",
    ];
    let workloads = with("topology = { kind = \"star\", hosts = 4, host_link = { rate = \"100Gbps\", delay = \"1us\" } }", &overrides)
        .scenario
        .workload;
    let size = |workload: &Workload| match workload {
        Workload::Permutation(it) => (0, it.size.get()),
        Workload::AllToAll(it) => (1, it.size.get()),
        other => panic!("{other:?}"),
    };
    let sizes: Vec<_> = workloads.iter().map(size).collect();
    assert_eq!(sizes, [(0, 9000), (0, 4000), (1, 1000)]);
}

#[test]
fn an_override_of_the_profile_changes_the_defaults() {
    let loaded = with("[packet]\ngap = 7", &["profile=hpcc-ns3"]).scenario;
    assert_eq!(loaded.packet.header, Bytes::new(48));
    assert_eq!(loaded.packet.gap, Bytes::new(7));
    assert_eq!(with("", &["topology.hosts=5"]).inputs, Inputs::default());
}

#[test]
fn the_seed_of_the_caller_counts() {
    let folder = Path::new(".");
    let sets = ["seed=3".to_owned()];
    assert_eq!(
        parse("seed = 2", "x", folder, &sets, Some(4))
            .unwrap()
            .scenario
            .seed,
        4
    );
    assert_eq!(
        parse("seed = 2", "x", folder, &sets, None)
            .unwrap()
            .scenario
            .seed,
        3
    );
    let error = parse("", "x", folder, &[], Some(u64::MAX)).expect_err("TOML can't hold it");
    assert!(error.to_string().contains("`seed`"), "{error}");
}

#[test]
fn a_portable_scenario_brings_its_traces() {
    let folder = Folder::new("traces")
        .with("ping.goal", "num_ranks 1\nrank 0 {\n}\n")
        .with(
            "s.toml",
            "[[workload]]\nkind = \"program\"\npath = \"ping.goal\"\n\
         [[workload]]\nkind = \"program\"\npath = [\"a/t.0.et\", \"b/t.0.et\", \"groups.json\"]\n",
        );
    // Traces of Chakra are no text.
    for (name, bytes) in [("a", &[1, 0xff][..]), ("b", &[2, 0xfe]), ("c", b"{}")] {
        std::fs::create_dir(folder.0.join(name)).unwrap();
        std::fs::write(folder.0.join(name).join("t.0.et"), bytes).unwrap();
    }
    std::fs::rename(folder.0.join("c/t.0.et"), folder.0.join("groups.json")).unwrap();
    let loaded = load(&folder.0.join("s.toml"), &[], None).unwrap();
    let (text, files) = loaded.portable().unwrap();
    let names: Vec<_> = files
        .iter()
        .map(|(path, _)| path.to_str().unwrap())
        .collect();
    let [ping, first, second, groups] = names[..] else {
        panic!("{names:?}");
    };
    assert_eq!(
        (ping, first, groups),
        ("inputs/ping.goal", "inputs/t.0.et", "inputs/groups.json")
    );
    assert!(
        second.starts_with("inputs/") && second.ends_with("-t.0.et"),
        "{second}"
    );
    let target = Folder::new("traces-copy").with("scenario.toml", &text);
    std::fs::create_dir(target.0.join("inputs")).unwrap();
    for (path, bytes) in &files {
        std::fs::write(target.0.join(path), bytes).unwrap();
    }
    let again = load(&target.0.join("scenario.toml"), &[], None).unwrap();
    let held = |of: &Loaded| -> Vec<Vec<u8>> {
        let traces = of.inputs.traces.iter().flatten().flatten();
        traces.map(|file| file.bytes.clone()).collect()
    };
    assert_eq!(held(&again), held(&loaded));
    assert_eq!(held(&again).len(), 4);
}

#[test]
fn a_portable_scenario_brings_its_files() {
    let folder = Folder::new("portable")
        .with("t.txt", "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n")
        .with("c.cdf", "0 0\n10 100\n")
        .with(
            "s.toml",
            "[topology]\nkind = \"file\"\npath = \"t.txt\"\n\
             [[workload]]\nkind = \"flows\"\npath = \"sub/t.txt\"\n\
             [[workload]]\nkind = \"poisson\"\nsizes = \"./c.cdf\"\nload = 0.001\nduration = \"1us\"",
        );
    std::fs::create_dir(folder.0.join("sub")).unwrap();
    std::fs::write(folder.0.join("sub/t.txt"), "1\n0 1 3 100 1 0\n").unwrap();
    let loaded = load(&folder.0.join("s.toml"), &[], None).unwrap();
    let (text, files) = loaded.portable().unwrap();
    let target = Folder::new("portable-copy").with("scenario.toml", &text);
    std::fs::create_dir(target.0.join("inputs")).unwrap();
    for (path, text) in &files {
        assert!(path.starts_with("inputs"));
        std::fs::write(target.0.join(path), text).unwrap();
    }
    assert_eq!(files.len(), 3);
    let again = load(&target.0.join("scenario.toml"), &[], None).unwrap();
    assert_eq!(again.inputs.topology, loaded.inputs.topology);
    assert_eq!(again.inputs.flows, loaded.inputs.flows);
    assert_eq!(again.inputs.sizes, loaded.inputs.sizes);
    assert_eq!(again.scenario.name, "s");
}

#[test]
fn sets_of_hosts() {
    let all: Vec<NodeId> = [0, 1, 2, 5, 6].map(NodeId::new).to_vec();
    let set = |text: &str| HostSet(text.into()).resolve(&all);
    let numbers = |text: &str| {
        set(text)
            .unwrap()
            .iter()
            .map(|node| node.get())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers("all"), [0, 1, 2, 5, 6]);
    assert_eq!(numbers("6, 0-2"), [0, 1, 2, 6]);
    assert!(set("2-5").is_err_and(|error| error.message.contains("node 3 isn't a host")));
    assert!(set("5-7").is_err_and(|error| error.message.contains("node 7 isn't a host")));
}

#[test]
fn layouts_number_hosts_first() {
    let loaded = read(EVERYTHING).unwrap();
    let fabric = layout(&loaded.scenario, &loaded.inputs);
    assert_eq!(hosts(&loaded.scenario, &loaded.inputs).len(), 12);
    assert_eq!(fabric.nodes, 12 + 4 + 4 + 4);
    assert_eq!(fabric.links.len(), 12 + 2 * 2 * 2 + 2 * 4);
    let linked = |a: u32, b: u32| fabric.links.iter().any(|link| (link.a, link.b) == (a, b));
    // Hosts 0-11, ToRs 12-15, aggregations 16-19, cores 20-23.
    assert!(linked(0, 12) && linked(3, 13) && linked(11, 15));
    assert!(linked(12, 16) && linked(13, 17) && linked(14, 18) && !linked(12, 18));
    // The first aggregation of each pod has the first two cores.
    assert!(
        linked(16, 20) && linked(16, 21) && linked(17, 22) && linked(18, 20) && !linked(16, 22)
    );
}

#[test]
fn layouts_of_the_small_topologies() {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let build = |kind: &str, counts: &str, second: &str| {
        let second = if second.is_empty() {
            String::new()
        } else {
            format!("{second} = {link}\n")
        };
        let text = format!("[topology]\nkind = \"{kind}\"\n{counts}\nhost_link = {link}\n{second}");
        let loaded = read(&text).unwrap();
        layout(&loaded.scenario, &loaded.inputs)
    };
    let ends = |fabric: &fairlane_scenario::TopologyText| {
        fabric
            .links
            .iter()
            .map(|link| (link.a, link.b))
            .collect::<Vec<_>>()
    };
    let dumbbell = build("dumbbell", "left = 2\nright = 1", "core_link");
    assert_eq!(ends(&dumbbell), [(0, 3), (1, 3), (2, 4), (3, 4)]);
    let star = build("star", "hosts = 2", "");
    assert_eq!(ends(&star), [(0, 2), (1, 2)]);
    let leaf_spine = build(
        "leaf-spine",
        "leaves = 2\nspines = 2\nhosts_per_leaf = 1",
        "fabric_link",
    );
    assert_eq!(
        ends(&leaf_spine),
        [(0, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)]
    );
    let mesh = build("mesh", "switches = 3\nhosts_per_switch = 1", "fabric_link");
    assert_eq!(
        ends(&mesh),
        [(0, 3), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)]
    );
    assert_eq!(mesh.switches, [3, 4, 5]);
    assert_eq!(mesh.links[0].rate, Rate::from_gbps(100));
}

#[test]
fn marking_is_what_the_algorithm_was_published_with_unless_stated() {
    let marking = |text: &str, sets: &[&str]| {
        let ecn = with(text, sets).scenario.switch.ecn;
        (ecn.kmin_per_gbps, ecn.kmax_per_gbps, ecn.pmax)
    };
    let red = (Some(Bytes::new(4000)), Some(Bytes::new(16_000)), Some(0.2));
    let step = (Some(Bytes::new(3000)), Some(Bytes::new(3000)), Some(1.0));
    assert_eq!(marking("", &[]), red);
    assert_eq!(marking("", &["congestion.algorithm=dctcp"]), step);
    let stated = "[switch.ecn]\nkmin_per_gbps = 1000\n";
    let half = (Some(Bytes::new(1000)), step.1, step.2);
    assert_eq!(marking(stated, &["congestion.algorithm=\"dctcp\""]), half);
}

#[test]
fn every_parameter_of_every_algorithm_is_checked() {
    for algorithm in Algorithm::ALL {
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        let scenario = with("", &[&set]).scenario;
        let limits = scenario.congestion.params().limits();
        let table: toml::Table = scenario.to_toml().unwrap().parse().unwrap();
        let section = &table["congestion"][algorithm.name()];
        for (key, value) in section.as_table().unwrap() {
            let checked = limits.iter().any(|limit| limit.key == key);
            assert!(checked || value.is_bool(), "congestion.{algorithm}.{key}");
        }
    }
}

#[test]
fn a_name_that_is_stated_stays() {
    let folder = Folder::new("called");
    let name = |text: &str, overrides: &[String]| {
        let path = folder.0.join("file.toml");
        std::fs::write(&path, text).unwrap();
        load(&path, overrides, None).unwrap().scenario.name
    };
    assert_eq!(name("", &[]), "file");
    assert_eq!(name("name = \"unnamed\"", &[]), "unnamed");
    assert_eq!(name("", &["name=unnamed".into()]), "unnamed");
}

/// A star whose links have a rate, and more lines.
fn slow_star(rate: &str, more: &str) -> String {
    format!(
        "[topology]\nkind = \"star\"\nhosts = 3\nhost_link = {{ rate = \"{rate}\", delay = \"1us\" }}\n{more}"
    )
}

/// A default of 1 Gb/s (PowerTCP: 100 Mb/s) would be at or above the rate of a slow link, at which nothing slows down.
#[test]
fn floors_that_nobody_states_are_at_most_a_tenth_of_the_slowest_host_link() {
    let mbps = |text: &str| {
        let congestion = read(text).expect("can be run").scenario.congestion;
        let floors = [
            &congestion.dcqcn.min_rate,
            &congestion.timely.min_rate,
            &congestion.powertcp.min_rate,
        ];
        floors.map(|rate| rate.as_bps() / 1_000_000)
    };
    assert_eq!(mbps(&slow_star("100Gbps", "")), [1000, 1000, 100]);
    assert_eq!(mbps(&slow_star("10Gbps", "")), [1000, 1000, 100]);
    assert_eq!(mbps(&slow_star("5Gbps", "")), [500, 500, 100]);
    assert_eq!(mbps(&slow_star("100Mbps", "")), [10, 10, 10]);
    // No link and no floor is slower than 1 Mb/s.
    assert_eq!(mbps(&slow_star("1Mbps", "")), [1, 1, 1]);
    let slowed = slow_star(
        "10Gbps",
        "[[faults.slow]]\nbetween = [0, 3]\nrate = \"1Gbps\"\n",
    );
    assert_eq!(mbps(&slowed), [100, 100, 100]);
    // What is stated stays, and is refused where no host link is as fast.
    let stated = "[congestion.dcqcn]\nmin_rate = \"3Gbps\"\n";
    assert_eq!(mbps(&slow_star("5Gbps", stated)), [3000, 500, 100]);
    refused(
        &slow_star("2Gbps", stated),
        &["x.toml:6:1", "every host link"],
    );
    let set = ["congestion.dcqcn.min_rate=3Gbps".to_owned()];
    let set = parse(&slow_star("5Gbps", ""), "x", Path::new("."), &set, None).expect("can be run");
    assert_eq!(set.scenario.congestion.dcqcn.min_rate, Rate::from_gbps(3));
}

#[test]
fn links_of_1_mbps_run_under_every_algorithm() {
    for algorithm in Algorithm::ALL {
        let text = slow_star(
            "1Mbps",
            &format!("[congestion]\nalgorithm = \"{algorithm}\"\n"),
        );
        let loaded = read(&text).unwrap_or_else(|error| panic!("{algorithm}: {error}"));
        let again = read(&loaded.to_toml().expect("a form")).expect("can be read again");
        assert_eq!(again.scenario, loaded.scenario, "{algorithm}");
    }
}
