//! How the fabric behaves: loss, marks, classes, queues, fairness, collectives, incast.

use fairlane_congestion::Algorithm;
use fairlane_fabric::metrics::jain;
use fairlane_fabric::{Ending, Outcome, Results, TraceEvent, TracedPacket};

use crate::common::{complete, drops, flows, loaded, run, star, taken};

const FIXED: &str = "congestion.algorithm=\"fixed\"";

/// `senders` hosts send `size` bytes each to the last host of a star.
fn incast(senders: u32, size: u64) -> String {
    let list: Vec<_> = (0..senders)
        .map(|host| (host, senders, size, "0ns"))
        .collect();
    star(senders + 1) + &flows(&list)
}

#[test]
fn one_and_five_percent_of_loss_are_survived() {
    let leaf_spine = "topology = { kind = \"leaf-spine\", leaves = 4, spines = 4, hosts_per_leaf = 4, \
        host_link = { rate = \"100Gbps\", delay = \"1us\" }, \
        fabric_link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
        [[workload]]\nkind = \"all-to-all\"\nsize = \"40kB\"\n";
    for loss in ["0.01", "0.05"] {
        for algorithm in Algorithm::ALL {
            let sets = [
                format!("faults.loss_rate={loss}"),
                format!("congestion.algorithm=\"{algorithm}\""),
                "transport.ack_timeout=\"1ms\"".into(),
                // The pacer must not wait longer than the timeout. With one packet in flight each
                // timeout is one more chance, and a third of the round trips lose it.
                "congestion.swift.min_window=0.1".into(),
                "transport.retry_limit=30".into(),
            ];
            let results = run(&loaded(leaf_spine, &sets.each_ref().map(String::as_str)));
            assert_eq!(results.totals.ending, Ending::Complete, "{sets:?}");
            assert!(drops(&results, "link-error") > 0);
            let signals = &results.signals;
            assert!(signals.retransmissions.count > 0 && signals.naks.count > 0);
            assert!(signals.timeouts.count > 0);
        }
    }
}

#[test]
fn loss_follows_the_rate() {
    let sets = [
        "faults.loss_rate=0.03",
        FIXED,
        "transport.ack_timeout=\"100us\"",
    ];
    let pairs = star(4) + &flows(&[(0, 1, 4_000_000, "0ns"), (2, 3, 4_000_000, "0ns")]);
    let results = complete(&loaded(&pairs, &sets));
    let crossed = results.totals.message_transmissions as f64;
    let expected = 0.03 * crossed;
    let lost = drops(&results, "link-error") as f64;
    // Five standard deviations of a binomial count.
    assert!(
        (lost - expected).abs() < 5.0 * expected.sqrt(),
        "{lost} of {crossed}"
    );
}

#[test]
fn loss_and_pauses_together_are_survived() {
    let sets = [
        "faults.loss_rate=0.01",
        "switch.buffer=\"900kB\"",
        "transport.ack_timeout=\"500us\"",
        FIXED,
    ];
    let results = complete(&loaded(&incast(12, 300_000), &sets));
    assert!(results.signals.pauses.count > 0);
    assert_eq!(drops(&results, "buffer-full"), 0);
}

#[test]
fn a_hopeless_link_fails_its_messages() {
    let sets = [
        "faults.loss_rate=0.9",
        "transport.ack_timeout=\"20us\"",
        "transport.retry_limit=2",
    ];
    let results = run(&loaded(&incast(3, 50_000), &sets));
    assert_eq!(results.totals.ending, Ending::Failed);
    assert!(
        results
            .messages
            .iter()
            .any(|m| m.outcome == Outcome::RetryExceeded)
    );
}

/// Length of the queue that stayed behind each marked and each unmarked data packet at node `node`.
fn queues_behind(results: &Results, node: u32) -> (Vec<u64>, Vec<u64>) {
    let data = results.trace.iter().filter(|record| {
        record.node.get() == node
            && record.packet == TracedPacket::Data
            && record.event == TraceEvent::Dequeued
    });
    let (marked, plain): (Vec<_>, Vec<_>) = data.partition(|record| record.marked);
    let queue = |list: Vec<&fairlane_fabric::TraceRecord>| {
        list.iter().map(|record| record.queue.get()).collect()
    };
    (queue(marked), queue(plain))
}

