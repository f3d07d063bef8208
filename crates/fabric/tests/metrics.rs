//! Metrics: figures against naive computation, and that false results are found out.

use fairlane_fabric::metrics::{
    CdfPoint, Goodput, HotPort, SlowdownBin, Spread, Summary, Tenancy, carried, cdf, check,
    completion_cdf, fairness, hottest, interval_utilisation, jain, least_for, marks, paused,
    pauses, percentile, queue_cdf, size_edges, slowdown_bins, slowest, standalone_bins,
    tenant_slowdown_bins, tenant_throughput, throughput, utilisation,
};
use fairlane_fabric::{
    ContendedPort, Ending, Flux, MessageRecord, Outcome, PauseRecord, PortInfo, PortSeries,
    Results, Signal, Signals, Stall, TenantRecord, TenantSignals, Totals,
};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, PortId, Rate, TenantId, Time};
use proptest::prelude::*;

/// A message that took `taken` nanoseconds where 100 would be ideal.
fn message(id: u32, size: u64, taken: u64) -> MessageRecord {
    let start = Time::from_ns(10);
    MessageRecord {
        id: MessageId::new(id),
        workload: id % 2,
        source: NodeId::new(0),
        destination: NodeId::new(1),
        source_port: 10_000,
        destination_port: 100,
        class: 3,
        verb: fairlane_scenario::Verb::Write,
        size: Bytes::new(size),
        acknowledged: Bytes::new(size),
        placed: Bytes::new(size),
        posted: true,
        start,
        finish: Some(start + Duration::from_ns(taken)),
        ideal: Duration::from_ns(100),
        standalone: Duration::from_ns(200),
        retransmitted: 0,
        outcome: Outcome::Completed,
        tenant: TenantId::new(0),
    }
}

fn unfinished(id: u32) -> MessageRecord {
    MessageRecord {
        finish: None,
        outcome: Outcome::Unfinished,
        ..message(id, 500, 0)
    }
}

fn port(node: u32, on_switch: bool, peer: u32, peer_node: u32) -> PortInfo {
    PortInfo {
        node: NodeId::new(node),
        on_switch,
        number: 1,
        peer: PortId::new(peer),
        peer_node: NodeId::new(peer_node),
        rate: Rate::from_gbps(8),
    }
}

/// Hosts 0 and 1 on switch 2, sampled for two intervals of 100 ns of which the second is half run.
fn results(messages: Vec<MessageRecord>) -> Results {
    let flux = |packets, bytes| Flux { packets, bytes };
    let series = PortSeries {
        ports: 4,
        start: Time::ZERO,
        interval: Duration::from_ns(100),
        sent: vec![100, 0, 0, 80, 25, 0, 5, 50],
        queue: vec![900, 0, 0, 30, 900, 0, 10, 0],
        queue_max: vec![900, 0, 0, 60, 900, 0, 10, 0],
        marked: vec![0, 0, 0, 2, 0, 0, 0, 1],
        paused_ns: vec![40, 0, 0, 0, 50, 0, 0, 3],
    };
    let ports = vec![
        port(0, false, 2, 2),
        port(1, false, 3, 2),
        port(2, true, 0, 0),
        port(2, true, 1, 1),
    ];
    Results {
        messages,
        ports,
        series,
        signals: Signals::default(),
        totals: Totals {
            ending: Ending::Complete,
            end: Time::from_ns(150),
            first_start: Time::from_ns(10),
            transmissions: 8,
            message_transmissions: 7,
            events: 20,
            data_packets: 3,
            injected: flux(7, 700),
            delivered: flux(7, 700),
            dropped: flux(0, 0),
            in_flight: flux(0, 0),
            queue_max: Bytes::new(60),
            base_rtt: Duration::from_ns(4160),
            bdp: Bytes::new(52_000),
        },
        chosen: None,
        trace: Vec::new(),
        pauses: Vec::new(),
        link_changes: Vec::new(),
        capture: Vec::new(),
        contents: Vec::new(),
        real_time: None,
        tuples: Vec::new(),
        applications: Vec::new(),
        collectives: Vec::new(),
        nics: Vec::new(),
        multipath: None,
        tenants: vec![tenant("default", 1.0, 0)],
        contended: Vec::new(),
        rates: Vec::new(),
    }
}

