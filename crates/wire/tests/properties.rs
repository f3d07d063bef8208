//! What holds of any packet and of any bytes.

mod common;

use common::{Whole, whole};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Datagram, Deth, Ethernet, Feth, Field, Frame, Headers, Hop,
    Icrc, IcrcDigest, Ieth, ImmDt, Ipv4, Ipv6, Network, Opcode, Packet, Reason, Reth, Telemetry,
    Teth, TimeStamp, Traffic, TrafficKind, Udp,
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
    hop: Hop from common::hop, length |_| Hop::LENGTH;
    time_stamp: TimeStamp from common::time_stamp, length |_| TimeStamp::LENGTH;
    headers: Headers from common::headers, length Headers::length;
    ethernet: Ethernet from common::ethernet, length Ethernet::length;
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn traffic(whole in common::any_traffic()) {
        let header = whole.header();
        let length = header.length();
        prop_assert!(length <= Traffic::MAX_LENGTH);
        let mut buffer = vec![0xa5; length + 3];
        let room = header.emit(&mut buffer).map(|rest| rest.len());
        prop_assert_eq!(room, Ok(3));
        let read = Traffic::parse(header.kind(), &buffer);
        prop_assert_eq!(read, Ok((header, &[0xa5; 3][..])));
        for short in 0..length {
            let read = Traffic::parse(header.kind(), &buffer[..short]).map(|_| ());
            prop_assert_eq!(read.expect_err("it is cut off").reason, Reason::Truncated);
            let written = header.emit(&mut vec![0; short]).map(|_| ());
            prop_assert_eq!(written.expect_err("no room").reason, Reason::NoRoom);
        }
        prop_assert_eq!(header.to_string().is_empty(), length == 0);
    }

    #[test]
    fn an_echo_has_all_records_that_arrived(whole in common::any_traffic(), ttl in any::<u8>()) {
        let Traffic::Data(data) = whole.header() else {
            return Ok(());
        };
        let echo = Feth::echo(&data, ttl);
        let mut buffer = vec![0xff; echo.length()];
        prop_assert_eq!(echo.emit(&mut buffer).map(|rest| rest.len()), Ok(0));
        let (read, _) = Feth::parse(&buffer).expect("it was written");
        prop_assert_eq!(read, echo);
        prop_assert!(echo.length() <= data.length());
        prop_assert_eq!((echo.time, echo.share), (data.time, None));
        prop_assert_eq!(u16::from(echo.switches), u16::from(data.ttl).saturating_sub(ttl.into()));
        let hops = |telemetry: Option<Telemetry<'_>>| {
            telemetry.map(|all| (all.passed(), all.is_complete(), all.hops().collect::<Vec<_>>()))
        };
        prop_assert_eq!(hops(echo.telemetry), hops(data.telemetry));
    }

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
        // NICs fill short frames up; what is there is ignored.
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
        traffic in any::<bool>(),
        mut bytes in proptest::collection::vec(any::<u8>(), 0..120),
    ) {
        let with_traffic = opcode.code_with_traffic().filter(|_| traffic);
        if let Some(code) = bytes.first_mut() {
            *code = with_traffic.unwrap_or_else(|| opcode.code());
        }
        clear_reserved(opcode, &mut bytes);
        if with_traffic.is_some() || opcode == Opcode::RcReadFeedback {
            let with_data = opcode.traffic() == TrafficKind::Data;
            clear_traffic(&mut bytes, opcode.header_length(), with_data);
        }
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

/// The same for a header of traffic management that begins at `at`; most room becomes little.
fn clear_traffic(bytes: &mut [u8], at: usize, with_data: bool) {
    let Some(header) = bytes.get_mut(at..).filter(|header| header.len() >= 4) else {
        return;
    };
    header[0] &= if with_data { 0xf0 } else { 0xe0 };
    if header[0] & 0x80 == 0 {
        header[2..4].fill(0);
    }
    let words = [0x40, 0x10].map(|bit| usize::from(header[0] & bit != 0));
    let behind = 4 + 4 * (words[0] + words[1]);
    if header[0] & 0x20 == 0 || header.len() < behind + 4 {
        return;
    }
    let telemetry = &mut header[behind..];
    telemetry[0] %= 4;
    telemetry[2..4].fill(0);
    let free = telemetry[0].saturating_sub(telemetry[1]);
    let end = 4 + usize::from(telemetry[0]) * Hop::LENGTH;
    if let Some(records) = telemetry.get_mut(..end) {
        records[end - usize::from(free) * Hop::LENGTH..].fill(0);
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
        let _ = Teth::parse(&bytes);
        let _ = Feth::parse(&bytes);
        let _ = Telemetry::parse(&bytes);
        let _ = Packet::stamp(&mut bytes.clone(), &Hop::default());
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
        let udp = behind + whole.frame().datagram.network.length() + Udp::LENGTH;
        let _ = Packet::stamp(&mut bytes.clone()[udp..], &Hop::default());
        let _ = Icrc::verify(&bytes[behind..]);
    }
}

/// Where switches may write telemetry, counted from the BTH: how many there were, and records.
fn telemetry(packet: &Packet<'_>) -> [std::ops::Range<usize>; 2] {
    let Traffic::Data(Teth {
        telemetry: Some(telemetry),
        ..
    }) = packet.traffic
    else {
        return [0..0, 0..0];
    };
    let end = packet.headers.length() + packet.traffic.length();
    let start = end - telemetry.length();
    [start + 1..start + 2, start + 4..end]
}

/// Whether routers may change a bit of a datagram, which the ICRC therefore doesn't cover.
fn may_change(
    Datagram {
        network, packet, ..
    }: &Datagram<'_>,
    byte: usize,
    bit: u32,
) -> bool {
    let in_network = match network {
        Network::Ipv4(_) => matches!(byte, 1 | 8 | 10 | 11),
        Network::Ipv6(_) => byte == 0 && bit < 4 || matches!(byte, 1..=3 | 7),
    };
    let in_udp = matches!(byte.wrapping_sub(network.length()), 6 | 7);
    let in_bth = byte == network.length() + Udp::LENGTH + 4;
    let in_packet = byte.wrapping_sub(network.length() + Udp::LENGTH);
    let stamped = telemetry(packet)
        .iter()
        .any(|place| place.contains(&in_packet));
    in_network || in_udp || in_bth || stamped
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_icrc_covers_every_bit_that_must_not_change(whole in whole()) {
        let frame = whole.frame();
        let mut bytes = whole.bytes().split_off(frame.ethernet.length());
        // Under Miri every bit of every packet takes minutes: it gets those of some bytes, and each place in a byte.
        let step = if cfg!(miri) { 61 } else { 1 };
        let bits = (0..bytes.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit)));
        for (byte, bit) in bits.step_by(step) {
            bytes[byte] ^= 1 << bit;
            let verified = Icrc::verify(&bytes).is_ok();
            let expected = may_change(&frame.datagram, byte, bit);
            prop_assert_eq!(verified, expected, "byte {} bit {}", byte, bit);
            let read = Datagram::parse(&bytes);
            prop_assert!(expected || read.is_err(), "byte {} bit {}", byte, bit);
            bytes[byte] ^= 1 << bit;
        }
        prop_assert_eq!(Icrc::verify(&bytes), Ok(()));
    }

    #[test]
    fn stamps_are_read_and_leave_the_icrc_right(whole in whole(), hops in prop::collection::vec(common::hop(), 1..12)) {
        let (mut bytes, frame) = (whole.bytes(), whole.frame());
        let before = bytes.clone();
        let start = bytes.len() - frame.datagram.packet.length();
        let places = telemetry(&frame.datagram.packet);
        let collects = !places[0].is_empty();
        for hop in &hops {
            prop_assert_eq!(Packet::stamp(&mut bytes[start..], hop), Ok(collects));
        }
        for (at, (before, after)) in before.iter().zip(&bytes).enumerate() {
            let stamped = places.iter().any(|place| place.contains(&at.wrapping_sub(start)));
            prop_assert!(stamped || before == after, "byte {}", at);
        }
        let after = Frame::parse(&bytes).expect("the ICRC is right");
        let (Traffic::Data(was), Traffic::Data(is)) =
            (frame.datagram.packet.traffic, after.datagram.packet.traffic)
        else {
            return Ok(());
        };
        if let (Some(was), Some(is)) = (was.telemetry, is.telemetry) {
            let all = was.hops().chain(hops.iter().copied()).take(was.room().into());
            prop_assert!(is.hops().eq(all));
            prop_assert_eq!(is.passed(), was.passed().saturating_add(hops.len() as u8));
            prop_assert_eq!(is.room(), was.room());
        }
    }

    #[test]
    fn payload_that_was_changed_is_refused(whole in whole(), at in any::<prop::sample::Index>()) {
        let mut bytes = whole.bytes();
        let length = whole.frame().datagram.packet.length();
        let packet = whole.frame().datagram.packet;
        let headers = packet.headers.length() + packet.traffic.length();
        let behind = bytes.len() - length + headers;
        *at.get_mut(&mut bytes[behind..]) ^= 0x10;
        let error = Frame::parse(&bytes).expect_err("the ICRC is wrong");
        prop_assert_eq!((error.field, error.reason), (Field::Icrc, Reason::Corrupt));
    }

    #[test]
    fn an_icrc_is_the_same_from_pieces(whole in whole(), cuts in any::<[prop::sample::Index; 2]>()) {
        let bytes = whole.bytes().split_off(whole.frame().ethernet.length());
        let (packet, icrc) = bytes.split_at(bytes.len() - Icrc::LENGTH);
        let below = whole.frame().datagram.network.length() + Udp::LENGTH;
        let transport = whole.frame().datagram.packet;
        let headers = below + match transport.traffic {
            Traffic::Data(teth) => transport.headers.length() + teth.length(),
            _ => Bth::LENGTH,
        };
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
