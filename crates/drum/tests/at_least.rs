//! Polls as attempts: rates are feasible, and nothing feasible is worth more than the bound.

use fairlane_drum::{
    Application, Dependency, Fairness, Host, Mode, Options, Table, Utility, solve,
};

use crate::common::{Owned, Random};

fn worth(host: &Host<'_>, x: &[f64], z: &[f64]) -> f64 {
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        panic!("alpha-fair hosts only")
    };
    let apps = &host.applications;
    (0..x.len())
        .map(|j| {
            let utility = if alpha == 1.0 {
                x[j].ln()
            } else {
                x[j].powf(1.0 - alpha) / (1.0 - alpha)
            };
            let latency = host.utility.latency * apps.latency_weight[j] / (z[j] * z[j]);
            apps.weight[j] * utility - latency
        })
        .sum()
}

#[test]
fn rates_are_best_and_feasible() {
    let mut random = Random(3);
    let mut apart = 0;
    for number in 0..200 {
        let alpha = random.pick(&[0.5, 1.0, 2.0]);
        let beta = random.pick(&[0.01, 0.1, 1.0]);
        let m = 2 + (random.bits() % 6) as usize;
        let owned = Owned::random(&mut random, m, alpha, beta);
        let mut host = owned.host();
        let tied = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        host.dependency = Dependency::AtLeast;
        let own = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        assert!(own.relative_gap() < 1e-9, "host {number}: {own:?}");
        assert!((worth(&host, &own.x, &own.z) / own.objective - 1.0).abs() < 1e-9);
        // Polling more often than needed can only help.
        assert!(
            own.objective >= tied.objective - 1e-9 * tied.objective.abs(),
            "host {number}: {host:?} {own:?} {tied:?}"
        );
        let apps = &host.applications;
        for j in 0..m {
            let least = apps.completions[j] * own.x[j];
            assert!(own.z[j] >= least * (1.0 - 1e-12), "host {number}: {own:?}");
            apart += usize::from(own.z[j] > least * 1.001);
        }
        assert!(own.usage[0] <= owned.egress * (1.0 + 1e-12));
        assert!(own.usage[1] <= owned.poll * (1.0 + 1e-12));
        for _ in 0..20 {
            check_random_point(&mut random, &owned, &host, own.dual_bound);
        }
    }
    assert!(
        apart > 50,
        "only {apart} applications poll more often than they must"
    );
}

/// A random feasible point is not worth more than the bound.
fn check_random_point(random: &mut Random, owned: &Owned, host: &Host<'_>, bound: f64) {
    let apps = &host.applications;
    let within = |low: f64, high: f64, random: &mut Random| random.within(low, high.min(low + 2.0));
    let x: Vec<f64> = (0..apps.len())
        .map(|j| within(apps.minimum[j].max(0.01), apps.maximum[j], random))
        .collect();
    let z: Vec<f64> = (0..apps.len())
        .map(|j| apps.completions[j] * x[j] * random.within(1.0, 2.0))
        .collect();
    let egress: f64 = x.iter().zip(apps.bytes).map(|(x, b)| x * b).sum();
    let poll: f64 = z.iter().zip(apps.poll_cost).map(|(z, d)| z * d).sum();
    if egress <= owned.egress && poll <= owned.poll {
        assert!(worth(host, &x, &z) <= bound + 1e-9 * bound.abs());
    }
}

#[test]
fn latency_that_counts_next_to_nothing_leaves_no_gap() {
    for beta in [1e-3, 1e-6, 1e-9, 1e-12] {
        let mut table = Table::default();
        for (weight, bytes, poll_cost) in [(1.3, 1.5, 1.0), (1.2, 1.3, 0.9)] {
            table.push(Application {
                weight,
                bytes,
                poll_cost,
                ..Application::default()
            });
        }
        let utility = Utility {
            fairness: Fairness::Alpha(0.2),
            latency: beta,
        };
        let mut host = Host::new(table.view(), utility, 4.0, 5.8);
        host.dependency = Dependency::AtLeast;
        let own = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        assert!(own.relative_gap() < 1e-9, "beta {beta:e}: {own:?}");
        assert!(own.z.iter().zip(&own.x).all(|(z, x)| z > x), "{own:?}");
    }
}
