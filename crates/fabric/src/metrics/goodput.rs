//! Goodput: payload placed at receivers, over time.

use fairlane_units::{Bytes, Duration, Time};

use super::statistics::nanoseconds;
use crate::{MessageRecord, Results, TenantRecord};

/// Payload placed at receivers over a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goodput {
    /// In Gb/s; 0 for no time at all.
    pub gbps: f64,
    /// The time that it is over.
    pub over: Duration,
}

impl Goodput {
    /// Over the time of arrivals if there is one, or else over the whole run.
    pub fn of(results: &Results) -> Self {
        Self::between(results, arrivals(results).unwrap_or_else(|| run(results)))
    }

    /// From the first start to the end of the run.
    pub fn of_run(results: &Results) -> Self {
        Self::between(results, run(results))
    }

    /// Over the same time as [`Goodput::of`], without its first and last tenth: without the filling of the fabric. Nothing
    /// for less than ten sampling intervals.
    pub fn steady(results: &Results) -> Option<Self> {
        let (from, to) = arrivals(results).unwrap_or_else(|| run(results));
        let tenth = (to - from) / 10;
        (tenth >= results.series.interval)
            .then(|| Self::between(results, (from + tenth, to - tenth)))
    }

    fn between(results: &Results, (from, to): (Time, Time)) -> Self {
        let over = to.saturating_since(from);
        let bytes = placed_between(results, (from, to), |_| true);
        let gbps = 8.0 * bytes.as_f64() / nanoseconds(over);
        Self {
            gbps: if over.is_zero() { 0.0 } else { gbps },
            over,
        }
    }
}

fn run(results: &Results) -> (Time, Time) {
    let totals = &results.totals;
    (totals.first_start, totals.end.max(totals.first_start))
}

/// The fewest sampling intervals of a time of which it is said what was placed in it: what the last one holds is taken for even.
const FEWEST_INTERVALS: u64 = 10;

/// From the first to the last post of a message, if half of the messages that were posted had completed by then and that
/// takes enough sampling intervals. If not, messages came as one batch, and the run is about how long
/// that takes.
fn arrivals(results: &Results) -> Option<(Time, Time)> {
    let posted = || results.messages.iter().filter(|message| message.posted);
    let last = posted().map(|message| message.start).max()?;
    let is_done = |message: &&MessageRecord| message.finish.is_some_and(|finish| finish <= last);
    let first = results.totals.first_start;
    if last.saturating_since(first) < results.series.interval.saturating_mul(FEWEST_INTERVALS) {
        return None;
    }
    (2 * posted().filter(is_done).count() >= posted().count()).then_some((first, last))
}

/// Payload placed at receivers between two times for the tenants whose number is `wanted`, to the sampling interval:
/// of one that a time divides, as much as that part of it is.
pub fn placed_between(
    results: &Results,
    (from, to): (Time, Time),
    wanted: impl Fn(usize) -> bool,
) -> Bytes {
    let numbered = results.tenants.iter().enumerate();
    let theirs = numbered.filter(|(number, _)| wanted(*number));
    let between = |(_, tenant): (usize, &TenantRecord)| {
        let until = placed_before(results, to, tenant);
        until.saturating_sub(placed_before(results, from, tenant))
    };
    theirs.map(between).sum()
}

/// What a tenant's receivers had before `until`.
fn placed_before(results: &Results, until: Time, tenant: &TenantRecord) -> Bytes {
    let (series, end) = (&results.series, results.totals.end);
    if until >= end {
        return tenant.placed;
    }
    let interval = series.interval.as_ps().max(1);
    let elapsed = until.saturating_since(series.start).as_ps();
    let ran = end.saturating_since(series.start).as_ps();
    let part = |(row, placed): (u64, &u64)| {
        let begin = row.saturating_mul(interval);
        // The last interval may be a short one.
        let length = ran.saturating_sub(begin).min(interval).max(1);
        let within = elapsed.saturating_sub(begin).min(length);
        let part = u128::from(*placed) * u128::from(within) / u128::from(length);
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    Bytes::new((0..).zip(&tenant.placed_series).map(part).sum())
}
