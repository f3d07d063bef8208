//! Results that look like a run of Hadoop messages on a fat-tree, made without a simulator.

use std::collections::BTreeMap;

use fairlane_fabric::metrics::{
    self, CdfPoint, Summary, Tenancy, completion_cdf, queue_cdf, slowdown_bins,
    tenant_slowdown_bins,
};
use fairlane_fabric::{
    CollectiveRecord, ContendedPort, Ending, Flux, LinkChange, MessageRecord, Outcome, PauseRecord,
    PortInfo, PortSeries, Results, Signal, Signals, Stall, TenantRecord, TenantSignals, Totals,
};
use fairlane_program::{Algorithm, Kind};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, PortId, Rate, TenantId, Time};

use super::{Distribution, Figures, Heading, ReportInput, SlowdownBin, TenantInput};

const INTERVAL_US: u64 = 50;

/// A report's input with the storage that it borrows.
pub(super) struct Sample {
    pub(super) results: Results,
    figures: Figures,
    slowdown: Vec<SlowdownBin>,
    completion: Distribution,
    queue: Distribution,
    tenancy: Option<Tenancy>,
    tenant_bins: Vec<Vec<SlowdownBin>>,
    pub(super) name: String,
    pub(super) scenario: String,
}

impl Sample {
    /// A fat-tree of `pods` pods with 4 ToR and 4 aggregation switches each, 16 hosts on each ToR
    /// and 16 cores, over `intervals` intervals; 5 pods make 320 hosts.
    pub(super) fn fat_tree(pods: u32, intervals: usize) -> Self {
        Self::on(fat_tree(pods), intervals)
    }

    /// Switches that are all linked to each other, with two hosts each.
    pub(super) fn mesh(switches: u32) -> Self {
        Self::on(mesh(switches), 20)
    }

    fn on(fabric: Fabric, intervals: usize) -> Self {
        let ports = fabric.ports();
        let mut dice = Dice(7);
        let series = series(&ports, intervals, &mut dice);
        let pauses = pauses(&ports, &series);
        let results = Results {
            messages: messages(fabric.hosts, 20_000, &mut dice),
            signals: signals(&series, pauses.len() as u64 / 2),
            totals: totals(&series),
            ports,
            series,
            chosen: None,
            trace: Vec::new(),
            pauses,
            link_changes: Vec::new(),
            capture: Vec::new(),
            contents: Vec::new(),
            real_time: None,
            tuples: Vec::new(),
            applications: Vec::new(),
            collectives: Vec::new(),
            nics: Vec::new(),
            multipath: None,
            tenants: vec![tenant("default", 1.0, Vec::new())],
            contended: Vec::new(),
            rates: Vec::new(),
        };
        let name = "Hadoop at 50 % on a fat-tree".into();
        let scenario = "name = \"hadoop-fat-tree\"\nseed = 1\nprofile = \"exact\"\n".repeat(20);
        Self::measured(name, scenario, results)
    }

    fn measured(name: String, scenario: String, results: Results) -> Self {
        let summary = Summary::of(&results);
        let spread = summary.slowdown.as_ref();
        Self {
            figures: Figures {
                goodput_bps: Some(summary.goodput_gbps * 1e9),
                goodput_ns: summary.goodput_ns,
                slowdown_p50: spread.and_then(|spread| spread.p50),
                slowdown_p99: spread.and_then(|spread| spread.p99),
                slowdown_p999: spread.and_then(|spread| spread.p999),
                events_per_second: Some(12.4e6),
            },
            slowdown: bins(&slowdown_bins(&results.messages, 20)),
            tenant_bins: (0..)
                .zip(&results.tenants)
                .map(|(number, _)| TenantId::new(number))
                .map(|number| bins(&tenant_slowdown_bins(&results, number, 20)))
                .collect(),
            tenancy: summary.tenancy,
            completion: curve(
                &completion_cdf(&results.messages, 200),
                summary.completed as u64,
            ),
            queue: curve(
                &queue_cdf(&results, 200),
                results.series.queue.len() as u64 / 2,
            ),
            name,
            scenario,
            results,
        }
    }

