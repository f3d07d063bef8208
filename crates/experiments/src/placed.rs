//! What tenants get: payload placed at receivers.

use fairlane_fabric::{Results, TenantRecord};
use fairlane_units::{Duration, Time};

use crate::measure::tenant;
use crate::metric::Metric;

/// Payload over time in Gb/s, of the metric's tenant or of all.
pub(crate) fn goodput(results: &Results, metric: &Metric) -> Option<f64> {
    let begin = match metric.after {
        Some(_) => begin(results, metric),
        None => results.totals.first_start,
    };
    let seconds = end(results, metric).saturating_since(begin).as_secs_f64();
    let bytes = match (&metric.tenant, tenant(results, metric)) {
        (None, _) => total(results, metric),
        (Some(_), Some(number)) => placed(results, metric, &results.tenants[number]),
        (Some(_), None) => return None,
    };
    (seconds > 0.0).then(|| bytes * 8e-9 / seconds)
}

/// The part of the metric's tenant in what all get.
pub(crate) fn share(results: &Results, metric: &Metric) -> Option<f64> {
    let number = tenant(results, metric)?;
    let total = total(results, metric);
    let own = placed(results, metric, &results.tenants[number]);
    (total > 0.0).then(|| own / total)
}

/// The tenant's part of what all get, divided by its part of all weights.
pub(crate) fn weight_share(results: &Results, metric: &Metric) -> Option<f64> {
    let number = tenant(results, metric)?;
    let weights: f64 = results.tenants.iter().map(|tenant| tenant.weight).sum();
    Some(share(results, metric)? * weights / results.tenants[number].weight)
}

fn total(results: &Results, metric: &Metric) -> f64 {
    let tenants = results.tenants.iter();
    tenants.map(|tenant| placed(results, metric, tenant)).sum()
}

/// Bytes of a tenant between the metric's `after` and `until`, to the intervals of the series.
fn placed(results: &Results, metric: &Metric, tenant: &TenantRecord) -> f64 {
    if metric.after.is_none() && metric.until.is_none() {
        return tenant.placed.as_f64();
    }
    let (first, last) = (begin(results, metric), end(results, metric));
    let starts =
        (0..).map(|row| results.series.start + results.series.interval.saturating_mul(row));
    let rows = starts.zip(&tenant.placed_series);
    let within = rows.filter(|(start, _)| (first..last).contains(start));
    within.map(|(_, bytes)| *bytes as f64).sum()
}

/// The first interval of the series that begins at or behind the metric's `after`.
fn begin(results: &Results, metric: &Metric) -> Time {
    interval_from(results, metric.after.unwrap_or(Duration::ZERO))
}

/// The first one that begins at or behind its `until`, or the end of the run.
fn end(results: &Results, metric: &Metric) -> Time {
    let end = results.totals.end;
    let until = metric.until.map(|until| interval_from(results, until));
    until.map_or(end, |until| until.min(end))
}

fn interval_from(results: &Results, from: Duration) -> Time {
    let (start, interval) = (results.series.start, results.series.interval);
    let rows = (Time::ZERO + from)
        .saturating_since(start)
        .as_ps()
        .div_ceil(interval.as_ps().max(1));
    start + interval.saturating_mul(rows)
}
