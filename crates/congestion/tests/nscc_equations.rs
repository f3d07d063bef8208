//! Single steps of NSCC against the formulas of the Ultra Ethernet Specification, section 3.6.13.

use std::sync::Arc;

use fairlane_congestion::nscc::{Config, Nscc};
use fairlane_congestion::{Ack, CongestionControl, Environment, Loss};
use fairlane_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use crate::common::{timed, us};

/// The network that increases are given for, with packets of 1000 B: 150 kB, so at most 225 packets.
const REFERENCE: Environment = Environment {
    line_rate: Rate::from_gbps(100),
    base_rtt: Duration::from_us(12),
    bdp: Bytes::new(150_000),
    mtu: Bytes::new(1000),
};

/// A sender with a window of so many packets, all of them in flight.
struct Tested {
    state: Nscc,
    acknowledged: u64,
}

impl Tested {
    fn new(packets: u64, config: Config) -> Self {
        let mut state = Nscc::new(Arc::new(config), &REFERENCE);
        (packets..225).for_each(|_| state.on_loss(us(0), Loss::Nak));
        assert_eq!(state.packets(), packets as f64);
        Self {
            state,
            acknowledged: 0,
        }
    }

    /// At `at` microseconds so many bytes are acknowledged, after a delay in queues in microseconds.
    fn hear(&mut self, at: u64, bytes: u64, delay: u64, marked: bool) -> f64 {
        self.acknowledged += bytes;
        let next = self.acknowledged + 150_000;
        let ack = Ack {
            congestion_notified: marked,
            ..timed(self.acknowledged, next, (12 + delay) * 1000)
        };
        assert!(!self.state.on_ack(us(at), &ack), "the rate stays");
        self.state.packets()
    }
}

/// Adjusts at every acknowledgement and adds nothing beside what it hears.
fn plain() -> Config {
    Config {
        adjust_period: 0.0,
        additive_increase: 0.0,
        quick_adapt: false,
        ..Config::default()
    }
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-9 * other.abs()
}

#[test]
fn it_starts_with_half_more_than_a_bandwidth_delay_product() {
    let state = Tested::new(225, Config::default()).state;
    assert_eq!(state.rate(), REFERENCE.line_rate);
    // One more packet must fit: in flight + 1000 <= 225,000.
    assert_eq!(state.window(), Some(Bytes::new(224_001)));
}

#[test]
fn it_grows_in_proportion_to_the_room_below_the_target() {
    // A window of acknowledgements with half of the target of 12 us to go: 4 packets x 1/2.
    let mut tested = Tested::new(100, plain());
    assert!(close(tested.hear(100, 100_000, 6, false), 102.0));
    assert!(close(tested.hear(200, 102_000, 9, false), 103.0));
    // A network twice as fast has a = 2 and adds twice the packets.
    let twice = Environment {
        line_rate: Rate::from_gbps(200),
        bdp: Bytes::new(300_000),
        ..REFERENCE
    };
    let mut state = Nscc::new(Arc::new(plain()), &twice);
    (0..350).for_each(|_| state.on_loss(us(0), Loss::Nak));
    state.on_ack(us(100), &timed(100_000, 250_000, 18_000));
    assert!(close(state.packets(), 104.0), "{}", state.packets());
}

#[test]
fn above_the_target_without_marks_it_grows_by_five_packets_in_a_round_trip() {
    let mut tested = Tested::new(100, plain());
    assert!(close(tested.hear(100, 100_000, 12, false), 105.0));
    assert!(close(tested.hear(200, 105_000, 40, false), 110.0));
}

#[test]
fn marks_below_the_target_change_nothing() {
    let mut tested = Tested::new(100, plain());
    assert_eq!(tested.hear(100, 100_000, 11, true), 100.0);
}

