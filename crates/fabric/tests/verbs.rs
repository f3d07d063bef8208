//! Every verb, exactly and under congestion and loss; what is sent again, and who sets the rate.

use fairlane_fabric::{Ending, Results};

use crate::common::{complete, drops, flows, loaded, run, star, taken};

const FIXED: &str = "congestion.algorithm=\"fixed\"";
const VERBS: [&str; 5] = ["write", "send", "read", "fetch-add", "compare-swap"];

/// One message of `verb` between two hosts at a switch: its completion time in picoseconds.
fn alone(verb: &str, size: u64) -> u64 {
    let text = star(2) + &flows(&[(0, 1, size, "0ns")]);
    let verb = format!("workload.0.verb=\"{verb}\"");
    taken(&complete(&loaded(&text, &[FIXED, &verb])), 0)
}

#[test]
fn a_send_is_a_write_without_reth() {
    // There (62 + 1000) B x 80 ps = 84,960 ps, back 66 B x 80 ps = 5,280 ps, and 1 us on each link.
    assert_eq!(alone("send", 1000), 2 * 1_084_960 + 2 * 1_005_280);
}

#[test]
fn payload_is_padded_to_four_bytes() {
    assert_eq!(alone("write", 997), alone("write", 1000));
    assert_eq!(alone("write", 996), alone("write", 1000) - 2 * 4 * 80);
}

#[test]
fn a_read_of_one_packet() {
    // The request has 62 + 16 B: 6,240 ps; the response 62 + 4 + 1000 B: 85,280 ps.
    assert_eq!(alone("read", 1000), 2 * 1_006_240 + 2 * 1_085_280);
}

#[test]
fn a_read_of_three_packets() {
    // The request is there at 2 x 1,006,240. The responses have 1090, 1086 and 1090 B (an AETH in the
    // first and the last), with gaps 1110, 1106: they leave at 0, 88,800 and 177,280 after that, and
    // the switch at 1,087,200, at 1,176,000 (when the first is out) and at 1,264,480.
    let received = 1_264_480 + 87_200 + 1_000_000;
    assert_eq!(alone("read", 3072), 2 * 1_006_240 + received);
}

#[test]
fn an_atomic_is_a_packet_there_and_back() {
    // The request has 62 + 28 B: 7,200 ps; the answer 62 + 4 + 8 B: 5,920 ps.
    let expected = 2 * 1_007_200 + 2 * 1_005_920;
    assert_eq!(alone("fetch-add", 8), expected);
    assert_eq!(alone("compare-swap", 8), expected);
}

#[test]
fn alone_every_verb_takes_its_ideal_time() {
    for verb in VERBS {
        for size in [1, 8, 1023, 1024, 1025, 2048, 5000, 100_000, 1_000_003] {
            if verb.contains('-') && size != 8 {
                continue;
            }
            let text = star(2) + &flows(&[(0, 1, size, "0ns")]);
            let verb = format!("workload.0.verb=\"{verb}\"");
            for algorithm in [FIXED, "congestion.algorithm=\"dcqcn\""] {
                let results = complete(&loaded(&text, &[algorithm, &verb]));
                let message = &results.messages[0];
                assert_eq!(taken(&results, 0), message.ideal.as_ps(), "{verb} {size}");
            }
        }
    }
}

/// Eight hosts and one more: eight messages at once from the many to the one, or with READ from one.
fn incast(verb: &str, algorithm: &str, more: &[&str]) -> Results {
    let list: Vec<(u32, u32, u64, &str)> = (0..8)
        .map(|n| if verb == "read" { (8, n) } else { (n, 8) })
        .map(|(source, destination)| (source, destination, 1_000_000, "0ns"))
        .collect();
    let text = star(9) + &flows(&list);
    let verb = format!("workload.0.verb=\"{verb}\"");
    let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
    let mut settings = vec![verb.as_str(), algorithm.as_str()];
    settings.extend_from_slice(more);
    complete(&loaded(&text, &settings))
}

#[test]
fn responses_to_reads_are_under_congestion_control_at_the_responder() {
    let deepest = |algorithm| incast("read", algorithm, &[]).totals.queue_max.get();
    let (fixed, dcqcn, hpcc) = (deepest("fixed"), deepest("dcqcn"), deepest("hpcc"));
    assert!(dcqcn < fixed, "{dcqcn} of {fixed}");
    assert!(hpcc < fixed / 4, "{hpcc} of {fixed}");
    // Marks on responses come back to the responders, as those on data come back to senders.
    let heard = incast("read", "dcqcn", &[]).signals;
    assert!(heard.ecn_marks.count > 0);
    assert_eq!(heard.cnps.count, heard.ecn_marks.count);
}

#[test]
fn a_read_incast_behaves_like_a_write_incast() {
    for algorithm in ["fixed", "dcqcn", "hpcc"] {
        let end = |verb| incast(verb, algorithm, &[]).totals.end.as_ps() as f64;
        let ratio = end("read") / end("write");
        assert!((0.8..1.25).contains(&ratio), "{algorithm}: {ratio}");
    }
}

#[test]
fn every_verb_survives_loss() {
    for verb in VERBS {
        for recovery in ["go-back-n", "selective-repeat"] {
            for more in [
                "transport.direct_placement=false",
                "transport.direct_placement=true",
            ] {
                let size = if verb.contains('-') { 8 } else { 200_000 };
                let list: Vec<_> = (0..6u32).map(|n| (n, (n + 1) % 6, size, "0ns")).collect();
                let text = star(6) + &flows(&list);
                let settings = [
                    format!("workload.0.verb=\"{verb}\""),
                    format!("transport.recovery=\"{recovery}\""),
                    more.into(),
                    "faults.loss_rate=0.02".into(),
                    "transport.ack_timeout=\"100us\"".into(),
                    "transport.retry_limit=100".into(),
                ];
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                let results = run(&loaded(&text, &settings));
                assert_eq!(results.totals.ending, Ending::Complete, "{settings:?}");
                if size > 8 {
                    assert!(drops(&results, "link-error") > 0, "{settings:?}");
                }
            }
        }
    }
}

