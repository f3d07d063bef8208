//! Networks that lose, repeat, hold back, alter and mark packets: everything still arrives, once and whole.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::time::Instant;

use common::{End, Way, connected, end_with, target, whole};
use fairlane_softnic::{Faults, IcrcMode, Operation, PacketFaults, SendRequest, Sending, Status};
use fairlane_units::Duration;

fn ends() -> (End, End) {
    // Only as many bits as devices like this one need to make an altered packet pass by chance.
    let strict = |settings: &mut fairlane_softnic::Settings| settings.icrc = IcrcMode::Strict;
    (end_with(strict), end_with(strict))
}

fn way(selective: u32) -> Way {
    Way {
        selective,
        mtu: Some(1024),
        sending: Sending {
            timeout: Some(Duration::from_ms(5)),
            retries: 100,
            ..Sending::default()
        },
    }
}

/// Writes, sends, reads and adds under faults at both ends, and looks at every byte.
fn survives(seed: u64, packets: PacketFaults, selective: u32) -> [fairlane_softnic::Counters; 2] {
    let (a, b) = ends();
    let (pair, other) = connected(&a, &b, way(selective));
    let faults = Faults::of_packets(seed, packets);
    a.device.set_faults(Some(faults.clone()));
    b.device.set_faults(Some(faults));
    let word = b.memory(8);
    for (round, size) in (0..).zip([1, 1024, 9000, 300_000, 100_001, 3000]) {
        let (from, to, back) = (a.memory(size), b.memory(size), a.memory(size));
        let (received, result) = (b.memory(size), a.memory(8));
        let bytes = a.fill(&from, seed ^ round);
        b.receive(other, 9, &received);
        let requests = [
            SendRequest::write(0, vec![whole(&from)], target(&to)),
            SendRequest::send(1, vec![whole(&from)]),
            SendRequest::read(2, vec![whole(&back)], target(&to)),
            SendRequest::new(
                3,
                Operation::FetchAdd(target(&word), 1),
                vec![whole(&result)],
            ),
        ];
        for request in &requests {
            a.post(pair, request);
        }
        for id in 0..4 {
            let completion = a.wait();
            assert_eq!((completion.id, completion.status), (id, Status::Success));
        }
        assert_eq!(b.wait().status, Status::Success);
        assert!(
            b.bytes(&to) == bytes && b.bytes(&received) == bytes,
            "round {round}"
        );
        assert!(a.bytes(&back) == bytes, "round {round}");
        assert_eq!(a.bytes(&result), round.to_ne_bytes());
    }
    assert_eq!(b.bytes(&word), 6_u64.to_ne_bytes());
    [a.device.counters(), b.device.counters()]
}

#[test]
fn loss_of_one_percent_costs_nothing_but_time() {
    let mut repeated = 0;
    for seed in 0..8 {
        let packets = PacketFaults {
            loss: 0.01,
            ..PacketFaults::default()
        };
        for selective in [0, 256] {
            let counters = survives(seed, packets, selective);
            repeated += counters[0].completer_retry_err;
        }
    }
    assert!(repeated > 100, "{repeated}");
}

#[test]
fn duplicates_and_reordering_cost_nothing_but_time() {
    let mut twice = 0;
    for seed in 0..8 {
        let packets = PacketFaults {
            duplicate: 0.02,
            reorder: 0.02,
            delay: Duration::from_us(50),
            ..PacketFaults::default()
        };
        for selective in [0, 256] {
            let counters = survives(seed, packets, selective);
            twice += counters[1].duplicate_request;
        }
    }
    assert!(twice > 100, "{twice}");
}

#[test]
fn altered_packets_are_dropped() {
    let mut altered = 0;
    for seed in 0..8 {
        let packets = PacketFaults {
            corrupt: 0.01,
            ..PacketFaults::default()
        };
        altered += survives(seed, packets, 0)[1].rx_icrc_encapsulated;
    }
    assert!(altered > 50, "{altered}");
}

#[test]
fn everything_at_once_is_survived() {
    for seed in 0..8 {
        let packets = PacketFaults {
            loss: 0.02,
            duplicate: 0.02,
            reorder: 0.02,
            delay: Duration::from_us(30),
            corrupt: 0.01,
            mark: 0.1,
        };
        survives(seed, packets, if seed % 2 == 0 { 0 } else { 128 });
    }
}

#[test]
fn marks_lead_to_notifications_which_slow_the_sender_down() {
    let (a, b) = ends();
    let (pair, _) = connected(&a, &b, way(0));
    let (from, to) = (a.memory(4 << 20), b.memory(4 << 20));
    let packets = PacketFaults {
        mark: 0.5,
        ..PacketFaults::default()
    };
    b.device.set_faults(Some(Faults::of_packets(0, packets)));
    let rate = a.device.rate(pair).unwrap();
    a.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(a.wait().status, Status::Success);
    assert!(b.device.counters().np_ecn_marked_roce_packets > 100);
    assert!(b.device.counters().np_cnp_sent > 0);
    // The last one may still be under way when the last acknowledgement has come.
    let deadline = Instant::now() + std::time::Duration::from_secs(10);
    while a.device.counters().rp_cnp_handled != b.device.counters().np_cnp_sent {
        assert!(Instant::now() < deadline, "{:?}", a.device.counters());
        std::thread::yield_now();
    }
    assert!(a.device.rate(pair).unwrap() < rate);
}
