//! Packets of the fabric and those of the NIC: the same headers, packed and not.

use fairlane_host::{Departure, Role};
use fairlane_transport::{self as transport, Extension, Operation, Remote};
use fairlane_units::{Bytes, Psn, QpNumber};
use fairlane_wire::{Aeth, ExtensionKind, Opcode, Syndrome};

use crate::packet::{Kind, PacketRecord};

/// Packs what a NIC sends, but for what the driver adds: epoch and telemetry. Of AtomicETH and DETH nothing is
/// kept: no memory is simulated, and a connection is known by its flow.
#[inline(always)]
pub(crate) const fn pack(departure: &Departure, packet: &mut PacketRecord) {
    let headers = &departure.packet;
    packet.kind = kind(departure);
    packet.opcode = headers.opcode;
    packet.class = departure.class;
    packet.charged = departure.class;
    packet.wire = departure.wire;
    packet.flags = flags(departure);
    packet.flow = departure.flow;
    packet.tenant = departure.tenant.get() as u16;
    packet.psn = headers.psn.get();
    packet.payload = headers.payload.get() as u16;
    packet.share = match departure.demand {
        Some(demand) => demand,
        None => departure.share,
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
    match departure.role {
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
        | flag(departure.marked, PacketRecord::MARKED)
        | flag(departure.packet.selective, PacketRecord::SELECTIVE)
        | flag(departure.again, PacketRecord::AGAIN)
}

impl PacketRecord {
    /// What it is to the NIC that it has come to.
    #[inline]
    pub(crate) const fn role(&self) -> Role {
        match (self.kind, self.has(Self::BACK)) {
            (Kind::Cnp, _) => Role::Cnp,
            (Kind::Data, false) => Role::Request,
            (Kind::Ack | Kind::Nak, false) => Role::Feedback,
            _ => Role::Response,
        }
    }

    /// Its transport headers.
    #[inline]
    pub(crate) fn headers(&self) -> transport::Packet {
        transport::Packet {
            opcode: self.opcode,
            psn: Psn::new(self.psn),
            payload: Bytes::new(u64::from(self.payload)),
            ack_request: self.has(Self::ACK_REQUEST),
            solicited: false,
            selective: self.has(Self::SELECTIVE),
            extension: self.extension(),
        }
    }

    #[inline]
    fn extension(&self) -> Extension {
        match self.opcode.extension() {
            ExtensionKind::None => Extension::None,
            _ => self.some_extension(),
        }
    }

    #[inline]
    fn some_extension(&self) -> Extension {
        if self.opcode.has_aeth() {
            let aeth = self.aeth();
            return match self.opcode {
                Opcode::RcAtomicAcknowledge => Extension::AtomicResult { aeth, original: 0 },
                _ => Extension::Acknowledge(aeth),
            };
        }
        let remote = self.remote();
        if self.opcode.has_reth() {
            return Extension::Remote {
                remote,
                length: self.length(),
                immediate: None,
            };
        }
        if self.opcode.has_atomic_eth() {
            return Extension::Atomic(Operation::FetchAdd { remote, add: 1 });
        }
        Extension::Datagram {
            queue_key: 0,
            source: QpNumber::new(0),
            destination: QpNumber::new(0),
            immediate: None,
        }
    }

    const fn remote(&self) -> Remote {
        Remote {
            address: self.address as u64,
            key: 0,
        }
    }

    /// The address that a RETH names, counted from the beginning of the message.
    pub(crate) const fn address(&self) -> Bytes {
        Bytes::new(self.address as u64)
    }

    /// The length that a RETH names.
    pub(crate) const fn length(&self) -> Bytes {
        Bytes::new(self.word as u64)
    }

    /// The AETH of a packet that has one.
    #[inline]
    pub(crate) fn aeth(&self) -> Aeth {
        Aeth {
            syndrome: Syndrome::from_byte((self.word >> 24) as u8).unwrap_or(Syndrome::ACK),
            msn: self.word & 0x00ff_ffff,
        }
    }
}
