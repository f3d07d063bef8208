//! From the results of a run to the data of its page.

use std::ops::Range;

use fairlane_fabric::{Ending, PortInfo, PortSeries, Results};
use fairlane_units::{PortId, Time};

use super::data::{EndingData, EndingKind, HeadingData, ReportData, SeriesData};
use super::{Heading, ReportInput, map, text, tiles};

/// More points than this can't be told apart in a chart.
const POINTS: usize = 1000;

/// The data of the page.
pub(super) fn report_data(input: &ReportInput<'_>) -> ReportData {
    let results = input.results;
    ReportData {
        heading: heading_data(&input.heading),
        ending: ending_data(results),
        tiles: tiles::tiles(results, &input.figures),
        slowdown: input.slowdown.to_vec(),
        completion: input.completion.clone(),
        queue: input.queue.clone(),
        series: series_data(results),
        signals: tiles::signal_rows(&results.signals),
        map: map::map_data(results),
        scenario: input.scenario.to_string(),
    }
}

fn heading_data(heading: &Heading<'_>) -> HeadingData {
    let facts = [
        ("Fabric", heading.topology.to_string()),
        ("Traffic", heading.workload.to_string()),
        ("Congestion control", heading.congestion.to_string()),
        ("Profile", heading.profile.to_string()),
        ("Seed", heading.seed.to_string()),
    ];
    HeadingData {
        name: heading.name.to_string(),
        facts: facts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect(),
        version: heading.version.to_string(),
    }
}

fn ending_data(results: &Results) -> EndingData {
    let plain = |kind, label, reason: String| EndingData {
        kind,
        label,
        reason,
        details: Vec::new(),
    };
    let unfinished = tiles::unfinished(results);
    match &results.totals.ending {
        Ending::Complete => plain(EndingKind::Complete, "Complete", String::new()),
        Ending::Stopped => {
            let (value, unit) = text::time(results.totals.end.as_ps() as f64 / 1e3);
            let reason = format!(
                "The scenario's stop time, {value} {unit}, came while {} were unfinished.",
                messages(unfinished)
            );
            plain(EndingKind::Stopped, "Stopped", reason)
        }
        Ending::Failed => {
            let reason = format!(
                "Queue pairs gave up; {} didn't complete.",
                messages(unfinished)
            );
            plain(EndingKind::Failed, "Failed", reason)
        }
        Ending::Stalled(stall) => {
            let (value, unit) = text::time(stall.at.as_ps() as f64 / 1e3);
            let left = messages(u64::from(stall.unfinished));
            let reason = format!(
                "{} Noticed at {value} {unit}, {left} unfinished.",
                stall.reason
            );
            let cycle = stall
                .pause_cycle
                .iter()
                .map(|&port| port_name(&results.ports, port));
            EndingData {
                details: cycle.collect(),
                ..plain(EndingKind::Stalled, "STALLED", reason)
            }
        }
    }
}

fn messages(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} message{plural}", text::count(count))
}

/// A port as the reader finds it in `ports.parquet`.
fn port_name(ports: &[PortInfo], id: PortId) -> String {
    match ports.get(id.index()) {
        Some(port) => {
            format!(
                "node {} port {} (to node {})",
                port.node, port.number, port.peer_node
            )
        }
        None => format!("port {id}"),
    }
}

/// Neighbouring intervals of a series merged, so that few enough remain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grouping {
    /// Intervals in the series.
    intervals: usize,
    /// Intervals in one group; the last group may hold fewer.
    size: usize,
    /// Groups.
    pub(super) count: usize,
    /// Start of the first group in nanoseconds.
    pub(super) start_ns: f64,
    /// Length of a group in nanoseconds.
    pub(super) step_ns: f64,
}

