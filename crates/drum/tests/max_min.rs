//! Max-min shares: filled as far as they go, and the limit of great alpha.

use fairlane_drum::{
    Application, Error, Fairness, Host, Load, Mode, Options, Row, RowName, Solution, Supply, Table,
    Utility, solve,
};

use crate::instances::{Instance, Random, check_feasible, tied, usage};

const MAX_MIN: Utility = Utility {
    fairness: Fairness::MaxMin,
    latency: 0.0,
};

fn random_host(random: &mut Random) -> Instance {
    let m = 1 + (random.bits() % 12) as usize;
    let mut instance = Instance::random(random, m, m, 1.0, 0.0);
    if random.pick(&[true, false]) {
        let loads = (0..m).map(|_| random.pick(&[0.0, 0.5, 1.0])).collect();
        instance.requests = Some((loads, m as f64 * random.within(0.1, 0.6)));
    }
    for j in 0..m {
        instance.table.maximum[j] = random.pick(&[f64::INFINITY, f64::INFINITY, 0.3, 0.9]);
        instance.table.minimum[j] = random.pick(&[0.0, 0.0, 0.05]);
        instance.table.weight[j] *= random.pick(&[1.0, 1.0, 1.0, 0.0]);
    }
    instance
}

fn solved(host: &Host<'_>) -> Solution {
    solve(host, &Mode::All, &Options::default()).expect("a solution")
}

/// Whether no rate can rise but at the cost of one that is smaller for its weight: someone who could rise
/// uses a full row in which nobody has more for its weight, unless held there by a minimum.
fn check_fair(host: &Host<'_>, solution: &Solution) {
    let apps = &host.applications;
    for j in 0..apps.len() {
        let level = solution.x[j] / apps.weight[j];
        if apps.weight[j] == 0.0 {
            assert_eq!(solution.x[j], apps.minimum[j]);
            continue;
        }
        if solution.x[j] >= apps.maximum[j] * (1.0 - 1e-9) {
            continue;
        }
        let stopped = host.rows.iter().any(|row| {
            let Supply::Capacity(capacity) = row.supply else {
                return false;
            };
            let mut only = vec![0.0; apps.len()];
            let mut uses = |i: usize| {
                only.fill(0.0);
                only[i] = 1.0;
                usage(host, row, &only, &tied(host, &only)) > 0.0
            };
            let full = usage(host, row, &solution.x, &solution.z) >= capacity * (1.0 - 1e-9);
            full && uses(j)
                && (0..apps.len()).filter(|&i| uses(i)).all(|i| {
                    solution.x[i] <= apps.weight[i] * level * (1.0 + 1e-9)
                        || solution.x[i] <= apps.minimum[i] * (1.0 + 1e-9)
                })
        });
        assert!(stopped, "{j} could rise: {host:?} {solution:?}");
    }
}

#[test]
fn nobody_can_rise_without_lowering_someone_with_less() {
    let mut random = Random(3);
    for _ in 0..500 {
        let instance = random_host(&mut random);
        let mut host = instance.host();
        host.utility = MAX_MIN;
        match solve(&host, &Mode::All, &Options::default()) {
            Ok(solution) => {
                check_feasible(&host, &solution, |_| true);
                check_fair(&host, &solution);
                assert!(solution.relative_gap() < 1e-12, "{host:?} {solution:?}");
            }
            Err(error) => assert!(matches!(error, Error::Infeasible { .. }), "{error}"),
        }
    }
}

#[test]
fn the_level_is_the_least_share_and_prices_prove_it() {
    let mut random = Random(4);
    let instance = Instance::random(&mut random, 6, 6, 1.0, 0.0);
    let mut host = instance.host();
    host.utility = MAX_MIN;
    let solution = solved(&host);
    let shares = solution
        .x
        .iter()
        .zip(host.applications.weight)
        .map(|(x, w)| x / w);
    let least = shares.fold(f64::INFINITY, f64::min);
    assert!((solution.objective / least - 1.0).abs() < 1e-12);
    // A little more of the full row raises the level by its price.
    let row = solution
        .prices
        .iter()
        .position(|price| *price > 0.0)
        .expect("a full row");
    let more = 1e-4;
    let Supply::Capacity(capacity) = host.rows[row].supply else {
        panic!("a capacity")
    };
    host.rows[row].supply = Supply::Capacity(capacity + more);
    let raised = solved(&host);
    let slope = (raised.objective - solution.objective) / more;
    assert!((slope / solution.prices[row] - 1.0).abs() < 1e-6, "{slope}");
}

#[test]
fn great_alpha_comes_close() {
    // Where weights are shares of rate, w = omega^alpha (specification, 3.5).
    let mut random = Random(5);
    let shares = Instance::random(&mut random, 8, 8, 32.0, 0.0);
    let mut fair = shares.host();
    fair.utility = MAX_MIN;
    let limit = solved(&fair);
    let mut powers = shares.clone();
    for weight in &mut powers.table.weight {
        *weight = weight.powi(32);
    }
    let near = solved(&powers.host());
    for (near, limit) in near.x.iter().zip(&limit.x) {
        assert!((near / limit - 1.0).abs() < 0.1, "{near} against {limit}");
    }
}

#[test]
fn prices_of_rows_are_refused() {
    let mut random = Random(6);
    let mut instance = Instance::random(&mut random, 3, 3, 1.0, 0.0);
    instance.price = Some(vec![(0.0, 1.0)]);
    let mut host = instance.host();
    host.utility = MAX_MIN;
    let refusal = solve(&host, &Mode::All, &Options::default());
    assert!(
        matches!(refusal, Err(Error::Unsupported { .. })),
        "{refusal:?}"
    );
}

#[test]
fn a_row_that_is_just_full_at_maxima_has_no_price() {
    let mut random = Random(3);
    for _ in 0..200 {
        let mut table = Table::default();
        for j in 0..6 {
            table.push(Application {
                weight: random.within(0.5, 2.0),
                maximum: if j < 4 {
                    random.within(0.1, 0.3)
                } else {
                    f64::INFINITY
                },
                ..Application::default()
            });
        }
        let first: Vec<f64> = (0..6)
            .map(|j| if j < 4 { random.within(0.5, 2.0) } else { 0.0 })
            .collect();
        let second = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0];
        let full: f64 = (0..4).map(|j| first[j] * table.maximum[j]).sum();
        let row = |name, loads, capacity| Row {
            name: RowName::Other(name),
            load: Load::Requests(loads),
            supply: Supply::Capacity(capacity),
        };
        let mut host = Host::new(table.view(), MAX_MIN, 1.0, 1.0);
        host.rows = vec![row("just full", &first, full), row("limits", &second, 9.0)];
        let solution = solved(&host);
        let level = 9.0 / (table.weight[4] + table.weight[5]);
        assert!(
            (solution.objective - level).abs() < 1e-9 * level,
            "{solution:?}"
        );
        assert!(solution.relative_gap() < 1e-9, "{solution:?}");
        assert_eq!(solution.prices[0], 0.0);
        assert!(solution.prices[1] > 0.0);
    }
}
