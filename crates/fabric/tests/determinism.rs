//! The same run twice is the same to the last bit, and what doesn't touch a message doesn't change it.

use fairlane_congestion::Algorithm;
use fairlane_fabric::{MessageRecord, Results};

use crate::common::{complete, flows, loaded, run, star};

/// Everything in a result, as text.
fn text(results: &Results) -> String {
    format!("{results:?}")
}

const BUSY: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 3
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }

[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.6
duration = "100us"

[[workload]]
kind = "incast"
degree = 9
size = "60kB"
class = 5
start = "20us"
"#;

const SETS: [&[&str]; 5] = [
    &[
        "congestion.algorithm=\"fixed\"",
        "switch.ecn.kmin_per_gbps=200",
    ],
    &["switch.ecn.kmin_per_gbps=200", "switch.buffer=\"1500kB\""],
    &[
        "congestion.algorithm=\"hpcc\"",
        "faults.loss_rate=0.001",
        "transport.ack_timeout=\"1ms\"",
    ],
    &["profile=\"hpcc-ns3\"", "switch.ecn.kmin_per_gbps=200"],
    &[
        "congestion.algorithm=\"fixed\"",
        "switch.arbitration=\"ingress\"",
        "switch.ecn.kmin_per_gbps=200",
    ],
];

#[test]
fn the_same_run_twice_is_equal() {
    for sets in SETS {
        let case = loaded(BUSY, sets);
        let (first, second) = (run(&case), run(&case));
        assert!(first.totals.transmissions > 10_000);
        assert_eq!(text(&first), text(&second), "{sets:?}");
    }
}

#[test]
fn two_runs_at_the_same_time_don_t_disturb_each_other() {
    let case = loaded(BUSY, SETS[1]);
    let alone = text(&run(&case));
    let side_by_side = std::thread::scope(|scope| {
        let runs = [0; 2].map(|_| scope.spawn(|| text(&run(&case))));
        runs.map(|run| run.join().unwrap())
    });
    assert!(side_by_side.iter().all(|run| *run == alone));
}

#[test]
fn another_seed_is_another_run() {
    for sets in SETS {
        let one = run(&loaded(BUSY, sets));
        let two = run(&loaded(BUSY, &[sets, &["seed=2"]].concat()));
        assert_ne!(text(&one), text(&two), "{sets:?}");
    }
    // Marks and losses are drawn from the seed, too.
    let incast: Vec<_> = (0..6).map(|host| (host, 6, 300_000, "0ns")).collect();
    let fixed = star(7) + &flows(&incast);
    for sets in [
        ["switch.ecn.kmin_per_gbps=200", "faults.loss_rate=0"],
        ["switch.ecn.enabled=false", "faults.loss_rate=0.001"],
    ] {
        let one = run(&loaded(&fixed, &sets));
        let two = run(&loaded(&fixed, &[&sets[..], &["seed=2"]].concat()));
        assert_ne!(one.messages, two.messages, "{sets:?}");
    }
}

#[test]
fn recording_packets_changes_nothing_else() {
    for sets in SETS {
        let plain = run(&loaded(BUSY, sets));
        let everywhere = "output.trace_nodes=[0,1,2,3,4,5,6,7,16,17,18,19,20,21,22]";
        let mut traced = run(&loaded(BUSY, &[sets, &[everywhere]].concat()));
        assert!(!traced.trace.is_empty() && plain.trace.is_empty());
        traced.trace.clear();
        assert_eq!(plain.messages, traced.messages, "{sets:?}");
        assert_eq!(plain.pauses, traced.pauses, "{sets:?}");
        assert_eq!(plain.totals, traced.totals, "{sets:?}");
        assert_eq!(text(&plain), text(&traced), "{sets:?}");
    }
}

#[test]
fn sampling_more_often_changes_no_packet() {
    for sets in SETS {
        let seldom = run(&loaded(BUSY, sets));
        let often = run(&loaded(
            BUSY,
            &[sets, &["output.sample_interval=\"700ns\""]].concat(),
        ));
        assert_eq!(seldom.messages, often.messages, "{sets:?}");
        assert_eq!(seldom.pauses, often.pauses, "{sets:?}");
        assert_eq!(seldom.totals.transmissions, often.totals.transmissions);
    }
}

/// Two messages from 0 and 1 into 2 with marks, then what else there is.
fn with_others(others: &[(u32, u32, u64, &'static str)], hosts: u32, sets: &[&str]) -> Results {
    let mut list = vec![(0, 2, 400_000, "0ns"), (1, 2, 500_000, "0ns")];
    list.extend(others);
    let sets = [
        sets,
        &["switch.ecn.kmin_per_gbps=300", "switch.ecn.pmax=0.5"],
    ]
    .concat();
    complete(&loaded(&(star(hosts) + &flows(&list)), &sets))
}

/// The messages into host 2.
fn watched(results: &Results) -> Vec<MessageRecord> {
    results
        .messages
        .iter()
        .filter(|m| m.destination.get() == 2)
        .copied()
        .collect()
}

#[test]
fn traffic_on_other_links_changes_nothing() {
    // The others meet the watched messages in no queue; marks are drawn per port.
    let others = [
        (3, 4, 300_000, "0ns"),
        (5, 4, 300_000, "0ns"),
        (6, 3, 77_777, "1us"),
    ];
    for algorithm in ["fixed", "dcqcn", "hpcc"] {
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        let alone = with_others(&[], 7, &[&set]);
        let together = with_others(&others, 7, &[&set]);
        assert_eq!(watched(&alone), watched(&together), "{algorithm}");
        assert_eq!(alone.signals.ecn_marks.count > 0, algorithm != "hpcc");
    }
}

#[test]
fn more_hosts_that_are_silent_change_nothing() {
    for algorithm in Algorithm::ALL {
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        let few = with_others(&[], 3, &[&set]);
        let many = with_others(&[], 30, &[&set]);
        assert_eq!(watched(&few), watched(&many), "{algorithm}");
    }
}

#[test]
fn the_order_in_which_equal_messages_are_listed_doesn_t_matter() {
    // Messages that start together at different hosts; without loss and marks nothing is random.
    let list: Vec<(u32, u32, u64, &str)> = (0..6)
        .map(|host| (host, 6 + host % 2, 50_000 + u64::from(host), "1us"))
        .collect();
    let mut reversed = list.clone();
    reversed.reverse();
    let sets = ["switch.ecn.enabled=false"];
    let finishes = |list: &[(u32, u32, u64, &str)]| {
        let results = complete(&loaded(&(star(8) + &flows(list)), &sets));
        let mut times: Vec<_> = results
            .messages
            .iter()
            .map(|m| (m.source, m.finish))
            .collect();
        times.sort();
        times
    };
    assert_eq!(finishes(&list), finishes(&reversed));
}
