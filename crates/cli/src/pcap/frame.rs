//! Captured packets as bytes: Ethernet, IPv4, UDP and RoCEv2, or a pause frame.
//!
//! What the simulator doesn't have is made of what it has: addresses of node and port numbers, queue
//! pair numbers, keys and memory addresses of the number of the message. `docs/results.md` says how.
//! Payload is zero. Nothing of a frame depends on sizes that the scenario sets but the payload.

use std::net::Ipv4Addr;

use fairlane_fabric::{CaptureRecord, CapturedPacket, CapturedTransport, PortInfo};
use fairlane_units::{FlowId, NodeId, QpNumber};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Datagram, Ecn, Error, Ethernet, Extension,
    ExtensionKind, Frame, Ipv4, MacAddress, Network, Opcode, Packet, Reth, Syndrome, TrafficClass,
    Udp,
};

use crate::read::{Addresses, CaptureRow};

/// Length in bytes of the longest frame: the longest IP packet in Ethernet.
pub(super) const LONGEST: usize = Ethernet::LENGTH + u16::MAX as usize;

/// What messages contain.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Writes a packet that went from one port to the other to the front of `bytes`, which has room for
/// [`LONGEST`], and returns its length. There is no frame check sequence.
pub(super) fn emit(
    row: &CaptureRow,
    ends: [&PortInfo; 2],
    bytes: &mut [u8],
) -> Result<usize, Error> {
    let [source, destination] = ends.map(mac);
    let record = &row.record;
    let (transport, addresses) = match (&record.packet, &row.addresses) {
        (CapturedPacket::Transport(transport), Some(addresses)) => (transport, addresses),
        (CapturedPacket::Pause, _) => return Ok(pause(source, record.class, u16::MAX, bytes)),
        _ => return Ok(pause(source, record.class, 0, bytes)),
    };
    if let Some(content) = &row.content {
        return real([source, destination], content, bytes);
    }
    let payload = &ZEROS[..usize::from(transport.payload)];
    let frame = Frame {
        ethernet: Ethernet::ipv4(source, destination),
        datagram: Datagram {
            network: Network::Ipv4(network(record, transport, addresses)),
            udp: Udp::new(addresses.source_port),
            packet: Packet::new(base(transport), extension(transport), payload),
        },
    };
    frame.emit(bytes)
}

/// A frame with what was captured from the IP header on, as far as there is room for it.
fn real(
    [source, destination]: [MacAddress; 2],
    content: &[u8],
    bytes: &mut [u8],
) -> Result<usize, Error> {
    let header = Ethernet::ipv4(source, destination);
    let length = content.len().min(LONGEST - Ethernet::LENGTH);
    let (head, body) = bytes.split_at_mut(Ethernet::LENGTH);
    header.emit(head)?;
    body[..length].copy_from_slice(&content[..length]);
    Ok(Ethernet::LENGTH + length)
}

/// A port's address: locally administered, with the numbers of its node and at its node.
fn mac(port: &PortInfo) -> MacAddress {
    let [_, a, b, c] = port.node.get().to_be_bytes();
    let [_, _, d, e] = port.number.to_be_bytes();
    MacAddress([0x02, a, b, c, d, e])
}

/// A host's address; fabrics have less than 2^24 nodes.
fn address(node: NodeId) -> Ipv4Addr {
    let [_, a, b, c] = node.get().to_be_bytes();
    Ipv4Addr::new(10, a, b, c)
}

fn network(record: &CaptureRecord, transport: &CapturedTransport, addresses: &Addresses) -> Ipv4 {
    let notification = transport.is_reply() || transport.opcode == Opcode::Cnp;
    let ecn = match (notification, transport.marked) {
        (true, _) => Ecn::NotCapable,
        (false, true) => Ecn::Marked,
        (false, false) => Ecn::Capable0,
    };
    Ipv4 {
        traffic_class: TrafficClass::of_priority(record.class, ecn),
        ttl: Ipv4::DEFAULT_TTL.saturating_sub(transport.switches),
        ..Ipv4::new(address(addresses.source), address(addresses.destination))
    }
}

