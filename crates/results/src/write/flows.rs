//! `flows.parquet` and `flows.csv`: one row for each message, in order of completion.

use std::path::Path;

use fairlane_fabric::{MessageRecord, Outcome};

use crate::column::{Column, Kind, Table};
use crate::error::Error;
use crate::write::{csv, parquet};

/// The columns; `docs/results.md` explains them.
pub const COLUMNS: &[Column<MessageRecord>] = &[
    Column::new("id", Kind::Integer(32), |m| m.id.into()),
    Column::new("workload", Kind::Integer(32), |m| m.workload.into()),
    Column::new("source", Kind::Integer(32), |m| m.source.get().into()),
    Column::new("destination", Kind::Integer(32), |m| {
        m.destination.get().into()
    }),
    Column::new("source_port", Kind::Integer(16), |m| m.source_port.into()),
    Column::new("destination_port", Kind::Integer(16), |m| {
        m.destination_port.into()
    }),
    Column::new("class", Kind::Integer(8), |m| m.class.into()),
    Column::new("verb", Kind::Word, |m| m.verb.name().into()),
    Column::new("size_bytes", Kind::Integer(64), |m| m.size.get().into()),
    Column::new("start_ps", Kind::Integer(64), |m| m.start.as_ps().into()),
    Column::new("finish_ps", Kind::OptionalInteger(64), |m| {
        m.finish.map(|finish| finish.as_ps()).into()
    }),
    Column::new("completion_ps", Kind::OptionalInteger(64), |m| {
        m.finish
            .map(|finish| finish.saturating_since(m.start).as_ps())
            .into()
    }),
    Column::new("ideal_ps", Kind::Integer(64), |m| m.ideal.as_ps().into()),
    Column::new("slowdown", Kind::OptionalReal, |m| m.slowdown().into()),
    Column::new("standalone_ns", Kind::Integer(64), |m| {
        m.standalone.as_ns().into()
    }),
    Column::new("retransmitted_packets", Kind::Integer(32), |m| {
        m.retransmitted.into()
    }),
    Column::new("outcome", Kind::Word, |m| outcome(m.outcome).into()),
    Column::new("tenant", Kind::Integer(32), |m| m.tenant.get().into()),
];

/// The word of an outcome in files.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => COMPLETED,
        Outcome::Unfinished => "unfinished",
        Outcome::RetryExceeded => "retry-exceeded",
    }
}

/// The outcome of a message that was acknowledged to the last byte.
pub const COMPLETED: &str = "completed";

/// Writes both files into `directory`.
///
/// # Errors
/// If a file can't be written.
pub fn write(directory: &Path, messages: &[MessageRecord]) -> Result<(), Error> {
    with_table(messages, |table| {
        parquet::write(&directory.join("flows.parquet"), table)?;
        csv::write(&directory.join("flows.csv"), table)
    })
}

/// Hands the table to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_table<T>(
    messages: &[MessageRecord],
    fill: impl FnOnce(&Table<'_, MessageRecord>) -> Result<T, Error>,
) -> Result<T, Error> {
    fill(&Table {
        columns: COLUMNS,
        rows: messages.len(),
        row: &|number| messages[number],
    })
}
