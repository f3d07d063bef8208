//! `capture.parquet`: packets at captured ports.

use std::path::Path;

use fairlane_fabric::forwarding::FiveTuple;
use fairlane_fabric::{
    CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport, PortInfo, Results,
};
use fairlane_units::{Bytes, NodeId};
use fairlane_wire::{Aeth, Opcode, Syndrome};

use crate::column::{Column, Table, columns};
use crate::error::Error;
use crate::write::parquet;

/// A captured packet with its port, and the five-tuple of its flow from the requester to the responder.
pub(crate) struct Row<'a> {
    record: CaptureRecord,
    port: &'a PortInfo,
    tuple: Option<FiveTuple>,
    content: Option<&'a str>,
}

impl Row<'_> {
    /// A field of the transport headers; nothing for pause frames.
    fn transport<T>(&self, field: impl Fn(&CapturedTransport) -> T) -> Option<T> {
        self.record.packet.transport().map(field)
    }

    fn flag(&self, field: impl Fn(&CapturedTransport) -> bool) -> bool {
        self.record.packet.transport().is_some_and(field)
    }

    /// What of the memory that it accesses.
    fn access(&self, field: impl Fn(&CapturedAccess) -> Bytes) -> Option<u64> {
        let access = self.transport(|transport| transport.access)??;
        Some(field(&access).get())
    }

    fn aeth(&self) -> Option<Aeth> {
        self.transport(|transport| transport.aeth)?
    }

    /// Node numbers of the packet's sender and receiver.
    fn ends(&self) -> Option<[NodeId; 2]> {
        let (tuple, transport) = (self.tuple?, self.record.packet.transport()?);
        Some(match transport.from_responder {
            true => [tuple.destination, tuple.source],
            false => [tuple.source, tuple.destination],
        })
    }
}

/// The columns; `docs/results.md` explains them.
pub(super) fn columns<'a>() -> [Column<Row<'a>>; 25] {
    columns![
        time_ps: u64 = |r| r.record.time.as_ps(),
        port_id: u32 = |r| r.record.port.get(),
        node: u32 = |r| r.port.node.get(),
        port: u32 = |r| r.port.number,
        outbound: bool = |r| r.record.outbound,
        packet: &str = |r| packet(&r.record.packet),
        class: u8 = |r| r.record.class,
        size_bytes: u64 = |r| r.record.size.into(),
        message: Option<u32> = |r| r.transport(|t| t.flow.get()),
        source: Option<u32> = |r| r.ends().map(|[source, _]| source.get()),
        destination: Option<u32> = |r| r.ends().map(|[_, destination]| destination.get()),
        source_port: Option<u16> = |r| r.tuple.map(|tuple| tuple.source_port),
        from_responder: bool = |r| r.flag(|t| t.from_responder),
        opcode: Option<u8> = |r| r.transport(|t| t.opcode.code()),
        psn: Option<u32> = |r| r.transport(|t| t.psn.get()),
        payload_bytes: Option<u64> = |r| r.transport(|t| t.payload.into()),
        switches: Option<u64> = |r| r.transport(|t| t.switches.into()),
        marked: bool = |r| r.flag(|t| t.marked),
        ack_request: bool = |r| r.flag(|t| t.ack_request),
        selective: bool = |r| r.flag(|t| t.selective),
        offset_bytes: Option<u64> = |r| r.access(|access| access.offset),
        length_bytes: Option<u64> = |r| r.access(|access| access.length),
        syndrome: Option<u8> = |r| r.aeth().map(|aeth| aeth.syndrome.byte()),
        msn: Option<u32> = |r| r.aeth().map(|aeth| aeth.msn),
        content: Option<&str> = |r| r.content,
    ]
}

fn packet(packet: &CapturedPacket) -> &'static str {
    let transport = match packet {
        CapturedPacket::Pause => return PAUSE,
        CapturedPacket::Resume => return RESUME,
        CapturedPacket::Transport(transport) => transport,
    };
    let nak = |aeth: Aeth| matches!(aeth.syndrome, Syndrome::Nak(_));
    match transport.opcode {
        Opcode::Cnp => "cnp",
        Opcode::RcAcknowledge if !transport.from_responder => "feedback",
        Opcode::RcAcknowledge if transport.aeth.is_some_and(nak) => "nak",
        Opcode::RcAcknowledge | Opcode::RcAtomicAcknowledge => "ack",
        _ => "data",
    }
}

/// The word for a pause frame that stops a class.
pub const PAUSE: &str = "pause";
/// The word for a pause frame that lets a class go on.
pub const RESUME: &str = "resume";

/// Writes what was captured.
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
    let row = |number: usize| {
        let record = results.capture[number];
        let transport = record.packet.transport();
        Row {
            record,
            port: &results.ports[record.port.index()],
            tuple: transport.and_then(|it| results.tuples.get(it.flow.index()).copied()),
            content: results.contents.get(number).and_then(Option::as_deref),
        }
    };
    fill(&Table {
        columns: &columns(),
        rows: results.capture.len(),
        row: &row,
    })
}
