//! A run, as far as it is drawn over others.

use std::ops::ControlFlow;
use std::path::Path;

use crate::failure::Failure;
use crate::read::parquet::{Columns, flag, integer};
use crate::read::{NOT_RESULTS, require_results};

/// Most intervals that are drawn; neighbours are merged.
const MOST_INTERVALS: usize = 600;

const DAMAGED: &str = "the file is damaged; run the scenario again";

/// What is drawn of a run.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Of completed messages.
    pub(crate) completion_us: Vec<f64>,
    /// Of completed messages.
    pub(crate) slowdown: Vec<f64>,
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

fn messages(path: &Path, overlay: &mut Overlay) -> Result<(), Failure> {
    let columns = Columns {
        path,
        names: &["completion_ps", "ideal_ps"],
        remedy: DAMAGED,
    };
    columns.rows(&mut |cells| {
        let ideal = integer(cells[1])??;
        if let Some(taken) = integer(cells[0])? {
            overlay.completion_us.push(taken as f64 * 1e-6);
            overlay.slowdown.push(taken as f64 / ideal.max(1) as f64);
        }
        Some(Ok(ControlFlow::Continue(())))
    })
}

/// What a row of `ports.parquet` adds to its interval.
struct Sent {
    interval: usize,
    port: usize,
    bytes: f64,
}

fn ports(path: &Path, overlay: &mut Overlay) -> Result<(), Failure> {
    let columns = Columns {
        path,
        names: &[
            "time_ps",
            "port_id",
            "on_switch",
            "peer_port_id",
            "sent_bytes",
            "queue_max_bytes",
        ],
        remedy: DAMAGED,
    };
    let mut times: Vec<u64> = Vec::new();
    // By port: whether a switch has it, and which port is at its other end.
    let mut ends: Vec<(bool, usize)> = Vec::new();
    let (mut sent, mut queues): (Vec<Sent>, Vec<f64>) = (Vec::new(), Vec::new());
    columns.rows(&mut |cells| {
        let number = |column: usize| integer(cells[column])?;
        let place = |column: usize| usize::try_from(number(column)?).ok();
        let time = number(0)?;
        if times.last() != Some(&time) {
            times.push(time);
            queues.push(0.0);
        }
        let (port, on_switch) = (place(1)?, flag(cells[2])?);
        if port == ends.len() {
            ends.push((on_switch, place(3)?));
        }
        let interval = times.len() - 1;
        if on_switch {
            let bytes = number(4)? as f64;
            if bytes > 0.0 {
                sent.push(Sent {
                    interval,
                    port,
                    bytes,
                });
            }
            queues[interval] = queues[interval].max(number(5)? as f64);
        }
        Some(Ok(ControlFlow::Continue(())))
    })?;
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return Ok(());
    };
    let intervals = (times.len() - 1).max(1) as f64;
    let step_ns = (last - first) as f64 * 1e-3 / intervals;
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
