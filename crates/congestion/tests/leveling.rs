//! How HPCC's controllers come to equal rates where a driver asks for it.

mod common;

use common::{ENVIRONMENT, ack, exact, hop, telemetry};
use fairlane_congestion::hpcc::{Config, Hpcc};
use fairlane_congestion::{Ack, CongestionControl, Leveling, Reading};
use fairlane_units::{Bytes, Rate, Time};
use proptest::prelude::*;

const RTT_PS: u64 = 12_500_000;

/// What a port of 100 Gb/s sends in a round trip.
const BDP: u64 = 156_250;

const LEVELING: Leveling = Leveling {
    lean: 1.0,
    increase: 4,
};

/// Five milliseconds.
const ROUNDS: u64 = 400;

/// A controller at `rate`, and a link that it shares.
struct Sender {
    hpcc: Hpcc,
    rounds: u64,
    leveling: Leveling,
}

impl Sender {
    fn new(rate: Rate, leveling: Leveling) -> Self {
        let mut hpcc = Hpcc::new(Config::default().into(), &ENVIRONMENT);
        hpcc.on_ack(Time::ZERO, &ack(500, 1000, &telemetry(&[hop(0, 0, 0)])));
        hpcc.approach(Time::ZERO, rate, 1.0);
        Self {
            hpcc,
            rounds: 0,
            leveling,
        }
    }

    /// A round trip ends in which the port has sent so much in all, and so much waits.
    fn hear(&mut self, sent: u64, queue: u64) {
        self.rounds += 1;
        let record = telemetry(&[hop(self.rounds * RTT_PS, sent, queue as u32)]);
        let reading = Reading {
            leveling: self.leveling,
            ..exact(&record)
        };
        let heard = Ack {
            telemetry: Some(reading),
            acknowledged: Bytes::new(self.rounds * 2000),
            next_to_send: Bytes::new(self.rounds * 2000 + 1000),
            ..ack(0, 0, &record)
        };
        self.hpcc.on_ack(Time::ZERO, &heard);
    }

    fn gbps(&self) -> f64 {
        self.hpcc.rate().as_f64() / 1e9
    }
}

/// Two senders that begin at these rates share a link with bursts of others, one of so many bytes every
/// ten round trips; returns their rates after [`ROUNDS`] round trips.
fn share(rates: [u64; 2], burst: u64, leveling: Leveling) -> [f64; 2] {
    let mut senders = rates.map(|gbps| Sender::new(Rate::from_gbps(gbps), leveling));
    let (mut sent, mut queue) = (0, 0);
    for round in 0..ROUNDS {
        let others = if round % 10 == 0 { burst } else { 0 };
        let bytes = |one: &Sender| (one.gbps() / 100.0 * BDP as f64) as u64;
        let waiting = queue + others + senders.iter().map(bytes).sum::<u64>();
        let leaves = waiting.min(BDP);
        (sent, queue) = (sent + leaves, waiting - leaves);
        senders.iter_mut().for_each(|one| one.hear(sent, queue));
    }
    senders.map(|one| one.gbps())
}

#[test]
fn who_has_more_gives_way_more() {
    // u = 1.2 of eta = 0.95: at half of the line the divisor is 1 + 1.5 (u / eta - 1).
    let rate = Rate::from_gbps(50);
    let mut sender = Sender::new(rate, LEVELING);
    sender.hear(BDP, BDP / 5);
    // The smaller of both queues counts, which is empty: only the counter is above the target.
    let excess = 1.0 / 0.95 - 1.0;
    let expected = 50.0 / (1.0 + 1.5 * excess) + 0.2;
    assert!((sender.gbps() - expected).abs() < 1e-6, "{}", sender.gbps());
    let mut own = Sender::new(rate, Leveling::NONE);
    own.hear(BDP, BDP / 5);
    assert!((own.gbps() - (50.0 / (1.0 + excess) + 0.05)).abs() < 1e-6);
}

#[test]
fn who_has_more_takes_less_of_what_is_free() {
    // u = 0.475 is half of eta: the room is once the rate, a fifth of which is taken in each round, and
    // half of that by whoever has half of the line.
    let mut sender = Sender::new(Rate::from_gbps(50), LEVELING);
    sender.hear(BDP * 475 / 1000, 0);
    let expected = 50.0 * (1.0 + 0.5 / 5.0) + 0.2;
    assert!((sender.gbps() - expected).abs() < 1e-2, "{}", sender.gbps());
    let mut hasty = Sender::new(Rate::from_gbps(50), LEVELING);
    hasty.hpcc.hasten();
    hasty.hear(BDP * 475 / 1000, 0);
    let expected = 50.0 * 1.5 + 0.2;
    assert!((hasty.gbps() - expected).abs() < 1e-2, "{}", hasty.gbps());
}

#[test]
fn an_idle_path_gives_finite_rates() {
    let mut fast = Sender::new(Rate::from_gbps(100), LEVELING);
    let mut slow = Sender::new(Rate::from_gbps(1), LEVELING);
    for packets in 1..10 {
        fast.hear(packets * 1000, 0);
        slow.hear(packets * 1000, 0);
    }
    assert_eq!((fast.gbps(), slow.gbps()), (100.0, 100.0));
}

#[test]
fn by_its_own_rules_the_ratio_stays() {
    let [more, less] = share([70, 10], 60_000, Leveling::NONE);
    assert!(more / less > 2.0, "{more} : {less}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn two_senders_come_to_equal_rates(
        first in 1u64..=100,
        second in 1u64..=100,
        burst in 0u64..=150_000,
    ) {
        let [a, b] = share([first, second], burst, LEVELING);
        let (more, less) = (f64::max(a, b), f64::min(a, b));
        prop_assert!(more / less < 1.3, "{a} : {b}");
        prop_assert!(a + b < 100.0, "{a} + {b}");
        prop_assert!(a + b > 75.0, "{a} + {b}");
    }
}
