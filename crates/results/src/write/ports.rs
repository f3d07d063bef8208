//! `ports.parquet`: the time series of every port.

use std::cell::RefCell;
use std::path::Path;

use fairlane_fabric::{PortInfo, Results, metrics};
use fairlane_units::Time;

use crate::column::{Column, Kind, Table};
use crate::error::Error;
use crate::write::parquet;

/// One port in one interval.
pub(crate) struct Row<'a> {
    results: &'a Results,
    /// Index into the series.
    sample: usize,
    interval: usize,
    /// Start of the interval.
    time: Time,
    port: usize,
    uses: &'a RefCell<Uses>,
}

impl Row<'_> {
    fn info(&self) -> &PortInfo {
        &self.results.ports[self.port]
    }
}

/// The columns; `docs/results.md` explains them.
fn columns<'a>() -> [Column<Row<'a>>; 14] {
    [
        Column::new("time_ps", Kind::Integer(64), |r| r.time.as_ps().into()),
        Column::new("port_id", Kind::Integer(32), |r| (r.port as u64).into()),
        Column::new("node", Kind::Integer(32), |r| r.info().node.get().into()),
        Column::new("on_switch", Kind::Flag, |r| r.info().on_switch.into()),
        Column::new("port", Kind::Integer(32), |r| r.info().number.into()),
        Column::new("peer_port_id", Kind::Integer(32), |r| {
            r.info().peer.get().into()
        }),
        Column::new("peer_node", Kind::Integer(32), |r| {
            r.info().peer_node.get().into()
        }),
        Column::new("rate_bps", Kind::Integer(64), |r| {
            r.info().rate.as_bps().into()
        }),
        Column::new("sent_bytes", Kind::Integer(32), |r| {
            r.results.series.sent[r.sample].into()
        }),
        Column::new("utilization", Kind::Real, |r| r.utilization().into()),
        Column::new("queue_bytes", Kind::Integer(32), |r| {
            r.results.series.queue[r.sample].into()
        }),
        Column::new("queue_max_bytes", Kind::Integer(32), |r| {
            r.results.series.queue_max[r.sample].into()
        }),
        Column::new("marked_packets", Kind::Integer(32), |r| {
            r.results.series.marked[r.sample].into()
        }),
        Column::new("paused_ns", Kind::Integer(32), |r| {
            r.results.series.paused_ns[r.sample].into()
        }),
    ]
}

/// Use of the ports in one interval: asked for column by column, row by row.
struct Uses {
    interval: usize,
    /// By port; empty before the first interval.
    by_port: Vec<f64>,
}

impl Row<'_> {
    fn utilization(&self) -> f64 {
        let mut uses = self.uses.borrow_mut();
        if uses.by_port.is_empty() || uses.interval != self.interval {
            *uses = Uses {
                interval: self.interval,
                by_port: metrics::interval_utilisation(self.results, self.interval),
            };
        }
        uses.by_port.get(self.port).copied().unwrap_or(0.0)
    }
}

/// Writes the series of all ports, interval by interval.
///
/// # Errors
/// If the file can't be written.
pub fn write(path: &Path, results: &Results) -> Result<(), Error> {
    with_table(results, |table| parquet::write(path, table))
}

/// Hands the table to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_table<T>(
    results: &Results,
    fill: impl FnOnce(&Table<'_, Row<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let series = &results.series;
    let ports = series.ports.max(1);
    let uses = RefCell::new(Uses {
        interval: 0,
        by_port: Vec::new(),
    });
    let row = |sample: usize| {
        let interval = sample / ports;
        let past = series.interval.saturating_mul(interval as u64);
        let time = series.start.saturating_add(past);
        Row {
            results,
            sample,
            interval,
            time,
            port: sample % ports,
            uses: &uses,
        }
    };
    fill(&Table {
        columns: &columns(),
        rows: series.sent.len(),
        row: &row,
    })
}
