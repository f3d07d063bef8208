//! Tables of what stands out: the slowest messages, the hottest switch ports.

use fairlane_fabric::metrics::{self, HotPort, SlowMessage};
use fairlane_fabric::{MessageRecord, Results};

use super::data::{HotRow, SlowRow};

/// A table of more rows is left to the files of the run.
const ROWS: usize = 10;

/// The slowest messages.
pub(super) fn slowest(results: &Results) -> Vec<SlowRow> {
    let slowest = metrics::slowest(results, ROWS).into_iter();
    slowest.map(|slow| slow_row(results, &slow)).collect()
}

fn slow_row(results: &Results, slow: &SlowMessage<'_>) -> SlowRow {
    let message: &MessageRecord = slow.message;
    let end = message.finish.unwrap_or(results.totals.end);
    SlowRow {
        id: message.id.get(),
        source: message.source.get(),
        destination: message.destination.get(),
        size: message.size.get(),
        start_ns: message.start.as_ps() as f64 / 1e3,
        span_ns: end.saturating_since(message.start).as_ps() as f64 / 1e3,
        slowdown: slow.slowdown,
        retransmitted: message.retransmitted,
        outcome: message.outcome,
        tenant: message.tenant.get(),
    }
}

/// The hottest switch ports.
pub(super) fn hottest(results: &Results) -> Vec<HotRow> {
    let hottest = metrics::hottest(results, ROWS).into_iter();
    hottest.map(hot_row).collect()
}

fn hot_row(hot: HotPort) -> HotRow {
    HotRow {
        port: hot.port.get(),
        utilisation: hot.utilisation,
        busiest: hot.busiest,
        queue_max: hot.queue_max,
        marked: hot.marked,
        paused_ns: hot.paused_ns,
    }
}
