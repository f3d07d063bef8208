//! Least rates that nearly fill a row, and utilities whose slopes differ by many orders of magnitude.

use fairlane_drum::{Dependency, Mode, Options, solve};

use crate::instances::{Instance, Random, check_feasible, tied, usage};

const ALPHAS: [f64; 7] = [0.001, 0.5, 1.0, 2.0, 3.0, 8.0, 50.0];
const HOSTS: usize = 200;
/// Where least rates use all but a billionth of a row, the rest is known to seven digits.
const ROUNDING: f64 = 1e-9;

/// A host whose least rates use `part` of the fuller of its two rows; `all` have one, or half of them.
fn instance(random: &mut Random, alpha: f64, part: f64, all: bool) -> Instance {
    let m = 1 + (random.bits() % 11) as usize;
    let beta = random.pick(&[0.0, 0.01, 0.1, 1.0, 10.0]);
    let mut instance = Instance::random(random, m, m, alpha, beta);
    if random.bits().is_multiple_of(3) {
        for weight in &mut instance.table.weight {
            *weight *= 10.0_f64.powf(random.within(-3.0, 3.0));
        }
    }
    for j in 0..m {
        instance.table.maximum[j] = random.pick(&[f64::INFINITY, f64::INFINITY, 0.5, 3.0]);
        if all || random.bits().is_multiple_of(2) {
            instance.table.minimum[j] = random.within(0.1, 0.5);
        }
    }
    let host = instance.host();
    let floors = &instance.table.minimum;
    let polls = tied(&host, floors);
    let used = [&host.rows[0], &host.rows[1]].map(|row| usage(&host, row, floors, &polls));
    let capacities = [instance.egress, instance.poll];
    let most = (used[0] / capacities[0]).max(used[1] / capacities[1]);
    if most > 0.0 {
        (instance.egress, instance.poll) = (
            capacities[0] * most / part * (1.0 + 1e-15),
            capacities[1] * most / part * (1.0 + 1e-15),
        );
    }
    instance
}

fn greatest_gap(dependency: Dependency, alpha: f64, tight: bool) -> f64 {
    let mut random = Random(8 + (alpha * 1000.0) as u64);
    let mut greatest: f64 = 0.0;
    for number in 0..HOSTS {
        let all = tight && number % 2 == 0;
        let part = match (tight, all) {
            (false, _) => random.within(0.05, 0.6),
            (true, false) => random.pick(&[0.9, 0.99]),
            (true, true) => random.pick(&[0.9, 0.9999, 1.0 - 1e-6, 1.0 - 1e-9, 1.0]),
        };
        let mut instance = instance(&mut random, alpha, part, all);
        instance.dependency = dependency;
        let host = instance.host();
        let solution = solve(&host, &Mode::All, &Options::default()).expect("least rates fit");
        check_feasible(&host, &solution, |_| true);
        greatest = greatest.max(solution.relative_gap());
    }
    greatest
}

#[test]
fn least_rates_leave_no_gap() {
    for dependency in [Dependency::Equality, Dependency::AtLeast] {
        for tight in [false, true] {
            for alpha in ALPHAS {
                let gap = greatest_gap(dependency, alpha, tight);
                println!("{dependency:?} alpha {alpha} tight {tight}: {gap:.1e}");
                assert!(gap <= ROUNDING, "{dependency:?} {alpha} {tight}: {gap:e}");
            }
        }
    }
}
