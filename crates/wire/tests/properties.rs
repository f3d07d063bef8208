//! What holds of any packet and of any bytes.

mod common;

use common::{Whole, whole};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Datagram, Deth, Ethernet, Field, Frame, Headers, Icrc,
    IcrcDigest, Ieth, ImmDt, Ipv4, Ipv6, Network, Opcode, Packet, Reason, Reth, Udp,
};
use proptest::prelude::*;

/// Miri is some thousand times slower, and has no files to remember failures in.
fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 3 } else { count },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A header is read as it was written, what follows it is left alone, and every shorter buffer or
/// piece is refused.
macro_rules! reads_what_it_writes {
    ($($name:ident: $type:ident from $strategy:path, length $length:expr;)*) => {
        proptest! {
            #![proptest_config(cases(256))]
            $(
                #[test]
                fn $name(header in $strategy()) {
                    let length: usize = $length(&header);
                    let mut buffer = vec![0xa5; length + 3];
                    let room = header.emit(&mut buffer).map(|rest| rest.len());
                    prop_assert_eq!(room, Ok(3));
                    prop_assert_eq!(&buffer[length..], &[0xa5; 3]);
                    prop_assert_eq!($type::parse(&buffer), Ok((header, &[0xa5; 3][..])));
                    for short in 0..length {
                        let read = $type::parse(&buffer[..short]).map(|_| ());
                        prop_assert_eq!(read.expect_err("it is cut off").reason, Reason::Truncated);
                        let mut buffer = vec![0; short];
                        let written = header.emit(&mut buffer).map(|_| ());
                        prop_assert_eq!(written.expect_err("no room").reason, Reason::NoRoom);
                    }
                    prop_assert!(!header.to_string().is_empty());
                }
            )*
        }
    };
}

