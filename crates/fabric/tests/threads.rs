//! The same bytes whatever the number of threads.

use fairlane_congestion::{Algorithm, Scope};
use fairlane_fabric::{Control, Ending, Results, Simulation, Threading};
use fairlane_scenario::Loaded;

use crate::common::{loaded, random};

/// Random scenarios that are run.
const SCENARIOS: u64 = 100;
/// Of these, so many are run again with receivers that apportion their links.
const APPORTIONED: u64 = 60;
/// Of these, so many are run again with several congestion controls and scheduled classes.
const MIXED: u64 = 60;
/// Further ones that once differed: records of one event in the wrong order, runs that went beyond their end,
/// applications that heard too late that others had ended, queues of another part in traces.
const FOUND: [u64; 17] = [
    381, 482, 547, 929, 953, 1130, 1242, 1251, 1275, 1315, 1376, 1391, 1451, 1482, 1623, 2359, 3471,
];

fn run_on(case: &Loaded, threads: usize) -> (Results, Threading) {
    let simulation = Simulation::new(case).unwrap();
    simulation.run_on(threads, &mut |_| Control::Continue)
}

/// Everything in a result, as text.
fn text(results: &Results) -> String {
    format!("{results:?}")
}

/// Where two texts begin to differ.
fn difference(one: &str, other: &str) -> String {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
    let from = same.count().saturating_sub(200);
    let part = |text: &str| {
        text.get(from..(from + 400).min(text.len()))
            .map(str::to_owned)
    };
    format!("{:?}\n{:?}", part(one), part(other))
}

/// Runs a case on several numbers of threads; returns the most parts that it was cut into.
fn judge(what: &str, case: &Loaded, numbers: &[usize]) -> usize {
    let (alone, _) = run_on(case, 1);
    let alone = text(&alone);
    let mut most = 1;
    for &threads in numbers {
        let (results, threading) = run_on(case, threads);
        let results = text(&results);
        assert!(
            alone == results,
            "{what} on {threads} threads:\n{}",
            difference(&alone, &results)
        );
        most = most.max(threading.threads);
    }
    most
}

/// A number of threads for scenarios that are many.
fn one_of(seed: u64) -> [usize; 1] {
    [[2, 3, 8][seed as usize % 3]]
}

#[test]
fn random_scenarios_are_the_same_on_1_2_3_and_8_threads() {
    let mut cut = 0;
    for seed in (0..SCENARIOS).chain(FOUND) {
        let case = loaded(&random::scenario(seed), &[]);
        cut += u32::from(judge(&format!("seed {seed}"), &case, &[2, 3, 8]) > 1);
    }
    assert!(cut > 50, "only {cut} of {SCENARIOS} could be cut");
}

#[test]
fn random_scenarios_with_several_controls_and_scheduled_classes_are_the_same_on_several_threads() {
    let mut cut = 0;
    for seed in 0..MIXED {
        let sets = random::mixing::mixing(seed);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let case = loaded(&random::scenario(seed), &sets);
        cut += u32::from(judge(&format!("seed {seed}"), &case, &one_of(seed)) > 1);
    }
    assert!(cut > 20, "only {cut} of {MIXED} could be cut");
}

#[test]
fn random_scenarios_in_which_flows_move_are_the_same_on_several_threads() {
    let mut cut = 0;
    for seed in 0..SCENARIOS {
        let text = random::busy(seed);
        let sets = random::moving(seed, &text);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let case = loaded(&text, &sets);
        cut += u32::from(judge(&format!("moving, seed {seed}"), &case, &one_of(seed)) > 1);
    }
    assert!(cut > 50, "only {cut} of {SCENARIOS} could be cut");
}

#[test]
fn receivers_apportion_the_same_on_several_threads() {
    let mut cut = 0;
    for seed in 0..APPORTIONED {
        let case = crate::common::apportioned(seed);
        cut += u32::from(judge(&format!("seed {seed}"), &case, &one_of(seed)) > 1);
    }
    assert!(cut > 30, "only {cut} of {APPORTIONED} could be cut");
}

