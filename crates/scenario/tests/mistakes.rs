//! Every mistake is refused with its place, what was expected and a hint.

use fairlane_scenario::parse;

use crate::common::{Folder, STAR, read, refusal, refused, refused_star};

#[test]
fn text_that_is_not_toml() {
    refused("seed = ", &["x.toml:1:", "not TOML"]);
    refused(
        "seed = 1\nseed = 2",
        &["x.toml:2:1", "`seed` is stated twice", "keep one"],
    );
    refused("[switch]\nbuffer = 32MiB", &["x.toml:2:", "in quotes"]);
}

#[test]
fn unknown_keys_name_the_nearest() {
    refused(
        "sed = 1",
        &["x.toml:1:1", "`sed`", "unknown key", "did you mean `seed`?"],
    );
    refused(
        "\n[switch.pfc]\nenable = true",
        &["x.toml:3:1", "`switch.pfc.enable`", "`enabled`?"],
    );
    refused(
        "[congestion.swift]\nbase_traget = \"1us\"",
        &["`congestion.swift.base_traget`", "`base_target`?"],
    );
    refused(
        "[congestion.swfit]\nbase_target = \"1us\"",
        &["`congestion.swfit`", "`swift`?"],
    );
    refused(
        "[congestion]\nalgorithm = \"tymely\"",
        &["`congestion.algorithm`", "`timely`?"],
    );
    refused(
        "[congestion.dcqcn]\ngian = 0.1",
        &["`congestion.dcqcn.gian`", "`gain`?"],
    );
    refused_star(
        "[[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nlod = 0.5\nduration = \"1ms\"",
        &["x.toml:9:1", "`workload[0].lod`", "did you mean `load`?"],
    );
    refused(
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rat = \"1Gbps\", delay = \"1us\" }",
        &["x.toml:4:15", "`topology.host_link.rat`", "`rate`?"],
    );
    refused(
        "[telemetry]\nx = 1",
        &["x.toml:1:2", "unknown key `telemetry`"],
    );
}

#[test]
fn wrong_types_and_units() {
    refused(
        "seed = \"1\"",
        &["x.toml:1:1", "`seed`", "expected a whole number from 0"],
    );
    refused("seed = -1", &["`seed`", "-1"]);
    refused("seed = 99999999999999999999", &["x.toml:1:"]);
    refused("stop = 5", &["`stop`", "a time with its unit", "quotes"]);
    refused(
        "stop = \"5\"",
        &["`stop`", "has no unit", "ps, ns, us, ms, s"],
    );
    refused("stop = \"5GB\"", &["`stop`", "has an unknown unit"]);
    refused(
        "stop = \"0.5ps\"",
        &["`stop`", "finer than the smallest unit"],
    );
    refused(
        "[switch]\nbuffer = \"32Mb\"",
        &["x.toml:2:1", "`switch.buffer`", "unknown unit"],
    );
    refused("[switch.pfc]\nheadroom_delays = \"some\"", &["lossless"]);
    refused(
        "profile = \"hpcc\"",
        &["x.toml:1:1", "`profile`", "`hpcc-ns3`?"],
    );
    refused(
        "[congestion]\nalgorithm = \"dqcn\"",
        &["`congestion.algorithm`", "`dcqcn`?"],
    );
    refused_star(
        "[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"1kB\"\nclass = \"x\"",
        &["x.toml:10:1", "`workload[0].class`", "0 to 255"],
    );
    refused_star(
        "[[workload]]\nkind = \"poisson\"\nsizes = 5\nload = 0.1\nduration = \"1us\"",
        &[
            "x.toml:8:1",
            "`workload[0].sizes`",
            "name of a distribution",
        ],
    );
    refused_star(
        "[[workload]]\nkind = \"flows\"\nflow = [{ source = 0, destination = 1, size = \"1xB\" }]",
        &["x.toml:8:", "`workload[0].flow[0].size`", "unknown unit"],
    );
}

