//! Devices without sockets over a network in virtual time: what tenants and receivers' shares divide, to a percent.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use fairlane_congestion::dasr;
use fairlane_congestion::scope::Scope;
use fairlane_softnic::{
    CompletionQueue, Connection, Counters, DetachedDevice, Domain, Modify, QpNumber,
    QueuePairOptions, Region, Rights, SendRequest, Sending, Settings, Sge, Status, Target, Tenant,
    TenantId,
};
use fairlane_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

const HEAVY: TenantId = TenantId::new(0x8001);
const LIGHT: TenantId = TenantId::new(0x8002);
/// Eight packets.
const MESSAGE: usize = 32 << 10;
/// Requests of a queue pair that are under way.
const DEPTH: u64 = 32;
/// Rate of all links.
const RATE: Rate = Rate::from_gbps(100);
/// One way from device to device.
const DELAY: Duration = Duration::from_us(4);
/// Ethernet header and frame check sequence, IP and UDP.
const AROUND: u64 = 14 + 4 + 20 + 8;

/// A device with what the tests need of it.
struct End {
    device: DetachedDevice,
    domain: Domain,
    queue: CompletionQueue,
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    at: Time,
    number: u64,
    to: usize,
    source: SocketAddr,
    bytes: Vec<u8>,
}

/// Devices with a link each to one switch, whose queues have no end.
struct Star {
    ends: Vec<End>,
    flying: BinaryHeap<Reverse<Flying>>,
    /// When the link to each device is free.
    free: Vec<Time>,
    now: Time,
    sent: u64,
    /// Which packets are lost, by their number.
    lost: fn(u64) -> bool,
}

fn address(at: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, at as u8 + 1).into()
}

impl Star {
    fn new(count: usize, change: impl Fn(&mut Settings)) -> Self {
        let end = |at: usize| {
            let mut settings = Settings::new(address(at));
            settings.line_rate = RATE;
            settings.base_rtt = Duration::from_us(9);
            settings.burst = Duration::ZERO;
            change(&mut settings);
            let mut device = DetachedDevice::new(&settings).unwrap();
            let domain = device.allocate_domain().unwrap();
            let queue = device.create_completion_queue(4096).unwrap();
            End {
                device,
                domain,
                queue,
            }
        };
        Self {
            ends: (0..count).map(end).collect(),
            flying: BinaryHeap::new(),
            free: vec![Time::ZERO; count],
            now: Time::ZERO,
            sent: 0,
            lost: |_| false,
        }
    }

    fn memory(&mut self, at: usize, length: usize) -> Region {
        let End { device, domain, .. } = &mut self.ends[at];
        device.allocate(*domain, length, Rights::ALL).unwrap()
    }

    /// A queue pair of a partition from one device to another.
    fn connect(&mut self, from: usize, to: usize, partition: TenantId) -> QpNumber {
        let [own, other] = [from, to].map(|at| {
            let End {
                device,
                domain,
                queue,
            } = &mut self.ends[at];
            let options = QueuePairOptions {
                partition,
                ..QueuePairOptions::new(*domain, *queue)
            };
            device.create_queue_pair(&options).unwrap()
        });
        for (at, pair, peer, number) in [(from, own, to, other), (to, other, from, own)] {
            for modify in [
                Modify::Init(Rights::ALL),
                Modify::ReadyToReceive(Connection::new(address(peer), number)),
                Modify::ReadyToSend(Sending::default()),
            ] {
                let device = &mut self.ends[at].device;
                device.modify(self.now, pair, &modify).unwrap();
            }
        }
        own
    }

    fn post(&mut self, at: usize, pair: QpNumber, request: &SendRequest) {
        let device = &mut self.ends[at].device;
        device.post_send(self.now, pair, request.clone()).unwrap();
        self.transmit(at);
    }

    /// Puts what a device may send on its link, and on that of the other one.
    fn transmit(&mut self, at: usize) {
        let source = |port| SocketAddr::new(address(at), port);
        let Self {
            ends,
            flying,
            free,
            sent,
            now,
            lost,
            ..
        } = self;
        let ends_count = ends.len();
        ends[at].device.transmit(*now, |packet| {
            *sent += 1;
            let to = (0..ends_count).find(|to| address(*to) == packet.peer);
            if lost(*sent) {
                return;
            }
            let to = to.expect("a device of the star");
            let wire = Bytes::new(packet.bytes.len() as u64 + AROUND);
            let begins = (*now + DELAY).max(free[to]);
            free[to] = begins + wire.serialization(RATE);
            flying.push(Reverse(Flying {
                at: free[to],
                number: *sent,
                to,
                source: source(packet.source_port),
                bytes: packet.bytes.to_vec(),
            }));
        });
    }

