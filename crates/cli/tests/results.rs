//! What `run` leaves behind, and what it doesn't.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Case, ENDLESS, LEAF_SPINE, STAR, list};

const FILES: [&str; 8] = [
    "flows.csv",
    "flows.parquet",
    "pauses.csv",
    "ports.parquet",
    "report.html",
    "scenario.toml",
    "signals.json",
    "summary.json",
];

/// A file of results without what differs from run to run.
fn stable(directory: &Path, name: &str) -> Vec<u8> {
    let bytes = fs::read(directory.join(name)).unwrap();
    if name != "summary.json" {
        return bytes;
    }
    let mut summary: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let host = summary.as_object_mut().unwrap().remove("host");
    assert!(host.is_some(), "there is no \"host\" in summary.json");
    serde_json::to_vec(&summary).unwrap()
}

#[test]
fn a_run_leaves_all_files_and_nothing_else() {
    let case = Case::with("s.toml", STAR);
    let output = case.run("run s.toml --out d");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(list(&case.path("d")), FILES);
    assert_eq!(case.list(), ["d", "s.toml"]);
    let flows = case.text("d/flows.csv");
    assert_eq!(flows.lines().count(), 4);
    assert!(
        flows
            .lines()
            .skip(1)
            .all(|line| line.ends_with(",completed,0")),
        "{flows}"
    );
}

#[test]
fn two_runs_are_equal() {
    let case = Case::with("s.toml", STAR);
    for directory in ["one", "two"] {
        assert!(
            case.run(&format!("run s.toml --out {directory}"))
                .status
                .success()
        );
    }
    for name in FILES {
        let same = stable(&case.path("one"), name) == stable(&case.path("two"), name);
        assert!(same, "{name} differs");
    }
}

#[test]
fn the_resolved_scenario_gives_the_same_results() {
    let case = Case::with("s.toml", STAR);
    assert!(case.run("run s.toml --out one --seed 7").status.success());
    assert!(case.run("run one/scenario.toml --out two").status.success());
    for name in FILES {
        let same = stable(&case.path("one"), name) == stable(&case.path("two"), name);
        assert!(same, "{name} differs");
    }
}

#[test]
fn standard_output_in_json_is_the_summary() {
    let case = Case::with("s.toml", STAR);
    let output = case.run("run s.toml --out d --format json");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        case.text("d/summary.json")
    );
}

#[test]
fn traced_packets_are_written() {
    let case = Case::with("s.toml", STAR);
    assert!(
        case.run("run s.toml --out d --set output.trace_nodes=[0]")
            .status
            .success()
    );
    assert!(case.text("d/packets.csv").lines().count() > 1);
}

#[test]
fn export_has_a_line_for_each_completed_message() {
    let case = Case::with("s.toml", STAR);
    assert!(case.run("run s.toml --out d").status.success());
    assert!(case.run("export hpcc-fct d -o fct.txt").status.success());
    fs::remove_file(case.path("d/flows.parquet")).unwrap();
    assert!(
        case.run("export hpcc-fct d -o from_csv.txt")
            .status
            .success()
    );
    assert_eq!(case.text("fct.txt").lines().count(), 3);
    assert_eq!(case.text("fct.txt"), case.text("from_csv.txt"));
}

#[test]
fn force_replaces_results_and_keeps_the_rest() {
    let case = Case::with("s.toml", STAR)
        .and("d/notes.txt", "mine")
        .and("d/packets.csv", "old");
    assert!(case.run("run s.toml --out d --force").status.success());
    assert_eq!(case.text("d/notes.txt"), "mine");
    assert!(!case.path("d/packets.csv").exists());
    assert_eq!(case.list(), ["d", "s.toml"]);
}

#[test]
fn compare_shows_settings_that_differ() {
    let case = Case::with("s.toml", STAR);
    assert!(case.run("run s.toml --out one").status.success());
    assert!(
        case.run("run s.toml --out two --set congestion.algorithm=hpcc")
            .status
            .success()
    );
    let text = String::from_utf8(case.run("compare one two").stdout).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    assert!(
        header.starts_with("settings that differ  congestion.algorithm"),
        "{text}"
    );
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("one                                  dcqcn"),
        "{text}"
    );
    assert!(!text.contains("topology.kind"), "{text}");
    let json: serde_json::Value =
        serde_json::from_slice(&case.run("compare one two --format json").stdout).unwrap();
    assert_eq!(json["runs"][1]["run"], "two");
    assert_eq!(json["runs"][1]["group"], "hpcc");
    assert_eq!(json["runs"][1]["settings"]["congestion.algorithm"], "hpcc");
    assert_eq!(json["runs"][0]["figures"]["messages"], 3);
}

