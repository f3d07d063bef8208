//! Certificates where starts are far away, prices are nothing, or one term outweighs the others.

use fairlane_drum::coupled::{
    Choice, CoupledOptions, CoupledSolution, Network, RowKind, Selection, SharedRow,
    solve as solve_network, solve_chosen,
};
use fairlane_drum::{
    Application, Dependency, DualFunction, Error, Fairness, Host, Load, Mode, Options, Row,
    RowName, Sequential, Status, Supply, Table, Utility, resolve, solve,
};

fn throughput(alpha: f64) -> Utility {
    Utility {
        fairness: Fairness::Alpha(alpha),
        latency: 0.0,
    }
}

fn table(applications: &[Application]) -> Table {
    let mut table = Table::default();
    for application in applications {
        table.push(*application);
    }
    table
}

fn row(capacity: f64, loads: &[f64]) -> Row<'_> {
    Row {
        name: RowName::Other("row"),
        load: Load::Requests(loads),
        supply: Supply::Capacity(capacity),
    }
}

/// A network of one host with so many rows that nobody uses that it isn't held.
fn passed_over(utility: Utility, weight: &[f64], rows: &[(f64, &[usize])]) -> Network {
    let shared = |(capacity, users): (f64, &[usize])| SharedRow {
        kind: RowKind::Core,
        host: None,
        capacity,
        entries: users.iter().map(|flow| (*flow, 1.0)).collect(),
    };
    let unused = core::iter::repeat_n((1.0, &[][..]), 501);
    Network {
        hosts: 1,
        applications: weight.len(),
        utility,
        weight: weight.to_vec(),
        latency_weight: vec![1.0; weight.len()],
        completions: vec![1.0; weight.len()],
        minimum: Vec::new(),
        maximum: Vec::new(),
        rows: rows.iter().copied().chain(unused).map(shared).collect(),
    }
}

fn chosen(network: &Network, choice: Choice, outage: f64) -> CoupledSolution {
    let source = network.indexed().expect("a network");
    let options = CoupledOptions {
        tolerance: 1e-9,
        ..CoupledOptions::default()
    };
    let selection = Selection { choice, outage };
    solve_chosen(&source, selection, &options, &Sequential).expect("an answer")
}

#[test]
fn a_flow_without_a_price_gains_without_end() {
    let network = passed_over(
        throughput(2.0),
        &[0.5, 1.0],
        &[(10.0, &[0, 1]), (2.0, &[0])],
    );
    let found = chosen(&network, Choice::ActiveSet(1), -1.0);
    // The second flow alone has ten.
    assert!(found.proven_bound >= -1.1 - 1e-9, "{found:?}");
    let network = passed_over(throughput(1.0), &[2.0, 3.0], &[(5.0, &[0, 1]), (1.0, &[1])]);
    let found = chosen(&network, Choice::TopUtilities(1), 0.0);
    assert!(found.proven_bound >= 2.0 * 5.0_f64.ln() - 1e-9, "{found:?}");
    assert!(found.proven_bound >= found.objective);
}

#[test]
fn values_are_those_of_rates_from_wherever_prices_begin() {
    for (alpha, start) in [
        (1.0, 1e-90),
        (0.05, 1e-30),
        (0.5, 1e-90),
        (2.0, 1e-90),
        (5.0, 1e-90),
    ] {
        let table = table(&[Application::default()]);
        let loads = [1.0];
        let host = Host {
            applications: table.view(),
            utility: throughput(alpha),
            dependency: Dependency::Equality,
            rows: vec![row(0.5, &loads)],
        };
        for start in [start, start * start, 1e250] {
            let found = resolve(&host, &Mode::All, &Options::default(), &[start]);
            let found = found.expect("an answer");
            let value = match alpha {
                1.0 => found.x[0].ln(),
                _ => found.x[0].powf(1.0 - alpha) / (1.0 - alpha),
            };
            let off = (found.objective - value).abs() / value.abs();
            assert!(off < 1e-12, "alpha {alpha} from {start:e}: {found:?}");
            assert!((found.x[0] - 0.5).abs() < 1e-9, "{found:?}");
        }
    }
}

#[test]
fn who_never_polls_has_no_latency_to_speak_of() {
    let one = |weight, latency_weight, completions| Application {
        weight,
        latency_weight,
        completions,
        ..Application::default()
    };
    let table = table(&[one(0.0, 1.0, 1.0), one(1.0, 0.1, 2.0)]);
    let loads = [[2.0, 1.0], [0.5, 2.0], [1.0, 2.0], [0.5, 0.5]];
    let capacities = [
        0.3292703541692493,
        0.7126208323603163,
        0.4687248111750941,
        0.7589901648886535,
    ];
    let rows = capacities.iter().zip(&loads);
    let host = Host {
        applications: table.view(),
        utility: Utility {
            fairness: Fairness::Alpha(0.25),
            latency: 1.0,
        },
        dependency: Dependency::Equality,
        rows: rows
            .map(|(capacity, loads)| row(*capacity, loads))
            .collect(),
    };
    let start = [
        1.1313144866209612e-6,
        0.007573134690102075,
        8.193424991291565e-8,
        5.8632313492712814e-8,
    ];
    let options = Options {
        tolerance: 1e-6,
        ..Options::default()
    };
    let found = resolve(&host, &Mode::All, &options, &start).expect("an answer");
    let plain = solve(&host, &Mode::All, &Options::default()).expect("an answer");
    assert!(found.x[0] > 0.0, "{found:?}");
    let off = (found.objective - plain.objective) / plain.objective;
    assert!(off.abs() < 1e-5, "{found:?} instead of {plain:?}");
}

