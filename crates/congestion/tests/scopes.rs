//! Scopes that share controllers: who may send, what is bounded, what eviction can't do.

use std::sync::Arc;

use fairlane_congestion::scope::{
    Config, Enforcer, Offer, STATE_BYTES, SenderId, Sent, Setting, Share, Weight,
};
use fairlane_congestion::{
    Ack, Algorithm, Environment, PacingRounding, Params, Reading, Scope, Telemetry,
    TelemetryFormat, WindowMode, dcqcn, hpcc,
};
use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

const LINE: Rate = Rate::from_gbps(100);
const BDP: Bytes = Bytes::new(150_000);
const PACKET: Bytes = Bytes::new(1000);
const ENVIRONMENT: Environment = Environment {
    line_rate: LINE,
    base_rtt: Duration::from_us(12),
    bdp: BDP,
    mtu: PACKET,
};

/// The first packet of a long message.
const LONG: Offer = Offer {
    in_flight: Bytes::ZERO,
    message: BDP,
};

fn red() -> TenantId {
    TenantId::new(0)
}

fn blue() -> TenantId {
    TenantId::new(1)
}

fn weight(tenant: TenantId, weight: f64) -> Weight {
    Weight {
        tenant,
        weight,
        guarantee: None,
    }
}

fn setting(scope: Scope, config: Config) -> Setting {
    Setting {
        scope,
        config,
        params: Params::new(Algorithm::Dcqcn),
        window: WindowMode::None,
        rounding: PacingRounding::Picosecond,
        paced: true,
        per_tenant_feedback: false,
    }
}

fn nic(scope: Scope, config: Config, tenants: &[Weight]) -> Enforcer {
    let setting = Arc::new(setting(scope, config));
    Enforcer::new(setting, ENVIRONMENT, tenants)
}

/// A NIC whose every packet is acknowledged a round trip later, some of them marked.
struct Nic {
    enforcer: Enforcer,
    now: Time,
    /// Queue pairs: identity, bytes sent, bytes acknowledged.
    queue_pairs: Vec<(SenderId, u64, u64)>,
    /// What is under way: when it comes back, of which queue pair, up to which byte.
    flying: std::collections::VecDeque<(Time, usize, u64)>,
    /// Every so many acknowledgements carry a mark; 0: none.
    mark_every: u64,
    heard: u64,
    /// Bytes that a queue pair has to send.
    sizes: Vec<u64>,
    /// When packets left: time, queue pair.
    log: Vec<(Time, usize)>,
}

impl Nic {
    fn new(enforcer: Enforcer, marks: bool) -> Self {
        Self {
            enforcer,
            now: Time::ZERO,
            queue_pairs: Vec::new(),
            flying: Default::default(),
            mark_every: u64::from(marks),
            heard: 0,
            sizes: Vec::new(),
            log: Vec::new(),
        }
    }

    fn open(&mut self, tenant: TenantId, destination: u32) -> usize {
        self.open_of(tenant, destination, u64::MAX)
    }

    /// A queue pair with `size` bytes to send.
    fn open_of(&mut self, tenant: TenantId, destination: u32, size: u64) -> usize {
        let destination = HostId::new(destination);
        let id = self
            .enforcer
            .open(self.now, tenant, destination, &ENVIRONMENT);
        self.queue_pairs.push((id, 0, 0));
        self.sizes.push(size);
        let at = self.queue_pairs.len() - 1;
        self.offer(at);
        at
    }

    fn offer(&mut self, at: usize) {
        let (id, sent, acknowledged) = self.queue_pairs[at];
        if sent >= self.sizes[at] {
            self.enforcer.withdraw(id);
            return;
        }
        let offer = Offer {
            in_flight: Bytes::new(sent - acknowledged),
            message: Bytes::new(self.sizes[at]),
        };
        self.enforcer.offer(id, offer);
    }

    fn close(&mut self, at: usize) {
        self.enforcer.close(self.now, self.queue_pairs[at].0);
        self.flying.retain(|&(_, one, _)| one != at);
    }

