//! `collectives.parquet` and `collectives.csv`: a row for each collective, and for each step of training.

use std::path::Path;

use fairlane_fabric::CollectiveRecord;
use fairlane_units::Time;

use crate::column::{Column, Kind, Table};
use crate::error::Error;
use crate::write::{csv, parquet};

/// Whole numbers that a collective may lack.
const SOME: Kind = Kind::OptionalInteger(64);
/// Nodes, ranks and messages that a collective may lack.
const SOME_NUMBER: Kind = Kind::OptionalInteger(32);

/// The columns; `docs/collectives.md` explains them.
const fn columns<'a>() -> [Column<&'a CollectiveRecord>; 19] {
    [
        Column::new("workload", Kind::Integer(32), |r| r.workload.into()),
        Column::new("step", Kind::Integer(32), |r| r.step.into()),
        Column::new("operation", Kind::Word, |r| r.operation().into()),
        Column::new("algorithm", Kind::Word, |r| r.algorithm_name().into()),
        Column::new("name", Kind::Word, |r| r.name.as_str().into()),
        Column::new("group", Kind::Integer(32), |r| r.group.into()),
        Column::new("ranks", Kind::Integer(32), |r| r.ranks.into()),
        Column::new("size_bytes", Kind::Integer(64), |r| r.size.get().into()),
        Column::new("sent_bytes", Kind::Integer(64), |r| r.sent.get().into()),
        Column::new("start_ps", SOME, |r| r.start.map(Time::as_ps).into()),
        Column::new("ready_ps", SOME, |r| r.ready.map(Time::as_ps).into()),
        Column::new("end_ps", SOME, |r| r.end.map(Time::as_ps).into()),
        Column::new("time_ps", SOME, |r| {
            r.time().map(|time| time.as_ps()).into()
        }),
        Column::new("algorithm_gbps", Kind::OptionalReal, |r| {
            r.algorithm_bandwidth().map(gbps).into()
        }),
        Column::new("bus_gbps", Kind::OptionalReal, |r| {
            r.bus_bandwidth().map(gbps).into()
        }),
        Column::new("slowest_rank", SOME_NUMBER, |r| {
            r.slowest.map(|(rank, _)| rank).into()
        }),
        Column::new("slowest_host", SOME_NUMBER, |r| {
            r.slowest.map(|(_, host)| host.get()).into()
        }),
        Column::new("last_message", SOME_NUMBER, |r| r.last.into()),
        Column::new("last_slowdown", Kind::OptionalReal, |r| {
            r.last_slowdown.into()
        }),
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
