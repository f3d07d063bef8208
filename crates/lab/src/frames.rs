//! Bytes of packets on their way, and what switches read of them.

use fairlane_congestion::Telemetry;
use fairlane_fabric::{Attachment, Kind, Packet, Side};
use fairlane_units::{Bytes, FlowId, Rate, Time};
use fairlane_wire::{self as wire, Opcode, Syndrome};

/// Ethernet header and frame check sequence, IPv4 and UDP (IEEE 802.3, RFC 791, RFC 768).
const AROUND: usize = 14 + 4 + 20 + 8;

/// A packet under way.
#[derive(Debug, Default)]
struct Frame {
    source_port: u16,
    /// From the base transport header on.
    bytes: Vec<u8>,
}

/// Packets that are under way, by attachment. Room is used again.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Keeps the bytes of a packet.
    pub(crate) fn keep(&mut self, bytes: &[u8], source_port: u16) -> Attachment {
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Frame::default());
            self.all.len() as u32 - 1
        });
        let frame = &mut self.all[number as usize];
        frame.source_port = source_port;
        frame.bytes.clear();
        frame.bytes.extend_from_slice(bytes);
        Attachment::new(number)
    }

    /// The bytes of a packet.
    pub(crate) fn get(&self, attachment: Attachment) -> &[u8] {
        &self.all[attachment.get() as usize].bytes
    }

    /// The UDP source port of a packet.
    pub(crate) fn source_port(&self, attachment: Attachment) -> u16 {
        self.all[attachment.get() as usize].source_port
    }

    /// Writes what switches said of a packet into its header, if that has room for it.
    pub(crate) fn stamp(&mut self, attachment: Attachment, telemetry: &Telemetry) {
        let bytes = &mut self.all[attachment.get() as usize].bytes;
        for (port, hop) in telemetry.ports().iter().zip(telemetry.hops()) {
            let (now, sent) = (Time::from_ps(hop.time), Bytes::new(hop.sent));
            let rate = Rate::from_mbps(hop.rate_mbps.into());
            let record = wire::Hop::new(*port, now, sent, Bytes::new(hop.queue.into()), rate);
            // A packet without room isn't stamped.
            let _ = wire::Packet::stamp(bytes, &record);
        }
    }

    /// Forgets the bytes of a packet that has arrived or is lost.
    pub(crate) fn forget(&mut self, attachment: Attachment) {
        self.free.push(attachment.get());
    }
}

/// What switches read of a packet that goes to the responder of a flow; `None` if it is none.
pub(crate) fn packet(bytes: &[u8], flow: FlowId, class: u8) -> Option<Packet> {
    let (read, _) = wire::Packet::parse(bytes).ok()?;
    let bth = read.bth();
    Some(Packet {
        flow,
        towards: Side::Responder,
        kind: kind(&read),
        opcode: bth.opcode,
        psn: bth.psn,
        payload: read.payload.len() as u16,
        wire: (bytes.len() + AROUND) as u16,
        class,
        marked: false,
        hops: 0,
    })
}

/// What a packet is to switches.
fn kind(packet: &wire::Packet<'_>) -> Kind {
    match packet.bth().opcode {
        Opcode::Cnp => Kind::Cnp,
        Opcode::RcReadFeedback | Opcode::RcAtomicAcknowledge => Kind::Ack,
        Opcode::RcAcknowledge => match packet.headers.extension.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => Kind::Ack,
            _ => Kind::Nak,
        },
        _ => Kind::Data,
    }
}
