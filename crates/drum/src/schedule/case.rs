//! A host as its schedules are made for it: rows over their capacity, worth over that of its long-run rates.

use alloc::vec::Vec;

use super::curve::{Curve, Terms};
use crate::host::{Dependency, Fairness, Host, Row, Supply};
use crate::kernel::{General, Kernel};
use crate::problem::{AnyKernel, alpha, kappa, with_kernel};
use crate::solution::Solution;
use crate::topk::rules::implied_cap;

/// One number for each row with a capacity.
pub(super) type PerRow = [f64; Host::MOST_ROWS];

/// Alpha that stands for max-min: rates are within a few hundredths of it.
const FAIR: f64 = 32.0;

/// One application.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Weights of throughput and latency, over the case's unit.
    pub(super) weight: f64,
    pub(super) kappa: f64,
    pub(super) curve: Curve,
    /// Part of each row's capacity that a unit of rate uses.
    pub(super) load: PerRow,
    /// Greatest rate in an epoch.
    pub(super) peak: f64,
    /// Rates over all epochs.
    pub(super) least: f64,
    pub(super) most: f64,
    /// The best rate for epochs that could be shared in any parts, and what a little more of the rows costs there.
    pub(super) wanted: f64,
    pub(super) price: f64,
}

impl Member {
    /// What a rate costs at prices of rows.
    pub(super) fn cost(&self, prices: &PerRow) -> f64 {
        self.load
            .iter()
            .zip(prices)
            .map(|(load, price)| load * price)
            .sum()
    }

    /// The largest part of a row that a rate uses.
    pub(super) fn largest(&self, rate: f64) -> f64 {
        self.load.iter().fold(0.0, |most, load| load.max(most)) * rate
    }
}

/// A host and its limit on active queue pairs. What rates are worth is scaled so that all of them a hundredth higher are
/// worth about a hundredth more.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) kernel: AnyKernel,
    pub(super) members: Vec<Member>,
    /// Rows with a capacity.
    pub(super) rows: usize,
    pub(super) slots: usize,
    /// Worth of 1 in the host's terms.
    pub(super) unit: f64,
    /// Whether worth is that of the host, so that bounds on it are bounds on the host's.
    pub(super) exact: bool,
}

impl Case {
    /// The case of a host whose best long-run rates are `relaxed`.
    pub(super) fn new(host: &Host<'_>, peak: &[f64], slots: usize, relaxed: &Solution) -> Self {
        let draft = Draft::new(host, peak, relaxed);
        let count = host.applications.len();
        let total: f64 = (0..count).map(|index| draft.worth(index)).sum();
        let unit = if total > 0.0 && total.is_finite() {
            total
        } else {
            1.0
        };
        let attempts = host.dependency == Dependency::AtLeast && host.utility.latency > 0.0;
        let hard = |row: &&Row<'_>| matches!(row.supply, Supply::Capacity(_));
        Self {
            kernel: draft.kernel,
            members: (0..count).map(|index| draft.member(index, unit)).collect(),
            rows: host.rows.iter().filter(hard).count(),
            slots,
            unit,
            exact: !(draft.level.is_some() || draft.priced || attempts),
        }
    }

    /// Worth of rates over all epochs.
    pub(super) fn value(&self, rates: &[f64]) -> f64 {
        self.members
            .iter()
            .zip(rates)
            .map(|(member, rate)| member.curve.value(*rate))
            .sum()
    }

    /// What a little more of each rate is worth.
    pub(super) fn slopes(&self, rates: &[f64]) -> Vec<f64> {
        self.members
            .iter()
            .zip(rates)
            .map(|(member, rate)| member.curve.slope(*rate))
            .collect()
    }
}

/// What members are made of.
struct Draft<'a> {
    host: &'a Host<'a>,
    peak: &'a [f64],
    relaxed: &'a Solution,
    kernel: AnyKernel,
    /// Least rate over weight in the long run, of max-min.
    level: Option<f64>,
    /// Some row has a price.
    priced: bool,
}

