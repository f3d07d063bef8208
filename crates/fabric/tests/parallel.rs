//! Several links between two nodes.

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Outcome, Path, Paths, Results, Simulation, paths};
use fairlane_scenario::Loaded;
use fairlane_units::{Bytes, Duration, NodeId, Rate, Time};

use crate::common::{complete, flows, links, loaded_with, run};

/// Hosts 0 and 1 at switch 4, hosts 2 and 3 at switch 5, and a link between the switches for each rate.
fn trunk(rates: &[&'static str]) -> String {
    let hosts = [(0, 4), (1, 4), (2, 5), (3, 5)];
    let hosts = hosts.map(|(host, switch)| (host, switch, "100Gbps", "1us"));
    let between = rates.iter().map(|&rate| (4, 5, rate, "1us"));
    links(4, &hosts.into_iter().chain(between).collect::<Vec<_>>())
}

const FIXED: &str = "congestion.algorithm = \"fixed\"\n";
/// 1 MB each from 0 to 2 and from 1 to 3.
const TWO: [(u32, u32, u64, &str); 2] = [(0, 2, 1_000_000, "0us"), (1, 3, 1_000_000, "0us")];

fn case(rates: &[&'static str], text: &str, sets: &[&str]) -> Loaded {
    loaded_with("parallel", &trunk(rates), &(FIXED.to_owned() + text), sets)
}

/// Bytes that each port of a switch sent to the other switch, by index of the link.
fn sent(results: &Results, switch: u32) -> Vec<u64> {
    let ports = results.ports.len();
    let between = |port: &usize| {
        let port = &results.ports[*port];
        port.node.get() == switch && port.peer_node.get() == 9 - switch
    };
    let of = |port: usize| {
        let own = results.series.sent.iter().skip(port).step_by(ports);
        own.sum()
    };
    (0..ports).filter(between).map(of).collect()
}

/// What 1 MB takes over three links of these rates in Gb/s with 1 us each, and the acknowledgement back. Each packet of
/// 1 KiB has headers of 62 bytes, the first one a RETH of 16 more, and a gap of 20 behind it; it is sent on once it is
/// there and the one before has gone. The acknowledgement has 66 bytes.
fn alone(rates: [u64; 3]) -> Duration {
    let time = |bytes: u64, gbps: u64| bytes * 8 * 1000 / gbps;
    let (mut left, mut free, mut there) = (1_000_000, [0; 3], 0);
    while left > 0 {
        let payload = left.min(1024);
        let wire = payload + 62 + if left == 1_000_000 { 16 } else { 0 };
        left -= payload;
        there = 0;
        for (rate, free) in rates.into_iter().zip(&mut free) {
            let start = there.max(*free);
            *free = start + time(wire + 20, rate);
            there = start + time(wire, rate) + 1_000_000;
        }
    }
    let back: u64 = rates.iter().map(|&rate| time(66, rate) + 1_000_000).sum();
    Duration::from_ps(there + back)
}

/// The indices of the links that messages take from one switch to the other.
fn taken(case: &Loaded, results: &Results) -> Vec<u32> {
    let index = |message: &fairlane_fabric::MessageRecord| {
        let ends = (message.source, message.destination);
        let found = paths(case, ends, [message.source_port], 100).unwrap();
        let Paths::ByPort(found) = found else {
            panic!("source ports decide");
        };
        found[0].forward.indices[1].expect("one of several")
    };
    results.messages.iter().map(index).collect()
}

#[test]
fn messages_on_links_of_their_own_end_as_if_alone() {
    let (mut apart, mut together) = (0, 0);
    for seed in 1..=64 {
        let seed = format!("seed={seed}");
        let case = case(&["100Gbps"; 4], &flows(&TWO), &[&seed]);
        let results = complete(&case);
        let indices = taken(&case, &results);
        let time = |at: usize| results.messages[at].finish.unwrap() - Time::ZERO;
        let bytes = sent(&results, 4);
        for (index, sent) in (0..).zip(bytes) {
            // 1 MB, with headers.
            let messages = indices.iter().filter(|&&taken| taken == index).count() as u64;
            assert_eq!(sent / 1_000_000, messages, "link {index} of {seed}");
        }
        if indices[0] == indices[1] {
            together += 1;
            // They share the link packet by packet: the later one ends when 2 MB have passed.
            let twice = alone([100; 3]) + (alone([100; 3]) - Duration::from_us(6));
            let later = time(0).max(time(1));
            assert!(later + Duration::from_us(1) > twice, "{later} {twice}");
        } else {
            apart += 1;
            // Their acknowledgements may meet on the way back: 66 bytes and a gap of 20.
            let wait = Duration::from_ps((66 + 20) * 80);
            for time in [time(0), time(1)] {
                let alone = alone([100; 3]);
                assert!(
                    time == alone || time == alone + wait,
                    "{time} {alone} {seed}"
                );
            }
        }
    }
    // Of two messages on four links, three in four are apart: 48 of 64, with a standard deviation of 3.5.
    assert!((36..=60).contains(&apart) && together > 0, "{apart}");
}

#[test]
fn links_of_unequal_rates_cost_the_same() {
    let mut slow = 0;
    for seed in 1..=64 {
        let seed = format!("seed={seed}");
        let case = case(&["100Gbps", "25Gbps"], &flows(&TWO[..1]), &[&seed]);
        let results = complete(&case);
        let message = &results.messages[0];
        let [index] = taken(&case, &results)[..] else {
            panic!("one message");
        };
        slow += u32::from(index == 1);
        // An acknowledgement of 66 bytes may come back by either link.
        let least = alone([100, [100, 25][index as usize], 100]);
        let time = message.finish.unwrap() - Time::ZERO;
        assert_eq!(time, message.ideal);
        assert!(
            time.as_ps().abs_diff(least.as_ps()) <= 66 * 8 * 30,
            "{time} {least}"
        );
    }
    assert!((20..=44).contains(&slow), "{slow}");
}

#[test]
fn a_fault_takes_the_link_that_it_names() {
    let fault = |more: &str| format!("[[faults.link]]\nbetween = [5, 4]\n{more}down = \"0us\"\n");
    let many: Vec<_> = (0..32).map(|_| (0, 2, 10_000, "1us")).collect();
    for index in 0..3 {
        let text = flows(&many) + &fault(&format!("index = {index}\n"));
        let results = complete(&case(&["100Gbps"; 3], &text, &[]));
        for (link, bytes) in (0..).zip(sent(&results, 4)) {
            assert_eq!(bytes > 0, link != index, "link {link} without {index}");
        }
        let down = results
            .link_changes
            .iter()
            .map(|change| change.port.get() / 2);
        assert!(down.eq([4 + index]), "{:?}", results.link_changes);
    }
    // Without an index it takes all.
    let timeout = "transport.ack_timeout=\"100us\"";
    let results = run(&case(
        &["100Gbps"; 3],
        &(flows(&many) + &fault("")),
        &[timeout],
    ));
    let mut messages = results.messages.iter();
    assert!(messages.all(|message| message.outcome != Outcome::Completed));
    assert_eq!(results.link_changes.len(), 3);
}

#[test]
fn half_of_a_trunk_carries_half() {
    // 64 messages of 1 MB from both hosts, 200 Gb/s in all, over two links of 50 Gb/s or the one that is left.
    let many: Vec<_> = (0..64)
        .map(|at| (at % 2, 2 + at % 2, 1_000_000, "0us"))
        .collect();
    let time = |fault: &str| {
        let text = flows(&many) + fault;
        let sets = [
            "switch.forwarding=\"adaptive\"",
            "transport.recovery=\"selective-repeat\"",
        ];
        let results = complete(&case(&["50Gbps"; 2], &text, &sets));
        (results.totals.end - Time::ZERO).as_ps() as f64
    };
    let whole = time("");
    let half = time("[[faults.link]]\nbetween = [4, 5]\nindex = 1\ndown = \"0us\"\n");
    // 64 MB, headers and gaps of 8 % besides, at 100 Gb/s: 5.53 ms.
    assert!((5.5e9..5.7e9).contains(&whole), "{whole}");
    assert!((1.97..2.01).contains(&(half / whole)), "{half} {whole}");
}

#[test]
fn a_slow_link_is_the_one_that_is_named() {
    let slow = "[[faults.slow]]\nbetween = [4, 5]\nindex = 1\nrate = \"10Gbps\"\n";
    let results = complete(&case(&["100Gbps"; 3], &(flows(&TWO) + slow), &[]));
    let between = results.ports.iter().filter(|port| port.node.get() == 4);
    let rates = between
        .filter(|port| port.peer_node.get() == 5)
        .map(|port| port.rate);
    assert!(rates.eq([100, 10, 100].map(Rate::from_gbps)));
}

#[test]
fn paths_packet_by_packet_are_as_many_as_links() {
    let sets = [
        "switch.forwarding=\"spray\"",
        "transport.recovery=\"selective-repeat\"",
    ];
    let case = case(&["100Gbps"; 4], &flows(&TWO[..1]), &sets);
    let ends = (NodeId::new(0), NodeId::new(2));
    let Paths::Any(any) = paths(&case, ends, [0], 100).unwrap() else {
        panic!("no source port decides");
    };
    let nodes = |nodes: [u32; 4]| nodes.map(NodeId::new).to_vec();
    let path = |index| Path {
        nodes: nodes([0, 4, 5, 2]),
        indices: vec![None, Some(index), None],
    };
    assert_eq!(any.forward, [0, 1, 2, 3].map(path));
    let results = complete(&case);
    // Of 977 packets about a quarter on each link.
    for bytes in sent(&results, 4) {
        assert!((200_000..330_000).contains(&bytes), "{bytes}");
    }
    assert_eq!(results.messages[0].size, Bytes::new(1_000_000));
}

#[test]
fn results_are_the_same_on_several_threads() {
    let fault = "[[faults.link]]\nbetween = [4, 5]\nindex = 2\ndown = \"20us\"\n";
    let many: Vec<_> = (0..40)
        .map(|at| (at % 4, (at + 1 + at / 4 % 3) % 4, 30_000, "0us"))
        .collect();
    for forwarding in ["ecmp", "flowlet", "spray", "adaptive", "iofd"] {
        let set = format!("switch.forwarding=\"{forwarding}\"");
        let rates = ["100Gbps", "40Gbps", "100Gbps", "25Gbps"];
        let repeat = "transport.recovery=\"selective-repeat\"";
        let sets = [set.as_str(), repeat, "transport.ack_timeout=\"200us\""];
        let case = case(&rates, &(flows(&many) + fault), &sets);
        let on = |threads| {
            let simulation = Simulation::new(&case).unwrap();
            let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
            assert_eq!(check(&results, true), Vec::<String>::new());
            (format!("{results:?}"), threading.threads)
        };
        let (alone, both) = (on(1), on(2));
        assert_eq!(both.1, 2, "{forwarding}");
        assert!(alone.0 == both.0, "{forwarding}");
    }
}