#[test]
fn compared_runs_are_rows_and_seeds_are_grouped() {
    let case = Case::with("s.toml", &(STAR.to_owned() + POISSON));
    let mut directories = Vec::new();
    for algorithm in ["dcqcn", "hpcc"] {
        for seed in 1..4 {
            let directory = format!("out/{algorithm}-{seed}");
            let set = format!("--seed {seed} --set congestion.algorithm={algorithm}");
            assert!(
                case.run(&format!("run s.toml -q --out {directory} {set}"))
                    .status
                    .success()
            );
            directories.push(directory);
        }
    }
    let all = format!("compare {} --report page.html", directories.join(" "));
    let text = String::from_utf8(case.run(&all).stdout).unwrap();
    let means = text.split("means over seeds").nth(1).unwrap();
    for algorithm in ["dcqcn", "hpcc"] {
        let line = means
            .lines()
            .find(|line| line.starts_with(algorithm))
            .unwrap();
        assert!(line.contains(" 3 ") && line.contains(" ± "), "{text}");
    }
    let page = case.text("page.html");
    assert!(page.contains("\"values\":[\"dcqcn\",\"hpcc\"]") && !page.contains("{{"));
    assert!(
        case.transcript(&all)
            .contains("hint: name another file, or replace it with --force")
    );
    assert!(case.run(&format!("{all} --force")).status.success());
    let csv = String::from_utf8(case.run(&format!("{all} --force --format csv")).stdout).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0][..2], ["run", "group"]);
    assert_eq!(lines[6][..2], ["out/hpcc-3", "hpcc"]);
    let seed = lines[0]
        .iter()
        .position(|name| *name == "scenario.seed")
        .unwrap();
    assert_eq!(lines[6][seed], "3");
    assert!(
        lines.iter().all(|line| line.len() == lines[0].len()),
        "{csv}"
    );
}

const POISSON: &str = r#"
[[workload]]
kind = "poisson"
sizes = [{ size = "1kB", percent = 0 }, { size = "30kB", percent = 100 }]
load = 0.3
duration = "100us"
"#;

/// Starts an endless run and waits until it is under way.
fn begin(case: &Case, arguments: &str, stderr: Stdio) -> Child {
    let mut child = case.command(arguments).stderr(stderr).spawn().unwrap();
    let started = Instant::now();
    let under_way = || case.list().iter().any(|name| name.contains(".partial-"));
    while !under_way() {
        let ended = child.try_wait().unwrap();
        assert!(
            ended.is_none() && started.elapsed() < Duration::from_secs(60),
            "{ended:?}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

/// Starts an endless run, sends a signal once it is under way, and returns the signal it died of.
fn interrupt(case: &Case, arguments: &str, signal: &str) -> Option<i32> {
    let mut child = begin(case, arguments, Stdio::null());
    send(&child, signal);
    child.wait().unwrap().signal()
}

fn send(child: &Child, signal: &str) {
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
}

#[test]
fn an_interrupted_run_keeps_what_there_is() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let case = Case::with("s.toml", ENDLESS);
        assert_eq!(interrupt(&case, "run s.toml --out d", signal), Some(number));
        assert_eq!(case.list(), ["d", "s.toml"]);
        let summary: serde_json::Value =
            serde_json::from_str(&case.text("d/summary.json")).unwrap();
        assert_eq!(summary["ending"], "interrupted");
        for whole in [
            "flows.parquet",
            "ports.parquet",
            "signals.json",
            "report.html",
        ] {
            assert!(case.path("d").join(whole).is_file(), "{whole}");
        }
        assert!(case.run("explain d").status.success());
    }
}

#[test]
fn a_directory_that_another_run_writes_is_refused() {
    let case = Case::with("s.toml", ENDLESS);
    let mut first = begin(&case, "run s.toml --out d --quiet", Stdio::null());
    let second = case.run("run s.toml --out d");
    first.kill().unwrap();
    first.wait().unwrap();
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("another run is writing"), "{stderr}");
}

