//! Packets survive their way over the wire.

use fairlane_transport::{Ends, Extension, Operation, Packet, Remote};
use fairlane_units::{Bytes, Psn, QpNumber, TenantId};
use fairlane_wire::{
    Aeth, Bth, Cnp, Extension as Wire, ExtensionKind, Field, Headers, Opcode, Reason, Syndrome,
};
use proptest::prelude::*;

const ENDS: Ends = Ends {
    source: QpNumber::new(0x11),
    destination: QpNumber::new(0x22),
    partition_key: TenantId::new(0x8001),
};

/// An extension of the kind that an opcode has.
fn extension(opcode: Opcode, (a, b, c): (u64, u64, u32)) -> Extension {
    let remote = Remote { address: a, key: c };
    let aeth = Aeth {
        syndrome: Syndrome::ACK,
        msn: c & 0x00ff_ffff,
    };
    let length = Bytes::new(b & 0xffff_ffff);
    let immediate = opcode.has_immediate().then_some(c);
    match opcode.extension() {
        ExtensionKind::None | ExtensionKind::Cnp => Extension::None,
        ExtensionKind::Immediate => Extension::Immediate(c),
        ExtensionKind::Invalidate => Extension::Invalidate(c),
        ExtensionKind::Rdma | ExtensionKind::RdmaImmediate => Extension::Remote {
            remote,
            length,
            immediate,
        },
        ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
        ExtensionKind::AtomicAcknowledge => Extension::AtomicResult { aeth, original: a },
        ExtensionKind::Atomic if opcode == Opcode::RcFetchAdd => {
            Extension::Atomic(Operation::FetchAdd { remote, add: b })
        }
        ExtensionKind::Atomic => Extension::Atomic(Operation::CompareSwap {
            remote,
            compare: b,
            swap: a,
        }),
        ExtensionKind::Datagram | ExtensionKind::DatagramImmediate => Extension::Datagram {
            queue_key: c,
            source: ENDS.source,
            destination: QpNumber::new(0x33),
            immediate,
        },
    }
}

fn packet() -> impl Strategy<Value = Packet> {
    let opcodes: Vec<_> = Opcode::ALL
        .iter()
        .copied()
        .filter(|o| *o != Opcode::Cnp)
        .collect();
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let fields = (any::<u64>(), any::<u64>(), any::<u32>());
    (prop::sample::select(opcodes), flags, fields, 0u64..5000).prop_map(
        |(opcode, (ack_request, solicited, selective), fields, payload)| Packet {
            opcode,
            psn: Psn::new(fields.2),
            payload: Bytes::new(if opcode.has_payload() { payload } else { 0 }),
            ack_request,
            solicited,
            selective,
            extension: extension(opcode, fields),
        },
    )
}

proptest! {
    #[test]
    fn what_is_encoded_is_read_back(packet in packet()) {
        let headers = packet.headers(&ENDS).expect("it fits");
        prop_assert_eq!(headers.bth.partition_key, ENDS.partition_key);
        let named = match packet.extension {
            Extension::Datagram { destination, .. } => destination,
            _ => ENDS.destination,
        };
        prop_assert_eq!(headers.bth.destination, named);
        let mut bytes = [0; Headers::MAX_LENGTH];
        headers.emit(&mut bytes).expect("it fits");
        let (read, _) = Headers::parse(&bytes).expect("it was written");
        prop_assert_eq!(Packet::from_headers(&read, packet.payload), Ok(packet));
    }

    #[test]
    fn a_wrong_extension_is_refused(packet in packet(), other in packet()) {
        let mixed = Packet { extension: other.extension, ..packet };
        let fits = match (mixed.extension, packet.extension) {
            (Extension::Atomic(a), Extension::Atomic(b)) => {
                std::mem::discriminant(&a) == std::mem::discriminant(&b)
            }
            _ => other.opcode.extension() == packet.opcode.extension(),
        };
        let result = mixed.headers(&ENDS);
        prop_assert_eq!(result.is_ok(), fits);
        if let Err(error) = result {
            prop_assert_eq!((error.field, error.reason), (Field::Extension, Reason::Inconsistent));
        }
    }
}

#[test]
fn lengths_beyond_32_bits_and_notifications_are_refused() {
    let remote = Remote::default();
    let (length, immediate) = (Bytes::new(1 << 32), None);
    let packet = Packet {
        opcode: Opcode::RcReadRequest,
        psn: Psn::new(0),
        payload: Bytes::ZERO,
        ack_request: false,
        solicited: false,
        selective: false,
        extension: Extension::Remote {
            remote,
            length,
            immediate,
        },
    };
    let error = packet.headers(&ENDS).expect_err("33 bits");
    assert_eq!(
        (error.field, error.reason),
        (Field::Reth, Reason::OutOfRange)
    );
    let notification = Headers {
        bth: Bth::new(Opcode::Cnp, ENDS.destination, Psn::new(0)),
        extension: Wire::Cnp(Cnp),
    };
    let error = Packet::from_headers(&notification, Bytes::ZERO).expect_err("no queue pair's");
    assert_eq!(
        (error.field, error.reason),
        (Field::Opcode, Reason::Unsupported)
    );
}