#[test]
fn selective_repeat_sends_less_again() {
    let repeated = |recovery: &str| {
        let text = star(2) + &flows(&[(0, 1, 10_000_000, "0ns")]);
        let recovery = format!("transport.recovery=\"{recovery}\"");
        let settings = [
            FIXED,
            &recovery,
            "faults.loss_rate=0.002",
            "transport.ack_timeout=\"100us\"",
            "transport.nak_interval=\"10us\"",
        ];
        let results = run(&loaded(&text, &settings));
        assert_eq!(results.totals.ending, Ending::Complete);
        let lost = drops(&results, "link-error");
        (results.signals.retransmissions.count, lost)
    };
    let (all, _) = repeated("go-back-n");
    let (few, lost) = repeated("selective-repeat");
    assert!(few * 4 < all, "{few} instead of {all}");
    assert!(
        few <= lost + 10,
        "{few} for {lost} lost packets and acknowledgements"
    );
}

#[test]
fn acknowledgements_are_as_rare_as_asked() {
    let replies = |interval: u32| {
        let interval = format!("transport.ack_interval={interval}");
        let text = star(2) + &flows(&[(0, 1, 1_024_000, "0ns")]);
        let results = complete(&loaded(&text, &[FIXED, &interval]));
        assert_eq!(results.signals.retransmissions.count, 0);
        results.totals.message_transmissions / 2 - results.totals.data_packets
    };
    assert_eq!((replies(1), replies(16), replies(1000)), (1000, 63, 1));
}

#[test]
fn a_window_asks_for_an_acknowledgement_before_it_closes() {
    let text = star(2) + &flows(&[(0, 1, 1_000_000, "0ns")]);
    let settings = [
        FIXED,
        "congestion.window=\"fixed\"",
        "transport.ack_interval=60000",
    ];
    let results = complete(&loaded(&text, &settings));
    assert_eq!(results.signals.timeouts.count, 0);
}

#[test]
fn a_message_after_a_read_waits_for_its_data() {
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"60kB\"\nverb = \"read\"\n";
    let results = complete(&loaded(&(star(4) + ring), &[]));
    for message in &results.messages {
        assert!(message.finish.is_some());
    }
    assert_eq!(results.messages.len(), 4 * 6);
}

#[test]
fn a_read_repeats_what_was_lost_and_no_more_counts() {
    // Without loss of requests, what is sent again is what the responder had sent behind the gap.
    let text = star(2) + &flows(&[(0, 1, 2_000_000, "0ns")]);
    let settings = [
        FIXED,
        "workload.0.verb=\"read\"",
        "faults.loss_rate=0.001",
        "transport.ack_timeout=\"100us\"",
        "transport.retry_limit=100",
    ];
    let results = run(&loaded(&text, &settings));
    assert_eq!(results.totals.ending, Ending::Complete);
    let again = results.signals.retransmissions.count;
    assert!(drops(&results, "link-error") > 0 && again > 0);
    // One request, every response once, and the repeats.
    let requests_again = results.messages[0].retransmitted as u64;
    assert_eq!(
        results.totals.data_packets,
        1 + 2_000_000_u64.div_ceil(1024) + again
    );
    assert_eq!(requests_again, again);
}

#[test]
fn a_read_goes_on_after_lost_feedback_and_closed_windows() {
    for algorithm in ["swift", "nscc", "hpcc", "powertcp", "dctcp"] {
        let list: Vec<_> = (0..8u32).map(|n| (8, n, 300_000, "0ns")).collect();
        let text = star(9) + &flows(&list);
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        let settings = [
            "workload.0.verb=\"read\"",
            &algorithm,
            "faults.loss_rate=0.03",
            "transport.ack_timeout=\"200us\"",
            "transport.retry_limit=30",
            "congestion.swift.min_window=0.1",
        ];
        let results = run(&loaded(&text, &settings));
        assert_eq!(results.totals.ending, Ending::Complete, "{algorithm}");
    }
}

#[test]
fn a_window_that_shrinks_under_rare_acknowledgements_stalls_nobody() {
    for algorithm in ["swift", "nscc", "hpcc", "powertcp", "dctcp"] {
        let results = incast("write", algorithm, &["transport.ack_interval=64"]);
        assert_eq!(results.signals.timeouts.count, 0, "{algorithm}");
        assert!(results.totals.end.as_ps() < 2_000_000_000, "{algorithm}");
    }
}

#[test]
fn rare_acknowledgements_tell_of_marks_between_them() {
    let heard = |interval: &str| {
        let results = incast("write", "dctcp", &[interval]);
        results.signals.cnps.count
    };
    let (every, rare) = (
        heard("transport.ack_interval=1"),
        heard("transport.ack_interval=16"),
    );
    assert!(rare > 0 && rare <= every, "{rare} of {every}");
}

#[test]
fn in_a_read_incast_the_receiver_reads() {
    let text = "[[workload]]\nkind = \"incast\"\ndegree = 4\nsize = \"20kB\"\nreceiver = 5\nverb = \"read\"\n";
    let results = complete(&loaded(&(star(6) + text), &[]));
    assert!(
        results
            .messages
            .iter()
            .all(|message| message.source.get() == 5)
    );
}
