//! Connections that stay open: their messages go in the order of posting, and congestion control remembers.

use std::collections::BTreeSet;

use fairlane_fabric::{
    CollectiveRecord, Control, Ending, MessageRecord, Outcome, Results, Simulation,
};
use fairlane_scenario::{Files, Loaded, parse_with};
use fairlane_units::{Bytes, Time};

use crate::common::{complete, flows, loaded, random, run, run_unchecked, star};

/// A program of GOAL on a star of so many hosts.
fn goal(hosts: u32, program: &str, sets: &[&str]) -> Loaded {
    let text = star(hosts) + "[[workload]]\nkind = \"program\"\npath = \"program.goal\"\n";
    let held = [("program.goal", program.as_bytes())];
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    parse_with(&text, "test.toml", Files::Held(&held), &sets, None).unwrap()
}

const FIXED: &str = "congestion.algorithm=\"fixed\"";

fn message(results: &Results, id: u32) -> &MessageRecord {
    results
        .messages
        .iter()
        .find(|it| it.id.get() == id)
        .unwrap()
}

/// When a message was known to have arrived, in seconds.
fn finish(results: &Results, id: u32) -> f64 {
    message(results, id).finish.unwrap().as_ps() as f64 / 1e12
}

/// Seconds at 100 Gb/s, gaps included: of a byte of payload with its share of headers, of the acknowledgements for a byte, and
/// of a whole packet.
fn times(case: &Loaded) -> [f64; 3] {
    let sizes = &case.scenario.packet;
    let (mtu, gap) = (sizes.mtu.as_f64(), sizes.gap.as_f64());
    let packet = mtu + sizes.header.as_f64() + gap;
    let answer = sizes.ack.as_f64() + gap;
    [packet / mtu, answer / mtu, packet].map(|bytes| bytes * 8.0 / 100e9)
}

/// A ring of 64 MB over two racks whose only link between them has a quarter of the hosts' rate.
const SLOW_LINK: &str = r#"
[topology]
kind = "dumbbell"
left = 4
right = 4
host_link = { rate = "400Gbps", delay = "500ns" }
core_link = { rate = "100Gbps", delay = "500ns" }
[packet]
mtu = "4KiB"
"#;
const RING: &str = "[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"64MB\"\n";

/// The slow link carries 14 blocks of 8 MB each way: a ring takes about as long as one message of these bytes each way, and no
/// shorter than they take with their acknowledgements at the link's full rate.
#[test]
fn a_ring_over_a_slow_link_takes_as_long_as_one_message() {
    for sets in [&[][..], &[FIXED]] {
        let case = loaded(&(SLOW_LINK.to_owned() + RING), sets);
        let [beta, answer, _] = times(&case);
        let ring = complete(&case);
        let time = ring.collectives[0].time().unwrap().as_secs_f64();
        let both = [(3, 4, 112_000_000, "0us"), (7, 0, 112_000_000, "0us")];
        let alone = complete(&loaded(&(SLOW_LINK.to_owned() + &flows(&both)), sets));
        let one = finish(&alone, 0).max(finish(&alone, 1));
        let bound = 112e6 * (beta + answer);
        println!("{sets:?}: {time}, one message {one}, bound {bound}");
        assert!(time > bound && time < one * 1.03, "{time} for {one}");
    }
}

/// Ranks of a ring all-reduce, one of which computes for a while first.
fn late_ring(ranks: u32, block: u64, late: Option<(u32, u64)>) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        text += &format!("rank {rank} {{\n");
        let wait = late.filter(|(who, _)| *who == rank).map_or(0, |(_, ns)| ns);
        text += &format!("w: calc {wait}\n");
        for step in 0..2 * (ranks - 1) {
            text += &format!("s{step}: send {block}b to {next} tag {step}\n");
            text += &format!("r{step}: recv {block}b from {before} tag {step}\n");
            text += &format!("s{step} requires w\n");
            if step > 0 {
                text += &format!("s{step} requires r{}\n", step - 1);
            }
        }
        text += "}\n";
    }
    text
}

/// When all blocks of such a ring have arrived, if each rank sends its blocks one after the other: block k leaves when it has
/// been received from the rank before and the block before it has left. `alpha` is the time of a packet's way.
fn in_order(ranks: usize, (block, alpha): (f64, f64), late: Option<(usize, f64)>) -> f64 {
    let ready = |rank: usize| late.filter(|it| it.0 == rank).map_or(0.0, |it| it.1);
    let mut left: Vec<f64> = (0..ranks).map(ready).collect();
    let mut arrived: Vec<f64> = left.clone();
    for _ in 0..2 * (ranks - 1) {
        let begins = |rank: usize| arrived[rank].max(left[rank]);
        let leaves: Vec<f64> = (0..ranks).map(|rank| begins(rank) + block).collect();
        let before = |rank: usize| leaves[(rank + ranks - 1) % ranks] + alpha;
        arrived = (0..ranks)
            .map(|rank| before(rank).max(ready(rank)))
            .collect();
        left = leaves;
    }
    arrived.into_iter().fold(0.0, f64::max)
}