#[test]
fn the_slowest_messages_and_the_hottest_ports_come_first() {
    let mut late = unfinished(3);
    late.posted = false;
    let results = results(vec![
        message(0, 300, 300),
        message(1, 60_000, 100),
        unfinished(2),
        late,
    ]);
    let slow = slowest(&results, 2);
    let slow: Vec<_> = slow
        .iter()
        .map(|it| (it.message.id.get(), (it.slowdown * 1e6).round() / 1e6))
        .collect();
    // The unfinished one was posted 140 ns before the end.
    assert_eq!(slow, [(0, 3.0), (2, 1.4)]);
    assert_eq!(slowest(&results, 9).len(), 3);
    let hot = hottest(&results, 9);
    let port = |port, sent: f64, busiest, queue_max, marked, paused_ns| HotPort {
        port: PortId::new(port),
        utilisation: sent / 150.0,
        busiest,
        queue_max,
        marked,
        paused_ns,
    };
    // Hosts' own ports aren't the fabric's.
    assert_eq!(
        hot,
        [port(3, 130.0, 1.0, 60, 3, 3), port(2, 5.0, 0.1, 10, 0, 0)]
    );
    assert_eq!(hottest(&results, 1), hot[..1]);
}

/// A tenant of whose payload `placed` reached receivers, a third of it in the second interval.
fn tenant(name: &str, weight: f64, placed: u64) -> TenantRecord {
    TenantRecord {
        name: name.into(),
        weight,
        placed: Bytes::new(placed),
        placed_series: vec![placed - placed / 3, placed / 3],
    }
}

/// Red has weight 1 and messages 0 and 1, blue weight 3 and message 2, green nothing.
fn with_tenants() -> Results {
    let of = |tenant: u32, message: MessageRecord| MessageRecord {
        tenant: TenantId::new(tenant),
        ..message
    };
    let messages = vec![
        of(0, message(0, 300, 250)),
        of(0, message(1, 60_000, 100)),
        of(1, message(2, 900, 400)),
    ];
    Results {
        tenants: vec![
            tenant("red", 1.0, 420),
            tenant("blue", 3.0, 1260),
            tenant("green", 2.0, 0),
        ],
        contended: vec![ContendedPort {
            port: PortId::new(3),
            contended_for: Duration::from_ns(100),
            sent: vec![600, 1000, 0],
            contended: vec![250, 750, 0],
        }],
        ..results(messages)
    }
}

#[test]
fn tenants_are_summed_up_one_by_one() {
    let tenancy = Tenancy::of(&with_tenants()).expect("three tenants");
    let [red, blue, green] = tenancy.tenants.as_slice() else {
        panic!("{tenancy:?}");
    };
    assert_eq!((red.messages, blue.messages, green.messages), (2, 1, 0));
    assert_eq!((red.bytes, blue.bytes, green.bytes), (60_300, 900, 0));
    assert_eq!(red.completed_bytes, 60_300);
    // 420 B in the 140 ns from the first start to the end.
    assert!((red.throughput_gbps - 24.0).abs() < 1e-9);
    assert!((blue.throughput_gbps - 72.0).abs() < 1e-9);
    assert_eq!(red.slowdown.map(|spread| spread.max), Some(2.5));
    // The larger message of red has more than the 52 kB of a bandwidth-delay product.
    assert_eq!(red.small_completed, 1);
    assert_eq!(red.small_slowdown.map(|spread| spread.mean), Some(2.5));
    assert_eq!(green.slowdown, None);
}

