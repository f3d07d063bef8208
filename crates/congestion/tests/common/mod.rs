//! Helpers of the tests.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "helpers are those of a crate, of which an example uses a part"
)]

pub mod incast;
pub mod link;
pub mod sender;

use fairlane_congestion::{
    Ack, CongestionControl, Environment, Hop, Reading, Telemetry, TelemetryFormat,
};
use fairlane_units::{Bytes, Duration, Rate, Time};

/// 100 Gb/s and 12.5 us: a bandwidth-delay product of 156,250 B.
pub const ENVIRONMENT: Environment = Environment {
    line_rate: Rate::from_gbps(100),
    base_rtt: Duration::from_ns(12_500),
    bdp: Bytes::new(156_250),
    mtu: Bytes::new(1000),
};

/// An acknowledgement that carries a congestion notification.
pub const NOTIFICATION: Ack<'static> = Ack {
    acknowledged: Bytes::ZERO,
    next_to_send: Bytes::ZERO,
    congestion_notified: true,
    round_trip: None,
    endpoint_delay: None,
    hops: 0,
    telemetry: None,
};

pub fn us(at: u64) -> Time {
    Time::from_ns(at * 1000)
}

/// Fires every timer that is due until `end`, in order.
pub fn run_timers(state: &mut impl CongestionControl, end: Time) {
    while let Some((timer, at)) = state.timers().next().filter(|&(_, at)| at <= end) {
        state.on_timer(at, timer);
    }
}

/// Telemetry of one hop at 100 Gb/s, with exact units.
pub fn hop(at_ps: u64, sent: u64, queue: u32) -> Hop {
    Hop {
        time: at_ps,
        sent,
        queue,
        rate_mbps: 100_000,
    }
}

/// Telemetry of a path of hops on ports 1, 2, 3 ...
pub fn telemetry(hops: &[Hop]) -> Telemetry {
    let mut telemetry = Telemetry::EMPTY;
    (1..)
        .zip(hops)
        .for_each(|(port, &hop)| telemetry.push(port, hop));
    telemetry
}

/// An acknowledgement of stream position `acknowledged` while `next` is the next to send.
pub fn ack(acknowledged: u64, next: u64, telemetry: &Telemetry) -> Ack<'_> {
    Ack {
        acknowledged: Bytes::new(acknowledged),
        next_to_send: Bytes::new(next),
        telemetry: Some(exact(telemetry)),
        ..Ack::default()
    }
}

/// Telemetry in picoseconds and bytes.
pub fn exact(record: &Telemetry) -> Reading<'_> {
    Reading::new(record, &TelemetryFormat::EXACT)
}

/// An acknowledgement of stream position `acknowledged` that took `ns` nanoseconds.
pub fn timed(acknowledged: u64, next: u64, ns: u64) -> Ack<'static> {
    Ack {
        acknowledged: Bytes::new(acknowledged),
        next_to_send: Bytes::new(next),
        round_trip: Some(Duration::from_ns(ns)),
        ..Ack::default()
    }
}

/// An acknowledgement of stream position `acknowledged` with or without a mark.
pub fn marked(acknowledged: u64, next: u64, congestion_notified: bool) -> Ack<'static> {
    Ack {
        acknowledged: Bytes::new(acknowledged),
        next_to_send: Bytes::new(next),
        congestion_notified,
        ..Ack::default()
    }
}
