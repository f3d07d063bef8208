//! Import of cases of HPCC's simulator.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Folder, reference};
use fairlane_cases::Imported;
use fairlane_cases::hpcc::import;
use fairlane_congestion::{Algorithm, WindowMode};
use fairlane_scenario::{AckPause, BaseRtt, Inputs, Profile, Scenario, load};
use fairlane_units::{Bytes, Duration, Rate};

fn data(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(case)
}

/// Writes a case and reads it back.
fn written(imported: &Imported, folder: &Folder) -> (Scenario, Inputs) {
    let path = folder.0.join("case.toml");
    imported.write(&path).unwrap();
    let loaded = load(&path, &[], None).unwrap();
    (loaded.scenario, loaded.inputs)
}

#[test]
fn a_dcqcn_case() {
    let imported = import(&data("twohost_single/dcqcn/config.txt")).unwrap();
    let scenario = &imported.scenario;
    assert_eq!(scenario.profile, Profile::HpccNs3);
    assert_eq!(scenario.stop, Some(Duration::from_ms(4000)));
    assert_eq!(scenario.nic.ack_pause, AckPause::Never);
    assert_eq!(scenario.packet.mtu, Bytes::new(1000));
    assert_eq!(scenario.switch.buffer, Bytes::new(32 << 20));
    let congestion = &scenario.congestion;
    assert_eq!(congestion.algorithm, Algorithm::Dcqcn);
    assert_eq!(congestion.window, Some(WindowMode::None));
    assert_eq!(congestion.base_rtt, BaseRtt::Global);
    assert!(congestion.paced);
    assert_eq!(congestion.dcqcn.increase_interval, Duration::from_us(300));
    assert_eq!(congestion.dcqcn.additive_increase, Rate::from_mbps(20));
    assert_eq!(congestion.dcqcn.hyper_increase, Rate::from_mbps(200));
    assert_eq!(congestion.dcqcn.gain, 1.0 / 256.0);
    let threshold = &scenario.switch.ecn.threshold[0];
    assert_eq!(
        (threshold.rate, threshold.pmax),
        (Rate::from_gbps(100), 0.2)
    );
    assert_eq!(
        (threshold.kmin, threshold.kmax),
        (Bytes::new(400_000), Bytes::new(1_600_000))
    );
    assert!(
        imported.notes.iter().any(|note| note.contains("PINT_PROB")),
        "{:?}",
        imported.notes
    );
}

#[test]
fn an_hpcc_case() {
    let imported = import(&data("star17_inc16L/hp95ai50/config.txt")).unwrap();
    let congestion = &imported.scenario.congestion;
    assert_eq!(congestion.algorithm, Algorithm::Hpcc);
    assert_eq!(congestion.window, Some(WindowMode::Scaled));
    assert_eq!(congestion.hpcc.max_stage, 0);
    assert_eq!(congestion.hpcc.telemetry_multiplier, 4);
    assert_eq!(congestion.hpcc.additive_increase, Rate::from_mbps(50));
    assert_eq!(imported.scenario.nic.ack_pause, AckPause::Class3);
    assert_eq!(imported.scenario.switch.buffer, Bytes::new(2 << 20));
}

