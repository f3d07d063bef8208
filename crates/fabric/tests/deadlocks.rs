//! Rules that keep flows in order and let them go down and up again, each broken in turn, end in deadlocks that are found
//! and named; as they are, they don't.

use fairlane_fabric::forwarding::iofd::Misrule;
use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Ending, Simulation, Stall};

use crate::common::loaded;

const SEEDS: u32 = 5;

const LINK: &str = "{ rate = \"100Gbps\", delay = \"1us\" }";

/// Early pauses, frequent forks, and timers that end nothing.
const STRESS: &str = r#"
[output]
deadlock_interval = "100us"
[congestion]
algorithm = "fixed"
[transport]
ack_control_class = true
[switch]
forwarding = "iofd"
[switch.pfc]
xoff = "8kB"
[switch.iofd]
trigger = "8kB"
target = "4kB"
interval = "200ns"
moved = "2kB"
hold = "1GB"
hold_timeout = "1s"
[[workload]]
kind = "permutation"
size = "512kB"
"#;

fn leaf_spine() -> String {
    format!(
        "topology = {{ kind = \"leaf-spine\", leaves = 8, spines = 8, hosts_per_leaf = 8, host_link = {LINK}, fabric_link = {LINK} }}\n"
    )
}

fn fat_tree() -> String {
    let shape =
        "pods = 4, tors_per_pod = 4, aggregations_per_pod = 4, cores = 16, hosts_per_tor = 4";
    format!(
        "topology = {{ kind = \"fat-tree\", {shape}, host_link = {LINK}, fabric_link = {LINK} }}\n"
    )
}

/// Runs so many seeds; returns how those ended that did in a deadlock. All others complete.
fn deadlocks(fabric: &str, valley: bool, misrule: Option<Misrule>, seeds: u32) -> Vec<Stall> {
    let valley = format!("switch.iofd.valley={valley}");
    let mut stalls = Vec::new();
    for seed in 0..seeds {
        let case = loaded(
            &format!("{fabric}{STRESS}"),
            &[&valley, &format!("seed={seed}")],
        );
        let mut simulation = Simulation::new(&case).unwrap();
        if let Some(misrule) = misrule {
            simulation.break_rule(misrule);
        }
        let results = simulation.run(&mut |_| Control::Continue);
        assert_eq!(check(&results, true), Vec::<String>::new());
        assert_eq!(results.signals.deflection.unwrap().reordered, 0);
        match results.totals.ending {
            Ending::Stalled(stall) => stalls.push(stall),
            ending => assert_eq!(ending, Ending::Complete, "seed {seed}"),
        }
    }
    stalls
}

#[test]
fn held_packets_that_are_charged_end_in_a_deadlock() {
    let stalls = deadlocks(&fat_tree(), false, Some(Misrule::ChargeHeld), SEEDS);
    assert_eq!(stalls.len(), SEEDS as usize);
    // A link is paused for what is held, which waits for a tail behind a pause.
    for stall in stalls {
        let reason = &stall.reason;
        assert!(reason.contains("a cycle of pauses and holds"), "{reason}");
        assert!(reason.contains("waits for a tail on link"), "{reason}");
        assert!(reason.contains("is paused by"), "{reason}");
        assert!(!stall.pause_cycle.is_empty());
    }
}

#[test]
fn a_class_more_on_the_way_down_ends_in_a_deadlock() {
    let stalls = deadlocks(&leaf_spine(), true, Some(Misrule::CountDetours), SEEDS);
    assert_eq!(stalls.len(), SEEDS as usize);
    let pauses = |stall: &Stall| stall.reason.contains("a cycle of pauses: ");
    assert!(stalls.iter().all(pauses), "{stalls:?}");
}

#[test]
fn a_class_for_each_label_ends_in_a_deadlock() {
    let counted = Some(Misrule::CountLabels);
    assert_eq!(deadlocks(&leaf_spine(), true, counted, SEEDS).len(), 5);
    // Rarer with more ways to go.
    assert!(!deadlocks(&fat_tree(), true, counted, 8 * SEEDS).is_empty());
}

#[test]
fn the_rules_as_they_are_end_in_none() {
    for fabric in [fat_tree(), leaf_spine()] {
        for valley in [false, true] {
            assert_eq!(deadlocks(&fabric, valley, None, 4 * SEEDS), []);
        }
    }
}
