//! Networks whose flows have least and greatest rates, or no utility at all.

use fairlane_drum::coupled::{
    CoupledOptions, Flows, Indexed, Network, RowKind, SharedRow, Source, solve,
};
use fairlane_drum::{Fairness, Sequential, Utility};
use proptest::prelude::*;

/// A network whose flows have bounds; lists are empty where there are none.
struct Bounded<'a> {
    inner: Indexed<'a>,
    minimum: &'a [f64],
    maximum: &'a [f64],
}

impl Source for Bounded<'_> {
    fn hosts(&self) -> usize {
        self.inner.hosts()
    }

    fn utility(&self) -> Utility {
        self.inner.utility()
    }

    fn capacities(&self) -> &[f64] {
        self.inner.capacities()
    }

    fn flows(&self, host: usize) -> usize {
        self.inner.flows(host)
    }

    fn fill(&self, host: usize, flows: &mut Flows) {
        self.inner.fill(host, flows);
        let count = self.inner.flows(host);
        let range = host * count..(host + 1) * count;
        let part = |list: &[f64]| list.get(range.clone()).unwrap_or_default().to_vec();
        flows.minimum = part(self.minimum);
        flows.maximum = part(self.maximum);
    }
}

/// A network, and bounds of its flows.
type Case = (Network, Vec<f64>, Vec<f64>);

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

fn case() -> impl Strategy<Value = Case> {
    let alpha = prop::sample::select(vec![0.001, 0.5, 1.0, 2.0, 3.0, 5.0]);
    let beta = prop::sample::select(vec![0.0, 0.01, 1.0]);
    let flows = prop::collection::vec(flow(), 1..13);
    let bounds = (any::<bool>(), any::<bool>());
    let capacities = (0.3..3.0_f64, 0.3..3.0_f64);
    (alpha, beta, flows, bounds, capacities).prop_map(build)
}

/// All flows leave one host; some of them arrive at it again.
fn build((alpha, beta, flows, (floors, caps), capacities): Drawn) -> Case {
    let count = flows.len() as f64;
    let row = |kind, capacity: f64, of: &dyn Fn(&Flow) -> f64| SharedRow {
        kind,
        host: Some(0),
        capacity: capacity * count,
        entries: flows.iter().map(of).enumerate().collect(),
    };
    let network = Network {
        hosts: 1,
        applications: flows.len(),
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency: beta,
        },
        weight: flows.iter().map(|flow| flow.0.0).collect(),
        latency_weight: flows.iter().map(|flow| flow.0.1).collect(),
        completions: vec![1.0; flows.len()],
        rows: vec![
            row(RowKind::Egress, capacities.0, &|flow| flow.2.0),
            row(RowKind::Ingress, capacities.1, &|flow| flow.2.1),
        ],
    };
    let list = |wanted: bool, of: &dyn Fn(&Flow) -> f64| {
        let flows = flows.iter().filter(|_| wanted);
        flows.map(of).collect::<Vec<f64>>()
    };
    let minimum = list(floors, &|flow| flow.1.0);
    let maximum = list(caps, &|flow| flow.1.1);
    (network, minimum, maximum)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_network_with_bounds_is_solved((network, minimum, maximum) in case()) {
        let tolerance = 1e-3;
        let source = Bounded {
            inner: network.indexed().unwrap(),
            minimum: &minimum,
            maximum: &maximum,
        };
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
            let least = minimum.get(f).copied().unwrap_or(0.0);
            let most = maximum.get(f).copied().unwrap_or(f64::INFINITY);
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
        rows: vec![SharedRow {
            kind: RowKind::Egress,
            host: Some(0),
            capacity: 2.0,
            entries: vec![(0, 1.0), (1, 1.0)],
        }],
    };
    let source = Bounded {
        inner: network.indexed().unwrap(),
        minimum: &[],
        maximum: &[0.5, f64::INFINITY],
    };
    let options = CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    };
    let solution = solve(&source, &options, &Sequential).unwrap();
    assert!((solution.x[0] - 0.5).abs() < 1e-9 && (solution.x[1] - 1.5).abs() < 1e-9);
}
