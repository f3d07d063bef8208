//! Workloads: what is generated, its statistics, its order and its errors.

use std::collections::BTreeSet;

use fairlane_fabric::MessageSpec;
use fairlane_fabric::topology::Topology;
use fairlane_fabric::workload::generate;
use fairlane_scenario::{
    AllToAll, Error, Flow, Flows, HostSet, Incast, Inputs, LARGEST_SEED, LinkSpec, Permutation,
    Poisson, RingAllReduce, Scenario, SizeDistribution, SizePoint, Star, Topology as Shape, Verb,
    Workload,
};
use fairlane_units::{Bytes, Duration, NodeId, Rate, TenantId, Time};
use proptest::prelude::*;

fn star(hosts: u32) -> Shape {
    let host_link = LinkSpec {
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
    };
    Shape::Star(Star {
        hosts,
        host_link,
        planes: 1,
    })
}

/// What workloads generate for so many hosts of a star.
fn generated(
    workloads: &[Workload],
    inputs: &Inputs,
    hosts: u32,
    seed: u64,
) -> Result<Vec<MessageSpec>, Error> {
    let scenario = scenario(workloads, hosts, seed);
    generate(&scenario, inputs, &built(&scenario))
}

fn scenario(workloads: &[Workload], hosts: u32, seed: u64) -> Scenario {
    Scenario {
        topology: star(hosts),
        workload: workloads.to_vec(),
        seed,
        ..Scenario::default()
    }
}

fn built(scenario: &Scenario) -> Topology {
    Topology::build(&scenario.topology, None, 0.0).expect("a sound shape")
}

fn set(text: &str) -> HostSet {
    HostSet(text.into())
}

fn distribution(points: &[(u64, f64)]) -> SizeDistribution {
    let point = |&(size, percent): &(u64, f64)| SizePoint {
        size: Bytes::new(size),
        percent,
    };
    SizeDistribution::new(points.iter().map(point).collect()).expect("a sound distribution")
}

fn inputs(sizes: &[(u64, f64)]) -> Inputs {
    Inputs {
        sizes: vec![Some(distribution(sizes))],
        flows: vec![None],
        traces: vec![None],
        ..Inputs::default()
    }
}

fn run(workloads: &[Workload], hosts: u32) -> Result<Vec<MessageSpec>, Error> {
    generated(workloads, &Inputs::default(), hosts, 1)
}

fn messages(workload: Workload, hosts: u32) -> Vec<MessageSpec> {
    run(&[workload], hosts).expect("a sound workload")
}

fn refused(workload: Workload, hosts: u32) -> Error {
    let error = run(&[workload], hosts).expect_err("an unsound workload");
    assert!(!error.hint.is_empty(), "{error}");
    error
}

fn poisson(load: f64, duration: Duration) -> Workload {
    Workload::Poisson(Poisson {
        sizes: fairlane_scenario::Sizes::Points(Vec::new()),
        load,
        load_of: fairlane_scenario::LoadOf::Hosts,
        start: Duration::from_us(10),
        duration,
        sources: set("all"),
        destinations: set("all"),
        class: 3,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    })
}

fn incast(degree: u32, receiver: Option<u32>, hosts: &str) -> Workload {
    Workload::Incast(Incast {
        degree,
        size: Bytes::new(20_000),
        receiver,
        start: Duration::from_us(5),
        period: Some(Duration::from_us(100)),
        rounds: Some(50),
        load: None,
        duration: None,
        jitter: Duration::from_us(2),
        hosts: set(hosts),
        class: 4,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    })
}

fn permutation(hosts: &str) -> Workload {
    let (size, start) = (Bytes::new(1000), Duration::from_us(1));
    Workload::Permutation(Permutation {
        size,
        start,
        hosts: set(hosts),
        class: 3,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    })
}

fn all_to_all(hosts: &str) -> Workload {
    let (size, start) = (Bytes::new(1000), Duration::ZERO);
    Workload::AllToAll(AllToAll {
        size,
        start,
        hosts: set(hosts),
        class: 3,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    })
}

