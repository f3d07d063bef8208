//! Whole frames with headers of traffic management, byte by byte as `docs/wire.md` has them. The ICRCs come
//! from zlib's CRC-32 over the bytes with ones where the page says so.

use std::net::Ipv4Addr;

use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{
    Aeth, Bth, Datagram, Ecn, Ethernet, Extension, Feth, Frame, Hop, Ipv4, MacAddress, Network,
    Opcode, Packet, Syndrome, Telemetry, Teth, TimeStamp, Traffic, TrafficClass, Udp,
};

/// Bytes from hexadecimal digits; white space is ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair));
    pairs
        .map(|pair| u8::from_str_radix(pair.expect("ASCII"), 16).expect("two digits"))
        .collect()
}

/// A frame from host to host, two hops on its way.
fn between([source, destination]: [u8; 2], dscp: u8, ecn: Ecn, packet: Packet<'_>) -> Frame<'_> {
    let mac = |host| MacAddress([2, 0, 0, 0, 0, host]);
    let address = |host| Ipv4Addr::new(10, 0, 0, host);
    let network = Ipv4 {
        traffic_class: TrafficClass { dscp, ecn },
        ttl: 62,
        ..Ipv4::new(address(source), address(destination))
    };
    Frame {
        ethernet: Ethernet::ipv4(mac(source), mac(destination)),
        datagram: Datagram {
            network: Network::Ipv4(network),
            udp: Udp::new(0xc000),
            packet,
        },
    }
}

#[track_caller]
fn assert_frame(frame: &[u8], expected: &Frame<'_>) {
    assert_eq!(Frame::parse(frame).as_ref(), Ok(expected));
    let mut buffer = vec![0xff; frame.len()];
    assert_eq!(expected.emit(&mut buffer), Ok(frame.len()));
    assert_eq!(buffer, frame);
}

const HOP: Hop = Hop {
    port: 0x102,
    time: TimeStamp::new(0x00aa_bbcc),
    sent: 0x01_0203_0405,
    rate: 100_000,
    queue: 0x1_0000,
};
const RECORD: &str = "00000102 00aabbcc 0102030405 0186a0 00010000";
const SENT_AT: TimeStamp = TimeStamp::new(0x0011_2233);

fn record() -> [u8; Hop::LENGTH] {
    let mut record = [0; Hop::LENGTH];
    HOP.emit(&mut record).expect("it fits");
    record
}

#[test]
fn data_collects_a_record_and_keeps_its_icrc() {
    let write = |passed, record| {
        bytes(&format!(
            "020000000002 020000000001 0800 456a0064000040003e11281d0a0000010a000002 c00012b700500000
             c700ffff0000001100000009 e0408000 00112233 02{passed}0000 {record}
             0000000000000000000000000000000000000000 deadbeef ee712519"
        ))
    };
    let bth = Bth::new(Opcode::RcWriteMiddle, QpNumber::new(0x11), Psn::new(9));
    let payload = [0xde, 0xad, 0xbe, 0xef];
    let teth = Teth {
        demand: Some(0x8000),
        ttl: 64,
        time: Some(SENT_AT),
        backlog: None,
        telemetry: Telemetry::collecting(2),
    };
    let packet = Packet::new(bth, Extension::None, &payload).with_traffic(Traffic::Data(teth));
    let mut frame = write("00", "0000000000000000000000000000000000000000");
    assert_frame(&frame, &between([1, 2], 26, Ecn::Capable0, packet));

    let udp_payload = &mut frame[42..];
    assert_eq!(Packet::stamp(udp_payload, &HOP), Ok(true));
    assert_eq!(frame, write("01", RECORD));
    let read = Frame::parse(&frame).expect("the ICRC is right");
    let Traffic::Data(teth) = read.datagram.packet.traffic else {
        panic!("{read}");
    };
    assert!(teth.telemetry.expect("it has").hops().eq([HOP]));
    assert_eq!(
        Teth {
            telemetry: None,
            ..teth
        }
        .switches(62),
        2
    );
}

#[test]
fn data_says_what_is_to_come() {
    let frame = bytes(
        "020000000002 020000000001 0800 456a0038000040003e1128490a0000010a000002 c00012b700240000
         c700ffff0000001100000009 90400800 00012345 deadbeef 5fdd0f98",
    );
    let bth = Bth::new(Opcode::RcWriteMiddle, QpNumber::new(0x11), Psn::new(9));
    let payload = [0xde, 0xad, 0xbe, 0xef];
    let teth = Teth {
        demand: Some(0x800),
        ttl: 64,
        backlog: Some(0x1_2345),
        ..Teth::NOTHING
    };
    let packet = Packet::new(bth, Extension::None, &payload).with_traffic(Traffic::Data(teth));
    assert_frame(&frame, &between([1, 2], 26, Ecn::Capable0, packet));
}

#[test]
fn an_acknowledgement_echoes_what_the_data_collected() {
    let frame = bytes(&format!(
        "020000000001 020000000002 0800 45c00050000040003e1127db0a0000020a000001 c00012b7003c0000
         d100ffff4000001000000009 1f000005 e0021fff 00112233 01010000 {RECORD} b1198ff9"
    ));
    let bth = Bth {
        becn: true,
        ..Bth::new(Opcode::RcAcknowledge, QpNumber::new(0x10), Psn::new(9))
    };
    let extension = Extension::Acknowledge(Aeth {
        syndrome: Syndrome::ACK,
        msn: 5,
    });
    let record = record();
    let feth = Feth {
        share: Some(0x1fff),
        switches: 2,
        time: Some(SENT_AT),
        telemetry: Telemetry::of(1, &record),
    };
    let packet = Packet::new(bth, extension, &[]).with_traffic(Traffic::Feedback(feth));
    assert_frame(&frame, &between([2, 1], 48, Ecn::NotCapable, packet));
}

#[test]
fn feedback_for_a_response_is_as_long_as_an_acknowledgement() {
    let frame = bytes(
        "020000000001 020000000002 0800 45c00030000040003e1127fb0a0000020a000001 c00012b7001c0000
         d500ffff4000001000000009 80000000 7731468e",
    );
    let psn = Psn::new(9);
    let bth = Feth::bth(QpNumber::new(0x10), Bth::DEFAULT_PARTITION, psn, true);
    let feth = Feth {
        share: Some(0),
        ..Feth::NOTHING
    };
    let packet = Packet::new(bth, Extension::None, &[]).with_traffic(Traffic::Feedback(feth));
    assert_frame(&frame, &between([2, 1], 48, Ecn::NotCapable, packet));
    // 62 bytes and an AETH, less the frame check sequence.
    assert_eq!(frame.len(), 66 - 4);
}
