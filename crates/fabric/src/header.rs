//! Packets of the fabric and those of the NIC: the same headers, packed and not.

use fairlane_network::packet::{Kind, PacketRecord};
use fairlane_nic::{Departure, Meta, NO_ECHO, Role};
use fairlane_transport::{self as transport, Extension, Operation, Remote};
use fairlane_units::{Bytes, Psn, QpNumber};
use fairlane_wire::{ExtensionKind, Opcode, Syndrome};

/// Packs what a NIC sends, but for what the driver adds: epoch and telemetry. Of AtomicETH and DETH nothing is
/// kept: no memory is simulated, and a connection is known by its flow.
#[inline(always)]
pub(crate) const fn pack(departure: &Departure, packet: &mut PacketRecord) {
    let headers = &departure.packet;
    packet.kind = kind(departure);
    packet.opcode = headers.opcode;
    packet.class = departure.meta.class;
    packet.charged = departure.meta.class;
    packet.wire = departure.meta.wire;
    packet.flags = flags(departure);
    packet.flow = departure.meta.flow;
    packet.tenant = departure.meta.tenant.get() as u16;
    packet.psn = headers.psn.get();
    packet.payload = headers.payload.get() as u16;
    packet.share = match departure.meta.demand {
        Some(demand) => demand,
        None => departure.meta.share,
    };
    packet.hop = 0;
    (packet.address, packet.word) = match headers.extension {
        Extension::Remote { remote, length, .. } => (remote.address as u32, length.get() as u32),
        Extension::Acknowledge(aeth) | Extension::AtomicResult { aeth, .. } => {
            (0, (aeth.syndrome.byte() as u32) << 24 | aeth.msn)
        }
        _ => (0, 0),
    };
}

#[inline]
const fn kind(departure: &Departure) -> Kind {
    match departure.meta.role {
        Role::Request => Kind::Data,
        Role::Cnp => Kind::Cnp,
        Role::Feedback => Kind::Ack,
        Role::Response => match (departure.packet.opcode, &departure.packet.extension) {
            (Opcode::RcAtomicAcknowledge, _) => Kind::Ack,
            (Opcode::RcAcknowledge, Extension::Acknowledge(aeth)) => match aeth.syndrome {
                Syndrome::Ack { .. } => Kind::Ack,
                _ => Kind::Nak,
            },
            _ => Kind::Data,
        },
    }
}

#[inline]
const fn flags(departure: &Departure) -> u8 {
    const fn flag(set: bool, flag: u8) -> u8 {
        if set { flag } else { 0 }
    }
    flag(departure.packet.ack_request, PacketRecord::ACK_REQUEST)
        | flag(departure.from_responder, PacketRecord::BACK)
        | flag(departure.meta.marked, PacketRecord::MARKED)
        | flag(departure.packet.selective, PacketRecord::SELECTIVE)
        | flag(departure.meta.retransmitted, PacketRecord::AGAIN)
}

/// What a packet is to the NIC that it has come to.
#[inline]
pub(crate) const fn role(packet: &PacketRecord) -> Role {
    match (packet.kind, packet.has(PacketRecord::BACK)) {
        (Kind::Cnp, _) => Role::Cnp,
        (Kind::Data, false) => Role::Request,
        (Kind::Ack | Kind::Nak, false) => Role::Feedback,
        _ => Role::Response,
    }
}

/// What else a NIC learns of a packet; one that asks for an answer is brought back in that.
#[inline]
pub(crate) fn meta(packet: &PacketRecord, role: Role, asks: bool) -> Meta {
    Meta {
        wire: packet.wire,
        marked: packet.has(PacketRecord::MARKED),
        retransmitted: packet.has(PacketRecord::AGAIN),
        share: packet.share,
        echo: if asks { packet.telemetry } else { NO_ECHO },
        ..Meta::new(packet.flow, packet.tenant(), role, packet.class)
    }
}

/// The transport headers of a packet.
#[inline]
pub(crate) fn unpack(packet: &PacketRecord) -> transport::Packet {
    transport::Packet {
        opcode: packet.opcode,
        psn: Psn::new(packet.psn),
        payload: Bytes::new(u64::from(packet.payload)),
        ack_request: packet.has(PacketRecord::ACK_REQUEST),
        solicited: false,
        selective: packet.has(PacketRecord::SELECTIVE),
        extension: match packet.opcode.extension() {
            ExtensionKind::None => Extension::None,
            _ => extension(packet),
        },
    }
}

#[inline]
fn extension(packet: &PacketRecord) -> Extension {
    if packet.opcode.has_aeth() {
        let aeth = packet.aeth();
        return match packet.opcode {
            Opcode::RcAtomicAcknowledge => Extension::AtomicResult { aeth, original: 0 },
            _ => Extension::Acknowledge(aeth),
        };
    }
    let remote = Remote {
        address: packet.address().get(),
        key: 0,
    };
    if packet.opcode.has_reth() {
        return Extension::Remote {
            remote,
            length: packet.length(),
            immediate: None,
        };
    }
    if packet.opcode.has_atomic_eth() {
        return Extension::Atomic(Operation::FetchAdd { remote, add: 1 });
    }
    Extension::Datagram {
        queue_key: 0,
        source: QpNumber::new(0),
        destination: QpNumber::new(0),
        immediate: None,
    }
}
