//! Figures at the ends of what a scenario may state: no panic, and they mean what they say.

use fairlane_fabric::{Results, Simulation};

use crate::common::{complete, flows, links, loaded, loaded_with, star};

const FIXED: &str = "congestion.algorithm=\"fixed\"";

/// Two hosts send 50 kB each to a third.
fn two_to_one(sets: &[&str]) -> Results {
    let list = flows(&[(0, 2, 50_000, "0ns"), (1, 2, 50_000, "0ns")]);
    complete(&loaded(&(star(3) + &list), &[sets, &[FIXED]].concat()))
}

#[test]
fn threshold_shifts() {
    assert_eq!(
        two_to_one(&["switch.pfc.threshold_shift=0"])
            .signals
            .pauses
            .count,
        0
    );
    // Nothing is left of the free buffer: every packet beyond the reserve pauses its sender.
    assert!(
        two_to_one(&["switch.pfc.threshold_shift=32"])
            .signals
            .pauses
            .count
            > 0
    );
}

#[test]
fn buffers_beyond_32_bits() {
    let least = two_to_one(&[]);
    for buffer in [
        (1u64 << 32) - 1,
        1 << 32,
        (1 << 32) + 150_000,
        (1 << 33) + 150_000,
        1 << 40,
    ] {
        let results = two_to_one(&[&format!("switch.buffer={buffer}")]);
        assert_eq!(results.signals.pauses.count, 0, "{buffer}");
        assert_eq!(results.messages, least.messages, "{buffer}");
    }
}

#[test]
fn the_longest_gaps_and_packets() {
    let sets = ["packet.gap=65535", "switch.buffer=\"64MiB\""];
    // 49 packets each: 50,000 + 49 x 62 + 16 B and 98 gaps, at 80 ps a byte.
    let wire = (100_000 + 98 * 62 + 32 + 97 * 65_535) * 80;
    let end = two_to_one(&sets).totals.end.as_ps();
    assert!(end > wire, "{end}");
    let sets = ["packet.mtu=9216", "packet.header=50000", "packet.gap=40000"];
    assert_eq!(two_to_one(&sets).totals.data_packets, 12);
}

#[test]
fn the_smallest_packets() {
    let sets = [
        "packet.mtu=1",
        "packet.header=0",
        "packet.first_header=0",
        "packet.padding=1",
        "packet.gap=0",
    ];
    let results = two_to_one(&[&sets[..], &["packet.ack=1", "packet.ack_min=0"]].concat());
    assert_eq!(results.totals.data_packets, 100_000);
    assert_eq!(results.totals.injected.bytes, 100_000 + 100_000);
}

#[test]
fn rates_from_one_megabit_to_eight_terabits() {
    for (rate, ps_per_byte) in [
        ("1Mbps", 8_000_000),
        ("7Gbps", 0),
        ("800Gbps", 10),
        ("8000Gbps", 1),
    ] {
        let topology = format!(
            "topology = {{ kind = \"star\", hosts = 2, host_link = {{ rate = \"{rate}\", delay = \"1us\" }} }}\n"
        );
        let results = complete(&loaded(
            &(topology + &flows(&[(0, 1, 1000, "0ns")])),
            &[FIXED],
        ));
        let message = results.messages[0];
        assert_eq!(message.slowdown(), Some(1.0), "{rate}");
        if ps_per_byte > 0 {
            let expected = 2 * (1078 + 66) * ps_per_byte + 4_000_000;
            assert_eq!(message.ideal.as_ps(), expected, "{rate}");
        }
    }
}

#[test]
fn sampling_every_picosecond() {
    let results = two_to_one(&["output.sample_interval=\"1ps\""]);
    let sent: u64 = results.series.sent.iter().sum();
    // Data and acknowledgements cross two links; pauses there are none.
    assert_eq!(sent, 2 * results.totals.injected.bytes);
}

#[test]
fn a_stated_interval_is_kept() {
    let traffic = flows(&[(0, 1, 1000, "0ns"), (0, 1, 1000, "3ms")]);
    let results = complete(&loaded(
        &(star(2) + &traffic),
        &["output.sample_interval=\"1us\""],
    ));
    let series = &results.series;
    assert_eq!(series.interval.as_ns(), 1000);
    assert_eq!(series.sent.len() / series.ports, 3005);
    let summary = fairlane_fabric::metrics::Summary::of(&results);
    assert_eq!(summary.sample_interval_ns, 1000.0);
}

#[test]
fn an_interval_that_cannot_be_kept_is_refused() {
    let text = star(2) + &flows(&[(0, 1, 1000, "0ns")]);
    let sets = ["output.sample_interval=\"1ns\"", "stop=\"1s\""];
    let refused = Simulation::new(&loaded(&text, &sets));
    let error = refused.err().unwrap();
    assert_eq!(error.place, "output.sample_interval");
    assert!(error.hint.contains("238.419ns"), "{}", error.hint);
}

#[test]
fn links_of_a_second() {
    let text = "topology = { kind = \"star\", hosts = 2, \
        host_link = { rate = \"100Gbps\", delay = \"1s\" } }\n";
    let text = text.to_owned() + &flows(&[(0, 1, 1000, "0ns")]);
    for headroom in ["\"lossless\"", "1"] {
        let headroom = format!("switch.pfc.headroom_delays={headroom}");
        let sets = [
            &headroom,
            "switch.buffer=1099511627776",
            "transport.ack_timeout=\"never\"",
            FIXED,
        ];
        let results = complete(&loaded(&text, &sets));
        assert_eq!(results.messages[0].slowdown(), Some(1.0));
        assert_eq!(results.signals.pauses.count, 0);
    }
}

#[test]
fn telemetry_over_more_switches_than_its_header_holds_is_refused() {
    let chain = |switches: u32, sets: &[&str]| {
        let inner = (2..switches + 1).map(|id| (id, id + 1, "100Gbps", "1us"));
        let ends = [
            (0, 2, "100Gbps", "1us"),
            (1, switches + 1, "100Gbps", "1us"),
        ];
        let list: Vec<_> = inner.chain(ends).collect();
        let traffic = flows(&[(0, 1, 5_000, "0ns")]);
        let sets: Vec<_> = [&["congestion.algorithm=\"hpcc\""], sets].concat();
        Simulation::new(&loaded_with("telemetry", &links(2, &list), &traffic, &sets))
    };
    assert!(chain(5, &[]).is_ok());
    let refused = |switches, sets: &[&str], place: &str, part: &str| {
        let error = chain(switches, sets).err().expect("refused").to_string();
        for part in [place, part, "hint:"] {
            assert!(error.contains(part), "{error}");
        }
    };
    refused(6, &[], "packet.telemetry", "at least 50B");
    assert!(chain(6, &["packet.telemetry=50"]).is_ok());
    assert!(chain(9, &["packet.telemetry=74"]).is_ok());
    let room = "packet.telemetry=200";
    refused(10, &[room], "congestion.algorithm", "at most 9");
}
