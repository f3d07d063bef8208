//! Hosts whose numbers have nothing in common: whatever method a host is for leaves no gap.

use fairlane_drum::{
    Application, Dependency, Error, Fairness, Host, Load, Mode, Options, Row, RowName, Supply,
    Table, Utility, solve,
};

use crate::common::Random;
use crate::instances::{best_active_set, best_utilities, check_feasible};

/// A host with what it owns.
struct Mixed {
    table: Table,
    utility: Utility,
    dependency: Dependency,
    egress: f64,
    poll: f64,
    /// Further rows: loads, whether for each completion, and a capacity if there is no price.
    rows: Vec<(Vec<f64>, bool, Option<f64>)>,
    price: Vec<(f64, f64)>,
}

fn power(random: &mut Random, decades: f64) -> f64 {
    10f64.powf(random.within(-decades, decades))
}

/// Whether something is so that is for a part of all.
fn some(random: &mut Random, part: f64) -> bool {
    random.within(0.0, 1.0) < part
}

/// Applications of one host.
fn table(random: &mut Random, m: usize) -> Table {
    let decades = random.pick(&[0.0, 1.0, 2.0, 4.0]);
    let (floors, caps) = (some(random, 0.3), some(random, 0.3));
    let unlike = some(random, 0.5);
    let mut table = Table::default();
    for _ in 0..m {
        let mut application = Application {
            weight: power(random, decades),
            latency_weight: power(random, decades),
            completions: power(random, 0.5),
            bytes: power(random, 1.0),
            poll_cost: power(random, 1.0),
            ..Application::default()
        };
        for (part, number) in [
            (0.05, &mut application.weight),
            (0.05, &mut application.bytes),
            (0.05, &mut application.poll_cost),
            (
                if unlike { 0.5 } else { 0.0 },
                &mut application.latency_weight,
            ),
        ] {
            if some(random, part) {
                *number = 0.0;
            }
        }
        if floors && some(random, 0.3) {
            application.minimum = random.within(0.0, 0.05) / m as f64;
        }
        if caps && some(random, 0.5) {
            application.maximum = random.within(0.1, 1.1) / m as f64;
        }
        table.push(application);
    }
    table
}

impl Mixed {
    fn random(
        random: &mut Random,
        m: usize,
        alpha: f64,
        beta: f64,
        dependency: Dependency,
    ) -> Self {
        let table = table(random, m);
        let row = |random: &mut Random| {
            let load = |random: &mut Random| match some(random, 0.3) {
                true => 0.0,
                false => power(random, 1.0),
            };
            let loads = (0..m).map(|_| load(random)).collect();
            let capacity = random.within(0.3, 2.3);
            let is_bought = some(random, 0.3);
            (loads, some(random, 0.5), (!is_bought).then_some(capacity))
        };
        let more = random.pick(&[0, 0, 0, 1, 2, 6]);
        Self {
            table,
            utility: Utility {
                fairness: Fairness::Alpha(alpha),
                latency: beta,
            },
            dependency,
            egress: random.within(0.2, 2.2),
            poll: random.within(0.2, 2.2),
            rows: (0..more).map(|_| row(random)).collect(),
            price: vec![
                (0.0, random.within(0.0, 0.1)),
                (0.3, random.within(0.5, 1.5)),
                (1.0, random.within(3.0, 4.0)),
            ],
        }
    }

    fn host(&self) -> Host<'_> {
        let mut host = Host::new(self.table.view(), self.utility, self.egress, self.poll);
        host.dependency = self.dependency;
        let rows = self.rows.iter().map(|(loads, polls, capacity)| Row {
            name: RowName::Other("more"),
            load: match polls {
                true => Load::Completions(loads),
                false => Load::Requests(loads),
            },
            supply: match capacity {
                Some(capacity) => Supply::Capacity(*capacity),
                None => Supply::Price(&self.price),
            },
        });
        host.rows.extend(rows);
        host
    }
}