fn all_reduce(size: u64, rounds: u32, start: Duration) -> Workload {
    let (size, hosts) = (Bytes::new(size), set("all"));
    Workload::RingAllReduce(RingAllReduce {
        size,
        start,
        rounds,
        hosts,
        class: 3,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
        channels: 1,
        send_latency: Duration::ZERO,
    })
}

fn flow(source: u32, destination: u32, start: Duration) -> Flow {
    let (size, class, destination_port) = (Bytes::new(7), 2, 321);
    Flow {
        source,
        destination,
        size,
        start,
        class,
        destination_port,
        subflows: 1,
    }
}

fn flows(flow: Vec<Flow>) -> Workload {
    Workload::Flows(Flows {
        path: None,
        flow,
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    })
}

/// Two thirds small messages, the rest up to 100 kB.
const TWO_KINDS: [(u64, f64); 3] = [(500, 0.0), (1500, 66.6), (100_000, 100.0)];

#[test]
fn poisson_offers_its_load_within_four_standard_errors() {
    let duration = Duration::from_ms(20);
    let generated = generated(&[poisson(0.4, duration)], &inputs(&TWO_KINDS), 16, 7);
    let messages = generated.expect("a sound workload");
    let mean = distribution(&TWO_KINDS).mean();
    let count = 16.0 * 0.4 * 100e9 / 8.0 * duration.as_secs_f64() / mean;
    let found = messages.len() as f64;
    assert!(
        (found - count).abs() < 4.0 * count.sqrt(),
        "{found} messages, expected {count}"
    );
    let sizes: Vec<f64> = messages
        .iter()
        .map(|message| message.size.as_f64())
        .collect();
    let average = sizes.iter().sum::<f64>() / found;
    let variance = sizes
        .iter()
        .map(|size| (size - average).powi(2))
        .sum::<f64>()
        / found;
    assert!(
        (average - mean).abs() < 4.0 * (variance / found).sqrt(),
        "{average}, not {mean}"
    );
    let (first, last) = (Time::from_ns(10_000), Time::from_ns(10_000) + duration);
    assert!(
        messages
            .iter()
            .all(|message| (first..last).contains(&message.start))
    );
}

#[test]
fn poisson_gaps_are_exponential_and_destinations_uniform() {
    let fixed = [(1000, 0.0), (1000, 100.0)];
    let workload = poisson(0.8, Duration::from_ms(10));
    let messages = generated(&[workload], &inputs(&fixed), 5, 3).expect("sound");
    let of_host: Vec<_> = messages.iter().filter(|m| m.source.get() == 2).collect();
    let gaps: Vec<f64> = of_host
        .windows(2)
        .map(|pair| (pair[1].start - pair[0].start).as_ps() as f64)
        .collect();
    // 1,000 bytes at 80 Gb/s: 100 ns. Of exponential gaps a share 1 - 1/e is below the mean.
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean / 100_000.0 - 1.0).abs() < 0.02, "mean gap {mean}");
    let below = gaps.iter().filter(|gap| **gap < 100_000.0).count() as f64 / gaps.len() as f64;
    assert!((below - 0.632).abs() < 0.01, "share {below}");
    let deviation =
        (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!(
        (deviation / mean - 1.0).abs() < 0.02,
        "deviation {deviation}"
    );
    for host in [0, 1, 3, 4] {
        let to = of_host
            .iter()
            .filter(|m| m.destination.get() == host)
            .count() as f64;
        let share = to / of_host.len() as f64;
        assert!((share - 0.25).abs() < 0.01, "share {share} to {host}");
    }
}

#[test]
fn poisson_load_follows_each_sources_own_link() {
    let workload = poisson(0.5, Duration::from_ms(5));
    let scenario = scenario(&[workload], 3, 3);
    let mut topology = built(&scenario);
    topology.links[1].rate = Rate::from_gbps(25);
    let fixed = [(1000, 0.0), (1000, 100.0)];
    let messages = generate(&scenario, &inputs(&fixed), &topology).expect("sound");
    let count = |host: u32| messages.iter().filter(|m| m.source.get() == host).count() as f64;
    assert!(
        (count(0) / count(1) - 4.0).abs() < 0.2,
        "{} and {}",
        count(0),
        count(1)
    );
}

