//! Work requests of programs, as their NICs tell of them and as results have them.

use fairlane_fabric::Outcome;
use fairlane_scenario::Verb;
use fairlane_softnic::{Done, READ_PART, WorkEnd, WorkReport};
use fairlane_units::{Bytes, Time};

/// Path MTUs of InfiniBand (IBTA 9.4.1).
const MTUS: [u16; 5] = [256, 512, 1024, 2048, 4096];

/// What a NIC tells, if it can be so at `now`.
pub(crate) fn read(bytes: &[u8], now: Time) -> Option<WorkReport> {
    let report = WorkReport::parse(bytes)?;
    let is_plausible =
        MTUS.contains(&report.mtu) && report.size.get() <= u32::MAX.into() && report.ended <= now;
    is_plausible.then_some(report)
}

/// What a request is in results.
pub(crate) const fn verb(done: Done) -> Option<Verb> {
    Some(match done {
        Done::Send => Verb::Send,
        Done::Write => Verb::Write,
        Done::Read => Verb::Read,
        Done::FetchAdd => Verb::FetchAdd,
        Done::CompareSwap => Verb::CompareSwap,
        _ => return None,
    })
}

/// Payload of each of the requests that a NIC makes of one.
pub(crate) fn part(report: &WorkReport) -> Bytes {
    match report.done {
        Done::Read => Bytes::new(READ_PART),
        _ => report.size,
    }
}

/// How a request ended, in results.
pub(crate) const fn outcome(end: WorkEnd) -> Outcome {
    match end {
        WorkEnd::Success => Outcome::Completed,
        WorkEnd::Flushed => Outcome::Flushed,
        WorkEnd::RetryExceeded => Outcome::RetryExceeded,
        WorkEnd::Failed => Outcome::Refused,
    }
}
