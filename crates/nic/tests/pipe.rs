//! Two NICs and a pipe with delay, loss and reordering: no fabric, no engine. What drives them here could as well
//! be a thread with a socket.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use fairlane_congestion::dasr::Mode;
use fairlane_congestion::scope::{Scope, Weight};
use fairlane_congestion::{
    Algorithm, Environment, Hop, Params, Reading, Telemetry, TelemetryFormat, dasr, fixed,
};
use fairlane_nic::{
    Arrival, Departure, Event, Extensions, Measured, Nic, Opening, PairId, Quantum, Role, Settings,
    Tenants,
};
use fairlane_transport::{Operation, Remote, Status, Unchecked, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Duration = Duration::from_us(1);

/// How a pipe treats packets; chances are of 256.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    loss: u8,
    /// Marked with congestion experienced.
    marks: u8,
    /// Some packets take up to this much longer, so that others pass them.
    jitter: Duration,
}

const CLEAN: Pipe = Pipe {
    loss: 0,
    marks: 0,
    jitter: Duration::ZERO,
};

/// What one of the two hosts posts: WRITE, SEND, READ, FETCH-ADD.
#[derive(Clone, Copy, Debug)]
struct Job {
    from: usize,
    verb: u8,
    size: u64,
}

const fn write(size: u64) -> Job {
    Job {
        from: 0,
        verb: 0,
        size,
    }
}

/// What a packet brings to the other end, and the answer to it back.
#[derive(Clone, Copy)]
struct Stamp {
    sent: Time,
    telemetry: Telemetry,
}

struct World {
    pipe: Pipe,
    now: Time,
    random: u64,
    hosts: [Nic; 2],
    pairs: [Vec<PairId>; 2],
    free: [Time; 2],
    /// Arrival, number and receiver of what is on the way.
    flying: BinaryHeap<Reverse<(Time, u64, usize)>>,
    packets: BTreeMap<u64, Departure>,
    sent: u64,
    /// Of data packets, by number.
    stamps: BTreeMap<u32, Stamp>,
    /// Bytes that each host has sent.
    bytes: [u64; 2],
    /// Packets sent before take this much longer there and back.
    congested: (Time, Duration),
    completed: BTreeMap<(usize, u64), u32>,
    /// When work requests ended.
    ends: BTreeMap<u64, Time>,
    /// When the last one did; deadlines that have lost their meaning come later.
    ended: Time,
}

impl World {
    fn new(settings: Settings, pipe: Pipe, pairs: u32, seed: u64) -> Self {
        let settings = Arc::new(settings);
        let environment = Environment {
            line_rate: RATE,
            base_rtt: DELAY * 2,
            bdp: RATE.bytes_in(DELAY * 2),
            mtu: settings.transport.mtu,
        };
        let all: Vec<Weight> = (0..2)
            .map(|number| Weight {
                tenant: TenantId::new(number),
                weight: 1.0,
                guarantee: None,
            })
            .collect();
        let here = all.clone();
        let tenants = Tenants { all, here };
        let mut hosts = [0, 1].map(|_| Nic::new(settings.clone(), &[environment], &tenants));
        let open = |host: &mut Nic, peer| {
            let opening = |number| Opening {
                flow: FlowId::new(number),
                port: 0,
                class: 3,
                tenant: TenantId::new(number % 2),
                peer: HostId::new(peer),
                extensions: Extensions::with(RATE),
                environment,
                group: None,
            };
            let numbers = 0..pairs;
            numbers
                .map(|number| host.open(Time::ZERO, &opening(number)))
                .collect()
        };
        let [first, second] = &mut hosts;
        let pairs = [open(first, 1), open(second, 0)];
        Self {
            pipe,
            now: Time::ZERO,
            random: seed | 1,
            hosts,
            pairs,
            free: [Time::ZERO; 2],
            flying: BinaryHeap::new(),
            packets: BTreeMap::new(),
            sent: 0,
            stamps: BTreeMap::new(),
            bytes: [0; 2],
            congested: (Time::ZERO, Duration::ZERO),
            completed: BTreeMap::new(),
            ends: BTreeMap::new(),
            ended: Time::ZERO,
        }
    }