#[test]
fn marks_above_the_target_cut_by_the_average_and_once_per_round_trip() {
    let mut tested = Tested::new(200, plain());
    // 1 - 0.8 (24 - 12) / 24.
    assert!(close(tested.hear(100, 1000, 24, true), 120.0));
    assert!(close(tested.hear(112, 1000, 24, true), 120.0));
    assert!(close(tested.hear(113, 1000, 24, true), 72.0));
    // Not so soon. Half a round trip later half of the way to 32 us counts.
    assert!(close(tested.hear(120, 1000, 24, true), 72.0));
    let average = 24.0 + (32.0 - 24.0) / 2.0;
    let kept = 1.0 - 0.8 * (average - 12.0) / average;
    assert!(close(tested.hear(126, 1000, 32, true), 72.0 * kept));
    // At most a half.
    assert!(close(tested.hear(200, 1000, 1000, true), 36.0 * kept));
    // One late packet after many in time doesn't count.
    let mut tested = Tested::new(200, plain());
    (0..20).for_each(|at| {
        tested.hear(100 + at, 0, 2, true);
    });
    assert_eq!(tested.hear(120, 1000, 30, true), 200.0);
}

#[test]
fn what_is_gathered_is_added_after_eight_packets_or_a_round_trip() {
    let config = Config {
        quick_adapt: false,
        ..Config::default()
    };
    let mut tested = Tested::new(100, config);
    // 5 packets x 1000 / 100,000, and 0.15 packets.
    assert!(close(tested.hear(100, 1000, 20, false), 100.2));
    for at in 101..=108 {
        assert!(close(tested.hear(at, 1000, 20, false), 100.2));
    }
    let more = 5.0 * 9.0 / 100.2;
    assert!(close(tested.hear(109, 1000, 20, false), 100.2 + more));
    let window = 100.2 + more;
    assert!(close(tested.hear(111, 1000, 20, false), window));
    let more = 5.0 * 2.0 / window + 0.15;
    assert!(close(tested.hear(112, 1000, 20, false), window + more));
}

#[test]
fn a_window_without_delay_makes_it_grow_by_a_quarter_of_what_arrives() {
    let mut tested = Tested::new(100, plain());
    // The first 100 packets: 4 packets in proportion. Nothing to add then.
    let after = tested.hear(100, 100_000, 0, false);
    assert!(close(after, 104.0));
    assert!(close(tested.hear(110, 8000, 0, false), 106.0));
    assert!(close(tested.hear(120, 40_000, 0, false), 116.0));
    // 1 us is a delay: 4 (12 - 1) / 12 packets per window.
    let slow = 116.0 + 4.0 * 11.0 / 12.0 * 29.0 / 116.0;
    assert!(close(tested.hear(130, 29_000, 1, false), slow));
    assert!(tested.hear(140, 29_000, 0, false) < slow + 2.0);
    // Up to the most, whatever arrives.
    (0..100).for_each(|at| {
        tested.hear(200 + at, 200_000, 0, false);
    });
    assert_eq!(tested.state.packets(), 225.0);
}

#[test]
fn the_least_round_trip_is_the_base_but_for_short_packets() {
    let mut tested = Tested::new(225, plain());
    tested.state.on_ack(us(100), &timed(500, 150_000, 6000));
    assert_eq!(tested.state.packets(), 225.0);
    // 8 us: 100 kB, so at most 150 packets; the target stays.
    tested.state.on_ack(us(100), &timed(1500, 150_000, 8000));
    assert_eq!(tested.state.packets(), 150.0);
    tested.acknowledged = 1500;
    // 8 + 11 us are below 8 + 12: a mark does nothing.
    assert_eq!(tested.hear(200, 1000, 7, true), 150.0);
    assert!(tested.hear(300, 1000, 9, true) < 150.0);
}

#[test]
fn a_loss_takes_a_packet_and_the_last_one_stays() {
    let mut tested = Tested::new(3, plain());
    tested.state.on_loss(us(1), Loss::Timeout);
    assert_eq!(tested.state.packets(), 2.0);
    (0..5).for_each(|_| tested.state.on_loss(us(2), Loss::Nak));
    assert_eq!(tested.state.packets(), 1.0);
    assert_eq!(tested.state.window(), Some(Bytes::new(1)));
}

