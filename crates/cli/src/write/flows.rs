//! `flows.parquet` and `flows.csv`: one row for each message, in order of completion.

use std::path::Path;

use fairlane_fabric::{MessageRecord, Outcome};

use crate::failure::Failure;
use crate::write::column::{Column, Kind, Table};
use crate::write::{csv, parquet};

/// The columns; `docs/results.md` explains them.
pub(crate) const COLUMNS: &[Column<MessageRecord>] = &[
    Column {
        name: "id",
        kind: Kind::Integer(32),
        value: |m| m.id.into(),
    },
    Column {
        name: "workload",
        kind: Kind::Integer(32),
        value: |m| m.workload.into(),
    },
    Column {
        name: "source",
        kind: Kind::Integer(32),
        value: |m| m.source.get().into(),
    },
    Column {
        name: "destination",
        kind: Kind::Integer(32),
        value: |m| m.destination.get().into(),
    },
    Column {
        name: "source_port",
        kind: Kind::Integer(16),
        value: |m| m.source_port.into(),
    },
    Column {
        name: "destination_port",
        kind: Kind::Integer(16),
        value: |m| m.destination_port.into(),
    },
    Column {
        name: "class",
        kind: Kind::Integer(8),
        value: |m| m.class.into(),
    },
    Column {
        name: "verb",
        kind: Kind::Word,
        value: |m| m.verb.name().into(),
    },
    Column {
        name: "size_bytes",
        kind: Kind::Integer(64),
        value: |m| m.size.get().into(),
    },
    Column {
        name: "start_ps",
        kind: Kind::Integer(64),
        value: |m| m.start.as_ps().into(),
    },
    Column {
        name: "finish_ps",
        kind: Kind::OptionalInteger(64),
        value: |m| m.finish.map(|finish| finish.as_ps()).into(),
    },
    Column {
        name: "completion_ps",
        kind: Kind::OptionalInteger(64),
        value: |m| {
            m.finish
                .map(|finish| finish.saturating_since(m.start).as_ps())
                .into()
        },
    },
    Column {
        name: "ideal_ps",
        kind: Kind::Integer(64),
        value: |m| m.ideal.as_ps().into(),
    },
    Column {
        name: "slowdown",
        kind: Kind::OptionalReal,
        value: |m| m.slowdown().into(),
    },
    Column {
        name: "standalone_ns",
        kind: Kind::Integer(64),
        value: |m| m.standalone.as_ns().into(),
    },
    Column {
        name: "retransmitted_packets",
        kind: Kind::Integer(32),
        value: |m| m.retransmitted.into(),
    },
    Column {
        name: "outcome",
        kind: Kind::Word,
        value: |m| outcome(m.outcome).into(),
    },
    Column {
        name: "tenant",
        kind: Kind::Integer(32),
        value: |m| m.tenant.get().into(),
    },
];

/// The word of an outcome in files.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => COMPLETED,
        Outcome::Unfinished => "unfinished",
        Outcome::RetryExceeded => "retry-exceeded",
    }
}

/// The outcome of a message that was acknowledged to the last byte.
pub(crate) const COMPLETED: &str = "completed";

/// Writes both files into `directory`.
///
/// # Errors
/// If a file can't be written.
pub(crate) fn write(directory: &Path, messages: &[MessageRecord]) -> Result<(), Failure> {
    let row = |number: usize| messages[number];
    let table = Table {
        columns: COLUMNS,
        rows: messages.len(),
        row: &row,
    };
    parquet::write(&directory.join("flows.parquet"), &table)?;
    csv::write(&directory.join("flows.csv"), &table)
}
