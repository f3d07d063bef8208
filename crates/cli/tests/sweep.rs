//! `fairlane sweep`: the same table whatever happens on the way, and mistakes in words.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Case, list};

const FILES: [&str; 7] = [
    "means.csv",
    "means.parquet",
    "report.html",
    "runs.jsonl",
    "sweep.toml",
    "table.csv",
    "table.parquet",
];

const SCENARIO: &str = r#"
[topology]
kind = "star"
hosts = 9
host_link = { rate = "100Gbps", delay = "1us" }
[[workload]]
kind = "incast"
degree = 8
size = "400kB"
receiver = 8
rounds = 3
jitter = "5us"
"#;

const SWEEP: &str = r#"
title = "Two controllers"
scenario = "incast.toml"
seeds = 4
metrics = ["slowdown.max", "queue_max_bytes", "signals.ecn_marks"]
[[axis]]
name = "control"
key = "congestion.algorithm"
values = ["dcqcn", "hpcc"]
[[axis]]
name = "degree"
key = "workload.0.degree"
values = [2, 4, 8]
[[curve]]
name = "completion"
of = "completion"
"#;

fn case() -> Case {
    Case::with("incast.toml", SCENARIO).and("s.toml", SWEEP)
}

/// How many runs a folder has records of.
fn kept(case: &Case, out: &str) -> usize {
    let journal = fs::read_to_string(case.path(out).join("runs.jsonl")).unwrap_or_default();
    journal
        .lines()
        .filter(|line| line.starts_with("{\"key\"") && line.ends_with('}'))
        .count()
}

/// Starts a sweep and waits until it has kept a further run.
fn begin(case: &Case, arguments: &str, out: &str) -> Child {
    let before = kept(case, out);
    let mut child = case
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while kept(case, out) == before {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was to be disturbed"
        );
        assert!(started.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

fn tables(case: &Case, out: &str) -> Vec<Vec<u8>> {
    FILES
        .iter()
        .filter(|name| **name != "runs.jsonl")
        .map(|name| fs::read(case.path(out).join(name)).unwrap())
        .collect()
}

#[test]
fn a_sweep_leaves_tables_and_a_page() {
    let case = case();
    let text = case.transcript("sweep s.toml --out d --threads 2 -q");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("sweep", text);
    });
    assert_eq!(list(&case.path("d")), FILES);
    let table = case.text("d/table.csv");
    assert_eq!(
        table.lines().next(),
        Some("run,control,degree,seed,ending,metric,value")
    );
    assert_eq!(table.lines().count(), 1 + 24 * 3);
    assert!(
        table
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("dcqcn-2,dcqcn,2,1,complete,slowdown.max,")
    );
    let means = case.text("d/means.csv");
    assert_eq!(
        means.lines().next(),
        Some("run,control,degree,metric,mean,ci95,min,max,n")
    );
    assert_eq!(means.lines().count(), 1 + 6 * 3);
    let again = case.run("sweep s.toml --out d --format csv -q");
    assert_eq!(String::from_utf8(again.stdout).unwrap(), table);
    assert_eq!(kept(&case, "d"), 24);
    let page = case.text("d/report.html");
    assert!(page.contains("Two controllers") && !page.contains("{{"));
}

#[test]
fn kills_and_interruptions_change_nothing() {
    let case = case();
    assert!(
        case.run("sweep s.toml --out whole -q --threads 1")
            .status
            .success()
    );
    for _ in 0..3 {
        let mut child = begin(&case, "sweep s.toml --out d -q --threads 2", "d");
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }
    let child = begin(&case, "sweep s.toml --out d -q --threads 1", "d");
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(
        words
            .contains("of 24 runs are kept in d\nhint: go on with `fairlane sweep s.toml --out d`"),
        "{words}"
    );
    let before = kept(&case, "d");
    assert!((4..24).contains(&before), "{before}");
    assert!(case.run("sweep s.toml --out d -q").status.success());
    assert_eq!(kept(&case, "d"), 24, "a run was run twice");
    assert!(tables(&case, "whole") == tables(&case, "d"));
}

/// Looking at many large scenarios takes long.
#[test]
fn a_sweep_that_is_still_checked_is_interrupted() {
    let large = SCENARIO
        .replace("hosts = 9", "hosts = 2000")
        .replace("[[workload]]", "[[workload]]\nhosts = \"0-8\"");
    let sweep = SWEEP.replace("seeds = 4", "seeds = 1").replace(
        "values = [2, 4, 8]",
        "values = [2, 4, 8]\n[[axis]]\nname = \"size\"\nkey = \"workload.0.size\"\nrange = { from = 1000, to = 1500000, step = 1000 }",
    );
    let case = Case::with("incast.toml", &large).and("s.toml", &sweep);
    let mut child = case
        .command("sweep s.toml --dry-run --threads 1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None, "too few combinations");
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
}

#[test]
fn a_full_disk_loses_nothing() {
    let case = case();
    assert!(case.run("sweep s.toml --out whole -q").status.success());
    // Files of at most 2 KiB stand for the disk; without the signal, writes fail as they do there.
    let command = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} sweep s.toml --out d -q --threads 2",
        env!("CARGO_BIN_EXE_fairlane")
    );
    let full = || {
        Command::new("sh")
            .args(["-c", &command])
            .current_dir(case.root())
            .output()
            .unwrap()
    };
    let output = full();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.starts_with("error: d/runs.jsonl: "), "{words}");
    let first = kept(&case, "d");
    assert!((1..24).contains(&first), "{first}");
    let text = case.text("d/runs.jsonl");
    assert!(text.ends_with('\n'), "half a line was left behind");
    assert_eq!(full().status.code(), Some(2));
    assert_eq!(kept(&case, "d"), first);
    assert!(case.run("sweep s.toml --out d -q").status.success());
    assert!(tables(&case, "whole") == tables(&case, "d"));
}

