//! Packets that pass chosen ports, as a network analyser there would see them.

use fairlane_scenario::CapturePoint;
use fairlane_units::{Bytes, FlowId, PortId, Psn, Time};
use fairlane_wire::{Aeth, Opcode};

use crate::log::Log;
use crate::packet::{Kind, PacketRecord};
use crate::routing::Graph;

/// A packet that passed a captured port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureRecord {
    /// When its transmission began, or when it had arrived.
    pub time: Time,
    /// The captured port.
    pub port: PortId,
    /// Whether the port sent it; else the port received it.
    pub outbound: bool,
    /// Traffic class; of a pause frame, the class that it is about.
    pub class: u8,
    /// Bytes on the simulated link, without gap.
    pub size: u16,
    /// What it was.
    pub packet: CapturedPacket,
}

/// Bytes that an atomic works on.
const ATOMIC: Bytes = Bytes::new(8);

// As `docs/scenario.md` says.
const _: () = assert!(size_of::<CaptureRecord>() == 64);

/// What a captured packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedPacket {
    /// Pauses the sending of a class.
    Pause,
    /// Ends that.
    Resume,
    /// Belongs to a flow.
    Transport(CapturedTransport),
}

impl CapturedPacket {
    /// Its transport headers, unless it is a pause frame.
    pub const fn transport(&self) -> Option<&CapturedTransport> {
        match self {
            Self::Transport(transport) => Some(transport),
            Self::Pause | Self::Resume => None,
        }
    }
}

/// What the headers of a captured packet say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedTransport {
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// What it does. Feedback for a READ's response is an acknowledgement of the requester.
    pub opcode: Opcode,
    /// Whether it goes from the responder to the requester, the host that posted the message.
    pub from_responder: bool,
    /// Sequence number.
    pub psn: Psn,
    /// Bytes of payload.
    pub payload: u16,
    /// Switches passed.
    pub switches: u8,
    /// Congestion experienced, or in a reply its echo.
    pub marked: bool,
    /// Asks for an acknowledgement.
    pub ack_request: bool,
    /// Its sender keeps packets that arrive out of order.
    pub selective: bool,
    /// The memory access, of a packet with RETH or AtomicETH.
    pub access: Option<CapturedAccess>,
    /// The AETH, of a packet with one; the MSN counts messages of less than 2^24 packets. In a selective NAK the MSN
    /// is the PSN of the packet that came too early.
    pub aeth: Option<Aeth>,
}

impl CapturedTransport {
    /// Whether it says only what has arrived: switches don't mark it, and its mark is an echo.
    pub const fn is_reply(&self) -> bool {
        matches!(
            self.opcode,
            Opcode::RcAcknowledge | Opcode::RcAtomicAcknowledge
        )
    }
}

/// The memory that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedAccess {
    /// Bytes of the message before it.
    pub offset: Bytes,
    /// Bytes that the request writes, asks for, or works on.
    pub length: Bytes,
}

/// Records what passes chosen ports.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// By port, whether it is captured; empty if none is.
    ports: Vec<bool>,
    /// What was captured.
    pub records: Log<CaptureRecord>,
    /// Where packets are in the pool that a driver hasn't looked at since they were captured, if it looks.
    pub(crate) places: Option<Vec<u32>>,
}

impl Capture {
    /// `points` have been checked with the scenario; one that isn't a point names no port.
    pub fn new(points: &[CapturePoint], graph: &Graph) -> Self {
        let points: Vec<_> = points
            .iter()
            .filter_map(|point| point.ports().ok())
            .collect();
        let mut ports = Vec::new();
        if !points.is_empty() {
            ports.resize(graph.owners.len(), false);
        }
        for (node, edges) in (0..).zip(&graph.edges) {
            for (number, edge) in (1..).zip(edges) {
                if points.iter().any(|point| point.contains(node, number)) {
                    ports[edge.port as usize] = true;
                }
            }
        }
        Self {
            ports,
            records: Log::default(),
            places: None,
        }
    }

    /// Whether any port is captured.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.ports.is_empty()
    }

    /// What is to be recorded of a packet that a port sends, or has received, if it is captured.
    pub(crate) fn record(
        &self,
        time: Time,
        (port, outbound): (u32, bool),
        packet: &PacketRecord,
    ) -> Option<CaptureRecord> {
        if !self.ports[port as usize] {
            return None;
        }
        Some(CaptureRecord {
            time,
            port: PortId::new(port),
            outbound,
            class: packet.class,
            size: packet.wire,
            packet: capturable(packet)?,
        })
    }
}

/// What a packet is in a capture; tails and their answers, which only switches understand, aren't in any.
fn capturable(packet: &PacketRecord) -> Option<CapturedPacket> {
    match packet.kind {
        Kind::Pause => Some(CapturedPacket::Pause),
        Kind::Resume => Some(CapturedPacket::Resume),
        Kind::Data | Kind::Ack | Kind::Nak | Kind::Cnp => {
            Some(CapturedPacket::Transport(headers_of(packet)))
        }
        Kind::Tail | Kind::Clear => None,
    }
}

fn headers_of(packet: &PacketRecord) -> CapturedTransport {
    let opcode = packet.opcode;
    CapturedTransport {
        flow: packet.flow,
        opcode,
        from_responder: packet.has(PacketRecord::BACK),
        psn: Psn::new(packet.psn),
        payload: match packet.kind {
            Kind::Data => packet.payload,
            _ => 0,
        },
        switches: packet.hop,
        marked: packet.has(PacketRecord::MARKED),
        ack_request: packet.has(PacketRecord::ACK_REQUEST),
        selective: packet.has(PacketRecord::SELECTIVE),
        access: access(packet),
        aeth: opcode.has_aeth().then(|| packet.aeth()),
    }
}

/// What a request is about, as its RETH or AtomicETH says.
fn access(packet: &PacketRecord) -> Option<CapturedAccess> {
    let opcode = packet.opcode;
    if packet.kind == Kind::Data && opcode.has_reth() {
        return Some(CapturedAccess {
            offset: packet.address(),
            length: packet.length(),
        });
    }
    opcode.has_atomic_eth().then_some(CapturedAccess {
        offset: Bytes::ZERO,
        length: ATOMIC,
    })
}