    /// Xorshift (Marsaglia, 2003).
    fn chance(&mut self) -> u8 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u8
    }

    fn post(&mut self, id: u64, job: Job) {
        let remote = Remote::default();
        let (operation, length) = match job.verb {
            0 => (Operation::Write(remote), job.size),
            1 => (Operation::Send, job.size),
            2 => (Operation::Read(remote), job.size),
            _ => (Operation::FetchAdd { remote, add: 1 }, 8),
        };
        let pairs = &self.pairs[job.from];
        let pair = pairs[id as usize % pairs.len()];
        let request = WorkRequest::new(id, operation, Bytes::new(length));
        self.hosts[job.from].post(self.now, pair, request);
    }

    /// Sends what a host has, as fast as its link is.
    fn transmit(&mut self, from: usize) {
        while self.free[from] <= self.now {
            let Some(mut departure) = self.hosts[from].poll_transmit(self.now, 0) else {
                return;
            };
            let size = Bytes::new(u64::from(departure.meta.wire));
            self.free[from] = self.now + size.serialization(RATE);
            self.bytes[from] += size.get();
            if self.chance() < self.pipe.loss {
                continue;
            }
            let marks = self.chance() < self.pipe.marks;
            departure.meta.marked |= marks && departure.packet.opcode.has_payload();
            let late = match self.chance() < 32 {
                true => self.pipe.jitter * u64::from(self.chance()) / 256,
                false => Duration::ZERO,
            };
            self.sent += 1;
            self.stamp(from, &mut departure);
            let arrival = self.free[from] + DELAY + late;
            self.flying.push(Reverse((arrival, self.sent, 1 - from)));
            self.packets.insert(self.sent, departure);
        }
    }

    /// Has a packet that will be answered collect what a switch would tell of its port.
    fn stamp(&mut self, from: usize, departure: &mut Departure) {
        if departure.meta.role != Role::Request && !departure.packet.opcode.has_payload() {
            return;
        }
        let mut telemetry = Telemetry::EMPTY;
        let hop = Hop {
            time: self.free[from].as_ps(),
            sent: self.bytes[from],
            queue: u32::from(self.chance() & self.pipe.marks) * 100,
            rate_mbps: 100_000,
        };
        telemetry.push(from as u32, hop);
        let sent = self.now;
        departure.meta.echo = self.sent as u32;
        self.stamps
            .insert(departure.meta.echo, Stamp { sent, telemetry });
    }

    fn arrive(&mut self, number: u64, to: usize) {
        let departure = self.packets.remove(&number).unwrap();
        let answers =
            departure.meta.role != Role::Request && !departure.packet.opcode.has_payload();
        let stamp = match answers {
            true => self.stamps.remove(&departure.meta.echo),
            false => None,
        };
        let measured = stamp.as_ref().map_or_else(Measured::default, |stamp| {
            let (until, longer) = self.congested;
            let longer = if stamp.sent < until {
                longer
            } else {
                Duration::ZERO
            };
            Measured {
                round_trip: Some(self.now - stamp.sent + longer),
                hops: 1,
                telemetry: Some(Reading::new(&stamp.telemetry, &TelemetryFormat::EXACT)),
            }
        });
        let arrival = Arrival::from_departure(&departure, measured);
        let pair = self.pairs[to][departure.meta.flow.index()];
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        self.hosts[to].on_packet(self.now, pair, &arrival, memory, receives);
    }

    fn take_events(&mut self) {
        for from in [0, 1] {
            while let Some(event) = self.hosts[from].poll_event() {
                if let Event::Completed { id, status, .. } = event {
                    assert_eq!(status, Status::Success, "work request {id}");
                    *self.completed.entry((from, id)).or_default() += 1;
                    self.ends.insert(id, self.now);
                    self.ended = self.now;
                }
            }
        }
    }

    /// When something happens next.
    fn next(&mut self) -> Option<Time> {
        let mut next = self.flying.peek().map(|next| next.0.0);
        for (host, free) in self.hosts.iter_mut().zip(self.free) {
            let sends = host.sends_at(0).map(|at| at.max(free));
            next = next.into_iter().chain(sends).chain(host.deadline()).min();
        }
        next
    }

    /// Drives both hosts until nothing is left to be done.
    fn run(&mut self) {
        for _ in 0..2_000_000 {
            for host in [0, 1] {
                self.transmit(host);
            }
            self.take_events();
            let Some(next) = self.next() else {
                return;
            };
            self.now = next.max(self.now);
            while let Some(&Reverse((at, number, to))) = self.flying.peek()
                && at <= self.now
            {
                self.flying.pop();
                self.arrive(number, to);
            }
            for host in &mut self.hosts {
                host.on_deadline(self.now);
            }
        }
        panic!("no end is in sight at {}", self.now);
    }
}

