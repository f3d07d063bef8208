//! Random hosts, and optima by trying every selection.
#![allow(unreachable_pub, reason = "helpers are those of a crate")]

use fairlane_drum::{
    Application, Dependency, Fairness, Host, Load, Mode, Options, Row, RowName, Solution, Supply,
    Table, Utility, solve,
};

pub(crate) use crate::common::Random;

/// A host with what it owns.
#[derive(Clone, Debug)]
pub struct Instance {
    pub table: Table,
    pub alpha: f64,
    pub beta: f64,
    pub egress: f64,
    pub poll: f64,
    /// A limit on work requests, as a third row.
    pub requests: Option<(Vec<f64>, f64)>,
    /// A price on egress instead of the capacity.
    pub price: Option<Vec<(f64, f64)>>,
    pub dependency: Dependency,
}

impl Instance {
    /// Numbers within a factor of 4, capacities for about `k` fair shares.
    pub fn random(random: &mut Random, m: usize, k: usize, alpha: f64, beta: f64) -> Self {
        let mut table = Table::default();
        for _ in 0..m {
            table.push(Application {
                weight: random.within(0.5, 2.0),
                latency_weight: random.within(0.5, 2.0),
                completions: random.within(0.5, 2.0),
                bytes: random.within(0.5, 2.0),
                poll_cost: random.within(0.5, 2.0),
                ..Application::default()
            });
        }
        let fair = k as f64;
        Self {
            table,
            alpha,
            beta,
            egress: fair * random.within(0.6, 1.6),
            poll: fair * random.within(0.6, 2.4),
            requests: None,
            price: None,
            dependency: Dependency::Equality,
        }
    }

    pub fn host(&self) -> Host<'_> {
        let utility = Utility {
            fairness: Fairness::Alpha(self.alpha),
            latency: self.beta,
        };
        let mut host = Host::new(self.table.view(), utility, self.egress, self.poll);
        host.dependency = self.dependency;
        if let Some((loads, capacity)) = &self.requests {
            host.rows.push(Row {
                name: RowName::Other("requests"),
                load: Load::Requests(loads),
                supply: Supply::Capacity(*capacity),
            });
        }
        if let Some(price) = &self.price {
            host.rows[0].supply = Supply::Price(price);
        }
        host
    }
}

/// Value of rates by the definition of utility; `counted` says whose throughput counts, `sends` who
/// takes part at all.
pub fn value(
    host: &Host<'_>,
    x: &[f64],
    z: &[f64],
    counted: impl Fn(usize) -> bool,
    sends: impl Fn(usize) -> bool,
) -> f64 {
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        panic!("max-min has no sum of utilities")
    };
    let apps = &host.applications;
    let worth = |j: usize| {
        let utility = if alpha == 1.0 {
            x[j].ln()
        } else {
            x[j].powf(1.0 - alpha) / (1.0 - alpha)
        };
        let latency = host.utility.latency * apps.latency_weight[j];
        let latency = if latency > 0.0 {
            latency / (z[j] * z[j])
        } else {
            0.0
        };
        if counted(j) {
            apps.weight[j] * utility - latency
        } else {
            -latency
        }
    };
    let total: f64 = (0..apps.len()).filter(|j| sends(*j)).map(worth).sum();
    let cost = |row: &Row<'_>| match row.supply {
        Supply::Price(segments) => cost(segments, usage(host, row, x, z)),
        Supply::Capacity(_) => 0.0,
    };
    total - host.rows.iter().map(cost).sum::<f64>()
}

fn cost(segments: &[(f64, f64)], usage: f64) -> f64 {
    let mut total = 0.0;
    for (index, (start, slope)) in segments.iter().enumerate() {
        let end = segments.get(index + 1).map_or(f64::INFINITY, |next| next.0);
        total += slope * (usage.min(end) - start).max(0.0);
    }
    total
}

/// Use of a row by rates.
pub fn usage(host: &Host<'_>, row: &Row<'_>, x: &[f64], z: &[f64]) -> f64 {
    let apps = &host.applications;
    let load = |j: usize| match row.load {
        Load::Bytes => apps.bytes[j] * x[j],
        Load::Polls => apps.poll_cost[j] * z[j],
        Load::Requests(loads) => loads[j] * x[j],
        Load::Completions(loads) => loads[j] * z[j],
    };
    (0..x.len()).map(load).sum()
}