/// The sweep with changes for all runs.
fn with_set(set: &str) -> String {
    SWEEP.replace("seeds = 4", &format!("seeds = 4\nset = {set}"))
}

#[test]
fn a_change_stays_where_only_some_runs_replace_it() {
    let axis = "[[axis]]\nname = \"nic\"\n\
        values = [{ name = \"plain\" }, { name = \"small\", set = [\"packet.mtu=500\"] }]\n[[curve]]";
    let sweep = with_set("[\"packet.mtu=2000\", \"switch={ buffer = \\\"2MB\\\" }\"]")
        .replace("[[curve]]", axis)
        .replace("workload.0.degree", "switch.buffer")
        .replace("[2, 4, 8]", "[\"1MB\", \"4MB\"]");
    let case = Case::with("incast.toml", SCENARIO).and("s.toml", &sweep);
    let text = case.transcript("sweep s.toml --dry-run");
    assert!(
        text.starts_with("$ fairlane sweep s.toml --dry-run\nruns     32"),
        "{text}"
    );
}

#[test]
fn a_scenario_of_another_folder_has_its_files_beside_it() {
    let scenario =
        SCENARIO.to_owned() + "[[workload]]\nkind = \"flows\"\npath = \"more/flows.txt\"\n";
    let sweep = SWEEP.replace("\"incast.toml\"", "\"../cases/incast.toml\"");
    let case = Case::with("cases/incast.toml", &scenario)
        .and("cases/more/flows.txt", "1\n0 1 3 100 1000 0.0\n")
        .and("sweeps/s.toml", &sweep);
    let output = case.run("sweep sweeps/s.toml --out d -q");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    assert_eq!(kept(&case, "d"), 24);
}

#[test]
fn mistakes_are_refused_with_place_and_hint() {
    let case = case()
        .and(
            "key.toml",
            &SWEEP.replace("workload.0.degree", "workload.0.dgree"),
        )
        .and("empty.toml", &SWEEP.replace("[2, 4, 8]", "[]"))
        .and("many.toml", &SWEEP.replace("seeds = 4", "seeds = 2000000"))
        .and("other.toml", &SWEEP.replace("[2, 4, 8]", "[2, 4, 6]"))
        .and(
            "metric.toml",
            &SWEEP.replace("slowdown.max", "slowdown.maz"),
        )
        .and(
            "set.toml",
            &with_set("[\"seed=7\", \"workload.0.degree=3\"]"),
        )
        .and("nothing.toml", "scenario = \"incast.toml\"")
        .and("foreign/notes.txt", "mine")
        .and("file", "");
    assert!(case.run("sweep s.toml --out d -q").status.success());
    let lines = [
        "sweep key.toml",
        "sweep empty.toml",
        "sweep many.toml",
        "sweep metric.toml",
        "sweep nothing.toml",
        "sweep set.toml",
        "sweep missing.toml",
        "sweep other.toml --out d",
        "sweep s.toml --out foreign",
        "sweep s.toml --out file",
        "sweep s.toml --dry-run",
    ];
    let text: Vec<_> = lines.iter().map(|line| case.transcript(line)).collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("sweep_refused", text.join("\n"));
    });
    assert_eq!(kept(&case, "d"), 24);
    assert!(
        case.run("sweep other.toml --out d --extend -q")
            .status
            .success()
    );
    // Two thirds were there already.
    assert_eq!(kept(&case, "d"), 24 + 8);
}

#[test]
fn an_experiment_of_ones_own_runs_from_anywhere() {
    let experiment = "title = \"t\"\nsource = \"mine\"\n\
        metric = [{ name = \"us\", of = \"completion\", percentile = \"max\" }]\n\
        axis = [{ name = \"degree\", key = \"workload.0.degree\", values = [2, 4] }]\n\
        check = [{ name = \"more take longer\", value = \"4/us\", over = \"2/us\", relation = \">\", target = 1 }]\n";
    let case = Case::with("mine/experiment.toml", experiment).and("mine/scenario.toml", SCENARIO);
    let output = case.run("reproduce ./mine --out out -q");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    assert!(case.path("out/mine/rows.csv").exists());
    assert_eq!(case.run("reproduce mine -q").status.code(), Some(0));
    let text = case.transcript("reproduce ./nowhere");
    assert!(
        text.contains("there is no experiment.toml here\nhint: "),
        "{text}"
    );
}
