//! Two-block ADMM for one host: the scheme of the DRUM paper with its errors corrected, for comparison.
//!
//! For hosts that aren't coupled, [`solve`](fairlane_drum::solve) is simpler, certified and faster.

use fairlane_drum::{Dependency, Error, Fairness, Host, Load, Place, Row, Supply};

use crate::trace::Trace;

/// Newton's steps of a scalar problem: six give 12 digits for alpha in 0.25..8, ten for less.
const STEPS: usize = 10;
/// Halvings of the price that keeps a capacity.
const HALVINGS: usize = 80;

/// How strongly `a x` and `z` are pulled together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    /// As strongly for all applications.
    Fixed(f64),
    /// As strongly as the latency term bends at the equal split of the polling budget:
    /// `6 beta v z0^-4`.
    Curvature,
}

/// How ADMM is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmmOptions {
    /// How strongly `a x` and `z` are pulled together.
    pub penalty: Penalty,
    /// Over-relaxation, above 0 and below 2.
    pub relaxation: f64,
    /// Iterations.
    pub iterations: usize,
    /// Selects so many applications anew in each iteration by throughput utility, as the paper does; not
    /// optimal even where it converges.
    pub reselect: Option<usize>,
}

impl Default for AdmmOptions {
    fn default() -> Self {
        Self {
            penalty: Penalty::Fixed(1.0),
            relaxation: 1.6,
            iterations: 60,
            reselect: None,
        }
    }
}

/// Where ADMM or a baseline got to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iterates {
    /// Rates, scaled so that they keep all rows (WQE/s).
    pub x: Vec<f64>,
    /// Polling rates of the last iterate (CQE/s).
    pub z: Vec<f64>,
    /// Which applications' throughput counts at the end.
    pub selected: Vec<bool>,
    /// Value of the scaled rates, `||A x - z||` and `||rho A (z - z_old)||` after each iteration.
    pub trace: Trace,
}

/// The parts of a host that a two-block scheme needs.
pub(crate) struct Parts<'a> {
    pub(crate) host: &'a Host<'a>,
    pub(crate) alpha: f64,
    pub(crate) egress: f64,
    pub(crate) poll: f64,
}

