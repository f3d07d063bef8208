//! Networks whose flows have least and greatest rates, or no utility at all.

use fairlane_drum::coupled::{
    Choice, CoupledOptions, Network, RowKind, Selection, SharedRow, solve, solve_chosen,
};
use fairlane_drum::{Fairness, Sequential, Utility};
use proptest::prelude::*;

/// One flow: weight, latency weight, least rate, greatest rate, use of its host's egress and of its ingress.
type Flow = ((f64, f64), (f64, f64), (f64, f64));

/// Alpha, beta, flows, whether these have least and greatest rates, and capacities for each flow.
type Drawn = (f64, f64, Vec<Flow>, (bool, bool), (f64, f64));

fn flow() -> impl Strategy<Value = Flow> {
    let weight = prop_oneof![1 => Just(0.0), 4 => 0.1..3.0_f64];
    let latency = prop_oneof![1 => Just(0.0), 2 => 0.1..1.0_f64];
    let least = prop_oneof![Just(0.0), 0.0..0.1_f64];
    let most = prop_oneof![Just(f64::INFINITY), 0.1..1.0_f64];
    let arrives = prop_oneof![Just(0.0), 0.1..1.0_f64];
    ((weight, latency), (least, most), (0.2..1.2_f64, arrives))
}

fn case() -> impl Strategy<Value = Network> {
    let alpha = prop::sample::select(vec![0.001, 0.5, 1.0, 2.0, 3.0, 5.0]);
    let beta = prop::sample::select(vec![0.0, 0.01, 1.0]);
    let flows = prop::collection::vec(flow(), 1..13);
    let bounds = (any::<bool>(), any::<bool>());
    let capacities = (0.3..3.0_f64, 0.3..3.0_f64);
    (alpha, beta, flows, bounds, capacities).prop_map(build)
}

/// All flows leave one host; some of them arrive at it again.
fn build((alpha, beta, flows, (floors, caps), capacities): Drawn) -> Network {
    let count = flows.len() as f64;
    let row = |kind, capacity: f64, of: &dyn Fn(&Flow) -> f64| SharedRow {
        kind,
        host: Some(0),
        capacity: capacity * count,
        entries: flows.iter().map(of).enumerate().collect(),
    };
    let list = |wanted: bool, of: &dyn Fn(&Flow) -> f64| {
        let flows = flows.iter().filter(|_| wanted);
        flows.map(of).collect::<Vec<f64>>()
    };
    Network {
        hosts: 1,
        applications: flows.len(),
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        },
        weight: flows.iter().map(|flow| flow.0.0).collect(),
        latency_weight: flows.iter().map(|flow| flow.0.1).collect(),
        completions: vec![1.0; flows.len()],
        minimum: list(floors, &|flow| flow.1.0),
        maximum: list(caps, &|flow| flow.1.1),
        rows: vec![
            row(RowKind::Egress, capacities.0, &|flow| flow.2.0),
            row(RowKind::Ingress, capacities.1, &|flow| flow.2.1),
        ],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_network_with_bounds_is_solved(network in case()) {
        let tolerance = 1e-3;
        let source = network.indexed().unwrap();
        let options = CoupledOptions { tolerance, ..CoupledOptions::default() };
        let solution = solve(&source, &options, &Sequential).unwrap();
        let scale = solution.objective.abs();
        prop_assert!(solution.dual_bound >= solution.objective - 1e-12 * scale);
        // Utilities that hardly bend are left to a method that may end a little short.
        let flat = network.utility.fairness == Fairness::Alpha(0.001);
        let asked = if flat { 1e-2 } else { tolerance };
        prop_assert!(
            solution.relative_gap() <= asked,
            "{:e} of {}", solution.relative_gap(), solution.objective
        );
        for (f, &rate) in solution.x.iter().enumerate() {
            let least = network.minimum.get(f).copied().unwrap_or(0.0);
            let most = network.maximum.get(f).copied().unwrap_or(f64::INFINITY);
            prop_assert!(rate >= least * (1.0 - 1e-14) && rate <= most * (1.0 + 1e-14));
        }
        for row in &network.rows {
            let used: f64 = row.entries.iter().map(|&(flow, t)| t * solution.x[flow]).sum();
            prop_assert!(used <= row.capacity * (1.0 + 1e-12));
        }
    }
}