#[test]
fn brackets_of_tables_and_of_lists_of_tables() {
    let incast = "kind = \"incast\"\ndegree = 2\nsize = \"1kB\"\n";
    refused_star(
        &format!("[workload]\n{incast}"),
        &["x.toml:6:2", "`workload`", "write [[workload]] for each"],
    );
    refused_star(
        &format!("[workload]\n{incast}[workload]\n{incast}"),
        &["x.toml:10:2", "`workload` is stated twice", "[[workload]]"],
    );
    refused_star(
        "[[workload]]\nkind = \"flows\"\n[workload.flow]\nsource = 0\ndestination = 1\nsize = \"1kB\"",
        &["`workload[0].flow`", "write [[workload.flow]] for each"],
    );
    refused(
        &STAR.replace("[topology]", "[[topology]]"),
        &["x.toml:2:1", "write [topology]"],
    );
    // Elements of this list are no tables.
    let error = refusal(read("[capture]\nport = \"host:1\""));
    assert!(!error.contains("[[capture]]"), "{error}");
}

#[test]
fn the_second_of_two_equal_mistakes_is_not_blamed() {
    let workload = "[[workload]]\nkind = \"permutation\"\nsize = \"1x\"\n";
    refused_star(
        &format!("{workload}{workload}"),
        &["x.toml:8:1", "`workload[0].size`"],
    );
}

#[test]
fn missing_keys_and_kinds() {
    refused(
        "[topology]\nhosts = 2",
        &["x.toml:1:2", "`topology`", "`kind` is missing"],
    );
    refused(
        "[topology]\nkind = \"stra\"",
        &["x.toml:2:1", "`topology.kind`", "`star`?"],
    );
    refused(
        "[topology]\nkind = \"star\"\nhosts = 2",
        &[
            "x.toml:1:2",
            "`topology`",
            "`host_link` is missing",
            "add `host_link = ...`",
        ],
    );
    refused(
        "[topology]\nkind = \"star\"\nhosts = 2\nhost_link = { rate = \"1Gbps\" }",
        &["x.toml:4:1", "`topology.host_link`", "`delay` is missing"],
    );
    refused_star(
        "[[workload]]\nkind = \"poison\"",
        &["x.toml:7:1", "`poisson`?"],
    );
    refused_star(
        "[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\n[[workload]]\nkind = \"permutation\"",
        &["x.toml:9:1", "`workload[1]`", "`size` is missing"],
    );
}

#[test]
fn notifications_that_nobody_hears() {
    refused(
        "[congestion]\nalgorithm = \"hpcc\"\nnotification = \"cnp\"",
        &[
            "x.toml:3:1",
            "`congestion.notification`",
            "expected \"ack\" for hpcc",
        ],
    );
    refused(
        "profile = \"hpcc-ns3\"\n[congestion]\nnotification = \"cnp\"",
        &["`congestion.notification`", "hpcc-ns3"],
    );
    for algorithm in ["dcqcn", "infiniband"] {
        let text = format!("[congestion]\nalgorithm = \"{algorithm}\"\nnotification = \"cnp\"");
        assert!(read(&text).is_ok(), "{algorithm}");
    }
}

#[test]
fn rates_that_cannot_be_recorded() {
    refused(
        "[output]\nrate_interval = \"0us\"",
        &["x.toml:2:1", "`output.rate_interval`", "is 0"],
    );
    refused(
        "[output]\nrate_interval = \"1us\"\n[congestion]\nscope = \"tenant\"",
        &["`output.rate_interval`", "scope \"tenant\""],
    );
    refused(
        "profile = \"hpcc-ns3\"\n[output]\nrate_interval = \"1us\"",
        &["`output.rate_interval`", "hpcc-ns3"],
    );
}

#[test]
fn chosen_ports_that_cannot_be_sampled() {
    refused(
        "[output]\nports = [\"host:0\"]",
        &["x.toml:2:1", "`output.ports`", "sample_interval"],
    );
    let stated = |ports: &str| format!("[output]\nsample_interval = \"1us\"\nports = {ports}");
    refused(
        &stated("[\"host:1\", \"port 3\"]"),
        &["x.toml:3:20", "`output.ports[1]`", "names no port"],
    );
    refused(
        &stated("[\"host:9\"]"),
        &["`output.ports[0]`", "node 9 doesn't exist"],
    );
    refused(
        &stated("[\"host:1\", \"host:1/port:1\"]"),
        &["`output.ports[1]`", "port 1 of node 1 is named twice"],
    );
}

