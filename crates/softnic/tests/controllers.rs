//! Congestion control by what plain RoCEv2 packets say.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

use std::time::{Duration, Instant};

use common::{End, Way, connected, end, end_with, target, whole};
use fairlane_congestion::{Algorithm, Params, swift};
use fairlane_softnic::{Device, Error, Faults, PacketFaults, SendRequest, Settings, Status};
use fairlane_units::{Bytes, Duration as Span};

mod common;

/// A device under Swift that has 1 to 16 packets in flight, with a target of the round trip that doesn't depend on that.
fn under_swift(base_target: Span) -> End {
    let config = swift::Config {
        base_target,
        flow_range: Span::ZERO,
        min_window: 1.0,
        ..swift::Config::default()
    };
    end_with(|settings| {
        settings.congestion = Params::Swift(config.into());
        settings.window = Some(Bytes::new(64 << 10));
    })
}

/// How long WRITEs of 256 KiB take to a device that knows nothing of Swift and takes every packet `later`, and how many round
/// trips were measured.
fn writes(from: &End, later: Span) -> (Duration, u64) {
    let to = end();
    to.device.set_faults(Some(Faults {
        packets: PacketFaults {
            reorder: if later.is_zero() { 0.0 } else { 1.0 },
            delay: later,
            ..PacketFaults::default()
        },
        ..Faults::default()
    }));
    let (own, there) = (from.memory(256 << 10), to.memory(256 << 10));
    let (pair, _) = connected(from, &to, Way::default());
    let start = Instant::now();
    for id in 0..4 {
        from.post(
            pair,
            &SendRequest::write(id, vec![whole(&own)], target(&there)),
        );
        assert_eq!(from.wait().status, Status::Success);
    }
    let spent = start.elapsed();
    let counted = from.device.pair_counters(pair).unwrap();
    (spent, counted.rtt_measured)
}

#[test]
fn swift_hears_the_round_trips_of_any_peer() {
    // Targets are longer than any round trip, and shorter. 64 KiB, or 4 KiB, arrive in each.
    let later = Span::from_ms(3);
    let (free, measured) = writes(&under_swift(Span::from_ms(1000)), later);
    assert!((4..=256).contains(&measured), "of 256 packets, {measured}");
    let (held, measured) = writes(&under_swift(Span::from_us(10)), later);
    assert!(measured >= 4, "{measured}");
    assert!(held > 3 * free, "{held:?} instead of {free:?}");
}

#[test]
fn dcqcn_measures_no_round_trips() {
    let (_, measured) = writes(&end(), Span::ZERO);
    assert_eq!(measured, 0);
}

#[test]
fn every_controller_works_or_says_what_it_needs() {
    const REFUSED: [&str; 2] = ["hpcc", "powertcp"];
    for algorithm in Algorithm::ALL {
        let needs = algorithm.needs();
        let refused = REFUSED.contains(&algorithm.to_string().as_str());
        let mut settings = Settings::new(common::address());
        settings.congestion = Params::new(algorithm);
        match Device::open(settings) {
            Ok(_) => {
                assert!(!refused, "{algorithm}");
                let (_, measured) = writes(
                    &end_with(|own| own.congestion = Params::new(algorithm)),
                    Span::ZERO,
                );
                assert_eq!(measured > 0, needs.round_trip, "{algorithm}");
            }
            Err(error) => {
                assert!(matches!(error, Error::Invalid("congestion control", _)));
                assert!(refused, "{algorithm}: {error}");
            }
        }
    }
}
