//! Bytes from the network: what is accepted is written and read again.
#![no_main]

use fairlane_wire::{Feth, Frame, Hello, Hop, Icrc, Network, Packet, Traffic, Udp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    frame(input);
    packet(input);
    hello(input);
    // A random ICRC is never right, so that only a corrected one leads on.
    let mut bytes = input.to_vec();
    if correct(&mut bytes).is_some() {
        frame(&bytes);
    }
});

fn frame(bytes: &[u8]) {
    let Ok(frame) = Frame::parse(bytes) else {
        return;
    };
    let mut again = vec![0; frame.length()];
    assert_eq!(frame.emit(&mut again), Ok(again.len()));
    // Reserved bits and pad bytes aren't kept, so the bytes may differ.
    assert_eq!(Frame::parse(&again), Ok(frame));
    for short in 0..again.len() {
        assert!(Frame::parse(&again[..short]).is_err());
    }
}

fn hello(bytes: &[u8]) {
    let Ok(hello) = Hello::parse(bytes) else {
        return;
    };
    let mut again = [0; Hello::LENGTH];
    assert!(hello.emit(&mut again).is_ok());
    assert_eq!(Hello::parse(&again), Ok(hello));
}

fn packet(bytes: &[u8]) {
    let Ok((packet, _)) = Packet::parse(bytes) else {
        return;
    };
    assert_eq!(packet.length(), bytes.len());
    let mut again = vec![0; packet.length()];
    let room = packet.emit(&mut again).expect("what is read can be written");
    assert_eq!(room.len(), Icrc::LENGTH);
    assert_eq!(Packet::parse(&again).map(|(packet, _)| packet), Ok(packet));
    stamped(&packet, &mut again);
}

/// A switch adds its record to packets that collect telemetry, and the receiver echoes all of them.
fn stamped(packet: &Packet, bytes: &mut [u8]) {
    let hop = Hop {
        port: 0xa5a5,
        ..Hop::default()
    };
    let collects = Packet::stamp(bytes, &hop).expect("a whole packet");
    let (after, _) = Packet::parse(bytes).expect("it still is a packet");
    assert_eq!((after.headers, after.payload), (packet.headers, packet.payload));
    let (Traffic::Data(before), Traffic::Data(after)) = (packet.traffic, after.traffic) else {
        return assert!(!collects && after == *packet);
    };
    let passed = before.telemetry.map(|all| all.passed().saturating_add(1));
    assert_eq!(after.telemetry.map(|all| all.passed()), passed);
    assert_eq!(collects, passed.is_some());
    let echo = Feth::echo(&after, 7);
    let mut again = vec![0; echo.length()];
    assert!(echo.emit(&mut again).is_ok_and(|rest| rest.is_empty()));
    assert_eq!(Feth::parse(&again), Ok((echo, &[][..])));
}

/// Corrects the ICRC of a frame whose headers are right.
fn correct(bytes: &mut [u8]) -> Option<()> {
    let behind = match bytes.get(12..14)? {
        [0x81, 0x00] => 18,
        _ => 14,
    };
    let datagram = bytes.get_mut(behind..)?;
    let (network, rest) = Network::parse(datagram).ok()?;
    Udp::parse(rest).ok()?;
    let covered = (network.length() + rest.len()).checked_sub(Icrc::LENGTH)?;
    Icrc::append(datagram, covered).ok()?;
    Some(())
}
