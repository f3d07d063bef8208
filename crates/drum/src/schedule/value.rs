//! What rates over all epochs are worth in a host's own terms.

use alloc::vec::Vec;

use crate::host::{Fairness, Host, Supply};

/// Worth of rates, that of the rows' prices taken off; of max-min the level that everyone has.
pub(super) fn value(host: &Host<'_>, rates: &[f64]) -> f64 {
    worth(host, rates) - cost(host, rates)
}

/// The part by which all rates would have to grow to be worth the bound.
pub(super) fn missing(host: &Host<'_>, rates: &[f64], bound: f64) -> f64 {
    let gap = bound - value(host, rates);
    let own = worth(host, rates);
    let grown = |part: f64| {
        let rates: Vec<f64> = rates.iter().map(|rate| rate * (1.0 + part)).collect();
        worth(host, &rates) - own
    };
    if !gap.is_finite() {
        return f64::INFINITY;
    }
    // Value and bound are both as exact as this.
    if gap <= 1e-13 * own.abs() {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1e-6);
    while grown(high) < gap {
        low = high;
        high *= 2.0;
        if high > 1e6 {
            return f64::INFINITY;
        }
    }
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if grown(middle) < gap {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

fn worth(host: &Host<'_>, rates: &[f64]) -> f64 {
    let apps = &host.applications;
    let Fairness::Alpha(alpha) = host.utility.fairness else {
        let counted = rates
            .iter()
            .zip(apps.weight)
            .filter(|(_, weight)| **weight > 0.0);
        return counted
            .map(|(rate, weight)| rate / weight)
            .fold(f64::INFINITY, f64::min);
    };
    let one = |index: usize| {
        let (rate, weight) = (rates[index], apps.weight[index]);
        let throughput = match alpha {
            _ if weight == 0.0 => 0.0,
            1.0 => weight * libm::log(rate),
            alpha => weight * libm::pow(rate, 1.0 - alpha) / (1.0 - alpha),
        };
        let latency = host.utility.latency * apps.latency_weight[index];
        let polls = apps.completions[index] * rate;
        throughput
            - if latency > 0.0 {
                latency / (polls * polls)
            } else {
                0.0
            }
    };
    (0..rates.len()).map(one).sum()
}

/// What rows with prices cost.
fn cost(host: &Host<'_>, rates: &[f64]) -> f64 {
    let mut sum = 0.0;
    for row in &host.rows {
        if let Supply::Price(segments) = row.supply {
            let usage = rates.iter().enumerate();
            let usage = usage
                .map(|(index, rate)| row.coefficient(&host.applications, index) * rate)
                .sum::<f64>();
            let ends = segments
                .iter()
                .skip(1)
                .map(|(start, _)| *start)
                .chain([f64::INFINITY]);
            let parts = segments.iter().zip(ends);
            sum += parts
                .map(|((start, slope), end)| slope * (usage.min(end) - start).max(0.0))
                .sum::<f64>();
        }
    }
    sum
}