#[test]
fn marks_begin_above_kmin_and_are_certain_above_kmax() {
    // 400 and 1600 B per Gb/s at 100 Gb/s: 40 kB and 160 kB.
    let sets = [
        FIXED,
        "output.trace_nodes=[4]",
        "switch.ecn.kmin_per_gbps=400",
        "switch.ecn.kmax_per_gbps=1600",
        "switch.ecn.pmax=0.5",
    ];
    let results = complete(&loaded(
        &incast(3, 200_000),
        &["output.trace_nodes=[4]", FIXED],
    ));
    assert_eq!(
        results.signals.ecn_marks.count, 0,
        "the default kmin is 400 kB"
    );
    let results = complete(&loaded(&incast(3, 200_000), &sets));
    let (marked, plain) = queues_behind(&results, 4);
    assert_eq!(results.signals.ecn_marks.count, marked.len() as u64);
    assert_eq!(results.signals.cnps.count, marked.len() as u64);
    assert!(marked.iter().all(|&queue| queue > 40_000));
    assert!(plain.iter().all(|&queue| queue <= 160_000));
    // Between the two the probability rises linearly to 0.5.
    let share = |low: u64, high: u64| {
        let count = |list: &[u64]| list.iter().filter(|&&q| q > low && q <= high).count() as f64;
        count(&marked) / (count(&marked) + count(&plain))
    };
    let (lower, upper) = (share(40_000, 100_000), share(100_000, 160_000));
    assert!(
        (0.04..0.22).contains(&lower) && (0.25..0.5).contains(&upper),
        "{lower} {upper}"
    );
}

#[test]
fn classes_share_a_port_in_turn() {
    // Two messages of class 3 and one of class 5 over one link: the classes get half each.
    let list = "[[workload]]\nkind = \"flows\"\nflow = [\n\
        { source = 0, destination = 3, size = 1024000, class = 3 },\n\
        { source = 1, destination = 3, size = 1024000, class = 3 },\n\
        { source = 2, destination = 3, size = 1024000, class = 5 } ]\n";
    let sets = [FIXED, "switch.ecn.enabled=false", "output.trace_nodes=[4]"];
    let results = complete(&loaded(&(star(4) + list), &sets));
    let order: Vec<u8> = results
        .trace
        .iter()
        .filter(|r| r.packet == TracedPacket::Data && r.event == TraceEvent::Dequeued)
        .map(|record| record.class)
        .collect();
    let both = &order[20..1900];
    assert!(
        both.windows(2).all(|pair| pair[0] != pair[1]),
        "classes don't alternate"
    );
    // Class 5 is done after about two thirds of the time of the others.
    let (three, five) = (taken(&results, 0) as f64, taken(&results, 2) as f64);
    assert!((0.64..0.70).contains(&(five / three)), "{five} {three}");
}

#[test]
fn a_packet_that_finds_its_port_idle_takes_its_turn() {
    // While a packet of class 3 leaves an idle port, one of class 3 and one of class 5 come in: it is
    // the turn of class 5. Each has 1078 B, and 1098 B with its gap: 87,840 ps.
    let list = "[[workload]]\nkind = \"flows\"\nflow = [\n\
        { source = 0, destination = 3, size = 1000, class = 3 },\n\
        { source = 1, destination = 3, size = 1000, start = \"10ns\", class = 3 },\n\
        { source = 2, destination = 3, size = 1000, start = \"10ns\", class = 5 } ]\n";
    for sets in [&[FIXED] as &[&str], &[FIXED, "output.trace_nodes=[4]"]] {
        let results = complete(&loaded(&(star(4) + list), sets));
        assert_eq!(taken(&results, 2), 4_183_040 + 87_840 - 10_000);
        assert_eq!(taken(&results, 1), 4_183_040 + 2 * 87_840 - 10_000);
    }
}

#[test]
fn a_class_that_is_paused_doesn_t_hold_up_another() {
    // Class 3 fills its share of a tiny buffer and is paused; a class 5 message from the same
    // host passes.
    let list = "[[workload]]\nkind = \"flows\"\nflow = [\n\
        { source = 0, destination = 3, size = 500000, class = 3 },\n\
        { source = 1, destination = 3, size = 500000, class = 3 },\n\
        { source = 0, destination = 2, size = 100000, class = 5 } ]\n";
    let results = complete(&loaded(
        &(star(4) + list),
        &[FIXED, "switch.buffer=\"450kB\""],
    ));
    assert!(results.signals.pauses.count > 0);
    assert!(results.pauses.iter().all(|pause| pause.class == 3));
    // 100 kB need 8.6 us at line rate and 17 us at half of it.
    assert!(taken(&results, 2) < 25_000_000, "{}", taken(&results, 2));
    assert!(taken(&results, 0) > 80_000_000);
}

fn deepest_queue(algorithm: &str) -> u64 {
    let set = format!("congestion.algorithm=\"{algorithm}\"");
    let text = incast(2, 8_000_000);
    let results = complete(&loaded(&text, &[&set, "output.sample_interval=\"10us\""]));
    let row = |at: usize| at * results.series.ports..(at + 1) * results.series.ports;
    let rows = results.series.sent.len() / results.series.ports;
    // The second half of the run, when the controllers have settled.
    let settled = (rows / 2..rows).flat_map(|at| &results.series.queue_max[row(at)]);
    *settled.max().unwrap()
}