#[test]
fn fairness_of_tenants_is_by_weight_and_leaves_out_who_sends_nothing() {
    let mut results = with_tenants();
    let fairness = |results: &Results| Tenancy::of(results).unwrap().tenant_fairness.unwrap();
    assert!((fairness(&results) - 1.0).abs() < 1e-12);
    results.tenants[1].weight = 1.0;
    // Of 1 and 3: 16 / (2 x 10).
    assert!((fairness(&results) - 0.8).abs() < 1e-12);
}

#[test]
fn shares_of_a_contended_link_are_parts_of_what_was_sent_while_it_was() {
    let tenancy = Tenancy::of(&with_tenants()).unwrap();
    let [link] = tenancy.contended_links.as_slice() else {
        panic!("{tenancy:?}");
    };
    assert_eq!((link.port_id, link.node, link.peer_node), (3, 2, 1));
    assert_eq!(link.shares, [0.25, 0.75, 0.0]);
    assert_eq!(link.bytes, [600, 1000, 0]);
    assert_eq!((link.fairness, link.contended_ns), (Some(1.0), 100.0));
}

#[test]
fn one_tenant_is_not_compared_with_itself() {
    let alone = results(vec![message(0, 300, 250)]);
    assert_eq!(Tenancy::of(&alone), None);
    let json = serde_json::to_value(Summary::of(&alone)).unwrap();
    assert_eq!(json.get("tenants"), None);
    let json = serde_json::to_value(Summary::of(&with_tenants())).unwrap();
    assert_eq!(json["tenants"][1]["name"], "blue");
    assert_eq!(json["contended_links"][0]["shares"][1], 0.75);
}

#[test]
fn throughput_of_a_tenant_counts_the_last_interval_as_far_as_the_run_went() {
    let series = tenant_throughput(&with_tenants(), TenantId::new(1));
    // 840 B in 100 ns, then 420 B in 50 ns.
    assert_eq!(series.values.len(), 2);
    assert!((series.values[0] - 67.2).abs() < 1e-9);
    assert!((series.values[1] - 67.2).abs() < 1e-9);
    let nobody = tenant_throughput(&with_tenants(), TenantId::new(7));
    assert!(nobody.values.is_empty());
}

#[test]
fn bins_of_a_tenant_hold_its_messages_only() {
    let results = with_tenants();
    let bins = |tenant| tenant_slowdown_bins(&results, TenantId::new(tenant), 20);
    let sizes = |bins: Vec<SlowdownBin>| bins.iter().map(|bin| bin.upto_bytes).collect::<Vec<_>>();
    assert_eq!(sizes(bins(0)), [60_000]);
    assert_eq!(sizes(bins(1)), [900]);
    assert!(bins(2).is_empty());
}

#[test]
fn signals_of_tenants_must_add_up() {
    let mut results = with_tenants();
    assert_eq!(check(&results, true), Vec::<String>::new());
    results.signals.ecn_marks = counted(3);
    let its = |marks| TenantSignals {
        ecn_marks: counted(marks),
        ..TenantSignals::default()
    };
    let by_tenant = [("red".to_owned(), its(1)), ("blue".to_owned(), its(2))];
    results.signals.tenants = Some(by_tenant.into_iter().collect());
    assert_eq!(check(&results, true), Vec::<String>::new());
    results.signals.ecn_marks = counted(4);
    assert!(one_fault(&results, true).contains("4 marks, but tenants had 3"));
    results.signals.ecn_marks = counted(3);
    results.messages[1].tenant = TenantId::new(3);
    assert!(one_fault(&results, true).contains("message 1 belongs to tenant 3"));
}

fn counted(count: u64) -> Signal {
    Signal {
        count,
        why_zero: None,
    }
}