/// Rates of polling that are tied to those of work requests.
pub fn tied(host: &Host<'_>, x: &[f64]) -> Vec<f64> {
    x.iter()
        .zip(host.applications.completions)
        .map(|(x, a)| x * a)
        .collect()
}

/// Fails unless rates keep rows and bounds.
pub fn check_feasible(host: &Host<'_>, solution: &Solution, sends: impl Fn(usize) -> bool) {
    let apps = &host.applications;
    for (j, &x) in solution.x.iter().enumerate() {
        if sends(j) {
            assert!(
                x >= apps.minimum[j] && x <= apps.maximum[j],
                "rate {j}: {x}"
            );
        } else {
            assert_eq!(x, 0.0, "rate {j} doesn't send");
        }
        assert!(
            solution.z[j] >= apps.completions[j] * x * (1.0 - 1e-12),
            "polls {j}"
        );
    }
    for row in &host.rows {
        if let Supply::Capacity(capacity) = row.supply {
            let used = usage(host, row, &solution.x, &solution.z);
            assert!(used <= capacity * (1.0 + 1e-12), "{row:?}: {used}");
        }
    }
}

/// Every subset of `m` applications of `sizes`.
pub fn subsets(
    m: usize,
    sizes: std::ops::RangeInclusive<usize>,
) -> impl Iterator<Item = Vec<usize>> {
    (0..1_usize << m)
        .filter(move |set| sizes.contains(&(set.count_ones() as usize)))
        .map(move |set| (0..m).filter(|j| set >> j & 1 == 1).collect())
}

/// The best value of at most `k` active applications by trying all sets, and the set.
pub fn best_active_set(host: &Host<'_>, k: usize, outage: &[f64]) -> (f64, Vec<usize>) {
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for set in subsets(outage.len(), 0..=k) {
        let out: f64 = (0..outage.len())
            .filter(|j| !set.contains(j))
            .map(|j| outage[j])
            .sum();
        let value = if set.is_empty() {
            out
        } else {
            match alone(host, &set) {
                Some(value) => out + value,
                None => continue,
            }
        };
        if value > best.0 {
            best = (value, set);
        }
    }
    best
}

/// Value of a host that has only the applications of a set.
fn alone(host: &Host<'_>, set: &[usize]) -> Option<f64> {
    let apps = &host.applications;
    let mut table = Table::default();
    for &j in set {
        table.push(Application {
            weight: apps.weight[j],
            latency_weight: apps.latency_weight[j],
            completions: apps.completions[j],
            bytes: apps.bytes[j],
            poll_cost: apps.poll_cost[j],
            minimum: apps.minimum[j],
            maximum: apps.maximum[j],
        });
    }
    let gather = |loads: &[f64]| -> Vec<f64> { set.iter().map(|j| loads[*j]).collect() };
    let loads: Vec<Vec<f64>> = host
        .rows
        .iter()
        .map(|row| match row.load {
            Load::Requests(loads) | Load::Completions(loads) => gather(loads),
            _ => Vec::new(),
        })
        .collect();
    let rows = host.rows.iter().zip(&loads).map(|(row, loads)| Row {
        load: match row.load {
            Load::Requests(_) => Load::Requests(loads),
            Load::Completions(_) => Load::Completions(loads),
            other => other,
        },
        ..*row
    });
    let part = Host {
        applications: table.view(),
        utility: host.utility,
        dependency: host.dependency,
        rows: rows.collect(),
    };
    solve(&part, &Mode::All, &Options::default())
        .ok()
        .map(|solution| solution.objective)
}

/// The best value with exactly `k` throughputs counted, by trying all sets, and the set.
pub fn best_utilities(host: &Host<'_>, k: usize) -> (f64, Vec<usize>) {
    let mut best = (f64::NEG_INFINITY, Vec::new());
    for set in subsets(host.applications.len(), k..=k) {
        let solution = solve(host, &Mode::Selected(&set), &Options::default());
        let value = solution.expect("floors fit").objective;
        if value > best.0 {
            best = (value, set);
        }
    }
    best
}
