//! Programs that `fairlane lab` starts itself: the scenarios that ship, and what happens to programs on purpose.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::example::programs;
use crate::pair::finish;
use crate::setup::{alone, fairlane, has, library, root, succeed};

/// How long a lab may take on a machine that does other things, too.
const MOST: Duration = Duration::from_secs(300);

/// A row of `flows.csv`.
#[derive(Clone, Debug)]
struct Row {
    workload: u32,
    tenant: u32,
    verb: String,
    size: u64,
    /// Picoseconds.
    finish: Option<u64>,
    /// Microseconds.
    took: f64,
    outcome: String,
}

/// Runs a lab to its end; its results, and how it has ended.
pub(crate) fn lab(scenario: &Path, sets: &[&str], path: &Path) -> (PathBuf, Output) {
    library();
    let name = scenario.file_stem().expect("a name").to_string_lossy();
    let out = root().join("target/interop").join(&*name);
    let mut lab = Command::new(fairlane());
    lab.arg("lab")
        .arg(scenario)
        .args(["--force", "-q", "--out"]);
    lab.arg(&out).current_dir(root());
    for set in sets {
        lab.args(["--set", set]);
    }
    let before = std::env::var("PATH").unwrap_or_default();
    lab.env("PATH", format!("{}:{before}", path.display()));
    let piped = lab.stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = piped.spawn().expect("it can be started");
    (out, finish(process, Instant::now() + MOST))
}

/// Runs one that ships, which must end well.
fn shipped(name: &str, sets: &[&str], path: &Path) -> (PathBuf, Vec<Row>) {
    let scenario = root().join("scenarios").join(format!("{name}.toml"));
    let (out, output) = lab(&scenario, sets, path);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let rows = rows(&out);
    // No work request is faster than its ideal time: `lab` has checked that.
    assert!(!rows.is_empty(), "{said}");
    (out, rows)
}

fn rows(out: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(out.join("flows.csv")).expect("it is there");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("names").split(',').collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name| cells[names.iter().position(|own| *own == name).expect("a column")];
        let number = |name| cell(name).parse::<u64>().unwrap_or(0);
        Row {
            workload: number("workload") as u32,
            tenant: number("tenant") as u32,
            verb: cell("verb").to_owned(),
            size: number("size_bytes"),
            finish: cell("finish_ps").parse().ok(),
            took: number("completion_ps") as f64 / 1e6,
            outcome: cell("outcome").to_owned(),
        }
    };
    lines.map(row).collect()
}

/// Times of work requests of a program, ascending.
fn times(rows: &[Row], keep: impl Fn(&Row) -> bool) -> Vec<f64> {
    let kept = rows.iter().filter(|row| row.finish.is_some() && keep(row));
    let mut times: Vec<f64> = kept.map(|row| row.took).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The share of the first of two tenants in what has arrived between two milliseconds.
fn share(rows: &[Row], from_ms: u64, to_ms: u64) -> f64 {
    let within = |row: &&Row| {
        let ms = row.finish.map(|finish| finish / 1_000_000_000);
        ms.is_some_and(|ms| (from_ms..to_ms).contains(&ms))
    };
    let bytes = |tenant: u32| -> u64 {
        let own = rows
            .iter()
            .filter(within)
            .filter(|row| row.tenant == tenant);
        own.map(|row| row.size).sum()
    };
    bytes(0) as f64 / (bytes(0) + bytes(1)) as f64
}

/// The share of sixteen queue pairs against one in a lab that keeps up; where the machine does other things, at a larger scale.
fn share_in_time(sets: &[&str]) -> f64 {
    let mut found = 0.0;
    for scale in ["lab.scale=5000", "lab.scale=20000"] {
        let sets = [&["stop=4ms", scale], sets].concat();
        let (out, rows) = shipped("lab-attack", &sets, Path::new(""));
        found = share(&rows, 1, 4);
        let summary = std::fs::read_to_string(out.join("summary.json")).expect("it is there");
        if summary.contains("\"enough\": null") {
            break;
        }
    }
    found
}

#[test]
fn sixteen_queue_pairs_take_most_of_a_link_but_not_under_scope_tenant() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let gamed = share_in_time(&[]);
    // The simulation has 91 % from 1 to 4 ms. With CNPs in place of marks in acknowledgements it was 73 %.
    assert!((0.84..0.97).contains(&gamed), "{gamed}");
    let fair = share_in_time(&["congestion.scope=tenant"]);
    assert!((0.4..0.6).contains(&fair), "{fair}");
}