fn one_fault(results: &Results, lossless: bool) -> String {
    let mut faults = check(results, lossless);
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

#[test]
fn percentile_is_the_value_at_the_floor_of_length_times_p() {
    let values: Vec<u32> = (0..200).collect();
    assert_eq!(percentile(&values, 0.5), Some(100));
    assert_eq!(percentile(&values, 0.99), Some(198));
    assert_eq!(percentile(&values, 0.999), Some(199));
    assert_eq!(percentile(&values, 1.0), Some(199));
    assert_eq!(percentile(&values, 0.0), Some(0));
    assert_eq!(percentile::<u32>(&[], 0.5), None);
}

#[test]
fn n_values_carry_a_percentile_if_one_of_them_is_that_rare() {
    // n (1 - p) >= 1.
    let least = [
        (0.0, 1),
        (0.5, 2),
        (0.75, 4),
        (0.9, 10),
        (0.95, 20),
        (0.99, 100),
        (0.999, 1000),
    ];
    for (p, least) in least {
        assert_eq!(least_for(p), least, "{p}");
        let values: Vec<usize> = (0..least).collect();
        assert_eq!(carried(&values, p), percentile(&values, p), "{p}");
        assert_eq!(carried(&values[1..], p), None, "{p}");
    }
    assert_eq!(carried(&[1, 2, 3], 1.0), None);
    let spread = |count: u32| Spread::of((0..count).map(f64::from).collect());
    let few = spread(20).expect("there are some");
    assert_eq!(
        (few.p50, few.p95, few.p99, few.p999),
        (Some(10.0), Some(19.0), None, None)
    );
    let one = spread(1).expect("there is one");
    assert_eq!((one.mean, one.p50, one.max), (0.0, None, 0.0));
    let bin = slowdown_bins(
        &(0..100).map(|id| message(id, 9, 100)).collect::<Vec<_>>(),
        20,
    )[0];
    assert_eq!((bin.p99, bin.p999), (Some(1.0), None));
}

#[test]
fn sizes_of_several_runs_have_edges_in_common() {
    // 300 sizes in classes of at least 100, and of a hundred alike not one is left out.
    let sizes: Vec<u64> = (0..200)
        .rev()
        .chain(std::iter::repeat_n(500, 100))
        .collect();
    assert_eq!(size_edges(sizes.clone(), 20, 100), [99, 199, 500]);
    assert_eq!(size_edges(sizes.clone(), 2, 100).last(), Some(&500));
    assert_eq!(size_edges(sizes, 20, 1000), [500]);
    assert!(size_edges(Vec::new(), 20, 100).is_empty());
}

#[test]
fn classes_of_size_hold_equal_parts_and_the_largest_message() {
    let messages: Vec<_> = (0..1030)
        .rev()
        .map(|id| message(id, u64::from(id) + 1, 1000 + u64::from(id)))
        .collect();
    let bins = slowdown_bins(&messages, 20);
    let counts: Vec<_> = bins.iter().map(|bin| bin.count).collect();
    assert_eq!(counts[..11], [[52; 10].as_slice(), &[51]].concat());
    assert_eq!((bins.len(), counts.iter().sum::<usize>()), (20, 1030));
    assert!(counts.iter().all(|count| (51..=52).contains(count)));
    assert_eq!(bins[0].upto_bytes, 52);
    assert_eq!((bins[0].p50, bins[0].max), (Some(10.26), 10.51));
    assert_eq!((bins[19].upto_bytes, bins[19].max), (1030, 20.29));
}

#[test]
fn classes_of_size_are_no_more_than_sizes_and_hold_enough_messages() {
    let messages = |count: u32, sizes: u32| -> Vec<_> {
        (0..count)
            .map(|id| message(id, u64::from(1000 + id % sizes), 100))
            .collect()
    };
    for (count, sizes, classes) in [
        (0, 1, 0),
        (10, 10, 1),
        (1000, 1, 1),
        (1000, 3, 3),
        (45, 45, 2),
        (1000, 1000, 20),
    ] {
        let bins = slowdown_bins(&messages(count, sizes), 20);
        assert_eq!(bins.len(), classes, "{count} of {sizes}");
    }
}

/// Sizes with their counts, and the counts of the classes that they make.
#[test]
fn one_size_is_in_one_class() {
    for (sizes, classes) in [
        // 5 % of the messages are 50: the small ones are enough for a class, the large ones aren't.
        (
            &[(1, 40), (2, 500), (3, 450), (4, 10)][..],
            &[40, 500, 460][..],
        ),
        (&[(1, 10), (2, 990)], &[1000]),
        (&[(1, 30), (2, 30), (3, 940)], &[60, 940]),
    ] {
        let each = sizes.iter().flat_map(|&(size, count)| vec![size; count]);
        let messages: Vec<_> = (0..)
            .zip(each)
            .map(|(id, size)| message(id, size, 100))
            .collect();
        let bins = slowdown_bins(&messages, 20);
        let counts: Vec<_> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, classes, "{sizes:?}");
    }
}