#[test]
fn timely_and_dctcp_cases() {
    let with = |lines: &[&str]| {
        let replaced = |old: &str| {
            let key = |line: &str| line.split(' ').next().unwrap_or("").to_owned();
            lines.iter().any(|line| key(line) == key(old))
        };
        let text = |text: &str| {
            let rest = text.lines().filter(|old| !replaced(old));
            rest.chain(lines.iter().copied())
                .collect::<Vec<_>>()
                .join("\n")
        };
        changed(&format!("mode-{}", lines[0]), text).unwrap()
    };
    let timely = with(&[
        "CC_MODE 7",
        "RATE_AI 100Mb/s",
        "RATE_HAI 500Mb/s",
        "MIN_RATE 1000Mb/s",
    ]);
    let congestion = &timely.scenario.congestion;
    assert_eq!(congestion.algorithm, Algorithm::Timely);
    assert_eq!(congestion.timely.additive_increase, Rate::from_mbps(100));
    assert_eq!(congestion.timely.hyper_increase, Rate::from_mbps(500));
    assert_eq!(congestion.timely.low_threshold, Duration::from_us(50));
    let idle = timely.notes.last().unwrap();
    assert!(
        idle.contains("CC_MODE 7") && idle.contains("EWMA_GAIN"),
        "{idle}"
    );
    assert!(
        !idle.contains("RATE_HAI") && !idle.contains("MIN_RATE"),
        "{idle}"
    );

    let dctcp = with(&[
        "CC_MODE 8",
        "EWMA_GAIN 0.0625",
        "DCTCP_RATE_AI 615Mb/s",
        "HAS_WIN 1",
        "VAR_WIN 1",
    ]);
    let congestion = &dctcp.scenario.congestion;
    assert_eq!(congestion.algorithm, Algorithm::Dctcp);
    assert_eq!(congestion.dctcp.additive_increase, Rate::from_mbps(615));
    assert_eq!(congestion.dctcp.gain, 0.0625);
    assert_eq!(congestion.window, Some(WindowMode::Scaled));
    let idle = dctcp.notes.last().unwrap();
    assert!(
        idle.contains("CC_MODE 8") && idle.contains("RATE_AI"),
        "{idle}"
    );
}

#[test]
fn a_case_is_written_and_read_back() {
    for case in [
        "twohost_single/dcqcn",
        "star17_inc16L/hp95ai50",
        "dumbbell_four/dcqcnstep",
    ] {
        let imported = import(&data(case).join("config.txt")).unwrap();
        let folder = Folder::new("written");
        let (mut scenario, inputs) = written(&imported, &folder);
        let mut names: Vec<_> = fs::read_dir(&folder.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["case.flows.txt", "case.toml", "case.topology.txt"]);
        assert_eq!(scenario.name, "case");
        scenario.name.clone_from(&imported.scenario.name);
        scenario.topology = imported.scenario.topology.clone();
        scenario.workload.clone_from(&imported.scenario.workload);
        assert_eq!(scenario, imported.scenario);
        assert_eq!(inputs.files[0].text, imported.topology);
        assert_eq!(inputs.files[1].text, imported.flows);
    }
}

#[test]
fn nothing_is_left_behind_when_writing_fails() {
    let imported = import(&data("twohost_single/dcqcn/config.txt")).unwrap();
    let folder = Folder::new("unwritable");
    fs::create_dir(folder.0.join("case.toml")).unwrap();
    let error = imported
        .write(&folder.0.join("case.toml"))
        .expect_err("a folder is in the way");
    assert!(error.to_string().contains("can't be written"), "{error}");
    let names: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["case.toml"], "only what was there before");
    fs::remove_dir(folder.0.join("case.toml")).unwrap();
    // Where a temporary file can't be made, nothing is renamed either.
    fs::create_dir(folder.0.join("case.toml.partial")).unwrap();
    assert!(imported.write(&folder.0.join("case")).is_err());
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    assert!(imported.write(Path::new("/")).is_err());
}

/// The DCQCN case of two hosts with some lines replaced.
fn changed(name: &str, change: impl Fn(&str) -> String) -> Result<Imported, String> {
    let folder = Folder::new(name);
    for file in ["topology.txt", "flow.txt", "trace.txt"] {
        fs::copy(data("twohost_single").join(file), folder.0.join(file)).unwrap();
    }
    let text = fs::read_to_string(data("twohost_single/dcqcn/config.txt")).unwrap();
    fs::write(folder.0.join("config.txt"), change(&text)).unwrap();
    import(&folder.0.join("config.txt")).map_err(|error| {
        assert!(!error.hint.is_empty(), "{error}");
        error.to_string()
    })
}

/// The case with the line of `key` replaced by `line`, or added.
fn with_line(key: &str, line: &str) -> Result<Imported, String> {
    changed(key, |text| {
        let rest = text
            .lines()
            .filter(|old| old.split_whitespace().next() != Some(key));
        rest.chain([line]).collect::<Vec<_>>().join("\n")
    })
}

#[track_caller]
fn refused(key: &str, value: &str, parts: &[&str]) {
    let message = with_line(key, &format!("{key} {value}")).expect_err(value);
    for part in ["config.txt:", key].iter().chain(parts) {
        assert!(message.contains(part), "expected `{part}` in\n{message}");
    }
}