#[test]
fn another_host_or_workload_leaves_arrivals_and_sizes_unchanged() {
    let of_host = |messages: &[MessageSpec]| -> Vec<_> {
        let of = messages
            .iter()
            .filter(|m| m.source.get() == 1 && m.workload == 0);
        of.map(|message| (message.start, message.size)).collect()
    };
    let workload = poisson(0.3, Duration::from_us(500));
    let few = generated(std::slice::from_ref(&workload), &inputs(&TWO_KINDS), 4, 9).expect("sound");
    let pair = [workload.clone(), permutation("all")];
    let many = generated(&pair, &inputs(&TWO_KINDS), 9, 9).expect("sound");
    assert!(!of_host(&few).is_empty());
    assert_eq!(of_host(&few), of_host(&many));
    let other = generated(&[workload], &inputs(&TWO_KINDS), 4, 10).expect("sound");
    assert_ne!(of_host(&few), of_host(&other));
}

#[test]
fn incast_rounds_have_distinct_senders_and_start_within_the_jitter() {
    let messages = messages(incast(3, None, "0-7"), 12);
    assert_eq!(messages.len(), 150);
    let mut receivers = BTreeSet::new();
    for round in 0..50u64 {
        let start = Time::ZERO + Duration::from_us(5 + 100 * round);
        let window = start..=start + Duration::from_us(2);
        let members: Vec<_> = messages
            .iter()
            .filter(|m| window.contains(&m.start))
            .collect();
        let senders: BTreeSet<_> = members.iter().map(|m| m.source).collect();
        assert_eq!((members.len(), senders.len()), (3, 3));
        let receiver = members[0].destination;
        assert!(
            members
                .iter()
                .all(|m| m.destination == receiver && m.source != receiver)
        );
        assert!(senders.iter().all(|sender| sender.get() < 8));
        receivers.insert(receiver);
    }
    assert!(receivers.len() > 4, "receivers change: {receivers:?}");
    assert!(
        messages
            .iter()
            .all(|m| (m.class, m.destination_port) == (4, 200))
    );
    let starts: BTreeSet<_> = messages
        .iter()
        .map(|m| m.start.as_ps() % 100_000_000)
        .collect();
    assert!(starts.len() > 140, "jitter differs");
}

/// HPCC (SIGCOMM 2019), section 5.3: 60 of 320 hosts send 500 KB each to one, at 2 % of the network's capacity, and the links of
/// hosts have 100 Gb/s.
fn incasts_of_hpcc(seed: u64, beside: &[Workload]) -> Vec<MessageSpec> {
    let Workload::Incast(mut it) = incast(60, None, "all") else {
        panic!("an incast");
    };
    (it.size, it.jitter) = (Bytes::new(500_000), Duration::ZERO);
    (it.period, it.rounds) = (None, None);
    (it.load, it.duration) = (Some(0.02), Some(Duration::from_ms(1000)));
    let mut all = vec![Workload::Incast(it)];
    all.extend_from_slice(beside);
    let generated = generated(&all, &Inputs::default(), 320, seed);
    let mut messages = generated.expect("sound");
    messages.retain(|message| message.workload == 0);
    messages
}

