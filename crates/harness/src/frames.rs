//! Packets as frames of Ethernet, IPv4 and UDP, with an ICRC.

use std::net::Ipv4Addr;

use fairlane_transport::{Ends, Packet};
use fairlane_units::{Bytes, QpNumber, TenantId};
use fairlane_wire as wire;

use super::generate::number;
use super::model::{Violation, ensure};
use super::program::Side;

const PARTITION_KEY: TenantId = TenantId::new(0xffff);

const fn address(side: Side) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + side as u8)
}

const fn mac(side: Side) -> wire::MacAddress {
    wire::MacAddress([2, 0, 0, 0, 0, 1 + side as u8])
}

/// Makes a frame of a packet that the queue pair sends.
pub(super) fn encode(
    (side, connection): (Side, usize),
    packet: &Packet,
    payload: &[u8],
) -> Result<Vec<u8>, Violation> {
    let ends = Ends {
        source: QpNumber::new(number(connection, side)),
        destination: QpNumber::new(number(connection, side.other())),
        partition_key: PARTITION_KEY,
    };
    let headers = packet.headers(&ends).map_err(|error| format!("{error}"))?;
    let frame = wire::Frame {
        ethernet: wire::Ethernet::ipv4(mac(side), mac(side.other())),
        datagram: wire::Datagram {
            network: wire::Network::Ipv4(wire::Ipv4::new(address(side), address(side.other()))),
            udp: wire::Udp::new(0xc000 + connection as u16),
            packet: wire::Packet {
                headers,
                traffic: wire::Traffic::None,
                payload,
            },
        },
    };
    let mut bytes = vec![0; frame.length()];
    let length = frame.emit(&mut bytes).map_err(|error| format!("{error}"))?;
    ensure!(length == bytes.len(), "a frame of {length} bytes");
    Ok(bytes)
}

/// Reads a frame that must be a packet to the queue pair `to`.
pub(super) fn decode(to: (Side, usize), frame: &wire::Frame<'_>) -> Result<Packet, Violation> {
    let wire::Packet {
        headers, payload, ..
    } = frame.datagram.packet;
    let destination = headers.bth.destination.get();
    ensure!(
        destination == number(to.1, to.0),
        "a frame to queue pair {destination}"
    );
    let packet = Packet::from_headers(&headers, Bytes::new(payload.len() as u64));
    packet.map_err(|error| format!("{error}"))
}

/// A frame whose ICRC is wrong, read all the same.
pub(super) fn decode_altered(frame: &[u8]) -> Option<(Packet, &[u8])> {
    let (_, rest) = wire::Ethernet::parse(frame).ok()?;
    let (_, rest) = wire::Network::parse(rest).ok()?;
    let (_, rest) = wire::Udp::parse(rest).ok()?;
    let (packet, _) = wire::Packet::parse(rest).ok()?;
    let length = Bytes::new(packet.payload.len() as u64);
    let heard = Packet::from_headers(&packet.headers, length).ok()?;
    Some((heard, packet.payload))
}

/// Whether a frame was marked on its way.
pub(super) fn is_marked(frame: &[u8]) -> bool {
    let network = wire::Ethernet::parse(frame).and_then(|(_, rest)| wire::Network::parse(rest));
    let traffic_class = network.map(|(network, _)| match network {
        wire::Network::Ipv4(ipv4) => ipv4.traffic_class,
        wire::Network::Ipv6(ipv6) => ipv6.traffic_class,
    });
    traffic_class.is_ok_and(|class| class.ecn == wire::Ecn::Marked)
}

/// A packet in one line.
pub(super) fn describe(packet: &Packet) -> String {
    let flags = [
        (packet.ack_request, " ack-request"),
        (packet.selective, " selective"),
    ];
    let flags: String = flags
        .iter()
        .filter(|(set, _)| *set)
        .map(|(_, name)| *name)
        .collect();
    let Packet {
        opcode,
        psn,
        payload,
        extension,
        ..
    } = packet;
    format!("{opcode} psn={psn} payload={payload}{flags} {extension:?}")
}