impl<'a> Parts<'a> {
    /// The parts of a host with an egress row and a poll row.
    pub(crate) fn new(host: &'a Host<'a>) -> Result<Self, Error> {
        host.check()?;
        for row in &host.rows {
            check_floors(host, row)?;
        }
        let refuse = |field, reason, hint| {
            Err(Error::Unsupported {
                place: Place::Field(field),
                reason,
                hint,
            })
        };
        let Fairness::Alpha(alpha) = host.utility.fairness else {
            return refuse(
                "alpha",
                "max-min has no utility to split",
                "take a finite alpha",
            );
        };
        if alpha == 0.0 {
            return refuse(
                "alpha",
                "the scheme needs utilities that bend",
                "take a small alpha",
            );
        }
        if host.dependency == Dependency::AtLeast && host.utility.latency > 0.0 {
            return refuse(
                "dependency",
                "the scheme ties polls to work requests: at_least isn't part of it",
                "set dependency to equality, or take mode fixed",
            );
        }
        let [first, second] = &host.rows[..] else {
            return refuse(
                "rows",
                "the scheme has an egress row and a poll row",
                "leave out others",
            );
        };
        let rows = (first.load, first.supply, second.load, second.supply);
        let (Load::Bytes, Supply::Capacity(egress), Load::Polls, Supply::Capacity(poll)) = rows
        else {
            return refuse(
                "rows",
                "the scheme has an egress row and a poll row, each with a capacity",
                "name the egress row first, the poll row second",
            );
        };
        Ok(Self {
            host,
            alpha,
            egress,
            poll,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.host.applications.len()
    }

    /// `w U(x)`.
    pub(crate) fn throughput(&self, j: usize, x: f64) -> f64 {
        let weight = self.host.applications.weight[j];
        weight
            * if self.alpha == 1.0 {
                libm::log(x)
            } else {
                libm::pow(x, 1.0 - self.alpha) / (1.0 - self.alpha)
            }
    }

    /// Value of rates; only selected applications' throughput counts.
    pub(crate) fn value(&self, x: &[f64], selected: &[bool]) -> f64 {
        let apps = &self.host.applications;
        let worth = |j: usize| {
            let z = apps.completions[j] * x[j];
            let beta = self.host.utility.latency;
            let latency = if beta > 0.0 {
                beta * apps.latency_weight[j] / (z * z)
            } else {
                0.0
            };
            let throughput = if selected[j] {
                self.throughput(j, x[j])
            } else {
                0.0
            };
            throughput - latency
        };
        (0..self.len()).map(worth).sum()
    }

    /// Rates reduced by one factor, as far as they are above their floors, so that they keep both rows.
    pub(crate) fn fit(&self, x: &[f64]) -> Vec<f64> {
        let apps = &self.host.applications;
        let egress = |x: &[f64]| -> f64 { x.iter().zip(apps.bytes).map(|(x, b)| x * b).sum() };
        let poll = |x: &[f64]| -> f64 {
            let polls = x.iter().zip(apps.completions).zip(apps.poll_cost);
            polls.map(|((x, a), d)| x * a * d).sum()
        };
        let part = |capacity: f64, used: f64, floor: f64| {
            if used > capacity {
                ((capacity - floor) / (used - floor)).max(0.0)
            } else {
                1.0
            }
        };
        let factor = part(self.egress, egress(x), egress(apps.minimum)).min(part(
            self.poll,
            poll(x),
            poll(apps.minimum),
        ));
        let reduced = |(x, floor): (&f64, &f64)| floor + (x - floor) * factor;
        x.iter().zip(apps.minimum).map(reduced).collect()
    }
}

/// Whether least rates fit into a row.
fn check_floors(host: &Host<'_>, row: &Row<'_>) -> Result<(), Error> {
    let Supply::Capacity(capacity) = row.supply else {
        return Ok(());
    };
    let apps = &host.applications;
    let floors = apps.minimum.iter().enumerate();
    let needed = floors
        .map(|(j, floor)| row.coefficient(apps, j) * floor)
        .sum();
    if needed > capacity * (1.0 + 1e-12) {
        let place = Place::Row(row.name.as_str().to_owned());
        return Err(Error::Infeasible {
            place,
            needed,
            capacity,
        });
    }
    Ok(())
}

/// Runs ADMM on a host with an egress row and a poll row; `selected` says whose throughput counts.
///
/// # Errors
/// What is wrong with the host, other rows than those two, or a list of another length.
pub fn admm(host: &Host<'_>, selected: &[bool], options: &AdmmOptions) -> Result<Iterates, Error> {
    let parts = Parts::new(host)?;
    if selected.len() != parts.len() {
        return Err(Error::Shape {
            place: Place::Field("selected"),
            length: selected.len(),
            applications: parts.len(),
        });
    }
    let mut state = State::new(&parts, selected, options);
    for _ in 0..options.iterations {
        state.iterate();
    }
    Ok(state.out)
}

struct State<'a> {
    parts: &'a Parts<'a>,
    options: &'a AdmmOptions,
    rho: Vec<f64>,
    x: Vec<f64>,
    /// Scaled multipliers of `a x = z`.
    u: Vec<f64>,
    out: Iterates,
}

impl<'a> State<'a> {
    fn new(parts: &'a Parts<'a>, selected: &[bool], options: &'a AdmmOptions) -> Self {
        let apps = &parts.host.applications;
        let z = parts.poll / apps.poll_cost.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let rho = |v: &f64| match options.penalty {
            Penalty::Fixed(rho) => rho,
            Penalty::Curvature => {
                let bend = 6.0 * parts.host.utility.latency * v / (z * z * z * z);
                if bend > 0.0 { bend } else { 1.0 }
            }
        };
        Self {
            parts,
            options,
            rho: apps.latency_weight.iter().map(rho).collect(),
            x: vec![0.0; parts.len()],
            u: vec![0.0; parts.len()],
            out: Iterates {
                z: vec![0.0; parts.len()],
                selected: selected.to_vec(),
                ..Iterates::default()
            },
        }
    }

