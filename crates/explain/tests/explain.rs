//! Each cause is found where a run made by hand has it, and causes add up.

use fairlane_explain::{
    Collective, Costs, Finding, Kind, Message, Multipath, Path, Port, Report, Run, Settings, Way,
    explain,
};
use proptest::prelude::*;

const INTERVAL: u64 = 10_000_000;
const INTERVALS: usize = 20;
/// What 100 Gb/s carry in an interval.
const ROOM: u64 = 125_000;

/// Two leaves (4 and 5) with hosts 0, 1 and 2, 3, and two spines (6 and 7).
fn leaf_spine() -> Run {
    let ends = [
        (0, 4),
        (1, 4),
        (2, 5),
        (3, 5),
        (4, 6),
        (4, 7),
        (5, 6),
        (5, 7),
    ];
    let mut numbers = [0; 8];
    let mut ports = Vec::new();
    for (a, b) in ends {
        for (node, peer) in [(a, b), (b, a)] {
            numbers[node as usize] += 1;
            ports.push(Port {
                node,
                number: numbers[node as usize],
                peer,
                on_switch: node >= 4,
                rate_bps: 100_000_000_000,
                sent: vec![0; INTERVALS],
                paused_ns: vec![0; INTERVALS],
            });
        }
    }
    Run {
        name: "hand".into(),
        interval_ps: INTERVAL,
        end_ps: INTERVAL * INTERVALS as u64,
        ports,
        bdp_bytes: 100_000,
        settings: Settings {
            algorithm: "dcqcn".into(),
            scope: "qp".into(),
            window: "none".into(),
            ..Settings::default()
        },
        ..Run::default()
    }
}

fn port(run: &mut Run, node: u32, peer: u32) -> &mut Port {
    let mut ports = run.ports.iter_mut();
    let found = ports.find(|port| (port.node, port.peer) == (node, peer));
    found.expect("a link that there is")
}

/// Lets a link carry a share of what it can.
fn load(run: &mut Run, (node, peer): (u32, u32), percent: u64) {
    port(run, node, peer).sent = vec![ROOM * percent / 100; INTERVALS];
}

/// Adds a message of the whole run.
fn send(run: &mut Run, way: &[u32]) {
    run.messages.push(Message {
        id: run.messages.len() as u32,
        source: way[0],
        destination: way[way.len() - 1],
        size: 2_000_000,
        finish_ps: Some(run.end_ps),
        ideal_ps: run.end_ps / 2,
        way: way.to_vec().into(),
        ..Message::default()
    });
}

fn first(run: &Run) -> Finding {
    let report = explain(run);
    report.findings.into_iter().next().expect("a finding")
}

#[test]
fn a_full_receiver_goes_before_all_else() {
    let mut run = leaf_spine();
    for way in [[0, 4, 6, 5, 2], [1, 4, 7, 5, 2]] {
        send(&mut run, &way);
        way.windows(2)
            .for_each(|ends| load(&mut run, (ends[0], ends[1]), 95));
    }
    let finding = first(&run);
    assert_eq!((finding.kind, finding.share), (Kind::Receiver, Some(1.0)));
    let place = &finding.places[0];
    assert_eq!(
        (place.node.as_str(), place.peer.as_str()),
        ("switch 5", "host 2")
    );
    assert_eq!((place.messages, place.pairs), (2, 2));
    assert!(
        finding.figures[0].contains("up to 2 senders"),
        "{finding:?}"
    );
}

