//! Honest messages, whole or in the pieces that an attack has cut them into.

use std::collections::BTreeMap;

use fairlane_fabric::Results;
use fairlane_units::{Bytes, Duration, MessageId, TenantId, Time};

use crate::plan::Plan;

/// What became of an honest message, whole or in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The tenant that sends the message.
    pub tenant: TenantId,
    /// Its payload.
    pub size: Bytes,
    /// How much of that has arrived, as far as the source knows.
    pub arrived: Bytes,
    /// When the first piece was posted.
    pub first: Time,
    /// When the last piece arrived, or the end of the run if one hasn't.
    pub last: Time,
    /// Whether every piece has arrived.
    pub finished: bool,
}

impl Job {
    /// The jobs of a run by number: the place of the honest message, or of its first part, among the messages
    /// of the workloads. Those of which nothing was posted are left out, and so are operations of connections
    /// that stay open, which aren't part of a plan.
    pub fn all(plan: &Plan, results: &Results) -> BTreeMap<MessageId, Self> {
        let mut jobs: BTreeMap<MessageId, Self> = BTreeMap::new();
        for message in &results.messages {
            let Some(number) = plan.jobs.get(message.id.index()).copied().flatten() else {
                continue;
            };
            let job = jobs.entry(number).or_insert(Self {
                tenant: message.tenant,
                size: Bytes::ZERO,
                arrived: Bytes::ZERO,
                first: Time::MAX,
                last: Time::ZERO,
                finished: true,
            });
            job.size += message.size;
            job.arrived += message.acknowledged;
            job.last = job.last.max(message.finish.unwrap_or(results.totals.end));
            job.finished &= message.finish.is_some();
            if message.posted {
                job.first = job.first.min(message.start);
            }
        }
        jobs.retain(|_, job| job.first < Time::MAX);
        jobs
    }

    /// The time from the first post to the last arrival, or to the end of the run.
    pub fn time(&self) -> Duration {
        self.last.saturating_since(self.first)
    }
}

/// Payload of jobs that has arrived, over the time that they took, both summed, in bits per second; nothing if
/// they took none. Of jobs that all finish, their mean size over their mean completion time. One that doesn't
/// counts with what it has got so far.
pub fn goodput<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Option<f64> {
    let sum = |sum: (f64, f64), job: &Job| {
        let (bytes, seconds) = (job.arrived.as_f64(), job.time().as_secs_f64());
        (sum.0 + bytes, sum.1 + seconds)
    };
    let (bytes, seconds) = jobs.into_iter().fold((0.0, 0.0), sum);
    (seconds > 0.0).then(|| bytes * 8.0 / seconds)
}
