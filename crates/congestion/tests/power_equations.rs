//! Single steps of PowerTCP against the formulas of its paper.

use std::sync::Arc;

use fairlane_congestion::CongestionControl;
use fairlane_congestion::powertcp::{self, PowerTcp};
use fairlane_units::Rate;

use crate::common::{ENVIRONMENT, ack, hop, telemetry, us};

const RTT_PS: u64 = 12_500_000;

/// A sender that has had the first acknowledgement, while byte 1000 was the next to send.
fn started(queue: u32) -> PowerTcp {
    let config = powertcp::Config {
        expected_flows: 10,
        ..powertcp::Config::default()
    };
    let mut state = PowerTcp::new(Arc::new(config), &ENVIRONMENT);
    assert!(!state.on_ack(us(0), &ack(500, 1000, &telemetry(&[hop(0, 0, queue)]))));
    assert_eq!(state.rate(), ENVIRONMENT.line_rate);
    state
}

fn window(state: &PowerTcp) -> u64 {
    state.window().expect("PowerTCP has a window").get()
}

#[test]
fn powertcp_multiplies_current_and_voltage() {
    // A round trip in which the port sent 156,250 B (100 Gb/s) and its queue grew from 0 to 31,250 B:
    // current 1.2 B, voltage 1.2 B T, so power 1.44 and, as dt = T, smoothed 1.44.
    // w = 0.9 (156,250 / 1.44 + 15,625) + 0.1 x 156,250 = 127,343.75.
    let mut state = started(0);
    assert!(state.on_ack(
        us(12),
        &ack(2000, 3000, &telemetry(&[hop(RTT_PS, 156_250, 31_250)]))
    ));
    assert!((state.power() - 1.44).abs() < 1e-12);
    assert_eq!(window(&state), 127_343);
    assert!((state.rate().as_f64() - 127_343.75 * 8.0 / 12.5e-6).abs() < 2.0);
}

#[test]
fn powertcp_sees_a_queue_that_drains() {
    // The queue falls from 31,250 B to 0 while the port sends at full rate: current 0.8.
    let mut state = started(31_250);
    state.on_ack(
        us(12),
        &ack(2000, 3000, &telemetry(&[hop(RTT_PS, 156_250, 0)])),
    );
    assert!((state.power() - 0.8).abs() < 1e-12);
    assert_eq!(
        window(&state),
        156_250,
        "never above one bandwidth-delay product"
    );
}

#[test]
fn powertcp_smooths_over_a_round_trip() {
    let mut state = started(0);
    // A quarter of T at half the rate: 0.75 x 1 + 0.25 x 0.5.
    let quarter = telemetry(&[hop(RTT_PS / 4, 19_531, 0)]);
    state.on_ack(us(3), &ack(800, 3000, &quarter));
    assert!((state.power() - 0.875).abs() < 1e-5);
}

#[test]
fn powertcp_divides_the_window_of_a_round_trip_ago() {
    // Twice the power within one round trip: both start from the same window.
    let mut state = started(0);
    let busy = |at: u64| telemetry(&[hop(at * RTT_PS, at * 156_250, 156_250)]);
    state.on_ack(
        us(12),
        &ack(900, 3000, &telemetry(&[hop(RTT_PS, 156_250, 156_250)])),
    );
    // Power is 2 x 2, then (the queue stays) 1 x 2.
    assert!((state.power() - 4.0).abs() < 1e-12);
    state.on_ack(us(25), &ack(950, 3000, &busy(2)));
    assert!((state.power() - 2.0).abs() < 1e-12);
    let first = 0.9 * (156_250.0 / 4.0 + 15_625.0) + 0.1 * 156_250.0;
    let second: f64 = 0.9 * (156_250.0 / 2.0 + 15_625.0) + 0.1 * first;
    assert_eq!(window(&state), second as u64);
    // The third is past byte 1000: the same sum, and the window counts from then on.
    state.on_ack(us(37), &ack(1500, 3000, &busy(3)));
    let third = window(&state);
    state.on_ack(us(50), &ack(1600, 3000, &busy(4)));
    assert!(window(&state) < third);
}

#[test]
fn powertcp_listens_to_the_hop_with_the_most_power_and_starts_over_elsewhere() {
    let config = Arc::new(powertcp::Config::default());
    let mut state = PowerTcp::new(config, &ENVIRONMENT);
    let hops = |at: u64, sent: [u64; 2]| telemetry(&sent.map(|sent| hop(at, sent, 0)));
    state.on_ack(us(0), &ack(500, 1000, &hops(0, [0; 2])));
    state.on_ack(us(12), &ack(2000, 3000, &hops(RTT_PS, [78_125, 140_625])));
    assert!((state.power() - 0.9).abs() < 1e-12);
    let elsewhere = telemetry(&[hop(2 * RTT_PS, 999_999_999, 99_999)]);
    assert!(!state.on_ack(us(25), &ack(4000, 5000, &elsewhere)));
    assert_eq!(state.rate(), Rate::from_gbps(100));
}
