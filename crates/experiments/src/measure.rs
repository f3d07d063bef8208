//! What is measured of a simulated run.

use fairlane_fabric::{ApplicationRecord, CardRecord, MessageRecord, Results};
use fairlane_units::{Duration, Time};

use crate::manifest::{Metric, Quantity, Statistic, StatisticWord};

/// The value of a metric; nothing if the run has nothing that it could be measured of.
pub(crate) fn measure(results: &Results, metric: &Metric) -> Option<f64> {
    let messages = Messages::select(results, metric);
    match metric.of {
        Quantity::Completion => messages.completion(metric.percentile),
        Quantity::Throughput => {
            let bytes: u64 = messages.completed().map(|message| message.size.get()).sum();
            Some(bytes as f64 * 8e-9 / messages.span(results)?)
        }
        Quantity::Rate => {
            Some(messages.completed().count() as f64 * 1e-6 / messages.span(results)?)
        }
        Quantity::Duration => {
            let last = messages
                .completed()
                .filter_map(|message| message.finish)
                .max()?;
            Some((last - messages.begin()?).as_secs_f64() * 1e3)
        }
        Quantity::LongestWait => {
            let longest = applications(results, metric)
                .map(|one| one.longest_wait)
                .max()?;
            Some(longest.as_secs_f64() * 1e6)
        }
        Quantity::WaitShare => {
            let share = |one: &ApplicationRecord| {
                Some(one.longest_wait_epochs? as f64 / one.wait_bound_epochs? as f64)
            };
            applications(results, metric)
                .filter_map(share)
                .reduce(f64::max)
        }
        Quantity::MissShare => {
            let sum = |pick: fn(&CardRecord) -> u64| results.cards.iter().map(pick).sum::<u64>();
            let (misses, lookups) = (sum(|card| card.misses), sum(|card| card.lookups));
            (lookups > 0).then(|| misses as f64 / lookups as f64)
        }
    }
}

/// The applications that a metric is about.
fn applications<'a>(
    results: &'a Results,
    metric: &Metric,
) -> impl Iterator<Item = &'a ApplicationRecord> {
    let wanted = metric.workload;
    results
        .applications
        .iter()
        .filter(move |one| wanted.is_none_or(|workload| one.workload == workload))
}

/// The messages that a metric is about.
struct Messages<'a> {
    selected: Vec<&'a MessageRecord>,
}

impl<'a> Messages<'a> {
    fn select(results: &'a Results, metric: &Metric) -> Self {
        let first = Time::ZERO + metric.after.unwrap_or(Duration::ZERO);
        let wanted = |message: &&MessageRecord| {
            metric
                .workload
                .is_none_or(|workload| message.workload == workload)
                && message.start >= first
        };
        Self {
            selected: results.messages.iter().filter(wanted).collect(),
        }
    }

    fn completed(&self) -> impl Iterator<Item = &'a MessageRecord> {
        self.selected
            .iter()
            .copied()
            .filter(|message| message.finish.is_some())
    }

    fn begin(&self) -> Option<Time> {
        self.selected.iter().map(|message| message.start).min()
    }

    /// Seconds from the first start to the end of the run.
    fn span(&self, results: &Results) -> Option<f64> {
        let seconds = (results.totals.end - self.begin()?).as_secs_f64();
        (seconds > 0.0).then_some(seconds)
    }

    /// A figure of the completion times in microseconds.
    fn completion(&self, statistic: Option<Statistic>) -> Option<f64> {
        let time = |message: &MessageRecord| Some(message.finish? - message.start);
        let mut times: Vec<Duration> = self.completed().filter_map(time).collect();
        times.sort_unstable();
        let last = times.last()?;
        let micros = |time: &Duration| time.as_secs_f64() * 1e6;
        Some(
            match statistic.unwrap_or(Statistic::Word(StatisticWord::Mean)) {
                Statistic::Word(StatisticWord::Max) => micros(last),
                Statistic::Word(StatisticWord::Mean) => {
                    times.iter().map(micros).sum::<f64>() / times.len() as f64
                }
                Statistic::Percentile(percent) => {
                    micros(&times[nearest_rank(percent, times.len())])
                }
            },
        )
    }
}

/// Index of the nearest rank: the smallest value that at least so many percent don't exceed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and the result is clamped"
)]
fn nearest_rank(percent: f64, count: usize) -> usize {
    let rank = (percent / 100.0 * count as f64).ceil() as usize;
    rank.clamp(1, count) - 1
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
    }
}
