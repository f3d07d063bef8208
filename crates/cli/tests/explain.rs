//! `fairlane explain`: text, JSON, and directories that hold no results.

use std::fs;

use serde_json::Value;

use crate::support::Case;

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Two leaves with two hosts each and four spines; what follows is traffic.
fn leaf_spine(host: &str, fabric: &str, rest: &str) -> String {
    format!(
        "name = \"two-leaves\"\n\
         [output]\nsample_interval = \"10us\"\n\
         [topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 4\nhosts_per_leaf = 2\n\
         host_link = {{ rate = \"{host}\", delay = \"1us\" }}\n\
         fabric_link = {{ rate = \"{fabric}\", delay = \"1us\" }}\n\
         [congestion]\nalgorithm = \"fixed\"\n{rest}"
    )
}

/// Messages of 2 MB between hosts, given as `source-destination`.
fn flows(pairs: &[(u32, u32)]) -> String {
    let flow = |(source, destination): &(u32, u32)| {
        format!("{{ source = {source}, destination = {destination}, size = \"2MB\" }}")
    };
    let list: Vec<_> = pairs.iter().map(flow).collect();
    format!(
        "[[workload]]\nkind = \"flows\"\nflow = [{}]\n",
        list.join(", ")
    )
}

/// What is said of a run of a scenario.
fn explained(scenario: &str) -> (Case, String) {
    let case = Case::with("s.toml", scenario);
    let done = case.run("run s.toml --out out");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let done = case.run("explain out");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    (case, String::from_utf8(done.stdout).unwrap())
}

#[test]
fn a_hot_link_a_receiver_and_nothing() {
    let hot = leaf_spine("100Gbps", "50Gbps", &flows(&[(0, 2), (1, 3)]));
    let incast = leaf_spine("100Gbps", "100Gbps", &flows(&[(0, 2), (1, 2), (3, 2)]));
    let late = "{ source = 0, destination = 2, size = \"1kB\", start = \"1ms\" }";
    let late = format!("[[workload]]\nkind = \"flows\"\nflow = [{late}]\n");
    let idle =
        leaf_spine("100Gbps", "100Gbps", &late).replace("[output]", "stop = \"50us\"\n[output]");
    let mut all = String::new();
    for (name, scenario) in [("hot", hot), ("incast", incast), ("idle", idle)] {
        all.push_str(&format!("--- {name}\n{}", explained(&scenario).1));
    }
    snapshot("explain", &all);
}

/// One message of 2 MB over several paths, with more of `[multipath]` and of the scenario.
fn several(fabric: &str, multipath: &str, rest: &str) -> String {
    let multipath = format!("[multipath]\n{multipath}\n");
    leaf_spine(
        "100Gbps",
        fabric,
        &format!("{multipath}{}{rest}", flows(&[(0, 2)])),
    )
}

#[test]
fn what_several_paths_brought_or_why_they_brought_nothing() {
    let distinct = several("25Gbps", "paths = 32", "");
    let one_way = several(
        "25Gbps",
        "paths = 4\nplan = [50003, 50005, 50006, 50013]\ntwins = \"keep\"",
        "",
    );
    let receiver = several("100Gbps", "paths = 8", "");
    let chunks = several(
        "100Gbps",
        "paths = 8\nchunk = \"1KiB\"\nchunk_least = \"1KiB\"\n[multipath.costs]\npost = \"100ns\"",
        "",
    );
    let dead = several(
        "100Gbps",
        "paths = 8\nfirst_timeout = \"100us\"",
        "[[faults.link]]\nbetween = [0, 4]\ndown = \"50us\"\n",
    )
    .replace("host_link", "planes = 2\nhost_link");
    let mut all = String::new();
    for (name, scenario) in [
        ("distinct ways", distinct),
        ("one way", one_way),
        ("receiver", receiver),
        ("chunks", chunks),
        ("a dead path", dead),
    ] {
        all.push_str(&format!("--- {name}\n{}", explained(&scenario).1));
    }
    snapshot("explain_multipath", &all);
}

#[test]
fn json_says_the_same() {
    let (case, text) = explained(&leaf_spine("100Gbps", "25Gbps", &flows(&[(0, 2)])));
    let done = case.run("explain out --format json");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let finding = &report["findings"][0];
    let kind = finding["kind"].as_str().unwrap();
    assert_eq!(kind, "collision", "{text}");
    let share = finding["share"].as_f64().unwrap();
    assert!(share > 0.9, "{share}");
    let place = &finding["places"][0];
    assert_eq!(place["rate_bps"], 25_000_000_000_u64);
    assert_eq!(place["parallel_usage"].as_array().unwrap().len(), 3);
    assert!(text.contains(finding["what"].as_str().unwrap()));
    let findings = report["findings"].as_array().unwrap();
    let time: f64 = findings
        .iter()
        .filter_map(|it| it["time_ns"].as_f64())
        .sum();
    let all = report["message_ns"].as_f64().unwrap();
    assert!((time - all).abs() < 1.0, "{time} of {all}");
}

#[test]
fn directories_without_results_are_refused() {
    let (case, _) = explained(&leaf_spine("100Gbps", "25Gbps", &flows(&[(0, 2)])));
    let mut all = String::new();
    let copy = |name: &str| {
        fs::create_dir(case.path(name)).unwrap();
        for entry in fs::read_dir(case.path("out")).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, case.path(name).join(from.file_name().unwrap())).unwrap();
        }
    };
    for (name, file, content) in [
        ("no-ports", "ports.parquet", None),
        ("no-scenario", "scenario.toml", None),
        ("bad-summary", "summary.json", Some("{")),
        ("short-summary", "summary.json", Some("{}")),
        ("bad-ports", "ports.parquet", Some("PAR1 no PAR1")),
        ("bad-scenario", "scenario.toml", Some("profile = \"x\"")),
    ] {
        copy(name);
        let path = case.path(name).join(file);
        fs::remove_file(&path).unwrap();
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        all.push_str(&case.transcript(&format!("explain {name}")));
    }
    fs::create_dir(case.path("empty")).unwrap();
    for arguments in [
        "explain missing",
        "explain empty",
        "explain s.toml",
        "explain",
    ] {
        all.push_str(&case.transcript(arguments));
    }
    snapshot("explain_refused", &all);
}

/// Workloads may have their own congestion control: headings and causes name each that messages had, and no other.
#[test]
fn every_congestion_control_is_named() {
    let workload = |source: u32, own: &str| {
        format!(
            "[[workload]]\nkind = \"flows\"\n{own}flow = [{{ source = {source}, destination = 2, size = \"1MB\", start = \"0s\" }}]\n"
        )
    };
    let own = "congestion = { algorithm = \"swift\" }\n";
    let star = "[topology]\nkind = \"star\"\nhosts = 3\nhost_link = { rate = \"100Gbps\", delay = \"1us\" }\n";
    for (first, heading, cause) in [
        ("", "DCQCN, Swift", "dcqcn, swift"),
        (own, "Swift", "swift"),
    ] {
        let scenario = [star, &workload(0, first), &workload(1, own)].concat();
        let case = Case::with("s.toml", &scenario);
        assert!(case.run("run s.toml --out d").status.success());
        let summary: Value = serde_json::from_str(&case.text("d/summary.json")).unwrap();
        assert_eq!(summary["congestion"], heading);
        let explained = String::from_utf8(case.run("explain d").stdout).unwrap();
        let under = format!("under {cause}, scope qp");
        assert!(explained.contains(&under), "{explained}");
    }
}
