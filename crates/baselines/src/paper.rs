//! The problem as the DRUM paper prints it, with logarithmic constraints `sum log x <= q` and
//! `sum log z <= c`, for reproduction only.
//!
//! The problem isn't convex, and unbounded in the paper's own setting: what corrected updates find is a
//! stationary point at best, which [`Finding`] says. For alpha of at least 1 the problem is convex in the logarithms
//! of the rates, and [`solve_logarithmic`] solves it.

use fairlane_drum::{Error, Place};

use crate::trace::Trace;

use crate::admm::root;

/// A host with logarithmic constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperHost<'a> {
    /// Fairness exponent.
    pub alpha: f64,
    /// How much latency counts against throughput.
    pub beta: f64,
    /// Weights of throughput.
    pub weight: &'a [f64],
    /// Weights of latency.
    pub latency_weight: &'a [f64],
    /// Completions for each work request.
    pub completions: &'a [f64],
    /// Which applications' throughput counts.
    pub selected: &'a [bool],
    /// Limit of `sum log x`.
    pub q: f64,
    /// Limit of `sum log z`.
    pub c: f64,
}

/// Which updates are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updates {
    /// As printed, where that has a meaning at all: positive roots of the printed polynomials for x, the
    /// printed (19) for z, both at least 1e-6, and multipliers that grow by `a x + z`. For
    /// alpha 1/2.
    Literal,
    /// Signs, exponents and multipliers corrected, the logarithmic constraint of z kept.
    Corrected,
}

/// What can be said of the iterates of [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Values or multipliers grow without end.
    Diverged,
    /// `A x = z` doesn't hold at the end.
    NotConverged,
    /// A stationary point; no claim that it is best.
    Stationary,
}

/// What is wrong with the problem as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diagnostics {
    /// The problem has no optimum: alpha is below 1 and there are more than `1 + 2 / (1 - alpha)`
    /// applications, or there is no latency term.
    pub unbounded: bool,
    /// Number of applications above which it has none; infinite for alpha of at least 1.
    pub bounded_up_to: f64,
    /// The limit of `sum log x` that the one of `z` implies, `c - sum log a`.
    pub implied_q: f64,
    /// Whether `q` can bind at all: it is below the implied limit.
    pub q_can_bind: bool,
    /// Whether the constraint of the x-step is vacuous: some application doesn't count, so that its rate
    /// can go to 0 at bounded cost.
    pub x_step_vacuous: bool,
}

/// Where a run got to.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperRun {
    /// Rates `z / a` of the last iterate.
    pub x: Vec<f64>,
    /// Value of `z / a`, `||A x - z||` and the largest multiplier after each iteration.
    pub trace: Trace,
    /// What can be said of it.
    pub finding: Finding,
    /// What is wrong with the problem.
    pub diagnostics: Diagnostics,
}

/// Least rate of the literal updates, which would be 0 or negative.
const FLOOR: f64 = 1e-6;

impl PaperHost<'_> {
    /// What is wrong with the problem as printed.
    pub fn diagnose(&self) -> Diagnostics {
        let bounded_up_to = if self.alpha < 1.0 {
            1.0 + 2.0 / (1.0 - self.alpha)
        } else {
            f64::INFINITY
        };
        let logs: f64 = self.completions.iter().map(|&a| libm::log(a)).sum();
        #[expect(
            clippy::cast_precision_loss,
            reason = "applications are far below 2^53"
        )]
        let many = self.weight.len() as f64 > bounded_up_to;
        Diagnostics {
            unbounded: many || (self.alpha < 1.0 && self.beta == 0.0 && self.weight.len() > 1),
            bounded_up_to,
            implied_q: self.c - logs,
            q_can_bind: self.q < self.c - logs,
            x_step_vacuous: self.selected.iter().any(|selected| !selected),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let columns = [
            ("weight", self.weight, false),
            ("latency_weight", self.latency_weight, false),
            ("a", self.completions, true),
        ];
        let m = self.weight.len();
        if m == 0 {
            return Err(Error::Empty);
        }
        for (name, column, positive) in columns {
            shape(name, column.len(), m)?;
            for (index, &value) in column.iter().enumerate() {
                let fits = value.is_finite() && (value > 0.0 || (value == 0.0 && !positive));
                if !fits {
                    return Err(Error::Number {
                        place: Place::Entry(name, index),
                        value,
                        expected: "a positive number",
                    });
                }
            }
        }
        shape("selected", self.selected.len(), m)?;
        for (name, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::Number {
                    place: Place::Field(name),
                    value,
                    expected: "a number that is not negative",
                });
            }
        }
        Ok(())
    }

    fn value(&self, x: &[f64]) -> f64 {
        let worth = |j: usize| {
            let z = self.completions[j] * x[j];
            let utility = if self.alpha == 1.0 {
                libm::log(x[j])
            } else {
                libm::pow(x[j], 1.0 - self.alpha) / (1.0 - self.alpha)
            };
            let throughput = if self.selected[j] {
                self.weight[j] * utility
            } else {
                0.0
            };
            throughput - self.beta * self.latency_weight[j] / (z * z)
        };
        (0..x.len()).map(worth).sum()
    }
}