#[test]
fn values_out_of_range() {
    refused("stop = \"0s\"", &["x.toml:1:1", "`stop`", "is 0"]);
    refused("stop = \"10000000s\"", &["`stop`", "at most"]);
    refused(
        "[output]\nsample_interval = \"0us\"",
        &["x.toml:2:1", "is 0"],
    );
    refused(
        "[output]\ntrace_nodes = [0, 3]",
        &["`output.trace_nodes[1]`", "node 3 doesn't exist"],
    );
    refused(
        "[output]\ntrace_nodes = [0, 0]",
        &["x.toml:2:19", "named twice"],
    );
    refused("[packet]\nmtu = 0", &["`packet.mtu`", "is 0B"]);
    refused(
        "[packet]\nmtu = 9300",
        &["`packet.mtu`", "expected 1B to 9KiB"],
    );
    refused(
        "[packet]\nheader = 60000\ntelemetry = 6000",
        &["`packet.mtu`", "65535B"],
    );
    refused("[switch]\nbuffer = 0", &["`switch.buffer`"]);
    refused(
        "[switch.pfc]\nthreshold_shift = 64",
        &["`switch.pfc.threshold_shift`", "0 to 32"],
    );
    refused(
        "[switch.ecn]\nkmin_per_gbps = \"20kB\"",
        &["`switch.ecn.kmin_per_gbps`", "16kB"],
    );
    refused(
        "[switch.ecn]\npmax = 1.5",
        &["x.toml:2:1", "expected 0 to 1"],
    );
    refused("[switch.ecn]\npmax = nan", &["`switch.ecn.pmax`", "is NaN"]);
    refused(
        "[transport]\nack_timeout = \"0us\"",
        &["`transport.ack_timeout`", "is 0"],
    );
    refused(
        "[faults]\nloss_rate = 1.0",
        &["`faults.loss_rate`", "below 1"],
    );
}

#[test]
fn parameters_of_algorithms_out_of_range() {
    refused(
        "[congestion.dcqcn]\ngain = -0.1",
        &["`congestion.dcqcn.gain`", "-0.1"],
    );
    refused(
        "[congestion.dcqcn]\nalpha_interval = \"0us\"",
        &["alpha_interval`", "is 0"],
    );
    refused(
        "[congestion.dcqcn]\nmin_rate = \"0bps\"",
        &["min_rate`", "is 0bps"],
    );
    refused(
        "[congestion.dcqcn]\nmin_rate = \"200Gbps\"",
        &["min_rate`", "every host link"],
    );
    refused(
        "[congestion.hpcc]\ntarget_utilization = 0.0",
        &["target_utilization`", "above 0"],
    );
    refused(
        "[congestion.hpcc]\ntarget_utilization = inf",
        &["target_utilization`", "is inf"],
    );
    refused(
        "[congestion.infiniband]\nccti_limit = 3\nccti_min = 4",
        &["`congestion.infiniband.ccti_min`", "at most ccti_limit"],
    );
    refused(
        "[congestion.timely]\nlow_threshold = \"1ms\"",
        &[
            "`congestion.timely.high_threshold`",
            "at least low_threshold",
        ],
    );
    refused(
        "[congestion.swift]\nmin_window = 2.0",
        &["`congestion.swift.min_window`", "is 2"],
    );
    refused(
        "[congestion.powertcp]\nexpected_flows = 0",
        &["`congestion.powertcp.expected_flows`", "is 0"],
    );
    refused(
        "[congestion]\nalgorithm = \"dctcp\"\n[congestion.dctcp]\nmin_rate = \"200Gbps\"",
        &["`congestion.dctcp.min_rate`", "every host link"],
    );
    refused(
        "[congestion.infiniband]\ntable = [{ multiplier = 1, shift = 4 }]",
        &["`congestion.infiniband.table`", "shifts up to 3"],
    );
    refused(
        "[congestion]\ncnp_interval = \"0us\"",
        &["`congestion.cnp_interval`", "is 0"],
    );
    refused(
        "[congestion.fixed]\nrate = \"0bps\"",
        &["`congestion.fixed.rate`", "is 0bps"],
    );
    refused(
        "[congestion]\nalgorithm = \"hpcc\"\nwindow = \"none\"",
        &["x.toml:3:1", "`congestion.window`", "HPCC"],
    );
}