#[test]
fn bins_clamp_nothing_and_skip_unfinished_messages() {
    let messages = [message(0, 10, 50), unfinished(1), message(2, 30, 300)];
    let bins = slowdown_bins(&messages, 20);
    let found: Vec<_> = bins
        .iter()
        .map(|bin| (bin.upto_bytes, bin.count, bin.p50))
        .collect();
    assert_eq!(found, [(30, 2, Some(3.0))]);
    let standalone: Vec<_> = standalone_bins(&messages, 20)
        .iter()
        .map(|bin| bin.max)
        .collect();
    assert_eq!(standalone, [1.5]);
    assert_eq!(slowdown_bins(&[], 20), []);
    assert_eq!(slowdown_bins(&messages, 0), []);
}

#[test]
fn throughput_counts_what_reaches_hosts_in_the_time_that_ran() {
    let series = throughput(&results(Vec::new()));
    // 80 bytes in 100 ns; 55 bytes in the 50 ns before the end.
    assert_eq!(series.values, [6.4, 8.8]);
    assert_eq!((series.start_ns, series.interval_ns), (0.0, 100.0));
}

#[test]
fn marks_and_pauses_are_summed_over_ports() {
    let mut results = results(Vec::new());
    let record = |ns, pause| PauseRecord {
        time: Time::from_ns(ns),
        port: PortId::new(0),
        class: 3,
        pause,
    };
    results.pauses = vec![
        record(20, true),
        record(40, false),
        record(99, true),
        record(100, true),
        record(200, true),
    ];
    assert_eq!(marks(&results).values, [2.0, 1.0]);
    assert_eq!(paused(&results).values, [40.0, 53.0]);
    assert_eq!(pauses(&results).values, [2.0, 2.0]);
}

#[test]
fn utilisation_is_bits_sent_over_bits_possible() {
    let results = results(Vec::new());
    let expected = [125.0 / 150.0, 0.0, 5.0 / 150.0, 130.0 / 150.0];
    let found = utilisation(&results);
    assert!(
        found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 1e-12),
        "{found:?}"
    );
    assert_eq!(interval_utilisation(&results, 1), [0.5, 0.0, 0.1, 1.0]);
    assert!(interval_utilisation(&results, 2).is_empty());
}

#[test]
fn queue_lengths_are_those_of_switches() {
    let point = |value, share| CdfPoint { value, share };
    let expected = [point(0.0, 0.5), point(10.0, 0.75), point(30.0, 1.0)];
    assert_eq!(queue_cdf(&results(Vec::new()), 100), expected);
}

#[test]
fn series_of_a_run_without_samples_are_empty() {
    let mut results = results(Vec::new());
    results.series = PortSeries::default();
    results.totals.end = Time::ZERO;
    assert!(throughput(&results).values.is_empty() && pauses(&results).values.is_empty());
    assert!(queue_cdf(&results, 10).is_empty());
    assert_eq!(utilisation(&results), [0.0; 4]);
    assert_eq!(Goodput::of(&results).gbps, 0.0);
}

