//! Selections against every other selection.

use fairlane_drum::{
    Application, Dependency, Error, Fairness, Host, Load, Mode, Options, Solution, Status, Supply,
    Table, Utility, solve,
};

use crate::instances::{
    Instance, Random, best_active_set, best_utilities, check_feasible, tied, value,
};

const ALPHAS: [f64; 7] = [0.0, 0.25, 0.5, 0.9, 1.0, 2.0, 3.0];

/// A host that differs from others in everything that a host can have.
fn random_instance(random: &mut Random) -> (Instance, usize) {
    let m = 2 + (random.bits() % 8) as usize;
    let k = 1 + (random.bits() % m as u64) as usize;
    let alpha = random.pick(&ALPHAS);
    let beta = random.pick(&[0.0, 0.0, 0.001, 0.05, 1.0]);
    let mut instance = Instance::random(random, m, k, alpha, beta);
    match random.bits() % 4 {
        0 => {
            let loads = (0..m).map(|_| random.within(0.2, 1.0)).collect();
            instance.requests = Some((loads, k as f64 * random.within(0.2, 0.8)));
        }
        1 if alpha > 0.0 => {
            let end = k as f64 * random.within(0.5, 1.5);
            instance.price = Some(vec![(0.0, 0.1), (0.5 * end, 0.4), (end, 4.0)]);
        }
        2 => {
            for j in 0..m {
                instance.table.maximum[j] = random.pick(&[f64::INFINITY, 0.5, 1.0]);
            }
        }
        _ => {}
    }
    // At alpha 0 rates of requests with polls as attempts are a linear program without a solver.
    if random.bits().is_multiple_of(4) && alpha > 0.0 {
        instance.dependency = Dependency::AtLeast;
    }
    (instance, k)
}

fn check_bound(solution: &Solution, optimum: f64, context: &str) {
    let scale = optimum.abs().max(1e-3);
    assert!(
        (solution.objective - optimum).abs() <= 1e-9 * scale,
        "{context}: {} instead of {optimum}",
        solution.objective
    );
    assert!(
        solution.dual_bound >= optimum - 1e-12 * scale,
        "{context}: bound {} below {optimum}",
        solution.dual_bound
    );
    assert!(
        (optimum - 1e-12 * scale..=solution.dual_bound).contains(&solution.proven_bound),
        "{context}: proven bound {} of {optimum}",
        solution.proven_bound
    );
    assert!(
        solution.status == Status::Optimal,
        "{context}: {:?}",
        solution.status
    );
}

#[test]
fn no_active_set_is_better() {
    let mut random = Random(1);
    for number in 0..400 {
        let (mut instance, k) = random_instance(&mut random);
        let m = instance.table.len();
        let natural = instance.alpha < 1.0 && instance.beta == 0.0;
        let given = !natural || random.pick(&[true, false]);
        // Outage values are those of a rate far below the fair share.
        let rate = vec![random.pick(&[0.01, 0.1]); m];
        let outages: Vec<f64> = (0..m)
            .map(|j| {
                if given {
                    {
                        let mut host = instance.host();
                        host.rows.clear();
                        value(&host, &rate, &tied(&host, &rate), |_| true, |i| i == j)
                    }
                } else {
                    0.0
                }
            })
            .collect();
        if given && random.pick(&[true, false, false]) {
            for j in 0..m {
                let limit = instance.table.maximum[j];
                instance.table.minimum[j] = limit.min(random.pick(&[0.0, 0.3]));
            }
        }
        let host = instance.host();
        let mode = Mode::ActiveSet {
            k,
            outage: given.then_some(&outages[..]),
        };
        let solution = solve(&host, &mode, &Options::default());
        let solution = solution.unwrap_or_else(|error| panic!("{number}: {error}: {instance:?}"));
        let (optimum, set) = best_active_set(&host, k, &outages);
        let context = format!("{number}: k {k}, best {set:?}, {instance:?}, {solution:?}");
        check_bound(&solution, optimum, &context);
        assert!(solution.selected.len() <= k);
        let sends = |j: usize| solution.selected.contains(&j);
        check_feasible(&host, &solution, sends);
        let out: f64 = (0..m).filter(|j| !sends(*j)).map(|j| outages[j]).sum();
        let worth = value(&host, &solution.x, &solution.z, |_| true, sends) + out;
        assert!(
            (worth - solution.objective).abs() <= 1e-9 * worth.abs().max(1e-3),
            "{context}: {worth}"
        );
    }
}