    /// A fat-tree with three tenants, of which the second takes more than its weight.
    pub(super) fn tenants() -> Self {
        let mut results = Self::fat_tree(2, 206).results;
        let totals = [0.5, 0.35, 0.15];
        for message in &mut results.messages {
            let tenant = if message.id.get() % 3 == 0 {
                1
            } else {
                message.id.get() % 2 * 2
            };
            message.tenant = TenantId::new(tenant);
            if let Some(finish) = message.finish.filter(|_| tenant == 2) {
                message.finish = Some(finish + (finish - message.start) / 2);
            }
        }
        let mut dice = Dice(3);
        let placed = totals.map(|part| {
            let rates = (0..206)
                .map(|at| part * (if at < 103 { 3e6 } else { 6e5 }) * (0.7 + 0.6 * dice.roll()));
            rates.map(|bytes| bytes as u64).collect::<Vec<_>>()
        });
        let [honest, greedy, quiet] = placed;
        results.tenants = vec![
            tenant("honest", 2.0, honest),
            tenant("greedy", 1.0, greedy),
            tenant("quiet", 1.0, quiet),
        ];
        let port = |number: u32| ContendedPort {
            port: PortId::new(number),
            contended_for: Duration::from_us(u64::from(900 - number * 8)),
            sent: vec![9_000_000, 8_000_000, 1_000_000],
            contended: vec![
                2_000_000 + 90_000 * u64::from(number),
                5_000_000,
                u64::from(number % 4) * 300_000,
            ],
        };
        results.contended = (0..20).map(|number| port(number * 2 + 1)).collect();
        let count = results.signals.ecn_marks.count;
        let by = |part: f64| TenantSignals {
            ecn_marks: signal((count as f64 * part) as u64, "Nothing was marked."),
            ..TenantSignals::default()
        };
        let names = ["honest", "greedy", "quiet"].map(str::to_owned);
        let signals = names.into_iter().zip([by(0.6), by(0.3), by(0.1)]);
        results.signals.tenants = Some(signals.collect());
        Self::measured("Tenants on a fat-tree".into(), "seed = 1\n".into(), results)
    }

    /// A fat-tree with a link that is down for a while, and with a message that keeps the run from its end for long
    /// after all others.
    pub(super) fn faulty() -> Self {
        let mut results = Self::fat_tree(2, 206).results;
        let (action, ports) = (40, results.ports.len());
        let series = &mut results.series;
        for values in [
            &mut series.sent,
            &mut series.queue,
            &mut series.queue_max,
            &mut series.marked,
            &mut series.paused_ns,
        ] {
            values[action * ports..].fill(0);
        }
        let change = |interval: u64, up| LinkChange {
            time: Time::from_ns(interval * INTERVAL_US * 1000),
            port: PortId::new(2 * 128),
            up,
        };
        results.link_changes = vec![change(10, false), change(20, true)];
        let last = &mut results.messages[7];
        last.finish = None;
        last.outcome = Outcome::Unfinished;
        results.collectives = vec![collective(0, Some(80)), collective(1, None)];
        Self::measured("A link that fails".into(), "seed = 1\n".into(), results)
    }

    /// A star that recorded nothing and ended in a circle of pauses.
    pub(super) fn stalled_star() -> Self {
        let mut sample = Self::on(star(8), 4);
        let results = &mut sample.results;
        results.messages.truncate(2);
        for message in &mut results.messages {
            message.finish = None;
            message.outcome = Outcome::Unfinished;
        }
        results.series = PortSeries {
            ports: 16,
            ..PortSeries::default()
        };
        results.pauses.clear();
        results.signals = silent_signals();
        results.totals.ending = Ending::Stalled(Stall {
            at: Time::from_ns(1_250_000),
            pause_cycle: vec![PortId::new(1), PortId::new(3), PortId::new(5)],
            unfinished: 2,
            reason: "three ports wait for each other in a circle of pauses".into(),
        });
        Self::measured(sample.name, sample.scenario, sample.results)
    }