/// Hosts of one kind; some have an application without any limit, which is refused.
fn each(
    seed: u64,
    alphas: &[f64],
    betas: &[f64],
    dependency: Dependency,
    check: impl Fn(&Host<'_>, &str),
) {
    let mut random = Random(seed);
    for number in 0..250 {
        let m = random.pick(&[1, 2, 3, 5, 8, 20, 60]);
        let (alpha, beta) = (random.pick(alphas), random.pick(betas));
        let mixed = Mixed::random(&mut random, m, alpha, beta, dependency);
        check(
            &mixed.host(),
            &format!("{number}: {m} applications, alpha {alpha}, beta {beta}"),
        );
    }
}

const BETAS: [f64; 5] = [1e-9, 1e-4, 1e-2, 1.0, 100.0];
const ALPHAS: [f64; 6] = [0.2, 0.5, 0.7, 1.0, 2.0, 5.0];

/// Solutions are feasible, and at most so far from the best.
fn leave(gap: f64) -> impl Fn(&Host<'_>, &str) {
    move |host, name| {
        let solution = match solve(host, &Mode::All, &Options::default()) {
            Err(Error::Unbounded { .. }) => return,
            solution => solution.unwrap_or_else(|error| panic!("{name}: {error}")),
        };
        check_feasible(host, &solution, |_| true);
        let left = solution.relative_gap();
        assert!(left <= gap, "{name}: {left:e} {:?}", solution.status);
    }
}

#[test]
fn hosts_leave_no_gap() {
    each(1, &ALPHAS, &BETAS, Dependency::Equality, leave(1e-12));
    each(2, &ALPHAS, &[0.0], Dependency::Equality, leave(1e-12));
}

#[test]
fn hosts_leave_no_gap_where_nothing_bends() {
    each(3, &[0.0], &[0.0], Dependency::Equality, leave(1e-12));
    each(4, &[0.0], &BETAS, Dependency::Equality, leave(1e-12));
}

#[test]
fn hosts_leave_no_gap_where_polls_are_attempts() {
    each(5, &ALPHAS, &BETAS, Dependency::AtLeast, leave(1e-12));
}

#[test]
fn hosts_leave_little_where_utilities_bend_much_or_hardly() {
    let alphas = [1e-3, 0.01, 8.0, 16.0, 32.0, 50.0];
    each(6, &alphas, &BETAS, Dependency::Equality, leave(1e-7));
    each(7, &alphas, &BETAS, Dependency::AtLeast, leave(1e-7));
}

/// Selections are as good as all sets that were tried, and no bound is below.
#[test]
fn selections_are_the_best() {
    let mut random = Random(8);
    for number in 0..400 {
        let m = random.pick(&[1, 2, 3, 4, 5]);
        let k = random.pick(&[1, 2, 3]).min(m);
        let dependency = random.pick(&[Dependency::Equality, Dependency::AtLeast]);
        let (alpha, beta) = (random.pick(&ALPHAS), random.pick(&BETAS));
        let mixed = Mixed::random(&mut random, m, alpha, beta, dependency);
        let host = mixed.host();
        let outage: Vec<f64> = (0..m).map(|_| -random.within(0.01, 100.0)).collect();
        if matches!(
            solve(&host, &Mode::All, &Options::default()),
            Err(Error::Unbounded { .. })
        ) {
            continue;
        }
        let active = Mode::ActiveSet {
            k,
            outage: Some(&outage),
        };
        for (mode, best) in [
            (Mode::TopUtilities { k }, best_utilities(&host, k).0),
            (active, best_active_set(&host, k, &outage).0),
        ] {
            let solution = solve(&host, &mode, &Options::default()).expect("a selection");
            let scale = best.abs().max(1e-100);
            let name = format!("{number}: {mode:?} {best} {solution:?}");
            assert!(solution.objective >= best - 1e-9 * scale, "{name}");
            assert!(solution.proven_bound >= best - 1e-9 * scale, "{name}");
            assert!(solution.proven_bound - best <= 1e-9 * scale, "{name}");
        }
    }
}

/// Linear programs whose loads differ by up to ten decades, on rows with a capacity or a price.
#[test]
fn linear_programs_are_solved_whatever_their_loads() {
    let mut random = Random(9);
    for number in 0..120 {
        let m = random.pick(&[10, 100, 1000]);
        let decades = random.pick(&[1.0, 2.0, 3.0, 5.0]);
        let rows = random.pick(&[1, 2, 8]);
        let loads: Vec<Vec<f64>> = (0..rows)
            .map(|_| (0..m).map(|_| power(&mut random, decades)).collect())
            .collect();
        let mut table = Table::default();
        for _ in 0..m {
            table.push(Application {
                weight: power(&mut random, 1.0),
                ..Application::default()
            });
        }
        let utility = Utility {
            fairness: Fairness::Alpha(0.0),
            latency: 0.0,
        };
        // Beyond the last start even what uses least gains nothing.
        let steps = [(0.0, 1.0), (0.5, 3.0), (1.0, 1e7)];
        let bought = random.pick(&[false, true]);
        let mut host = Host::new(table.view(), utility, 1.0, 1.0);
        host.rows = loads
            .iter()
            .map(|loads| Row {
                name: RowName::Other("row"),
                load: Load::Requests(loads),
                supply: match bought {
                    true => Supply::Price(&steps),
                    false => Supply::Capacity(1.0),
                },
            })
            .collect();
        let name = format!("{number}: {m} applications, {rows} rows, {decades} decades, {bought}");
        leave(1e-12)(&host, &name);
    }
}

/// One application on a row with a price, whose polls are attempts.
fn alone(
    application: Application,
    alpha: f64,
    beta: f64,
) -> Result<fairlane_drum::Solution, Error> {
    let mut table = Table::default();
    table.push(application);
    let utility = Utility {
        fairness: Fairness::Alpha(alpha),
        latency: beta,
    };
    let mut host = Host::new(table.view(), utility, 1.0, 1.0);
    host.dependency = Dependency::AtLeast;
    host.rows[0].supply = Supply::Price(&[(0.0, 1.0)]);
    solve(&host, &Mode::All, &Options::default())
}

#[test]
fn who_gains_nothing_polls_what_it_must() {
    let idle = Application {
        weight: 0.0,
        latency_weight: 0.0,
        minimum: 0.1,
        ..Application::default()
    };
    let solution = alone(idle, 1.0, 1.0).expect("a solution");
    assert_eq!((solution.x[0], solution.z[0]), (0.1, 0.1));
}

#[test]
fn bounds_hold_for_rates_beyond_those_of_free_polls() {
    let application = |weight: f64| Application {
        weight,
        poll_cost: 0.0,
        ..Application::default()
    };
    // `w x^0.95 / 0.95 - x` is greatest at `w^20`.
    let solution = alone(application(1e5), 0.05, 1e-6).expect("a solution");
    assert!((solution.objective / 5.263_157_894_736_8e98 - 1.0).abs() < 1e-9);
    assert!(solution.dual_bound >= 5.263_157_894_736e98);
    assert!(solution.z[0] >= solution.x[0]);
    if let Ok(solution) = alone(application(1e6), 0.05, 1e-6) {
        assert!(solution.dual_bound >= 5.26e118, "{solution:?}");
    }
}