#[test]
fn an_interrupted_run_with_force_keeps_the_former_results() {
    let case = Case::with("s.toml", ENDLESS).and("d/summary.json", "former");
    assert_eq!(
        interrupt(&case, "run s.toml --out d --force", "-INT"),
        Some(2)
    );
    assert_eq!(case.text("d/summary.json"), "former");
    assert_eq!(case.list(), ["d", "s.toml"]);
}

#[test]
fn a_killed_run_leaves_nothing_that_looks_complete() {
    let case = Case::with("s.toml", ENDLESS);
    assert_eq!(interrupt(&case, "run s.toml --out d", "-KILL"), Some(9));
    assert!(!case.path("d").exists());
    let left = case.list();
    assert!(
        left.iter().any(|name| name.starts_with(".d.partial-")),
        "{left:?}"
    );
    // The next run removes what is left.
    let small = case.and("small.toml", STAR);
    assert!(small.run("run small.toml --out d").status.success());
    assert_eq!(small.list(), ["d", "s.toml", "small.toml"]);
}

#[test]
fn an_interrupted_run_says_that_it_writes() {
    let case = Case::with("s.toml", ENDLESS);
    let mut child = begin(&case, "run s.toml --out d", Stdio::piped());
    send(&child, "-INT");
    let mut words = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut words)
        .unwrap();
    child.wait().unwrap();
    let writes = words.find("interrupted: writing what was simulated until then");
    assert!(writes < words.find("results in "), "{words}");
    assert!(writes.is_some(), "{words}");
}

#[test]
fn without_a_directory_results_go_to_one_called_after_the_scenario() {
    let case = Case::with("s.toml", STAR).and(
        "named.toml",
        &format!("name = \"a/b\"\n{STAR}").replace("name = \"star\"", ""),
    );
    assert!(case.run("run s.toml").status.success());
    assert!(case.path("out/star/summary.json").is_file());
    let again = case.transcript("run s.toml");
    assert!(
        again.contains("error: out/star: not empty\nhint: ") && again.contains("--force"),
        "{again}"
    );
    assert!(again.ends_with("--- exit 2\n"), "{again}");
    assert!(case.run("run s.toml --force").status.success());
    let nameless = case.transcript("run named.toml");
    assert!(
        nameless.contains("\"a/b\"") && nameless.contains("hint: name one with --out"),
        "{nameless}"
    );
    assert_eq!(case.list(), ["named.toml", "out", "s.toml"]);
}

#[test]
fn what_threads_did_is_said_with_v_only() {
    let case = Case::with("s.toml", LEAF_SPINE);
    let words = |more: &str| {
        let output = case.run(&format!("run s.toml --out d --threads 2 --force {more}"));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!words("").contains("windows"), "{}", words(""));
    assert!(words("-v").contains("2 threads, "), "{}", words("-v"));
}

#[test]
fn headings_name_no_algorithm_without_congestion_control() {
    let case = Case::with("s.toml", STAR);
    let output = case.run("run s.toml --set congestion.scope=none");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("star: no congestion control, profile exact"),
        "{text}"
    );
    assert!(
        case.text("out/star/summary.json")
            .contains("\"congestion\": \"no congestion control\"")
    );
    assert!(
        !case
            .text("out/star/report.html")
            .contains("\"congestion\":\"DCQCN\"")
    );
}