    pub(super) fn input(&self) -> ReportInput<'_> {
        ReportInput {
            heading: Heading {
                name: &self.name,
                profile: "exact",
                congestion: "DCQCN, scope qp",
                topology: "fat-tree: 320 hosts at 100 Gb/s, 16 core, 20 aggregation, 20 ToR",
                workload: "Poisson, hadoop sizes at 50 % load for 5 ms",
                seed: 1,
                version: "0.1.0",
            },
            results: &self.results,
            figures: self.figures,
            slowdown: &self.slowdown,
            completion: &self.completion,
            queue: &self.queue,
            tenants: self.tenancy.as_ref().map(|tenancy| TenantInput {
                tenancy,
                slowdown: &self.tenant_bins,
            }),
            attack: None,
            scenario: &self.scenario,
        }
    }
}

/// An all-reduce of 1 MB over eight ranks that took so many microseconds, or hasn't ended.
fn collective(step: u32, micros: Option<u64>) -> CollectiveRecord {
    let start = Time::from_ns(1000);
    CollectiveRecord {
        workload: 0,
        step,
        kind: Some(Kind::AllReduce),
        algorithm: Some(Algorithm::Ring),
        name: String::new(),
        group: 0,
        ranks: 8,
        size: Bytes::new(1_000_000),
        sent: Bytes::new(14_000_000),
        start: Some(start),
        ready: Some(start),
        end: micros.map(|micros| start + Duration::from_us(micros)),
        slowest: micros.map(|_| (3, NodeId::new(3))),
        last: micros.map(|_| MessageId::new(7)),
        last_slowdown: micros.map(|_| 2.5),
    }
}

fn bins(bins: &[metrics::SlowdownBin]) -> Vec<SlowdownBin> {
    let bins = bins.iter();
    bins.map(|bin| SlowdownBin {
        size: bin.upto_bytes,
        count: bin.count as u64,
        p50: bin.p50,
        p95: bin.p95,
        p99: bin.p99,
        p999: bin.p999,
    })
    .collect()
}

fn curve(points: &[CdfPoint], count: u64) -> Distribution {
    let (zeros, rest) = points.split_at(points.partition_point(|point| point.value <= 0.0));
    Distribution {
        value: rest.iter().map(|point| point.value).collect(),
        share: rest.iter().map(|point| point.share).collect(),
        zero: zeros.last().map_or(0.0, |point| point.share),
        count,
    }
}

fn tenant(name: &str, weight: f64, placed_series: Vec<u64>) -> TenantRecord {
    TenantRecord {
        name: name.into(),
        weight,
        placed: Bytes::new(placed_series.iter().sum()),
        placed_series,
    }
}

/// Repeatable noise (xorshift).
struct Dice(u64);

impl Dice {
    /// From 0 to 1.
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

struct Fabric {
    hosts: u32,
    nodes: u32,
    /// Two nodes and the rate in Gb/s.
    links: Vec<(u32, u32, u64)>,
}

impl Fabric {
    fn new(hosts: u32, switches: u32) -> Self {
        Self {
            hosts,
            nodes: hosts + switches,
            links: Vec::new(),
        }
    }

    fn link(&mut self, a: u32, b: u32, gbps: u64) {
        self.links.push((a, b, gbps));
    }