    /// Sends whenever somebody may, until `end`.
    fn run(&mut self, end: Time) {
        while self.now < end {
            while let Some(&(at, queue_pair, upto)) = self.flying.front() {
                if at > self.now {
                    break;
                }
                self.flying.pop_front();
                self.hear(queue_pair, upto);
            }
            if let Some(id) = self.enforcer.next(self.now) {
                self.send(id);
                continue;
            }
            let heard = self.flying.front().map(|&(at, ..)| at);
            let due = self.enforcer.earliest();
            let next = heard.into_iter().chain(due).min().unwrap_or(end);
            self.now = next.max(self.now + Duration::from_ns(1)).min(end);
        }
    }

    fn send(&mut self, id: SenderId) {
        let unfinished = |at: usize| self.queue_pairs[at].1 < self.sizes[at];
        let all = 0..self.queue_pairs.len();
        let found = all
            .rev()
            .find(|&at| self.queue_pairs[at].0 == id && unfinished(at));
        let at = found.expect("an open queue pair");
        self.queue_pairs[at].1 += PACKET.get();
        let (_, sent, acknowledged) = self.queue_pairs[at];
        let packet = Sent {
            size: PACKET,
            in_flight: Bytes::new(sent - acknowledged),
        };
        self.enforcer.on_sent(self.now, id, packet);
        self.log.push((self.now, at));
        let back = self.now + ENVIRONMENT.base_rtt;
        self.flying.push_back((back, at, self.queue_pairs[at].1));
        self.offer(at);
        self.now += PACKET.serialization(LINE);
    }

    fn hear(&mut self, at: usize, upto: u64) {
        self.queue_pairs[at].2 = upto;
        self.heard += 1;
        let (id, sent, _) = self.queue_pairs[at];
        let ack = Ack {
            acknowledged: Bytes::new(upto),
            next_to_send: Bytes::new(sent),
            congestion_notified: self.mark_every > 0 && self.heard.is_multiple_of(self.mark_every),
            ..Ack::default()
        };
        self.enforcer.on_ack(self.now, id, &ack);
    }

    /// Bytes that left in `begin..end`, by `who`.
    fn sent(&self, who: impl Fn(usize) -> bool, begin: Time, end: Time) -> u64 {
        let within = |&&(at, one): &&(Time, usize)| who(one) && begin <= at && at < end;
        PACKET.get() * self.log.iter().filter(within).count() as u64
    }
}

fn us(at: u64) -> Time {
    Time::from_ns(at * 1000)
}

#[test]
fn queue_pairs_of_a_pair_divide_its_rate() {
    // Marked all the time, one pair falls to DCQCN's least rate, however many queue pairs it has.
    for count in [1, 8] {
        let mut nic = Nic::new(
            nic(Scope::Pair, Config::default(), &[weight(red(), 1.0)]),
            true,
        );
        for _ in 0..count {
            nic.open(red(), 1);
        }
        nic.run(us(2000));
        let bytes = nic.sent(|_| true, us(1000), us(2000));
        assert!((124_000..=126_000).contains(&bytes), "{count}: {bytes}");
        let id = nic.queue_pairs[0].0;
        assert_eq!(nic.enforcer.rate_of(id), Rate::from_gbps(1));
    }
}

#[test]
fn unsplit_queue_pairs_each_send_at_the_rate() {
    let scope = Scope::DestinationUnsplit;
    let mut nic = Nic::new(nic(scope, Config::default(), &[weight(red(), 1.0)]), true);
    for _ in 0..8 {
        nic.open(red(), 1);
    }
    nic.run(us(2000));
    let bytes = nic.sent(|_| true, us(1000), us(2000));
    assert!((990_000..=1_010_000).contains(&bytes), "{bytes}");
}