#[test]
fn what_a_capped_flow_leaves_goes_to_the_other() {
    let network = Network {
        hosts: 1,
        applications: 2,
        utility: Utility {
            fairness: Fairness::Alpha(5.0),
            latency: 0.0,
        },
        weight: vec![1.0; 2],
        latency_weight: vec![1.0; 2],
        completions: vec![1.0; 2],
        minimum: Vec::new(),
        maximum: vec![0.5, f64::INFINITY],
        rows: vec![SharedRow {
            kind: RowKind::Egress,
            host: Some(0),
            capacity: 2.0,
            entries: vec![(0, 1.0), (1, 1.0)],
        }],
    };
    let source = network.indexed().unwrap();
    let options = CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    };
    let solution = solve(&source, &options, &Sequential).unwrap();
    assert!((solution.x[0] - 0.5).abs() < 1e-9 && (solution.x[1] - 1.5).abs() < 1e-9);
}

/// Two flows that share a row of 2, and one that uses none and has a maximum of 4.
fn loose(fairness: Fairness, latency: f64) -> Network {
    Network {
        hosts: 1,
        applications: 3,
        utility: Utility { fairness, latency },
        weight: vec![1.0; 3],
        latency_weight: vec![1.0; 3],
        completions: vec![1.0; 3],
        minimum: Vec::new(),
        maximum: vec![f64::INFINITY, f64::INFINITY, 4.0],
        rows: vec![SharedRow {
            kind: RowKind::Egress,
            host: Some(0),
            capacity: 2.0,
            entries: vec![(0, 1.0), (1, 1.0)],
        }],
    }
}

#[test]
fn a_flow_that_uses_no_row_has_its_maximum() {
    let alphas = [0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 50.0].map(Fairness::Alpha);
    for fairness in alphas.into_iter().chain([Fairness::MaxMin]) {
        for latency in [0.0, 0.1] {
            if fairness == Fairness::MaxMin && latency > 0.0 {
                continue;
            }
            let network = loose(fairness, latency);
            // The first is of a network that is held.
            for asked in [1e-9, 1e-3] {
                let options = CoupledOptions {
                    tolerance: 0.1 * asked,
                    ..CoupledOptions::default()
                };
                let case = format!("{fairness:?}, beta {latency}, to {asked:e}");
                let solution = solve(&network.indexed().unwrap(), &options, &Sequential)
                    .unwrap_or_else(|error| panic!("{case}: {error}"));
                let gap = solution.relative_gap();
                assert!(gap <= asked, "{case}: {gap:e}");
                assert!(
                    (solution.x[2] - 4.0).abs() < 4.0 * asked,
                    "{case}: {:?}",
                    solution.x
                );
                let shared = solution.x[0] + solution.x[1];
                assert!(
                    (shared - 2.0).abs() < 2.0 * asked,
                    "{case}: {:?}",
                    solution.x
                );
            }
        }
    }
}

#[test]
fn a_flow_that_uses_no_row_takes_a_place_of_its_host() {
    for choice in [Choice::ActiveSet(1), Choice::TopUtilities(1)] {
        let network = loose(Fairness::Alpha(0.5), 0.0);
        let selection = Selection {
            choice,
            outage: 0.0,
        };
        let source = network.indexed().unwrap();
        let options = CoupledOptions {
            tolerance: 1e-10,
            ..CoupledOptions::default()
        };
        let solution = solve_chosen(&source, selection, &options, &Sequential).unwrap();
        assert_eq!(solution.counts, [false, false, true], "{choice:?}");
        assert!((solution.objective - 4.0).abs() < 1e-9 && solution.relative_gap() < 1e-9);
    }
}

#[test]
fn a_network_without_rows_gives_each_flow_its_maximum() {
    let mut network = loose(Fairness::Alpha(0.5), 0.1);
    network.rows.clear();
    assert!(network.indexed().is_err(), "two flows have no maximum");
    network.maximum = vec![1.0, 2.0, 4.0];
    let source = network.indexed().unwrap();
    let solution = solve(&source, &CoupledOptions::default(), &Sequential).unwrap();
    assert_eq!(solution.x, [1.0, 2.0, 4.0]);
    assert!(solution.relative_gap() < 1e-12);
}

#[test]
fn floors_may_fill_a_row_but_for_rounding() {
    for fairness in [Fairness::Alpha(0.0), Fairness::Alpha(0.5), Fairness::MaxMin] {
        let mut network = loose(fairness, 0.0);
        // 0.1 + 0.2 is 0.30000000000000004.
        network.rows[0].capacity = 0.3;
        network.minimum = vec![0.1, 0.2, 4.0];
        let source = network.indexed().unwrap();
        let solution = solve(&source, &CoupledOptions::default(), &Sequential).unwrap();
        assert!(solution.relative_gap() < 1e-9, "{fairness:?}: {solution:?}");
    }
}
