//! Slowdown against message size, in the binning of the field.

use fairlane_units::{Bytes, Duration};
use serde::Serialize;

use super::statistics::{completion, percentile};
use crate::MessageRecord;

/// The slowdowns of messages of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowdownBin {
    /// The largest message of the bin.
    pub upto_bytes: u64,
    /// Its messages.
    pub count: usize,
    /// Median slowdown.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest slowdown.
    pub max: f64,
}

/// Slowdowns of finished messages over their ideal time, in `bins` bins of equal count.
///
/// As HPCC's `fct_analysis.py` bins: sorted by size (of equal size, in the order given), bin i holds
/// messages i x n / bins .. (i + 1) x n / bins, and percentile p is the value at index
/// floor(count x p). Unlike it, nothing is clamped at 1 and the largest message stays. Bins that
/// would be empty are left out.
pub fn slowdown_bins(messages: &[MessageRecord], bins: usize) -> Vec<SlowdownBin> {
    binned(messages, bins, |message| message.ideal)
}

/// How many bins, `most` at most, say something of finished messages: one if all have the same size, and at least 20 messages
/// in each.
pub fn size_classes(messages: &[MessageRecord], most: usize) -> usize {
    let finished = messages.iter().filter(|message| message.finish.is_some());
    let mut sizes: Vec<Bytes> = finished.map(|message| message.size).collect();
    let enough = sizes.len() / CLASS_MIN;
    sizes.sort_unstable();
    sizes.dedup();
    most.min(sizes.len()).min(enough).max(1)
}

/// Fewest messages in a class of size, so that its 95th percentile isn't its largest.
const CLASS_MIN: usize = 20;

/// As [`slowdown_bins`], over the standalone time of HPCC's text format.
pub fn standalone_bins(messages: &[MessageRecord], bins: usize) -> Vec<SlowdownBin> {
    binned(messages, bins, |message| message.standalone)
}

/// Completion time over `baseline`, `None` if the message isn't finished.
pub(super) fn slowdown(message: &MessageRecord, baseline: Duration) -> Option<f64> {
    Some(completion(message)?.as_secs_f64() / baseline.as_secs_f64())
}

fn binned(
    messages: &[MessageRecord],
    bins: usize,
    baseline: impl Fn(&MessageRecord) -> Duration,
) -> Vec<SlowdownBin> {
    let point =
        |message: &MessageRecord| Some((message.size, slowdown(message, baseline(message))?));
    let mut points: Vec<(Bytes, f64)> = messages.iter().filter_map(point).collect();
    points.sort_by_key(|(size, _)| *size);
    let edge = |i: usize| i * points.len() / bins;
    (0..bins)
        .filter_map(|i| bin(&points[edge(i)..edge(i + 1)]))
        .collect()
}

/// The bin of messages sorted by size, `None` if there are none.
fn bin(points: &[(Bytes, f64)]) -> Option<SlowdownBin> {
    let upto_bytes = points.last()?.0.get();
    let mut slowdowns: Vec<f64> = points.iter().map(|(_, slowdown)| *slowdown).collect();
    slowdowns.sort_unstable_by(f64::total_cmp);
    Some(SlowdownBin {
        upto_bytes,
        count: points.len(),
        p50: percentile(&slowdowns, 0.5)?,
        p95: percentile(&slowdowns, 0.95)?,
        p99: percentile(&slowdowns, 0.99)?,
        p999: percentile(&slowdowns, 0.999)?,
        max: *slowdowns.last()?,
    })
}
