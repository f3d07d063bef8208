//! Connections with several paths in a few figures.

use fairlane_units::Rate;
use serde::Serialize;

use super::statistics::nanoseconds;
use crate::{MultipathRecord, PathRecord, Results};

/// Connections with several paths.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MultipathSummary {
    /// How many were opened.
    pub connections: u64,
    /// Messages that were posted.
    pub messages: u64,
    /// Work requests that were posted for them, those that were posted again included.
    pub chunks: u64,
    /// Work requests for data that was posted before.
    pub chunks_again: u64,
    /// Work requests that destinations took note of, for messages that somebody waits for there.
    pub placed: u64,
    /// Such messages that were complete there.
    pub arrived: u64,
    /// Paths that weren't used, as others took the same way: over all connections, at their ends.
    pub twins: u64,
    /// How often a path was given up for a while.
    pub quarantines: u64,
    /// Work requests whose queue pair gave up.
    pub failures: u64,
    /// Whether the queue pairs of a connection shared a congestion budget: without, and under scope `qp`, more
    /// paths buy more.
    pub coupled: bool,
    /// Processor time of the threads of all hosts.
    pub cpu_ns: CpuSummary,
    /// By number of the path, over all connections.
    pub paths: Vec<PathSummary>,
}

/// Processor time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CpuSummary {
    /// Time to post work requests.
    pub post: f64,
    /// Time to poll completions.
    pub poll: f64,
    /// Time to cut chunks off their messages.
    pub split: f64,
    /// Time to put messages together.
    pub reassemble: f64,
}

/// The paths with one number, over all connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathSummary {
    /// The number of the path in its connection.
    pub path: u32,
    /// Connections that had it.
    pub connections: u64,
    /// Payload of acknowledged work requests.
    pub bytes: u64,
    /// Acknowledged work requests of messages.
    pub chunks: u64,
    /// Work requests whose queue pair gave up.
    pub failures: u64,
    /// How often it was given up for a while.
    pub quarantines: u64,
    /// Connections in which another path was used in its place.
    pub twins: u64,
    /// Mean smoothed round trip, of pairs of hosts that knew one.
    pub round_trip_ns: Option<f64>,
    /// Mean capacity, of pairs of hosts that knew one.
    pub capacity_gbps: Option<f64>,
    /// The largest loss in percent.
    pub loss_percent: u8,
    /// Pairs of hosts whose last connection left it other than good, twins aside.
    pub unhealthy: u64,
}

impl MultipathSummary {
    /// Sums up the connections of a run, if messages had several paths.
    pub fn of(results: &Results) -> Option<Self> {
        let record = results.multipath.as_ref()?;
        let sum = |part: fn(&PathRecord) -> u64| record.paths.iter().map(part).sum();
        Some(Self {
            connections: record.connections,
            messages: record.messages,
            chunks: record.chunks,
            chunks_again: record.again,
            placed: record.placed,
            arrived: record.arrived,
            twins: sum(|path| path.twins),
            quarantines: sum(|path| path.quarantines),
            failures: sum(|path| path.failures),
            coupled: record.coupled,
            cpu_ns: CpuSummary {
                post: nanoseconds(record.post),
                poll: nanoseconds(record.poll),
                split: nanoseconds(record.split),
                reassemble: nanoseconds(record.reassemble),
            },
            paths: paths(record),
        })
    }
}

fn paths(record: &MultipathRecord) -> Vec<PathSummary> {
    let mut sorted: Vec<&PathRecord> = record.paths.iter().collect();
    sorted.sort_by_key(|path| path.path);
    let groups = sorted.chunk_by(|a, b| a.path == b.path);
    groups.map(path).collect()
}

/// Sums up the paths with one number, of which there is at least one.
fn path(paths: &[&PathRecord]) -> PathSummary {
    let sum = |part: fn(&PathRecord) -> u64| paths.iter().map(|path| part(path)).sum();
    let trips = paths.iter().filter_map(|path| path.round_trip);
    let rates = paths.iter().filter_map(|path| path.capacity);
    let unhealthy = |path: &&&PathRecord| !matches!(path.health, "good" | "twin");
    PathSummary {
        path: paths[0].path.get(),
        connections: sum(|path| path.connections),
        bytes: sum(|path| path.bytes.get()),
        chunks: sum(|path| path.chunks),
        failures: sum(|path| path.failures),
        quarantines: sum(|path| path.quarantines),
        twins: sum(|path| path.twins),
        round_trip_ns: mean(trips.map(nanoseconds)),
        capacity_gbps: mean(rates.map(gbps)),
        loss_percent: paths.iter().map(|path| path.loss).max().unwrap_or(0),
        unhealthy: paths.iter().filter(unhealthy).count() as u64,
    }
}

fn gbps(rate: Rate) -> f64 {
    rate.as_f64() / 1e9
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value;
        count += 1.0;
    }
    (count > 0.0).then_some(sum / count)
}