#[test]
fn hpcc_keeps_queues_short_and_fixed_rates_don_t() {
    let (hpcc, dcqcn, fixed) = (
        deepest_queue("hpcc"),
        deepest_queue("dcqcn"),
        deepest_queue("fixed"),
    );
    assert!(hpcc < 20_000, "{hpcc}");
    assert!(dcqcn > hpcc && fixed > dcqcn, "{hpcc} {dcqcn} {fixed}");
}

#[test]
fn two_dcqcn_flows_share_fairly() {
    let results = complete(&loaded(&incast(2, 40_000_000), &[]));
    let rates: Vec<f64> = (0..2).map(|id| 1.0 / taken(&results, id) as f64).collect();
    let fairness = jain(&rates).unwrap();
    assert!(fairness > 0.98, "{fairness} {rates:?}");
    assert!(results.signals.cnps.count > 0);
    // 80 MB at 100 Gb/s need 6.9 ms with headers and gaps.
    assert!(
        results.totals.end.as_ps() < 12_000_000_000,
        "{}",
        results.totals.end
    );
}

#[test]
fn an_all_reduce_takes_its_steps_one_after_the_other() {
    // 4 hosts in a star, 400 kB: 2 x 3 steps of 100 kB, each one way. 98 packets on the wire are
    // 100,000 + 98 x (62 + 20) + 16 B = 108,052 B or 8.64 us, and a last packet needs 2.09 us more
    // over two links. Acknowledgements of the neighbour's data, at most 98 x (66 + 20) B in a step,
    // go between. The last acknowledgement of all takes 2.01 us.
    let text = star(4) + "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"400kB\"\n";
    let results = complete(&loaded(&text, &[FIXED]));
    assert_eq!(results.messages.len(), 24);
    let starts: Vec<u64> = results.messages.iter().map(|m| m.start.as_ps()).collect();
    assert!(
        starts.is_sorted(),
        "steps finish in the order in which they start"
    );
    let end = results.totals.end.as_ps() as f64 / 1e6;
    let step = 108_052.0 * 80e-6 + 2.0 + 0.087;
    let between = 98.0 * 86.0 * 80e-6;
    let (least, most) = (6.0 * step + 2.01, 6.0 * (step + between) + 2.01);
    assert!(
        least - 0.1 < end && end < most,
        "{end} us isn't within {least} and {most}"
    );
}

#[test]
fn an_incast_with_pauses_loses_nothing_and_uses_the_whole_link() {
    let text = incast(16, 256_000);
    let results = complete(&loaded(&text, &[FIXED, "switch.buffer=\"1200kB\""]));
    assert!(results.signals.pauses.count > 0 && results.signals.paused_ns.count > 0);
    assert_eq!(results.signals.drops["buffer-full"].count, 0);
    // 16 x 250 packets with headers and gaps: 4,096,000 + 4000 x 82 + 16 x 16 B at 80 ps a byte.
    let wire = (4_096_000 + 4000 * 82 + 256) * 80;
    let end = results.totals.end.as_ps();
    assert!(end > wire && end < wire + 6_000_000, "{end} against {wire}");
}

#[test]
fn late_duplicates_stay_on_their_way() {
    // Timeouts far below the queueing delay make duplicates that are under way when their message
    // completes and its place is taken by another message with another path.
    let text = "topology = { kind = \"leaf-spine\", leaves = 3, spines = 3, hosts_per_leaf = 3, \
        host_link = { rate = \"100Gbps\", delay = \"1us\" }, \
        fabric_link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
        [[workload]]\nkind = \"poisson\"\nload = 0.7\nduration = \"200us\"\nsizes = [ \
        { size = 1000, percent = 0 }, { size = 30000, percent = 100 } ]\n";
    let sets = [
        FIXED,
        "transport.ack_timeout=\"9us\"",
        "transport.retry_limit=1000",
        "output.trace_nodes=[9,10,11,12,13,14]",
    ];
    let results = complete(&loaded(text, &sets));
    assert!(results.signals.retransmissions.count > 0);
    let pairs = results.trace.windows(2);
    let arrivals = pairs.filter(|pair| pair[0].event == TraceEvent::Received);
    for pair in arrivals.filter(|pair| pair[0].packet != TracedPacket::Pause) {
        assert_eq!(
            (pair[0].node, pair[0].time),
            (pair[1].node, pair[1].time),
            "{pair:?}"
        );
    }
}