#[test]
fn a_search_that_is_cut_short_proves_what_it_has_seen() {
    let mut random = Random(8);
    let mut between = 0;
    for number in 0..200 {
        let beta = random.pick(&[0.0, 0.05]);
        let instance = Instance::random(&mut random, 7, 2, 0.5, beta);
        let host = instance.host();
        let outages = vec![-2.0; 7];
        let mode = Mode::ActiveSet {
            k: 2,
            outage: Some(&outages),
        };
        let options = Options {
            nodes: 1 + number % 4,
            ..Options::default()
        };
        let solution = solve(&host, &mode, &options).expect("a solution");
        let (optimum, _) = best_active_set(&host, 2, &outages);
        assert!(solution.objective <= optimum + 1e-9 * optimum.abs());
        assert!(
            solution.proven_bound >= optimum - 1e-9 * optimum.abs(),
            "{number}: {optimum} {solution:?}"
        );
        assert!(solution.proven_bound <= solution.dual_bound);
        between += usize::from(solution.proven_bound < solution.dual_bound);
    }
    assert!(between > 5, "{between}");
}

#[test]
fn no_other_utilities_are_better() {
    let mut random = Random(2);
    for number in 0..400 {
        let (instance, k) = random_instance(&mut random);
        let host = instance.host();
        let solution = solve(&host, &Mode::TopUtilities { k }, &Options::default());
        let solution = solution.unwrap_or_else(|error| panic!("{number}: {error}: {instance:?}"));
        let (optimum, set) = best_utilities(&host, k);
        let context = format!("{number}: k {k}, best {set:?}, {instance:?}, {solution:?}");
        check_bound(&solution, optimum, &context);
        assert_eq!(solution.selected.len(), k, "{context}");
        check_feasible(&host, &solution, |_| true);
        let counted = |j: usize| solution.selected.contains(&j);
        let worth = value(&host, &solution.x, &solution.z, counted, |_| true);
        if worth.is_finite() {
            assert!(
                (worth - solution.objective).abs() <= 1e-9 * worth.abs().max(1e-3),
                "{context}: {worth}"
            );
        }
    }
}

/// Two applications with square roots for utility that share 4.
fn two() -> Table {
    let mut table = Table::default();
    for _ in 0..2 {
        table.push(Application::default());
    }
    table
}

const ROOT: Utility = Utility {
    fairness: Fairness::Alpha(0.5),
    latency: 0.0,
};

#[test]
fn the_best_of_two_is_not_concave() {
    // Erratum E1: 4 at (4, 0) and at (0, 4), 2.83 in the middle. Lemma 1 would make the middle best.
    let table = two();
    let host = Host::new(table.view(), ROOT, 4.0, 100.0);
    let modes = [
        Mode::TopUtilities { k: 1 },
        Mode::ActiveSet { k: 1, outage: None },
    ];
    for mode in modes {
        let solution = solve(&host, &mode, &Options::default()).expect("a solution");
        assert!((solution.objective - 4.0).abs() < 1e-12, "{solution:?}");
        assert!(
            (solution.x[0] - 4.0).abs() < 1e-9 && solution.x[1] < 1e-9,
            "{solution:?}"
        );
        assert!(solution.dual_bound >= 4.0);
        // Ties go to the lower index.
        assert_eq!(solution.selected, [0]);
    }
    let counted = |a: f64, b: f64| (2.0 * a.sqrt()).max(2.0 * b.sqrt());
    assert!(counted(2.0, 2.0) < 0.5 * (counted(4.0, 0.0) + counted(0.0, 4.0)) - 1.0);
}

