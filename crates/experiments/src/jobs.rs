//! Honest messages, whole or in the pieces that an attack has cut them into.

use std::collections::BTreeMap;

use fairlane_attacks::Plan;
use fairlane_fabric::Results;
use fairlane_units::{Bytes, Time};

use crate::manifest::Metric;
use crate::measure::{has_size, tenant};

/// The pieces of one honest message.
struct Job {
    first: Time,
    last: Time,
    size: Bytes,
}

/// Microseconds from the first start to the last finish of each job. What isn't finished when the run ends
/// counts with the time until then.
pub(crate) fn times(plan: &Plan, results: &Results, metric: &Metric) -> Vec<f64> {
    let jobs = jobs(plan, results, metric).into_iter();
    jobs.map(|job| seconds(&job) * 1e6).collect()
}

/// Payload over that time, in Gb/s.
pub(crate) fn rates(plan: &Plan, results: &Results, metric: &Metric) -> Vec<f64> {
    let jobs = jobs(plan, results, metric).into_iter();
    jobs.map(|job| job.size.get() as f64 * 8e-9 / seconds(&job))
        .filter(|rate| rate.is_finite())
        .collect()
}

fn seconds(job: &Job) -> f64 {
    job.last.saturating_since(job.first).as_secs_f64()
}

/// The jobs that a metric is about, in the order of the honest messages.
fn jobs(plan: &Plan, results: &Results, metric: &Metric) -> Vec<Job> {
    let tenant = tenant(results, metric);
    let mut jobs: BTreeMap<u32, Job> = BTreeMap::new();
    for message in &results.messages {
        if metric.tenant.is_some() && tenant != Some(message.tenant.index()) {
            continue;
        }
        // Operations of connections that stay open are no part of the plan.
        let Some(number) = plan.jobs.get(message.id as usize).copied().flatten() else {
            continue;
        };
        let finish = message.finish.unwrap_or(results.totals.end);
        let job = jobs.entry(number).or_insert(Job {
            first: message.start,
            last: finish,
            size: Bytes::ZERO,
        });
        job.first = job.first.min(message.start);
        job.last = job.last.max(finish);
        job.size += message.size;
    }
    let jobs = jobs.into_values();
    jobs.filter(|job| has_size(results, metric, job.size))
        .collect()
}