#[test]
fn incasts_of_a_load_come_at_poisson_times() {
    let messages = incasts_of_hpcc(1, &[]);
    // 0.02 x 320 x 12.5e9 B/s = 80e9 B/s are 2666.7 rounds of 60 x 500 KB in a second, with a deviation of 51.6.
    let rounds: Vec<&[MessageSpec]> = messages.chunk_by(|a, b| a.start == b.start).collect();
    let expected = 0.02 * 320.0 * 12.5e9 / (60.0 * 500e3);
    let found = rounds.len() as f64;
    assert!((found - expected).abs() < 4.0 * 51.6, "{found} rounds");
    for round in &rounds {
        let senders: BTreeSet<_> = round.iter().map(|message| message.source).collect();
        assert_eq!((round.len(), senders.len()), (60, 60));
        assert!(
            round
                .iter()
                .all(|message| message.destination == round[0].destination)
        );
        assert!(!senders.contains(&round[0].destination));
    }
    // Every host is as likely to receive: of n rounds, 320 (1 - (1 - 1/320)^n) are expected to; 0.08 of 320 not.
    let receivers: BTreeSet<_> = rounds.iter().map(|round| round[0].destination).collect();
    assert!(receivers.len() >= 315, "{} receivers", receivers.len());
    // Of exponential gaps a share 1 - 1/e is below the mean, with a deviation of 0.0094.
    let starts = rounds.iter().map(|round| round[0].start.as_ps() as f64);
    let starts: Vec<f64> = starts.collect();
    let mean = 1e12 / expected;
    let below = starts
        .windows(2)
        .filter(|pair| pair[1] - pair[0] < mean)
        .count();
    let share = below as f64 / (found - 1.0);
    assert!((share - 0.632).abs() < 4.0 * 0.0094, "share {share}");
    let (first, last) = (5_000_000.0, 5_000_000.0 + 1e12);
    assert!(starts.iter().all(|start| (first..last).contains(start)));
}

#[test]
fn incasts_of_a_load_depend_on_the_seed_and_on_no_other_workload() {
    let messages = incasts_of_hpcc(1, &[]);
    let ends = |all: &[MessageSpec]| -> Vec<_> {
        let of = |one: &MessageSpec| (one.start, one.source, one.destination);
        all.iter().map(of).collect()
    };
    assert_eq!(
        ends(&messages),
        ends(&incasts_of_hpcc(1, &[permutation("all")]))
    );
    assert_ne!(ends(&messages), ends(&incasts_of_hpcc(2, &[])));
}

#[test]
fn incast_to_a_given_receiver_may_use_every_other_host() {
    let messages = messages(incast(4, Some(2), "0-4"), 5);
    let senders: BTreeSet<_> = messages.iter().map(|m| m.source.get()).collect();
    assert_eq!(senders, [0, 1, 3, 4].into_iter().collect());
    let error = refused(incast(5, Some(2), "0-4"), 5);
    assert_eq!(error.place, "workload[0].degree");
    assert!(error.message.contains("expected at most 4"), "{error}");
    // A receiver outside the set leaves all of the set to send.
    assert!(run(&[incast(5, Some(5), "0-4")], 6).is_ok());
}

#[test]
fn all_to_all_sends_every_pair_once_and_spreads_the_first_messages() {
    let messages = messages(all_to_all("0,2,4,6"), 8);
    let pairs: BTreeSet<_> = messages.iter().map(|m| (m.source, m.destination)).collect();
    assert_eq!((messages.len(), pairs.len()), (12, 12));
    let first: BTreeSet<_> = messages[..4].iter().map(|m| m.destination).collect();
    assert_eq!(first.len(), 4);
}

/// What each host holds after a replay: the contributions summed into each chunk.
fn replay(messages: &[MessageSpec], hosts: usize) -> Vec<Vec<BTreeSet<usize>>> {
    let own = |host| (0..hosts).map(|_| BTreeSet::from([host])).collect();
    let mut held: Vec<Vec<BTreeSet<usize>>> = (0..hosts).map(own).collect();
    for (index, message) in messages.iter().enumerate() {
        let (from, to) = (message.source.index(), message.destination.index());
        let step = index / hosts;
        let chunk = (from + 2 * hosts - step) % hosts;
        let sent = held[from][chunk].clone();
        held[to][chunk].extend(sent);
    }
    held
}

#[test]
fn ring_all_reduce_leaves_every_contribution_everywhere() {
    for hosts in [2usize, 3, 5, 8] {
        let count = u32::try_from(hosts).expect("few");
        let messages = messages(all_reduce(10_007, 1, Duration::ZERO), count);
        assert_eq!(messages.len(), hosts * 2 * (hosts - 1));
        let everyone: BTreeSet<_> = (0..hosts).collect();
        let held = replay(&messages, hosts);
        assert!(
            held.iter().flatten().all(|chunk| *chunk == everyone),
            "{held:?}"
        );
        for step in messages.chunks(hosts) {
            assert_eq!(
                step.iter().map(|m| m.size).sum::<Bytes>(),
                Bytes::new(10_007)
            );
        }
    }
}

