//! Networks of many rows, with weights that differ by many orders of magnitude.

#[allow(dead_code, reason = "each user takes a part")]
use fairlane_drum::coupled::{CoupledOptions, Network, RowKind, SharedRow, solve};
use fairlane_drum::{Fairness, Mode, Options, Sequential, Utility};

use crate::instances::Random;
use crate::problems::Problem;
use crate::random::RandomNetwork;

/// Hosts whose flows go anywhere; each has egress, ingress, and a budget for polling.
fn network(
    hosts: usize,
    applications: usize,
    alpha: f64,
    weight: impl Fn(usize) -> f64,
) -> Network {
    let flows = hosts * applications;
    let mut random = Random(hosts as u64);
    let to: Vec<usize> = (0..flows)
        .map(|_| (random.bits() % hosts as u64) as usize)
        .collect();
    let bytes: Vec<f64> = (0..flows).map(|_| random.within(0.5, 2.0)).collect();
    let row = |kind, host: usize, capacity: f64, uses: &dyn Fn(usize) -> Option<f64>| SharedRow {
        kind,
        host: Some(host),
        capacity,
        entries: (0..flows)
            .filter_map(|flow| uses(flow).map(|load| (flow, load)))
            .collect(),
    };
    let mut rows = Vec::new();
    for host in 0..hosts {
        let own = |flow: usize| flow / applications == host;
        let size = applications as f64;
        rows.push(row(RowKind::Egress, host, size, &|flow| {
            own(flow).then_some(bytes[flow])
        }));
        rows.push(row(RowKind::Ingress, host, size, &|flow| {
            (to[flow] == host).then_some(bytes[flow])
        }));
        rows.push(row(RowKind::Poll, host, 1.5 * size, &|flow| {
            let load = f64::from(u8::from(own(flow))) + f64::from(u8::from(to[flow] == host));
            (load > 0.0).then_some(load)
        }));
    }
    Network {
        hosts,
        applications,
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency: 0.0,
        },
        weight: (0..flows).map(weight).collect(),
        latency_weight: vec![1.0; flows],
        completions: vec![1.0; flows],
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows,
    }
}

/// Weights over eight decades.
fn uneven(flow: usize) -> f64 {
    10_f64.powi((flow % 9) as i32 - 4)
}

#[test]
fn weights_over_eight_decades_leave_no_gap() {
    let options = CoupledOptions {
        tolerance: 1e-12,
        ..CoupledOptions::default()
    };
    for (hosts, applications) in [(60, 3), (170, 3), (400, 4)] {
        for alpha in [0.2, 0.25, 0.5, 5.0] {
            let network = network(hosts, applications, alpha, uneven);
            let source = network.indexed().expect("a network");
            let found = solve(&source, &options, &Sequential).expect("a solution");
            let gap = found.relative_gap();
            assert!(
                gap < 1e-10,
                "{hosts} x {applications}, alpha {alpha}: {gap:e}"
            );
            for (used, row) in found.usage.iter().zip(&network.rows) {
                assert!(*used <= row.capacity * (1.0 + 1e-12));
            }
        }
    }
}

/// Networks of so many rows are never held: prices are found by passes over the hosts.
#[test]
fn networks_beyond_memory_are_solved_whatever_bends_their_utilities() {
    let options = CoupledOptions {
        tolerance: 1e-3,
        ..CoupledOptions::default()
    };
    for (alpha, weight) in [(0.1, (|_| 1.0) as fn(usize) -> f64), (1.0, uneven)] {
        let network = network(2001, 3, alpha, weight);
        let source = network.indexed().expect("a network");
        let found = solve(&source, &options, &Sequential).expect("a solution");
        let gap = found.relative_gap();
        assert!(gap <= 1e-3, "alpha {alpha}: {gap:e}");
        for (used, row) in found.usage.iter().zip(&network.rows) {
            assert!(*used <= row.capacity * (1.0 + 1e-12));
        }
    }
}

#[test]
fn random_networks_of_many_rows_leave_no_gap() {
    let options = CoupledOptions {
        tolerance: 1e-10,
        ..CoupledOptions::default()
    };
    let source = RandomNetwork::new(200, 50, (0.2, 0.0), 1);
    let found = solve(&source, &options, &Sequential).expect("a solution");
    assert!(found.relative_gap() < 1e-9, "{:e}", found.relative_gap());
}

#[test]
fn problems_whose_numbers_have_nothing_in_common_leave_no_gap() {
    let coupled = CoupledOptions {
        tolerance: 1e-8,
        ..CoupledOptions::default()
    };
    let mut networks = 0;
    for seed in 0..60 {
        let gap = match Problem::random(seed, 500.0) {
            Problem::Network(network) => {
                networks += 1;
                let source = network.indexed().expect("a network");
                solve(&source, &coupled, &Sequential)
                    .expect("a solution")
                    .relative_gap()
            }
            Problem::Attempts(host) => {
                fairlane_drum::solve(&host.host(), &Mode::All, &Options::default())
                    .expect("a solution")
                    .relative_gap()
            }
        };
        assert!(gap <= 1e-6, "seed {seed}: {gap:e}");
    }
    assert!((40..56).contains(&networks), "{networks} networks");
}

#[test]
fn max_min_takes_the_room_of_what_flows_use() {
    // As a table of rows and flows this would take 19 GB.
    let (rows, each) = (6_000, 66);
    let flows = rows * each;
    let tight = |number: usize| (number < 10).then(|| (number + 1) as f64 / 11.0);
    let row = |number: usize| SharedRow {
        kind: RowKind::Core,
        host: None,
        capacity: each as f64 * tight(number).unwrap_or(2.0),
        entries: (number..flows)
            .step_by(rows)
            .map(|flow| (flow, 1.0))
            .collect(),
    };
    let network = Network {
        hosts: 1,
        applications: flows,
        utility: Utility {
            fairness: Fairness::MaxMin,
            latency: 0.0,
        },
        weight: vec![1.0; flows],
        latency_weight: vec![1.0; flows],
        completions: vec![1.0; flows],
        minimum: Vec::new(),
        maximum: vec![1.0; flows],
        rows: (0..rows).map(row).collect(),
    };
    let network = network.indexed().expect("a network");
    let solution = solve(&network, &CoupledOptions::default(), &Sequential).expect("shares");
    for (flow, rate) in solution.x.iter().enumerate() {
        let wanted = tight(flow % rows).unwrap_or(1.0);
        assert!((rate - wanted).abs() < 1e-9, "{flow}: {rate}, not {wanted}");
    }
    assert!((solution.objective - 1.0 / 11.0).abs() < 1e-12);
    assert!(solution.relative_gap() < 1e-9);
}