/// Quick adapt alone.
fn quick() -> Config {
    Config {
        quick_adapt: true,
        ..plain()
    }
}

#[test]
fn where_next_to_nothing_arrives_the_window_becomes_that() {
    let mut tested = Tested::new(200, quick());
    // The first acknowledgement begins a period of 12 + 12 us; the mark isn't above the target.
    tested.hear(100, 3000, 11, true);
    for at in [105, 110, 115] {
        tested.hear(at, 5000, 11, true);
    }
    // 15 kB since, and 2 kB now: less than 225 / 8.
    assert_eq!(tested.hear(124, 2000, 49, true), 17.0);
    // Marks of the 150 packets in flight are ignored.
    assert_eq!(tested.hear(140, 80_000, 100, true), 17.0);
    assert_eq!(tested.hear(160, 69_000, 100, true), 17.0);
    // The last of them has arrived.
    assert!(tested.hear(180, 1000, 100, true) < 17.0);
}

#[test]
fn quick_adapt_needs_both_delay_and_little_that_arrives() {
    for (bytes, delay) in [(28_200, 49), (2000, 48)] {
        let mut tested = Tested::new(200, quick());
        tested.hear(100, 3000, 11, true);
        tested.hear(110, 1, 11, true);
        // The ordinary decrease, which takes a half at most.
        assert!(tested.hear(124, bytes, delay, true) >= 100.0);
    }
    let mut tested = Tested::new(200, plain());
    tested.hear(100, 3000, 11, true);
    assert!(tested.hear(124, 2000, 49, true) >= 100.0, "switched off");
}

#[test]
fn packets_that_come_early_count_when_they_come() {
    let mut tested = Tested::new(100, plain());
    // Three packets before one that is missing: 5 packets x 1000 / 100,000 each.
    for at in 100..103 {
        tested.hear(at, 0, 20, false);
    }
    let early = tested.state.packets();
    assert!((early - 100.15).abs() < 1e-3, "{early}");
    // Then that one: four are confirmed, one is news.
    let all = tested.hear(103, 4000, 20, false);
    assert!((all - 100.2).abs() < 1e-3, "{all}");
    assert!((tested.hear(104, 1000, 20, false) - 100.25).abs() < 1e-3);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever it hears: at least a packet, at most the largest window of the least round trip so far.
    #[test]
    fn the_window_stays_within_its_bounds(
        target_delay in 0.001..10.0,
        max_window in 0.01..10.0,
        gate in 0u8..8,
        steps in prop::collection::vec(
            (0u64..50_000, 0u64..40_000, 1u64..400_000, any::<bool>(), 0u8..20),
            1..200,
        ),
    ) {
        let config = Config {
            target_delay,
            max_window,
            quick_adapt_gate: gate,
            ..Config::default()
        };
        let mut state = Nscc::new(Arc::new(config), &REFERENCE);
        let (mut at, mut acknowledged, mut least) = (0, 0, REFERENCE.base_rtt);
        for (wait, bytes, rtt, marked, what) in steps {
            at += wait;
            let now = Time::from_ns(at);
            match what {
                0 => state.on_loss(now, Loss::Nak),
                _ => {
                    acknowledged += bytes;
                    let ack = timed(acknowledged, acknowledged + 150_000, rtt);
                    state.on_ack(now, &Ack { congestion_notified: marked, ..ack });
                    if bytes >= 1000 {
                        least = least.min(Duration::from_ns(rtt));
                    }
                }
            }
            // 12.5 B are sent in a nanosecond.
            let most = (12.5 * max_window * least.as_ns_f64() / 1000.0).max(1.0);
            let packets = state.packets();
            prop_assert!((1.0..=most * 1.000_001).contains(&packets), "{} {}", packets, most);
            prop_assert!(state.window() >= Some(Bytes::new(1)));
        }
    }
}