#[test]
fn ring_all_reduce_waits_for_the_same_chunk_from_the_predecessor() {
    let messages = messages(all_reduce(1001, 3, Duration::from_us(4)), 4);
    let steps = 6;
    assert_eq!(messages.len(), 3 * steps * 4);
    for (index, message) in messages.iter().enumerate() {
        let (round, step) = (index / 4 / steps, index / 4 % steps);
        let Some(after) = message.after else {
            assert_eq!((round, step), (0, 0));
            continue;
        };
        let before = messages[after.index()];
        assert_eq!(before.destination, message.source);
        assert_eq!(after.index() / 4, index / 4 - 1, "the step before");
        assert!(
            step == 0 || before.size == message.size,
            "it forwards what it received"
        );
    }
}

#[test]
fn predecessors_follow_their_messages_through_sorting() {
    // Started late and listed first, the ring's messages move behind the others.
    let workloads = [
        all_reduce(64, 2, Duration::from_us(50)),
        permutation("all"),
        all_to_all("0-2"),
    ];
    let messages = run(&workloads, 4).expect("sound");
    assert!(messages.is_sorted_by_key(|m| m.start));
    let ring = messages
        .iter()
        .position(|m| m.workload == 0)
        .expect("a ring");
    assert_eq!(ring, 6 + 4);
    for (index, message) in messages.iter().enumerate() {
        let Some(after) = message.after else { continue };
        assert!(after.index() < index);
        let before = messages[after.index()];
        assert_eq!((before.workload, before.destination), (0, message.source));
    }
    assert_eq!(
        messages.iter().filter(|m| m.after.is_some()).count(),
        2 * 6 * 4 - 4
    );
}

#[test]
fn flows_keep_their_fields_and_their_order() {
    let list = vec![
        flow(0, 1, Duration::ZERO),
        flow(2, 1, Duration::from_ns(5)),
        flow(1, 0, Duration::from_ns(5)),
    ];
    let messages = messages(flows(list), 3);
    let expected = MessageSpec {
        workload: 0,
        source: NodeId::new(2),
        destination: NodeId::new(1),
        size: Bytes::new(7),
        start: Time::from_ns(5),
        class: 2,
        verb: Verb::Write,
        destination_port: 321,
        after: None,
        joins: None,
        delay: Duration::ZERO,
        part_of: None,
        connection: Some(0),
        iteration: 0,
        tenant: TenantId::new(0),
        plane: None,
    };
    assert_eq!(messages[1], expected);
    assert_eq!(messages[2].source, NodeId::new(1));
}

#[test]
fn flows_of_a_file_take_the_place_of_listed_ones() {
    let read = vec![flow(1, 0, Duration::from_ns(9))];
    let inputs = Inputs {
        flows: vec![Some(read)],
        ..Inputs::default()
    };
    let workload = Workload::Flows(Flows {
        path: Some("flow.txt".into()),
        flow: Vec::new(),
        verb: Verb::Write,
        tenant: None,
        plane: None,
        congestion: None,
        paths: None,
        connections: None,
    });
    let messages = generated(&[workload], &inputs, 2, 1).expect("sound");
    assert_eq!((messages.len(), messages[0].start), (1, Time::from_ns(9)));
}

#[test]
fn flows_that_cannot_be_are_refused_at_their_key() {
    let good = || flow(0, 1, Duration::from_ns(9));
    let cases = [
        (flow(0, 0, Duration::from_ns(9)), "destination"),
        (flow(3, 0, Duration::from_ns(9)), "source"),
        (flow(0, 9, Duration::from_ns(9)), "destination"),
        (flow(0, 1, Duration::from_ns(8)), "start"),
        (
            Flow {
                size: Bytes::ZERO,
                ..good()
            },
            "size",
        ),
        (Flow { class: 0, ..good() }, "class"),
        (Flow { class: 8, ..good() }, "class"),
        (flow(0, 1, Duration::MAX), "start"),
    ];
    for (bad, key) in cases {
        // Node 3 is the switch of the star.
        let error = refused(flows(vec![good(), bad]), 3);
        assert_eq!(error.place, format!("workload[0].flow[1].{key}"));
    }
}