/// Those that control anybody.
const SCOPES: [Scope; 4] = [
    Scope::Qp,
    Scope::DestinationUnsplit,
    Scope::Pair,
    Scope::Tenant,
];

fn settings(algorithm: Algorithm, scope: Scope, selective: bool) -> Settings {
    let mut settings = Settings::new(algorithm);
    settings.scope = scope;
    settings.transport.ack_timeout = Some(Duration::from_ms(4));
    settings.transport.retry_limit = u32::MAX;
    settings.transport.nak_interval = Duration::from_us(5);
    settings.transport.selective_window = if selective { 256 } else { 0 };
    settings
}

/// Runs jobs over a pipe; every one ends once and successfully, and all its data is placed once.
fn judge(settings: Settings, pipe: Pipe, jobs: &[Job], seed: u64) -> World {
    judge_in(World::new(settings, pipe, 3, seed), jobs)
}

/// The same with everything on one queue pair.
fn judge_on_one(settings: Settings, pipe: Pipe, jobs: &[Job]) -> World {
    judge_in(World::new(settings, pipe, 1, 1), jobs)
}

fn judge_in(mut world: World, jobs: &[Job]) -> World {
    for (id, &job) in (0..).zip(jobs) {
        world.post(id, job);
    }
    world.run();
    let once = (0..).zip(jobs).map(|(id, job)| ((job.from, id), 1));
    assert_eq!(world.completed, once.collect());
    let data = jobs.iter().filter(|job| job.verb < 3);
    let wanted: u64 = data.map(|job| job.size).sum();
    let placed: u64 = world
        .hosts
        .iter()
        .map(|host| host.ledger().all.placed)
        .sum();
    assert_eq!(placed, wanted);
    world
}

/// Both hosts write `size` and read as much, everything on one queue pair.
fn both_ways(size: u64) -> [Job; 4] {
    [(0, 0), (0, 2), (1, 0), (1, 2)].map(|(from, verb)| Job { from, verb, size })
}

/// Packet by packet, or several at a time, between which the port waits less or more than one takes.
fn quanta() -> impl Strategy<Value = Quantum> {
    let several = (2u32..20, 0u64..2_000).prop_map(|(packets, gap)| Quantum {
        packets,
        gap: Duration::from_ns(gap),
    });
    prop_oneof![Just(Quantum::PACKET), several]
}

fn jobs() -> impl Strategy<Value = Vec<Job>> {
    let job = (0usize..2, 0u8..4, 1u64..40_000);
    let job = job.prop_map(|(from, verb, size)| Job { from, verb, size });
    prop::collection::vec(job, 1..20)
}