#[test]
fn the_last_rank_of_a_collective_waited_for_what_held_its_message_up() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    send(&mut run, &[1, 4, 7, 5, 2]);
    load(&mut run, (5, 2), 95);
    let collective = |step, time_ps, rank, last_message| Collective {
        what: "all-reduce ring".into(),
        step,
        time_ps,
        slowest_rank: rank,
        slowest_host: rank,
        last_message,
    };
    run.collectives = vec![
        collective(0, 5_000_000, 2, Some(1)),
        collective(1, 7_000_000, 2, Some(0)),
        collective(2, 6_000_000, 1, None),
    ];
    let report = explain(&run);
    let found = report
        .findings
        .iter()
        .find(|it| it.kind == Kind::SlowestRanks);
    let found = found.expect("a fact");
    assert_eq!((found.time_ns, found.share), (None, None));
    assert_eq!(found.what, "3 collectives waited for their slowest ranks");
    let receiver = "the receiver's link was full: more paths bring nothing";
    assert_eq!(
        found.figures,
        [
            format!("what the last rank waited for: {receiver} (2); no message: it came too late itself (1)"),
            "rank 2 on host 2 was the last one most often: 2 of 3".into(),
            format!("all-reduce ring of step 1: 7 us, rank 2 on host 2 was the last: message 0, {receiver}"),
            "all-reduce ring of step 2: 6 us, rank 1 on host 1 was the last: no message: it came too late itself".into(),
            format!("all-reduce ring of step 0: 5 us, rank 2 on host 2 was the last: message 1, {receiver}"),
        ]
    );
    run.collectives.clear();
    assert!(
        explain(&run)
            .findings
            .iter()
            .all(|it| it.kind != Kind::SlowestRanks)
    );
}

#[test]
fn a_full_link_beside_free_ones_is_a_collision() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    send(&mut run, &[1, 4, 6, 5, 3]);
    load(&mut run, (4, 6), 100);
    load(&mut run, (4, 7), 20);
    let finding = first(&run);
    assert_eq!(finding.kind, Kind::Collision);
    let place = &finding.places[0];
    assert_eq!(
        (place.node.as_str(), place.peer.as_str()),
        ("switch 4", "switch 6")
    );
    assert_eq!(place.parallel_usage, [0.2]);
    assert_eq!(place.most, ["0->2 (2 MB)", "1->3 (2 MB)"]);
    assert_eq!(finding.remedies[0].key, "multipath");

    load(&mut run, (4, 7), 100);
    assert_eq!(first(&run).kind, Kind::Fabric);
}

#[test]
fn a_full_link_that_is_not_on_the_way_is_none_of_its_business() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    load(&mut run, (4, 7), 100);
    load(&mut run, (5, 3), 100);
    load(&mut run, (1, 4), 100);
    assert_eq!(first(&run).kind, Kind::CongestionControl);
    load(&mut run, (0, 4), 100);
    assert_eq!(first(&run).kind, Kind::Sender);
}

#[test]
fn a_second_port_of_the_receiver_that_is_free_makes_it_a_collision() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    load(&mut run, (5, 2), 100);
    assert_eq!(first(&run).kind, Kind::Receiver);
    // Another switch that reaches host 2 over the same spine.
    for (node, peer) in [(6, 8), (8, 6), (8, 2), (2, 8)] {
        run.ports.push(Port {
            node,
            number: 9,
            peer,
            on_switch: node != 2,
            ..run.ports[0].clone()
        });
    }
    let finding = first(&run);
    assert_eq!(finding.kind, Kind::Collision);
    assert_eq!(finding.places[0].parallel_usage, [0.0]);
}

/// A server's own switch brings host 1 as close to host 2 as the spines are, but hosts don't forward.
#[test]
fn no_way_leads_through_a_host() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    for (node, peer) in [(1, 8), (8, 1), (2, 8), (8, 2)] {
        run.ports.push(Port {
            node,
            number: 9,
            peer,
            on_switch: node == 8,
            ..run.ports[0].clone()
        });
    }
    load(&mut run, (4, 6), 100);
    load(&mut run, (4, 7), 100);
    assert_eq!(first(&run).kind, Kind::Fabric);
}

#[test]
fn switches_that_choose_by_packet_are_full_if_all_their_links_are() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    run.messages[0].way = Way::default();
    load(&mut run, (4, 6), 100);
    assert_eq!(first(&run).kind, Kind::CongestionControl);
    load(&mut run, (4, 7), 100);
    assert_eq!(first(&run).kind, Kind::Fabric);
}