#[test]
fn rates_of_a_bounded_product_are_not_convex() {
    // Erratum E2: (e^4, e^-4) and (e^-4, e^4) have a sum of logarithms of 0, their middle one of 6.61.
    let sum = |a: f64, b: f64| a.ln() + b.ln();
    let (large, small) = (4.0_f64.exp(), (-4.0_f64).exp());
    let middle = 0.5 * (large + small);
    assert!(sum(large, small).abs() < 1e-12 && (sum(middle, middle) - 6.61).abs() < 0.01);
}

#[test]
fn logarithms_of_rates_bound_nothing() {
    // Erratum E3: m = 50, a = 5.5, beta = 1, c = 15. One rate grows and the others shrink so that
    // the sum of logarithms stays: the value has no limit, and capacities give it one.
    let (m, a, c) = (50.0_f64, 5.5_f64, 15.0_f64);
    let value = |rate: f64| {
        let other = ((c - m * a.ln() - rate.ln()) / (m - 1.0)).exp();
        let latency = (a * rate).powi(-2) + (m - 1.0) * (a * other).powi(-2);
        2.0 * rate.sqrt() + 19.0 * 2.0 * other.sqrt() - latency
    };
    let values = [1.0, 1e4, 1e8, 1e12, 1e16].map(value);
    let expected = [-7.95, 175.0, 2.0e4, 2.0e6, 2.0e8];
    for (value, expected) in values.iter().zip(expected) {
        assert!((value / expected - 1.0).abs() < 0.01, "{values:?}");
    }
}

#[test]
fn an_unselected_rate_makes_the_bound_on_logarithms_vacuous() {
    // Erratum E4: in the x-step an unselected rate costs rho/2 (a x - z + u)^2, which stays near its value at
    // 0 however small the rate gets, while the sum of logarithms falls below any q.
    let (rho, a, z, u) = (1e-3_f64, 5.5_f64, 1.3_f64, 0.02_f64);
    let cost = |x: f64| 0.5 * rho * (a * x - z + u).powi(2);
    let others = 49.0 * 10.0_f64.ln();
    for q in [0.0, -100.0, -300.0] {
        let small = (q - others).exp();
        assert!(small.ln() + others <= q + 1e-9);
        assert!(cost(small) - cost((z - u) / a) < 1e-3, "{q}");
    }
}

#[test]
fn the_order_of_applications_does_not_matter() {
    let mut random = Random(3);
    for _ in 0..40 {
        let (instance, k) = random_instance(&mut random);
        if instance.requests.is_some() {
            continue;
        }
        let m = instance.table.len();
        let mut turned = instance.clone();
        turned.table.clear();
        for j in 0..m {
            turned.table.push(instance.table.application((j + 1) % m));
        }
        let mode = Mode::TopUtilities { k };
        let here = solve(&instance.host(), &mode, &Options::default()).expect("a solution");
        let there = solve(&turned.host(), &mode, &Options::default()).expect("a solution");
        let scale = here.objective.abs().max(1e-3);
        assert!((here.objective - there.objective).abs() < 1e-9 * scale);
        for j in 0..m {
            let (own, other) = (here.x[(j + 1) % m], there.x[j]);
            assert!(
                (own - other).abs() < 1e-5 * own.max(1e-3),
                "{own} {other}: {instance:?}"
            );
        }
    }
}

#[test]
fn units_do_not_matter() {
    // Capacities t times as large, weights t^(alpha - 1) and latency weights t^2: rates t times as large.
    let mut random = Random(4);
    for _ in 0..40 {
        let (mut instance, k) = random_instance(&mut random);
        instance.price = None;
        if instance.alpha == 1.0 {
            continue;
        }
        let t = 1e6;
        let mut large = instance.clone();
        (large.egress, large.poll) = (t * instance.egress, t * instance.poll);
        if let Some((_, capacity)) = &mut large.requests {
            *capacity *= t;
        }
        for j in 0..large.table.len() {
            large.table.weight[j] *= t.powf(instance.alpha - 1.0);
            large.table.latency_weight[j] *= t * t;
            large.table.minimum[j] *= t;
            large.table.maximum[j] *= t;
        }
        let mode = Mode::TopUtilities { k };
        let here = solve(&instance.host(), &mode, &Options::default()).expect("a solution");
        let there = solve(&large.host(), &mode, &Options::default()).expect("a solution");
        let scale = here.objective.abs().max(1e-3);
        assert!(
            (here.objective - there.objective).abs() < 1e-9 * scale,
            "{instance:?}\n{here:?}\n{there:?}"
        );
        assert_eq!(here.selected, there.selected);
    }
}

