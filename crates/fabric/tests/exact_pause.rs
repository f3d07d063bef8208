//! Pauses computed by hand, to the picosecond.
//!
//! At 8 Gb/s a byte takes 1 ns. Packets have 1000 B, acknowledgements and pauses 50 B, there are no
//! headers and no gaps, links are 100 ns long: a packet takes 1000 + 100 ns over a link.

use fairlane_fabric::{Results, Simulation};
use fairlane_scenario::Loaded;

use crate::common::{complete, flows, loaded, taken};

const SIZES: &str = r#"
topology = { kind = "star", hosts = 3, host_link = { rate = "8Gbps", delay = "100ns" } }
congestion = { algorithm = "fixed" }
packet = { mtu = 1000, header = 0, first_header = 0, ack = 50, ack_min = 0, pause = 50, gap = 0 }
switch = { buffer = 17806, pfc = { reserve = 1000, resume_offset = 500, threshold_shift = 1 } }
"#;

/// Ten packets each from hosts 0 and 1 to host 2.
fn two_to_one() -> Loaded {
    loaded(
        &format!(
            "{SIZES}{}",
            flows(&[(0, 2, 10_000, "0ns"), (1, 2, 10_000, "0ns")])
        ),
        &[],
    )
}

/// Pause frames as (nanoseconds, node that stops or goes on, whether it stops).
fn pauses(results: &Results) -> Vec<(u64, u32, bool)> {
    let node = |port: fairlane_units::PortId| results.ports[port.index()].node.get();
    let exact = |ps: u64| {
        assert_eq!(ps % 1000, 0, "{ps} ps isn't a whole nanosecond");
        ps / 1000
    };
    results
        .pauses
        .iter()
        .map(|p| (exact(p.time.as_ps()), node(p.port), p.pause))
        .collect()
}

#[test]
fn two_senders_are_paused_and_resumed_on_time() {
    // Headroom of a port: 2 x 100 ns of bytes and 2 more, 3 packets, 8 pauses: 202 + 3000 + 400 = 3602.
    // The buffer shares 17,806 - 3 x (3602 + 1000 of reserve) = 4000 B; a port that has 1000 B + (4000 -
    // shared) / 2 or more stops its peer, and lets it go on at 500 B less than that, or without shared.
    //
    // Packet n of A (host 0) and B (host 1) is at the switch at 1100 + 1000 n, A first. The switch
    // sends one packet every 1000 ns from 1100 on: A0 B0 A1 B1 ...; at equal times it sends before
    // the next ones come in. In the switch (bytes of A / B, of them shared in all):
    //  1100  A0 in, out; B0 in                      0 / 1000   0
    //  2100  B0 out; A1 B1 in                    1000 / 1000   0
    //  3100  A1 out; A2 B2 in                    1000 / 2000   1000   B's 1000 < (4000 - 1000) / 2
    //  4100  B1 out; A3 B3 in                    2000 / 2000   2000   B's 1000 >= 2000 / 2: pause B
    //  5100  A2 out; A4 in                       2000 / 2000   2000   the same of A: pause A
    //        B4 in, under way when the pause came: 2000 more than 1000 + 1000, so to headroom
    //  6100  B2 out (of headroom); A5 in, to headroom
    //  7100  A3 out (of headroom)                2000 / 2000   2000
    //  8100  B3 out                              2000 / 1000   1000   nothing shared: B goes on
    //  9100  A4 out                              1000 / 1000   0      A goes on
    // A pause needs 50 + 100 ns. B sends B5 at 8250 (in at 9350), A sends A6 at 9250 (in at 10,350).
    //  9350  B5 in                               1000 / 2000   1000
    // 10,100 B4 out                              1000 / 1000   0
    // 10,350 A6 B6 in                            2000 / 2000   2000   pause B
    // 11,100 A5 out                              1000 / 2000   1000
    // 11,350 A7 in: pause A; B7 in, to headroom  2000 / 2000   2000
    // 12,100 B5 out (of headroom)   12,350 A8 in, to headroom   13,100 A6 out (of headroom)
    // 14,100 B6 out                              2000 / 1000   1000   B goes on
    // 15,100 A7 out                              1000 / 1000   0      A goes on
    // 15,350 B8 in   16,100 B7 out   16,350 A9 in; B9 in            2000 / 2000   2000   pause B
    // 17,100 A8 out  18,100 B8 out               1000 / 1000   0      B goes on
    // 19,100 A9 out  20,100 B9 out
    // The last packets are received 1100 ns later, the acknowledgement 2 x 150 ns after that.
    let results = complete(&two_to_one());
    let expected = [
        (4250, 1, true),
        (5250, 0, true),
        (8250, 1, false),
        (9250, 0, false),
        (10_500, 1, true),
        (11_500, 0, true),
        (14_250, 1, false),
        (15_250, 0, false),
        (16_500, 1, true),
        (18_250, 1, false),
    ];
    assert_eq!(pauses(&results), expected);
    assert_eq!(taken(&results, 0), 20_500_000);
    assert_eq!(taken(&results, 1), 21_500_000);
    assert_eq!(results.signals.pauses.count, 5);
    assert_eq!(results.signals.drops["buffer-full"].count, 0);
    // A from 5250 to 9250 and 11,500 to 15,250; B from 4250 to 8250, 10,500 to 14,250, 16,500 to 18,250.
    assert_eq!(
        results.signals.paused_ns.count,
        4000 + 3750 + 4000 + 3750 + 1750
    );
}

