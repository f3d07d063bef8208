//! Hand-computed cases of the exact profile, to the picosecond.
//!
//! Sizes on the wire: data 62 + payload, the first packet of a message 16 more, acknowledgement 66,
//! idle gap after each packet 20. At 100 Gb/s a byte takes 80 ps; links are 1 us long unless stated.

use fairlane_fabric::{Results, TraceEvent, TracedPacket};

use crate::common::{complete, flows, links, loaded, loaded_with, star, taken};

const FIXED: &str = "congestion.algorithm=\"fixed\"";

/// When node `node` began to send each data packet, in picoseconds.
fn departures(results: &Results, node: u32) -> Vec<u64> {
    let mut times = Vec::new();
    for record in &results.trace {
        let data = record.packet == TracedPacket::Data && record.event == TraceEvent::Dequeued;
        if data && record.node.get() == node {
            times.push(record.time.as_ps());
        }
    }
    times
}

#[test]
fn one_packet_over_a_switch() {
    // There:  (62 + 16 + 1000) B x 80 ps = 86,240 ps, plus 1,000,000 ps, on each of two links.
    // Back:   66 B x 80 ps = 5,280 ps, plus 1,000,000 ps, on each of two links.
    let results = complete(&loaded(
        &(star(2) + &flows(&[(0, 1, 1000, "3us")])),
        &[FIXED],
    ));
    assert_eq!(
        taken(&results, 0),
        2 * (86_240 + 1_000_000) + 2 * (5_280 + 1_000_000)
    );
    assert_eq!(results.totals.end.as_ps(), 3_000_000 + 4_183_040);
    assert_eq!(results.totals.message_transmissions, 4);
    assert_eq!(results.totals.injected.bytes, 1078 + 66);
}

#[test]
fn ten_packets_over_a_switch() {
    // Packet 1 has 62 + 16 + 1024 = 1102 B: 88,160 ps, and with its gap 1122 B: 89,760 ps.
    // The others have 1086 B: 86,880 ps, and with their gap 1106 B: 88,480 ps.
    // The sender starts packet 1 at 0, packet 2 at 89,760, packet n at 89,760 + (n - 2) x 88,480.
    // Packet 1 is at the switch at 88,160 + 1,000,000 and keeps its transmitter until
    // 1,088,160 + 89,760 = 1,177,920. Packet 2 is there at 89,760 + 86,880 + 1,000,000 = 1,176,640,
    // so it waits 1,280 ps (the 16 B of the first header), and so does each packet behind it.
    // Packet 10 leaves the sender at 797,600 and the switch at 797,600 + 1,086,880 + 1,280 =
    // 1,885,760, is received at 2,972,640; its acknowledgement takes 2 x (5,280 + 1,000,000).
    let text = star(2) + &flows(&[(0, 1, 10_240, "0ns")]);
    let results = complete(&loaded(&text, &[FIXED, "output.trace_nodes=[0,1,2]"]));
    let sent: Vec<u64> = [0]
        .into_iter()
        .chain((0..9).map(|n| 89_760 + n * 88_480))
        .collect();
    assert_eq!(departures(&results, 0), sent);
    let first = 88_160 + 1_000_000;
    let forwarded: Vec<u64> = [first]
        .into_iter()
        .chain((0..9).map(|n| first + 89_760 + n * 88_480))
        .collect();
    assert_eq!(departures(&results, 2), forwarded);
    assert_eq!(taken(&results, 0), 2_972_640 + 2_010_560);
    assert_eq!(results.totals.data_packets, 10);
}

#[test]
fn a_slow_link_spaces_the_packets_behind_it() {
    // 100 Gb/s, then 25 Gb/s (320 ps a byte), 3 packets of 1024 B.
    // At the switch: packet 1 at 1,088,160; it leaves until 1,088,160 + 1122 x 320 = 1,447,200;
    // packet 2 leaves until + 1106 x 320 = 353,920, packet 3 starts at 1,801,120.
    // Received after 1086 x 320 = 347,520 and 1,000,000; acknowledged over 25 Gb/s, then 100 Gb/s.
    let fabric = links(2, &[(0, 2, "100Gbps", "1us"), (2, 1, "25Gbps", "1us")]);
    let case = loaded_with("slow", &fabric, &flows(&[(0, 1, 3072, "0ns")]), &[FIXED]);
    let received = 1_801_120 + 347_520 + 1_000_000;
    let answered = 66 * 320 + 1_000_000 + 66 * 80 + 1_000_000;
    assert_eq!(taken(&complete(&case), 0), received + answered);
}

/// Completion of two messages of 3 x 1024 B from hosts 0 and 1 to host 2, the second `late`.
fn two_flows(late: &str) -> (u64, u64) {
    let text = star(3) + &flows(&[(0, 2, 3072, "0ns"), (1, 2, 3072, late)]);
    let results = complete(&loaded(&text, &[FIXED]));
    assert_eq!(results.signals.ecn_marks.count, 0);
    (taken(&results, 0), taken(&results, 1))
}