    fn iterate(&mut self) {
        self.x = self.requests();
        let completions = self.parts.host.applications.completions;
        let omega = self.options.relaxation;
        let relaxed: Vec<f64> = (0..self.x.len())
            .map(|j| omega * completions[j] * self.x[j] + (1.0 - omega) * self.out.z[j])
            .collect();
        let old = std::mem::take(&mut self.out.z);
        self.out.z = self.polls(&relaxed);
        let (mut primal, mut dual) = (0.0, 0.0);
        for j in 0..self.x.len() {
            let z = self.out.z[j];
            self.u[j] += relaxed[j] - z;
            let (r, s) = (
                completions[j] * self.x[j] - z,
                self.rho[j] * completions[j] * (z - old[j]),
            );
            primal += r * r;
            dual += s * s;
        }
        if let Some(k) = self.options.reselect {
            self.reselect(k);
        }
        self.out.x = self.parts.fit(&self.x);
        let trace = &mut self.out.trace;
        trace
            .objective
            .push(self.parts.value(&self.out.x, &self.out.selected));
        trace.primal_residual.push(libm::sqrt(primal));
        trace.dual_residual.push(libm::sqrt(dual));
    }

    /// `argmin -sum w U(x) + rho/2 ||A x - z + u||^2` with the egress capacity kept.
    fn requests(&self) -> Vec<f64> {
        let apps = &self.parts.host.applications;
        let at = |price: f64| -> Vec<f64> {
            let rate = |j: usize| {
                let (a, rho) = (apps.completions[j], self.rho[j]);
                let p = rho * a * (self.u[j] - self.out.z[j]) + price * apps.bytes[j];
                let weight = if self.out.selected[j] {
                    apps.weight[j]
                } else {
                    0.0
                };
                let x = root(rho * a * a, p, weight, self.parts.alpha);
                x.clamp(apps.minimum[j], apps.maximum[j])
            };
            (0..self.x.len()).map(rate).collect()
        };
        least_price(&at, apps.bytes, self.parts.egress)
    }

    /// `argmin beta sum v z^-2 + rho/2 ||A x - z + u||^2` with the polling budget kept.
    fn polls(&self, relaxed: &[f64]) -> Vec<f64> {
        let apps = &self.parts.host.applications;
        let at = |price: f64| -> Vec<f64> {
            let rate = |j: usize| {
                let rho = self.rho[j];
                let p = price * apps.poll_cost[j] - rho * (self.u[j] + relaxed[j]);
                let weight = 2.0 * self.parts.host.utility.latency * apps.latency_weight[j];
                root(rho, p, weight, 3.0)
            };
            (0..relaxed.len()).map(rate).collect()
        };
        least_price(&at, apps.poll_cost, self.parts.poll)
    }

    fn reselect(&mut self, k: usize) {
        let worth: Vec<f64> = self
            .x
            .iter()
            .enumerate()
            .map(|(j, &x)| self.parts.throughput(j, x))
            .collect();
        let mut order: Vec<usize> = (0..worth.len()).collect();
        order.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
        self.out.selected.fill(false);
        for &j in order.iter().take(k) {
            self.out.selected[j] = true;
        }
    }
}

/// Rates at the least price at which `sum cost * rate` is at most `capacity`; it falls with the price.
fn least_price(at: &impl Fn(f64) -> Vec<f64>, cost: &[f64], capacity: f64) -> Vec<f64> {
    let used = |rates: &[f64]| -> f64 { rates.iter().zip(cost).map(|(x, c)| x * c).sum() };
    let free = at(0.0);
    if used(&free) <= capacity {
        return free;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while used(&at(high)) > capacity && high < 1e200 {
        low = high;
        high *= 8.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if used(&at(middle)) > capacity {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(high)
}

/// `x > 0` with `c x + p = w x^-g`, by Newton's method from the left, where it can't overshoot; at least
/// 0 if `w` is 0.
pub(crate) fn root(c: f64, p: f64, w: f64, g: f64) -> f64 {
    if w == 0.0 {
        return (-p / c).max(0.0);
    }
    let alone = libm::pow(w / c, 1.0 / (1.0 + g));
    let mut x = if p < 0.0 {
        alone.max(-p / c)
    } else {
        let most = alone.min(libm::pow(w / p, 1.0 / g));
        libm::pow(w / (c * most + p), 1.0 / g)
    };
    for _ in 0..STEPS {
        let power = w * libm::pow(x, -g);
        let step = (power - p - c * x) / (c + g * power / x);
        x += step;
        if step <= 1e-15 * x {
            break;
        }
    }
    x
}