#[test]
fn keys_that_cannot_be_honoured_are_refused_by_name() {
    refused("CC_MODE", "10", &["HPCC-PINT"]);
    refused("CC_MODE", "2", &["expected 1, 3, 7 or 8"]);
    refused("L2_ACK_INTERVAL", "0", &["expected 1"]);
    refused("L2_BACK_TO_ZERO", "1", &["go-back-N"]);
    refused("PAUSE_TIME", "0", &["resume"]);
    refused("LB_MODE", "6", &["ConWeave"]);
    refused("CONWEAVE_REPLY_TIMEOUT_EXTRA", "4", &["ConWeave"]);
    refused("RP_TIMERS", "4", &["unknown key", "RP_TIMER?"]);
    refused(
        "#",
        "stops at SIMULATOR_STOP_TIME 4",
        &["SIMULATOR_STOP_TIME in a remark"],
    );
    refused("NIC_TOTAL_PAUSE_TIME", "5", &["expected 0"]);
    refused("RP_TIMER", "0.5", &["at least 1"]);
    refused("RP_TIMER", "300 us", &["has 2 values"]);
    refused("RP_TIMER", "", &["has 0 values"]);
    refused("RATE_AI", "20Mbit", &["a rate such as"]);
    refused("MIN_RATE", "0Mb/s", &["min_rate"]);
    refused("MIN_RATE", "200Gb/s", &["every host link"]);
    refused("EWMA_GAIN", "1.5", &["expected 0 to 1"]);
    refused("EWMA_GAIN", "nan", &["\"nan\""]);
    refused("HAS_WIN", "2", &["0 or 1"]);
    refused("BUFFER_SIZE", "0", &["switch.buffer"]);
    refused("BUFFER_SIZE", "4.5", &["a whole number"]);
    refused("PACKET_PAYLOAD_SIZE", "0", &["packet.mtu"]);
    refused("SIMULATOR_STOP_TIME", "-1", &["seconds"]);
    refused("SIMULATOR_STOP_TIME", "-4e13", &["seconds"]);
    refused("SIMULATOR_STOP_TIME", "inf", &["seconds"]);
    refused("LINK_DOWN", "5 0 1", &["no link between nodes 0 and 1"]);
    refused("LINK_DOWN", "5 0", &["3 values"]);
    refused("ERROR_RATE_PER_LINK", "1.0", &["below 1"]);
    refused(
        "KMAX_MAP",
        "1 25000000000 400",
        &["other rates", "KMIN_MAP"].map(|part| part),
    );
    refused(
        "KMAX_MAP",
        "2 100000000000 1600",
        &["has 3 values", "2 pairs"],
    );
    refused("KMAX_MAP", "2 100000000000 1 100000000000 1", &["twice"]);
    refused(
        "TOPOLOGY_FILE",
        "absent.txt",
        &["absent.txt", "doesn't exist"],
    );
}

