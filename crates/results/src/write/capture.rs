//! `capture.parquet`: packets at captured ports.

use std::path::Path;

use fairlane_fabric::{
    CaptureRecord, CapturedPacket, CapturedTransport, MessageRecord, PortInfo, Results,
};
use fairlane_units::NodeId;
use fairlane_wire::{Opcode, Syndrome};

use crate::column::{Column, Kind, Table, Value};
use crate::error::Error;
use crate::write::parquet;

/// A captured packet with its port and its message.
pub(crate) struct Row<'a> {
    record: CaptureRecord,
    port: &'a PortInfo,
    message: Option<&'a MessageRecord>,
}

impl Row<'_> {
    /// A field of the transport headers; nothing for pause frames.
    fn transport<T: Into<Value<'static>>>(
        &self,
        field: impl Fn(&CapturedTransport) -> T,
    ) -> Value<'static> {
        self.record.packet.transport().map(field).into()
    }

    fn flag(&self, field: impl Fn(&CapturedTransport) -> bool) -> Value<'static> {
        self.record.packet.transport().is_some_and(field).into()
    }

    /// Node numbers of the packet's sender and receiver.
    fn ends(&self) -> Option<[NodeId; 2]> {
        let (message, transport) = (self.message?, self.record.packet.transport()?);
        Some(match transport.from_responder {
            true => [message.destination, message.source],
            false => [message.source, message.destination],
        })
    }
}

/// The columns; `docs/results.md` explains them.
fn columns<'a>() -> [Column<Row<'a>>; 24] {
    [
        Column::new("time_ps", Kind::Integer(64), |r| {
            r.record.time.as_ps().into()
        }),
        Column::new("port_id", Kind::Integer(32), |r| r.record.port.get().into()),
        Column::new("node", Kind::Integer(32), |r| r.port.node.get().into()),
        Column::new("port", Kind::Integer(32), |r| r.port.number.into()),
        Column::new("outbound", Kind::Flag, |r| r.record.outbound.into()),
        Column::new("packet", Kind::Word, |r| packet(&r.record.packet).into()),
        Column::new("class", Kind::Integer(8), |r| r.record.class.into()),
        Column::new("size_bytes", Kind::Integer(16), |r| r.record.size.into()),
        Column::new("message", Kind::OptionalInteger(32), |r| {
            r.transport(|t| t.message)
        }),
        Column::new("source", Kind::OptionalInteger(32), |r| {
            r.ends().map(|[source, _]| source.get()).into()
        }),
        Column::new("destination", Kind::OptionalInteger(32), |r| {
            r.ends().map(|[_, destination]| destination.get()).into()
        }),
        Column::new("source_port", Kind::OptionalInteger(16), |r| {
            r.message.map(|message| message.source_port).into()
        }),
        Column::new("from_responder", Kind::Flag, |r| {
            r.flag(|t| t.from_responder)
        }),
        Column::new("opcode", Kind::OptionalInteger(8), |r| {
            r.transport(|t| t.opcode.code())
        }),
        Column::new("psn", Kind::OptionalInteger(32), |r| {
            r.transport(|t| t.psn.get())
        }),
        Column::new("payload_bytes", Kind::OptionalInteger(16), |r| {
            r.transport(|t| t.payload)
        }),
        Column::new("switches", Kind::OptionalInteger(8), |r| {
            r.transport(|t| t.switches)
        }),
        Column::new("marked", Kind::Flag, |r| r.flag(|t| t.marked)),
        Column::new("ack_request", Kind::Flag, |r| r.flag(|t| t.ack_request)),
        Column::new("selective", Kind::Flag, |r| r.flag(|t| t.selective)),
        Column::new("offset_bytes", Kind::OptionalInteger(64), |r| {
            r.transport(|t| t.access.map(|access| access.offset.get()))
        }),
        Column::new("length_bytes", Kind::OptionalInteger(64), |r| {
            r.transport(|t| t.access.map(|access| access.length.get()))
        }),
        Column::new("syndrome", Kind::OptionalInteger(8), |r| {
            r.transport(|t| t.aeth.map(|aeth| aeth.syndrome.byte()))
        }),
        Column::new("msn", Kind::OptionalInteger(32), |r| {
            r.transport(|t| t.aeth.map(|aeth| aeth.msn))
        }),
    ]
}

fn packet(packet: &CapturedPacket) -> &'static str {
    let transport = match packet {
        CapturedPacket::Pause => return PAUSE,
        CapturedPacket::Resume => return RESUME,
        CapturedPacket::Transport(transport) => transport,
    };
    let nak = |aeth: fairlane_wire::Aeth| matches!(aeth.syndrome, Syndrome::Nak(_));
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
    let by_id = by_id(&results.messages);
    let row = |number: usize| {
        let record = results.capture[number];
        let transport = record.packet.transport();
        Row {
            record,
            port: &results.ports[record.port.index()],
            message: transport.and_then(|transport| *by_id.get(transport.message as usize)?),
        }
    };
    fill(&Table {
        columns: &columns(),
        rows: results.capture.len(),
        row: &row,
    })
}

/// Messages, which come in the order of their end, by number.
fn by_id(messages: &[MessageRecord]) -> Vec<Option<&MessageRecord>> {
    let count = messages.iter().map(|message| message.id as usize + 1).max();
    let mut by_id = vec![None; count.unwrap_or(0)];
    for message in messages {
        by_id[message.id as usize] = Some(message);
    }
    by_id
}