#[test]
fn captures_of_what_is_not_there() {
    let refused = |points: &str, parts: &[&str]| {
        refused(&format!("capture = [\n{points}\n]\n{STAR}"), parts);
    };
    for text in [
        "hots:1",
        "host",
        "host:",
        "host:1/",
        "host:+1",
        "host:1/port",
        "host:1/port:-1",
        "host:1 ",
        "switch:4/port:1/port:2",
        "host:99999999999",
        "",
    ] {
        let quoted = format!("\"{text}\"");
        let hint = "\"switch:7/port:2\"";
        let expected = "names no port, expected host:N or switch:N";
        refused(&quoted, &["`capture[0]`", "x.toml:2:1", expected, hint]);
    }
    refused("1", &["`capture[0]`", "text in quotes"]);
    refused(
        "\"host:0\",\n\"host:5\"",
        &[
            "x.toml:3:1",
            "`capture[1]`",
            "node 5 doesn't exist",
            "0 to 4",
        ],
    );
    refused(
        "\"host:4\"",
        &["node 4 is a switch, expected a host", "write \"switch:4\""],
    );
    refused(
        "\"switch:0\"",
        &["node 0 is a host, expected a switch", "write \"host:0\""],
    );
    refused("\"switch:4/port:0\"", &["has no port 0, expected 1 to 4"]);
    refused("\"switch:4/port:5\"", &["has no port 5, expected 1 to 4"]);
    refused("\"host:0/port:2\"", &["has no port 2, expected 1 to 1"]);
    refused(
        "\"switch:4/port:2\", \"switch:4\"",
        &["`capture[1]`", "port 2 of node 4 is named twice"],
    );
}

#[test]
fn thresholds_by_rate() {
    let list = |rows: &str| format!("[switch.ecn]\nthreshold = [{rows}]");
    refused(
        &list("{ rate = \"25Gbps\", kmin = 1, kmax = 2, pmax = 1 }"),
        &["`switch.ecn.threshold`", "no threshold for 100Gbps"],
    );
    refused(
        &list("{ rate = \"25Gbps\", kmin = 3, kmax = 2, pmax = 1 }"),
        &["`switch.ecn.threshold[0].kmin`", "at most kmax"],
    );
    let row = "{ rate = \"100Gbps\", kmin = 1, kmax = 2, pmax = 1 }";
    refused(
        &list(&format!("{row}, {row}")),
        &["threshold[1].rate`", "two thresholds"],
    );
    refused(
        &list("{ rate = \"100Gbps\", kmin = 1, kmax = 2, pmax = nan }"),
        &["threshold[0].pmax`", "NaN"],
    );
    let off = list("{ rate = \"25Gbps\", kmin = 1, kmax = 2, pmax = 1 }\n]\nenabled = false # [");
    assert!(
        read(&off).is_ok(),
        "thresholds don't matter without marking"
    );
}