#[test]
fn prices_that_are_none_bound_nothing() {
    for alpha in [0.5, 1.0, 2.0] {
        let table = table(&[Application::default()]);
        let utility = Utility {
            latency: 1.0,
            ..throughput(alpha)
        };
        let host = Host::new(table.view(), utility, 1.0, 1e9);
        let best = solve(&host, &Mode::All, &Options::default()).expect("an answer");
        let dual = DualFunction::new(&host).expect("one rate each");
        for price in [-1.0, 1e-200, 1e180, 1e200, f64::INFINITY, f64::NAN] {
            let bound = dual.at(&[price, 0.0]);
            assert!(
                bound >= best.objective,
                "alpha {alpha}, {price:e}: {bound:e}"
            );
        }
    }
}

#[test]
fn a_start_that_is_no_price_misleads_nobody() {
    let applications = [1.0, 2.0, 3.0].map(|weight| Application {
        weight,
        ..Application::default()
    });
    let table = table(&applications);
    let host = Host::new(
        table.view(),
        Utility {
            latency: 1.0,
            ..throughput(0.5)
        },
        1.0,
        1.0,
    );
    let outage = [-1.0; 3];
    let mode = Mode::ActiveSet {
        k: 1,
        outage: Some(&outage),
    };
    let plain = solve(&host, &mode, &Options::default()).expect("an answer");
    for start in [[1e-300, 0.0], [1e300, 1.0], [-1.0, 1.0], [f64::NAN, 1.0]] {
        let found = resolve(&host, &mode, &Options::default(), &start).expect("an answer");
        assert_eq!(found.selected, plain.selected, "{start:?}");
        assert!(
            (found.objective - plain.objective).abs() < 1e-9,
            "{start:?}"
        );
    }
}

#[test]
fn networks_whose_values_leave_the_range_are_refused() {
    let network = passed_over(throughput(32.0), &[1.0], &[(1.1e-10, &[0])]);
    let source = network.indexed().expect("a network");
    let found = solve_network(&source, &CoupledOptions::default(), &Sequential);
    assert_eq!(found.expect_err("about -1e307"), Error::Range);
}

#[test]
fn a_selection_is_found_however_rough_the_gap() {
    let one = |weight, completions, minimum, maximum| Application {
        weight,
        completions,
        minimum,
        maximum,
        ..Application::default()
    };
    let table = table(&[
        one(1.0, 2.0, 0.0, f64::INFINITY),
        one(3.0, 1.0, 0.257, f64::INFINITY),
        one(2.0, 0.5, 0.503, f64::INFINITY),
        one(1.0, 2.0, 0.173, f64::INFINITY),
        one(1.0, 2.0, 0.221, 0.278),
    ]);
    let loads = [
        [1.0, 0.0, 0.0, 1.0, 1.0],
        [2.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 2.0, 0.0, 1.0, 2.0],
        [2.0, 2.0, 1.0, 1.0, 0.0],
        [2.0, 2.0, 2.0, 2.0, 0.0],
        [1.0, 2.0, 1.0, 2.0, 1.0],
    ];
    let steps: [&[(f64, f64)]; 3] = [
        &[(0.0, 0.0198), (0.693, 1.595)],
        &[(0.0, 3.209)],
        &[(0.0, 0.0), (0.146, 0.257)],
    ];
    let mut rows: Vec<Row<'_>> = loads.iter().map(|loads| row(1.0, loads)).collect();
    rows[0].load = Load::Completions(&loads[0]);
    rows[5].load = Load::Completions(&loads[5]);
    rows[0].supply = Supply::Price(steps[0]);
    rows[1].supply = Supply::Capacity(0.625);
    rows[2].supply = Supply::Price(steps[1]);
    rows[3].supply = Supply::Capacity(0.177);
    rows[4].supply = Supply::Price(steps[2]);
    rows[5].supply = Supply::Capacity(0.304);
    let host = Host {
        applications: table.view(),
        utility: throughput(0.0),
        dependency: Dependency::Equality,
        rows,
    };
    let options = Options {
        tolerance: 0.3,
        nodes: 0,
        ..Options::default()
    };
    let mode = Mode::ActiveSet { k: 2, outage: None };
    let found = solve(&host, &mode, &options).expect("nobody needs anything");
    assert!(found.proven_bound >= found.objective, "{found:?}");
}

#[test]
fn floors_that_fill_a_row_leave_a_level_of_nothing() {
    let utility = Utility {
        fairness: Fairness::MaxMin,
        latency: 0.0,
    };
    for part in 1..200 {
        let application = |minimum| Application {
            minimum,
            ..Application::default()
        };
        let floors = [f64::from(part) / 7.0, 0.3, 0.0].map(application);
        let table = table(&floors);
        let loads = [1.0, 1.3, 0.7];
        let filled: f64 = floors
            .iter()
            .zip(loads)
            .map(|(a, load)| a.minimum * load)
            .sum();
        for capacity in [filled, filled.next_up(), filled.next_up().next_up()] {
            let host = Host {
                applications: table.view(),
                utility,
                dependency: Dependency::Equality,
                rows: vec![row(capacity, &loads)],
            };
            let found = solve(&host, &Mode::All, &Options::default()).expect("floors fit");
            assert_eq!(found.status, Status::Optimal, "{capacity}: {found:?}");
        }
    }
}