#[test]
fn a_fixed_threshold_pauses_at_so_much_whatever_is_free() {
    // A port that has its reserve and 1000 B of shared buffer stops its peer, which goes on at 500 B of that. Up to
    // 2100 as above; in the switch (bytes of A / B):
    //  3100  A1 out; A2 B2 in                    1000 / 2000   pause B
    //  4100  B1 out                              1000 / 1000   B goes on
    //        A3 in                               2000 / 1000   pause A
    //        B3 in, under way when the pause came  2000 / 2000 pause B
    // A frame needs 50 + 100 ns; the second one to B waits for the first.
    let first = [
        (3250, 1, true),
        (4250, 0, true),
        (4250, 1, false),
        (4300, 1, true),
    ];
    let case = |buffer: u64| {
        let mut case = two_to_one();
        case.scenario.switch.buffer = fairlane_units::Bytes::new(buffer);
        case.scenario.switch.pfc.xoff = Some(fairlane_units::Bytes::new(1000));
        case
    };
    // All that three ports need: 3 x (3614 + 1000 + 1000), as packets with an IETH have 1004 B.
    let results = complete(&case(16_842));
    let mut seen = pauses(&results);
    assert_eq!(results.signals.drops["buffer-full"].count, 0);
    let roomy = complete(&case(1 << 30));
    assert_eq!(roomy.pauses, results.pauses);
    assert_eq!(roomy.messages, results.messages);
    seen.truncate(4);
    seen.sort_unstable();
    assert_eq!(seen, first);
    let error = Simulation::new(&case(16_841)).map(|_| ()).unwrap_err();
    let text = error.to_string();
    for part in ["switch.pfc.xoff", "at most 999 B", "3 ports", "hint:"] {
        assert!(text.contains(part), "expected `{part}` in {text}");
    }
}

#[test]
fn without_pauses_the_same_senders_overflow_the_buffer() {
    // Without pauses nothing is set aside for headroom: 17,806 - 3 x 1000 = 14,806 B are shared, of which
    // a port may take half of what is free.
    let mut case = two_to_one();
    case.scenario.switch.pfc.enabled = false;
    case.scenario.switch.buffer = fairlane_units::Bytes::new(3000 + 4000);
    let results = complete(&case);
    assert!(results.signals.drops["buffer-full"].count > 0);
    assert_eq!(results.signals.pauses.count, 0);
    assert!(results.pauses.is_empty());
}