reads_what_it_writes! {
    bth: Bth from common::bth, length |_| Bth::LENGTH;
    reth: Reth from common::reth, length |_| Reth::LENGTH;
    aeth: Aeth from common::aeth, length |_| Aeth::LENGTH;
    atomic_eth: AtomicEth from common::atomic_eth, length |_| AtomicEth::LENGTH;
    atomic_ack_eth: AtomicAckEth from common::atomic_ack_eth, length |_| AtomicAckEth::LENGTH;
    immdt: ImmDt from common::immdt, length |_| ImmDt::LENGTH;
    ieth: Ieth from common::ieth, length |_| Ieth::LENGTH;
    deth: Deth from common::deth, length |_| Deth::LENGTH;
    headers: Headers from common::headers, length Headers::length;
    ethernet: Ethernet from common::ethernet, length Ethernet::length;
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn ipv4(header in common::ipv4(), payload in 0_usize..64) {
        let mut buffer = vec![0xa5; Ipv4::LENGTH + payload + 3];
        prop_assert!(header.emit(payload, &mut buffer).is_ok());
        let carried = &buffer[Ipv4::LENGTH..][..payload];
        prop_assert_eq!(Ipv4::parse(&buffer), Ok((header, carried)));
        for short in 0..Ipv4::LENGTH + payload {
            let error = Ipv4::parse(&buffer[..short]).expect_err("it is cut off");
            prop_assert_eq!(error.reason, Reason::Truncated);
        }
    }

    #[test]
    fn ipv6(header in common::ipv6(), payload in 0_usize..64) {
        let mut buffer = vec![0xa5; Ipv6::LENGTH + payload + 3];
        prop_assert!(header.emit(payload, &mut buffer).is_ok());
        let carried = &buffer[Ipv6::LENGTH..][..payload];
        prop_assert_eq!(Ipv6::parse(&buffer), Ok((header, carried)));
        for short in 0..Ipv6::LENGTH + payload {
            let error = Ipv6::parse(&buffer[..short]).expect_err("it is cut off");
            prop_assert_eq!(error.reason, Reason::Truncated);
        }
    }

    #[test]
    fn udp(header in common::udp(), payload in 0_usize..64) {
        let mut buffer = vec![0xa5; Udp::LENGTH + payload];
        prop_assert!(header.emit(payload, &mut buffer).is_ok());
        let carried = &buffer[Udp::LENGTH..];
        prop_assert_eq!(Udp::parse(&buffer), Ok((header, carried)));
        for short in 0..Udp::LENGTH + payload {
            prop_assert!(Udp::parse(&buffer[..short]).is_err());
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written(whole in whole(), fill in 0_usize..40) {
        let mut bytes = whole.bytes();
        let length = bytes.len();
        // Network cards fill short frames up; what is there is ignored.
        bytes.resize(length + fill, 0xa5);
        let frame = Frame::parse(&bytes);
        prop_assert_eq!(frame.as_ref(), Ok(&whole.frame()));
        prop_assert_eq!(whole.frame().length(), length);
        let mut again = vec![0; length];
        prop_assert_eq!(frame.and_then(|frame| frame.emit(&mut again)), Ok(length));
        prop_assert_eq!(&again, &bytes[..length]);
        prop_assert!(!whole.frame().to_string().is_empty());
    }

    #[test]
    fn what_a_socket_sends_is_the_rest_of_the_frame(whole in whole()) {
        let (bytes, frame) = (whole.bytes(), whole.frame());
        let length = frame.datagram.packet.length();
        let payload = &bytes[bytes.len() - length..];
        let mut buffer = vec![0xff; length];
        prop_assert_eq!(frame.datagram.emit_payload(&mut buffer), Ok(length));
        prop_assert_eq!(&buffer, payload);
        let (packet, icrc) = Packet::parse(payload).expect("it is a packet");
        prop_assert_eq!(packet, frame.datagram.packet);
        prop_assert_eq!(frame.datagram.icrc(), Ok(icrc));
        for short in 0..length {
            let error = frame.datagram.emit_payload(&mut buffer[..short]);
            prop_assert_eq!(error.expect_err("no room").reason, Reason::NoRoom);
        }
    }

    #[test]
    fn frames_that_are_cut_off_are_refused(whole in whole()) {
        let (bytes, frame) = (whole.bytes(), whole.frame());
        let mut buffer = vec![0; bytes.len()];
        for short in 0..bytes.len() {
            let error = Frame::parse(&bytes[..short]).expect_err("it is cut off");
            prop_assert_eq!(error.reason, Reason::Truncated, "{}", error);
            let error = frame.emit(&mut buffer[..short]).expect_err("no room");
            prop_assert_eq!(error.reason, Reason::NoRoom, "{}", error);
        }
    }

    #[test]
    fn what_packets_are_read_from_is_what_they_are_written_as(
        opcode in common::opcode(),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        if let Some(code) = bytes.first_mut() {
            *code = opcode.code();
        }
        clear_reserved(opcode, &mut bytes);
        if let Ok((packet, icrc)) = Packet::parse(&bytes) {
            let mut again = vec![0; packet.length()];
            let room = packet.emit(&mut again).map(|rest| rest.len());
            prop_assert_eq!(room, Ok(Icrc::LENGTH));
            let end = again.len() - Icrc::LENGTH;
            again[end..].copy_from_slice(&icrc.bytes());
            // Pad bytes are zero when written, and ignored when read.
            let pad = end - usize::from(packet.bth().pad_count)..end;
            if opcode.has_payload() {
                bytes[pad].fill(0);
            }
            prop_assert_eq!(again, bytes);
        }
    }
}

/// Clears what a packet may hold that isn't written.
fn clear_reserved(opcode: Opcode, bytes: &mut [u8]) {
    let mut clear = |at: usize, mask: u8| {
        if let Some(byte) = bytes.get_mut(at) {
            *byte &= mask;
        }
    };
    clear(1, 0xf0);
    clear(4, 0xc1);
    clear(8, 0x80);
    if opcode.has_deth() {
        clear(16, 0);
    }
    if opcode == Opcode::Cnp {
        (12..28).for_each(|at| clear(at, 0));
    }
}

proptest! {
    #![proptest_config(cases(4096))]

    #[test]
    fn no_bytes_make_anything_panic(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        let _ = Frame::parse(&bytes);
        let _ = Datagram::parse(&bytes);
        let _ = Network::parse(&bytes);
        let _ = Udp::parse(&bytes);
        let _ = Packet::parse(&bytes);
        let _ = Icrc::verify(&bytes);
        for length in 0..bytes.len() + 5 {
            let _ = Icrc::append(&mut bytes.clone(), length);
        }
    }

    #[test]
    fn no_change_of_a_frame_makes_anything_panic(
        whole in whole(),
        changes in proptest::collection::vec(any::<(prop::sample::Index, u8)>(), 1..8),
    ) {
        let mut bytes = whole.bytes();
        for (index, value) in changes {
            *index.get_mut(&mut bytes) = value;
        }
        if let Ok(frame) = Frame::parse(&bytes) {
            let mut again = vec![0; bytes.len()];
            let length = frame.emit(&mut again).expect("what is read can be written");
            prop_assert_eq!(Frame::parse(&again[..length]), Ok(frame));
        }
        let behind = whole.frame().ethernet.length();
        let _ = Packet::parse(&bytes[behind..]);
        let _ = Icrc::verify(&bytes[behind..]);
    }
}

/// Whether routers may change a bit of a datagram, which the ICRC therefore doesn't cover.
fn may_change(network: &Network, byte: usize, bit: u32) -> bool {
    let in_network = match network {
        Network::Ipv4(_) => matches!(byte, 1 | 8 | 10 | 11),
        Network::Ipv6(_) => byte == 0 && bit < 4 || matches!(byte, 1..=3 | 7),
    };
    let in_udp = matches!(byte.wrapping_sub(network.length()), 6 | 7);
    let in_bth = byte == network.length() + Udp::LENGTH + 4;
    in_network || in_udp || in_bth
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_icrc_covers_every_bit_that_must_not_change(whole in whole()) {
        let frame = whole.frame();
        let mut bytes = whole.bytes().split_off(frame.ethernet.length());
        for byte in 0..bytes.len() {
            for bit in 0..8 {
                bytes[byte] ^= 1 << bit;
                let verified = Icrc::verify(&bytes).is_ok();
                let expected = may_change(&frame.datagram.network, byte, bit);
                prop_assert_eq!(verified, expected, "byte {} bit {}", byte, bit);
                let read = Datagram::parse(&bytes);
                prop_assert!(expected || read.is_err(), "byte {} bit {}", byte, bit);
                bytes[byte] ^= 1 << bit;
            }
        }
        prop_assert_eq!(Icrc::verify(&bytes), Ok(()));
    }

    #[test]
    fn payload_that_was_changed_is_refused(whole in whole(), at in any::<prop::sample::Index>()) {
        let mut bytes = whole.bytes();
        let length = whole.frame().datagram.packet.length();
        let behind = bytes.len() - length + whole.frame().datagram.packet.headers.length();
        *at.get_mut(&mut bytes[behind..]) ^= 0x10;
        let error = Frame::parse(&bytes).expect_err("the ICRC is wrong");
        prop_assert_eq!((error.field, error.reason), (Field::Icrc, Reason::Corrupt));
    }

    #[test]
    fn an_icrc_is_the_same_from_pieces(whole in whole(), cuts in any::<[prop::sample::Index; 2]>()) {
        let bytes = whole.bytes().split_off(whole.frame().ethernet.length());
        let (packet, icrc) = bytes.split_at(bytes.len() - Icrc::LENGTH);
        let headers = whole.frame().datagram.network.length() + Udp::LENGTH + Bth::LENGTH;
        let (first, mut rest) = packet.split_at(headers);
        let mut digest = IcrcDigest::new(first).expect("headers");
        for cut in cuts {
            let (piece, behind) = rest.split_at(cut.index(rest.len() + 1));
            digest.update(piece);
            rest = behind;
        }
        digest.update(rest);
        prop_assert_eq!(&digest.finish().bytes(), icrc);
    }
}

/// A frame that was changed, with ICRC and IPv4 checksum made good again.
fn repaired(whole: &Whole, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = whole.bytes();
    let behind = whole.frame().ethernet.length();
    let datagram = &mut bytes[behind..];
    change(datagram);
    let end = datagram.len() - Icrc::LENGTH;
    if let Ok(icrc) = Icrc::compute(&datagram[..end]) {
        datagram[end..].copy_from_slice(&icrc.bytes());
    }
    bytes
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn another_port_is_refused(whole in whole(), port in any::<u16>()) {
        prop_assume!(port != Udp::ROCE_PORT);
        let at = whole.frame().datagram.network.length() + 2;
        let bytes = repaired(&whole, |datagram| {
            datagram[at..at + 2].copy_from_slice(&port.to_be_bytes());
        });
        let error = Frame::parse(&bytes).expect_err("another port");
        prop_assert_eq!((error.field, error.found), (Field::UdpPort, u32::from(port)));
    }

    #[test]
    fn an_ethertype_that_contradicts_the_packet_is_refused(whole in whole()) {
        let mut frame = whole.frame();
        frame.ethernet.ethertype = match frame.datagram.network {
            Network::Ipv4(_) => fairlane_wire::EtherType::Ipv6,
            Network::Ipv6(_) => fairlane_wire::EtherType::Ipv4,
        };
        let mut buffer = whole.bytes();
        let error = frame.emit(&mut buffer).expect_err("it contradicts");
        prop_assert_eq!((error.field, error.reason), (Field::EtherType, Reason::Inconsistent));
        prop_assert!(frame.ethernet.emit(&mut buffer).is_ok());
        let error = Frame::parse(&buffer).expect_err("it contradicts");
        prop_assert_eq!((error.field, error.reason), (Field::EtherType, Reason::Inconsistent));
    }
}

#[test]
fn errors_say_place_expectation_and_what_was_found() {
    let said = |bytes: &[u8]| {
        Packet::parse(bytes)
            .expect_err("it isn't a packet")
            .to_string()
    };
    assert_eq!(said(&[0; 3]), "BTH: ends after 3 bytes, expected 12 bytes");
    assert_eq!(
        said(&[0x15; 20]),
        "BTH opcode: 0x15 isn't supported, expected an opcode of RC, UC, UD or CNP"
    );
    assert_eq!(
        said(&[0; 14]),
        "ICRC: ends after 2 bytes, expected 4 bytes, the CRC of A17"
    );
    for field in Field::ALL {
        assert!(!field.name().is_empty() && !field.expected().is_empty());
    }
}
