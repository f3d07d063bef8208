//! `packets.csv` and `pauses.csv`: single events.

use std::path::Path;

use fairlane_fabric::{PauseRecord, PortInfo, Results, TraceEvent, TraceRecord, TracedPacket};

use crate::failure::Failure;
use crate::write::column::{Column, Kind, Table};
use crate::write::csv;

const PACKETS: &[Column<TraceRecord>] = &[
    Column {
        name: "time_ps",
        kind: Kind::Integer(64),
        value: |r| r.time.as_ps().into(),
    },
    Column {
        name: "node",
        kind: Kind::Integer(32),
        value: |r| r.node.get().into(),
    },
    Column {
        name: "port",
        kind: Kind::Integer(32),
        value: |r| r.port.into(),
    },
    Column {
        name: "class",
        kind: Kind::Integer(8),
        value: |r| r.class.into(),
    },
    Column {
        name: "queue_bytes",
        kind: Kind::Integer(64),
        value: |r| r.queue.get().into(),
    },
    Column {
        name: "event",
        kind: Kind::Word,
        value: |r| event(r.event).into(),
    },
    Column {
        name: "packet",
        kind: Kind::Word,
        value: |r| packet(r.packet).into(),
    },
    Column {
        name: "source",
        kind: Kind::Integer(32),
        value: |r| r.source.get().into(),
    },
    Column {
        name: "destination",
        kind: Kind::Integer(32),
        value: |r| r.destination.get().into(),
    },
    Column {
        name: "source_port",
        kind: Kind::Integer(16),
        value: |r| r.source_port.into(),
    },
    Column {
        name: "destination_port",
        kind: Kind::Integer(16),
        value: |r| r.destination_port.into(),
    },
    Column {
        name: "sequence_bytes",
        kind: Kind::Integer(64),
        value: |r| r.sequence.into(),
    },
    Column {
        name: "size_bytes",
        kind: Kind::Integer(32),
        value: |r| r.bytes.into(),
    },
    Column {
        name: "payload_bytes",
        kind: Kind::Integer(32),
        value: |r| r.payload.into(),
    },
    Column {
        name: "marked",
        kind: Kind::Flag,
        value: |r| r.marked.into(),
    },
];

fn event(event: TraceEvent) -> &'static str {
    match event {
        TraceEvent::Received => "received",
        TraceEvent::Enqueued => "enqueued",
        TraceEvent::Dequeued => "dequeued",
        TraceEvent::Dropped => "dropped",
    }
}

fn packet(packet: TracedPacket) -> &'static str {
    match packet {
        TracedPacket::Data => "data",
        TracedPacket::Ack => "ack",
        TracedPacket::Nak => "nak",
        TracedPacket::Cnp => "cnp",
        TracedPacket::Pause => "pause",
    }
}

/// Writes what traced nodes saw.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn packets(path: &Path, trace: &[TraceRecord]) -> Result<(), Failure> {
    csv::write(
        path,
        &Table {
            columns: PACKETS,
            rows: trace.len(),
            row: &|number| trace[number],
        },
    )
}

/// A pause frame and the port that received it.
struct PauseRow<'a> {
    pause: PauseRecord,
    port: &'a PortInfo,
}

/// Writes the pause frames.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn pauses(path: &Path, results: &Results) -> Result<(), Failure> {
    let row = |number: usize| {
        let pause = results.pauses[number];
        PauseRow {
            pause,
            port: &results.ports[pause.port.index()],
        }
    };
    let columns = [
        Column {
            name: "time_ps",
            kind: Kind::Integer(64),
            value: |r: &PauseRow<'_>| r.pause.time.as_ps().into(),
        },
        Column {
            name: "port_id",
            kind: Kind::Integer(32),
            value: |r| r.pause.port.get().into(),
        },
        Column {
            name: "node",
            kind: Kind::Integer(32),
            value: |r| r.port.node.get().into(),
        },
        Column {
            name: "on_switch",
            kind: Kind::Flag,
            value: |r| r.port.on_switch.into(),
        },
        Column {
            name: "port",
            kind: Kind::Integer(32),
            value: |r| r.port.number.into(),
        },
        Column {
            name: "class",
            kind: Kind::Integer(8),
            value: |r| r.pause.class.into(),
        },
        Column {
            name: "pause",
            kind: Kind::Flag,
            value: |r| r.pause.pause.into(),
        },
    ];
    csv::write(
        path,
        &Table {
            columns: &columns,
            rows: results.pauses.len(),
            row: &row,
        },
    )
}