#[test]
fn goodput_is_over_the_time_in_which_messages_are_posted() {
    let posted = |last: u64| {
        let start = |id, ns| MessageRecord {
            start: Time::from_ns(ns),
            ..message(id, 500, 90)
        };
        let mut results = results(vec![start(0, 0), start(1, last), start(2, 0)]);
        (results.totals.first_start, results.totals.end) = (Time::ZERO, Time::from_ns(200));
        results.series.interval = Duration::from_ns(10);
        // A fabric that fills, carries 100 bytes per interval, and drains at a tenth of that.
        results.tenants[0].placed_series = [vec![0], vec![100; 9], vec![10; 10]].concat();
        results.tenants[0].placed = Bytes::new(1000);
        results
    };
    let over = |last| {
        let found = Goodput::of(&posted(last));
        (found.gbps, found.over)
    };
    assert_eq!(over(100), (72.0, Duration::from_ns(100)));
    assert_eq!(Goodput::of_run(&posted(100)).gbps, 40.0);
    assert_eq!(Goodput::steady(&posted(100)).map(|it| it.gbps), Some(80.0));
    // Messages that come as a batch complete after the last post.
    assert_eq!(over(0), (40.0, Duration::from_ns(200)));
    assert_eq!(over(20), (40.0, Duration::from_ns(200)));
    let mut never = posted(100);
    never.messages[1].posted = false;
    assert_eq!(Goodput::of(&never).over, Duration::from_ns(200));
}

#[test]
fn jain_is_one_for_equals_and_one_nth_for_a_monopoly() {
    assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
    assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
    assert_eq!(jain(&[]), None);
    assert_eq!(jain(&[0.0]), None);
    // 4 and 1 bytes per nanosecond: 25 / (2 x 17).
    let index = fairness(&[message(0, 400, 100), message(1, 100, 100), unfinished(2)]);
    assert!(
        index.is_some_and(|index| (index - 25.0 / 34.0).abs() < 1e-12),
        "{index:?}"
    );
}

fn assert_goodput(summary: &Summary) {
    // 1,680 bytes, of messages that aren't complete too, in the 140 ns from the first start to the end.
    assert_eq!(summary.placed_bytes, 1680);
    assert!((summary.goodput_gbps - 96.0).abs() < 1e-9);
    assert!((summary.goodput_run_gbps - 96.0).abs() < 1e-9);
    assert_eq!(
        (summary.goodput_ns, summary.goodput_steady_gbps),
        (140.0, None)
    );
}

#[test]
fn summary_states_outcomes_and_units() {
    let failed = MessageRecord {
        outcome: Outcome::RetryExceeded,
        ..unfinished(3)
    };
    let mut results = results(vec![
        message(0, 1000, 100),
        message(2, 400, 130),
        unfinished(1),
        failed,
    ]);
    let reason = "a circle of pauses".to_string();
    let stall = Stall {
        at: Time::ZERO,
        pause_cycle: Vec::new(),
        unfinished: 2,
        reason,
    };
    results.totals.ending = Ending::Stalled(stall);
    results.series.start = results.totals.first_start;
    results.tenants = vec![tenant("default", 1.0, 1680)];
    let summary = Summary::of(&results);
    assert_eq!(
        (summary.ending, summary.stall.as_deref()),
        ("stalled", Some("a circle of pauses"))
    );
    let counts = (
        summary.messages,
        summary.completed,
        summary.unfinished,
        summary.failed,
    );
    assert_eq!(counts, (4, 2, 1, 1));
    assert_eq!((summary.bytes, summary.completed_bytes), (2400, 1400));
    assert_eq!(
        (
            summary.base_rtt_ns,
            summary.bdp_bytes,
            summary.queue_max_bytes
        ),
        (4160.0, 52_000, 60)
    );
    assert_goodput(&summary);
    let slowdown = Spread {
        mean: 1.15,
        p50: Some(1.3),
        p95: None,
        p99: None,
        p999: None,
        max: 1.3,
    };
    let found = summary.slowdown.expect("two completed");
    assert!((found.mean - slowdown.mean).abs() < 1e-12);
    assert_eq!(
        Spread {
            mean: 1.15,
            ..found
        },
        slowdown
    );
    let workloads: Vec<_> = summary
        .workloads
        .iter()
        .map(|w| (w.workload, w.messages, w.bytes))
        .collect();
    assert_eq!(workloads, [(0, 2, 1400), (1, 2, 1000)]);
    assert_eq!(summary.workloads[1].slowdown, None);
}

