//! Slowdown against message size, in the binning of the field.

use fairlane_units::{Bytes, Duration};
use serde::Serialize;

use super::statistics::{carried, completion, least_for};
use crate::MessageRecord;

/// The slowdowns of messages of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SlowdownBin {
    /// The largest message of the bin.
    pub upto_bytes: u64,
    /// Its messages.
    pub count: usize,
    /// Median slowdown; this and other percentiles if there are enough messages for it.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest slowdown.
    pub max: f64,
}

/// Slowdowns of finished messages over their ideal time, in at most `most` classes of size of about equal count.
///
/// All messages of one size are in one class, and each class has at least 20, unless there are fewer in all; so
/// equal sizes make one class. Percentile p is the value at index floor(count x p), as HPCC's
/// `fct_analysis.py` has it. Unlike there, nothing is clamped at 1 and the largest message stays.
pub fn slowdown_bins(messages: &[MessageRecord], most: usize) -> Vec<SlowdownBin> {
    binned(messages, most, |message| message.ideal)
}

/// The largest size of each class of `sizes`, which come in any order: by them several runs are divided alike. Classes
/// are as those of [`slowdown_bins`], but have at least `fewest` messages.
pub fn size_edges(mut sizes: Vec<u64>, most: usize, fewest: usize) -> Vec<u64> {
    sizes.sort_unstable();
    let mut rest = sizes.as_slice();
    let counts = class_counts(&sizes, most, fewest, |size| *size).into_iter();
    counts
        .filter_map(|count| rest.split_off(..count)?.last().copied())
        .collect()
}

/// A percentile that each class of size carries, if there are enough messages for one class.
const EVERY_CLASS: f64 = 0.95;

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
    most: usize,
    baseline: impl Fn(&MessageRecord) -> Duration,
) -> Vec<SlowdownBin> {
    let point =
        |message: &MessageRecord| Some((message.size, slowdown(message, baseline(message))?));
    let mut points: Vec<(Bytes, f64)> = messages.iter().filter_map(point).collect();
    points.sort_by_key(|(size, _)| *size);
    let mut rest = points.as_slice();
    let fewest = least_for(EVERY_CLASS);
    let classes = class_counts(&points, most, fewest, |(size, _)| *size).into_iter();
    classes
        .filter_map(|count| bin(rest.split_off(..count)?))
        .collect()
}

/// How many messages each class has of some that are sorted by size.
fn class_counts<T, S: PartialEq>(
    points: &[T],
    most: usize,
    fewest: usize,
    size: impl Fn(&T) -> S,
) -> Vec<usize> {
    let (mut classes, mut class, mut left) = (Vec::new(), 0, points.len());
    for same in points.chunk_by(|one, next| size(one) == size(next)) {
        // What is left is divided among the classes that are left, of which the last takes all.
        let wanted = match most.saturating_sub(classes.len()) {
            0 | 1 => usize::MAX,
            more => left.div_ceil(more).max(fewest),
        };
        let with = class + same.len();
        let is_nearer = wanted.abs_diff(class) < wanted.abs_diff(with);
        if class >= fewest && left - class >= fewest && is_nearer {
            classes.push(class);
            left -= class;
            class = 0;
        }
        class += same.len();
    }
    if most > 0 && class > 0 {
        classes.push(class);
    }
    classes
}

/// The bin of messages sorted by size, `None` if there are none.
fn bin(points: &[(Bytes, f64)]) -> Option<SlowdownBin> {
    let upto_bytes = points.last()?.0.get();
    let mut slowdowns: Vec<f64> = points.iter().map(|(_, slowdown)| *slowdown).collect();
    slowdowns.sort_unstable_by(f64::total_cmp);
    Some(SlowdownBin {
        upto_bytes,
        count: points.len(),
        p50: carried(&slowdowns, 0.5),
        p95: carried(&slowdowns, 0.95),
        p99: carried(&slowdowns, 0.99),
        p999: carried(&slowdowns, 0.999),
        max: *slowdowns.last()?,
    })
}