#[test]
fn tenants_take_turns_by_weight() {
    let tenants = [weight(red(), 1.0), weight(blue(), 3.0)];
    let mut nic = Nic::new(nic(Scope::Tenant, Config::default(), &tenants), false);
    // Many queue pairs to many destinations buy no time at the NIC.
    let hogs: Vec<usize> = (0..20).map(|at| nic.open(red(), 10 + at)).collect();
    let honest = nic.open(blue(), 1);
    nic.run(us(3000));
    let mine = nic.sent(|one| one == honest, us(1000), us(3000));
    let all = nic.sent(
        |one| one == honest || hogs.contains(&one),
        us(1000),
        us(3000),
    );
    let share = mine as f64 / all as f64;
    assert!((share - 0.75).abs() < 0.01, "{share}");
    // Without turns they do.
    let config = Config {
        turns: false,
        ..Config::default()
    };
    let mut nic = Nic::new(self::nic(Scope::Tenant, config, &tenants), false);
    for at in 0..20 {
        nic.open(red(), 10 + at);
    }
    let honest = nic.open(blue(), 1);
    nic.run(us(3000));
    let mine = nic.sent(|one| one == honest, us(1000), us(3000)) as f64;
    assert!(mine / nic.sent(|_| true, us(1000), us(3000)) as f64 <= 0.1);
}

/// A receiver's share or a pacer just below the line rate has a packet come due when the transmitter has just gone on to somebody
/// else's.
#[test]
fn whoever_is_a_little_late_keeps_its_turn() {
    let small = [0, 2, 3, 4].map(TenantId::new);
    let tenants: Vec<Weight> = small
        .iter()
        .map(|&one| weight(one, 0.25))
        .chain([weight(blue(), 1.0)])
        .collect();
    let mut nic = nic(Scope::Tenant, Config::default(), &tenants);
    let open = |nic: &mut Enforcer, tenant| nic.open(us(0), tenant, HostId::new(9), &ENVIRONMENT);
    let others = small.map(|tenant| open(&mut nic, tenant));
    let late = open(&mut nic, blue());
    let packet = PACKET.serialization(LINE);
    let (mut now, mut ready, mut sent) = (us(1), us(1), [0u32; 2]);
    for _ in 0..10_000 {
        match ready <= now {
            true => nic.offer(late, LONG),
            false => nic.withdraw(late),
        }
        for id in others {
            nic.offer(id, LONG);
        }
        let id = nic.next(now).expect("the others may always send");
        nic.on_sent(
            now,
            id,
            Sent {
                size: PACKET,
                in_flight: Bytes::ZERO,
            },
        );
        sent[usize::from(id == late)] += 1;
        if id == late {
            ready = now + packet + Duration::from_ns(1);
        }
        now += packet;
    }
    assert!(sent[1] >= 4_990, "{sent:?}");
}

#[test]
fn a_fresh_queue_pair_is_no_fresh_start() {
    let tenants = [weight(red(), 1.0)];
    let mut nic = Nic::new(nic(Scope::Tenant, Config::default(), &tenants), true);
    let first = nic.open(red(), 1);
    nic.run(us(1000));
    let before = nic.enforcer.rate_of(nic.queue_pairs[first].0);
    assert!(before < Rate::from_gbps(10), "{before}");
    nic.close(first);
    let second = nic.open(red(), 1);
    assert!(nic.enforcer.rate_of(nic.queue_pairs[second].0) <= before);
}

#[test]
fn eviction_is_no_fresh_start() {
    // Room for 4 pairs: going round 8 destinations evicts each before it comes again.
    let config = Config {
        pairs: 4,
        ..Config::default()
    };
    let tenants = [weight(red(), 1.0)];
    let sent = |pairs: u32| {
        let config = Config {
            pairs,
            ..config.clone()
        };
        let mut nic = Nic::new(nic(Scope::Tenant, config, &tenants), true);
        for round in 0..400u32 {
            let at = nic.open(red(), round % 8);
            // Long enough for acknowledgements, and marks, to come.
            let end = nic.now + Duration::from_us(30);
            nic.run(end);
            nic.close(at);
        }
        assert!(nic.enforcer.pairs() <= pairs as usize + 1);
        nic.sent(|_| true, us(2000), us(12_000))
    };
    let (small, large) = (sent(4), sent(64));
    assert!(
        small as f64 <= 1.1 * large as f64,
        "{small} against {large}"
    );
}

