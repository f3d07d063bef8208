//! Random hosts, and an independent solver for the same problem.

use clarabel::solver::DefaultSettingsBuilder;
use fairlane_drum::{Application, Fairness, Host, Table, Utility};

use crate::conic::Program;

/// Random numbers by SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number below 2^64.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`.
    pub(crate) fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.bits() % choices.len() as u64) as usize]
    }
}

/// A host with what it owns.
pub(crate) struct Owned {
    pub(crate) table: Table,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) egress: f64,
    pub(crate) poll: f64,
}

impl Owned {
    /// A host of `m` applications whose numbers differ by about a factor of 4, some with bounds. What
    /// all must have takes at most four fifths of polling, and less of egress.
    pub(crate) fn random(random: &mut Random, m: usize, alpha: f64, beta: f64) -> Self {
        let mut table = Table::default();
        let bounded = random.pick(&[false, false, true]);
        for _ in 0..m {
            let mut application = Application {
                weight: random.within(0.5, 2.0),
                latency_weight: random.within(0.5, 2.0),
                completions: random.within(0.5, 2.0),
                bytes: random.within(0.5, 2.0),
                poll_cost: random.within(0.5, 2.0),
                ..Application::default()
            };
            if bounded {
                application.minimum = random.pick(&[0.0, 0.05, 0.2]);
                application.maximum = random.pick(&[f64::INFINITY, 0.4, 1.0]);
            }
            table.push(application);
        }
        let fair = m as f64;
        let floors: f64 = (0..m)
            .map(|j| table.minimum[j] * table.completions[j] * table.poll_cost[j])
            .sum();
        Self {
            table,
            alpha,
            beta,
            egress: fair * random.within(0.6, 1.2),
            poll: (fair * random.within(0.6, 2.4)).max(1.25 * floors),
        }
    }

    pub(crate) fn host(&self) -> Host<'_> {
        let utility = Utility {
            fairness: Fairness::Alpha(self.alpha),
            latency: self.beta,
        };
        Host::new(self.table.view(), utility, self.egress, self.poll)
    }
}

/// Value of rates by the definition of utility; `counted` says whose throughput counts.
pub(crate) fn value(host: &Host<'_>, x: &[f64], counted: impl Fn(usize) -> bool) -> f64 {
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
        let z = apps.completions[j] * x[j];
        let latency = if host.utility.latency > 0.0 {
            host.utility.latency * apps.latency_weight[j] / (z * z)
        } else {
            0.0
        };
        let throughput = if counted(j) {
            apps.weight[j] * utility
        } else {
            0.0
        };
        throughput - latency
    };
    (0..apps.len()).map(worth).sum()
}

/// Rates of greatest value by Clarabel, an interior-point solver for conic programs.
pub(crate) fn clarabel(host: &Host<'_>, rows: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        return None;
    };
    let apps = &host.applications;
    let mut program = Program::default();
    let rates: Vec<usize> = (0..apps.len()).map(|_| program.variable(0.0)).collect();
    for (loads, capacity) in rows {
        let entries: Vec<(usize, f64)> = rates.iter().copied().zip(loads.iter().copied()).collect();
        program.at_most(&entries, *capacity);
    }
    for (j, &rate) in rates.iter().enumerate() {
        program.at_most(&[(rate, -1.0)], -apps.minimum[j]);
        let most = if apps.maximum[j].is_finite() {
            apps.maximum[j]
        } else {
            1e6
        };
        program.at_most(&[(rate, 1.0)], most);
    }
    for (j, &rate) in rates.iter().enumerate() {
        program.utility(rate, alpha, apps.weight[j]);
        let z = apps.completions[j];
        let latency = host.utility.latency * apps.latency_weight[j] / (z * z);
        if latency > 0.0 {
            program.latency(rate, latency);
        }
    }
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .expect("settings");
    let optimum = program.solve(settings)?;
    Some(optimum.variables[..rates.len()].to_vec())
}