#[test]
fn topologies_of_senseless_size() {
    let star = |hosts: &str, rate: &str, delay: &str| {
        format!(
            "[topology]\nkind = \"star\"\nhosts = {hosts}\nhost_link = {{ rate = \"{rate}\", delay = \"{delay}\" }}"
        )
    };
    refused(
        &star("0", "1Gbps", "1us"),
        &["x.toml:3:1", "`topology.hosts`", "at least 1"],
    );
    refused(&star("1", "1Gbps", "1us"), &["`topology`", "at least 2"]);
    refused(
        &star("4000000000", "1Gbps", "1us"),
        &["`topology`", "nodes"],
    );
    refused(
        &star("2", "0Gbps", "1us"),
        &["x.toml:4:15", "`topology.host_link.rate`", "is 0bps"],
    );
    refused(
        &star("2", "9Tbps", "1us"),
        &["`topology.host_link.rate`", "8Tbps"],
    );
    refused(
        &star("2", "1Gbps", "0us"),
        &["`topology.host_link.delay`", "is 0ps"],
    );
    refused(
        &star("2", "1Gbps", "2s"),
        &["`topology.host_link.delay`", "1s"],
    );
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let tree = |cores: u32| {
        format!(
            "[topology]\nkind = \"fat-tree\"\npods = 2\ntors_per_pod = 2\naggregations_per_pod = 2\ncores = {cores}\nhosts_per_tor = 2\nhost_link = {link}\nfabric_link = {link}"
        )
    };
    refused(
        &tree(3),
        &["x.toml:6:1", "`topology.cores`", "multiple", "write 2"],
    );
    refused(&tree(0), &["`topology.cores`"]);
    refused(&tree(u32::MAX - 1), &["`topology`", "nodes"]);
    let mesh = format!(
        "[topology]\nkind = \"mesh\"\nswitches = 4000000000\nhosts_per_switch = 4000000000\nhost_link = {link}\nfabric_link = {link}"
    );
    refused(&mesh, &["`topology`", "at most"]);
}

#[test]
fn faults_of_links() {
    let fault = |fields: &str| format!("[[faults.link]]\n{fields}");
    refused_star(
        &fault("between = [0, 1]\ndown = \"1us\""),
        &["x.toml:7:1", "no link between nodes 0 and 1"],
    );
    refused_star(
        &fault("between = [0, 9]\ndown = \"1us\""),
        &["`faults.link[0].between`"],
    );
    refused_star(
        &fault("between = [0, 4]\ndown = \"2us\"\nup = \"2us\""),
        &["x.toml:9:1", "`faults.link[0].up`"],
    );
    let twice = "[[faults.link]]\nbetween = [0, 4]\ndown = \"1us\"\n";
    refused_star(
        &format!("{twice}{twice}"),
        &["`faults.link[1].down`", "already down"],
    );
    refused_star(
        &fault("between = [0, 4]\nindex = 1\ndown = \"1us\""),
        &["`faults.link[0].index`", "is 1, expected at most 0"],
    );
}

/// What is said of a trunk of two links between the switches of a file.
fn of_trunk(text: &str) -> Result<(), String> {
    let trunk = "4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n3 2 4Gbps 2us 0\n";
    let scenario = format!("{text}\n[topology]\nkind = \"file\"\npath = \"t.txt\"\n");
    let folder = Folder::new("trunk").with("t.txt", trunk);
    let folder = folder.with("s.toml", &scenario);
    match fairlane_scenario::load(&folder.0.join("s.toml"), &[], None) {
        Ok(_) => Ok(()),
        refused => Err(refusal(refused)),
    }
}

#[test]
fn faults_name_one_of_several_links_or_all() {
    let down = |index: &str, times: &str| format!("{{ between = [2, 3], {index} down = {times} }}");
    let faults = |list: &[String]| of_trunk(&format!("faults.link = [{}]", list.join(", ")));
    let (one, other) = (down("index = 0,", "\"1us\""), down("index = 1,", "\"1us\""));
    assert_eq!(faults(&[one.clone(), other.clone()]), Ok(()));
    let all = down("", "\"2us\"");
    let twice = faults(&[other, all]).unwrap_err();
    assert!(twice.contains("`faults.link[1].down`"), "{twice}");
    assert!(
        twice.contains("link 2-3 (index 1) is already down"),
        "{twice}"
    );
    let back = down("index = 0,", "\"1us\", up = \"2us\"");
    assert_eq!(faults(&[back, one.replace("1us", "3us")]), Ok(()));
    let beyond = faults(&[down("index = 2,", "\"1us\"")]).unwrap_err();
    assert!(
        beyond.contains("is 2, expected at most 1: there are 2 links"),
        "{beyond}"
    );
    let slow = "{ between = [3, 2], index = 1, rate = \"1Gbps\" }";
    assert_eq!(of_trunk(&format!("faults.slow = [{slow}]")), Ok(()));
    let all = "{ between = [2, 3], rate = \"2Gbps\" }";
    let twice = of_trunk(&format!("faults.slow = [{slow}, {all}]")).unwrap_err();
    assert!(twice.contains("`faults.slow[1].between`"), "{twice}");
    assert!(
        twice.contains("link 2-3 (index 1) has a rate already"),
        "{twice}"
    );
}

