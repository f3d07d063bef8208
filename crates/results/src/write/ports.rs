//! `ports.parquet` and `chosen.parquet`: time series of ports.

use std::path::Path;

use fairlane_fabric::{ChosenPorts, PortInfo, PortSeries, Results, metrics};
use fairlane_units::Time;

use crate::column::{Column, Table, columns};
use crate::error::Error;
use crate::write::parquet;

/// One port in one interval.
pub(crate) struct Row<'a> {
    results: &'a Results,
    series: &'a PortSeries,
    /// Index into the series.
    sample: usize,
    /// Start of the interval.
    time: Time,
    port: usize,
}

impl Row<'_> {
    fn info(&self) -> &PortInfo {
        &self.results.ports[self.port]
    }
}

/// The columns; `docs/results.md` explains them.
pub(super) fn columns<'a>() -> [Column<Row<'a>>; 14] {
    columns![
        time_ps: u64 = |r| r.time.as_ps(),
        port_id: u32 = |r| u32::try_from(r.port).expect("ports have 32 bits"),
        node: u32 = |r| r.info().node.get(),
        on_switch: bool = |r| r.info().on_switch,
        port: u32 = |r| r.info().number,
        peer_port_id: u32 = |r| r.info().peer.get(),
        peer_node: u32 = |r| r.info().peer_node.get(),
        rate_bps: u64 = |r| r.info().rate.as_bps(),
        sent_bytes: u64 = |r| r.series.sent[r.sample],
        utilization: f64 = |r| metrics::sample_utilisation(r.results, r.series, r.sample, r.info()),
        queue_bytes: u64 = |r| r.series.queue[r.sample],
        queue_max_bytes: u64 = |r| r.series.queue_max[r.sample],
        marked_packets: u64 = |r| r.series.marked[r.sample],
        paused_ns: u64 = |r| r.series.paused_ns[r.sample],
    ]
}

/// Writes the series of all ports, interval by interval.
///
/// # Errors
/// If the file can't be written.
pub fn write(path: &Path, results: &Results) -> Result<(), Error> {
    with_table(results, |table| parquet::write(path, table))
}

/// Writes the series of chosen ports, interval by interval.
///
/// # Errors
/// If the file can't be written.
pub fn write_chosen(path: &Path, results: &Results) -> Result<(), Error> {
    with_chosen(results, |table| parquet::write(path, table))
}

/// Hands the table of all ports to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_table<T>(
    results: &Results,
    fill: impl FnOnce(&Table<'_, Row<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    with_series(results, &results.series, |column| column, fill)
}

/// Hands the table of chosen ports to `fill`; it is empty where there are none.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_chosen<T>(
    results: &Results,
    fill: impl FnOnce(&Table<'_, Row<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let none = ChosenPorts::default();
    let chosen = results.chosen.as_ref().unwrap_or(&none);
    let port = |column: usize| chosen.ports[column].index();
    with_series(results, &chosen.series, port, fill)
}

/// Hands a table to `fill`, of a series and the port of each of its columns.
fn with_series<T>(
    results: &Results,
    series: &PortSeries,
    port: impl Fn(usize) -> usize,
    fill: impl FnOnce(&Table<'_, Row<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let ports = series.ports.max(1);
    let row = |sample: usize| {
        let past = series.interval.saturating_mul((sample / ports) as u64);
        Row {
            results,
            series,
            sample,
            time: series.start.saturating_add(past),
            port: port(sample % ports),
        }
    };
    fill(&Table {
        columns: &columns(),
        rows: series.sent.len(),
        row: &row,
    })
}
