//! Single steps of the algorithms that hear round-trip times, against the formulas of the papers.

use std::sync::Arc;

use fairlane_congestion::swift::{self, Swift};
use fairlane_congestion::timely::Timely;
use fairlane_congestion::{Ack, CongestionControl, Loss};
use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::common::{ENVIRONMENT, timed, us};

/// Feeds one acknowledgement per round trip, each with a round-trip time in nanoseconds.
fn rounds(timely: &mut Timely, from: u64, rtts: &[u64]) {
    for (round, &rtt) in (from..).zip(rtts) {
        timely.on_ack(us(round), &timed(round * 1000, round * 1000 + 999, rtt));
    }
}

fn timely() -> Timely {
    Timely::new(Arc::default(), &ENVIRONMENT)
}

#[test]
fn timely_rises_below_the_low_threshold_and_faster_after_five() {
    let mut timely = timely();
    // Above the high threshold twice: 1 - 0.8 (1 - 500 / 1000) = 0.6 each.
    rounds(&mut timely, 1, &[1_000_000, 1_000_000, 1_000_000]);
    assert_eq!(timely.rate(), Rate::from_gbps(36));
    rounds(&mut timely, 4, &[49_999; 5]);
    assert_eq!(timely.rate(), Rate::from_mbps(36_500));
    rounds(&mut timely, 9, &[49_999; 2]);
    assert_eq!(timely.rate(), Rate::from_mbps(37_500), "hyper increase");
}

#[test]
fn timely_falls_with_the_gradient() {
    // From 100 us to 104 us: diff = 0.875 x 4 us = 3.5 us, gradient = 3.5 / 20 = 0.175,
    // factor = 1 - 0.8 x 0.175 = 0.86.
    let mut timely = timely();
    rounds(&mut timely, 1, &[100_000, 104_000]);
    assert_eq!(timely.gradient(), 0.175);
    assert_eq!(timely.rate(), Rate::from_bps(86_000_000_000));
    // Then back to 103 us: diff = 0.125 x 3.5 - 0.875 < 0, so the rate rises.
    rounds(&mut timely, 3, &[103_000]);
    assert_eq!(timely.rate(), Rate::from_mbps(86_100));
}

#[test]
fn timely_hears_one_packet_per_round_trip() {
    let mut timely = timely();
    timely.on_ack(us(1), &timed(1000, 5000, 100_000));
    for acknowledged in 2..=5 {
        timely.on_ack(us(2), &timed(acknowledged * 1000, 9000, 900_000));
    }
    assert_eq!(timely.rate(), ENVIRONMENT.line_rate);
    timely.on_ack(us(2), &timed(6000, 9000, 900_000));
    assert!(timely.rate() < ENVIRONMENT.line_rate);
}

fn swift(config: swift::Config) -> Swift {
    Swift::new(Arc::new(config), &ENVIRONMENT)
}

/// No flow scaling, a target of 20 us.
fn plain() -> swift::Config {
    swift::Config {
        hop_target: Duration::ZERO,
        flow_range: Duration::ZERO,
        ..swift::Config::default()
    }
}

#[test]
fn swift_scales_its_target_with_hops_and_flows() {
    // Section 3.5: 20 us + 3 us a hop; nothing more for a window of 100 packets and above; the whole
    // range for a tenth of a packet.
    let state = swift(swift::Config::default());
    assert_eq!(state.packets(), 156.25);
    assert_eq!(state.target_ns(5), 35_000.0);
    let mut small = swift(swift::Config {
        min_window: 0.1,
        ..swift::Config::default()
    });
    (0..100).for_each(|at| small.on_loss(us(at * 100), Loss::Timeout));
    assert!((small.target_ns(0) - 120_000.0).abs() < 1e-6);
}

#[test]
fn swift_adds_one_packet_per_round_trip() {
    let mut state = swift(plain());
    state.on_loss(us(0), Loss::Nak);
    assert_eq!(state.packets(), 78.125, "max_mdf is 0.5");
    // A window's worth of acknowledgements below the target: w + ai acked / w = w + ai.
    state.on_ack(us(20), &timed(78_125, 200_000, 15_000));
    assert_eq!(state.packets(), 79.125);
    assert_eq!(state.rate(), ENVIRONMENT.line_rate);
    // One more packet must fit: in flight + 1000 <= 79,125.
    assert_eq!(state.window(), Some(Bytes::new(78_126)));
}

#[test]
fn swift_decreases_in_proportion_and_once_per_round_trip() {
    // (1 - 0.8 (25 - 20) / 25) = 0.84.
    let mut state = swift(plain());
    state.on_ack(us(100), &timed(1000, 200_000, 25_000));
    assert!((state.packets() - 156.25 * 0.84).abs() < 1e-9);
    let once = state.packets();
    state.on_ack(us(110), &timed(2000, 200_000, 40_000));
    assert_eq!(state.packets(), once);
    // 40 us later 1 - 0.8 (400 - 20) / 400 is below a half, the most that one decrease takes.
    state.on_ack(us(150), &timed(3000, 200_000, 400_000));
    assert_eq!(state.packets(), once * 0.5);
}

#[test]
fn swift_paces_windows_below_a_packet() {
    let mut state = swift(plain());
    for at in 0..12 {
        state.on_ack(us(at * 1000), &timed(0, 0, 100_000));
    }
    let packets = state.packets();
    assert!(packets < 1.0, "{packets}");
    assert_eq!(state.window(), Some(Bytes::new(1)));
    // A packet of 1000 B every rtt / w.
    let expected = 8000.0 * packets / 100e-6;
    assert!((state.rate().as_f64() - expected).abs() <= 1.0);
    // Below a packet the window grows by ai for each packet: w + ai acked.
    assert!(
        state.on_ack(us(13_000), &timed(500, 1000, 10_000)),
        "a paced packet moves"
    );
    assert_eq!(state.packets(), packets + 0.5);
}

#[test]
fn swift_resets_after_timeouts_in_a_row() {
    let mut state = swift(plain());
    (0..4).for_each(|at| state.on_loss(us(at * 100), Loss::Timeout));
    assert_eq!(state.packets(), 156.25 / 16.0);
    state.on_loss(us(400), Loss::Timeout);
    assert_eq!(state.packets(), 0.01);
    state.on_ack(us(500), &timed(1000, 1000, 10_000));
    state.on_loss(us(501), Loss::Timeout);
    assert!(state.packets() > 0.5, "an acknowledgement ends the row");
}

#[test]
fn swift_heeds_the_delay_of_hosts() {
    let mut state = swift(plain());
    let slow_host = Ack {
        endpoint_delay: Some(Duration::from_us(25)),
        ..timed(1000, 200_000, 35_000)
    };
    // The fabric took 10 us of 35; the hosts 25 of their 20: 0.84.
    state.on_ack(Time::from_ns(100_000), &slow_host);
    assert!((state.packets() - 156.25 * 0.84).abs() < 1e-9);
}
