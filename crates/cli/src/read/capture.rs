//! `capture.parquet`, and the ports that were captured.

use std::path::{Path, PathBuf};

use fairlane_fabric::{CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport, PortInfo};
use fairlane_scenario::{CapturePoint, CapturePorts};
use fairlane_units::{Bytes, FlowId, NodeId, PortId, Psn, Rate, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};
use serde::Deserialize;

use crate::failure::Failure;
use crate::read::{DAMAGED, parquet, text};
use fairlane_results::write::{CAPTURE, PAUSE, RESUME};

/// A captured packet, and between which hosts it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaptureRow {
    /// The packet.
    pub(crate) record: CaptureRecord,
    /// Its addresses; nothing for pause frames.
    pub(crate) addresses: Option<Addresses>,
    /// Its bytes from the IP header on, if they were captured.
    pub(crate) content: Option<Vec<u8>>,
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

    /// Every packet, in order of time.
    ///
    /// # Errors
    /// If the file isn't what `run` writes.
    pub(crate) fn packets(
        &self,
    ) -> Result<impl Iterator<Item = Result<CaptureRow, Failure>>, Failure> {
        let ports = self.ports.len();
        let known = move |row: &CaptureRow| row.record.port.index() < ports;
        parquet::rows(&self.path, DAMAGED, move |row: Row| {
            row.packet().filter(known)
        })
    }
}

/// The capture points of the scenario that ran.
fn points(directory: &Path) -> Result<Vec<CapturePorts>, Failure> {
    #[derive(Deserialize)]
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
    let mut ports: Vec<PortInfo> = Vec::new();
    for row in parquet::rows(path, DAMAGED, |row: PortRow| Some(row))? {
        let row = row?;
        if row.port_id as usize != ports.len() {
            break;
        }
        ports.push(PortInfo {
            node: NodeId::new(row.node),
            on_switch: row.on_switch,
            number: row.port,
            peer: PortId::new(row.peer_port_id),
            peer_node: NodeId::new(row.peer_node),
            rate: Rate::from_bps(row.rate_bps),
        });
    }
    let count = ports.len();
    if ports.iter().all(|port| port.peer.index() < count) {
        return Ok(ports);
    }
    Err(Failure::at(path, "names ports that it doesn't list").hint(DAMAGED))
}

/// A port in an interval.
#[derive(Deserialize)]
struct PortRow {
    port_id: u32,
    node: u32,
    on_switch: bool,
    port: u32,
    peer_port_id: u32,
    peer_node: u32,
    rate_bps: u64,
}

/// A packet; of a pause frame, all from `message` on is missing.
#[derive(Deserialize)]
struct Row {
    time_ps: u64,
    port_id: u32,
    outbound: bool,
    packet: String,
    class: u8,
    size_bytes: u16,
    message: Option<u32>,
    source: Option<u32>,
    destination: Option<u32>,
    source_port: Option<u16>,
    from_responder: bool,
    opcode: Option<u8>,
    psn: Option<u32>,
    payload_bytes: Option<u16>,
    switches: Option<u8>,
    marked: bool,
    ack_request: bool,
    selective: bool,
    offset_bytes: Option<u64>,
    length_bytes: Option<u64>,
    syndrome: Option<u8>,
    msn: Option<u32>,
    content: Option<String>,
}

/// The bytes that hexadecimal digits are.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_even = digits.len().is_multiple_of(2);
    pairs.map(byte).collect::<Option<_>>().filter(|_| is_even)
}

impl Row {
    fn packet(self) -> Option<CaptureRow> {
        let content = match &self.content {
            Some(digits) => Some(bytes(digits)?),
            None => None,
        };
        let (packet, addresses) = match self.packet.as_str() {
            PAUSE => (CapturedPacket::Pause, None),
            RESUME => (CapturedPacket::Resume, None),
            _ => {
                let addresses = Addresses {
                    source: NodeId::new(self.source?),
                    destination: NodeId::new(self.destination?),
                    source_port: self.source_port?,
                };
                let transport = self.transport()?;
                (CapturedPacket::Transport(transport), Some(addresses))
            }
        };
        let record = CaptureRecord {
            time: Time::from_ps(self.time_ps),
            port: PortId::new(self.port_id),
            outbound: self.outbound,
            class: self.class,
            size: self.size_bytes,
            packet,
        };
        Some(CaptureRow {
            record,
            addresses,
            content,
        })
    }

    fn transport(&self) -> Option<CapturedTransport> {
        let access = |(offset, length)| CapturedAccess {
            offset: Bytes::new(offset),
            length: Bytes::new(length),
        };
        let aeth = match self.syndrome.zip(self.msn) {
            Some((syndrome, msn)) => Some(Aeth {
                syndrome: Syndrome::from_byte(syndrome).ok()?,
                msn,
            }),
            None => None,
        };
        Some(CapturedTransport {
            flow: FlowId::new(self.message?),
            opcode: Opcode::from_code(self.opcode?)?,
            from_responder: self.from_responder,
            psn: Psn::new(self.psn?),
            payload: self.payload_bytes?,
            switches: self.switches?,
            marked: self.marked,
            ack_request: self.ack_request,
            selective: self.selective,
            access: self.offset_bytes.zip(self.length_bytes).map(access),
            aeth,
        })
    }
}
