//! Import of cases of ConWeave's simulator.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use common::{Folder, reference};
use fairlane_cases::conweave::import;
use fairlane_cases::{Imported, hpcc};
use fairlane_hpcc_files::{Times, flows};
use fairlane_scenario::{AckPause, Files, Forwarding, Profile, generate, load, parse_with};
use fairlane_units::{Bytes, Duration, Rate};

const CONFIG: &str = "TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
FLOWGEN_STOP_TIME 2.002
BUFFER_SIZE 9
CC_MODE 1
LB_MODE 0
ENABLE_PFC 1
ENABLE_IRN 0
CONWEAVE_PATH_PAUSE_TIME 16
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40.0Mb/s
RATE_HAI 100.0Mb/s
MIN_RATE 100Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 0
KMAX_MAP 1 100000000000 400
KMIN_MAP 1 100000000000 100
PMAX_MAP 1 100000000000 0.20
";
const TOPOLOGY: &str =
    "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\nfrom a paper, oversubscription=2\n\n";
const FLOWS: &str = "2 \n0 1 3 4995 2.000000027\n1 0 3 4223 2.000000074\n";

/// Imports a case of three files.
fn case(config: &str, topology: &str, flows: &str) -> Result<Imported, String> {
    let folder = Folder::new("conweave")
        .with("config.txt", config)
        .with("topology.txt", topology)
        .with("flow.txt", flows);
    import(&folder.0.join("config.txt")).map_err(|error| {
        assert!(!error.hint.is_empty(), "no hint: {error}");
        error.to_string()
    })
}

