//! The fabric over time.

use fairlane_units::{Duration, Time};
use serde::Serialize;

use super::statistics::{CdfPoint, cdf, nanoseconds};
use crate::{PortInfo, PortSeries, Results};

/// One figure for each sampling interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeSeries {
    /// Start of the first interval.
    pub start_ns: f64,
    /// Length of an interval.
    pub interval_ns: f64,
    /// The figure of each interval; the function that made it states the unit.
    pub values: Vec<f64>,
}

/// Rate in Gb/s at which links deliver to hosts, headers and acknowledgements included.
///
/// The last interval counts only as far as the run went.
pub fn throughput(results: &Results) -> TimeSeries {
    let to_hosts: Vec<usize> = ports_where(results, |port| leads_to_host(results, port)).collect();
    over_time(results, |interval| {
        let sent = row(&results.series, &results.series.sent, interval);
        let bytes: u64 = to_hosts.iter().filter_map(|port| sent.get(*port)).sum();
        per_nanosecond(8 * bytes, span(results, interval))
    })
}

/// Rate in Gb/s of payload of which there are so many bytes in each interval.
pub(super) fn payload_over_time(results: &Results, bytes: &[u64]) -> TimeSeries {
    let mut series = over_time(results, |interval| {
        let bytes = bytes.get(interval).copied().unwrap_or(0);
        per_nanosecond(8 * bytes, span(results, interval))
    });
    series.values.truncate(bytes.len());
    series
}

/// Packets marked by switches in each interval.
pub fn marks(results: &Results) -> TimeSeries {
    over_time(results, |interval| {
        sum(row(&results.series, &results.series.marked, interval))
    })
}

/// Nanoseconds that ports spent paused in each interval, summed over ports.
pub fn paused(results: &Results) -> TimeSeries {
    over_time(results, |interval| {
        sum(row(&results.series, &results.series.paused_ns, interval))
    })
}

/// Pause frames that arrived in each interval; those that end a pause don't count.
pub fn pauses(results: &Results) -> TimeSeries {
    let mut series = over_time(results, |_| 0.0);
    let interval = results.series.interval.as_ps().max(1);
    let Some(last) = series.values.len().checked_sub(1) else {
        return series;
    };
    for record in results.pauses.iter().filter(|record| record.pause) {
        let since = record.time.saturating_since(results.series.start).as_ps();
        // A frame at the very end of the run belongs to the last interval.
        let index = usize::try_from(since / interval).unwrap_or(last).min(last);
        series.values[index] += 1.0;
    }
    series
}

/// Use of each port's rate over the whole run, 0 to about 1: gaps between packets don't count.
pub fn utilisation(results: &Results) -> Vec<f64> {
    let mut totals = vec![0u64; results.ports.len()];
    for interval in 0..intervals(&results.series) {
        let sent = row(&results.series, &results.series.sent, interval);
        for (total, bytes) in totals.iter_mut().zip(sent) {
            *total += bytes;
        }
    }
    let span = results.totals.end.saturating_since(results.series.start);
    let pairs = results.ports.iter().zip(totals);
    pairs
        .map(|(port, bytes)| share_of_rate(port, bytes, span))
        .collect()
}

/// Use of each port's rate in one interval, counted from 0; empty beyond the last.
///
/// A packet counts in the interval in which it was sent off, so that a port may exceed 1 by a packet.
pub fn interval_utilisation(results: &Results, interval: usize) -> Vec<f64> {
    let sent = row(&results.series, &results.series.sent, interval);
    let span = span(results, interval);
    let pairs = results.ports.iter().zip(sent);
    pairs
        .map(|(port, bytes)| share_of_rate(port, *bytes, span))
        .collect()
}

/// Use of a port's rate in sample `sample` of a series of the run, as [`interval_utilisation`] has it.
pub fn sample_utilisation(
    results: &Results,
    series: &PortSeries,
    sample: usize,
    port: &PortInfo,
) -> f64 {
    let bytes = series.sent.get(sample).copied().unwrap_or(0);
    let interval = sample / series.ports.max(1);
    share_of_rate(port, bytes, span_of(results, series, interval))
}

/// The distribution function of queue lengths in bytes, over all samples of switch ports.
#[expect(clippy::cast_precision_loss, reason = "queues are below 2^53 bytes")]
pub fn queue_cdf(results: &Results, points: usize) -> Vec<CdfPoint> {
    let ports: Vec<usize> = ports_where(results, |port| port.on_switch).collect();
    let mut lengths = Vec::new();
    for interval in 0..intervals(&results.series) {
        let queues = row(&results.series, &results.series.queue, interval);
        let queues = ports.iter().filter_map(|port| queues.get(*port));
        lengths.extend(queues.map(|bytes| *bytes as f64));
    }
    lengths.sort_unstable_by(f64::total_cmp);
    cdf(&lengths, points)
}

fn leads_to_host(results: &Results, port: &PortInfo) -> bool {
    results
        .ports
        .get(port.peer.index())
        .is_some_and(|peer| !peer.on_switch)
}

fn ports_where(
    results: &Results,
    wanted: impl Fn(&PortInfo) -> bool,
) -> impl Iterator<Item = usize> {
    let numbered = results.ports.iter().enumerate();
    numbered
        .filter(move |(_, port)| wanted(port))
        .map(|(index, _)| index)
}

pub(super) fn intervals(series: &PortSeries) -> usize {
    series.sent.len().checked_div(series.ports).unwrap_or(0)
}

/// The figures of all ports in one interval, empty beyond the last.
pub(super) fn row<'a>(series: &PortSeries, figures: &'a [u64], interval: usize) -> &'a [u64] {
    let begin = interval.saturating_mul(series.ports);
    figures
        .get(begin..begin.saturating_add(series.ports))
        .unwrap_or_default()
}

/// The part of an interval that the run went through.
fn span(results: &Results, interval: usize) -> Duration {
    span_of(results, &results.series, interval)
}

fn span_of(results: &Results, series: &PortSeries, interval: usize) -> Duration {
    let offset = series.interval.saturating_mul(interval as u64);
    let rest = results
        .totals
        .end
        .saturating_since(series.start.saturating_add(offset));
    rest.min(series.interval)
}

fn over_time(results: &Results, figure: impl FnMut(usize) -> f64) -> TimeSeries {
    TimeSeries {
        start_ns: nanoseconds(results.series.start.saturating_since(Time::ZERO)),
        interval_ns: nanoseconds(results.series.interval),
        values: (0..intervals(&results.series)).map(figure).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums below 2^53")]
fn sum(figures: &[u64]) -> f64 {
    figures.iter().sum::<u64>() as f64
}

/// `amount` per nanosecond of `span`, 0 for no time at all.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per_nanosecond(amount: u64, span: Duration) -> f64 {
    if span.is_zero() {
        0.0
    } else {
        amount as f64 / nanoseconds(span)
    }
}

fn share_of_rate(port: &PortInfo, bytes: u64, span: Duration) -> f64 {
    let gbps = port.rate.as_f64() / 1e9;
    if gbps > 0.0 {
        per_nanosecond(8 * bytes, span) / gbps
    } else {
        0.0
    }
}