impl<'a> Draft<'a> {
    fn new(host: &'a Host<'a>, peak: &'a [f64], relaxed: &'a Solution) -> Self {
        let fair = host.utility.fairness == Fairness::MaxMin;
        let priced = |row: &Row<'_>| matches!(row.supply, Supply::Price(_));
        Self {
            kernel: match fair {
                true => AnyKernel::General(General::new(FAIR)),
                false => AnyKernel::new(alpha(host)),
            },
            level: fair.then(|| level(host, &relaxed.x)),
            priced: host.rows.iter().any(priced),
            host,
            peak,
            relaxed,
        }
    }

    /// Numbers of a worth over a unit.
    fn terms(&self, index: usize, unit: f64) -> Terms {
        let apps = &self.host.applications;
        let weight = apps.weight[index];
        let most = match self.priced {
            // More than is worth the price over all epochs isn't in some of them.
            true => self.relaxed.x[index],
            false => apps.maximum[index],
        };
        Terms {
            weight: match self.level {
                // Powers of shares would leave the range of numbers, so they are logarithms.
                Some(level) if weight > 0.0 => FAIR * libm::log(weight * level) - libm::log(unit),
                _ => with_kernel!(self.kernel, kernel => kernel.weight(weight / unit)),
            },
            kappa: kappa(self.host, index) / unit,
            least: apps.minimum[index],
            most: most.min(self.peak[index]),
            price: 0.0,
        }
    }

    /// What the long-run rate costs at its slope.
    fn worth(&self, index: usize) -> f64 {
        let terms = self.terms(index, 1.0);
        let free = Terms {
            least: 0.0,
            most: f64::INFINITY,
            ..terms
        };
        let rate = self.relaxed.x[index];
        match rate > 0.0 {
            true => Curve::new(self.kernel, free).slope(rate) * rate,
            false => 0.0,
        }
    }

    fn member(&self, index: usize, unit: f64) -> Member {
        let (host, relaxed, peak) = (self.host, self.relaxed, self.peak[index]);
        let (load, price) = loads(host, index, &relaxed.prices);
        let slot = relaxed.prices.get(host.rows.len());
        let slot = slot.map_or(0.0, |price| price / peak);
        let wanted = relaxed.x[index];
        let terms = Terms {
            price: ((price + slot) / unit).max(1e-9 / wanted.max(f64::MIN_POSITIVE)),
            ..self.terms(index, unit)
        };
        Member {
            weight: host.applications.weight[index] / unit,
            kappa: terms.kappa,
            curve: Curve::new(self.kernel, terms),
            load,
            peak: peak.min(implied_cap(host, index).max(terms.least)),
            least: terms.least,
            most: terms.most,
            wanted,
            price: price / unit,
        }
    }
}

/// Use of rows with capacities, in parts of them, and its cost at prices of all rows.
fn loads(host: &Host<'_>, index: usize, prices: &[f64]) -> (PerRow, f64) {
    let mut load = [0.0; Host::MOST_ROWS];
    let (mut rows, mut cost) = (0, 0.0);
    for (row, price) in host.rows.iter().zip(prices) {
        let coefficient = row.coefficient(&host.applications, index);
        cost += coefficient * price;
        if let Supply::Capacity(capacity) = row.supply {
            load[rows] = coefficient / capacity;
            rows += 1;
        }
    }
    (load, cost)
}

/// Least rate over weight of those who have a weight.
fn level(host: &Host<'_>, rates: &[f64]) -> f64 {
    let weights = host.applications.weight.iter().zip(rates);
    let levels = weights
        .filter(|(weight, _)| **weight > 0.0)
        .map(|(weight, rate)| rate / weight);
    let level = levels.fold(f64::INFINITY, f64::min);
    if level.is_finite() && level > 0.0 {
        level
    } else {
        1.0
    }
}
