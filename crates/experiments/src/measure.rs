//! What is measured of a simulated run.

use fairlane_attacks::{Plan, slowdown_so_far};
use fairlane_fabric::{ApplicationRecord, CollectiveRecord, MessageRecord, NicRecord, Results};
use fairlane_units::{Bytes, Duration, Time};

use crate::metric::{Limit, Metric, Quantity};
use crate::sample::Sample;
use crate::{divided, jobs, placed, settling, signals};

/// What a run says about a metric.
pub(crate) fn measure(plan: &Plan, results: &Results, metric: &Metric) -> Sample {
    match metric.of {
        Quantity::Completion => Sample::Pool(Messages::select(results, metric).completions()),
        Quantity::Slowdown => Sample::Pool(Messages::select(results, metric).slowdowns(results)),
        Quantity::OverStandalone => {
            Sample::Pool(Messages::select(results, metric).over_standalone())
        }
        Quantity::Collective => Sample::Pool(collectives(results, metric)),
        Quantity::JobTime => Sample::Pool(jobs::times(plan, results, metric)),
        Quantity::JobRate => Sample::Pool(jobs::rates(plan, results, metric)),
        Quantity::JobGoodput => Sample::Figure(jobs::goodputs(plan, results, metric)),
        Quantity::Messages => {
            let measured = Messages::select(results, metric).slowdowns(results);
            Sample::Figure(Some(measured.len() as f64))
        }
        _ => Sample::Figure(figure(results, metric)),
    }
}

/// Microseconds that each collective takes, to the end of the run if it hasn't ended then.
fn collectives(results: &Results, metric: &Metric) -> Vec<f64> {
    let wanted = |one: &&CollectiveRecord| {
        let of_workload = metric.workload.is_none_or(|wanted| one.workload == wanted);
        of_workload && one.kind.is_some()
    };
    let took = |one: &CollectiveRecord| {
        let end = one.end.unwrap_or(results.totals.end);
        Some(end.saturating_since(one.start?).as_secs_f64() * 1e6)
    };
    let records = results.collectives.iter().filter(wanted);
    records.filter_map(took).collect()
}

/// The number of the tenant that a metric is about, if it names one that is there.
pub(crate) fn tenant(results: &Results, metric: &Metric) -> Option<usize> {
    let name = metric.tenant.as_ref()?;
    let mut tenants = results.tenants.iter();
    tenants.position(|tenant| tenant.name == *name)
}

/// Whether a metric is about messages or jobs of a size.
pub(crate) fn has_size(results: &Results, metric: &Metric, size: Bytes) -> bool {
    let reaches = |limit| match limit {
        Limit::Size(limit) => size >= limit,
        Limit::Word(_) => size >= results.totals.bdp,
    };
    metric.from.is_none_or(reaches) && !metric.below.is_some_and(reaches)
}

