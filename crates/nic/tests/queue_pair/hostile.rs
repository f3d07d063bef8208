//! A peer may send anything: nothing panics, nothing outside of what is permitted is touched.

use fairlane_transport::{
    Config, Extension, Operation, Packet, Placement, Remote, Service, WorkRequest,
};
use fairlane_units::{Bytes, Duration, Psn, QpNumber, Time};
use fairlane_wire::{Aeth, ExtensionKind, Opcode, Syndrome};
use proptest::prelude::*;

use super::line::{End, KEY, config, fetch_add, target};

/// Numbers that a packet is made of.
type Fields = (u8, u32, u8, (u8, u8), u64);

/// Any packet that the wire can carry, near the numbers that are expected.
fn packet((opcode, psn, payload, (syndrome, key), number): Fields) -> Packet {
    let opcode = Opcode::ALL[usize::from(opcode) % Opcode::ALL.len()];
    let remote = Remote {
        address: if number % 7 == 0 { number } else { 0x1000 },
        key: if key < 200 { KEY } else { 9 },
    };
    let length = match number % 5 {
        0 => Bytes::new(number >> 32),
        _ => Bytes::new(number % 350),
    };
    let aeth = Aeth {
        syndrome: Syndrome::from_byte(syndrome).unwrap_or(Syndrome::ACK),
        msn: psn.wrapping_add(key.into()) & 0x00ff_ffff,
    };
    let immediate = opcode.has_immediate().then_some(psn);
    let extension = match opcode.extension() {
        ExtensionKind::None | ExtensionKind::Cnp => Extension::None,
        ExtensionKind::Immediate => Extension::Immediate(psn),
        ExtensionKind::Invalidate => Extension::Invalidate(9),
        ExtensionKind::Rdma | ExtensionKind::RdmaImmediate => Extension::Remote {
            remote,
            length,
            immediate,
        },
        ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
        ExtensionKind::AtomicAcknowledge => Extension::AtomicResult {
            aeth,
            original: number,
        },
        ExtensionKind::Atomic => Extension::Atomic(Operation::FetchAdd {
            remote,
            add: number,
        }),
        ExtensionKind::Datagram | ExtensionKind::DatagramImmediate => Extension::Datagram {
            queue_key: 0,
            source: QpNumber::new(1),
            destination: QpNumber::new(2),
            immediate,
        },
    };
    Packet {
        opcode,
        psn: Psn::new(100u32.wrapping_add(psn % 40).wrapping_sub(8)),
        payload: Bytes::new(match payload % 4 {
            0 => 0,
            1 => 100,
            _ => payload.into(),
        }),
        ack_request: number % 2 == 0,
        solicited: number % 3 == 0,
        selective: number % 4 == 0,
        extension,
    }
}

fn post(config: &Config, end: &mut End, id: u64, kind: u8) {
    let operation = match (config.service, kind % 4) {
        (Service::UnreliableDatagram, _) => Operation::Datagram {
            destination: QpNumber::new(2),
            queue_key: 0,
            immediate: None,
        },
        (_, 0) => Operation::Send,
        (Service::UnreliableConnection, _) | (_, 1) => Operation::Write(target()),
        (_, 2) => Operation::Read(target()),
        _ => fetch_add(id, 1).operation,
    };
    let length = match operation {
        Operation::FetchAdd { .. } => 8,
        Operation::Datagram { .. } => 50,
        _ => u64::from(kind) * 2,
    };
    end.post(WorkRequest::new(id, operation, Bytes::new(length)));
    end.receive(id, 250);
}

fn is_permitted(placement: Placement) -> bool {
    match placement {
        Placement::Memory(remote) => remote.key == KEY,
        Placement::Receive { offset, .. } => offset < Bytes::new(250),
        Placement::Request { offset, .. } => offset < Bytes::new(512),
        Placement::Result { .. } => true,
    }
}

proptest! {
    #[test]
    fn nothing_that_a_peer_sends_makes_a_queue_pair_panic(
        service in prop::sample::select(vec![
            Service::ReliableConnection,
            Service::UnreliableConnection,
            Service::UnreliableDatagram,
        ]),
        window in prop::sample::select(vec![0, 64]),
        posts in prop::collection::vec(any::<u8>(), 0..6),
        fields in prop::collection::vec(any::<Fields>(), 1..120),
    ) {
        let config = Config { service, selective_window: window, ..config() };
        let mut end = End::new(&config);
        let mut now = Time::ZERO;
        for (id, kind) in (0..).zip(&posts) {
            post(&config, &mut end, id, *kind);
        }
        for (step, fields) in fields.into_iter().enumerate() {
            end.hear(now, &packet(fields));
            let placed = std::mem::take(&mut end.placed);
            prop_assert!(placed.iter().copied().all(is_permitted), "{placed:?}");
            let promised = end.has_packet();
            prop_assert_eq!(end.packet(now).is_some(), promised);
            now += Duration::from_us(1);
            if step % 9 == 0 && let Some(deadline) = end.deadline() {
                now = now.max(deadline);
                end.on_deadline(now);
            }
        }
    }

    /// However often a peer asks, what is owed stays within bounds.
    #[test]
    fn a_flood_of_requests_is_answered_within_bounds(
        fields in prop::collection::vec(any::<Fields>(), 2_000..2_001),
    ) {
        let config = Config { selective_window: 64, ..config() };
        let mut end = End::new(&config);
        for fields in fields {
            let mut packet = packet(fields);
            packet.selective = true;
            end.hear(Time::ZERO, &packet);
        }
        let acknowledgements = std::iter::from_fn(|| end.packet(Time::ZERO))
            .filter(|outgoing| !outgoing.packet.opcode.has_payload())
            .count();
        prop_assert!(acknowledgements < 200, "{acknowledgements}");
    }
}
