//! Honest messages, whole or in the pieces that an attack has cut them into.

use fairlane_attacks::{Job, Plan, goodput};
use fairlane_fabric::Results;

use crate::measure::{has_size, tenant};
use crate::metric::Metric;

/// Microseconds from the first post to the last arrival of each job. What isn't finished when the run ends
/// counts with the time until then.
pub(crate) fn times(plan: &Plan, results: &Results, metric: &Metric) -> Vec<f64> {
    let jobs = jobs(plan, results, metric).into_iter();
    jobs.map(|job| job.time().as_secs_f64() * 1e6).collect()
}

/// Payload that has arrived over that time, in Gb/s.
pub(crate) fn rates(plan: &Plan, results: &Results, metric: &Metric) -> Vec<f64> {
    let jobs = jobs(plan, results, metric).into_iter();
    jobs.map(|job| job.arrived.as_f64() * 8e-9 / job.time().as_secs_f64())
        .filter(|rate| rate.is_finite())
        .collect()
}

/// Payload that has arrived over that time, both summed over jobs, in Gb/s: what gains are measured in.
pub(crate) fn goodputs(plan: &Plan, results: &Results, metric: &Metric) -> Option<f64> {
    Some(goodput(&jobs(plan, results, metric))? * 1e-9)
}

/// The jobs that a metric is about, in the order of the honest messages.
fn jobs(plan: &Plan, results: &Results, metric: &Metric) -> Vec<Job> {
    let tenant = tenant(results, metric);
    let wanted = |job: &Job| {
        (metric.tenant.is_none() || tenant == Some(job.tenant.index()))
            && has_size(results, metric, job.size)
    };
    let jobs = Job::all(plan, results).into_values();
    jobs.filter(wanted).collect()
}
