//! Receivers that apportion their links, in a fabric: docs/dasr.md.

use std::fmt::Write as _;

use fairlane_congestion::dasr::Mode;
use fairlane_fabric::{MessageRecord, Results};

use crate::common::{complete, loaded, run};

const ENDLESS: u64 = 400_000_000;
/// What a link of 56 Gb/s carries in its base round trip.
const PRODUCT: u64 = 31_000;

/// A flow: source, destination, bytes, start in ns.
type Flow = (u32, u32, u64, u64);

fn flows(tenant: &str, list: &[Flow]) -> String {
    let mut text = format!("[[workload]]\nkind=\"flows\"\n{tenant}flow=[");
    for (source, destination, size, start) in list {
        let _ = write!(
            text,
            "{{source={source},destination={destination},size={size},start=\"{start}ns\"}},"
        );
    }
    text + "]\n"
}

/// So many hosts at a switch, with links of 56 Gb/s and acknowledgements that wait for no pause, for 2 ms.
fn star(hosts: u32) -> String {
    format!(
        "stop=\"2ms\"\n[topology]\nkind=\"star\"\nhosts={hosts}\nhost_link={{rate=\"56Gbps\",delay=\"1us\"}}\n\
        [transport]\nack_control_class=true\n"
    )
}

/// An endless flow, and messages of `senders` others to the same receiver within 100 us.
fn incast(senders: u32, size: u64) -> String {
    let receiver = senders + 1;
    let other = |host: u32| {
        let jitter = u64::from(host) * 7919 % 100;
        (host, receiver, size, 100_000 + jitter * 1000)
    };
    let mut list = vec![(0, receiver, ENDLESS, 0)];
    list.extend((1..=senders).map(other));
    list.sort_by_key(|flow| flow.3);
    star(senders + 2) + &flows("", &list)
}

fn mode(mode: Mode) -> String {
    format!("congestion.dasr.mode=\"{mode}\"")
}

fn message(results: &Results, from: u32) -> &MessageRecord {
    let mut messages = results.messages.iter();
    let found = messages.find(|message| message.source.get() == from);
    found.expect("it sends")
}

/// Completion times of all messages but the endless ones, ascending, in us.
fn times(results: &Results) -> Vec<u64> {
    let finite = results.messages.iter();
    let finite = finite.filter(|message| message.size.get() < ENDLESS);
    let time = |message: &MessageRecord| {
        let finish = message.finish.expect("it has arrived");
        (finish - message.start).as_ns() / 1000
    };
    let mut times: Vec<u64> = finite.map(time).collect();
    times.sort_unstable();
    times
}

#[test]
fn an_incast_queues_its_first_bursts_at_most_and_pauses_nobody() {
    for senders in [8, 16] {
        let text = incast(senders, 256_000);
        let alone = run(&loaded(&text, &[]));
        for one in Mode::ALL.into_iter().filter(|mode| mode.divides()) {
            let results = run(&loaded(&text, &[&mode(one)]));
            let queue = results.totals.queue_max.get();
            // docs/dasr.md, "What it bounds": two begin within what a share that is out of date lives, at most.
            let stale = (PRODUCT as f64 * f64::ln(2.0)) as u64;
            let bound = PRODUCT + stale + u64::from(senders + 1) * 1100;
            let bounded = one != Mode::ShortestFirst;
            assert!(
                !bounded || queue < bound,
                "{one}, {senders}: {queue} of {bound}"
            );
            assert!(queue * 20 < alone.totals.queue_max.get(), "{one}: {queue}");
            assert_eq!(results.signals.pauses.count, 0, "{one}");
            assert_eq!(results.signals.retransmissions.count, 0, "{one}");
            // All of them and as much of the endless flow, with headers of 70 bytes.
            let all = u64::from(senders + 1) * 256_000 * 1094 / 1024 * 8 / 56_000;
            let last = *times(&results).last().expect("some are finite");
            assert!(
                last < all + all / 20,
                "{one}, {senders}: {last} us of {all}"
            );
            let longer = message(&results, 0).acknowledged > message(&alone, 0).acknowledged;
            assert!(longer, "{one}: the endless flow gets less");
        }
    }
}

#[test]
fn the_smallest_backlog_is_served_first() {
    let text = incast(12, 256_000);
    let median = |one| {
        let times = times(&run(&loaded(&text, &[&mode(one)])));
        times[times.len() / 2]
    };
    let (equal, shortest) = (median(Mode::DemandAware), median(Mode::ShortestFirst));
    assert!(shortest * 5 < equal * 4, "{shortest} us, {equal} us");
}