impl Grouping {
    /// At most `limit` groups of equal size.
    pub(super) fn of(series: &PortSeries, limit: usize) -> Self {
        let intervals = series.sent.len().checked_div(series.ports).unwrap_or(0);
        let size = intervals.div_ceil(limit).max(1);
        Self {
            intervals,
            size,
            count: intervals.div_ceil(size),
            start_ns: series.start.as_ps() as f64 / 1e3,
            step_ns: series.interval.as_ps() as f64 / 1e3 * size as f64,
        }
    }

    /// The intervals of a group.
    pub(super) fn rows(&self, group: usize) -> Range<usize> {
        group * self.size..((group + 1) * self.size).min(self.intervals)
    }

    /// The length of a group in seconds.
    pub(super) fn seconds(&self, group: usize) -> f64 {
        self.step_ns / 1e9 * self.rows(group).len() as f64 / self.size as f64
    }

    /// The group that a time falls in; the last one for times after the end.
    fn at(&self, time: Time) -> Option<usize> {
        let place = (time.as_ps() as f64 / 1e3 - self.start_ns) / self.step_ns;
        (place >= 0.0 && self.count > 0).then(|| (place as usize).min(self.count - 1))
    }

    /// The sum over the ports that `wanted` names, by group.
    fn sum_over(
        &self,
        series: &PortSeries,
        values: &[u32],
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<u64> {
        let add = |sum: u64, value: u32| sum + u64::from(value);
        self.fold(series, values, wanted, add)
    }

    /// The maximum over the ports that `wanted` names, by group.
    pub(super) fn max_over(
        &self,
        series: &PortSeries,
        values: &[u32],
        wanted: impl Fn(usize) -> bool,
    ) -> Vec<u64> {
        self.fold(series, values, wanted, |most, value| {
            most.max(u64::from(value))
        })
    }

    fn fold(
        &self,
        series: &PortSeries,
        values: &[u32],
        wanted: impl Fn(usize) -> bool,
        merge: impl Fn(u64, u32) -> u64,
    ) -> Vec<u64> {
        let chosen: Vec<usize> = (0..series.ports).filter(|&port| wanted(port)).collect();
        let group = |group| {
            let rows = self
                .rows(group)
                .filter_map(|row| values.get(row * series.ports..));
            rows.fold(0, |total, row| {
                let cells = chosen.iter().filter_map(|&port| row.get(port));
                cells.fold(total, |total, &value| merge(total, value))
            })
        };
        (0..self.count).map(group).collect()
    }
}

fn series_data(results: &Results) -> SeriesData {
    let series = &results.series;
    let grouping = Grouping::of(series, POINTS);
    let port = |index: usize| results.ports.get(index);
    let on_switch = |index| port(index).is_some_and(|port| port.on_switch);
    let to_host = |index| {
        let peer = port(index).and_then(|port| results.ports.get(port.peer.index()));
        on_switch(index) && peer.is_some_and(|peer| !peer.on_switch)
    };
    let delivered = grouping.sum_over(series, &series.sent, to_host);
    let paused = grouping.sum_over(series, &series.paused_ns, |_| true);
    let port_ns = |group| grouping.seconds(group) * 1e9 * series.ports as f64;
    SeriesData {
        start_ns: grouping.start_ns,
        step_ns: grouping.step_ns,
        delivered_bps: per_group(&delivered, |group| grouping.seconds(group) / 8.0),
        marks: grouping.sum_over(series, &series.marked, |_| true),
        pauses: pauses_by_group(results, grouping),
        paused_share: per_group(&paused, port_ns),
        queue_max: grouping.max_over(series, &series.queue_max, on_switch),
    }
}

fn per_group(values: &[u64], size: impl Fn(usize) -> f64) -> Vec<f64> {
    let ratio = |(group, &value): (usize, &u64)| value as f64 / size(group);
    values.iter().enumerate().map(ratio).collect()
}

fn pauses_by_group(results: &Results, grouping: Grouping) -> Vec<u64> {
    let mut counts = vec![0; grouping.count];
    for record in results.pauses.iter().filter(|record| record.pause) {
        if let Some(group) = grouping.at(record.time) {
            counts[group] += 1;
        }
    }
    counts
}