/// The configuration with other values of a key, or without it.
fn with(key: &str, line: &str) -> String {
    let kept = CONFIG
        .lines()
        .filter(|old| !old.starts_with(&format!("{key} ")));
    kept.chain([line]).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_case_is_read_and_written() {
    let imported = case(CONFIG, TOPOLOGY, FLOWS).unwrap();
    let scenario = &imported.scenario;
    assert_eq!(scenario.profile, Profile::Exact);
    assert_eq!(scenario.stop, None);
    assert_eq!(scenario.switch.forwarding, Forwarding::Ecmp);
    assert_eq!(scenario.switch.buffer, Bytes::new(9 << 20));
    assert_eq!(scenario.switch.pfc.threshold_shift, 4);
    assert!(scenario.transport.ack_control_class);
    assert_eq!(scenario.nic.ack_pause, AckPause::Never);
    assert_eq!(scenario.packet.header, Bytes::new(48));
    assert_eq!(
        scenario.congestion.dcqcn.additive_increase,
        Rate::from_mbps(40)
    );
    assert_eq!(
        imported.flows,
        "2\n0 1 3 100 4995 2.000000027\n1 0 3 100 4223 2.000000074\n"
    );
    for part in [
        "TOPOLOGY_FILE has 1 lines behind the links that it counts, from line 5",
        "only LB_MODE 9",
        "NAK",
    ] {
        let notes = imported.notes.join("\n");
        assert!(notes.contains(part), "no {part} in {notes}");
    }

    let folder = Folder::new("conweave-written");
    imported.write(&folder.0.join("case")).unwrap();
    let loaded = load(&folder.0.join("case.toml"), &[], None).unwrap();
    assert_eq!(
        loaded.inputs.flows[0].as_ref().unwrap()[0].start,
        Duration::from_ns(2_000_000_027)
    );
    let text = std::fs::read_to_string(folder.0.join("case.toml")).unwrap();
    assert!(
        text.starts_with("# Imported from a case of ConWeave's ns-3 simulator.\n"),
        "{text}"
    );
}

#[test]
fn switches_of_the_configuration_are_honoured() {
    let of = |key: &str, line: &str| case(&with(key, line), TOPOLOGY, FLOWS).unwrap().scenario;
    let flowlets = of("LB_MODE", "LB_MODE 6");
    assert_eq!(flowlets.switch.forwarding, Forwarding::Flowlet);
    assert!(!of("ENABLE_PFC", "ENABLE_PFC 0").switch.pfc.enabled);
    let behind = of("ACK_HIGH_PRIO", "ACK_HIGH_PRIO 0");
    assert!(!behind.transport.ack_control_class);
    assert_eq!(behind.nic.ack_pause, AckPause::Class3);
    let stopped = of("SIMULATOR_STOP_TIME", "SIMULATOR_STOP_TIME 2.5");
    assert_eq!(stopped.stop, Some(Duration::from_ms(2500)));
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    for (key, line, parts) in [
        (
            "LB_MODE",
            "LB_MODE 9",
            &["config.txt:22", "9 (ConWeave)", "switch.forwarding"][..],
        ),
        ("LB_MODE", "LB_MODE 3", &["3 (CONGA)"]),
        ("LB_MODE", "LB_MODE 2", &["2 (DRILL)"]),
        ("LB_MODE", "LB_MODE 7", &["is 7, expected 0"]),
        ("LB_MODE", "LB_MODE x", &["is \"x\""]),
        ("ENABLE_IRN", "ENABLE_IRN 1", &["selective-repeat"]),
        ("ENABLE_PFC", "ENABLE_PFC 2", &["0 or 1"]),
        ("LB_MOD", "LB_MOD 6", &["unknown key LB_MOD", "LB_MODE?"]),
        ("CC_MODE", "CC_MODE 2", &["CC_MODE", "expected 1"]),
        (
            "FLOW_FILE",
            "FLOW_FILE absent.txt",
            &["absent.txt", "doesn't exist"],
        ),
        (
            "SIMULATOR_STOP_TIME",
            "SIMULATOR_STOP_TIME -1",
            &["seconds"],
        ),
    ] {
        let message = case(&with(key, line), TOPOLOGY, FLOWS).expect_err(line);
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
}

#[test]
fn malformed_files_are_refused_with_their_line() {
    for (flows, parts) in [
        ("", &["flow.txt", "number of messages"][..]),
        ("2\n0 1 3 4995 2.0\n", &["flow.txt:1", "1 lines follow"]),
        (
            "1\n0 1 3 100 4995 2.0\n",
            &["flow.txt:2", "6 fields, expected 5"],
        ),
        ("1\n0 1 3 0 2.0\n", &["flow.txt:2", "size is 0"]),
        ("1\n0 0 3 1 2.0\n", &["flow.txt:2", "to itself"]),
        (
            "1\n0 9 3 1 2.0\n",
            &["flow.txt:2", "destination 9 isn't a host"],
        ),
        ("1\n0 1 3 1 -2.0\n", &["flow.txt:2", "the start"]),
        (
            "2\n0 1 3 1 2.1\n0 1 3 1 2.0\n",
            &["flow.txt:3", "ascending"],
        ),
    ] {
        let message = case(CONFIG, TOPOLOGY, flows).expect_err(flows);
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
    for (topology, parts) in [
        (
            "a remark and nothing else\n",
            &["topology.txt:1", "5 fields, expected 3"][..],
        ),
        (
            "3 1 1\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\nremark\n",
            &["node 1"],
        ),
        (
            "3 1 2\n2\n0 2 100Gbps 1000ns 0\nremark\n1 2 100Gbps 1000ns 0\n",
            &["topology.txt:4", "1 fields"],
        ),
        (
            "3 1 2\n2\n0 2 100Gbps 1000ns 0\n\nremark\n",
            &["topology.txt:5", "1 fields"],
        ),
    ] {
        let message = case(CONFIG, topology, FLOWS).expect_err(topology);
        for part in parts {
            assert!(message.contains(part), "expected `{part}` in\n{message}");
        }
    }
}

#[test]
fn the_other_import_says_which_one_it_takes() {
    let folder = Folder::new("conweave-hpcc").with("config.txt", CONFIG);
    let error = hpcc::import(&folder.0.join("config.txt")).unwrap_err();
    assert!(error.hint.contains("fairlane import conweave"), "{error}");
}

#[test]
fn messages_are_read_as_they_were_written() {
    let text = "2\n0 1 3 4294967295 0.000000000001\n1 0 7 1 12.5\n";
    let flows = flows::parse_conweave(text, "f.txt").unwrap();
    let again = flows::to_text(&flows);
    assert_eq!(
        again,
        "2\n0 1 3 100 4294967295 0.000000000001\n1 0 7 100 1 12.500000000\n"
    );
    assert_eq!(flows::parse(&again, "f.txt", Times::Exact).unwrap(), flows);
}

/// The experiment `mp-conweave` has the case as the import makes it, with its topology by shape.
#[test]
fn the_experiment_is_the_imported_case() {
    let Some(folder) = reference() else { return };
    let case = folder.join("ns3/conweave_leafspine128_ali25_2ms");
    let imported = import(&case.join("fecmp/config.txt")).unwrap();
    let experiment = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments/mp/conweave/scenario.toml");
    let loaded = load(&experiment, &[], None).unwrap();
    let written = Folder::new("conweave-experiment");
    imported.write(&written.0.join("case.toml")).unwrap();
    let case = load(&written.0.join("case.toml"), &[], None).unwrap();
    assert_eq!(loaded.inputs.flows, case.inputs.flows);
    let shape = generate(&loaded.scenario.topology);
    let file = case.inputs.topology.unwrap();
    assert_eq!((shape.nodes, &shape.switches), (file.nodes, &file.switches));
    let mut links = [shape.links, file.links].map(|links| {
        let ends = links
            .iter()
            .map(|link| (link.a, link.b, link.rate, link.delay));
        ends.collect::<Vec<_>>()
    });
    links.iter_mut().for_each(|links| links.sort_unstable());
    assert_eq!(links[0], links[1]);
    let (mut ours, mut theirs) = (loaded.scenario, case.scenario);
    theirs.topology = ours.topology.clone();
    theirs.workload.clone_from(&ours.workload);
    theirs.name.clone_from(&ours.name);
    // The case states thresholds also for rates that no port has.
    let rate = Rate::from_gbps(100);
    theirs.switch.ecn.threshold.retain(|row| row.rate == rate);
    ours.resolve();
    assert_eq!(ours, theirs);
}

#[test]
fn files_may_be_held_by_the_program() {
    let scenario = "[topology]\nkind = \"file\"\npath = \"t.txt\"\n[[workload]]\nkind = \"flows\"\npath = \"f.txt\"\n";
    let topology = TOPOLOGY
        .lines()
        .take(4)
        .flat_map(|line| [line, "\n"])
        .collect::<String>();
    let held = [
        ("t.txt", topology.as_bytes()),
        ("f.txt", b"1\n0 1 3 100 1 2.0\n".as_slice()),
    ];
    let read =
        |held: &[(&str, &[u8])]| parse_with(scenario, "x.toml", Files::Held(held), &[], None);
    assert_eq!(
        read(&held).unwrap().inputs.flows[0].as_ref().unwrap().len(),
        1
    );
    let message = read(&held[..1]).unwrap_err().to_string();
    for part in ["x.toml:6", "f.txt doesn't exist", "holds no such file"] {
        assert!(message.contains(part), "{message}");
    }
}