#[test]
fn true_results_pass() {
    assert_eq!(check(&results(vec![message(0, 1000, 100)]), true), [""; 0]);
}

#[test]
fn a_message_a_picosecond_too_fast_is_found_out() {
    let mut fast = message(7, 1000, 100);
    fast.finish = Some(Time::from_ps(10_000 + 99_999));
    let fault = one_fault(&results(vec![message(0, 1, 100), fast]), true);
    assert!(
        fault.contains("message 7") && fault.contains("less than its ideal"),
        "{fault}"
    );
}

#[test]
fn messages_that_contradict_themselves_are_found_out() {
    let early = MessageRecord {
        finish: Some(Time::from_ns(9)),
        ..message(1, 1, 1)
    };
    let unmarked = MessageRecord {
        outcome: Outcome::Unfinished,
        ..message(1, 1, 200)
    };
    let endless = MessageRecord {
        finish: None,
        ..message(1, 1, 200)
    };
    let timeless = MessageRecord {
        ideal: Duration::ZERO,
        ..message(1, 1, 200)
    };
    let cases = [
        (early, "before its start"),
        (unmarked, "has a finish"),
        (endless, "has no finish"),
        (timeless, "ideal time of 0"),
    ];
    for (message, words) in cases {
        let mut results = results(vec![message]);
        results.totals.ending = Ending::Stopped;
        let fault = one_fault(&results, true);
        assert!(fault.contains(words), "{fault}");
        // No figure panics on it either.
        Summary::of(&results);
        slowdown_bins(&results.messages, 20);
    }
}

#[test]
fn endings_that_contradict_the_messages_are_found_out() {
    let fault = one_fault(&results(vec![unfinished(0)]), true);
    assert!(fault.contains("1 incomplete"), "{fault}");
    let mut failed = results(vec![message(0, 1, 200)]);
    failed.totals.ending = Ending::Failed;
    assert!(one_fault(&failed, true).contains("every message is complete"));
}

#[test]
fn lost_packets_and_bytes_are_found_out() {
    let mut lost = results(Vec::new());
    lost.totals.delivered.packets -= 1;
    assert!(one_fault(&lost, true).starts_with("7 packets were injected, but 6"));
    let mut lost = results(Vec::new());
    lost.totals.in_flight.bytes += 5;
    assert!(one_fault(&lost, true).starts_with("700 bytes were injected"));
}

#[test]
fn drops_need_a_reason_and_a_buffer_that_may_overflow() {
    let mut dropping = results(Vec::new());
    dropping.totals.delivered = Flux {
        packets: 5,
        bytes: 500,
    };
    dropping.totals.dropped = Flux {
        packets: 2,
        bytes: 200,
    };
    assert!(one_fault(&dropping, true).contains("reasons are given for 0"));
    let two = Signal {
        count: 2,
        why_zero: None,
    };
    dropping.signals.drops.insert("link-error", two.clone());
    assert_eq!(check(&dropping, true), [""; 0]);
    dropping.signals.drops.clear();
    dropping.signals.drops.insert("buffer-full", two);
    assert_eq!(check(&dropping, false), [""; 0]);
    assert!(one_fault(&dropping, true).contains("overflowed"));
}

