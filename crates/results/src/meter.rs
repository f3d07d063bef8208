//! What the process has cost this machine.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

/// Processor time and memory of this process so far.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    user_s: f64,
    system_s: f64,
    max_rss_bytes: u64,
}

impl Usage {
    /// What has been used until now; zeros where the system doesn't say.
    pub fn now() -> Self {
        let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
            return Self {
                user_s: 0.0,
                system_s: 0.0,
                max_rss_bytes: 0,
            };
        };
        Self {
            user_s: seconds(usage.user_time().num_microseconds()),
            system_s: seconds(usage.system_time().num_microseconds()),
            max_rss_bytes: u64::try_from(usage.max_rss()).unwrap_or(0) * RSS_UNIT,
        }
    }
}

/// The unit of `ru_maxrss`: macOS counts bytes, all others kibibytes.
const RSS_UNIT: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };

#[expect(
    clippy::cast_precision_loss,
    reason = "a process lives less than 2^53 microseconds"
)]
fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / 1e6
}

/// The cost of one run on this machine: the only part of the results that differs between two runs
/// of the same scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Version of the command.
    pub version: &'static str,
    /// Processor time of the simulation in user mode, without reading and writing files.
    pub user_cpu_s: f64,
    /// Processor time of the simulation in the kernel.
    pub system_cpu_s: f64,
    /// Time of the simulation by the clock on the wall.
    pub wall_s: f64,
    /// Most memory that the process has held.
    pub max_rss_bytes: u64,
    /// Packets put on links (data and acknowledgements) for each second of `user_cpu_s`.
    pub transmissions_per_user_second: Option<f64>,
    /// Events handled for each second of `user_cpu_s`.
    pub events_per_user_second: Option<f64>,
}

impl Host {
    /// The cost between two moments, `wall_s` apart, in which so much was done.
    pub fn between(before: Usage, after: Usage, wall_s: f64, work: Work) -> Self {
        let user_cpu_s = after.user_s - before.user_s;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            user_cpu_s,
            system_cpu_s: after.system_s - before.system_s,
            wall_s,
            max_rss_bytes: after.max_rss_bytes,
            transmissions_per_user_second: per_second(work.transmissions, user_cpu_s),
            events_per_user_second: per_second(work.events, user_cpu_s),
        }
    }
}

/// What a simulation did.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Packets put on links.
    pub transmissions: u64,
    /// Events handled.
    pub events: u64,
}

/// A rate, if the time is long enough to state one: processor time comes in steps.
#[expect(clippy::cast_precision_loss, reason = "display only")]
pub fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (seconds >= 1e-3).then(|| (count as f64 / seconds).round())
}
