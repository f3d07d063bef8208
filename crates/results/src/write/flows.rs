//! `flows.parquet` and `flows.csv`: one row for each message, in order of completion.

use std::path::Path;

use fairlane_fabric::{MessageRecord, Outcome};

use crate::column::{Column, Table, columns};
use crate::error::Error;
use crate::write::{csv, parquet};

/// The columns; `docs/results.md` explains them.
pub const COLUMNS: &[Column<MessageRecord>] = &columns![
    id: u32 = |m| m.id.get(),
    workload: u32 = |m| m.workload,
    source: u32 = |m| m.source.get(),
    destination: u32 = |m| m.destination.get(),
    source_port: u16 = |m| m.source_port,
    destination_port: u16 = |m| m.destination_port,
    class: u8 = |m| m.class,
    verb: &str = |m| m.verb.name(),
    size_bytes: u64 = |m| m.size.get(),
    placed_bytes: u64 = |m| m.placed.get(),
    start_ps: u64 = |m| m.start.as_ps(),
    finish_ps: Option<u64> = |m| m.finish.map(|finish| finish.as_ps()),
    completion_ps: Option<u64> = |m| m.finish.map(|finish| finish.saturating_since(m.start).as_ps()),
    ideal_ps: u64 = |m| m.ideal.as_ps(),
    slowdown: Option<f64> = |m| m.slowdown(),
    standalone_ns: u64 = |m| m.standalone.as_ns(),
    retransmitted_packets: u64 = |m| m.retransmitted.into(),
    outcome: &str = |m| outcome(m.outcome),
    tenant: u32 = |m| m.tenant.get(),
];

/// The word of an outcome in files.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => COMPLETED,
        Outcome::Unfinished => "unfinished",
        Outcome::RetryExceeded => "retry-exceeded",
        Outcome::Flushed => "flushed",
        Outcome::Refused => "refused",
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
