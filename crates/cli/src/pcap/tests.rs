//! What is written is read: blocks by their lengths, packets by `wire`, every record by every field.

use fairlane_fabric::{CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport, PortInfo};
use fairlane_units::{Bytes, FlowId, NodeId, PortId, Psn, Rate, Time};
use fairlane_wire::{Aeth, Ecn, Frame, NakCode, Network, Opcode, Syndrome};
use proptest::prelude::*;

use super::{Exporter, frame};
use crate::read::{Addresses, CaptureRow};

/// Host 0 and switch 0x010203, whose port 0x104 leads to it.
fn ports() -> [PortInfo; 2] {
    let port = |node, on_switch, number, peer, peer_node| PortInfo {
        node: NodeId::new(node),
        on_switch,
        number,
        peer: PortId::new(peer),
        peer_node: NodeId::new(peer_node),
        rate: Rate::from_gbps(100),
    };
    [
        port(0, false, 1, 1, 0x01_0203),
        port(0x01_0203, true, 0x104, 0, 0),
    ]
}

fn row(packet: CapturedPacket, class: u8) -> CaptureRow {
    CaptureRow {
        record: CaptureRecord {
            time: Time::from_ps(5_000_001_999),
            port: PortId::new(0),
            outbound: true,
            class,
            size: 1090,
            packet,
        },
        addresses: packet.transport().map(|_| Addresses {
            source: NodeId::new(0),
            destination: NodeId::new(0x01_0203),
            source_port: 50_000,
        }),
        content: None,
    }
}

fn transport(opcode: Opcode) -> CapturedTransport {
    CapturedTransport {
        flow: FlowId::new(7),
        opcode,
        from_responder: opcode.is_response(),
        psn: Psn::new(9),
        payload: if opcode.has_payload() { 5 } else { 0 },
        switches: 2,
        marked: false,
        ack_request: true,
        selective: false,
        access: (opcode.has_reth() || opcode.has_atomic_eth()).then_some(CapturedAccess {
            offset: Bytes::new(0x1000),
            length: Bytes::new(0x2000),
        }),
        aeth: opcode.has_aeth().then_some(Aeth {
            syndrome: Syndrome::Nak(NakCode::SequenceError),
            msn: 3,
        }),
    }
}

/// The bytes of a packet that goes from the first port to the second.
fn bytes(row: &CaptureRow) -> Vec<u8> {
    let mut bytes = vec![0xee; frame::LONGEST];
    let ports = ports();
    let length = frame::emit(row, [&ports[0], &ports[1]], &mut bytes).unwrap();
    bytes.truncate(length);
    bytes
}