fn refusal(mode: Mode<'_>, utility: Utility) -> Error {
    let table = two();
    let host = Host::new(table.view(), utility, 4.0, 4.0);
    solve(&host, &mode, &Options::default()).expect_err("a refusal")
}

#[test]
fn what_has_no_meaning_is_refused() {
    let log = Utility {
        fairness: Fairness::Alpha(1.0),
        latency: 0.0,
    };
    let latency = Utility {
        latency: 0.1,
        ..ROOT
    };
    let max_min = Utility {
        fairness: Fairness::MaxMin,
        latency: 0.0,
    };
    let active = |k, outage| Mode::ActiveSet { k, outage };
    for utility in [log, latency] {
        let error = refusal(active(1, None), utility);
        assert!(
            matches!(error, Error::Unsupported { .. }) && error.hint().is_some(),
            "{error}"
        );
    }
    assert!(matches!(
        refusal(active(1, None), max_min),
        Error::Unsupported { .. }
    ));
    for k in [0, 3] {
        assert!(matches!(
            refusal(active(k, None), ROOT),
            Error::Selection { .. }
        ));
        assert!(matches!(
            refusal(Mode::TopUtilities { k }, ROOT),
            Error::Selection { .. }
        ));
    }
    assert!(matches!(
        refusal(active(1, Some(&[0.0])), ROOT),
        Error::Shape { .. }
    ));
    assert!(matches!(
        refusal(active(1, Some(&[0.0, f64::NAN])), ROOT),
        Error::Number { .. }
    ));
    let peaks = [1.0, f64::INFINITY];
    let share = |k, peak| Mode::TimeShare { k, peak };
    assert!(matches!(
        refusal(share(1.0, &peaks), ROOT),
        Error::Number { .. }
    ));
    assert!(matches!(
        refusal(share(0.0, &[1.0, 1.0]), ROOT),
        Error::Number { .. }
    ));
    assert!(matches!(
        refusal(share(1.0, &[1.0]), ROOT),
        Error::Shape { .. }
    ));
}

#[test]
fn floors_hold_for_those_who_are_active() {
    let mut table = two();
    table.push(Application {
        weight: 0.01,
        minimum: 0.5,
        ..Application::default()
    });
    table.minimum.fill(0.5);
    let host = Host::new(table.view(), ROOT, 4.0, 4.0);
    let mode = Mode::ActiveSet { k: 1, outage: None };
    let solution = solve(&host, &mode, &Options::default()).expect("a solution");
    assert_eq!(
        (solution.selected.as_slice(), solution.x[2]),
        (&[0][..], 0.0)
    );
    assert!(solution.status == Status::Optimal && solution.x[0] >= 0.5);
    // Only who is worth minus infinity otherwise has to be active.
    let outage = [0.0, f64::NEG_INFINITY, 0.0];
    let mode = Mode::ActiveSet {
        k: 1,
        outage: Some(&outage),
    };
    let solution = solve(&host, &mode, &Options::default()).expect("a solution");
    assert_eq!(solution.selected, [1]);
    assert!((solution.objective - 4.0).abs() < 1e-12);
}

