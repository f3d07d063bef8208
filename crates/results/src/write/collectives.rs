//! `collectives.parquet` and `collectives.csv`: a row for each collective, and for each step of training.

use std::path::Path;

use fairlane_fabric::CollectiveRecord;
use fairlane_units::{MessageId, Time};

use crate::column::{Column, Table, columns};
use crate::error::Error;
use crate::write::{csv, parquet};

/// The columns; `docs/collectives.md` explains them.
pub(super) const fn columns<'a>() -> [Column<&'a CollectiveRecord>; 19] {
    columns![
        workload: u32 = |r| r.workload,
        step: u32 = |r| r.step,
        operation: &str = |r| r.operation(),
        algorithm: &str = |r| r.algorithm_name(),
        name: &str = |r| r.name.as_str(),
        group: u32 = |r| r.group,
        ranks: u64 = |r| r.ranks.into(),
        size_bytes: u64 = |r| r.size.get(),
        sent_bytes: u64 = |r| r.sent.get(),
        start_ps: Option<u64> = |r| r.start.map(Time::as_ps),
        ready_ps: Option<u64> = |r| r.ready.map(Time::as_ps),
        end_ps: Option<u64> = |r| r.end.map(Time::as_ps),
        time_ps: Option<u64> = |r| r.time().map(|time| time.as_ps()),
        algorithm_gbps: Option<f64> = |r| r.algorithm_bandwidth().map(gbps),
        bus_gbps: Option<f64> = |r| r.bus_bandwidth().map(gbps),
        slowest_rank: Option<u32> = |r| r.slowest.map(|(rank, _)| rank),
        slowest_host: Option<u32> = |r| r.slowest.map(|(_, host)| host.get()),
        last_message: Option<u32> = |r| r.last.map(MessageId::get),
        last_slowdown: Option<f64> = |r| r.last_slowdown,
    ]
}

/// Bits per second in Gb/s.
pub(crate) fn gbps(rate: f64) -> f64 {
    rate / 1e9
}

/// Writes both files into a directory.
///
/// # Errors
/// If one can't be written.
pub(super) fn write(directory: &Path, records: &[CollectiveRecord]) -> Result<(), Error> {
    with_table(records, |table| {
        parquet::write(&directory.join("collectives.parquet"), table)?;
        csv::write(&directory.join("collectives.csv"), table)
    })
}

/// Hands the table to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_table<T>(
    records: &[CollectiveRecord],
    fill: impl FnOnce(&Table<'_, &CollectiveRecord>) -> Result<T, Error>,
) -> Result<T, Error> {
    fill(&Table {
        columns: &columns(),
        rows: records.len(),
        row: &|number| &records[number],
    })
}