#[test]
fn a_fault_of_every_message_is_named_a_few_times() {
    let faults = check(
        &results((0..1000).map(|id| message(id, 1, 1)).collect()),
        true,
    );
    assert_eq!(faults.len(), 21);
    assert!(faults[20].starts_with("980 more"));
}

proptest! {
    #[test]
    fn percentile_leaves_its_share_below(mut values in prop::collection::vec(0..50u32, 1..300), p in 0.0..1.0f64) {
        values.sort_unstable();
        let found = percentile(&values, p).expect("not empty");
        let below = values.iter().filter(|value| **value < found).count() as f64;
        let at_most = values.iter().filter(|value| **value <= found).count() as f64;
        let wanted = (values.len() as f64 * p).floor();
        prop_assert!(below <= wanted && wanted < at_most);
    }

    #[test]
    fn bins_cover_every_message_once(
        sizes in prop::collection::vec((1..100u64, 100..5000u64), 0..400),
        bins in 1..40usize,
    ) {
        let numbered = (0u32..).zip(&sizes);
        let messages: Vec<_> = numbered.map(|(id, (size, taken))| message(id, *size, *taken)).collect();
        let found = slowdown_bins(&messages, bins);
        prop_assert_eq!(found.iter().map(|bin| bin.count).sum::<usize>(), sizes.len());
        prop_assert!(found.is_sorted_by_key(|bin| bin.upto_bytes));
        let largest = sizes.iter().map(|(size, _)| *size).max();
        prop_assert_eq!(found.last().map(|bin| bin.upto_bytes), largest);
        prop_assert!(found.len() <= bins);
        prop_assert!(found.len() < 2 || found.iter().all(|bin| bin.count >= 20));
        let mut before = 0;
        for bin in &found {
            let its = |size: u64| before < size && size <= bin.upto_bytes;
            let count = sizes.iter().filter(|(size, _)| its(*size)).count();
            prop_assert_eq!(bin.count, count);
            before = bin.upto_bytes;
        }
        let slowest = sizes.iter().map(|(_, taken)| *taken as f64 / 100.0).fold(0.0, f64::max);
        let max = found.iter().map(|bin| bin.max).fold(0.0, f64::max);
        prop_assert!((max - slowest).abs() < 1e-9);
    }

    #[test]
    fn cdf_points_are_exact_and_end_at_one(
        mut values in prop::collection::vec(0..500u32, 1..400),
        points in 1..100usize,
    ) {
        values.sort_unstable();
        let sorted: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let curve = cdf(&sorted, points);
        prop_assert!(curve.len() <= points + 21);
        prop_assert!(curve.windows(2).all(|p| p[0].value < p[1].value && p[0].share < p[1].share));
        prop_assert_eq!(curve.last().map(|point| point.share), Some(1.0));
        for CdfPoint { value, share } in curve {
            let at_most = sorted.iter().filter(|other| **other <= value).count();
            prop_assert_eq!(share, at_most as f64 / sorted.len() as f64);
        }
    }

    #[test]
    fn completion_times_are_in_nanoseconds(taken in prop::collection::vec(1..1_000_000u64, 1..50)) {
        let numbered = (0u32..).zip(&taken);
        let messages: Vec<_> = numbered.map(|(id, taken)| message(id, 1, *taken)).collect();
        let slowest = completion_cdf(&messages, 10).last().map_or(0.0, |point| point.value);
        let expected = taken.iter().max().map_or(0.0, |taken| *taken as f64);
        prop_assert!((slowest - expected).abs() < 1e-6);
    }

    #[test]
    fn jain_is_between_one_nth_and_one(values in prop::collection::vec(0.001..1e9f64, 1..50)) {
        let index = jain(&values).expect("values above 0");
        prop_assert!(index <= 1.0 + 1e-9 && index >= 1.0 / values.len() as f64 - 1e-9);
    }
}