#[test]
fn at_alpha_0_a_row_may_cost_just_what_is_gained() {
    let throughput = Utility {
        fairness: Fairness::Alpha(0.0),
        latency: 0.0,
    };
    let mut random = Random(31);
    for case in 0..1000 {
        let m = 3 + (random.bits() % 4) as usize;
        let mut table = Table::default();
        for _ in 0..m {
            table.push(Application {
                weight: random.pick(&[0.5, 1.0, 1.5]),
                bytes: random.pick(&[0.5, 1.0, 2.0]),
                ..Application::default()
            });
        }
        let load = |j: usize| table.weight[j] / table.bytes[j];
        // The last slope takes away all that the best application gains.
        let last = (0..m).map(load).fold(0.0, f64::max);
        let price = [(0.0, 0.1 * last), (2.0, 0.5 * last), (4.0, last)];
        let mut host = Host::new(table.view(), throughput, 1.0, 1.0);
        host.rows.truncate(1);
        host.rows[0].supply = Supply::Price(&price);
        let mut loads = vec![vec![0.0; m]; 2];
        loads
            .iter_mut()
            .flatten()
            .for_each(|load| *load = random.within(0.0, 1.0).round());
        for (number, loads) in loads.iter().enumerate() {
            let slopes = if number == 0 { &price[..2] } else { &price[..] };
            let mut row = host.rows[0];
            row.load = Load::Requests(loads);
            row.supply = Supply::Price(slopes);
            host.rows.push(row);
        }
        let k = 1 + (random.bits() % 2) as usize;
        let mode = Mode::ActiveSet { k, outage: None };
        let Ok(solution) = solve(&host, &mode, &Options::default()) else {
            panic!("case {case}: refused");
        };
        let mut best = 0.0_f64;
        for set in 1_u32..1 << m {
            let chosen: Vec<usize> = (0..m).filter(|j| set >> j & 1 == 1).collect();
            if chosen.len() <= k {
                let found = solve(&host, &Mode::Selected(&chosen), &Options::default());
                best = best.max(found.expect("a selection has a value").objective);
            }
        }
        check_bound(&solution, best, &format!("case {case}"));
    }
}

/// A host of two rows, each used as `loads` say.
fn of_two_rows<'a>(table: &'a Table, loads: &'a [Vec<f64>; 2], capacity: f64) -> Host<'a> {
    let utility = Utility {
        fairness: Fairness::Alpha(0.5),
        latency: 0.0,
    };
    let mut host = Host::new(table.view(), utility, capacity, capacity);
    for (row, loads) in host.rows.iter_mut().zip(loads) {
        row.load = Load::Requests(loads);
    }
    host
}

#[test]
fn who_has_to_be_active_is() {
    let mut table = Table::default();
    (0..3).for_each(|_| table.push(Application::default()));
    let loads = [vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 1.0]];
    let mut host = of_two_rows(&table, &loads, 1.0);
    for (alpha, forced) in [(0.5, 1), (1.0, 2), (2.0, 1)] {
        host.utility.fairness = Fairness::Alpha(alpha);
        let mut outage = [-50.0; 3];
        outage[forced] = f64::NEG_INFINITY;
        let mode = Mode::ActiveSet {
            k: 1,
            outage: Some(&outage),
        };
        let solution = solve(&host, &mode, &Options::default()).expect("a solution");
        assert_eq!(solution.selected, [forced], "alpha {alpha}: {solution:?}");
    }
}

#[test]
fn a_search_may_have_fewer_candidates_than_places() {
    let mut random = Random(5);
    for round in 0..20 {
        let mut table = Table::default();
        let n = 200;
        for number in 0..n {
            table.push(Application {
                weight: random.within(1.0, 1.01),
                minimum: if number % 5 == 0 { 1e9 } else { 0.6 },
                ..Application::default()
            });
        }
        let loads = [(); 2].map(|()| (0..n).map(|_| random.within(1.0, 1.3)).collect());
        let host = of_two_rows(&table, &loads, 0.31 * n as f64);
        let outage = vec![0.1; n];
        let mode = Mode::ActiveSet {
            k: n - 1,
            outage: Some(&outage),
        };
        let options = Options {
            nodes: 50,
            ..Options::default()
        };
        let solution = solve(&host, &mode, &options).expect("a solution");
        check_feasible(&host, &solution, |j| solution.selected.contains(&j));
        assert!(solution.proven_bound >= solution.objective, "{round}");
    }
}