/// A window of one packet, which requests of a queue pair took each time, waited for acknowledgements that were behind responses
/// at the other end, where it was the same.
#[test]
fn requests_that_go_together_leave_responses_their_turn() {
    let pipe = Pipe {
        loss: 7,
        marks: 0,
        jitter: Duration::from_us(3),
    };
    let mut settings = settings(Algorithm::Swift, Scope::Pair, false);
    settings.read_feedback = false;
    settings.quantum = Quantum {
        packets: 11,
        gap: Duration::from_ns(89),
    };
    let jobs = [
        (0, 2, 3073),
        (1, 2, 1589),
        (0, 2, 7169),
        (1, 2, 6569),
        (1, 1, 17916),
        (0, 0, 3285),
        (0, 0, 17169),
    ];
    let jobs = jobs.map(|(from, verb, size)| Job { from, verb, size });
    judge(settings, pipe, &jobs, 16_612_194_088_913_002_606);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn everything_ends_once_whatever_the_pipe_does(
        jobs in jobs(),
        (loss, marks) in (0u8..20, 0u8..60),
        jitter in 0u64..5,
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        scope in prop::sample::select(SCOPES.to_vec()),
        (selective, read_feedback) in (any::<bool>(), prop::bool::weighted(0.8)),
        quantum in quanta(),
        seed in any::<u64>(),
    ) {
        let pipe = Pipe { loss, marks, jitter: Duration::from_us(jitter) };
        let mut settings = settings(algorithm, scope, selective);
        (settings.read_feedback, settings.quantum) = (read_feedback, quantum);
        judge(settings, pipe, &jobs, seed);
    }

    #[test]
    fn everything_ends_once_where_receivers_apportion(
        jobs in jobs(),
        (loss, marks) in (0u8..20, 0u8..60),
        jitter in 0u64..5,
        mode in prop::sample::select(&Mode::ALL[1..]),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
        scope in prop::sample::select(SCOPES.to_vec()),
        (selective, read_feedback) in (any::<bool>(), prop::bool::weighted(0.8)),
        quantum in quanta(),
        seed in any::<u64>(),
    ) {
        let pipe = Pipe { loss, marks, jitter: Duration::from_us(jitter) };
        let mut settings = settings(algorithm, scope, selective);
        (settings.read_feedback, settings.quantum) = (read_feedback, quantum);
        settings.dasr = dasr::Params::of(mode);
        judge(settings, pipe, &jobs, seed);
    }
}

#[test]
fn requests_and_responses_of_a_queue_pair_end_under_every_controller_and_scope() {
    let pipe = Pipe {
        loss: 4,
        marks: 20,
        jitter: Duration::from_us(2),
    };
    for (algorithm, scope) in Algorithm::ALL
        .into_iter()
        .flat_map(|algorithm| SCOPES.map(|scope| (algorithm, scope)))
    {
        for selective in [false, true] {
            judge_on_one(
                settings(algorithm, scope, selective),
                pipe,
                &both_ways(100_000),
            );
        }
    }
}

/// With a packet in flight at most, that of a request may wait for an acknowledgement that waits behind a response, and that for
/// the same at the other end.
#[test]
fn requests_and_responses_do_not_wait_for_each_other_where_receivers_apportion() {
    for (mode, scope) in Mode::ALL[1..]
        .iter()
        .flat_map(|&mode| SCOPES.map(|scope| (mode, scope)))
    {
        let mut settings = settings(Algorithm::Dcqcn, scope, false);
        settings.transport.ack_timeout = None;
        settings.dasr = dasr::Params {
            first_burst: 0.0,
            ..dasr::Params::of(mode)
        };
        let mut jobs = both_ways(100_000);
        jobs.sort_by_key(|job| Reverse(job.verb));
        judge_on_one(settings, CLEAN, &jobs);
    }
}

#[test]
fn requests_and_responses_of_a_queue_pair_take_turns() {
    let jobs = [
        Job {
            from: 1,
            verb: 2,
            size: 2_000_000,
        },
        write(200_000),
        Job {
            from: 0,
            verb: 2,
            size: 1_000,
        },
    ];
    for scope in SCOPES {
        let world = judge_on_one(settings(Algorithm::Fixed, scope, false), CLEAN, &jobs);
        let [long, short, read] = [0, 1, 2].map(|id| world.ends[&id]);
        let a_third = Time::ZERO + (long - Time::ZERO) / 3;
        assert!(
            short < a_third && read < a_third,
            "{scope}: {short} {read} {long}"
        );
    }
}

#[test]
fn requests_and_responses_of_a_queue_pair_share_its_rate() {
    let rate = Rate::from_gbps(20);
    for scope in SCOPES {
        let mut settings = settings(Algorithm::Fixed, scope, false);
        settings.params = Params::from(fixed::Config { rate: Some(rate) });
        let jobs = [
            write(1_000_000),
            Job {
                from: 1,
                verb: 2,
                size: 1_000_000,
            },
        ];
        let world = judge_on_one(settings, CLEAN, &jobs);
        let least = Bytes::new(2_000_000).serialization(rate);
        assert!(world.ended > Time::ZERO + least, "{scope}: {}", world.ended);
    }
}