/// What waits at a rank that is late goes out block by block, not all at once.
#[test]
fn a_late_rank_makes_a_ring_late_by_that_and_no_more() {
    let block = 1_000_000;
    let run = |late: Option<(u32, u64)>, sets: &[&str]| {
        let case = goal(8, &late_ring(8, block, late), sets);
        let [beta, answer, packet] = times(&case);
        let results = complete(&case);
        let ends = results.messages.iter().map(|it| it.finish.unwrap());
        let end = ends.max().unwrap().as_ps() as f64 / 1e12;
        let late = late.map(|(rank, ns)| (rank as usize, ns as f64 / 1e9));
        // Acknowledgements of what a host receives share its link; the last one is on its way for two delays.
        let model = in_order(8, (block as f64 * (beta + answer), 2e-6 + packet), late);
        println!("{late:?}: {end}, {model} by the model");
        end / (model + 2e-6)
    };
    for late in [None, Some((3, 1_000_000))] {
        let ratio = run(late, &[FIXED]);
        assert!((ratio - 1.0).abs() < 0.02, "{late:?}: {ratio}");
        // Where data of one neighbour and acknowledgements of the other meet, DCQCN slows down.
        let ratio = run(late, &[]);
        assert!(ratio > 0.98 && ratio < 1.15, "{late:?}: {ratio}");
    }
}

/// The record of the only step of a program.
fn step(results: &Results) -> &CollectiveRecord {
    let steps = results.collectives.iter().filter(|it| it.kind.is_none());
    let [step] = steps.collect::<Vec<_>>()[..] else {
        panic!("one step, found {:?}", results.collectives);
    };
    step
}

#[test]
fn a_step_covers_computations_and_messages() {
    let one_way = "num_ranks 2\nrank 0 {\nc: calc 5000\na: send 1000000b to 1 tag 1\na requires c\n}\n\
                   rank 1 {\na: recv 1000000b from 0 tag 1\n}\n";
    let case = goal(2, one_way, &[]);
    let [beta, _, packet] = times(&case);
    let results = complete(&case);
    let row = step(&results);
    // The computation, then the message over two links there and back.
    let end = 5e-6 + 1e6 * beta + packet + 4e-6;
    let ended = row.end.unwrap().as_ps() as f64 / 1e12;
    assert!((ended / end - 1.0).abs() < 0.005, "{ended}, expected {end}");
    assert_eq!((row.start, row.ranks), (Some(Time::ZERO), 2));
    assert_eq!(row.sent, Bytes::new(1_000_000));
}

#[test]
fn a_step_of_an_exchange_has_both_ways() {
    let exchange = "num_ranks 2\nrank 0 {\nc: calc 5000\na: send 1000000b to 1 tag 1\nb: recv 1000000b from 1 tag 2\n\
                    a requires c\n}\nrank 1 {\na: recv 1000000b from 0 tag 1\nb: send 1000000b to 0 tag 2\n}\n";
    let case = goal(2, exchange, &[]);
    let [beta, answer, packet] = times(&case);
    let results = complete(&case);
    let row = step(&results);
    // Each way carries the data of one message and the acknowledgements of the other.
    let least = 5e-6 + 1e6 * beta + packet + 4e-6;
    let most = least + 1e6 * answer + 2.0 * packet;
    let ended = row.end.unwrap().as_ps() as f64 / 1e12;
    assert!(
        ended > least && ended < most * 1.005,
        "{least} to {most}: {ended}"
    );
    assert_eq!((row.start, row.ranks), (Some(Time::ZERO), 2));
    assert_eq!(row.sent, Bytes::new(2_000_000));
    // Rank 0 begins later, so its message ends last.
    assert_eq!(row.slowest.map(|(rank, _)| rank), Some(0));
}

#[test]
fn two_sends_to_one_peer_complete_one_after_the_other() {
    let pair = "num_ranks 2\nrank 0 {\na: send 1000000b to 1 tag 7\nb: send 1000000b to 1 tag 7\n}\n\
                rank 1 {\na: recv 1000000b from 0 tag 7\nb: recv 1000000b from 0 tag 7\n}\n";
    let case = goal(2, pair, &[]);
    let [beta, _, packet] = times(&case);
    let results = complete(&case);
    // Both links there, with one packet stored and forwarded, and both back.
    let first = 1e6 * beta + packet + 4e-6;
    assert!((finish(&results, 0) / first - 1.0).abs() < 0.005, "{first}");
    let second = first + 1e6 * beta;
    assert!(
        (finish(&results, 1) / second - 1.0).abs() < 0.005,
        "{second}"
    );
    // On connections of their own they share the link, packet by packet.
    let apart = complete(&goal(2, pair, &["workload.0.connections=\"message\""]));
    assert!((finish(&apart, 0) / second - 1.0).abs() < 0.01);
}