/// Behind a core link that DCQCN divides, senders can't use their part of the receiver: who stands beside it can.
#[test]
fn the_lower_rate_wins_behind_another_bottleneck() {
    let link = "{rate=\"100Gbps\",delay=\"1us\"}";
    // Hosts 0 to 4 are left of a core of 20 Gb/s; 0 sends to 5, as does 6 beside it; 1 to 4 send to 7.
    let mut text = format!(
        "stop=\"6ms\"\n[topology]\nkind=\"dumbbell\"\nleft=5\nright=3\nhost_link={link}\n\
        core_link={{rate=\"20Gbps\",delay=\"1us\"}}\n[transport]\nack_control_class=true\n"
    );
    let list: Vec<Flow> = [(0, 5), (6, 5), (1, 7), (2, 7), (3, 7), (4, 7)]
        .map(|(from, to)| (from, to, ENDLESS, 0))
        .into();
    text += &flows("", &list);
    let parts = |one| {
        let results = run(&loaded(&text, &[&mode(one)]));
        [0, 6].map(|host| message(&results, host).acknowledged.as_f64() * 8.0 / 6e-3 / 1e9)
    };
    let [behind, beside] = parts(Mode::DemandAware);
    let [_, equal] = parts(Mode::Count);
    assert!(behind < 12.0, "{behind} Gb/s");
    assert!(beside > 80.0, "{beside} Gb/s");
    assert!(equal < 50.0, "{equal} Gb/s");
}

/// Shares are of what a link carries, with what lies between packets: else they would add up to more, and windows stand in the
/// queue for good.
#[test]
fn what_a_join_leaves_in_the_queue_drains() {
    let list: Vec<Flow> = (0..7).map(|host| (host, 8, ENDLESS, 0)).collect();
    let scenario = star(9) + &flows("", &list) + "[output]\nsample_interval=\"20us\"\n";
    let results = run(&loaded(&scenario, &[&mode(Mode::DemandAware)]));
    let samples = results.series.queue.chunks(results.series.ports);
    let deepest: Vec<u64> = samples
        .map(|queues| queues.iter().copied().max().unwrap_or(0))
        .collect();
    assert!(deepest[0] > 10_000, "{deepest:?}");
    assert!(deepest[deepest.len() - 2] < 3000, "{deepest:?}");
}

/// Four of eight senders share a link of the core with others.
#[test]
fn what_the_core_does_not_carry_is_left_to_others() {
    let mut list: Vec<Flow> = [0, 1, 2, 3, 8, 9, 10, 11]
        .map(|host| (host, 12, ENDLESS, 0))
        .to_vec();
    list.extend((0..12).map(|at| (4 + at % 4, 13 + at / 4, ENDLESS, 0)));
    let scenario = "stop=\"4ms\"\n[topology]\nkind=\"dumbbell\"\nleft=8\nright=8\nhost_link={rate=\"56Gbps\",delay=\"1us\"}\n\
        core_link={rate=\"56Gbps\",delay=\"1us\"}\n[transport]\nack_control_class=true\n"
        .to_owned()
        + &flows("", &list);
    let received = |kind: Mode| {
        let results = run(&loaded(&scenario, &[&mode(kind)]));
        let to = results
            .messages
            .iter()
            .filter(|one| one.destination.get() == 12);
        to.map(|one| one.acknowledged.get()).sum::<u64>() as f64
    };
    let part = received(Mode::DemandAware) / received(Mode::Count);
    assert!(part > 1.25, "{part}");
}

#[test]
fn tenants_have_their_weights_whoever_has_more_senders() {
    let mut text = star(17);
    text += "[[tenant]]\nname=\"one\"\nhosts=\"0\"\n[[tenant]]\nname=\"many\"\nhosts=\"1-15\"\n";
    text += &flows("tenant=\"one\"\n", &[(0, 16, ENDLESS, 0)]);
    let many: Vec<Flow> = (1..16).map(|host| (host, 16, ENDLESS, 0)).collect();
    text += &flows("tenant=\"many\"\n", &many);
    let part = |sets: &[&str]| {
        let results = run(&loaded(&text, sets));
        let placed: Vec<f64> = results
            .tenants
            .iter()
            .map(|it| it.placed.as_f64())
            .collect();
        placed[0] / (placed[0] + placed[1])
    };
    for one in [Mode::Weighted, Mode::DemandAware, Mode::Measured] {
        let equal = part(&[&mode(one)]);
        assert!((0.48..0.52).contains(&equal), "{one}: {equal}");
        let triple = part(&[&mode(one), "tenant.0.weight=3"]);
        assert!((0.72..0.78).contains(&triple), "{one}: {triple}");
    }
    let count = part(&[&mode(Mode::Count)]);
    assert!((0.05..0.08).contains(&count), "{count}");
    let tenants = [
        "congestion.scope=\"tenant\"",
        "congestion.tenant.shares=false",
    ];
    let scoped = part(&[&mode(Mode::Weighted), tenants[0], tenants[1]]);
    assert!((0.47..0.53).contains(&scoped), "{scoped}");
}