#[test]
fn ns3_has_one_link_between_two_nodes() {
    let refused = of_trunk("profile = \"hpcc-ns3\"").unwrap_err();
    assert!(refused.contains("t.txt:6"), "{refused}");
    assert!(
        refused.contains("a second link between 2 and 3 under profile"),
        "{refused}"
    );
}

#[test]
fn slow_links() {
    let slow = |a: u32, b: u32, rate: &str| {
        format!("[[faults.slow]]\nbetween = [{a}, {b}]\nrate = \"{rate}\"\n")
    };
    refused_star(
        &slow(0, 1, "1Gbps"),
        &["x.toml:7:1", "no link between nodes 0 and 1"],
    );
    refused_star(&slow(0, 4, "0bps"), &["`faults.slow[0].rate`"]);
    let twice = format!("{}{}", slow(0, 4, "1Gbps"), slow(4, 0, "2Gbps"));
    refused_star(&twice, &["`faults.slow[1].between`", "rate already"]);
    let profile = format!("profile = \"hpcc-ns3\"\n{}", slow(0, 1, "1Gbps"));
    refused(&profile, &["`faults.slow[0]`", "hpcc-ns3"]);
}

#[test]
fn hosts_that_pause() {
    let fault = |fields: &str| format!("[[faults.pause]]\n{fields}");
    refused_star(
        &fault("host = 4\nduration = \"1us\""),
        &[
            "x.toml:7:1",
            "`faults.pause[0].host`",
            "node 4 isn't a host",
        ],
    );
    refused_star(
        &fault("host = 1\nduration = \"0us\""),
        &["x.toml:8:1", "`faults.pause[0].duration`"],
    );
    refused_star(
        &fault("host = 1\nduration = \"2us\"\nperiod = \"2us\""),
        &[
            "x.toml:9:1",
            "`faults.pause[0].period`",
            "more than the duration",
        ],
    );
    refused_star(
        &fault("host = 1\nclass = 0\nduration = \"2us\""),
        &["x.toml:8:1", "`faults.pause[0].class`"],
    );
    refused_star(
        &fault("host = 1\nduration = \"2us\"\n[switch.pfc]\nenabled = false"),
        &["x.toml:7:1", "switch.pfc.enabled"],
    );
    refused_star(
        "[switch.pfc]\nwatchdog = \"0us\"",
        &["x.toml:7:1", "`switch.pfc.watchdog`"],
    );
}

#[test]
fn attacks() {
    let attack = |fields: &str| format!("[attack]\n{fields}");
    refused_star(
        &attack("kind = \"staggerd\""),
        &["x.toml:7:1", "`attack.kind`", "staggered"],
    );
    refused_star(
        &attack("kind = \"staggered\"\nqps = 3"),
        &[
            "x.toml:8:1",
            "`attack.qps`",
            "its keys are above, piece, gap",
        ],
    );
    refused_star(
        &attack("kind = \"churn\"\nbdps = 61"),
        &["x.toml:8:1", "`attack.bdps`", "1 to 60"],
    );
    refused_star(
        &attack("kind = \"churn\"\nbdps = 6\npiece = \"80kB\""),
        &["x.toml:9:1", "`attack.piece`", "stands beside bdps"],
    );
    refused_star(
        &attack("kind = \"parallel\"\ntenant = \"defalt\""),
        &["x.toml:8:1", "`attack.tenant`", "did you mean \"default\"?"],
    );
    refused_star(&attack("piece = 3"), &["`attack`", "`kind` is missing"]);
}

