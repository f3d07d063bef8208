//! Every kind of fabric with every kind of traffic under every policy, small: packets are conserved,
//! nobody is faster than ideal, a lossless fabric loses nothing, everything completes.

use fairlane_congestion::Algorithm;
use fairlane_fabric::{Ending, Results};
use fairlane_scenario::Loaded;

use crate::common::{drops, loaded, loaded_with, run};

const TOPOLOGIES: [(&str, &str); 5] = [
    (
        "dumbbell",
        "left = 4\nright = 4\nhost_link = HOST\ncore_link = FABRIC",
    ),
    ("star", "hosts = 8\nhost_link = HOST"),
    (
        "leaf-spine",
        "leaves = 3\nspines = 2\nhosts_per_leaf = 3\nhost_link = HOST\nfabric_link = FABRIC",
    ),
    (
        "mesh",
        "switches = 4\nhosts_per_switch = 2\nhost_link = HOST\nfabric_link = FABRIC",
    ),
    (
        "fat-tree",
        "pods = 2\ntors_per_pod = 2\naggregations_per_pod = 2\ncores = 4\nhosts_per_tor = 2\n\
         host_link = HOST\nfabric_link = FABRIC",
    ),
];

const WORKLOADS: [&str; 6] = [
    "kind = \"poisson\"\nload = 0.6\nduration = \"60us\"\n\
     sizes = [{ size = 1, percent = 0 }, { size = 3000, percent = 70 }, { size = 60000, percent = 100 }]",
    "kind = \"incast\"\ndegree = 7\nsize = \"30kB\"\nrounds = 2\nperiod = \"40us\"\njitter = \"1us\"",
    "kind = \"permutation\"\nsize = \"50kB\"",
    "kind = \"all-to-all\"\nsize = \"9kB\"",
    "kind = \"ring-all-reduce\"\nsize = \"100kB\"",
    "kind = \"flows\"\nflow = [{ source = 0, destination = 5, size = 70000 }, \
     { source = 1, destination = 5, size = 70000, class = 5 }, \
     { source = 6, destination = 5, size = 1, start = \"3us\", class = 1 }]",
];

fn scenario(topology: (&str, &str), workload: &str) -> String {
    let link = |gbps: u32| format!("{{ rate = \"{gbps}Gbps\", delay = \"50ns\" }}");
    let (kind, fields) = topology;
    let fields = fields
        .replace("HOST", &link(100))
        .replace("FABRIC", &link(200));
    // A buffer that the traffic fills, so that pauses and drops happen; headroom is for each class.
    let kilobytes = if workload.contains("class") { 280 } else { 120 };
    format!(
        "switch = {{ buffer = \"{kilobytes}kB\", pfc = {{ reserve = \"1kB\" }}, \
         ecn = {{ kmin_per_gbps = 100, kmax_per_gbps = 400 }} }}\n\
         transport = {{ ack_timeout = \"300us\" }}\n\
         [topology]\nkind = \"{kind}\"\n{fields}\n[[workload]]\n{workload}\n"
    )
}

/// What must hold whatever the policies are.
fn judge(case: &Loaded, what: &str) -> Results {
    let results = run(case);
    assert_eq!(results.totals.ending, Ending::Complete, "{what}");
    assert_eq!(
        results.totals.in_flight.packets,
        count_late(&results),
        "{what}"
    );
    let paused = results.pauses.iter().filter(|pause| pause.pause).count() as u64;
    assert_eq!(results.signals.pauses.count, paused, "{what}");
    let totals = &results.totals;
    let pause_frames = totals.transmissions - totals.message_transmissions;
    assert!(pause_frames >= results.pauses.len() as u64, "{what}");
    let sent: u64 = results.messages.iter().map(|m| packets(m.size.get())).sum();
    let again = results.signals.retransmissions.count;
    assert_eq!(totals.data_packets, sent + again, "{what}");
    let resent: u64 = results
        .messages
        .iter()
        .map(|m| u64::from(m.retransmitted))
        .sum();
    assert_eq!(resent, again, "{what}");
    if case.scenario.switch.pfc.enabled {
        assert_eq!((drops(&results, "buffer-full"), again), (0, 0), "{what}");
    }
    zeros_have_reasons(&results, what);
    results
}

/// At the end of a complete run nothing is under way but what duplicates left behind.
fn count_late(results: &Results) -> u64 {
    let again = results.signals.retransmissions.count;
    if again == 0 {
        0
    } else {
        results.totals.in_flight.packets
    }
}

fn packets(size: u64) -> u64 {
    size.div_ceil(1024)
}