#[test]
fn marks_are_filtered_at_ports_that_face_hosts_alone() {
    let link = "{rate=\"100Gbps\",delay=\"1us\"}";
    let mut text = format!(
        "stop=\"1ms\"\n[topology]\nkind=\"dumbbell\"\nleft=4\nright=4\nhost_link={link}\ncore_link={link}\n\
        [switch.ecn]\nkmin_per_gbps=0\nkmax_per_gbps=1\n"
    );
    // Four across the core to hosts of their own, and two to a host beside them.
    let list: Vec<Flow> = [(0, 4), (1, 5), (2, 6), (3, 7), (6, 5), (7, 5)]
        .map(|(from, to)| (from, to, ENDLESS, 0))
        .into();
    text += &flows("", &list);
    let marks = |sets: &[&str]| {
        let results = run(&loaded(&text, sets));
        let ports = &results.ports;
        let faces_host =
            |port: usize| ports[port].on_switch && !ports[ports[port].peer.index()].on_switch;
        let rows = results.series.marked.iter().enumerate();
        let at_hosts = rows.filter(|(at, _)| faces_host(at % ports.len()));
        let at_hosts: u64 = at_hosts.map(|(_, marked)| marked).sum();
        let filtered = results.signals.filtered_marks;
        let filtered = filtered.as_ref().map(|signal| signal.count);
        (results.signals.ecn_marks.count, at_hosts, filtered)
    };
    let dividing = mode(Mode::DemandAware);
    let (all, at_hosts, filtered) = marks(&[&dividing]);
    assert!(
        all > 0 && at_hosts == 0 && filtered > Some(0),
        "{all} {at_hosts} {filtered:?}"
    );
    let counted = marks(&[&dividing, "switch.ecn.host_ports=true"]);
    assert!(counted.1 > 0 && counted.2.is_none(), "{counted:?}");
    let window = marks(&[&mode(Mode::Window)]);
    assert!(window.1 > 0 && window.2.is_none(), "{window:?}");
    let stated = marks(&["switch.ecn.host_ports=false"]);
    assert!(stated.1 == 0 && stated.2 > Some(0), "{stated:?}");
}

#[test]
fn reads_and_applications_are_apportioned_too() {
    let text = star(10)
        + "[[workload]]\nkind=\"incast\"\ndegree=8\nsize=\"200kB\"\nreceiver=9\nverb=\"read\"\n";
    let alone = complete(&loaded(&text, &[]));
    for one in Mode::ALL.into_iter().filter(|mode| mode.divides()) {
        let results = complete(&loaded(&text, &[&mode(one)]));
        let (queue, before) = (results.totals.queue_max, alone.totals.queue_max);
        assert!(queue < before / 3, "{one}: {queue}, {before}");
    }
}

#[test]
fn apportioning_costs_its_headers_and_off_costs_nothing() {
    let text = star(3) + &flows("", &[(0, 2, 1_000_000, 0)]);
    let bytes = |sets: &[&str]| {
        let results = complete(&loaded(&text, sets));
        assert_eq!(results.totals.data_packets, 977);
        results.totals.injected.bytes
    };
    let plain = bytes(&[]);
    let more = |one: Mode, algorithm: &str| {
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        bytes(&[&mode(one), &algorithm]) - bytes(&[&algorithm])
    };
    assert_eq!(bytes(&[&mode(Mode::Off)]), plain);
    assert_eq!(bytes(&[&mode(Mode::Window)]), plain);
    assert_eq!(more(Mode::Count, "dcqcn"), 977 * 8);
    assert_eq!(more(Mode::Measured, "dcqcn"), 977 * 4);
    assert_eq!(more(Mode::ShortestFirst, "dcqcn"), 977 * 12);
    // What is measured has a header that has room for it, but not for the backlog.
    assert_eq!(more(Mode::Count, "swift"), 0);
    assert_eq!(more(Mode::ShortestFirst, "hpcc"), 977 * 4);
}

/// What each of some tenants of these weights places from one host at another, all of which always send, as a part of the link.
fn parts(weights: &[f64]) -> Vec<f64> {
    let mut text = star(2) + "[congestion]\nscope=\"tenant\"\n";
    for (number, weight) in weights.iter().enumerate() {
        let _ = writeln!(text, "[[tenant]]\nname=\"{number}\"\nweight={weight}");
    }
    for number in 0..weights.len() {
        text += &flows(&format!("tenant=\"{number}\"\n"), &[(0, 1, ENDLESS, 0)]);
    }
    let results = run(&loaded(&text, &[]));
    let link = 56e9 / 8.0 * 2e-3;
    let placed = |message: &MessageRecord| message.placed.as_f64() / link;
    results.messages.iter().map(placed).collect()
}

/// Under scope `qp` 0.925 of the link are payload; here some of it comes before shares do.
#[test]
fn tenants_of_one_uplink_have_all_of_it_whatever_their_weights() {
    for weights in [
        vec![1.0, 3.0],
        vec![1.0, 7.0],
        vec![1.0, 1.7, 2.9, 3.3, 5.1],
        (0..16).map(|number| f64::from(1 + number % 5)).collect(),
    ] {
        let parts = parts(&weights);
        let all: f64 = parts.iter().sum();
        assert!((0.90..0.94).contains(&all), "{weights:?}: {parts:?}");
        let total: f64 = weights.iter().sum();
        for (part, weight) in parts.iter().zip(&weights) {
            let fair = weight / total;
            assert!(
                (part / all / fair - 1.0).abs() < 0.03,
                "{weights:?}: {parts:?}"
            );
        }
    }
}