#[test]
fn messages_of_one_packet_count_as_in_flight() {
    let setting = Setting {
        window: WindowMode::Fixed,
        paced: false,
        ..setting(Scope::Pair, Config::default())
    };
    let environment = Environment {
        bdp: Bytes::new(30_000),
        ..ENVIRONMENT
    };
    let enforcer = Enforcer::new(Arc::new(setting), environment, &[weight(red(), 1.0)]);
    let mut nic = Nic::new(enforcer, false);
    for _ in 0..200 {
        let id = nic
            .enforcer
            .open(us(0), red(), HostId::new(1), &environment);
        nic.queue_pairs.push((id, 0, 0));
        nic.sizes.push(PACKET.get());
        nic.offer(nic.queue_pairs.len() - 1);
    }
    // Less than a round trip.
    nic.run(us(11));
    assert_eq!(nic.sent(|_| true, us(0), us(11)), 30_000);
}

#[test]
fn places_at_a_nic_are_divided_among_tenants() {
    let config = Config {
        pairs: 8,
        ..Config::default()
    };
    let tenants = [weight(red(), 1.0), weight(blue(), 1.0)];
    let mut nic = Nic::new(nic(Scope::Tenant, config, &tenants), false);
    // Red fills more places than there are; blue's pairs still have rates of their own.
    for to in 0..20 {
        nic.open(red(), to);
    }
    let before = nic.enforcer.pairs();
    for to in 100..104 {
        nic.open(blue(), to);
    }
    assert_eq!((before, nic.enforcer.pairs()), (5, 9));
}

#[test]
fn guarantees_come_before_weights_at_the_nic() {
    let tenants = [
        Weight {
            guarantee: Some(Rate::from_gbps(60)),
            ..weight(red(), 1.0)
        },
        weight(blue(), 9.0),
    ];
    let mut nic = Nic::new(nic(Scope::Tenant, Config::default(), &tenants), false);
    let one = nic.open(red(), 1);
    nic.open(blue(), 2);
    nic.run(us(2000));
    let share = nic.sent(|at| at == one, us(500), us(2000)) as f64
        / nic.sent(|_| true, us(500), us(2000)) as f64;
    // 60 % and a tenth of the rest.
    assert!((share - 0.64).abs() < 0.01, "{share}");
}

/// What a pair may send to a destination after a queue pair to it has ended with a packet in flight.
fn rate_after_the_end(arrived: bool) -> Rate {
    let mut enforcer = nic(Scope::Tenant, Config::default(), &[weight(red(), 1.0)]);
    let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
    enforcer.offer(id, LONG);
    let sent = Sent {
        size: PACKET,
        in_flight: PACKET,
    };
    enforcer.on_sent(us(0), id, sent);
    enforcer.withdraw(id);
    if arrived {
        enforcer.settle(id);
    }
    enforcer.close(us(20), id);
    let id = enforcer.open(us(20), red(), HostId::new(1), &ENVIRONMENT);
    // DCQCN cuts when its timer is due; a packet brings that up to date.
    enforcer.offer(id, LONG);
    enforcer.on_sent(us(40), id, sent);
    enforcer.rate_of(id)
}

#[test]
fn what_has_arrived_is_no_congestion() {
    assert_eq!(rate_after_the_end(true), LINE);
    // Cut by half of an alpha that is a little below 1 by then.
    let cut = rate_after_the_end(false);
    assert!(cut < Rate::from_gbps(51), "{cut}");
}

