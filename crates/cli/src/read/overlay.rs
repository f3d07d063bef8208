//! A run, as far as it is drawn over others.

use std::path::Path;

use serde::Deserialize;

use crate::failure::Failure;
use crate::read::{DAMAGED, NOT_RESULTS, parquet, require_results};

/// Most intervals that are drawn; neighbours are merged.
const MOST_INTERVALS: usize = 600;

/// What is drawn of a run.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Completion times of completed messages.
    pub(crate) completion_us: Vec<f64>,
    /// Slowdown of completed messages.
    pub(crate) slowdown: Vec<f64>,
    /// Payload of the same messages.
    pub(crate) size_bytes: Vec<u64>,
    /// Start of the first interval.
    pub(crate) start_ns: f64,
    /// Length of intervals.
    pub(crate) step_ns: f64,
    /// What switches send to hosts, by interval.
    pub(crate) delivered_gbps: Vec<f64>,
    /// The deepest queue of a switch port in an interval.
    pub(crate) queue_bytes: Vec<f64>,
}

/// Reads what is drawn of a run.
///
/// # Errors
/// If the directory doesn't hold its results, or a file isn't what `run` writes.
pub(crate) fn overlay(directory: &Path) -> Result<Overlay, Failure> {
    require_results(directory)?;
    let mut overlay = Overlay::default();
    messages(&directory.join("flows.parquet"), &mut overlay)
        .map_err(|failure| failure.hint(NOT_RESULTS))?;
    ports(&directory.join("ports.parquet"), &mut overlay)
        .map_err(|failure| failure.hint(NOT_RESULTS))?;
    Ok(overlay)
}

#[derive(Deserialize)]
struct Message {
    size_bytes: u64,
    completion_ps: Option<u64>,
    ideal_ps: u64,
}

fn messages(path: &Path, overlay: &mut Overlay) -> Result<(), Failure> {
    for message in parquet::rows(path, DAMAGED, |message: Message| Some(message))? {
        let message = message?;
        if let Some(taken) = message.completion_ps {
            let ideal = message.ideal_ps.max(1);
            overlay.completion_us.push(taken as f64 * 1e-6);
            overlay.size_bytes.push(message.size_bytes);
            overlay.slowdown.push(taken as f64 / ideal as f64);
        }
    }
    Ok(())
}

/// A port in an interval.
#[derive(Deserialize)]
struct PortRow {
    time_ps: u64,
    port_id: usize,
    on_switch: bool,
    peer_port_id: usize,
    sent_bytes: u64,
    queue_max_bytes: u64,
}

/// What a row of `ports.parquet` adds to its interval.
struct Sent {
    interval: usize,
    port: usize,
    bytes: f64,
}

fn ports(path: &Path, overlay: &mut Overlay) -> Result<(), Failure> {
    let mut times: Vec<u64> = Vec::new();
    // By port: whether a switch has it, and which port is at its other end.
    let mut ends: Vec<(bool, usize)> = Vec::new();
    let (mut sent, mut queues): (Vec<Sent>, Vec<f64>) = (Vec::new(), Vec::new());
    for row in parquet::rows(path, DAMAGED, |row: PortRow| Some(row))? {
        let row = row?;
        if times.last() != Some(&row.time_ps) {
            times.push(row.time_ps);
            queues.push(0.0);
        }
        if row.port_id == ends.len() {
            ends.push((row.on_switch, row.peer_port_id));
        }
        let interval = times.len() - 1;
        if row.on_switch {
            let (port, bytes) = (row.port_id, row.sent_bytes as f64);
            if bytes > 0.0 {
                sent.push(Sent {
                    interval,
                    port,
                    bytes,
                });
            }
            queues[interval] = queues[interval].max(row.queue_max_bytes as f64);
        }
    }
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Ok(());
    };
    let step_ns = step_ns((*first, *last), times.len());
    let to_host = |port: usize| {
        let peer = ends.get(port).and_then(|(_, peer)| ends.get(*peer));
        peer.is_some_and(|(on_switch, _)| !on_switch)
    };
    let mut delivered = vec![0.0; times.len()];
    for one in sent.iter().filter(|one| to_host(one.port)) {
        delivered[one.interval] += one.bytes;
    }
    let merged = times.len().div_ceil(MOST_INTERVALS);
    overlay.start_ns = *first as f64 * 1e-3;
    overlay.step_ns = step_ns * merged as f64;
    let rate = |bytes: &[f64]| {
        let span = (step_ns * bytes.len() as f64).max(1e-3);
        bytes.iter().sum::<f64>() * 8.0 / span
    };
    overlay.delivered_gbps = delivered.chunks(merged).map(rate).collect();
    let deepest = |depths: &[f64]| depths.iter().copied().fold(0.0, f64::max);
    overlay.queue_bytes = queues.chunks(merged).map(deepest).collect();
    Ok(())
}

/// Length in nanoseconds of intervals whose first and last begin at these picoseconds; zero if a damaged file has them the other way round.
fn step_ns((first, last): (u64, u64), intervals: usize) -> f64 {
    let steps = intervals.saturating_sub(1).max(1) as f64;
    last.saturating_sub(first) as f64 * 1e-3 / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_damaged_file_give_no_length() {
        assert_eq!(step_ns((1000, 5000), 3), 2.0);
        assert_eq!(step_ns((5000, 1000), 3), 0.0);
    }
}
