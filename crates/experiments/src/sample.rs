//! What runs say about a metric, and the figure of several of them.

use fairlane_attacks::Estimate;
use fairlane_fabric::metrics::least_for;

use crate::metric::{Statistic, StatisticWord};

/// What a run says about a metric.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sample {
    /// A figure; nothing if the run has nothing that it could be measured of.
    Figure(Option<f64>),
    /// Values, in any order, of which a statistic is the figure.
    Pool(Vec<f64>),
}

impl Sample {
    /// The figure of a run.
    pub(crate) fn figure(&self, statistic: Option<Statistic>) -> Option<f64> {
        match self {
            Self::Figure(figure) => *figure,
            Self::Pool(values) => figure(values.clone(), statistic),
        }
    }
}

/// The figure of runs that differ in their seeds: values are pooled, figures averaged. Half the width of the
/// 95 % confidence interval comes from the figures of single runs.
pub(crate) fn estimate(samples: &[Sample], statistic: Option<Statistic>) -> Estimate {
    let each = Estimate::of(samples.iter().map(|sample| sample.figure(statistic)));
    let pool: Vec<f64> = samples.iter().flat_map(values).copied().collect();
    Estimate {
        mean: figure(pool, statistic).or(each.mean),
        ..each
    }
}

fn values(sample: &Sample) -> &[f64] {
    match sample {
        Sample::Figure(_) => &[],
        Sample::Pool(values) => values,
    }
}

/// A figure of values; nothing if there are none, or too few for a percentile. Percentile 100 is the greatest.
fn figure(mut values: Vec<f64>, statistic: Option<Statistic>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = *values.last()?;
    match statistic.unwrap_or(Statistic::Word(StatisticWord::Mean)) {
        Statistic::Word(StatisticWord::Max) => Some(last),
        Statistic::Word(StatisticWord::Mean) => {
            Some(values.iter().sum::<f64>() / values.len() as f64)
        }
        Statistic::Percentile(percent) if percent >= 100.0 => Some(last),
        Statistic::Percentile(percent) => (values.len() >= least_for(percent / 100.0))
            .then(|| values[nearest_rank(percent, values.len())]),
    }
}

/// Index of the nearest rank: the smallest value that at least so many percent don't exceed. Percentages count
/// to the millionth, so that 99.9 of 1000 are 999 whatever the nearest binary number is.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and the result is clamped"
)]
pub(crate) fn nearest_rank(percent: f64, count: usize) -> usize {
    const MILLIONTHS: f64 = 1e6;
    let share = (percent * MILLIONTHS).round() as u128;
    let rank = share.saturating_mul(count as u128).div_ceil(100_000_000);
    usize::try_from(rank).unwrap_or(count).clamp(1, count) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_the_nearest() {
        assert_eq!(
            [0.0, 1.0, 50.0, 80.0, 99.0, 100.0].map(|percent| nearest_rank(percent, 10)),
            [0, 0, 4, 7, 9, 9]
        );
        assert_eq!(nearest_rank(f64::NAN, 3), 0);
        assert_eq!(nearest_rank(99.9, 1000), 998);
        for tenth in 1..1000 {
            // Of a thousand values, each tenth of a percent is one.
            assert_eq!(
                nearest_rank(f64::from(tenth) / 10.0, 1000),
                tenth as usize - 1
            );
        }
        assert_eq!(nearest_rank(1e300, 3), 2);
    }

    #[test]
    fn seeds_pool_values_and_average_figures() {
        let pools = [Sample::Pool(vec![1.0, 2.0]), Sample::Pool(vec![9.0])];
        let most = Some(Statistic::Word(StatisticWord::Max));
        assert_eq!(estimate(&pools, most).mean, Some(9.0));
        assert_eq!(estimate(&pools, None).mean, Some(4.0));
        assert!(
            estimate(&pools, None)
                .half_width
                .is_some_and(|half| half > 0.0)
        );
        let figures = [Some(1.0), None, Some(4.0)].map(Sample::Figure);
        assert_eq!(estimate(&figures, most).mean, Some(2.5));
        assert_eq!(estimate(&figures, most).count, 2);
        assert_eq!(estimate(&figures[..1], None).half_width, None);
        assert_eq!(estimate(&[Sample::Pool(Vec::new())], None).mean, None);
    }

    #[test]
    fn seeds_together_may_carry_a_percentile_that_one_does_not() {
        let seed = |count: u32| Sample::Pool((1..=count).map(f64::from).collect());
        let of = |seeds: &[Sample], percent| estimate(seeds, Some(Statistic::Percentile(percent)));
        let both = of(&[seed(50), seed(50)], 99.0);
        assert_eq!(
            (both.mean, both.half_width, both.count),
            (Some(50.0), None, 0)
        );
        assert_eq!(of(&[seed(50), seed(49)], 99.0).mean, None);
        assert_eq!(of(&[seed(1)], 50.0).mean, None);
        assert_eq!(of(&[seed(2)], 50.0).mean, Some(1.0));
        assert_eq!(of(&[seed(3)], 100.0).mean, Some(3.0));
    }
}
