//! A generic convex solver finds the same rates.

use fairlane_drum::{Mode, Options, solve};

use crate::common::{Owned, Random, clarabel, value};

/// Hosts that are compared.
const HOSTS: usize = 1000;

#[test]
fn a_generic_solver_agrees_on_a_thousand_hosts() {
    let mut random = Random(7);
    let (mut compared, mut worst, mut worst_rate) = (0, 0.0_f64, 0.0_f64);
    for number in 0..HOSTS {
        let alpha = random.pick(&[0.25, 0.5, 1.0, 2.0, 3.0]);
        let beta = random.pick(&[0.0, 0.001, 0.05, 1.0]);
        let m = 2 + (random.bits() % 20) as usize;
        let owned = Owned::random(&mut random, m, alpha, beta);
        let host = owned.host();
        let own = solve(&host, &Mode::All, &Options::default()).expect("a solution");
        assert!(
            own.relative_gap() < 1e-11,
            "host {number}: {host:?}: {own:?}"
        );
        let apps = &host.applications;
        let load = |per: &[f64]| per.to_vec();
        let polls = apps
            .poll_cost
            .iter()
            .zip(apps.completions)
            .map(|(d, a)| d * a);
        let rows = [
            (load(apps.bytes), owned.egress),
            (polls.collect(), owned.poll),
        ];
        let Some(x) = clarabel(&host, &rows) else {
            continue;
        };
        compared += 1;
        let objective = value(&host, &x, |_| true);
        let scale = objective.abs().max(1.0);
        worst = worst.max((own.objective - objective).abs() / scale);
        for (own, other) in own.x.iter().zip(&x) {
            worst_rate = worst_rate.max((own / other - 1.0).abs());
        }
        assert!(
            (own.objective - objective).abs() < 1e-7 * scale,
            "host {number} (m {m}, alpha {alpha}, beta {beta}): {} instead of {objective}",
            own.objective
        );
    }
    println!("{compared} hosts: objectives within {worst:e}, rates within {worst_rate:e}");
    assert!(compared > HOSTS * 9 / 10, "only {compared} were solved");
    assert!(worst_rate < 1e-3);
}