/// What `wire` reads of it.
fn with_frame<T>(transport: CapturedTransport, class: u8, look: impl Fn(&Frame<'_>) -> T) -> T {
    let bytes = bytes(&row(CapturedPacket::Transport(transport), class));
    look(&Frame::parse(&bytes).unwrap())
}

#[test]
fn every_opcode_is_read_back_with_its_icrc() {
    for opcode in Opcode::ALL {
        let transport = transport(*opcode);
        with_frame(transport, 3, |frame| {
            let packet = &frame.datagram.packet;
            assert_eq!(packet.bth().opcode, *opcode);
            assert_eq!(packet.bth().psn, transport.psn);
            assert_eq!(packet.payload.len(), usize::from(transport.payload));
            assert!(packet.payload.iter().all(|byte| *byte == 0));
            assert_eq!(packet.headers.extension.aeth(), transport.aeth);
            assert!(bytes(&row(CapturedPacket::Transport(transport), 3)).len() >= 60);
        });
    }
}

#[test]
fn addresses_are_made_of_numbers() {
    let packets = [
        (Opcode::RcWriteOnly, 3),
        (Opcode::RcAcknowledge, 0),
        (Opcode::RcFetchAdd, 7),
        (Opcode::Cnp, 0),
    ];
    let lines = packets
        .map(|(opcode, class)| with_frame(transport(opcode), class, |frame| frame.to_string()));
    insta::assert_snapshot!(lines.join("\n"), @r"
    02:00:00:00:00:01 > 02:01:02:03:01:04 | 10.0.0.0 > 10.1.2.3 dscp=26 ECT(0) id=0 ttl=62 | 50000 > 4791 | RcWriteOnly qp=0x11 psn=9 pkey=0xffff ack-request pad=3 address=0x700001000 key=0x7 length=8192 payload=5
    02:00:00:00:00:01 > 02:01:02:03:01:04 | 10.0.0.0 > 10.1.2.3 dscp=48 Not-ECT id=0 ttl=62 | 50000 > 4791 | RcAcknowledge qp=0x10 psn=9 pkey=0xffff ack-request NAK sequence error msn=3
    02:00:00:00:00:01 > 02:01:02:03:01:04 | 10.0.0.0 > 10.1.2.3 dscp=58 ECT(0) id=0 ttl=62 | 50000 > 4791 | RcFetchAdd qp=0x11 psn=9 pkey=0xffff ack-request address=0x700000000 key=0x7 swap-or-add=0x1 compare=0x0
    02:00:00:00:00:01 > 02:01:02:03:01:04 | 10.0.0.0 > 10.1.2.3 dscp=48 Not-ECT id=0 ttl=62 | 50000 > 4791 | Cnp qp=0x11 psn=9 pkey=0xffff becn ack-request congestion
    ");
}

#[test]
fn marks_are_in_the_header_and_echoes_in_the_transport() {
    let look = |opcode, marked| {
        let transport = CapturedTransport {
            marked,
            ..transport(opcode)
        };
        with_frame(transport, 3, |frame| {
            let Network::Ipv4(header) = frame.datagram.network else {
                panic!("not IPv4");
            };
            (header.traffic_class.ecn, frame.datagram.packet.bth().becn)
        })
    };
    assert_eq!(look(Opcode::RcWriteMiddle, false), (Ecn::Capable0, false));
    assert_eq!(look(Opcode::RcWriteMiddle, true), (Ecn::Marked, false));
    assert_eq!(look(Opcode::RcReadResponseLast, true), (Ecn::Marked, false));
    assert_eq!(look(Opcode::RcAcknowledge, true), (Ecn::NotCapable, true));
    assert_eq!(look(Opcode::RcAcknowledge, false), (Ecn::NotCapable, false));
    assert_eq!(
        look(Opcode::RcAtomicAcknowledge, true),
        (Ecn::NotCapable, true)
    );
    assert_eq!(look(Opcode::Cnp, false), (Ecn::NotCapable, true));
}

#[test]
fn queue_pairs_have_24_bits_and_are_never_reserved() {
    let destination = |message, from_responder| {
        let transport = CapturedTransport {
            flow: FlowId::new(message),
            from_responder,
            ..transport(Opcode::RcWriteMiddle)
        };
        with_frame(transport, 3, |frame| {
            frame.datagram.packet.bth().destination.get()
        })
    };
    assert_eq!([destination(0, true), destination(0, false)], [2, 3]);
    assert_eq!([destination(1, true), destination(1, false)], [4, 5]);
    let last = (1 << 23) - 3;
    assert_eq!(
        [destination(last, true), destination(last, false)],
        [0xff_fffc, 0xff_fffd]
    );
    assert_eq!(destination(last + 1, true), 2);
    assert!((2..0xff_ffff).contains(&destination(u32::MAX, false)));
}

#[test]
fn lengths_that_have_no_room_are_as_large_as_there_is() {
    let length = |length| {
        let transport = CapturedTransport {
            access: Some(CapturedAccess {
                offset: Bytes::ZERO,
                length: Bytes::new(length),
            }),
            ..transport(Opcode::RcReadRequest)
        };
        let reth = |frame: &Frame<'_>| frame.datagram.packet.headers.extension.reth();
        with_frame(transport, 3, reth).unwrap().length
    };
    assert_eq!(length(0xffff_ffff), 0xffff_ffff);
    assert_eq!(length(1 << 40), 0xffff_ffff);
}

#[test]
fn pause_frames_name_one_class() {
    let pause = bytes(&row(CapturedPacket::Pause, 3));
    assert_eq!(pause.len(), 60);
    // Destination, source; EtherType, opcode, class vector, quanta of classes 0 to 7.
    let head = [0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1];
    let rest = [0x88, 0x08, 1, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0];
    assert_eq!(pause[..28], [&head[..], &rest[..]].concat());
    assert!(pause[28..].iter().all(|byte| *byte == 0));
    let resume = bytes(&row(CapturedPacket::Resume, 3));
    assert_eq!(resume[..18], pause[..18]);
    assert!(resume[18..].iter().all(|byte| *byte == 0));
}

/// Blocks as (type, body), by the length in front; that at the end must be the same.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = word(&file[4..8]) as usize;
        assert!(length.is_multiple_of(4));
        assert_eq!(word(&file[length - 4..length]) as usize, length);
        blocks.push((word(&file[..4]), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    blocks
}

fn export(rows: &[CaptureRow]) -> Vec<u8> {
    let mut file = Vec::new();
    let ports = ports();
    let mut exporter = Exporter::begin(&mut file, &ports, &[true, true]).unwrap();
    rows.iter().for_each(|row| exporter.packet(row).unwrap());
    file
}

#[test]
fn a_file_has_a_section_interfaces_and_packets() {
    let mut inbound = row(CapturedPacket::Resume, 1);
    (inbound.record.port, inbound.record.outbound) = (PortId::new(1), false);
    let blocks = blocks(&export(&[row(CapturedPacket::Pause, 1), inbound]));
    let kinds: Vec<_> = blocks.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6, 6]);
    let text = |at: usize| String::from_utf8_lossy(&blocks[at].1).into_owned();
    assert!(text(1).contains("host0-port1"));
    assert!(text(1).contains("host 0 port 1, linked to switch 66051 port 260 at 100Gbps"));
    assert!(text(2).contains("switch66051-port260"));
    let words = |at: usize| -> Vec<u32> {
        let words = blocks[at].1.chunks(4);
        words
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    };
    // Interface, time in nanoseconds, length twice; at the end the direction.
    assert_eq!(words(3)[..5], [0, 0, 5_000_001, 60, 60]);
    assert_eq!(words(3)[20..], [4 << 16 | 2, 2, 0]);
    assert_eq!(words(4)[0], 1);
    assert_eq!(words(4)[20..], [4 << 16 | 2, 1, 0]);
    // Both ends see the same bytes: the switch hears what the host has sent.
    assert_eq!(blocks[3].1[20..38], blocks[4].1[20..38]);
}

#[test]
fn a_port_that_was_not_captured_is_refused() {
    let ports = ports();
    let mut exporter = Exporter::begin(Vec::new(), &ports, &[false, true]).unwrap();
    assert!(exporter.packet(&row(CapturedPacket::Pause, 1)).is_err());
}

/// Anything that a captured packet may be.
pub(crate) fn any_transport() -> impl Strategy<Value = CapturedTransport> {
    let opcode = prop::sample::select(Opcode::ALL);
    let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u8>());
    let flags = any::<[bool; 4]>();
    let access = prop::option::of((any::<u64>(), any::<u64>()));
    let aeth = prop::option::of(0..1u32 << 24);
    (opcode, numbers, flags, access, aeth).prop_map(|(opcode, numbers, flags, access, msn)| {
        let (message, psn, payload, switches) = numbers;
        let [from_responder, marked, ack_request, selective] = flags;
        CapturedTransport {
            flow: FlowId::new(message),
            opcode,
            from_responder,
            psn: Psn::new(psn & 0xff_ffff),
            payload: if opcode.has_payload() {
                payload % 9217
            } else {
                0
            },
            switches,
            marked,
            ack_request,
            selective,
            access: access.map(|(offset, length)| CapturedAccess {
                offset: Bytes::new(offset),
                length: Bytes::new(length),
            }),
            aeth: msn.map(|msn| Aeth {
                syndrome: Syndrome::ACK,
                msn,
            }),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_captured_has_a_form(
        transports in prop::collection::vec(any_transport(), 0..8),
        time in any::<u64>(),
        class in 0u8..8,
    ) {
        let rows: Vec<_> = transports
            .into_iter()
            .map(|transport| {
                let mut row = row(CapturedPacket::Transport(transport), class);
                row.record.time = Time::from_ps(time);
                row
            })
            .collect();
        let blocks = blocks(&export(&rows));
        prop_assert_eq!(blocks.len(), 3 + rows.len());
        for ((kind, body), row) in blocks[3..].iter().zip(&rows) {
            let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
            prop_assert_eq!(*kind, 6);
            let nanoseconds = u64::from(word(4)) << 32 | u64::from(word(8));
            prop_assert_eq!(nanoseconds, time / 1000);
            let frame = Frame::parse(&body[20..20 + word(12) as usize]);
            let frame = frame.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let transport = row.record.packet.transport().unwrap();
            prop_assert_eq!(frame.datagram.packet.payload.len(), usize::from(transport.payload));
        }
    }
}
