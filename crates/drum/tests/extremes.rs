//! Problems at the edge: floors that fill rows, prices that begin at nothing, scales that have nothing in common.

use fairlane_drum::coupled::{
    Choice, CoupledOptions, Network, RowKind, Selection, SharedRow, solve as solve_network,
    solve_chosen,
};
use fairlane_drum::{
    Application, Dependency, Error, Fairness, Host, Mode, Options, Sequential, Status, Supply,
    Table, Utility, solve,
};

fn table(count: usize, application: Application) -> Table {
    let mut table = Table::default();
    for _ in 0..count {
        table.push(application);
    }
    table
}

#[test]
fn polls_are_free_to_rise_where_floors_fill_the_egress() {
    let application = Application {
        minimum: 0.1,
        ..Application::default()
    };
    let table = table(3, application);
    let utility = Utility {
        fairness: Fairness::Alpha(0.1),
        latency: 0.01,
    };
    // 0.1 + 0.1 + 0.1 is 0.30000000000000004.
    let mut host = Host::new(table.view(), utility, 0.3, 30.0);
    host.dependency = Dependency::AtLeast;
    let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
    assert!(
        solution.x.iter().all(|x| (x - 0.1).abs() < 1e-9),
        "{solution:?}"
    );
    assert!(
        solution.z.iter().all(|z| (z - 10.0).abs() < 1e-6),
        "{solution:?}"
    );
    assert!(
        solution.relative_gap() < 1e-9,
        "{:e}",
        solution.relative_gap()
    );
}

#[test]
fn polls_as_attempts_are_priced_at_any_size_of_utility() {
    for scale in [1e-9, 1e-3, 1.0, 1e3, 1e9] {
        for alpha in [0.5, 1.0, 3.0] {
            let application = Application {
                bytes: 1.0 / scale,
                poll_cost: 1.0 / scale,
                maximum: 3.0 * scale,
                ..Application::default()
            };
            let table = table(4, application);
            let utility = Utility {
                fairness: Fairness::Alpha(alpha),
                latency: 0.1 * scale * scale,
            };
            let mut host = Host::new(table.view(), utility, 4.0, 8.0);
            host.dependency = Dependency::AtLeast;
            let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
            let gap = solution.relative_gap();
            assert!(gap < 1e-6, "scale {scale:e}, alpha {alpha}: {gap:e}");
        }
    }
}

#[test]
fn a_price_may_begin_at_nothing() {
    let mut table = table(
        2,
        Application {
            weight: 2.0,
            ..Application::default()
        },
    );
    table.poll_cost[1] = 0.0;
    let utility = Utility {
        fairness: Fairness::Alpha(0.0),
        latency: 0.01,
    };
    let price = [(0.0, 0.0), (3.0, 1.3), (6.0, 13.0)];
    let mut host = Host::new(table.view(), utility, 1.0, 80.0);
    host.rows[0].supply = Supply::Price(&price);
    let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
    assert!((solution.usage[0] - 6.0).abs() < 1e-6, "{solution:?}");
    assert!(solution.relative_gap() < 1e-9);
}

/// A network whose flows all use one row of `capacity`.
fn network(alpha: f64, latency: f64, flows: &[(f64, f64)], load: f64) -> Network {
    Network {
        hosts: 1,
        applications: flows.len(),
        utility: Utility {
            fairness: Fairness::Alpha(alpha),
            latency,
        },
        weight: flows.iter().map(|flow| flow.0).collect(),
        latency_weight: flows.iter().map(|flow| flow.1).collect(),
        completions: vec![1.0; flows.len()],
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows: vec![SharedRow {
            kind: RowKind::Egress,
            host: Some(0),
            capacity: 3.0,
            entries: (0..flows.len()).map(|flow| (flow, load)).collect(),
        }],
    }
}