    /// Lets the next thing happen; `false` if that would be after `until`.
    fn step(&mut self, until: Time) -> bool {
        let due = |end: &mut End| end.device.next_time().unwrap_or(Time::MAX);
        let due = self.ends.iter_mut().map(due).enumerate();
        let (at, due) = due.min_by_key(|(_, due)| *due).unwrap();
        let packet = self.flying.peek().map_or(Time::MAX, |next| next.0.at);
        let next = due.min(packet).max(self.now);
        if next > until {
            return false;
        }
        self.now = next;
        let at = if packet <= due {
            let Reverse(Flying {
                to, source, bytes, ..
            }) = self.flying.pop().unwrap();
            let device = &mut self.ends[to].device;
            device.on_packet(next, source, &bytes, false);
            to
        } else {
            self.ends[at].device.on_time(next);
            at
        };
        self.transmit(at);
        true
    }

    /// Completions of a device, each of which succeeded.
    fn completed(&mut self, at: usize) -> Vec<QpNumber> {
        let End { device, queue, .. } = &mut self.ends[at];
        let mut completions = Vec::new();
        device.poll(*queue, 64, &mut completions).unwrap();
        let sound = |it: &fairlane_softnic::Completion| it.status == Status::Success;
        assert!(completions.iter().all(sound), "{completions:?}");
        completions.iter().map(|it| it.pair).collect()
    }

    fn counters(&self, at: usize) -> Counters {
        self.ends[at].device.counters()
    }
}

/// Queue pairs that always have something to send, of which the first number is that of a group.
struct Load {
    work: Vec<(usize, usize, QpNumber, SendRequest)>,
}

impl Load {
    fn new() -> Self {
        Self { work: Vec::new() }
    }

    /// Adds queue pairs of a group by which data goes from one device to another: of WRITEs, or of READs by the other one.
    fn add(
        &mut self,
        star: &mut Star,
        group: usize,
        [from, to]: [usize; 2],
        partition: TenantId,
        reads: bool,
    ) {
        let (poster, other) = if reads { (to, from) } else { (from, to) };
        let (here, there) = (star.memory(poster, MESSAGE), star.memory(other, MESSAGE));
        let pair = star.connect(poster, other, partition);
        let pieces = vec![Sge::of(&here, 0, MESSAGE as u32)];
        let target = Target {
            address: there.address,
            key: there.remote_key,
        };
        let request = if reads {
            SendRequest::read(0, pieces, target)
        } else {
            SendRequest::write(0, pieces, target)
        };
        self.work.push((group, poster, pair, request));
    }

    /// Messages of two groups that complete from `first` to `last`.
    fn run(&self, star: &mut Star, first: Time, last: Time) -> [f64; 2] {
        for _ in 0..DEPTH {
            for (_, at, pair, request) in &self.work {
                star.post(*at, *pair, request);
            }
        }
        let mut done = [0_u32; 2];
        while star.step(last) {
            for at in 0..star.ends.len() {
                for pair in star.completed(at) {
                    let mine =
                        |it: &&(usize, usize, QpNumber, SendRequest)| (it.1, it.2) == (at, pair);
                    let (group, _, _, request) = self.work.iter().find(mine).unwrap();
                    done[*group] += u32::from(star.now >= first);
                    star.post(at, pair, request);
                }
            }
        }
        done.map(f64::from)
    }
}

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_ms(milliseconds)
}

fn tenants(settings: &mut Settings) {
    settings.scope = Scope::Tenant;
    settings.tenants = vec![Tenant::new(HEAVY, 3.0), Tenant::new(LIGHT, 1.0)];
}

/// The first group's part; asserts that both fill 2 ms of a link, of which 98 % is payload: messages at its edges are 1 %.
#[track_caller]
fn part(done: [f64; 2]) -> f64 {
    let all = done[0] + done[1];
    let link = RATE.as_f64() / 8.0 * 2e-3 / MESSAGE as f64;
    assert!((0.965..0.995).contains(&(all / link)), "{all} of {link}");
    done[0] / all
}