#[test]
fn several_paths_are_the_same_on_several_threads() {
    let mut cut = 0;
    for seed in 0..SCENARIOS {
        let case = loaded(&random::dividing::dividing(seed), &[]);
        cut += u32::from(judge(&format!("dividing, seed {seed}"), &case, &one_of(seed)) > 1);
    }
    assert!(cut > 50, "only {cut} of {SCENARIOS} could be cut");
}

const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "500ns" }
fabric_link = { rate = "100Gbps", delay = "1us" }

[switch.ecn]
kmin_per_gbps = 300

[[tenant]]
name = "a"
[[tenant]]
name = "b"

[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.5
duration = "60us"
tenant = "a"

[[workload]]
kind = "incast"
degree = 9
size = "60kB"
class = 5
start = "20us"
tenant = "b"

[[workload]]
kind = "poisson"
sizes = "rpc"
load = 0.1
duration = "60us"
verb = "read"
tenant = "b"
"#;

#[test]
fn every_controller_and_scope_is_the_same_on_several_threads() {
    for algorithm in Algorithm::ALL {
        for scope in Scope::ALL {
            let sets = [
                format!("congestion.algorithm=\"{algorithm}\""),
                format!("congestion.scope=\"{scope}\""),
            ];
            let case = loaded(LEAF_SPINE, &sets.each_ref().map(String::as_str));
            let what = format!("{algorithm} under scope {scope}");
            assert_eq!(judge(&what, &case, &[2, 3]), 3, "{what}");
        }
    }
}

#[test]
fn every_forwarding_is_the_same_on_several_threads() {
    for forwarding in ["ecmp", "flowlet", "spray", "adaptive"] {
        let set = format!("switch.forwarding=\"{forwarding}\"");
        let sets = [set.as_str(), "transport.recovery=\"selective-repeat\""];
        let case = loaded(LEAF_SPINE, &sets);
        assert_eq!(judge(forwarding, &case, &[2, 4]), 4, "{forwarding}");
    }
}

#[test]
fn rates_are_the_same_on_several_threads() {
    let case = loaded(LEAF_SPINE, &["output.rate_interval=\"1us\""]);
    assert!(run_on(&case, 1).0.rates.len() > 20);
    assert_eq!(judge("rates", &case, &[2, 3]), 3);
}

#[test]
fn chosen_ports_are_the_same_on_several_threads() {
    // A part has none of them.
    let ports = "output.ports=[\"switch:16\", \"host:0\"]";
    let case = loaded(LEAF_SPINE, &["output.sample_interval=\"1us\"", ports]);
    let chosen = run_on(&case, 1).0.chosen.unwrap();
    assert!(chosen.series.sent.len() > 20 * chosen.ports.len());
    assert_eq!(judge("chosen ports", &case, &[2, 3]), 3);
}

#[test]
fn windows_carry_most_of_the_work() {
    let (results, threading) = run_on(&loaded(LEAF_SPINE, &[]), 2);
    assert_eq!(threading.threads, 2);
    // The shortest link that may be cut, and the time of an acknowledgement on it.
    assert!(threading.lookahead.as_ns() >= 1000, "{threading:?}");
    assert!(threading.windows > 20, "{threading:?}");
    let single = threading.single_events as f64 / results.totals.events as f64;
    assert!(single < 0.3, "{single} of events one by one: {threading:?}");
}

#[test]
fn an_interrupted_run_ends_on_several_threads() {
    let simulation = Simulation::new(&loaded(LEAF_SPINE, &[])).unwrap();
    let (results, _) = simulation.run_on(2, &mut |_| Control::Interrupt);
    assert_eq!(results.totals.ending, Ending::Interrupted);
}

#[test]
fn profile_hpcc_ns3_stays_on_one_thread() {
    let text = LEAF_SPINE.split("[[tenant]]").next().unwrap().to_owned()
        + "[[workload]]\nkind = \"permutation\"\nsize = \"30kB\"\n";
    assert_eq!(run_on(&loaded(&text, &[]), 4).1.threads, 4);
    let (_, threading) = run_on(&loaded(&text, &["profile=\"hpcc-ns3\""]), 4);
    assert_eq!(threading.threads, 1);
}
