//! `packets.csv`, `pauses.csv` and `rates.csv`: single events.

use std::path::Path;

use fairlane_fabric::{
    PauseRecord, PortInfo, RateRecord, Results, TraceEvent, TraceRecord, TracedPacket,
};

use crate::column::{Column, Kind, Table};
use crate::error::Error;
use crate::write::csv;

const PACKETS: &[Column<TraceRecord>] = &[
    Column::new("time_ps", Kind::Integer(64), |r| r.time.as_ps().into()),
    Column::new("node", Kind::Integer(32), |r| r.node.get().into()),
    Column::new("port", Kind::Integer(32), |r| r.port.into()),
    Column::new("class", Kind::Integer(8), |r| r.class.into()),
    Column::new("queue_bytes", Kind::Integer(64), |r| r.queue.get().into()),
    Column::new("event", Kind::Word, |r| event(r.event).into()),
    Column::new("packet", Kind::Word, |r| packet(r.packet).into()),
    Column::new("source", Kind::Integer(32), |r| r.source.get().into()),
    Column::new("destination", Kind::Integer(32), |r| {
        r.destination.get().into()
    }),
    Column::new("source_port", Kind::Integer(16), |r| r.source_port.into()),
    Column::new("destination_port", Kind::Integer(16), |r| {
        r.destination_port.into()
    }),
    Column::new("sequence_bytes", Kind::Integer(64), |r| r.sequence.into()),
    Column::new("size_bytes", Kind::Integer(32), |r| r.bytes.into()),
    Column::new("payload_bytes", Kind::Integer(32), |r| r.payload.into()),
    Column::new("marked", Kind::Flag, |r| r.marked.into()),
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
        TracedPacket::Tail => "tail",
        TracedPacket::Clear => "clear",
        TracedPacket::Pause => "pause",
    }
}

/// Writes what traced nodes saw.
///
/// # Errors
/// If the file can't be written.
pub fn packets(path: &Path, trace: &[TraceRecord]) -> Result<(), Error> {
    with_packets(trace, |table| csv::write(path, table))
}

/// Hands the table of packets to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_packets<T>(
    trace: &[TraceRecord],
    fill: impl FnOnce(&Table<'_, TraceRecord>) -> Result<T, Error>,
) -> Result<T, Error> {
    fill(&Table {
        columns: PACKETS,
        rows: trace.len(),
        row: &|number| trace[number],
    })
}

const RATES: &[Column<RateRecord>] = &[
    Column::new("time_ps", Kind::Integer(64), |r| r.time.as_ps().into()),
    Column::new("message", Kind::Integer(32), |r| r.message.into()),
    Column::new("rate_bps", Kind::Integer(64), |r| r.rate.as_bps().into()),
];

/// Writes the rates of messages.
///
/// # Errors
/// If the file can't be written.
pub fn rates(path: &Path, rates: &[RateRecord]) -> Result<(), Error> {
    with_rates(rates, |table| csv::write(path, table))
}

/// Hands the table of rates to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_rates<T>(
    rates: &[RateRecord],
    fill: impl FnOnce(&Table<'_, RateRecord>) -> Result<T, Error>,
) -> Result<T, Error> {
    fill(&Table {
        columns: RATES,
        rows: rates.len(),
        row: &|number| rates[number],
    })
}

/// A pause frame and the port that received it.
pub(crate) struct PauseRow<'a> {
    pause: PauseRecord,
    port: &'a PortInfo,
}

/// Writes the pause frames.
///
/// # Errors
/// If the file can't be written.
pub fn pauses(path: &Path, results: &Results) -> Result<(), Error> {
    with_pauses(results, |table| csv::write(path, table))
}

/// Hands the table of pause frames to `fill`.
///
/// # Errors
/// What `fill` returns.
pub(crate) fn with_pauses<T>(
    results: &Results,
    fill: impl FnOnce(&Table<'_, PauseRow<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let row = |number: usize| {
        let pause = results.pauses[number];
        PauseRow {
            pause,
            port: &results.ports[pause.port.index()],
        }
    };
    let columns = [
        Column::new("time_ps", Kind::Integer(64), |r: &PauseRow<'_>| {
            r.pause.time.as_ps().into()
        }),
        Column::new("port_id", Kind::Integer(32), |r| r.pause.port.get().into()),
        Column::new("node", Kind::Integer(32), |r| r.port.node.get().into()),
        Column::new("on_switch", Kind::Flag, |r| r.port.on_switch.into()),
        Column::new("port", Kind::Integer(32), |r| r.port.number.into()),
        Column::new("class", Kind::Integer(8), |r| r.pause.class.into()),
        Column::new("pause", Kind::Flag, |r| r.pause.pause.into()),
    ];
    fill(&Table {
        columns: &columns,
        rows: results.pauses.len(),
        row: &row,
    })
}