#[test]
fn where_no_link_is_full_the_rest_is_told_apart() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    let finding = first(&run);
    assert_eq!(finding.kind, Kind::CongestionControl);
    assert_eq!(finding.figures.len(), 2, "scope qp shares nothing");
    let mut with_paths = several(&[6, 7]);
    assert!(first(&with_paths).figures[2].contains("a rate of its own"));
    with_paths
        .multipath
        .as_mut()
        .expect("it has several")
        .coupled = true;
    assert!(first(&with_paths).figures[2].contains("take one flow"));
    run.settings.scope = "pair".into();
    assert!(first(&run).figures[2].contains("more paths add none"));

    run.messages[0].size = 1000;
    assert_eq!(first(&run).kind, Kind::RoundTrip);
    run.messages[0].retransmitted = 3;
    let finding = first(&run);
    assert_eq!(finding.kind, Kind::Loss);
    assert!(
        finding.figures[0].contains("3 packets sent again"),
        "{finding:?}"
    );
    port(&mut run, 4, 6).paused_ns = vec![9000; INTERVALS];
    assert_eq!(first(&run).kind, Kind::Pauses);
}

/// The paths of 0 and 2 over the spines of `ways`.
fn paths(ways: &[u32]) -> Vec<Path> {
    let path = |(number, spine): (usize, &u32)| Path {
        source: 0,
        destination: 2,
        path: number as u32,
        source_port: 50_000 + number as u16,
        bytes: 1_000_000,
        chunks: 1000,
        health: "good".into(),
        way: vec![0, 4, *spine, 5, 2].into(),
        ..Path::default()
    };
    ways.iter().enumerate().map(path).collect()
}

fn several(ways: &[u32]) -> Run {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    run.messages[0].way = Way::default();
    run.multipath = Some(Multipath {
        chunks: 2000,
        depth: 1000,
        paths: paths(ways),
        ..Multipath::default()
    });
    run
}

fn find(report: &Report, kind: Kind) -> Option<&Finding> {
    report.findings.iter().find(|finding| finding.kind == kind)
}

#[test]
fn paths_of_one_way_collide() {
    let mut run = several(&[6, 6]);
    load(&mut run, (4, 6), 100);
    let report = explain(&run);
    assert_eq!(report.findings[0].kind, Kind::Collision);
    assert_eq!(report.findings[0].remedies[0].key, "multipath.plan");
    let shared = find(&report, Kind::PathsShareAWay).expect("both take spine 6");
    assert_eq!(shared.what, "0->2: 2 paths take 1 way, and there are 2");
    assert_eq!(shared.figures, ["2 paths take 0 - 4 - 6 - 5 - 2"]);

    let apart = explain(&several(&[6, 7]));
    assert_eq!(find(&apart, Kind::PathsShareAWay), None);
    let shares = find(&apart, Kind::PathShares).expect("two paths");
    assert_eq!(
        shares.figures[0],
        "50 % to 50 % of the bytes on each of these"
    );
    assert!(
        shares.figures[1].contains("one path could do as much"),
        "{shares:?}"
    );
}

#[test]
fn chunks_cost_what_libraries_spent_where_no_link_was_full() {
    let mut run = several(&[6, 7]);
    let costs = Costs {
        post_ns: 80_000.0,
        poll_ns: 60_000.0,
        split_ns: 10_000.0,
        reassemble_ns: 1e9,
    };
    run.multipath.as_mut().expect("it has several").costs = costs;
    let report = explain(&run);
    assert_eq!(report.findings[0].kind, Kind::ChunkCosts);
    assert_eq!(report.findings[0].time_ns, Some(150_000.0));
    assert_eq!(report.findings[0].share, Some(0.75));
    let each = "2000 chunks at 75 ns each: 40 ns for posting, 30 ns for polling, 5 ns for cutting";
    assert_eq!(report.findings[0].figures, [each]);

    run.multipath.as_mut().expect("it has several").depth = 2;
    let report = explain(&run);
    assert_eq!(report.findings[1].kind, Kind::ChunkDepth);
    assert!(report.findings[1].figures[0].contains("2 chunks of 1 kB a path"));
    // A full link isn't the library's fault.
    load(&mut run, (5, 2), 100);
    assert_eq!(find(&explain(&run), Kind::ChunkCosts), None);
}

#[test]
fn a_path_that_gave_up_is_named() {
    let mut run = several(&[6, 7]);
    let path = &mut run.multipath.as_mut().expect("it has several").paths[1];
    (path.failures, path.quarantines, path.health) = (2, 1, "quarantined".into());
    let report = explain(&run);
    assert_eq!(report.findings[0].kind, Kind::FailedPath);
    let fact = report
        .findings
        .iter()
        .find(|it| it.kind == Kind::FailedPath && it.share.is_none());
    let figure = &fact.expect("a fact beside the cause").figures[0];
    assert_eq!(
        figure,
        "path 1 (source port 50001): 2 chunks failed, given up 1 time, quarantined at the end"
    );
}

