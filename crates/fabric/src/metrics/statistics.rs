//! Percentiles, distribution functions and fairness.

use fairlane_units::Duration;
use serde::Serialize;

use crate::MessageRecord;

/// The percentile of the field: the value at index `floor(length x p)` of `sorted`, at most the last.
///
/// `p` is a share: 0.99, not 99. `None` for an empty list.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an index; the cast saturates at 0"
)]
pub fn percentile<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    let index = (sorted.len() as f64 * p) as usize;
    sorted.get(index.min(last)).copied()
}

/// Fewest values that carry percentile `p`: n with n (1 - p) >= 1, so that one of them is that rare. Of fewer, the
/// percentile would be their largest whatever `p` is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates: nothing carries a percentile of 1"
)]
pub fn least_for(p: f64) -> usize {
    // 1 - 0.9 is a little less than 0.1 in binary.
    const ROUNDING: f64 = 1e-6;
    ((1.0 / (1.0 - p)) - ROUNDING).ceil() as usize
}

/// [`percentile`] of values that carry it, as [`least_for`] has it; nothing of fewer.
pub fn carried<T: Copy>(sorted: &[T], p: f64) -> Option<T> {
    percentile(sorted, p).filter(|_| sorted.len() >= least_for(p))
}

/// How values are spread. Percentiles are [`carried`] ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values` in any order, `None` if there are none.
    #[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: carried(&values, 0.5),
            p95: carried(&values, 0.95),
            p99: carried(&values, 0.99),
            p999: carried(&values, 0.999),
            max: *values.last()?,
        })
    }
}

/// A point of a distribution function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CdfPoint {
    /// A value.
    pub value: f64,
    /// The share of all values that are at most this one.
    pub share: f64,
}

/// The distribution function of `sorted` at up to `points` evenly spaced shares, and in the tail at
/// 0.99 to 0.999 and 0.999 to 0.9999 as finely. Shares are exact; the last is 1.
pub fn cdf(sorted: &[f64], points: usize) -> Vec<CdfPoint> {
    let count = sorted.len();
    let mut ranks: Vec<usize> = (1..=points).map(|i| rank(count, i, points)).collect();
    ranks.extend((990..1000).map(|i| rank(count, i, 1000)));
    ranks.extend((9990..10_000).map(|i| rank(count, i, 10_000)));
    ranks.push(count);
    ranks.sort_unstable();
    ranks.dedup();
    let mut curve: Vec<CdfPoint> = Vec::with_capacity(ranks.len());
    for rank in ranks.into_iter().filter(|rank| *rank > 0) {
        let value = sorted[rank - 1];
        let at_most = sorted.partition_point(|other| *other <= value);
        if curve.last().is_none_or(|last| last.value < value) {
            curve.push(CdfPoint {
                value,
                share: ratio(at_most, count),
            });
        }
    }
    curve
}

/// `count x part / parts`, rounded up and at most `count`.
fn rank(count: usize, part: usize, parts: usize) -> usize {
    let product = count as u128 * part as u128;
    usize::try_from(product.div_ceil(parts as u128)).unwrap_or(count)
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// The distribution function of completion times in nanoseconds, as [`cdf`] thins it.
pub fn completion_cdf(messages: &[MessageRecord], points: usize) -> Vec<CdfPoint> {
    let mut times: Vec<f64> = messages
        .iter()
        .filter_map(completion)
        .map(nanoseconds)
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    cdf(&times, points)
}

/// The time from start to finish of a finished message.
pub(super) fn completion(message: &MessageRecord) -> Option<Duration> {
    Some(message.finish?.saturating_since(message.start))
}

pub(super) fn nanoseconds(span: Duration) -> f64 {
    span.as_secs_f64() * 1e9
}

/// Jain's fairness index (Jain, Chiu and Hawe, 1984): 1 if all values are equal, 1/n if one of n
/// has everything. `None` if there is no value above 0.
#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// Jain's index of the mean rates of finished messages: size over completion time.
pub fn fairness(messages: &[MessageRecord]) -> Option<f64> {
    let rate = |message: &MessageRecord| {
        let span = completion(message)?;
        (!span.is_zero()).then(|| message.size.as_f64() / span.as_secs_f64())
    };
    jain(&messages.iter().filter_map(rate).collect::<Vec<_>>())
}