fn zeros_have_reasons(results: &Results, what: &str) {
    let signals = &results.signals;
    let named = [
        ("marks", &signals.ecn_marks),
        ("cnps sent", &signals.cnps_sent),
        ("cnps", &signals.cnps),
        ("pauses", &signals.pauses),
        ("paused", &signals.paused_ns),
        ("retransmissions", &signals.retransmissions),
        ("naks", &signals.naks),
        ("timeouts", &signals.timeouts),
    ];
    let drops = signals.drops.iter().map(|(&name, signal)| (name, signal));
    for (name, signal) in named.into_iter().chain(drops) {
        let reason = signal.why_zero.as_deref().map(|reason| !reason.is_empty());
        assert_eq!(
            reason,
            (signal.count == 0).then_some(true),
            "{name} of {what}"
        );
    }
}

/// Runs every topology and workload with `algorithm` and returns marks, pauses, drops in all.
fn all(algorithm: &str, windows: &[&str]) -> [u64; 3] {
    all_with(algorithm, windows, "ack")
}

/// The same with a way in which marks come back.
fn all_with(algorithm: &str, windows: &[&str], notification: &str) -> [u64; 3] {
    let mut seen = [0; 3];
    let mut cases = 0;
    for topology in TOPOLOGIES {
        for workload in WORKLOADS {
            let text = scenario(topology, workload);
            for window in windows {
                for (pfc, control) in [(true, false), (true, true), (false, false), (false, true)] {
                    let sets = [
                        format!("congestion.algorithm=\"{algorithm}\""),
                        format!("congestion.window=\"{window}\""),
                        format!("congestion.notification=\"{notification}\""),
                        "congestion.cnp_interval=\"4us\"".into(),
                        format!("switch.pfc.enabled={pfc}"),
                        format!("transport.ack_control_class={control}"),
                    ];
                    let case = loaded(&text, &sets.each_ref().map(String::as_str));
                    let results = judge(&case, &format!("{text}\n{sets:?}"));
                    seen[0] += results.signals.ecn_marks.count;
                    seen[1] += results.signals.pauses.count;
                    seen[2] += drops(&results, "buffer-full");
                    cases += 1;
                }
            }
        }
    }
    assert_eq!(
        cases,
        TOPOLOGIES.len() * WORKLOADS.len() * windows.len() * 4
    );
    seen
}

#[test]
fn fixed_rates() {
    let [marks, pauses, drops] = all("fixed", &["none", "fixed"]);
    assert!(
        marks > 0 && pauses > 0 && drops > 0,
        "{marks} {pauses} {drops}"
    );
}

#[test]
fn dcqcn() {
    let [marks, pauses, drops] = all("dcqcn", &["none", "fixed", "scaled"]);
    assert!(
        marks > 0 && pauses > 0 && drops > 0,
        "{marks} {pauses} {drops}"
    );
}

#[test]
fn hpcc() {
    let [marks, pauses, _] = all("hpcc", &["fixed", "scaled"]);
    assert!(marks > 0 && pauses > 0, "{marks} {pauses}");
}

#[test]
fn every_other_algorithm() {
    let told = ["fixed", "dcqcn", "hpcc"];
    let others = Algorithm::ALL.into_iter().map(Algorithm::name);
    for algorithm in others.filter(|name| !told.contains(name)) {
        let [marks, ..] = all(algorithm, &["none", "scaled"]);
        assert!(marks > 0, "{algorithm}");
    }
}

#[test]
fn marks_that_come_back_as_cnps() {
    let hearing = Algorithm::ALL
        .into_iter()
        .filter(|algorithm| algorithm.needs().hears_cnps);
    for algorithm in hearing {
        let [marks, pauses, drops] = all_with(algorithm.name(), &["none"], "cnp");
        assert!(marks > 0 && pauses > 0 && drops > 0, "{algorithm}");
    }
}

#[test]
fn a_fabric_from_a_file_and_unpaced_senders() {
    let chain = [
        (0, 4, "100Gbps", "1us"),
        (1, 4, "25Gbps", "200ns"),
        (2, 5, "40Gbps", "1us"),
    ];
    let more = [
        (3, 6, "100Gbps", "10ns"),
        (4, 5, "400Gbps", "2us"),
        (5, 6, "50Gbps", "1us"),
    ];
    let fabric = crate::common::links(4, &[chain, more].concat());
    for workload in WORKLOADS {
        let workload = workload
            .replace("degree = 7", "degree = 3")
            .replace("destination = 5", "destination = 3");
        let workload = workload.replace("source = 6", "source = 2");
        let text = format!("[[workload]]\n{workload}\n");
        for paced in ["true", "false"] {
            let sets = [
                &format!("congestion.paced={paced}"),
                "congestion.window=\"fixed\"",
            ];
            judge(&loaded_with("mixed", &fabric, &text, &sets), &text);
        }
    }
}
