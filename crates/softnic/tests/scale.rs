//! Ten thousand queue pairs in a process, and many messages without growth.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;
#[path = "../examples/soak/round.rs"]
mod round;

use common::{Way, connected, end, target};
use fairlane_softnic::{SendRequest, Status};

/// Bytes of memory of this process that are resident, or have been at most.
fn memory(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(which)).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    words[1].parse::<u64>().unwrap() * 1024
}

#[test]
fn ten_thousand_queue_pairs_take_less_than_200_megabytes() {
    const PAIRS: usize = 5_000;
    let (a, b) = (end(), end());
    let pairs: Vec<_> = (0..PAIRS)
        .map(|_| connected(&a, &b, Way::default()))
        .collect();
    let to = b.memory(8 * PAIRS);
    for round in 0..3_u8 {
        for (id, (pair, other)) in (0..).zip(&pairs) {
            let mut place = target(&to);
            place.address += 8 * id;
            let mut write = SendRequest::write(id, Vec::new(), place);
            write.inline = Some(vec![round + 1; 8]);
            a.post(*pair, &write);
            b.receive(*other, id, &b.memory(0));
            if id % 1000 == 999 {
                (0..1000).for_each(|_| assert_eq!(a.wait().status, Status::Success));
            }
        }
        assert!(b.bytes(&to).iter().all(|&byte| byte == round + 1));
    }
    let most = memory("VmHWM");
    assert!(most < 200_000_000, "{most} bytes have been resident");
}

#[test]
fn rounds_of_everything_leave_nothing_behind() {
    let addresses = [common::address(), common::address()];
    let octets = addresses.map(|address| match address {
        std::net::IpAddr::V4(address) => address.octets(),
        std::net::IpAddr::V6(_) => unreachable!("tests are on the loopback interface"),
    });
    let soak = round::Soak::new(octets).unwrap();
    let before = soak.live();
    let rounds = |all: std::ops::Range<u64>| {
        all.for_each(|number| {
            soak.round(number).unwrap();
            assert_eq!(soak.live(), before, "round {number}");
        });
        round::resident()
    };
    let settled = rounds(0..100);
    let after = rounds(100..400);
    // What the allocator keeps differs from time to time.
    assert!(
        after <= settled + (4 << 20),
        "{settled} bytes, then {after}"
    );
}