#[test]
fn workloads_that_cannot_be_are_refused_at_their_key() {
    let cases = [
        (permutation("0"), "workload[0].hosts"),
        (permutation("0-9"), "workload[0].hosts"),
        (all_to_all("1"), "workload[0].hosts"),
        (all_to_all("0,x"), "workload[0].hosts"),
        (all_reduce(3, 1, Duration::ZERO), "workload[0].size"),
        (all_reduce(64, u32::MAX, Duration::ZERO), "workload[0]"),
        (all_reduce(64, 1, Duration::MAX), "workload[0].start"),
        (incast(0, None, "all"), "workload[0].degree"),
        (incast(1, Some(4), "all"), "workload[0].receiver"),
        (poisson(0.5, Duration::from_us(1)), "workload[0].sizes"),
    ];
    for (workload, place) in cases {
        assert_eq!(refused(workload, 4).place, place);
    }
}

#[test]
fn poisson_refuses_loads_that_no_link_carries_and_floods() {
    let sizes = inputs(&TWO_KINDS);
    for load in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
        let generated = generated(&[poisson(load, Duration::from_us(9))], &sizes, 4, 1);
        assert_eq!(generated.expect_err("no load").place, "workload[0].load");
    }
    let Workload::Poisson(mut alone) = poisson(0.5, Duration::from_us(9)) else {
        panic!("random times");
    };
    alone.destinations = set("0");
    let alone = generated(&[Workload::Poisson(alone)], &sizes, 2, 1);
    assert_eq!(
        alone.expect_err("nobody to send to").place,
        "workload[0].destinations"
    );
    let flood = poisson(1.0, Duration::from_ms(1_000_000));
    let flood = generated(&[flood], &inputs(&[(1, 0.0), (1, 100.0)]), 4, 1);
    assert_eq!(flood.expect_err("too many").place, "workload[0]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn permutations_are_derangements(hosts in 2..60u32, seed in 0..=LARGEST_SEED) {
        let generated = generated(&[permutation("all")], &Inputs::default(), hosts, seed);
        let messages = generated.expect("sound");
        let sources: BTreeSet<_> = messages.iter().map(|m| m.source).collect();
        let destinations: BTreeSet<_> = messages.iter().map(|m| m.destination).collect();
        prop_assert_eq!(sources.len(), hosts as usize);
        prop_assert_eq!(&sources, &destinations);
        prop_assert!(messages.iter().all(|m| m.source != m.destination));
    }

    #[test]
    fn whatever_is_generated_is_ordered_and_well_formed(
        seed in 0..=LARGEST_SEED,
        hosts in 2..12u32,
        load in 0.01..1.0f64,
        degree in 1..4u32,
        size in 1..100_000u64,
        us in 1..40u64,
    ) {
        let workloads = [
            poisson(load, Duration::from_us(us)),
            incast(degree, None, "all"),
            all_reduce(size, 2, Duration::from_us(us)),
            permutation("all"),
        ];
        if let Ok(messages) = generated(&workloads, &inputs(&TWO_KINDS), hosts, seed) {
            prop_assert!(messages.is_sorted_by_key(|m| m.start));
            for (index, message) in messages.iter().enumerate() {
                prop_assert!(message.source != message.destination && !message.size.is_zero());
                prop_assert!(message.source.get() < hosts && message.destination.get() < hosts);
                prop_assert!(message.after.is_none_or(|after| after.index() < index));
            }
            let again = generated(&workloads, &inputs(&TWO_KINDS), hosts, seed);
            prop_assert_eq!(again, Ok(messages));
        } else {
            prop_assert!(degree >= hosts || size < u64::from(hosts));
        }
    }
}

#[test]
fn permutations_of_three_are_equally_likely() {
    let turn = |seed| {
        let messages = generated(&[permutation("all")], &Inputs::default(), 3, seed);
        messages.expect("sound")[0].destination.get()
    };
    let ones = (0..2000).filter(|seed| turn(*seed) == 1).count();
    assert!((900..1100).contains(&ones), "{ones} of 2000");
}
