//! Greatest throughput: linear programs whose prices prove the optimum.

use fairlane_drum::{Fairness, Host, Load, Mode, Options, Solution, Supply, Utility, solve};

use crate::instances::{Instance, Random, check_feasible, value};

/// The least a linear program can be worth at most, recomputed from prices alone.
fn bound(host: &Host<'_>, solution: &Solution) -> f64 {
    let apps = &host.applications;
    let rows = host.rows.iter().zip(&solution.prices);
    let supply = rows.map(|(row, price)| match row.supply {
        Supply::Capacity(capacity) => capacity * price,
        // What supplying is worth at most: a sum over segments whose slope is below the price.
        Supply::Price(segments) => (0..segments.len() - 1)
            .map(|i| (price - segments[i].1).max(0.0) * (segments[i + 1].0 - segments[i].0))
            .sum(),
    });
    let surplus = (0..apps.len()).map(|j| {
        let load = |row: &fairlane_drum::Row<'_>| match row.load {
            Load::Bytes => apps.bytes[j],
            Load::Polls => apps.poll_cost[j] * apps.completions[j],
            Load::Requests(loads) => loads[j],
            Load::Completions(loads) => loads[j] * apps.completions[j],
        };
        let rows = host.rows.iter().zip(&solution.prices);
        let cost: f64 = rows.map(|(row, price)| load(row) * price).sum();
        let gain = apps.weight[j] - cost;
        // Rates without a maximum stop where a capacity does.
        let reach = host.rows.iter().map(|row| match row.supply {
            Supply::Capacity(capacity) => capacity / load(row),
            Supply::Price(_) => 100.0,
        });
        let most = reach.fold(apps.maximum[j], f64::min);
        (gain * apps.minimum[j]).max(gain * most)
    });
    supply.sum::<f64>() + surplus.sum::<f64>()
}

#[test]
fn prices_prove_every_optimum() {
    let mut random = Random(8);
    let mut degenerate = 0;
    for number in 0..500 {
        let m = 1 + (random.bits() % 30) as usize;
        let mut instance = Instance::random(&mut random, m, m, 0.0, 0.0);
        if random.pick(&[true, false]) {
            let loads = (0..m).map(|_| random.pick(&[0.0, 0.5, 1.0])).collect();
            instance.requests = Some((loads, m as f64 * random.within(0.1, 0.6)));
        }
        let most = random.pick(&[f64::INFINITY, 1.0, 3.0]);
        instance.table.maximum.fill(most);
        instance.table.minimum.fill(random.pick(&[0.0, 0.05]));
        if random.pick(&[true, false, false]) {
            // Everyone alike: many ties.
            instance.table.weight.fill(1.0);
            instance.table.bytes.fill(1.0);
            degenerate += 1;
        }
        if number % 5 == 0 {
            instance.price = Some(vec![(0.0, 0.1), (1.0, 0.5), (4.0, 5.0)]);
        }
        let host = instance.host();
        let solution = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        let context = format!("{number}: {instance:?} {solution:?}");
        check_feasible(&host, &solution, |_| true);
        let worth = value(&host, &solution.x, &solution.z, |_| true, |_| true);
        let scale = worth.abs().max(1.0);
        assert!(
            (worth - solution.objective).abs() < 1e-12 * scale,
            "{context}"
        );
        assert!(
            (bound(&host, &solution) - worth).abs() < 1e-9 * scale,
            "{context}: {}",
            bound(&host, &solution)
        );
        assert!(solution.relative_gap() < 1e-12, "{context}");
    }
    assert!(degenerate > 50);
}

#[test]
fn steps_grow_with_rows_and_not_with_applications() {
    let mut random = Random(9);
    let mut most = 0;
    for _ in 0..5 {
        let mut instance = Instance::random(&mut random, 5000, 2500, 0.0, 0.0);
        instance.table.maximum.fill(1.0);
        let solution =
            solve(&instance.host(), &Mode::All, &Options::default()).expect("a solution");
        assert!(solution.relative_gap() < 1e-12);
        most = most.max(solution.iterations);
    }
    assert!(most < 40, "{most} steps");
}

#[test]
fn throughput_is_the_limit_of_small_alpha() {
    let mut random = Random(10);
    let mut instance = Instance::random(&mut random, 10, 5, 0.0, 0.0);
    instance.table.maximum.fill(1.5);
    let exact = solve(&instance.host(), &Mode::All, &Options::default()).expect("a solution");
    let mut host = instance.host();
    host.utility = Utility {
        fairness: Fairness::Alpha(1e-4),
        latency: 0.0,
    };
    let near = solve(&host, &Mode::All, &Options::default()).expect("a solution");
    let throughput = value(&instance.host(), &near.x, &near.z, |_| true, |_| true);
    assert!(
        (throughput / exact.objective - 1.0).abs() < 1e-2,
        "{throughput} {}",
        exact.objective
    );
}