fn base(transport: &CapturedTransport) -> Bth {
    let [requester, responder] = queue_pairs(transport.flow);
    let destination = match transport.from_responder {
        true => requester,
        false => responder,
    };
    let echo = transport.is_reply() && transport.marked;
    Bth {
        becn: echo || transport.opcode == Opcode::Cnp,
        selective: transport.selective,
        ack_request: transport.ack_request,
        ..Bth::new(transport.opcode, destination, transport.psn)
    }
}

/// Numbers of the requester's and the responder's queue pair: neither of the two reserved numbers
/// nor that of multicast (IBTA 10.2.4 and 10.5), again the same after 2^23 - 2 flows.
fn queue_pairs(flow: FlowId) -> [QpNumber; 2] {
    let first = 2 + 2 * (flow.get() % ((1 << 23) - 2));
    [QpNumber::new(first), QpNumber::new(first + 1)]
}

fn extension(transport: &CapturedTransport) -> Extension {
    let aeth = transport.aeth.unwrap_or(Aeth {
        syndrome: Syndrome::ACK,
        msn: 0,
    });
    match transport.opcode.extension() {
        ExtensionKind::None => Extension::None,
        ExtensionKind::Immediate => Extension::Immediate(Default::default()),
        ExtensionKind::Invalidate => Extension::Invalidate(Default::default()),
        ExtensionKind::Rdma => Extension::Rdma(reth(transport)),
        ExtensionKind::RdmaImmediate => {
            Extension::RdmaImmediate(reth(transport), Default::default())
        }
        ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
        ExtensionKind::AtomicAcknowledge => {
            Extension::AtomicAcknowledge(aeth, AtomicAckEth::default())
        }
        ExtensionKind::Atomic => Extension::Atomic(atomic(transport)),
        ExtensionKind::Datagram => Extension::Datagram(Default::default()),
        ExtensionKind::DatagramImmediate => {
            Extension::DatagramImmediate(Default::default(), Default::default())
        }
        ExtensionKind::Cnp => Extension::Cnp(Cnp),
    }
}

/// Where the messages of a flow lie in the memory of its responder: 4 GiB for each flow.
const fn memory(flow: FlowId) -> u64 {
    (flow.get() as u64) << 32
}

/// The length of messages beyond 4 GiB is as large as the field allows.
fn reth(transport: &CapturedTransport) -> Reth {
    let (offset, length) = transport
        .access
        .map_or((0, 0), |access| (access.offset.get(), access.length.get()));
    Reth {
        address: memory(transport.flow).wrapping_add(offset),
        key: transport.flow.get(),
        length: u32::try_from(length).unwrap_or(u32::MAX),
    }
}

/// Adds 1, or replaces 0 by 1.
fn atomic(transport: &CapturedTransport) -> AtomicEth {
    AtomicEth {
        address: memory(transport.flow),
        key: transport.flow.get(),
        swap_or_add: 1,
        compare: 0,
    }
}

/// Where pause frames go (IEEE 802.1Q, 36.2).
const PAUSE_DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
/// EtherType of MAC control and opcode of priority-based pauses (IEEE 802.3, 31.4 and annex 31D).
const PAUSE_TYPE: [u8; 4] = [0x88, 0x08, 0x01, 0x01];
/// The shortest frame without frame check sequence (IEEE 802.3, 4.2.3.3).
const SHORTEST: usize = 60;

/// A frame that pauses a class for so many quanta of 512 bit times, and no other.
fn pause(source: MacAddress, class: u8, quanta: u16, bytes: &mut [u8]) -> usize {
    let class = usize::from(class & 7);
    let bytes = &mut bytes[..SHORTEST];
    bytes.fill(0);
    bytes[..6].copy_from_slice(&PAUSE_DESTINATION);
    bytes[6..12].copy_from_slice(&source.0);
    bytes[12..16].copy_from_slice(&PAUSE_TYPE);
    // The class enable vector, then the quanta of eight classes.
    bytes[17] = 1 << class;
    let at = 18 + 2 * class;
    bytes[at..at + 2].copy_from_slice(&quanta.to_be_bytes());
    SHORTEST
}