#[test]
fn a_run_of_nothing_says_so() {
    let report = explain(&leaf_spine());
    assert_eq!(report.findings[0].kind, Kind::Idle);
    assert_eq!(report.findings.len(), 1);
    assert_eq!(explain(&Run::default()).findings[0].kind, Kind::Idle);
}

#[test]
fn a_coarse_series_is_said_to_be_one() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    assert_eq!(find(&explain(&run), Kind::CoarseSamples), None);
    run.messages[0].finish_ps = Some(3 * INTERVAL);
    let report = explain(&run);
    let coarse = find(&report, Kind::CoarseSamples).expect("three intervals");
    assert_eq!(coarse.remedies[0].key, "output.sample_interval");
}

#[test]
fn findings_stand_in_the_order_of_their_cost() {
    let mut run = leaf_spine();
    send(&mut run, &[0, 4, 6, 5, 2]);
    let busy = |from: usize, to: usize| {
        (0..INTERVALS)
            .map(|it| if (from..to).contains(&it) { ROOM } else { 0 })
            .collect::<Vec<_>>()
    };
    port(&mut run, 5, 2).sent = busy(0, 5);
    port(&mut run, 4, 6).sent = busy(5, 14);
    let report = explain(&run);
    let kinds: Vec<_> = report
        .findings
        .iter()
        .map(|it| (it.kind, it.share))
        .collect();
    let expected = [
        (Kind::Collision, Some(0.45)),
        (Kind::CongestionControl, Some(0.3)),
        (Kind::Receiver, Some(0.25)),
    ];
    assert_eq!(kinds, expected);
    let over_time = &report.findings[2].places[0].usage_over_time;
    assert_eq!(
        over_time,
        &[1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    );
    let text = report.text();
    assert!(
        text.contains("1. 45 % of message time (90 us): a link was full while"),
        "{text}"
    );
    assert!(text.contains("over time: 100, 100, 50, 0"), "{text}");
}

proptest! {
    /// Whatever a run has, causes add up to the time of its messages, and all figures are numbers.
    #[test]
    fn causes_add_up(
        loads in prop::collection::vec((0u64..130, 0u64..10_000), 16),
        messages in prop::collection::vec((0u32..9, 0u32..9, 0u64..250, 0u64..250, any::<bool>(), 0u64..3), 0..12),
        with_paths in any::<bool>(),
        rate in prop::sample::select(vec![0u64, 1, 100_000_000_000]),
    ) {
        let mut run = leaf_spine();
        for (port, (percent, paused)) in run.ports.iter_mut().zip(loads) {
            port.sent = vec![ROOM * percent / 100; INTERVALS];
            port.paused_ns = vec![paused; INTERVALS];
            port.rate_bps = rate;
        }
        for (source, destination, from, length, done, retransmitted) in messages {
            let (start_ps, end) = (from * 1_000_000, run.end_ps);
            if start_ps >= end {
                continue;
            }
            run.messages.push(Message {
                source,
                destination,
                size: length * 1000,
                start_ps,
                finish_ps: done.then(|| end.min(start_ps + length * 1_000_000)),
                retransmitted,
                ..Message::default()
            });
        }
        if with_paths {
            let costs = Costs { post_ns: 50_000.0, ..Costs::default() };
            run.multipath = Some(Multipath { costs, paths: paths(&[6, 7, 7]), ..Multipath::default() });
        }
        let report = explain(&run);
        let taken: u64 = run
            .messages
            .iter()
            .map(|it| it.finish_ps.unwrap_or(run.end_ps) - it.start_ps)
            .sum();
        prop_assert_eq!(report.message_ns, taken as f64 / 1e3);
        let costs: f64 = report.findings.iter().filter_map(|it| it.time_ns).sum();
        prop_assert!((costs - report.message_ns).abs() < 1.0);
        let shares = report.findings.iter().filter_map(|it| it.share);
        prop_assert!(shares.into_iter().all(|share| (0.0..=1.0).contains(&share)));
        prop_assert!(!report.text().contains("NaN"));
    }
}
