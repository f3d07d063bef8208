//! Neighbouring intervals merged: a chart or a slider shows no more positions than it has pixels.

use std::ops::Range;

use fairlane_fabric::PortSeries;

/// How the intervals of a series are merged.
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
        (group * self.size)..((group + 1) * self.size).min(self.intervals)
    }

    /// The time that the intervals of a group last, in nanoseconds.
    pub(super) fn span_ns(&self, group: usize) -> f64 {
        self.step_ns * self.rows(group).len() as f64 / self.size as f64
    }

    /// The sum of `values`, one for each interval, over each group.
    pub(super) fn sums(&self, values: &[f64]) -> Vec<f64> {
        let sum = |group| self.rows(group).filter_map(|row| values.get(row)).sum();
        (0..self.count).map(sum).collect()
    }

    /// The mean of `values`, one for each interval, over each group.
    pub(super) fn means(&self, values: &[f64]) -> Vec<f64> {
        let sums = self.sums(values).into_iter().enumerate();
        sums.map(|(group, sum)| sum / self.rows(group).len() as f64)
            .collect()
    }
}