/// A pair under HPCC that has heard of the ports on its way for 200 us, of each of which a record says how much it had sent
/// every microsecond, and its queue.
fn after_telemetry(core_only: bool, ports: &[(u64, Bytes)]) -> (Enforcer, SenderId) {
    let setting = Setting {
        params: Params::new(Algorithm::Hpcc),
        window: WindowMode::Scaled,
        ..setting(Scope::Tenant, Config::default())
    };
    let mut enforcer = Enforcer::new(Arc::new(setting), ENVIRONMENT, &[weight(red(), 1.0)]);
    let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
    let format = TelemetryFormat::EXACT;
    for at in 1..200u64 {
        let mut record = Telemetry::EMPTY;
        for (port, &(sent, queue)) in (0..).zip(ports) {
            record.push(port, format.hop(us(at), Bytes::new(at * sent), queue, LINE));
        }
        let ack = Ack {
            acknowledged: PACKET * at,
            next_to_send: PACKET * (at + 1),
            telemetry: Some(Reading {
                core_only,
                ..Reading::new(&record, &format)
            }),
            ..Ack::default()
        };
        enforcer.on_ack(us(at), id, &ack);
    }
    (enforcer, id)
}

/// The rate of a pair whose packets pass two ports of which one is twice as busy as it should be.
fn rate_behind(busy: usize, core_only: bool) -> Rate {
    let queue = |port: usize| BDP * u64::from(port == busy);
    let (enforcer, id) = after_telemetry(core_only, &[(6000, queue(0)), (6000, queue(1))]);
    enforcer.rate_of(id)
}

#[test]
fn what_shares_divide_is_not_heard() {
    let held = Rate::from_gbps(20);
    assert!(rate_behind(0, true) < held && rate_behind(0, false) < held);
    assert!(rate_behind(1, false) < held);
    assert_eq!(rate_behind(1, true), LINE);
}

#[test]
fn what_a_pair_learnt_stays_while_it_is_idle() {
    let (mut enforcer, id) = after_telemetry(false, &[(12_500, BDP)]);
    let learnt = enforcer.rate_of(id);
    assert!(learnt < LINE.scale(0.2));
    enforcer.settle(id);
    enforcer.close(us(199), id);
    let later = enforcer.open(us(5000), red(), HostId::new(1), &ENVIRONMENT);
    enforcer.offer(later, LONG);
    assert_eq!(enforcer.rate_of(later), learnt);
}

#[test]
fn all_places_taken_is_no_way_out() {
    let config = Config {
        pairs: 2,
        ..Config::default()
    };
    let mut nic = Nic::new(nic(Scope::Tenant, config, &[weight(red(), 1.0)]), true);
    for at in 0..40 {
        nic.open(red(), at);
    }
    nic.run(us(2000));
    assert_eq!(nic.enforcer.pairs(), 3);
    // Every one goes on, and together they stay near DCQCN's least rate.
    let bytes = nic.sent(|_| true, us(1000), us(2000));
    assert!(bytes < 100_000_000 / 8 / 4, "{bytes}");
    assert!(nic.queue_pairs.iter().all(|&(_, sent, _)| sent > 0));
}

#[test]
fn the_state_of_a_pair_is_small() {
    // Controller, pacer, flags, key and value of the index.
    assert!(size_of::<dcqcn::Dcqcn>() + STATE_BYTES < 128);
    assert!(size_of::<hpcc::Hpcc>() + STATE_BYTES < 128);
}

proptest! {
    /// A share is what was meant, rounded down to a unit.
    #[test]
    fn shares_fit_into_headers(rate in 1u64..400_000_000_000, line in 1u64..400_000_000_000) {
        let (rate, line) = (Rate::from_bps(rate), Rate::from_bps(line));
        let share = Share::from_rate(rate, line);
        prop_assert_eq!(Share::new(share.get()), Some(share));
        let is = share.of(line);
        let unit = line.as_bps() / 65_535 + 1;
        prop_assert!(is <= line);
        prop_assert!(is.as_bps() <= rate.as_bps().max(unit));
        prop_assert!(is.as_bps() + 2 * unit >= rate.as_bps().min(line.as_bps()));
    }

}
