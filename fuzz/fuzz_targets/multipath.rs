//! What a connection with several paths reads: a file of ports, and what SENDs begin with.
#![no_main]

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use fairlane_multipath::{Connection, Frame, Opening, PathPlan, PortFile, Reassembler, Segment, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        ports(text);
    }
    frames(input);
});

fn ports(text: &str) {
    let host = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    match PortFile::parse(text, "ports") {
        Ok(file) => {
            let plan = PathPlan::File(file);
            if let Ok(paths) = plan.resolve(host(1), host(2), None) {
                assert!((1..=32).contains(&paths.len()), "{paths:?}");
            }
        }
        Err(error) => {
            assert!(!error.place.is_empty() && !error.message.is_empty() && !error.hint.is_empty());
        }
    }
}

/// Frames one after the other, each with up to 255 bytes of data, as both ends of a connection hear them.
fn frames(mut input: &[u8]) {
    let settings = Arc::new(Settings { messages: 16, holes: 8, ..Settings::default() });
    let opening = Opening { paths: 2, ..Opening::default() };
    let mut connection = Connection::new(settings.clone(), &opening).expect("right settings");
    let mut receiver = Reassembler::new(settings);
    for number in 0..4 {
        let memory = Segment { address: 4096, length: 64 << number, key: 1 };
        assert!(receiver.post_receive(memory, number).is_some());
    }
    while let Some((&length, rest)) = input.split_first() {
        let end = rest.len().min(Frame::LENGTH + usize::from(length));
        let (bytes, rest) = rest.split_at(end);
        input = rest;
        let Ok((frame, data)) = Frame::parse(bytes) else { continue };
        let again = [&frame.encode()[..], data].concat();
        assert_eq!(Frame::parse(&again), Ok((frame, data)));
        match frame {
            Frame::Grant(grant) => {
                connection.on_grant(&grant);
            }
            Frame::Transfer(transfer) => {
                let _ = receiver.on_transfer(&transfer, data.len() as u64);
            }
        }
        while let Some(arrived) = receiver.poll_arrived() {
            assert!(arrived.size.get() <= 64 << arrived.receive);
        }
    }
    assert!(connection.footprint() + receiver.footprint() < 16 << 10);
}
