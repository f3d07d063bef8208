//! `packets.csv`, `pauses.csv` and `rates.csv`: single events.

use std::path::Path;

use fairlane_fabric::{
    PauseRecord, PortInfo, RateRecord, Results, TraceEvent, TraceRecord, TracedPacket,
};

use crate::column::{Column, Table, columns};
use crate::error::Error;
use crate::write::csv;

pub(super) const PACKETS: &[Column<TraceRecord>] = &columns![
    time_ps: u64 = |r| r.time.as_ps(),
    node: u32 = |r| r.node.get(),
    port: u32 = |r| r.port,
    class: u8 = |r| r.class,
    queue_bytes: u64 = |r| r.queue.get(),
    event: &str = |r| event(r.event),
    packet: &str = |r| packet(r.packet),
    source: u32 = |r| r.source.get(),
    destination: u32 = |r| r.destination.get(),
    source_port: u16 = |r| r.source_port,
    destination_port: u16 = |r| r.destination_port,
    sequence_bytes: u64 = |r| r.sequence,
    size_bytes: u64 = |r| r.bytes.into(),
    payload_bytes: u64 = |r| r.payload.into(),
    marked: bool = |r| r.marked,
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

pub(super) const RATES: &[Column<RateRecord>] = &columns![
    time_ps: u64 = |r| r.time.as_ps(),
    message: u32 = |r| r.message.get(),
    rate_bps: u64 = |r| r.rate.as_bps(),
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

pub(super) const fn pause_columns<'a>() -> [Column<PauseRow<'a>>; 7] {
    columns![
        time_ps: u64 = |r| r.pause.time.as_ps(),
        port_id: u32 = |r| r.pause.port.get(),
        node: u32 = |r| r.port.node.get(),
        on_switch: bool = |r| r.port.on_switch,
        port: u32 = |r| r.port.number,
        class: u8 = |r| r.pause.class,
        pause: bool = |r| r.pause.pause,
    ]
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
    fill(&Table {
        columns: &pause_columns(),
        rows: results.pauses.len(),
        row: &row,
    })
}