fn shape(name: &'static str, length: usize, applications: usize) -> Result<(), Error> {
    if length == applications {
        return Ok(());
    }
    Err(Error::Shape {
        place: Place::Field(name),
        length,
        applications,
    })
}

/// Runs updates from `u = z = 0` with one multiplier for each application.
///
/// # Errors
/// Lists of different lengths or numbers out of range; literal updates with an alpha other than 1/2.
pub fn run(
    host: &PaperHost<'_>,
    updates: Updates,
    rho: f64,
    iterations: usize,
) -> Result<PaperRun, Error> {
    host.check()?;
    if updates == Updates::Literal && host.alpha != 0.5 {
        return Err(Error::Unsupported {
            place: Place::Field("alpha"),
            reason: "the printed polynomials are those of alpha 1/2",
            hint: "set alpha to 0.5",
        });
    }
    let m = host.weight.len();
    let mut state = State {
        host,
        rho,
        x: vec![0.0; m],
        z: vec![0.0; m],
        u: vec![0.0; m],
    };
    let mut trace = Trace::default();
    for _ in 0..iterations {
        match updates {
            Updates::Literal => state.literal(),
            Updates::Corrected => state.corrected(),
        }
        state.record(&mut trace);
    }
    Ok(PaperRun {
        x: state.rates(),
        finding: finding(&trace),
        trace,
        diagnostics: host.diagnose(),
    })
}

fn finding(trace: &Trace) -> Finding {
    let last = |list: &[f64]| list.last().copied().unwrap_or(f64::INFINITY);
    let (value, residual) = (last(&trace.objective), last(&trace.primal_residual));
    if !value.is_finite() || last(&trace.dual_residual) > 1e6 {
        Finding::Diverged
    } else if residual > 1e-2 {
        Finding::NotConverged
    } else {
        Finding::Stationary
    }
}

struct State<'a> {
    host: &'a PaperHost<'a>,
    rho: f64,
    x: Vec<f64>,
    z: Vec<f64>,
    /// Multipliers of `a x = z`, not scaled.
    u: Vec<f64>,
}

impl State<'_> {
    fn rates(&self) -> Vec<f64> {
        self.z
            .iter()
            .zip(self.host.completions)
            .map(|(z, a)| z / a)
            .collect()
    }

    fn record(&self, trace: &mut Trace) {
        let gaps = self.x.iter().zip(&self.z).zip(self.host.completions);
        let squares = gaps.map(|((x, z), a)| (a * x - z) * (a * x - z));
        trace.objective.push(self.host.value(&self.rates()));
        trace.primal_residual.push(libm::sqrt(squares.sum()));
        trace
            .dual_residual
            .push(self.u.iter().fold(0.0, |most, u| most.max(u.abs())));
    }

    /// Roots of `rho a^2 s^4 - (a u + rho a z) s^2 - w s = 0` with `x = s^2`, of the quadratic without the
    /// throughput term for those not selected, z from (19), which is 0, and `u + a x + z`.
    fn literal(&mut self) {
        for j in 0..self.x.len() {
            let a = self.host.completions[j];
            let linear = a * self.u[j] + self.rho * a * self.z[j];
            let bend = self.rho * a * a;
            self.x[j] = if self.host.selected[j] {
                // With s = 1/t: bend = linear t^2 + w t^3, which rises in t.
                printed_root(bend, linear, self.host.weight[j])
            } else {
                linear / bend
            }
            .max(FLOOR);
            self.z[j] = FLOOR;
            self.u[j] += a * self.x[j] + self.z[j];
        }
    }

    /// The x-step without its constraint, which is vacuous, and the z-step with its own.
    fn corrected(&mut self) {
        for j in 0..self.x.len() {
            let a = self.host.completions[j];
            let p = a * self.u[j] - self.rho * a * self.z[j];
            let weight = if self.host.selected[j] {
                self.host.weight[j]
            } else {
                0.0
            };
            self.x[j] = root(self.rho * a * a, p, weight, self.host.alpha);
        }
        self.z = self.polls();
        for j in 0..self.x.len() {
            self.u[j] += self.rho * (self.host.completions[j] * self.x[j] - self.z[j]);
        }
    }

    /// Minimisers of `beta v z^-2 + rho/2 (z - t)^2 + mu log z`, with the least mu that keeps the limit.
    fn polls(&self) -> Vec<f64> {
        let at = |mu: f64| -> Vec<f64> {
            let one = |j: usize| {
                let target = self.host.completions[j] * self.x[j] + self.u[j] / self.rho;
                let pull = 2.0 * self.host.beta * self.host.latency_weight[j];
                best_poll((pull, self.rho, target), mu)
            };
            (0..self.x.len()).map(one).collect()
        };
        let used = |z: &[f64]| -> f64 { z.iter().map(|&z| libm::log(z)).sum() };
        let free = at(0.0);
        if used(&free) <= self.host.c {
            return free;
        }
        let (mut low, mut high) = (0.0, 1.0);
        while used(&at(high)) > self.host.c && high < 1e30 {
            low = high;
            high *= 4.0;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if used(&at(middle)) > self.host.c {
                low = middle;
            } else {
                high = middle;
            }
        }
        at(high)
    }
}

