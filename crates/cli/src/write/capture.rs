//! `capture.parquet`: packets at captured ports.

use std::path::Path;

use fairlane_fabric::{
    CaptureRecord, CapturedPacket, CapturedTransport, MessageRecord, PortInfo, Results,
};
use fairlane_units::NodeId;
use fairlane_wire::{Opcode, Syndrome};

use crate::failure::Failure;
use crate::write::column::{Column, Kind, Table, Value};
use crate::write::parquet;

/// A captured packet with its port and its message.
struct Row<'a> {
    record: CaptureRecord,
    port: &'a PortInfo,
    message: Option<&'a MessageRecord>,
}

impl Row<'_> {
    /// A field of the transport headers; nothing for pause frames.
    fn transport<T: Into<Value>>(&self, field: impl Fn(&CapturedTransport) -> T) -> Value {
        self.record.packet.transport().map(field).into()
    }

    fn flag(&self, field: impl Fn(&CapturedTransport) -> bool) -> Value {
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
        Column {
            name: "time_ps",
            kind: Kind::Integer(64),
            value: |r: &Row<'_>| r.record.time.as_ps().into(),
        },
        Column {
            name: "port_id",
            kind: Kind::Integer(32),
            value: |r| r.record.port.get().into(),
        },
        Column {
            name: "node",
            kind: Kind::Integer(32),
            value: |r| r.port.node.get().into(),
        },
        Column {
            name: "port",
            kind: Kind::Integer(32),
            value: |r| r.port.number.into(),
        },
        Column {
            name: "outbound",
            kind: Kind::Flag,
            value: |r| r.record.outbound.into(),
        },
        Column {
            name: "packet",
            kind: Kind::Word,
            value: |r| packet(&r.record.packet).into(),
        },
        Column {
            name: "class",
            kind: Kind::Integer(8),
            value: |r| r.record.class.into(),
        },
        Column {
            name: "size_bytes",
            kind: Kind::Integer(16),
            value: |r| r.record.size.into(),
        },
        Column {
            name: "message",
            kind: Kind::OptionalInteger(32),
            value: |r| r.transport(|t| t.message),
        },
        Column {
            name: "source",
            kind: Kind::OptionalInteger(32),
            value: |r| r.ends().map(|[source, _]| source.get()).into(),
        },
        Column {
            name: "destination",
            kind: Kind::OptionalInteger(32),
            value: |r| r.ends().map(|[_, destination]| destination.get()).into(),
        },
        Column {
            name: "source_port",
            kind: Kind::OptionalInteger(16),
            value: |r| r.message.map(|message| message.source_port).into(),
        },
        Column {
            name: "from_responder",
            kind: Kind::Flag,
            value: |r| r.flag(|t| t.from_responder),
        },
        Column {
            name: "opcode",
            kind: Kind::OptionalInteger(8),
            value: |r| r.transport(|t| t.opcode.code()),
        },
        Column {
            name: "psn",
            kind: Kind::OptionalInteger(32),
            value: |r| r.transport(|t| t.psn.get()),
        },
        Column {
            name: "payload_bytes",
            kind: Kind::OptionalInteger(16),
            value: |r| r.transport(|t| t.payload),
        },
        Column {
            name: "switches",
            kind: Kind::OptionalInteger(8),
            value: |r| r.transport(|t| t.switches),
        },
        Column {
            name: "marked",
            kind: Kind::Flag,
            value: |r| r.flag(|t| t.marked),
        },
        Column {
            name: "ack_request",
            kind: Kind::Flag,
            value: |r| r.flag(|t| t.ack_request),
        },
        Column {
            name: "selective",
            kind: Kind::Flag,
            value: |r| r.flag(|t| t.selective),
        },
        Column {
            name: "offset_bytes",
            kind: Kind::OptionalInteger(64),
            value: |r| r.transport(|t| t.access.map(|access| access.offset.get())),
        },
        Column {
            name: "length_bytes",
            kind: Kind::OptionalInteger(64),
            value: |r| r.transport(|t| t.access.map(|access| access.length.get())),
        },
        Column {
            name: "syndrome",
            kind: Kind::OptionalInteger(8),
            value: |r| r.transport(|t| t.aeth.map(|aeth| aeth.syndrome.byte())),
        },
        Column {
            name: "msn",
            kind: Kind::OptionalInteger(32),
            value: |r| r.transport(|t| t.aeth.map(|aeth| aeth.msn)),
        },
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
pub(crate) const PAUSE: &str = "pause";
/// The word for a pause frame that lets a class go on.
pub(crate) const RESUME: &str = "resume";

/// Writes what was captured.
///
/// # Errors
/// If the file can't be written.
pub(crate) fn write(path: &Path, results: &Results) -> Result<(), Failure> {
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
    parquet::write(
        path,
        &Table {
            columns: &columns(),
            rows: results.capture.len(),
            row: &row,
        },
    )
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