#[test]
fn tenants_have_their_weights_part_of_an_uplink() {
    for (pairs, reads) in [
        ([1, 1], false),
        ([16, 16], false),
        ([1, 16], false),
        ([1, 1], true),
    ] {
        let mut star = Star::new(2, tenants);
        let mut load = Load::new();
        for (group, (count, key)) in pairs.into_iter().zip([HEAVY, LIGHT]).enumerate() {
            for _ in 0..count {
                load.add(&mut star, group, [0, 1], key, reads);
            }
        }
        let part = part(load.run(&mut star, ms(1), ms(3)));
        assert!((part - 0.75).abs() < 0.01, "{pairs:?} {reads}: {part}");
    }
}

#[test]
fn without_the_scope_queue_pairs_count() {
    let mut star = Star::new(2, |_| {});
    let mut load = Load::new();
    load.add(&mut star, 0, [0, 1], HEAVY, false);
    for _ in 0..3 {
        load.add(&mut star, 1, [0, 1], LIGHT, false);
    }
    let part = part(load.run(&mut star, ms(1), ms(3)));
    assert!((part - 0.25).abs() < 0.01, "{part}");
}

#[test]
fn a_receiver_divides_its_link() {
    let equal = |settings: &mut Settings| {
        settings.dasr = dasr::Params::of(dasr::Mode::DemandAware);
    };
    for (change, keys, reads, expected) in [
        (equal as fn(&mut Settings), [HEAVY, HEAVY], false, 0.5),
        (tenants, [HEAVY, LIGHT], false, 0.75),
        (tenants, [HEAVY, LIGHT], true, 0.75),
    ] {
        let mut star = Star::new(3, change);
        let mut load = Load::new();
        for (group, key) in keys.into_iter().enumerate() {
            load.add(&mut star, group, [group, 2], key, reads);
        }
        let part = part(load.run(&mut star, ms(1), ms(3)));
        assert!((part - expected).abs() < 0.01, "{keys:?} {reads}: {part}");
        if !reads {
            assert!(star.counters(0).shares_heard > 100);
        }
    }
}

#[test]
fn a_run_is_the_same_again() {
    let run = || {
        let mut star = Star::new(3, tenants);
        star.lost = |number| number % 101 == 0;
        let mut load = Load::new();
        load.add(&mut star, 0, [0, 2], HEAVY, false);
        load.add(&mut star, 1, [1, 2], LIGHT, true);
        let done = load.run(&mut star, ms(0), ms(2));
        (done.map(|it| it as u64), star.sent, star.counters(0))
    };
    let first = run();
    assert!(first.0[0] > 10 && first.0[1] > 10, "{:?}", first.0);
    assert_eq!(first, run());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn bytes_arrive_as_they_were_sent(
        lengths in prop::collection::vec(1..40_000_usize, 1..8),
        losses in 0..3_usize,
    ) {
        let mut star = Star::new(2, |_| {});
        star.lost = [|_| false, |number| number % 7 == 3, |number| number % 31 == 5][losses];
        let pair = star.connect(0, 1, TenantId::new(0xffff));
        let mut sent = Vec::new();
        for (seed, &length) in lengths.iter().enumerate() {
            let (here, there) = (star.memory(0, length), star.memory(1, length));
            let bytes: Vec<u8> = (0..length).map(|at| (at * 31 + seed * 7 + at / 256) as u8).collect();
            star.ends[0].device.write(&here, 0, &bytes).unwrap();
            let target = Target { address: there.address, key: there.remote_key };
            let pieces = vec![Sge::of(&here, 0, length as u32)];
            star.post(0, pair, &SendRequest::write(seed as u64, pieces, target));
            sent.push((there, bytes));
        }
        let mut done = 0;
        while done < lengths.len() {
            prop_assert!(star.step(ms(60_000)), "{done} of {}", lengths.len());
            done += star.completed(0).len();
        }
        for (there, bytes) in sent {
            let mut found = vec![0; bytes.len()];
            star.ends[1].device.read(&there, 0, &mut found).unwrap();
            prop_assert_eq!(found, bytes);
        }
    }
}