/// Two messages of host 0, the second posted while the first is under way beside one of another host.
fn after_congestion(connections: &str) -> Results {
    let list = [
        (0, 2, 3_000_000, "0us"),
        (1, 2, 3_000_000, "0us"),
        (0, 2, 1_000_000, "100us"),
    ];
    let text = star(3) + &flows(&list) + &format!("connections = \"{connections}\"\n");
    let early = [
        "switch.ecn.kmin_per_gbps=200",
        "switch.ecn.kmax_per_gbps=800",
        "output.rate_interval=\"1us\"",
    ];
    complete(&loaded(&text, &early))
}

#[test]
fn a_connection_keeps_what_congestion_control_has_learnt() {
    let first_rate = |results: &Results| {
        let first = results.rates.iter().find(|row| row.message.get() == 2);
        first.unwrap().rate.as_bps()
    };
    assert_eq!(first_rate(&after_congestion("message")), 100_000_000_000);
    let results = after_congestion("pair");
    assert!(first_rate(&results) < 80_000_000_000);
    assert!(message(&results, 2).finish > message(&results, 0).finish);
}

fn text(results: &Results) -> String {
    format!("{results:?}")
}

/// A scenario whose messages share connections wherever they may.
fn shared(text: &str) -> Loaded {
    let kinds = text.split("[[workload]]").skip(1).enumerate();
    let ordinary = kinds.filter(|(_, it)| !it.contains("key-value"));
    let sets = ordinary.map(|(at, _)| format!("workload.{at}.connections=\"pair\""));
    let sets: Vec<String> = sets.collect();
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    loaded(text, &sets)
}

#[test]
fn threads_change_nothing() {
    let mut cut = 0;
    for seed in 0..40 {
        let case = shared(&random::scenario(seed));
        let alone = run(&case);
        for threads in [2, 4] {
            let simulation = Simulation::new(&case).unwrap();
            let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
            cut += usize::from(threading.threads > 1);
            assert!(text(&alone) == text(&results), "{seed}, {threads} threads");
        }
    }
    assert!(cut > 20, "{cut}");
}

/// The source ports of messages from host 0.
fn ports(results: &Results) -> BTreeSet<u16> {
    let own = results.messages.iter().filter(|it| it.source.get() == 0);
    own.map(|it| it.source_port).collect()
}

#[test]
fn channels_divide_vectors_and_take_turns_with_sends() {
    let ring = |kind: &str, channels: u32| {
        let text =
            star(4) + &format!("[[workload]]\nsize = \"8MB\"\nchannels = {channels}\n{kind}");
        complete(&loaded(&text, &[]))
    };
    for kind in [
        "kind = \"collective\"\noperation = \"all-reduce\"\n",
        "kind = \"ring-all-reduce\"\n",
    ] {
        let (one, two) = (ring(kind, 1), ring(kind, 2));
        let sizes = |results: &Results| -> BTreeSet<u64> {
            results.messages.iter().map(|it| it.size.get()).collect()
        };
        assert_eq!((one.messages.len(), two.messages.len()), (24, 48));
        assert_eq!(
            (sizes(&one), sizes(&two)),
            ([2_000_000].into(), [1_000_000].into())
        );
        assert_eq!((ports(&one).len(), ports(&two).len()), (1, 2));
        // They share the same links.
        let ratio = two.totals.end.as_ps() as f64 / one.totals.end.as_ps() as f64;
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }
    let sends = "num_ranks 2\nrank 0 {\na: send 1000000b to 1 tag 1\nb: send 1000000b to 1 tag 2\n\
                 c: send 1000000b to 1 tag 3\n}\nrank 1 {\na: recv 1000000b from 0 tag 1\n\
                 b: recv 1000000b from 0 tag 2\nc: recv 1000000b from 0 tag 3\n}\n";
    let results = complete(&goal(2, sends, &["workload.0.channels=2"]));
    let [a, b, c] = [0, 1, 2].map(|id| message(&results, id));
    assert_eq!(a.source_port, c.source_port);
    assert_ne!(a.source_port, b.source_port);
    // The two connections share the link, and the third message waits for the first.
    assert!(c.finish > a.finish && c.finish > b.finish);
}

