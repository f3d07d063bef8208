//! Windows, pacing and the telemetry header.

use fairlane_congestion::{Pacer, PacingRounding, TelemetryFormat, Window, WindowMode};
use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::common::us;

#[test]
fn windows_scale_with_the_rate() {
    let line = Rate::from_gbps(100);
    let window = |mode| Window::new(mode, Bytes::new(153_000), line);
    let limit = |mode, rate| window(mode).limit(rate).get();
    assert_eq!(limit(WindowMode::None, Rate::from_gbps(1)), u64::MAX);
    assert_eq!(limit(WindowMode::Fixed, Rate::from_gbps(1)), 153_000);
    assert_eq!(limit(WindowMode::Scaled, line), 153_000);
    assert_eq!(limit(WindowMode::Scaled, Rate::from_gbps(33)), 50_490);
    assert_eq!(limit(WindowMode::Scaled, Rate::from_bps(1)), 1);
    for mode in [WindowMode::None, WindowMode::Fixed, WindowMode::Scaled] {
        let smallest = Window::new(mode, Bytes::ZERO, line).limit(line);
        assert!(
            smallest >= Bytes::new(1),
            "{mode:?} would stop the sender for good"
        );
    }
}

#[test]
fn a_pacer_spaces_packets_and_follows_the_rate() {
    let exact = PacingRounding::Picosecond;
    let mut pacer = Pacer::new(us(1));
    pacer.on_sent(us(2), Bytes::new(1000), Rate::from_gbps(100), exact);
    assert_eq!(pacer.available(), us(2) + Duration::from_ns(80));
    pacer.on_rate_change(Rate::from_gbps(100), Rate::from_gbps(25), exact);
    assert_eq!(pacer.available(), us(2) + Duration::from_ns(320));
    // Packet sizes of HPCC's simulator at 100 and 400 Gb/s, in truncated nanoseconds.
    let ns3 = |bytes, gbps| {
        PacingRounding::Ns3
            .serialization(Bytes::new(bytes), Rate::from_gbps(gbps))
            .as_ps()
    };
    let table = [
        (1048, 83, 20),
        (1090, 87, 21),
        (60, 4, 1),
        (88, 7, 1),
        (625, 49, 12),
        (43, 3, 0),
    ];
    for (bytes, slow, fast) in table {
        assert_eq!(
            (ns3(bytes, 100), ns3(bytes, 400)),
            (slow * 1000, fast * 1000),
            "{bytes} B"
        );
    }
}

#[test]
fn the_telemetry_header_wraps() {
    let format = TelemetryFormat::hpcc_header(4);
    let at = |ns: u64, sent: u64| {
        format.hop(
            Time::from_ns(ns),
            Bytes::new(sent),
            Bytes::new(1000),
            Rate::from_gbps(400),
        )
    };
    let wrap = 1 << 24;
    let (before, after) = (
        at(wrap - 10, (1 << 20) * 512 - 512),
        at(wrap + 20, (1 << 20) * 512 + 1024),
    );
    assert_eq!(format.time_between(&before, &after), Duration::from_ns(30));
    assert_eq!(format.sent_between(&before, &after), Bytes::new(3 * 512));
    assert_eq!(format.queue(&after), Bytes::new(960));
    assert_eq!(after.rate(), Rate::from_gbps(400));
}
