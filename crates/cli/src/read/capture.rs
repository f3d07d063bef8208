//! `capture.parquet`, and the ports that were captured.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fairlane_fabric::{CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport, PortInfo};
use fairlane_scenario::{CapturePoint, CapturePorts};
use fairlane_units::{Bytes, NodeId, PortId, Psn, Rate, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};
use parquet::record::Field;

use crate::failure::Failure;
use crate::read::parquet::{Columns, flag, integer, word};
use crate::read::text;
use crate::write::{CAPTURE, PAUSE, RESUME};

/// A captured packet, and between which hosts it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CaptureRow {
    /// The packet.
    pub(crate) record: CaptureRecord,
    /// Its addresses; nothing for pause frames.
    pub(crate) addresses: Option<Addresses>,
}

/// What stands in the IP and UDP header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// The host that sent it.
    pub(crate) source: NodeId,
    /// The host that is to receive it.
    pub(crate) destination: NodeId,
    /// UDP source port of its message.
    pub(crate) source_port: u16,
}

/// The capture of a result directory.
pub(crate) struct Capture {
    path: PathBuf,
    /// Every port of the fabric, by number.
    pub(crate) ports: Vec<PortInfo>,
    /// Which of them were captured.
    pub(crate) captured: Vec<bool>,
}

const COLUMNS: [&str; 22] = [
    "time_ps",
    "port_id",
    "outbound",
    "packet",
    "class",
    "size_bytes",
    "message",
    "source",
    "destination",
    "source_port",
    "from_responder",
    "opcode",
    "psn",
    "payload_bytes",
    "switches",
    "marked",
    "ack_request",
    "selective",
    "offset_bytes",
    "length_bytes",
    "syndrome",
    "msn",
];

const DAMAGED: &str = "the file is damaged; run the scenario again";

impl Capture {
    /// Reads which ports were captured.
    ///
    /// # Errors
    /// If the directory doesn't hold the results of a run, or of one that captured nothing.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        let points = points(directory)?;
        let path = directory.join(CAPTURE);
        if !path.exists() {
            let message = format!("holds no {CAPTURE}: the scenario captured nothing");
            let hint = "name ports in the scenario, as in capture = [\"host:0\"], and run it again";
            return Err(Failure::at(directory, message).hint(hint));
        }
        let ports = ports(&directory.join("ports.parquet"))?;
        let is_captured = |port: &PortInfo| {
            let contains = |point: &CapturePorts| point.contains(port.node.get(), port.number);
            points.iter().any(contains)
        };
        let captured = ports.iter().map(is_captured).collect();
        Ok(Self {
            path,
            ports,
            captured,
        })
    }

    /// Hands every packet to `take`, in order of time.
    ///
    /// # Errors
    /// If the file isn't what `run` writes, or whatever `take` returns.
    pub(crate) fn packets(
        &self,
        take: &mut dyn FnMut(CaptureRow) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let columns = Columns {
            path: &self.path,
            names: &COLUMNS,
            remedy: DAMAGED,
        };
        columns.rows(&mut |cells| {
            let row = packet(cells).filter(|row| row.record.port.index() < self.ports.len())?;
            Some(take(row).map(ControlFlow::Continue))
        })
    }
}

/// The capture points of the scenario that ran.
fn points(directory: &Path) -> Result<Vec<CapturePorts>, Failure> {
    #[derive(serde::Deserialize)]
    struct Settings {
        #[serde(default)]
        capture: Vec<CapturePoint>,
    }
    let (path, text) = text(directory, "scenario.toml")?;
    let settings: Settings =
        toml::from_str(&text).map_err(|error| Failure::at(&path, error.message()))?;
    let ports = settings.capture.iter().map(CapturePoint::ports);
    Ok(ports.collect::<Result<_, _>>()?)
}

/// Every port of the fabric: the first interval of `ports.parquet`.
fn ports(path: &Path) -> Result<Vec<PortInfo>, Failure> {
    let columns = Columns {
        path,
        names: &[
            "port_id",
            "node",
            "on_switch",
            "port",
            "peer_port_id",
            "peer_node",
            "rate_bps",
        ],
        remedy: DAMAGED,
    };
    let mut ports: Vec<PortInfo> = Vec::new();
    columns.rows(&mut |cells| {
        let [id, node, on_switch, number, peer, peer_node, rate] = cells else {
            return None;
        };
        if integer(id)?? != ports.len() as u64 {
            return Some(Ok(ControlFlow::Break(())));
        }
        ports.push(PortInfo {
            node: NodeId::new(narrow(node)?),
            on_switch: flag(on_switch)?,
            number: narrow(number)?,
            peer: PortId::new(narrow(peer)?),
            peer_node: NodeId::new(narrow(peer_node)?),
            rate: Rate::from_bps(integer(rate)??),
        });
        Some(Ok(ControlFlow::Continue(())))
    })?;
    let count = ports.len();
    if ports.iter().all(|port| port.peer.index() < count) {
        return Ok(ports);
    }
    Err(Failure::at(path, "names ports that it doesn't list").hint(DAMAGED))
}

/// An integer that is there and fits.
fn narrow<T: TryFrom<u64>>(field: &Field) -> Option<T> {
    integer(field)??.try_into().ok()
}

fn packet(cells: &[&Field]) -> Option<CaptureRow> {
    let [
        time,
        port,
        outbound,
        kind,
        class,
        size,
        message,
        source,
        destination,
        source_port,
        headers @ ..,
    ] = cells
    else {
        return None;
    };
    let (packet, addresses) = match word(kind)? {
        PAUSE => (CapturedPacket::Pause, None),
        RESUME => (CapturedPacket::Resume, None),
        _ => {
            let addresses = Addresses {
                source: NodeId::new(narrow(source)?),
                destination: NodeId::new(narrow(destination)?),
                source_port: narrow(source_port)?,
            };
            let transport = transport(narrow(message)?, headers)?;
            (CapturedPacket::Transport(transport), Some(addresses))
        }
    };
    let record = CaptureRecord {
        time: Time::from_ps(integer(time)??),
        port: PortId::new(narrow(port)?),
        outbound: flag(outbound)?,
        class: narrow(class)?,
        size: narrow(size)?,
        packet,
    };
    Some(CaptureRow { record, addresses })
}

fn transport(message: u32, cells: &[&Field]) -> Option<CapturedTransport> {
    let [
        from_responder,
        opcode,
        psn,
        payload,
        switches,
        marked,
        ack_request,
        selective,
        offset,
        length,
        syndrome,
        msn,
    ] = cells
    else {
        return None;
    };
    let access = |(offset, length)| CapturedAccess {
        offset: Bytes::new(offset),
        length: Bytes::new(length),
    };
    let aeth = match (integer(syndrome)?, integer(msn)?) {
        (Some(syndrome), Some(msn)) => Some(Aeth {
            syndrome: Syndrome::from_byte(syndrome.try_into().ok()?).ok()?,
            msn: msn.try_into().ok()?,
        }),
        _ => None,
    };
    Some(CapturedTransport {
        message,
        opcode: Opcode::from_code(narrow(opcode)?)?,
        from_responder: flag(from_responder)?,
        psn: Psn::new(narrow(psn)?),
        payload: narrow(payload)?,
        switches: narrow(switches)?,
        marked: flag(marked)?,
        ack_request: flag(ack_request)?,
        selective: flag(selective)?,
        access: integer(offset)?.zip(integer(length)?).map(access),
        aeth,
    })
}