/// A run twice is one seed, and one that differs in something else, here in the messages of a file, is no seed of it.
#[test]
fn the_same_run_twice_is_no_further_seed() {
    let file =
        STAR.split("[[workload.flow]]").next().unwrap().to_owned() + "path = \"flows.txt\"\n";
    let case = Case::with("s.toml", &(STAR.to_owned() + POISSON)).and("file.toml", &file);
    for seed in [1, 2] {
        let run = format!("run s.toml -q --out seed-{seed} --seed {seed}");
        assert!(case.run(&run).status.success());
    }
    let text = |directories: &str| {
        String::from_utf8(case.run(&format!("compare {directories}")).stdout).unwrap()
    };
    assert!(!text("seed-1 seed-1").contains("means over seeds"));
    let means = |text: String| {
        let means = text.split("means over seeds").nth(1).unwrap().to_owned();
        means
            .lines()
            .skip(1)
            .map(str::to_owned)
            .take_while(|line| !line.is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        means(text("seed-1 seed-2 seed-1")),
        means(text("seed-1 seed-2"))
    );
    for (out, size) in [("small", 1000), ("large", 100_000)] {
        let flows = format!("1\n0 1 3 100 {size} 0.000001\n");
        fs::write(case.path("flows.txt"), flows).unwrap();
        assert!(
            case.run(&format!("run file.toml -q --out {out}"))
                .status
                .success()
        );
    }
    assert!(!text("small large").contains("means over seeds"));
}

#[test]
fn a_stalled_run_exits_with_1_and_has_results() {
    // The only link of host 1 is down for good, and nothing ever times out.
    let scenario = STAR.to_owned()
        + "[[faults.link]]\nbetween = [2, 3]\ndown = \"3us\"\n[transport]\nack_timeout = \"never\"\n";
    let case = Case::with("s.toml", &scenario);
    let output = case.run("run s.toml --out d");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("stalled"), "{stderr}");
    assert!(case.text("d/flows.csv").contains(",unfinished"));
}

const TENANTS: &str = r#"
[[tenant]]
name = "red"
[[tenant]]
name = "blue"
weight = 3
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
[[workload]]
kind = "incast"
degree = 3
size = "400kB"
receiver = 3
[[workload]]
kind = "flows"
tenant = "blue"
flow = [{ source = 0, destination = 3, size = "300kB" }]
"#;

#[test]
fn tenants_are_told_apart_in_all_results() {
    let case = Case::with("s.toml", TENANTS);
    let output = case.run("run s.toml --out d --set output.sample_interval=10us");
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in ["Jain's index", "contended link", "node 4 to node 3", "red"] {
        assert!(told.contains(part), "no {part} in\n{told}");
    }
    let flows = case.text("d/flows.csv");
    let ends = |end: &str| flows.lines().filter(|line| line.ends_with(end)).count();
    assert_eq!((ends(",tenant"), ends(",0"), ends(",1")), (1, 3, 1));
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(&case.text(&format!("d/{name}.json"))).unwrap()
    };
    let summary = json("summary");
    assert_eq!(summary["tenants"][0]["bytes"], 1_200_000);
    assert_eq!(summary["tenants"][1]["placed_bytes"], 300_000);
    let links = summary["contended_links"].as_array().unwrap();
    let to_receiver = links.iter().find(|link| link["peer_node"] == 3).unwrap();
    let share = to_receiver["shares"][0].as_f64().unwrap();
    assert!((0.7..0.9).contains(&share), "{to_receiver}");
    let signals = json("signals");
    for signal in ["ecn_marks", "cnps", "retransmissions", "drops"] {
        let of = |name: &str| signals["tenants"][name][signal]["count"].as_u64().unwrap();
        let whole = match signal {
            "drops" => 0,
            _ => signals[signal]["count"].as_u64().unwrap(),
        };
        assert_eq!(of("red") + of("blue"), whole, "{signal}");
    }
    let report = case.text("d/report.html");
    assert!(report.contains("\"placed_gbps\""));
}

#[test]
fn tenants_of_several_runs_are_compared() {
    let case = Case::with("s.toml", TENANTS);
    for (out, weight) in [("a", 1), ("b", 3)] {
        let line = format!("run s.toml --out {out} --set tenant.1.weight={weight}");
        assert!(case.run(&line).status.success());
    }
    let output = case.run("compare a b");
    let told = String::from_utf8(output.stdout).unwrap();
    let header = told.lines().find(|line| line.contains("fairness")).unwrap();
    assert!(header.contains("red") && header.contains("blue"), "{told}");
    let csv = String::from_utf8(case.run("compare a b --format csv").stdout).unwrap();
    assert!(csv.contains("signals.tenants.red.ecn_marks"), "{csv}");
}

#[test]
fn one_tenant_is_not_mentioned() {
    let case = Case::with("s.toml", STAR);
    let output = case.run("run s.toml --out d");
    assert!(!String::from_utf8(output.stdout).unwrap().contains("tenant"));
    for name in ["summary.json", "signals.json", "scenario.toml"] {
        assert!(
            !case.text(&format!("d/{name}")).contains("tenant"),
            "{name}"
        );
    }
}