#[test]
fn buffers_smaller_than_headroom() {
    refused(
        "profile = \"hpcc-ns3\"\n[switch]\nbuffer = \"60kB\"",
        &["x.toml:3:1", "`switch.buffer`", "headroom"],
    );
}

#[test]
fn profile_hpcc_ns3_has_limits_of_its_own() {
    let star = |rate: &str, delay: &str| {
        format!(
            "profile = \"hpcc-ns3\"\n[congestion]\nalgorithm = \"hpcc\"\n[topology]\nkind = \"star\"\nhosts = 2\nhost_link = {{ rate = \"{rate}\", delay = \"{delay}\" }}"
        )
    };
    refused(
        &star("40Gbps", "1us"),
        &["`topology`", "40Gbps", "25, 50, 100, 200 or 400"],
    );
    refused(
        &star("100Gbps", "0.5ns"),
        &["`topology.host_link.delay`", "whole nanoseconds"],
    );
    assert!(read(&star("100Gbps", "0ns")).is_ok());
}

#[test]
fn overrides_are_blamed_by_name() {
    let set = |text: &str| {
        let overrides = [text.to_owned()];
        refusal(parse(
            STAR,
            "x.toml",
            std::path::Path::new("."),
            &overrides,
            None,
        ))
    };
    assert!(set("seed").contains("--set seed: has no `=`"));
    assert!(set("=1").contains("has an empty key"));
    assert!(set("sed=1").contains("did you mean `seed`?"));
    let zero = set("topology.hosts=0");
    assert!(
        zero.starts_with("error --set topology.hosts=0: `topology.hosts`"),
        "{zero}"
    );
    assert!(set("workload.0.load=1").contains("`workload` has 0 elements"));
    assert!(set("workload.first=1").contains("`workload` is a list"));
    assert!(set("workload.*.load=1").contains("`workload` has no elements"));
    // Blamed is who set the element, whichever of them it was.
    let added = set("workload.+={ kind = \"permutation\", size = 0 }");
    assert!(added.starts_with("error --set workload.+="), "{added}");
    assert!(set("workload.+.load=1").contains("`workload` is a list"));
    assert!(set("seed.x=1").contains("`seed` is a single value"));
    let number = set("topology.0=1");
    assert!(
        number.contains("`topology` is a table, expected one of its keys"),
        "{number}"
    );
    assert!(set("profile=hpcc").contains("`hpcc-ns3`?"));
}

#[test]
fn files_that_are_not_there_or_not_text() {
    let folder = Folder::new("absent").with(
        "present.toml",
        "[topology]\nkind = \"file\"\npath = \"t.txt\"",
    );
    let scenario = folder.0.join("present.toml");
    let message = refusal(fairlane_scenario::load(&scenario, &[], None));
    assert!(
        message.contains("present.toml:3:1") && message.contains("t.txt doesn't exist"),
        "{message}"
    );
    std::fs::write(folder.0.join("t.txt"), b"3 1 2\n\xff\xfe\n").unwrap();
    let message = refusal(fairlane_scenario::load(&scenario, &[], None));
    assert!(
        message.contains("t.txt:2") && message.contains("UTF-8"),
        "{message}"
    );
    let message = refusal(fairlane_scenario::load(
        &folder.0.join("no.toml"),
        &[],
        None,
    ));
    assert!(
        message.contains("no.toml") && message.contains("no such file"),
        "{message}"
    );
}

#[test]
fn keys_that_are_not_stated_are_placed_at_their_table() {
    let workload =
        "[[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nload = 0.5\nduration = \"1ms\"\n";
    refused_star(
        &format!("{workload}[attack]\nkind = \"paced\""),
        &["error x.toml:11:2: `attack.rate`: is missing"],
    );
    refused_star(
        "[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"hierarchical\"\nsize = \"1MB\"",
        &["error x.toml:6:1: `workload[0].inner`: isn't stated"],
    );
}