#[test]
fn keys_are_needed_where_there_is_no_default() {
    for key in [
        "RP_TIMER",
        "RATE_AI",
        "RATE_HAI",
        "KMAX_MAP",
        "PMAX_MAP",
        "L2_ACK_INTERVAL",
        "FLOW_FILE",
    ] {
        let message = with_line(key, "").expect_err(key);
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn missing_keys_mean_what_the_code_says() {
    let only = |keys: &[&str]| {
        changed("minimal", |text| {
            let kept = text.lines().filter(|line| {
                line.split_whitespace()
                    .next()
                    .is_some_and(|key| keys.contains(&key))
            });
            kept.collect::<Vec<_>>().join("\n")
        })
    };
    let needed = [
        "TOPOLOGY_FILE",
        "FLOW_FILE",
        "TRACE_FILE",
        "RP_TIMER",
        "RATE_AI",
        "RATE_HAI",
        "KMAX_MAP",
        "KMIN_MAP",
        "PMAX_MAP",
        "L2_ACK_INTERVAL",
    ];
    let scenario = only(&needed).unwrap().scenario;
    // 3.01 s, truncated as ns-3 does.
    assert_eq!(scenario.stop, Some(Duration::from_ns(3_009_999_999)));
    assert_eq!(scenario.switch.buffer, Bytes::new(16 << 20));
    assert_eq!(scenario.nic.ack_pause, AckPause::Class3);
    let congestion = &scenario.congestion;
    assert_eq!(congestion.window, Some(WindowMode::Fixed));
    assert_eq!(congestion.dcqcn.gain, 0.0);
    assert_eq!(congestion.dcqcn.alpha_interval, Duration::from_us(55));
    assert_eq!(congestion.dcqcn.fast_recovery_stages, 5);
    assert_eq!(congestion.dcqcn.min_rate, Rate::from_mbps(100));
}

#[test]
fn hpcc_needs_its_window_and_one_rate() {
    let hpcc = |key: &str, value: &str| {
        changed(&format!("hpcc-{key}"), |text| {
            let skip = [key, "CC_MODE", "HAS_WIN"];
            let rest = text
                .lines()
                .filter(|line| !skip.contains(&line.split(' ').next().unwrap_or("")));
            let window = if key == "HAS_WIN" { "" } else { "HAS_WIN 1" };
            let line = if value.is_empty() {
                String::new()
            } else {
                format!("{key} {value}")
            };
            rest.chain(["CC_MODE 3", window, &line])
                .collect::<Vec<_>>()
                .join("\n")
        })
    };
    assert!(hpcc("VAR_WIN", "1").is_ok());
    for (key, value) in [
        ("HAS_WIN", "0"),
        ("MULTI_RATE", "1"),
        ("MULTI_RATE", ""),
        ("SAMPLE_FEEDBACK", "1"),
        ("INT_MULTI", "0"),
        ("U_TARGET", "0"),
    ] {
        let message = hpcc(key, value).expect_err(key);
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn values_become_what_they_mean() {
    let down = with_line("LINK_DOWN", "LINK_DOWN 5 0 2")
        .unwrap()
        .scenario
        .faults
        .link;
    assert_eq!(
        (down[0].between, down[0].down, down[0].up),
        ([0, 2], Duration::from_us(2_000_005), None)
    );
    let truncated = with_line("RP_TIMER", "RP_TIMER 300.9").unwrap().scenario;
    assert_eq!(
        truncated.congestion.dcqcn.increase_interval,
        Duration::from_us(300)
    );
    let deaf = with_line("ENABLE_QCN", "ENABLE_QCN 0").unwrap().scenario;
    assert!(!deaf.switch.ecn.enabled);
    let rate = with_line("RATE_AI", "RATE_AI 40.0Mb/s").unwrap().scenario;
    assert_eq!(rate.congestion.dcqcn.additive_increase, Rate::from_mbps(40));
    let unpaced = with_line("RATE_BOUND", "RATE_BOUND 0").unwrap().scenario;
    assert!(!unpaced.congestion.paced);
    let pair = with_line("GLOBAL_T", "GLOBAL_T 0").unwrap().scenario;
    assert_eq!(pair.congestion.base_rtt, BaseRtt::Pair);
}

#[test]
fn traced_nodes() {
    let folder = Folder::new("traced");
    for file in ["topology.txt", "flow.txt"] {
        fs::copy(data("twohost_single").join(file), folder.0.join(file)).unwrap();
    }
    let text = fs::read_to_string(data("twohost_single/dcqcn/config.txt")).unwrap();
    let traced = |trace: &str, enabled: bool| {
        fs::write(folder.0.join("trace.txt"), trace).unwrap();
        let switch = if enabled {
            "ENABLE_TRACE 1"
        } else {
            "ENABLE_TRACE 0"
        };
        fs::write(
            folder.0.join("config.txt"),
            text.replace("ENABLE_TRACE 0", switch),
        )
        .unwrap();
        import(&folder.0.join("config.txt")).map(|imported| imported.scenario.output.trace_nodes)
    };
    assert_eq!(traced("2\n2 0\n", true).unwrap(), [0, 2]);
    assert!(traced("2\n2 0\n", false).unwrap().is_empty());
    assert!(traced("0\n\n", true).unwrap().is_empty());
    // Nodes that don't exist, and what stands behind the count, as in HPCC's own sample.
    assert_eq!(
        traced("4\n0 1 2 3\n\nFirst line: nodes\n", true).unwrap(),
        [0, 1, 2]
    );
    assert_eq!(traced("1\n1 2\n", true).unwrap(), [1]);
    assert_eq!(traced("2\n1 1\n", true).unwrap(), [1]);
    for bad in ["", "1\n", "2\n1\n", "1\nx\n", "x\n"] {
        assert!(
            traced(bad, false).is_err(),
            "{bad:?} is checked although tracing is off"
        );
    }
}

/// The case of two hosts with more in its files.
fn with_files(name: &str, topology: &str, flows: &str, trace: &str) -> Result<Imported, String> {
    let folder = Folder::new(name)
        .with("topology.txt", topology)
        .with("flow.txt", flows)
        .with("trace.txt", trace);
    let text = fs::read_to_string(data("twohost_single/dcqcn/config.txt")).unwrap();
    let text = text.replace("ENABLE_TRACE 0", "ENABLE_TRACE 1");
    fs::write(folder.0.join("config.txt"), text).unwrap();
    import(&folder.0.join("config.txt")).map_err(|error| error.to_string())
}

const TWO: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n";

/// HPCC's own sample has links and messages that a smaller count switches off, remarks, and traces nodes that don't exist.
#[test]
fn what_stands_behind_a_count_is_left_out_with_a_note() {
    let topology =
        format!("{TWO}0 3 25Gbps 0.001ms 0\n0 4 25Gbps 0.001ms 0\n\nFirst line: total node #\n");
    let flows = "1\r\n0 1 3 100 1000 2\r\n7 1 3 100 5000000 2\r\n\r\nPlease order the flows!\r\n";
    let imported = with_files(
        "behind",
        &topology,
        flows,
        "4\n0 1 2 300\nFirst line: tracing node #\n",
    );
    let imported = imported.unwrap();
    assert_eq!(imported.topology.lines().count(), 4);
    assert_eq!(imported.flows, "1\n0 1 3 100 1000 2\n");
    assert_eq!(imported.scenario.output.trace_nodes, [0, 1, 2]);
    for note in [
        "TOPOLOGY_FILE has 3 lines behind the links that it counts, from line 5 on",
        "FLOW_FILE has 2 lines behind the messages that it counts, from line 3 on",
        "TRACE_FILE has more in line 3",
        "TRACE_FILE names 1 nodes that don't exist, expected below 3",
    ] {
        assert!(
            imported.notes.iter().any(|it| it.starts_with(note)),
            "{note}: {:?}",
            imported.notes
        );
    }
    let (_, inputs) = written(&imported, &Folder::new("behind-written"));
    assert_eq!(inputs.flows[0].as_ref().unwrap().len(), 1);
}

#[test]
fn fewer_than_the_count_are_refused() {
    let flows = "1\n0 1 3 100 1000 2\n";
    for (topology, flows, trace, part) in [
        (
            "3 1 2\n2\n0 2 100Gbps 1us 0\n",
            flows,
            "0\n",
            "topology.txt:1: the count is 2 links, but 1 follow",
        ),
        (
            "3 1 2\n2\n0 2 100Gbps 1us 0\nremark\n",
            flows,
            "0\n",
            "topology.txt:4: 1 fields",
        ),
        (
            TWO,
            "2\n0 1 3 100 1000 2\n",
            "0\n",
            "flow.txt:1: the count is 2, but 1 lines follow",
        ),
        (
            TWO,
            "2\n0 1 3 100 1000 2\nremark\n",
            "0\n",
            "flow.txt:3: 1 fields",
        ),
        (
            TWO,
            flows,
            "2\n0\n",
            "trace.txt:1: the count is 2, but 1 nodes follow",
        ),
    ] {
        let error = with_files("fewer", topology, flows, trace).expect_err(part);
        assert!(error.contains(part), "expected {part} in {error}");
    }
}

#[test]
fn a_stop_beyond_all_runs_is_never() {
    for stop in ["40000000000000.00", "4e13", "1e300"] {
        let imported = with_line(
            "SIMULATOR_STOP_TIME",
            &format!("SIMULATOR_STOP_TIME {stop}"),
        )
        .unwrap();
        assert_eq!(imported.scenario.stop, None, "{stop}");
        let note = format!("SIMULATOR_STOP_TIME {stop} s is longer than any run: never");
        assert!(imported.notes.contains(&note), "{:?}", imported.notes);
    }
    let stopped = with_line("SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME 4e0").unwrap();
    assert_eq!(stopped.scenario.stop, Some(Duration::from_ms(4000)));
}

#[test]
fn keys_of_astra_sim_and_simai_change_nothing_and_unknown_ones_are_named_together() {
    let more = |lines: &str| changed("more", |text| format!("{text}\n{lines}\n"));
    let monitors = "# monitors\nBW_MON_FILE bw.txt\nRATE_MON_FILE r.txt\nCNP_MON_FILE c.txt\nMON_START 0\n\
        MON_END 20000\nQP_MON_INTERVAL 100\nQLEN_MON_INTERVAL 10000\nBW_MON_INTERVAL 10000\nNIC_TOTAL_PAUSE_TIME 0";
    let imported = more(monitors).unwrap();
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.starts_with("BW_MON_FILE has no effect"))
    );
    let lines = fs::read_to_string(data("twohost_single/dcqcn/config.txt"))
        .unwrap()
        .lines()
        .count();
    let error = more("pause_time 5\nRP_TIMERS 3\nCC_MODE_2 1").unwrap_err();
    let at = |line: usize| lines + 1 + line;
    let list = format!(
        "unknown keys pause_time, RP_TIMERS (line {}), CC_MODE_2 (line {})",
        at(2),
        at(3)
    );
    assert!(
        error.contains(&format!("config.txt:{}: {list}", at(1))),
        "{error}"
    );
    assert!(error.contains("did you mean RP_TIMER, CC_MODE?"), "{error}");
}

/// Every configuration of the reference data, with its case's folder.
fn reference_cases() -> Vec<PathBuf> {
    let Some(folder) = reference() else {
        return Vec::new();
    };
    let list = |folder: &Path| {
        let mut paths: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        paths
    };
    let cases = list(&folder.join("ns3"))
        .into_iter()
        .filter(|path| path.is_dir());
    let runs = cases
        .flat_map(|case| list(&case))
        .filter(|path| path.join("config.txt").exists());
    runs.collect()
}

fn read_maybe_gzipped(path: &Path) -> String {
    let mut gzipped = path.as_os_str().to_owned();
    gzipped.push(".gz");
    match fs::read_to_string(path) {
        Ok(text) => text,
        Err(_) => {
            let file = fs::File::open(gzipped).unwrap();
            std::io::read_to_string(flate2::read::GzDecoder::new(file)).unwrap()
        }
    }
}

/// Source, destination, port, size and start of every flow of a completion file.
fn completed(fct: &str) -> Vec<(u32, u32, u16, u64, u64)> {
    let node = |hex: &str| (u32::from_str_radix(hex, 16).unwrap() >> 8) & 0xffff;
    let mut rows: Vec<_> = fct
        .lines()
        .map(|line| {
            let f: Vec<&str> = line.split(' ').collect();
            (
                node(f[0]),
                node(f[1]),
                f[3].parse().unwrap(),
                f[4].parse().unwrap(),
                f[5].parse().unwrap(),
            )
        })
        .collect();
    rows.sort_unstable();
    rows
}

#[test]
fn every_reference_case_is_imported_or_refused_by_name() {
    let mut imported_cases = 0;
    for run in reference_cases() {
        let config = fs::read_to_string(run.join("config.txt")).unwrap();
        let name = run.display();
        let result = import(&run.join("config.txt"));
        if config.contains("LB_MODE") {
            let message = result.expect_err("ConWeave").to_string();
            assert!(message.contains("ConWeave"), "{message}");
        } else {
            let imported = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            let folder = Folder::new("reference");
            let (scenario, inputs) = written(&imported, &folder);
            assert_eq!(scenario.profile, Profile::HpccNs3);
            let flows = inputs.flows[0].as_ref().unwrap();
            let mut rows: Vec<_> = flows
                .iter()
                .map(|flow| {
                    (
                        flow.source,
                        flow.destination,
                        flow.destination_port,
                        flow.size.get(),
                        flow.start.as_ns(),
                    )
                })
                .collect();
            rows.sort_unstable();
            // The simulator's own record of sizes and truncated starts.
            assert_eq!(
                rows,
                completed(&read_maybe_gzipped(&run.join("fct.txt"))),
                "{name}"
            );
            imported_cases += 1;
        }
    }
    assert!(
        reference().is_none() || imported_cases >= 15,
        "{imported_cases}"
    );
}