#[test]
fn two_flows_share_a_downlink() {
    // Packet n of both is at the switch at 1,088,160, 1,176,640 and 1,265,120. They leave in the order
    // A1 B1 A2 B2 A3 B3 (at equal times the lower port first) without a pause in between:
    //   A1 at 1,088,160   B1 at + 89,760 = 1,177,920    A2 at + 89,760 = 1,267,680
    //   B2 at + 88,480 = 1,356,160   A3 at + 88,480 = 1,444,640   B3 at + 88,480 = 1,533,120.
    // Each last packet is received 86,880 + 1,000,000 later, its acknowledgement 2,010,560 after that.
    let last = 86_880 + 1_000_000 + 2_010_560;
    assert_eq!(two_flows("0ns"), (1_444_640 + last, 1_533_120 + last));
    // 50 ns later B's packets still come between A's: B1 at 1,138,160 before A2 at 1,176,640, B2 at
    // 1,226,640 before A3 at 1,265,120. So B leaves at the same times.
    assert_eq!(
        two_flows("50ns"),
        (1_444_640 + last, 1_533_120 + last - 50_000)
    );
    // 100 ns later, A2 comes before B1 (at 1,188,160): A1 A2, then B1 before A3, A3 before B2 (at
    // 1,276,640). A1 until 1,177,920, A2 until 1,266,400, B1 until 1,356,160, A3, B2, B3.
    let (a3, b3) = (1_356_160, 1_356_160 + 2 * 88_480);
    assert_eq!(two_flows("100ns"), (a3 + last, b3 + last - 100_000));
}

#[test]
fn a_lone_message_takes_its_ideal_time() {
    let hops: [&[&str]; 4] = [
        &["100Gbps"],
        &["100Gbps", "7Gbps"],
        &["10Gbps", "400Gbps", "100Gbps"],
        &["100Gbps", "40Gbps", "400Gbps", "25Gbps", "200Gbps"],
    ];
    let sizes = [
        1, 64, 1000, 1024, 1025, 1028, 1500, 2048, 2052, 4096, 4097, 100_000, 1_000_000, 3_333_333,
        10_000_000,
    ];
    let intervals = [1, 2, 3, 8, 65_536];
    let cases = hops
        .iter()
        .flat_map(|rates| intervals.map(|every| (rates, every)));
    for (rates, every) in cases {
        let every = format!("transport.ack_interval={every}");
        let results = complete(&lone_messages(rates, &sizes, &every));
        assert_eq!(results.messages.len(), sizes.len());
        for message in &results.messages {
            let taken = message.finish.map(|finish| finish - message.start);
            assert_eq!(
                taken,
                Some(message.ideal),
                "{} over {rates:?} {every}",
                message.size
            );
            assert_eq!(message.slowdown(), Some(1.0));
        }
    }
}

#[test]
fn the_ideal_time_counts_the_acknowledgement_in_front_of_the_last() {
    // The last packet has 62 + 1 B and comes 83 byte times after the one before, whose
    // acknowledgement keeps the receiver's transmitter for 66 + 20 = 86. So alone on the fabric the
    // last acknowledgement waits for 3 byte times.
    // The first packet leaves the switch at 1,088,160; the second is there at 89,760 + 5,040 +
    // 1,000,000 = 1,094,800 and leaves at 1,177,920, received at + 5,040 + 1,000,000 = 2,182,960.
    // The first acknowledgement leaves at 2,176,320 until + 86 x 80 = 2,183,200: the last one then.
    let results = complete(&loaded(
        &(star(2) + &flows(&[(0, 1, 1025, "0ns")])),
        &[FIXED],
    ));
    assert_eq!(taken(&results, 0), 2_183_200 + 2_010_560);
    assert_eq!(results.messages[0].ideal.as_ps(), 2_183_200 + 2_010_560);
}

#[test]
fn the_last_acknowledgement_needn_t_wait_for_one_that_was_lost() {
    // The two acknowledgements of a message meet on the slow link in the middle, if both get there.
    let chain = [
        (0, 2, "100Gbps", "1us"),
        (2, 3, "25Gbps", "1us"),
        (3, 1, "100Gbps", "1us"),
    ];
    let starts: Vec<String> = (0..500).map(|at| format!("{}us", at * 200)).collect();
    let list: Vec<_> = starts
        .iter()
        .map(|start| (0, 1, 1025, start.as_str()))
        .collect();
    let sets = [
        FIXED,
        "faults.loss_rate=0.1",
        "transport.ack_timeout=\"50us\"",
    ];
    // It is held against ideal times.
    complete(&loaded_with(
        "lossy",
        &links(2, &chain),
        &flows(&list),
        &sets,
    ));
}

/// Messages of `sizes` far apart, over a chain of links with `rates`.
fn lone_messages(rates: &[&str], sizes: &[u64], set: &str) -> fairlane_scenario::Loaded {
    let last = rates.len() as u32;
    // Hosts are 0 and 1, switches from 2 on.
    let node = |at: u32| match at {
        0 => 0,
        at if at == last => 1,
        at => at + 1,
    };
    let chain: Vec<_> = (0..last)
        .map(|at| (node(at), node(at + 1), rates[at as usize], "1us"))
        .collect();
    let starts: Vec<String> = (0..sizes.len())
        .map(|at| format!("{}ms", at * 50))
        .collect();
    let list: Vec<_> = sizes
        .iter()
        .zip(&starts)
        .map(|(&size, start)| (0, 1, size, start.as_str()))
        .collect();
    loaded_with(
        &format!("lone-{last}"),
        &links(2, &chain),
        &flows(&list),
        &[FIXED, set],
    )
}