/// A controller that takes positions of one stream for those of the other sees nothing arrive.
#[test]
fn a_controller_hears_what_arrives_of_both_streams() {
    let recovers = |jobs: &[Job]| {
        let mut world = World::new(settings(Algorithm::Swift, Scope::Qp, false), CLEAN, 1, 1);
        for (id, &job) in (0..).zip(jobs) {
            world.post(id, job);
        }
        world.run();
        // Long enough for the window to become small.
        world.congested = (world.now + Duration::from_ms(5), Duration::from_us(300));
        world.post(8, write(30_000_000));
        world.post(9, write(6_000_000));
        let begun = world.now;
        world.run();
        world.ends[&9] - begun
    };
    let alone = recovers(&[]);
    let behind = recovers(&[Job {
        from: 1,
        verb: 2,
        size: 40_000_000,
    }]);
    assert!(behind < alone, "{behind} {alone}");
}

#[test]
fn a_clean_pipe_needs_no_packet_twice_and_is_full() {
    let settings = settings(Algorithm::Dcqcn, Scope::Qp, false);
    let world = judge(settings, CLEAN, &[write(1_000_000)], 1);
    let counters = world.hosts[0].ledger().all;
    assert_eq!((counters.retransmissions, counters.reordered), (0, 0));
    // 977 packets of at most 1,102 bytes, and a round trip.
    let least = Bytes::new(977 * 1102).serialization(RATE);
    let ended = world.ended;
    assert!(ended < Time::ZERO + least + DELAY * 3, "{ended}");
}

#[test]
fn packets_that_pass_others_are_counted() {
    let pipe = Pipe {
        jitter: Duration::from_us(3),
        ..CLEAN
    };
    let settings = settings(Algorithm::Fixed, Scope::Qp, true);
    let world = judge(settings, pipe, &[write(300_000)], 7);
    assert!(world.hosts[1].ledger().all.reordered > 0);
}

#[test]
fn marks_reach_the_controller_by_cnps_and_slow_it() {
    let marking = Pipe { marks: 40, ..CLEAN };
    let settings = || settings(Algorithm::Dcqcn, Scope::Qp, false);
    let fast = judge(settings(), CLEAN, &[write(2_000_000)], 3).ended;
    let slow = judge(settings(), marking, &[write(2_000_000)], 3);
    let [sender, receiver] = slow.hosts.each_ref().map(|host| host.ledger().all);
    assert!(receiver.cnps_sent > 0);
    assert_eq!(sender.cnps, receiver.cnps_sent);
    let late = fast + Duration::from_us(20);
    assert!(slow.ended > late, "{} {fast}", slow.ended);
}

#[test]
fn a_pause_holds_data_back_until_it_ends() {
    let settings = settings(Algorithm::Fixed, Scope::Qp, false);
    let mut world = World::new(settings, CLEAN, 1, 1);
    world.hosts[0].on_pause(Time::ZERO, 0, 3, true);
    world.post(0, write(5000));
    assert!(world.hosts[0].poll_transmit(Time::ZERO, 0).is_none());
    assert!(world.hosts[0].sends_at(0).is_none());
    world.now = Time::from_ns(500);
    world.hosts[0].on_pause(world.now, 0, 3, false);
    world.run();
    assert_eq!(world.completed.len(), 1);
}

/// Two queue pairs whose responses keep acknowledgements back wait for one receiver.
#[test]
fn queue_pairs_that_are_urgent_let_one_of_them_go() {
    let jobs = [
        (0, 2, 36919),
        (1, 3, 22749),
        (0, 2, 25473),
        (0, 3, 14295),
        (1, 1, 809),
        (0, 0, 35896),
        (1, 3, 23383),
        (0, 0, 24378),
    ];
    let jobs = jobs.map(|(from, verb, size)| Job { from, verb, size });
    let pipe = Pipe {
        loss: 11,
        marks: 56,
        jitter: Duration::from_us(4),
    };
    let mut settings = settings(Algorithm::Timely, Scope::Pair, true);
    settings.read_feedback = false;
    settings.dasr = dasr::Params::of(Mode::Window);
    judge(settings, pipe, &jobs, 5219404637533033135);
}
