//! Random scenarios: whatever is combined is accepted, ends, keeps the books and runs the same twice.

use std::collections::BTreeSet;

use fairlane_congestion::dasr::Mode;
use fairlane_congestion::{Algorithm, Scope};
use fairlane_fabric::Results;
use fairlane_fabric::metrics::{check, is_lossless};
use fairlane_scenario::Loaded;

use crate::common::random::dividing::dividing;
use crate::common::random::mixing::mixing;
use crate::common::random::{busy, moving, scenario};
use crate::common::{apportioned, loaded, run_for};

/// Scenarios that are run.
const SCENARIOS: u64 = 60;

/// Further ones that once failed: a debt that grew beyond all bounds.
const FOUND: [u64; 1] = [6371];

/// The longest take a seventh of it; a run that needs more counts as one that doesn't end.
const MOST_EVENTS: u64 = 50_000_000;

/// Runs a scenario and checks what must hold of its results.
fn judged(case: &Loaded, seed: u64) -> Results {
    let results = run_for(case, MOST_EVENTS);
    let faults = check(&results, is_lossless(&case.scenario, &results));
    assert!(faults.is_empty(), "seed {seed}: {faults:?}");
    let events = results.totals.events;
    assert!(events < MOST_EVENTS, "seed {seed} doesn't end");
    results
}

#[test]
fn random_scenarios_keep_the_books_and_run_the_same_twice() {
    let mut events = 0;
    for seed in (0..SCENARIOS).chain(FOUND) {
        let case = loaded(&scenario(seed), &[]);
        let (first, second) = (judged(&case, seed), judged(&case, seed));
        assert!(
            format!("{first:?}") == format!("{second:?}"),
            "seed {seed}: two runs differ"
        );
        events += first.totals.events;
    }
    assert!(events > 300_000, "{events} events in all");
}

#[test]
fn random_scenarios_with_several_controls_and_scheduled_classes_keep_the_books() {
    let mut marks = 0;
    for seed in 0..SCENARIOS {
        let sets = mixing(seed);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let results = judged(&loaded(&scenario(seed), &sets), seed);
        marks += results.signals.ecn_marks.count;
    }
    assert!(marks > 1000, "{marks} marks in all");
}

#[test]
fn random_scenarios_in_which_flows_move_keep_their_order() {
    let (mut forks, mut detours, mut held) = (0, 0, 0);
    for seed in 0..10 * SCENARIOS {
        let text = busy(seed);
        let sets = moving(seed, &text);
        let mut sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let results = judged(&loaded(&text, &sets), seed);
        let moved = results.signals.deflection.unwrap_or_default();
        assert_eq!(moved.reordered, 0, "seed {seed}: {moved:?}");
        forks += moved.forks;
        detours += moved.detours;
        held += moved.held_packets;
        if seed % 5 > 0 {
            continue;
        }
        sets.push("output.trace_nodes=[0, 1]");
        let traced = judged(&loaded(&text, &sets), seed);
        assert_eq!(traced.messages, results.messages, "seed {seed}");
    }
    let counts = (forks, detours, held);
    assert!(forks > 500 && detours > 20 && held > 1000, "{counts:?}");
}

#[test]
fn random_scenarios_keep_the_books_where_receivers_apportion() {
    let mut modes = BTreeSet::new();
    for seed in 0..SCENARIOS {
        let case = apportioned(seed);
        let (first, second) = (judged(&case, seed), judged(&case, seed));
        assert!(
            format!("{first:?}") == format!("{second:?}"),
            "seed {seed}: two runs differ"
        );
        modes.insert(case.scenario.congestion.dasr.mode.name());
    }
    assert_eq!(modes.len(), Mode::ALL.len(), "{modes:?}");
}

#[test]
fn random_scenarios_keep_the_books_where_messages_take_several_paths() {
    let (mut divided, mut again, mut given_up, mut arrived) = (0, 0, 0, 0);
    for seed in 0..5 * SCENARIOS {
        let case = loaded(&dividing(seed), &[]);
        let results = judged(&case, seed);
        let Some(record) = &results.multipath else {
            continue;
        };
        divided += 1;
        again += record.again;
        given_up += record
            .paths
            .iter()
            .map(|path| path.quarantines)
            .sum::<u64>();
        arrived += record.arrived;
    }
    let counts = (divided, again, given_up, arrived);
    assert!(
        divided > 60 && again > 50 && given_up > 50 && arrived > 500,
        "{counts:?}"
    );
}

#[test]
fn random_scenarios_run_the_same_whether_packets_are_traced() {
    for seed in 0..SCENARIOS {
        let text = scenario(seed);
        let plain = judged(&loaded(&text, &["output.trace_nodes=[]"]), seed);
        let nodes: BTreeSet<u32> = plain.ports.iter().map(|port| port.node.get()).collect();
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let everywhere = format!("output.trace_nodes={nodes:?}");
        let mut traced = judged(&loaded(&text, &[&everywhere]), seed);
        traced.trace.clear();
        assert!(
            format!("{plain:?}") == format!("{traced:?}"),
            "seed {seed}: tracing changes the run"
        );
    }
}

#[test]
fn random_scenarios_leave_nothing_out() {
    let texts: Vec<String> = (0..300).map(scenario).collect();
    for (seed, text) in texts.iter().enumerate() {
        assert_eq!(*text, scenario(seed as u64));
        loaded(text, &[]);
    }
    let lists = [
        "kind = dumbbell star leaf-spine mesh fat-tree",
        "kind = poisson incast permutation all-to-all ring-all-reduce key-value flows",
        "verb = write send read fetch-add compare-swap",
        "policy = raw share drum justitia",
        "service = rc uc ud",
        "notification = cnp",
        "window = none fixed scaled",
        "recovery = selective-repeat",
        "arbitration = fifo ingress",
        "ack_pause = own-class class3 never",
    ];
    let named = lists.iter().flat_map(|list| {
        let (key, values) = list.split_once(" = ").unwrap_or_default();
        values
            .split(' ')
            .map(move |value| format!("{key} = \"{value}\""))
    });
    let algorithms = Algorithm::ALL.map(|algorithm| format!("algorithm = \"{algorithm}\""));
    let scopes = Scope::ALL.map(|scope| format!("scope = \"{scope}\""));
    let others = [
        "\nstop = ",
        "capture = [\"host:",
        "[[tenant]]",
        "guarantee",
        "[[faults.link]]",
        "[[faults.pause]]",
        "\nup = ",
        "\nperiod = ",
        "\nwatchdog = ",
        "[nic.costs]",
        "subflows = 3",
        "direct_placement = true",
        "loss_rate = 0.02",
        "tenant_feedback = true",
        "enabled = false",
    ];
    let words = named.chain(algorithms).chain(scopes);
    for word in words.chain(others.map(str::to_owned)) {
        assert!(texts.iter().any(|text| text.contains(&word)), "{word}");
    }
}