#[test]
fn pauses_reach_a_program_that_has_no_part_in_them() {
    if !has("ib_write_lat", "perftest") {
        return;
    }
    let _alone = alone();
    let (out, rows) = shipped("lab-pause", &[], Path::new(""));
    let times = times(&rows, |row| row.workload == 2);
    assert_eq!(times.len(), 200);
    // Alone it takes 6.5 us. A paused link holds it back until a part of the buffer has left by one link: tens of microseconds.
    assert!(times[50] < 10.0, "{times:?}");
    assert!(times[190] > 25.0, "{times:?}");
    let pauses = std::fs::read_to_string(out.join("pauses.csv")).expect("it is there");
    assert!(pauses.lines().count() > 100);
}

#[test]
fn eight_real_senders_share_a_receiver_with_a_ninth() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let (_, rows) = shipped("lab-incast", &["lab.scale=2000"], Path::new(""));
    let pieces = times(&rows, |row| row.size == 1 << 18);
    assert_eq!(pieces.len(), 8 * 6);
    // 256 KiB alone take 56 us at 40 Gb/s.
    assert!(pieces[0] > 56.0 && pieces[24] > 4.0 * 56.0, "{pieces:?}");
}

#[test]
fn real_clients_of_a_key_value_store_are_there_among_simulated_ones() {
    let Some(folder) = programs() else { return };
    let _alone = alone();
    let sets = ["lab.scale=2000"];
    let (out, rows) = shipped("lab-key-value", &sets, folder);
    for client in [2, 3] {
        let gets = times(&rows, |row| row.workload == client && row.verb == "read");
        assert!(gets.len() > 200, "{}", gets.len());
        // There and back are four links to the near client, eight to the far one.
        assert!(gets[0] > 4.0, "{gets:?}");
    }
    let simulated = rows.iter().filter(|row| row.workload == 0);
    assert!(simulated.clone().count() > 200);
    assert!(simulated.clone().all(|row| row.outcome == "completed"));
    let said = std::fs::read_to_string(out.join("programs/near.out")).expect("it is there");
    assert!(said.contains("300 operations"), "{said}");
}

const CHAOS: &str = r#"
    capture = ["host:0"]
    topology = { kind = "star", hosts = 4, host_link = { rate = "10Gbps", delay = "1us" } }
    [lab]
    scale = 100
    [[lab.program]]
    name = "killed"
    host = 0
    command = ["ib_write_bw", "-n", "1000000", "-u", "8"]
    [[lab.program]]
    name = "left"
    host = 1
    after = "killed"
    command = ["ib_write_bw", "-n", "1000000", "-u", "8", "{address:killed}"]
    [[lab.program]]
    name = "server"
    host = 2
    command = ["ib_write_lat", "-p", "18700", "-n", "2000"]
    [[lab.program]]
    name = "stopped"
    host = 3
    after = "server"
    env = { FAIRLANE_FAULTS = "seed=7 packets=duplicate:0.05,reorder:0.05,delay:20us" }
    command = ["ib_write_lat", "-p", "18700", "-n", "2000", "{address:server}"]
    [[lab.fault]]
    program = "killed"
    at = "25ms"
    action = "kill"
    [[lab.fault]]
    program = "stopped"
    at = "25ms"
    action = "stop"
    [[lab.fault]]
    program = "stopped"
    at = "30ms"
    action = "continue"
"#;

#[test]
fn a_killed_program_leaves_its_peer_to_fail_and_a_stopped_one_goes_on() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let folder = root().join("target/interop/chaos");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let scenario = folder.join("lab-chaos.toml");
    std::fs::write(&scenario, CHAOS).expect("it can be written");
    let (out, output) = lab(&scenario, &[], Path::new(""));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("program left failed: exit status"), "{said}");
    assert_eq!(said.matches("failed").count(), 1, "{said}");
    let rows = rows(&out);
    let outcome = |outcome: &str| rows.iter().filter(|row| row.outcome == outcome).count();
    assert!(
        outcome("retry-exceeded") >= 1 && outcome("completed") > 2000,
        "{said}"
    );
    if has("tshark", "tshark") {
        assert_decodes(&out);
    }
}

/// Whether tshark decodes every packet that was captured.
fn assert_decodes(out: &Path) {
    let file = out.with_extension("pcapng");
    succeed(
        Command::new(fairlane())
            .args(["export", "pcap", "--force"])
            .arg(out)
            .arg("-o")
            .arg(&file),
    );
    let fields = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args([
            "-Y",
            filter,
            "-T",
            "fields",
            "-e",
            "infiniband.bth.opcode",
        ]);
        let output = tshark.output().expect("it can be started");
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    let all = fields("frame");
    assert!(all > 1000, "{all}");
    assert_eq!(fields("infiniband.bth.opcode"), all);
    assert_eq!(fields("_ws.malformed"), 0);
    // perftest's buffers aren't zeros.
    assert!(fields("infiniband.bth.opcode == 7 && !(data contains 00:00:00:00:00:00:00:00)") > 0);
}