/// `x = s^2` of the positive root of `bend s^4 - linear s^2 - w s = 0`.
fn printed_root(bend: f64, linear: f64, w: f64) -> f64 {
    // bend s^3 = linear s + w: Newton's method from the right.
    let mut s = libm::sqrt(linear.max(0.0) / bend) + libm::cbrt(w / bend);
    for _ in 0..60 {
        s -= (bend * s * s * s - linear * s - w) / (3.0 * bend * s * s - linear);
    }
    s * s
}

/// Global minimiser of `pull/2 z^-2 + rho/2 (z - target)^2 + mu log z` over positive z.
///
/// Times `z^3` the derivative is `rho z^4 - rho target z^3 + mu z^2 - pull`, which has up to three
/// positive roots: it is searched between neighbouring points of a grid.
fn best_poll((pull, rho, target): (f64, f64, f64), mu: f64) -> f64 {
    if mu == 0.0 {
        return root(rho, -rho * target, pull, 3.0).max(f64::MIN_POSITIVE);
    }
    let slope = |z: f64| ((rho * (z - target)) * z + mu) * z * z - pull;
    let value =
        |z: f64| 0.5 * pull / (z * z) + 0.5 * rho * (z - target) * (z - target) + mu * libm::log(z);
    let least = 0.5 * libm::sqrt(pull / (mu + rho * target.abs() + rho + pull)).min(1.0);
    let most = 1.0 + target.abs() + libm::sqrt(libm::sqrt(pull / rho));
    let ratio = libm::pow(most / least, 1.0 / 48.0);
    let (mut best, mut at) = (f64::INFINITY, least);
    let mut low = least;
    for _ in 0..48 {
        let high = low * ratio;
        // Minima lie where the slope changes from negative to positive.
        if slope(low) <= 0.0 && slope(high) > 0.0 {
            let z = bisect(&slope, low, high);
            if value(z) < best {
                (best, at) = (value(z), z);
            }
        }
        low = high;
    }
    at
}

fn bisect(slope: &impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if slope(middle) <= 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The best rates under logarithmic constraints, with their value, for alpha of at least 1, where the
/// problem is concave in `y = log x`: `w e^((1 - alpha) y) + kappa e^(-2 y) = lambda` with `sum y` at its
/// limit.
///
/// # Errors
/// Alpha below 1; an application that neither counts nor has a latency term, so that others could take
/// all; lists of different lengths or numbers out of range.
pub fn solve_logarithmic(host: &PaperHost<'_>) -> Result<(Vec<f64>, f64), Error> {
    host.check()?;
    let refuse = |reason, hint| {
        Err(Error::Unsupported {
            place: Place::Field("alpha"),
            reason,
            hint,
        })
    };
    if host.alpha < 1.0 {
        return refuse(
            "the problem isn't concave, and unbounded for many applications",
            "take alpha of at least 1, or capacities",
        );
    }
    let kappa = |j: usize| {
        2.0 * host.beta * host.latency_weight[j] / (host.completions[j] * host.completions[j])
    };
    let weight = |j: usize| {
        if host.selected[j] {
            host.weight[j]
        } else {
            0.0
        }
    };
    let m = host.weight.len();
    if (0..m).any(|j| kappa(j) == 0.0 && (weight(j) == 0.0 || host.alpha == 1.0)) {
        return refuse(
            "an application without a latency term gives its logarithm away for nothing",
            "give all applications a latency term",
        );
    }
    let limit = host.q.min(host.diagnose().implied_q);
    // Marginal value of y falls with y.
    let answer = |lambda: f64, j: usize| {
        let marginal = |y: f64| {
            weight(j) * libm::exp((1.0 - host.alpha) * y) + kappa(j) * libm::exp(-2.0 * y) - lambda
        };
        bisect(&|y| -marginal(y), -200.0, 200.0)
    };
    let total = |log: f64| -> f64 { (0..m).map(|j| answer(libm::exp(log), j)).sum() };
    let log = bisect(&|log| limit - total(log), -300.0, 300.0);
    let x: Vec<f64> = (0..m)
        .map(|j| libm::exp(answer(libm::exp(log), j)))
        .collect();
    let value = host.value(&x);
    Ok((x, value))
}