#[test]
fn rows_are_kept_where_slopes_have_nothing_in_common() {
    // At alpha 8 and rates of millions throughput is worth some 1e-46, latency some 1e1.
    let flows = [(0.8, 0.9), (1.8, 0.0), (1.4, 1.1), (1.5, 0.0)];
    let mut network = network(8.0, 1e13, &flows, 8e-7);
    network.minimum = vec![0.0, 4e5, 0.0, 4e5];
    network.maximum = vec![f64::INFINITY, 1e7, 2e6, f64::INFINITY];
    let source = network.indexed().expect("a network");
    let solution =
        solve_network(&source, &CoupledOptions::default(), &Sequential).expect("a solution");
    assert!(solution.usage[0] <= 3.0 * (1.0 + 1e-11), "{solution:?}");
    assert!(solution.dual_bound >= solution.objective);
    assert!(
        solution.relative_gap() < 1e-5,
        "{:e}",
        solution.relative_gap()
    );
}

#[test]
fn exactly_as_many_count_as_are_to_even_if_they_are_worth_nothing() {
    let network = network(8.0, 0.0, &[(0.0, 1.0), (0.0, 1.0), (1.1, 1.0)], 1.0);
    let selection = Selection {
        choice: Choice::TopUtilities(2),
        outage: 0.0,
    };
    let source = network.indexed().expect("a network");
    let options = CoupledOptions {
        tolerance: 1e-10,
        ..CoupledOptions::default()
    };
    let solution = solve_chosen(&source, selection, &options, &Sequential).expect("a solution");
    // Utilities are negative, so none is best.
    assert_eq!(solution.counts, [true, true, false], "{solution:?}");
    assert_eq!(solution.objective, 0.0);
    assert!(solution.dual_bound < 1e-12, "{solution:?}");
}

#[test]
fn applications_that_share_nothing_have_their_maxima() {
    let mut table = Table::default();
    for maximum in [1.0, 3.0, 0.5] {
        table.push(Application {
            maximum,
            ..Application::default()
        });
    }
    for (alpha, latency) in [(0.0, 0.0), (0.5, 0.1), (1.0, 0.0), (3.0, 1.0)] {
        let utility = Utility {
            fairness: Fairness::Alpha(alpha),
            latency,
        };
        let mut host = Host::new(table.view(), utility, 1.0, 1.0);
        host.rows.clear();
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        for (rate, most) in solution.x.iter().zip([1.0, 3.0, 0.5]) {
            assert!((rate / most - 1.0).abs() < 1e-12, "alpha {alpha}: {rate}");
        }
        assert!(solution.prices.is_empty() && solution.usage.is_empty());
        assert_eq!(solution.status, Status::Optimal);
        let shared = Mode::TimeShare {
            k: 1.0,
            peak: &[2.0, 6.0, 1.0],
        };
        let shared = solve(&host, &shared, &Options::default()).expect("a solution");
        assert_eq!(shared.prices.len(), 1);
        assert!((shared.usage[0] - 1.0).abs() < 1e-9, "{shared:?}");
    }
    table.maximum[1] = f64::INFINITY;
    let utility = Utility {
        fairness: Fairness::Alpha(1.0),
        latency: 0.0,
    };
    let mut host = Host::new(table.view(), utility, 1.0, 1.0);
    host.rows.clear();
    let refused = solve(&host, &Mode::All, &Options::default());
    assert_eq!(refused, Err(Error::Unbounded { application: 1 }));
}

#[test]
fn weights_at_the_end_of_the_range_change_no_rates() {
    let host = |table: &Table, latency: f64| {
        let utility = Utility {
            fairness: Fairness::Alpha(0.5),
            latency,
        };
        let table = table.clone();
        solve(
            &Host::new(table.view(), utility, 3.0, 2.5),
            &Mode::All,
            &Options::default(),
        )
        .expect("a solution")
    };
    let mut table = Table::default();
    for weight in [1.0, 2.0, 0.5] {
        table.push(Application {
            weight,
            ..Application::default()
        });
    }
    let plain = host(&table, 0.1);
    for factor in [1e300, 1e-250] {
        let mut scaled = table.clone();
        scaled
            .weight
            .iter_mut()
            .for_each(|weight| *weight *= factor);
        let found = host(&scaled, 0.1 * factor);
        assert!(found.relative_gap() < 1e-12, "{factor:e}: {found:?}");
        assert!((found.objective / factor / plain.objective - 1.0).abs() < 1e-12);
        for (rate, expected) in found.x.iter().zip(&plain.x) {
            assert!((rate / expected - 1.0).abs() < 1e-9, "{factor:e}: {rate}");
        }
    }
}