#[test]
fn one_path_for_each_pair_is_a_connection_that_stays_open() {
    let list = [
        (0, 2, 500_000, "0us"),
        (1, 2, 500_000, "0us"),
        (0, 2, 500_000, "1us"),
    ];
    let text = star(3) + &flows(&list);
    let own = complete(&loaded(&text, &[]));
    let pair = complete(&loaded(&text, &["workload.0.connections=\"pair\""]));
    let multipath = ["multipath.paths=1", "multipath.connections=\"pair\""];
    let one = complete(&loaded(&text, &multipath));
    assert_eq!(text_of(&pair), text_of(&one));
    assert_ne!(text_of(&pair), text_of(&own));
    assert_eq!((ports(&own).len(), ports(&pair).len()), (2, 1));
    assert!(message(&pair, 2).finish > message(&pair, 0).finish);
}

fn text_of(results: &Results) -> String {
    format!("{:?}", results.messages)
}

/// IBTA 10.3.1: what is posted behind a work request that fails, or on a queue pair that has failed, is flushed.
#[test]
fn a_connection_that_fails_takes_its_messages_along() {
    let list = [
        (0, 1, 5_000_000, "0us"),
        (0, 1, 10_000, "10us"),
        (0, 1, 10_000, "5ms"),
    ];
    let text = star(3)
        + &flows(&list)
        + "connections = \"pair\"\n[[faults.link]]\nbetween = [1, 3]\ndown = \"100us\"\n";
    let sets = ["transport.ack_timeout=\"50us\"", "transport.retry_limit=2"];
    let results = run_unchecked(&loaded(&text, &sets));
    assert_eq!(results.totals.ending, Ending::Failed);
    let outcomes = [0, 1, 2].map(|id| message(&results, id).outcome);
    let flushed = Outcome::Flushed;
    assert_eq!(outcomes, [Outcome::RetryExceeded, flushed, flushed]);
    let long = message(&results, 0).acknowledged.get();
    assert!((500_000..1_500_000).contains(&long), "{long}");
    assert_eq!(message(&results, 1).acknowledged.get(), 0);
    assert_eq!(message(&results, 2).start.as_ns(), 5_000_000);
}

/// Each packet that was sent again is counted with the message that it is of.
#[test]
fn retransmissions_are_counted_by_message() {
    for verb in ["write", "send", "read"] {
        for recovery in ["go-back-n", "selective-repeat"] {
            let list: Vec<_> = (0..6).map(|_| (0, 1, 60_000, "0us")).collect();
            let text = star(2) + &flows(&list) + &format!("verb = \"{verb}\"\n");
            let recovery = format!("transport.recovery=\"{recovery}\"");
            let sets = [
                "workload.0.connections=\"pair\"",
                "faults.loss_rate=0.01",
                "transport.ack_timeout=\"100us\"",
                &recovery,
            ];
            let results = complete(&loaded(&text, &sets));
            let again = results
                .messages
                .iter()
                .map(|it| u64::from(it.retransmitted));
            let again: Vec<u64> = again.collect();
            let all: u64 = again.iter().sum();
            assert_eq!(
                all, results.signals.retransmissions.count,
                "{verb} {sets:?}"
            );
            assert!(
                again.iter().filter(|it| **it > 0).count() > 1,
                "{verb} {again:?}"
            );
            let ends: Vec<_> = (0..6).map(|id| message(&results, id).finish).collect();
            assert!(ends.is_sorted(), "{ends:?}");
        }
    }
}

/// Each rank sends once to every other: nothing is shared, and nothing stays open.
#[test]
fn a_connection_of_one_message_is_one_of_its_own() {
    let text = star(6)
        + "[[workload]]\nkind = \"collective\"\noperation = \"all-to-all\"\nsize = \"1MB\"\n";
    let [pair, message] = ["pair", "message"].map(|which| {
        let set = format!("workload.0.connections=\"{which}\"");
        text_of(&complete(&loaded(&text, &[&set])))
    });
    assert!(pair == message);
}

/// A message in a round of two ranks leaves once the one before has arrived: each is so much later.
#[test]
fn sends_take_the_time_of_their_software() {
    let ring = |latency: &str| {
        let text = star(2)
            + "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"20kB\"\nrounds = 3\n"
            + &format!("send_latency = \"{latency}\"\n");
        complete(&loaded(&text, &[])).totals.end.as_ns()
    };
    // Three rounds of two steps; acknowledgements meet no data even in the shorter time.
    assert_eq!(ring("30us") - ring("10us"), 6 * 20_000);
    let one = "num_ranks 2\nrank 0 {\na: calc 1000\nb: send 10b to 1 tag 1\nb requires a\n}\n\
               rank 1 {\na: recv 10b from 0 tag 1\n}\n";
    let results = complete(&goal(2, one, &["workload.0.send_latency=\"3us\""]));
    assert_eq!(message(&results, 0).start.as_ns(), 4_000);
}
