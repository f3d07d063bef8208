//! Hosts at one switch whose receivers apportion their links: no fabric, a queue in front of each host.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use fairlane_congestion::dasr::{Mode, Params};
use fairlane_congestion::scope::Scope;
use fairlane_congestion::{Algorithm, Environment};
use fairlane_nic::{
    Arrival, Departure, Event, Extensions, Measured, Nic, Opening, PairId, Role, Settings, Tenants,
};
use fairlane_transport::{Operation, Remote, Status, Unchecked, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Duration = Duration::from_us(1);
const RTT: Duration = Duration::from_ns(4200);

/// A message: who posts it, to whom, and whether it is read from there.
#[derive(Clone, Copy)]
struct Flow {
    source: usize,
    destination: usize,
    size: u64,
    start: Time,
    reads: bool,
}

fn at(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

fn write(source: usize, destination: usize, size: u64, us: u64) -> Flow {
    Flow {
        source,
        destination,
        size,
        start: at(us),
        reads: false,
    }
}

struct Star {
    now: Time,
    hosts: Vec<Nic>,
    flows: Vec<Flow>,
    /// By flow, at the host that posts and at the other one.
    pairs: Vec<[PairId; 2]>,
    posted: Vec<bool>,
    /// When the transmitters of hosts, and of the switch towards them, are free.
    free: Vec<[Time; 2]>,
    flying: BinaryHeap<Reverse<(Time, u64, usize)>>,
    packets: BTreeMap<u64, Departure>,
    sent: u64,
    /// Of 256 replies so many are lost.
    loss: u8,
    random: u64,
    /// Payload that has left each host, and when.
    left: Vec<Vec<(Time, u64)>>,
    /// The longest queue in front of a host.
    deepest: Bytes,
    ends: BTreeMap<u32, Time>,
}

impl Star {
    fn new(settings: Settings, hosts: usize, flows: &[Flow]) -> Self {
        let settings = Arc::new(settings);
        let environment = Environment {
            line_rate: RATE,
            base_rtt: RTT,
            bdp: RATE.bytes_in(RTT),
            mtu: settings.transport.mtu,
        };
        let host = |_| Nic::new(settings.clone(), &[environment], &Tenants::default());
        let mut all: Vec<Nic> = (0..hosts).map(host).collect();
        let mut open = |flow: FlowId, here: usize, peer: usize| {
            let opening = Opening {
                flow,
                port: 0,
                class: 3,
                tenant: TenantId::new(0),
                peer: HostId::new(peer as u32),
                extensions: Extensions::with(RATE),
                environment,
                group: None,
            };
            all[here].open(Time::ZERO, &opening)
        };
        let ends = |(number, flow): (FlowId, &Flow)| {
            let (source, destination) = (flow.source, flow.destination);
            [
                open(number, source, destination),
                open(number, destination, source),
            ]
        };
        let pairs = (0..).map(FlowId::new).zip(flows).map(ends).collect();
        Self {
            now: Time::ZERO,
            hosts: all,
            flows: flows.to_vec(),
            pairs,
            posted: vec![false; flows.len()],
            free: vec![[Time::ZERO; 2]; hosts],
            flying: BinaryHeap::new(),
            packets: BTreeMap::new(),
            sent: 0,
            loss: 0,
            random: 1,
            left: vec![Vec::new(); hosts],
            deepest: Bytes::ZERO,
            ends: BTreeMap::new(),
        }
    }

    /// Xorshift (Marsaglia, 2003).
    fn chance(&mut self) -> u8 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 32) as u8
    }

    fn post(&mut self) {
        for number in 0..self.flows.len() {
            let flow = self.flows[number];
            if self.posted[number] || flow.start > self.now {
                continue;
            }
            self.posted[number] = true;
            let operation = match flow.reads {
                true => Operation::Read(Remote::default()),
                false => Operation::Write(Remote::default()),
            };
            let request = WorkRequest::new(number as u64, operation, Bytes::new(flow.size));
            self.hosts[flow.source].post(self.now, self.pairs[number][0], request);
        }
    }

    /// Sends what a host has; packets queue in front of their receiver.
    fn transmit(&mut self, from: usize) {
        while self.free[from][0] <= self.now {
            let Some(departure) = self.hosts[from].poll_transmit(self.now, 0) else {
                return;
            };
            let size = Bytes::new(u64::from(departure.meta.wire));
            let span = size.serialization(RATE);
            self.free[from][0] = self.now + span;
            let payload = departure.packet.payload.get();
            self.left[from].push((self.now, payload));
            if payload == 0 && self.chance() < self.loss {
                continue;
            }
            let flow = self.flows[departure.meta.flow.index()];
            let to = match departure.from_responder {
                true => flow.source,
                false => flow.destination,
            };
            let there = self.free[from][0] + DELAY;
            let begins = there.max(self.free[to][1]);
            self.free[to][1] = begins + span;
            self.deepest = self.deepest.max(RATE.bytes_in(begins - there));
            self.sent += 1;
            let arrival = self.free[to][1] + DELAY;
            self.flying.push(Reverse((arrival, self.sent, to)));
            self.packets.insert(self.sent, departure);
        }
    }

    fn arrive(&mut self, number: u64, to: usize) {
        let departure = self.packets.remove(&number).unwrap();
        let ends = self.pairs[departure.meta.flow.index()];
        let pair = ends[usize::from(!departure.from_responder)];
        let arrival = Arrival::from_departure(&departure, Measured::default());
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        self.hosts[to].on_packet(self.now, pair, &arrival, memory, receives);
    }

    fn next(&mut self) -> Option<Time> {
        let mut next = self.flying.peek().map(|next| next.0.0);
        for (host, free) in self.hosts.iter_mut().zip(&self.free) {
            let sends = host.sends_at(0).map(|at| at.max(free[0]));
            next = next.into_iter().chain(sends).chain(host.deadline()).min();
        }
        let waiting = self.flows.iter().zip(&self.posted);
        let starts = waiting.filter(|(_, posted)| !**posted);
        next.into_iter()
            .chain(starts.map(|(flow, _)| flow.start))
            .min()
    }

    /// Goes on until a time, or until nothing is left to be done.
    fn run_until(&mut self, end: Time) {
        for _ in 0..3_000_000 {
            self.post();
            for host in 0..self.hosts.len() {
                self.transmit(host);
                while let Some(event) = self.hosts[host].poll_event() {
                    if let Event::Completed { flow, status, .. } = event {
                        assert_eq!(status, Status::Success);
                        self.ends.insert(flow.get(), self.now);
                    }
                }
            }
            let Some(next) = self.next().filter(|&next| next < end) else {
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

    /// Payload that a host has sent from one time to another, as a part of what its line carries.
    fn part(&self, host: usize, from: Time, to: Time) -> f64 {
        let sent = self.left[host].iter();
        let sent = sent.filter(|(at, _)| (from..to).contains(at));
        let bytes: u64 = sent.map(|(_, bytes)| bytes).sum();
        // 1024 bytes of payload take 1086 bytes.
        bytes as f64 * 1086.0 / 1024.0 / RATE.bytes_in(to - from).as_f64()
    }

    fn timeouts(&self) -> u64 {
        let hosts = self.hosts.iter();
        hosts.map(|host| host.ledger().all.timeouts).sum()
    }
}

fn settings(mode: Mode) -> Settings {
    let mut settings = Settings::new(Algorithm::Fixed);
    settings.transport.ack_timeout = Some(Duration::from_ms(1));
    settings.dasr = Params::of(mode);
    settings
}

/// Every mode in which receivers divide their links.
fn dividing() -> impl Iterator<Item = Mode> {
    Mode::ALL.into_iter().filter(|mode| mode.divides())
}

const ENDLESS: u64 = 50_000_000;

#[test]
fn a_newcomer_has_half_after_two_round_trips() {
    for mode in dividing() {
        let flows = [write(0, 2, ENDLESS, 0), write(1, 2, ENDLESS, 100)];
        let mut star = Star::new(settings(mode), 3, &flows);
        star.run_until(at(200));
        let (joined, later) = (at(100) + RTT * 3, at(100) + RTT * 13);
        for host in [0, 1] {
            let part = star.part(host, joined, later);
            assert!((0.44..0.53).contains(&part), "{mode}: {host} has {part}");
        }
        assert!(star.part(0, at(20), at(100)) > 0.97, "{mode}");
    }
}

#[test]
fn whoever_stays_has_the_link_after_a_leave() {
    for mode in dividing() {
        let flows = [write(0, 2, ENDLESS, 0), write(1, 2, 200_000, 20)];
        let mut star = Star::new(settings(mode), 3, &flows);
        star.run_until(at(200));
        let left = star.ends[&1];
        let part = star.part(0, left + RTT * 3, at(200));
        assert!(part > 0.96, "{mode}: {part} after {left}");
    }
}

#[test]
fn data_of_reads_is_apportioned_too() {
    for mode in dividing() {
        let flows = [0, 1].map(|from| Flow {
            reads: true,
            ..write(2, from, ENDLESS, 0)
        });
        let mut star = Star::new(settings(mode), 3, &flows);
        star.run_until(at(200));
        for host in [0, 1] {
            let part = star.part(host, at(50), at(200));
            assert!((0.46..0.52).contains(&part), "{mode}: {host} has {part}");
        }
        assert!(star.deepest < Bytes::new(60_000), "{}", star.deepest);
    }
}

#[test]
fn lost_acknowledgements_delay_nobody() {
    for mode in [Mode::Count, Mode::DemandAware, Mode::Measured] {
        for reads in [false, true] {
            let flow = |host: usize| match reads {
                true => Flow {
                    reads,
                    ..write(16, host, ENDLESS, 0)
                },
                false => write(host, 16, ENDLESS, 0),
            };
            let flows: Vec<Flow> = (0..16).map(flow).collect();
            let mut star = Star::new(settings(mode), 17, &flows);
            star.loss = 26;
            star.run_until(at(900));
            let parts = (0..16).map(|host| star.part(host, at(100), at(900)));
            let sum: f64 = parts.sum();
            assert!(sum > 0.9, "{mode}, reads {reads}: {sum}");
            assert_eq!(star.timeouts(), 0, "{mode}, reads {reads}");
        }
    }
}

/// Those that wait are told the least share, at which a packet takes 6 ms: without being told otherwise they would wait that long.
#[test]
fn whoever_waits_with_the_least_share_is_told_of_its_turn() {
    let flows: Vec<Flow> = (0..12).map(|host| write(host, 12, 300_000, 0)).collect();
    let mut settings = settings(Mode::ShortestFirst);
    settings.transport.ack_timeout = None;
    let mut star = Star::new(settings, 13, &flows);
    star.run_until(at(100_000));
    assert_eq!(star.ends.len(), 12);
    let last = *star.ends.values().max().unwrap();
    let line = Bytes::new(12 * 300_000).serialization(RATE);
    assert!(last < Time::ZERO + line + line / 5, "{last}");
}

#[test]
fn queue_pairs_of_a_destination_share_what_it_lets_them() {
    for scope in [Scope::Qp, Scope::DestinationUnsplit, Scope::Pair] {
        // Four from one host, one from the other, and one to elsewhere.
        let mut flows = vec![write(0, 2, ENDLESS, 0); 4];
        flows.extend([write(1, 2, ENDLESS, 0), write(0, 3, ENDLESS, 0)]);
        let mut settings = settings(Mode::DemandAware);
        settings.scope = scope;
        let mut star = Star::new(settings, 4, &flows);
        star.run_until(at(300));
        let parts = [0, 1].map(|host| star.part(host, at(50), at(300)));
        // The rest of its line host 0 uses elsewhere.
        assert!(parts[0] > 0.95, "{scope}: {parts:?}");
        assert!((0.46..0.53).contains(&parts[1]), "{scope}: {parts:?}");
    }
}

#[test]
fn windows_alone_keep_queues_short_and_say_nothing() {
    let flows: Vec<Flow> = (0..8).map(|host| write(host, 8, ENDLESS, 0)).collect();
    let deepest = |mode: Mode| {
        let mut star = Star::new(settings(mode), 9, &flows);
        star.run_until(at(200));
        star.deepest
    };
    let (off, window, count) = (
        deepest(Mode::Off),
        deepest(Mode::Window),
        deepest(Mode::Count),
    );
    assert!(
        window < off / 4 && count < window / 2,
        "{off} {window} {count}"
    );
}

#[test]
fn packets_say_what_the_mode_has_them_say() {
    for mode in Mode::ALL {
        let flows = [write(0, 1, 100_000, 0), write(1, 0, 100_000, 0)];
        let mut star = Star::new(settings(mode), 2, &flows);
        star.run_until(at(5));
        assert!(!star.packets.is_empty());
        for packet in star.packets.values() {
            let data = packet.packet.opcode.has_payload();
            assert_eq!(
                packet.meta.demand.is_some(),
                data && mode.declares(),
                "{mode}"
            );
            let backlog = data && mode.states_backlog();
            assert_eq!(packet.meta.backlog.is_some(), backlog, "{mode}");
            let replies = packet.meta.role == Role::Response;
            assert_eq!(packet.meta.share > 0, replies && mode.divides(), "{mode}");
        }
    }
}