    /// The two ports of each link.
    fn ports(&self) -> Vec<PortInfo> {
        let mut used = vec![0; self.nodes as usize];
        let mut ports = Vec::new();
        for (&(a, b, gbps), first) in self.links.iter().zip((0..).step_by(2)) {
            for (node, peer_node, peer) in [(a, b, first + 1), (b, a, first)] {
                used[node as usize] += 1;
                ports.push(PortInfo {
                    node: NodeId::new(node),
                    on_switch: node >= self.hosts,
                    number: used[node as usize],
                    peer: PortId::new(peer),
                    peer_node: NodeId::new(peer_node),
                    rate: Rate::from_gbps(gbps),
                });
            }
        }
        ports
    }
}

fn fat_tree(pods: u32) -> Fabric {
    let (tors, hosts) = (pods * 4, pods * 64);
    let mut fabric = Fabric::new(hosts, 2 * tors + 16);
    for host in 0..hosts {
        fabric.link(host, hosts + host / 16, 100);
    }
    for tor in 0..tors {
        for aggregation in 0..4 {
            fabric.link(hosts + tor, hosts + tors + tor / 4 * 4 + aggregation, 400);
        }
    }
    for aggregation in 0..tors {
        for core in 0..4 {
            let core = hosts + 2 * tors + aggregation % 4 * 4 + core;
            fabric.link(hosts + tors + aggregation, core, 400);
        }
    }
    fabric
}

fn mesh(switches: u32) -> Fabric {
    let hosts = switches * 2;
    let mut fabric = Fabric::new(hosts, switches);
    for host in 0..hosts {
        fabric.link(host, hosts + host / 2, 100);
    }
    for a in 0..switches {
        for b in a + 1..switches {
            fabric.link(hosts + a, hosts + b, 100);
        }
    }
    fabric
}

fn star(hosts: u32) -> Fabric {
    let mut fabric = Fabric::new(hosts, 1);
    for host in 0..hosts {
        fabric.link(host, hosts, 100);
    }
    fabric
}

fn series(ports: &[PortInfo], intervals: usize, dice: &mut Dice) -> PortSeries {
    let mut series = PortSeries {
        ports: ports.len(),
        interval: Duration::from_us(INTERVAL_US),
        ..PortSeries::default()
    };
    let taste: Vec<f64> = ports.iter().map(|_| dice.roll()).collect();
    for interval in 0..intervals {
        let time = interval as f64 / intervals as f64;
        let load = if time < 0.5 {
            0.5
        } else {
            0.5 * (-(time - 0.5) * 9.0).exp()
        };
        for (port, taste) in ports.iter().zip(&taste) {
            let burst = dice.roll().powi(3) * (0.6 + taste);
            let used = (load * (0.5 + burst * 1.6)).min(0.98);
            let room = port.rate.as_f64() / 8.0 * INTERVAL_US as f64 / 1e6;
            let deep = if used > 0.6 {
                (used - 0.6) * burst * 1.2e6
            } else {
                used * 3000.0
            };
            let paused = if deep > 340e3 {
                (0.1 + time) * 50_000.0
            } else {
                0.0
            };
            series.sent.push((used * room) as u64);
            let standing = if deep > 1500.0 { deep * 0.4 } else { 0.0 };
            series.queue.push(standing as u64);
            series.queue_max.push(deep as u64);
            series
                .marked
                .push((deep / 20_000.0) as u64 * u64::from(port.on_switch));
            series.paused_ns.push(paused as u64);
        }
    }
    series
}

/// Sizes at 5 %, 10 % ... 100 % of the messages, as the field publishes them of a Hadoop cluster.
const SIZES: [u64; 20] = [
    180, 216, 250, 290, 324, 380, 430, 500, 560, 640, 730, 900, 1100, 1500, 2400, 6000, 35_000,
    110_000, 410_000, 9_800_000,
];

fn messages(hosts: u32, count: u32, dice: &mut Dice) -> Vec<MessageRecord> {
    let record = |id: u32| {
        let source = (dice.roll() * f64::from(hosts)) as u32 % hosts;
        let bin = (dice.roll() * 20.0) as usize % 20;
        let low = if bin == 0 { 120 } else { SIZES[bin - 1] };
        let size = low + ((SIZES[bin] - low) as f64 * dice.roll().powi(3)) as u64;
        let start = Time::from_ns(u64::from(id) * 250);
        let ideal = Duration::from_ns(6800 + size * 8 / 100);
        let luck = dice.roll();
        let delay = (0.04 + 0.03 * bin as f64) * luck / (1.004 - luck).powf(0.8);
        MessageRecord {
            id: MessageId::new(id),
            workload: 0,
            source: NodeId::new(source),
            destination: NodeId::new((source + 1) % hosts),
            source_port: 10_000,
            destination_port: 100,
            class: 3,
            verb: fairlane_scenario::Verb::Write,
            size: Bytes::new(size),
            acknowledged: Bytes::new(size),
            placed: Bytes::new(size),
            posted: true,
            start,
            finish: Some(start + ideal + Duration::from_ns((ideal.as_ns() as f64 * delay) as u64)),
            ideal,
            standalone: ideal,
            retransmitted: 0,
            outcome: Outcome::Completed,
            tenant: TenantId::new(0),
        }
    };
    (0..count).map(record).collect()
}

fn pauses(ports: &[PortInfo], series: &PortSeries) -> Vec<PauseRecord> {
    let paused = series
        .paused_ns
        .iter()
        .enumerate()
        .filter(|(_, ns)| **ns > 0);
    let frames = paused.flat_map(|(cell, _)| {
        let time = Time::from_ns((cell / ports.len()) as u64 * INTERVAL_US * 1000 + 7);
        let port = PortId::new((cell % ports.len()) as u32);
        [true, false].map(|pause| PauseRecord {
            time,
            port,
            class: 3,
            pause,
        })
    });
    frames.collect()
}

fn signal(count: u64, why: &str) -> Signal {
    Signal {
        count,
        why_zero: (count == 0).then(|| why.to_string()),
    }
}

fn signals(series: &PortSeries, pauses: u64) -> Signals {
    let total = |values: &[u64]| values.iter().sum::<u64>();
    let lossless = "Pauses are on and headroom holds what is on its way.";
    Signals {
        ecn_marks: signal(total(&series.marked), ""),
        filtered_marks: None,
        cnps_sent: signal(total(&series.marked) / 3, ""),
        cnps: signal(total(&series.marked) / 3, ""),
        pauses: signal(pauses, ""),
        paused_ns: signal(total(&series.paused_ns), ""),
        watchdogs: None,
        drops: BTreeMap::from([
            ("buffer-full", signal(0, lossless)),
            ("link-down", signal(0, "The scenario takes no link down.")),
            ("link-error", signal(0, "faults.loss_rate is 0.")),
            (
                "no-route",
                signal(0, "Every pair of hosts has a path all the time."),
            ),
        ]),
        retransmissions: signal(0, "Nothing was lost and nothing arrived out of order."),
        naks: signal(0, "Nothing was lost and nothing arrived out of order."),
        timeouts: signal(0, "No packet waited 67.1 ms for its acknowledgement."),
        cache_misses: None,
        lock_waits: None,
        equal_plans: None,
        deflection: None,
        tenants: None,
    }
}

fn silent_signals() -> Signals {
    let none = || signal(0, "Nothing was sent.");
    Signals {
        ecn_marks: none(),
        filtered_marks: None,
        cnps_sent: none(),
        cnps: none(),
        pauses: none(),
        paused_ns: none(),
        watchdogs: None,
        drops: BTreeMap::from([("buffer-full", signal(12, ""))]),
        retransmissions: none(),
        naks: none(),
        timeouts: none(),
        cache_misses: None,
        lock_waits: None,
        equal_plans: None,
        deflection: None,
        tenants: None,
    }
}

fn totals(series: &PortSeries) -> Totals {
    let end = Time::ZERO + series.interval * (series.sent.len() / series.ports) as u64;
    let flux = Flux {
        packets: 11_204_113,
        bytes: 12_101_998_102,
    };
    Totals {
        ending: Ending::Complete,
        end,
        first_start: Time::ZERO,
        transmissions: 78_431_877,
        message_transmissions: 78_431_000,
        events: 161_003_112,
        data_packets: 9_804_112,
        injected: flux,
        delivered: flux,
        dropped: Flux::default(),
        in_flight: Flux::default(),
        queue_max: Bytes::new(series.queue_max.iter().copied().max().unwrap_or(0)),
        base_rtt: Duration::from_ns(12_800),
        bdp: Bytes::new(160_000),
    }
}