/// A metric that each run has one figure of; nothing if the run has nothing that it could be measured of.
fn figure(results: &Results, metric: &Metric) -> Option<f64> {
    let messages = Messages::select(results, metric);
    match metric.of {
        Quantity::Goodput => placed::goodput(results, metric),
        Quantity::Share => placed::share(results, metric),
        Quantity::WeightShare => placed::weight_share(results, metric),
        Quantity::Finished => {
            let all = messages.selected.len();
            (all > 0).then(|| messages.completed().count() as f64 / all as f64)
        }
        Quantity::Join | Quantity::Leave => settling::round_trips(results, metric),
        Quantity::Delivered => {
            let selected = messages.selected.iter();
            let bytes: u64 = selected.map(|message| message.acknowledged.get()).sum();
            Some(bytes as f64 * 8e-9 / messages.span(results)?)
        }
        Quantity::Throughput => {
            let bytes: u64 = messages.completed().map(|message| message.size.get()).sum();
            Some(bytes as f64 * 8e-9 / messages.span(results)?)
        }
        Quantity::Rate => {
            Some(messages.completed().count() as f64 * 1e-6 / messages.span(results)?)
        }
        Quantity::Duration => {
            let last = messages.end()?;
            Some((last - messages.begin()?).as_secs_f64() * 1e3)
        }
        Quantity::Extrapolated => extrapolate(&messages.timed(), metric.size?),
        Quantity::Cpu => divided::processor_time(results),
        Quantity::CpuShare => {
            let (begin, end) = (messages.begin()?, messages.end()?);
            let micros = (end - begin).as_secs_f64() * 1e6;
            Some(divided::processor_time(results)? / micros).filter(|share| share.is_finite())
        }
        Quantity::ChunkLimit => divided::chunk_limit(results),
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
            let sum = |pick: fn(&NicRecord) -> u64| results.nics.iter().map(pick).sum::<u64>();
            let (misses, lookups) = (sum(|nic| nic.misses), sum(|nic| nic.lookups));
            (lookups > 0).then(|| misses as f64 / lookups as f64)
        }
        Quantity::PathShare => signals::path_share(results, metric.through?),
        of => signals::figure(results, of),
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
        let tenant = tenant(results, metric);
        let wanted = |message: &&MessageRecord| {
            metric
                .workload
                .is_none_or(|workload| message.workload == workload)
                && message.start >= first
                && has_size(results, metric, message.size)
                && (metric.tenant.is_none() || tenant == Some(message.tenant.index()))
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

    /// When the last of those that completed did.
    fn end(&self) -> Option<Time> {
        self.completed().filter_map(|message| message.finish).max()
    }

    /// Sizes in bytes and completion times in microseconds.
    fn timed(&self) -> Vec<(f64, f64)> {
        let timed = |message: &MessageRecord| {
            let took = (message.finish? - message.start).as_secs_f64() * 1e6;
            Some((message.size.as_f64(), took))
        };
        self.completed().filter_map(timed).collect()
    }

    /// Seconds from the first start to the end of the run.
    fn span(&self, results: &Results) -> Option<f64> {
        let seconds = (results.totals.end - self.begin()?).as_secs_f64();
        (seconds > 0.0).then_some(seconds)
    }

    /// Completion times in microseconds.
    fn completions(&self) -> Vec<f64> {
        self.timed().into_iter().map(|(_, took)| took).collect()
    }

    /// Completion times over standalone ones.
    fn over_standalone(&self) -> Vec<f64> {
        let ratio = |message: &MessageRecord| {
            let taken = (message.finish? - message.start).as_secs_f64();
            Some(taken / message.standalone.as_secs_f64())
        };
        self.completed().filter_map(ratio).collect()
    }

    /// Completion times over ideal ones, of those that were posted. A message that isn't finished when the run
    /// ends counts with the time that it has taken so far, if that is more than its ideal time.
    fn slowdowns(&self, results: &Results) -> Vec<f64> {
        let end = results.totals.end;
        let slowdown = |message: &&MessageRecord| slowdown_so_far(message, end);
        self.selected.iter().filter_map(slowdown).collect()
    }
}

/// The time of a size, on the line through the mean times of the smallest and the largest size.
fn extrapolate(timed: &[(f64, f64)], size: Bytes) -> Option<f64> {
    let sizes = timed.iter().map(|(size, _)| *size);
    let (least, most) = (sizes.clone().reduce(f64::min)?, sizes.reduce(f64::max)?);
    let mean = |wanted: f64| {
        let of_size = timed.iter().filter(|(size, _)| *size == wanted);
        let (count, sum) = of_size.fold((0.0, 0.0), |(count, sum), (_, took)| {
            (count + 1.0, sum + took)
        });
        sum / count
    };
    let slope = (mean(most) - mean(least)) / (most - least);
    Some(mean(most) + (size.as_f64() - most) * slope).filter(|time| time.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_the_smallest_and_the_largest() {
        let of = |timed: &[(f64, f64)], size| extrapolate(timed, Bytes::new(size));
        let timed = [(10.0, 3.0), (20.0, 99.0), (30.0, 6.0), (10.0, 5.0)];
        // Means of 4 and 6, twenty bytes apart.
        assert_eq!(of(&timed, 130), Some(16.0));
        assert_eq!(of(&timed, 10), Some(4.0));
        assert_eq!(of(&timed[..1], 130), None);
        assert_eq!(of(&[], 130), None);
    }
}
