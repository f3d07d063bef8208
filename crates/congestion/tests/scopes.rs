//! Scopes that share controllers: who may send, what is bounded, what eviction can't do.

use std::sync::Arc;

use fairlane_congestion::scope::{
    Bucket, Config, Enforcer, Grant, Offer, STATE_BYTES, SenderId, Sent, Setting, Share, Weight,
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
        told_apart: false,
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
            self.enforcer.withdraw(self.now, id);
            return;
        }
        let offer = Offer {
            size: PACKET,
            message_sent: Bytes::new(sent),
            in_flight: Bytes::new(sent - acknowledged),
        };
        self.enforcer.offer(self.now, id, offer);
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
            let due = self.enforcer.earliest(self.now);
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
        self.enforcer.on_ack(self.now, id, &ack, Grant::Unsaid);
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
    // Without arbitration they do.
    let config = Config {
        arbitration: false,
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
fn a_new_destination_begins_with_what_the_tenant_has_learnt() {
    let tenants = [weight(red(), 1.0)];
    let run = |inheritance: bool| {
        let config = Config {
            inheritance,
            coupling: false,
            ..Config::default()
        };
        let mut nic = Nic::new(nic(Scope::Tenant, config, &tenants), true);
        // Another destination every two bandwidth-delay products, in a network that marks everything.
        for destination in 0..200 {
            let at = nic.open(red(), destination);
            while nic.queue_pairs[at].1 < 2 * BDP.get() && nic.now < us(4000) {
                let soon = nic.now + Duration::from_us(1);
                nic.run(soon);
            }
            nic.close(at);
        }
        nic.sent(|_| true, us(2000), us(4000))
    };
    let (with, without) = (run(true), run(false));
    // Some of the line rate is credit in any case.
    assert!(with < without / 2, "{with} {without}");
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
fn single_packets_do_not_keep_pairs_from_being_young() {
    let tenants = [weight(red(), 1.0)];
    let config = Config {
        coupling: false,
        // So much that the least rates of controllers don't matter beside it.
        refill_least: 0.2,
        ..Config::default()
    };
    // One destination after another, two bandwidth-delay products each; `kept` says that a packet goes to
    // every one of them all the time.
    let sent = |kept: bool| {
        let mut nic = Nic::new(nic(Scope::Tenant, config.clone(), &tenants), true);
        for round in 0..300u32 {
            if kept {
                for to in 0..16 {
                    nic.open_of(red(), to, PACKET.get());
                }
            }
            let at = nic.open_of(red(), round % 16, 2 * BDP.get());
            let end = nic.now + Duration::from_us(30);
            nic.run(end);
            nic.close(at);
        }
        nic.sent(|_| true, us(4000), us(9000))
    };
    let (alone, kept) = (sent(false), sent(true));
    assert!(kept as f64 <= 1.15 * alone as f64, "{kept} against {alone}");
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
fn what_limited_pairs_have_in_common_holds_them_together() {
    let tenants = [weight(red(), 1.0)];
    let sent = |count: u32, pooling: bool| {
        let config = Config {
            pooling,
            ..Config::default()
        };
        let mut nic = Nic::new(nic(Scope::Tenant, config, &tenants), false);
        nic.mark_every = 300;
        for to in 0..count {
            nic.open(red(), to);
        }
        nic.run(us(12_000));
        nic.sent(|_| true, us(4000), us(12_000)) as f64
    };
    let one = sent(1, true);
    let (pooled, apart) = (sent(16, true), sent(16, false));
    // Who isn't marked for long is free until its next mark, 300 packets later.
    assert!(pooled <= 3.0 * one, "{pooled} against {one}");
    assert!(apart > 1.5 * pooled, "{apart} against {pooled}");
}

#[test]
fn closing_before_anything_is_heard_is_no_way_out() {
    let tenants = [weight(red(), 1.0)];
    let mut nic = Nic::new(nic(Scope::Tenant, Config::default(), &tenants), false);
    for destination in 0..400 {
        let at = nic.open(red(), destination);
        let end = nic.now + Duration::from_us(10);
        nic.run(end);
        nic.close(at);
    }
    let bytes = nic.sent(|_| true, us(1000), us(4000));
    // The credit, and what DCQCN's least rate allows.
    let most = LINE.scale(0.25).bytes_in(Duration::from_us(3000)).get();
    assert!(bytes < most, "{bytes} of {most}");
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

/// A NIC with one open queue pair that hears an acknowledgement every microsecond.
struct Listener {
    enforcer: Enforcer,
    id: SenderId,
    at: u64,
}

impl Listener {
    fn new() -> Self {
        let mut enforcer = nic(Scope::Tenant, Config::default(), &[weight(red(), 1.0)]);
        let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
        Self {
            enforcer,
            id,
            at: 0,
        }
    }

    /// Hears so many acknowledgements; returns the rate after the last.
    fn hear(&mut self, count: u64, congestion_notified: bool, grant: Grant) -> Rate {
        for _ in 0..count {
            self.at += 1;
            let ack = Ack {
                acknowledged: PACKET * self.at,
                next_to_send: PACKET * self.at,
                congestion_notified,
                ..Ack::default()
            };
            self.enforcer.on_ack(us(self.at), self.id, &ack, grant);
        }
        self.enforcer.rate_of(self.id)
    }
}

fn share(gbps: u64) -> Grant {
    Grant::Share(Share::from_rate(Rate::from_gbps(gbps), LINE))
}

#[test]
fn only_acknowledgements_say_what_a_receiver_grants() {
    let mut pair = Listener::new();
    assert!(pair.hear(1, false, share(10)) <= Rate::from_gbps(10));
    assert!(pair.hear(1, false, Grant::Unsaid) <= Rate::from_gbps(10));
    assert!(pair.hear(1, false, Grant::Free) > Rate::from_gbps(90));
}

#[test]
fn a_held_pair_forgets_what_it_had() {
    let mut pair = Listener::new();
    // Three time constants at a tenth of the line rate, then none.
    pair.hear(3000, false, share(10));
    let rate = pair.hear(1, false, Grant::Free);
    assert!(rate < Rate::from_gbps(16), "{rate}");
    // Nothing is in its way: it finds the rest again.
    let rate = pair.hear(4000, false, Grant::Free);
    assert!(rate > Rate::from_gbps(98), "{rate}");
}

#[test]
fn a_pair_below_its_share_comes_up_to_it() {
    let mut pair = Listener::new();
    assert_eq!(pair.hear(2000, true, Grant::Unsaid), Rate::from_gbps(1));
    let rate = pair.hear(4000, false, share(40));
    assert!(rate > Rate::from_gbps(35), "{rate}");
}

/// What a pair may send to a destination after a queue pair to it has ended with a packet in flight.
fn rate_after_the_end(arrived: bool) -> Rate {
    let mut enforcer = nic(Scope::Tenant, Config::default(), &[weight(red(), 1.0)]);
    let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
    let offer = Offer {
        size: PACKET,
        ..Offer::default()
    };
    enforcer.offer(us(0), id, offer);
    let sent = Sent {
        size: PACKET,
        in_flight: PACKET,
    };
    enforcer.on_sent(us(0), id, sent);
    enforcer.withdraw(us(0), id);
    if arrived {
        enforcer.settle(id);
    }
    enforcer.close(us(20), id);
    let id = enforcer.open(us(20), red(), HostId::new(1), &ENVIRONMENT);
    enforcer.rate_of(id)
}

#[test]
fn what_has_arrived_is_no_congestion() {
    assert_eq!(rate_after_the_end(true), LINE);
    assert_eq!(rate_after_the_end(false), LINE / 2);
}

/// From when on a queue pair whose packets all went on credit may send what isn't, in microseconds.
/// `share` is what the receiver states; without, notifications hold the pair at its least rate.
fn end_of_debt(config: Config, share: Option<Rate>) -> u64 {
    let mut enforcer = nic(Scope::Tenant, config, &[weight(red(), 1.0)]);
    let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
    let stated = |share| Grant::Share(Share::from_rate(share, LINE));
    let grant = share.map_or(Grant::Free, stated);
    let ack = Ack {
        acknowledged: PACKET,
        next_to_send: PACKET,
        ..Ack::default()
    };
    let began = 6000;
    for at in (0..=began).step_by(60).filter(|_| share.is_none()) {
        enforcer.on_cnp(us(at), id);
    }
    enforcer.on_ack(us(began), id, &ack, grant);
    let offer = |sent: u64| Offer {
        size: PACKET,
        message_sent: Bytes::new(sent),
        in_flight: Bytes::ZERO,
    };
    for at in 0..20 {
        enforcer.offer(us(began), id, offer(at * 1000));
        assert_eq!(enforcer.next(us(began)), Some(id));
        let sent = Sent {
            size: PACKET,
            in_flight: Bytes::ZERO,
        };
        enforcer.on_sent(us(began), id, sent);
    }
    enforcer.offer(us(began), id, offer(BDP.get()));
    let mut ends = (0..).filter(|&after| enforcer.next(us(began + after)).is_some());
    ends.next().expect("it ends")
}

/// At 400 Mb/s each packet takes 20 us; a receiver's share is no longer believed after a millisecond.
#[test]
fn a_debt_is_paid_unless_it_is_old() {
    let all = end_of_debt(Config::default(), Some(Rate::from_mbps(400)));
    assert!((380..=430).contains(&all), "{all}");
    let slow = Some(Rate::from_mbps(20));
    assert_eq!(end_of_debt(Config::default(), slow), 1000);
    // Without a share all twenty packets would take 56 us.
    let short = Config {
        debt_span: Duration::from_us(30),
        ..Config::default()
    };
    assert_eq!(end_of_debt(short, None), 30);
}

/// What a tenant's beginners may send under HPCC after packets on credit have passed a port that works
/// at its rate, with so much waiting.
fn learnt_on_credit(queue: u64) -> Rate {
    let setting = Setting {
        params: Params::new(Algorithm::Hpcc),
        window: WindowMode::Scaled,
        ..setting(Scope::Tenant, Config::default())
    };
    let mut enforcer = Enforcer::new(Arc::new(setting), ENVIRONMENT, &[weight(red(), 1.0)]);
    let offer = |at: u64| Offer {
        size: PACKET,
        message_sent: Bytes::new(at % 100 * 1000),
        in_flight: PACKET,
    };
    let id = enforcer.open(us(0), red(), HostId::new(1), &ENVIRONMENT);
    for at in 1..500 {
        enforcer.offer(us(at), id, offer(at));
        assert_eq!(enforcer.next(us(at)), Some(id));
        let sent = Sent {
            size: PACKET,
            in_flight: PACKET,
        };
        enforcer.on_sent(us(at), id, sent);
        let mut record = Telemetry::EMPTY;
        let hop =
            TelemetryFormat::EXACT.hop(us(at), Bytes::new(at * 12_500), Bytes::new(queue), LINE);
        record.push(7, hop);
        let reading = Reading::new(&record, &TelemetryFormat::EXACT);
        let ack = Ack {
            acknowledged: Bytes::new(at * PACKET.get()),
            next_to_send: Bytes::new((at + 1) * PACKET.get()),
            telemetry: Some(reading),
            ..Ack::default()
        };
        enforcer.on_ack(us(at), id, &ack, Grant::Unsaid);
    }
    let other = enforcer.open(us(500), red(), HostId::new(2), &ENVIRONMENT);
    enforcer.offer(us(500), other, offer(0));
    enforcer.rate_of(other)
}

#[test]
fn packets_on_credit_are_no_congestion_unless_they_wait() {
    let room = learnt_on_credit(0);
    assert!(room > Rate::from_gbps(94), "{room}");
    let full = learnt_on_credit(BDP.get() / 2);
    assert!(full < Rate::from_gbps(40), "{full}");
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
    // Every one goes on, and together they stay near DCQCN's least rate and the credit.
    let bytes = nic.sent(|_| true, us(1000), us(2000));
    assert!(bytes < 100_000_000 / 8 / 4, "{bytes}");
    assert!(nic.queue_pairs.iter().all(|&(_, sent, _)| sent > 0));
}

#[test]
fn a_message_in_parts_has_the_credit_of_one() {
    // All eight parts count together: past the first bandwidth-delay product nothing is paid.
    let tenants = [weight(red(), 1.0)];
    let sent = |parts: u64| {
        let mut enforcer = nic(Scope::Tenant, Config::default(), &tenants);
        let environment = ENVIRONMENT;
        let ids: Vec<SenderId> = (0..parts)
            .map(|_| enforcer.open(Time::ZERO, red(), HostId::new(1), &environment))
            .collect();
        let (mut all, mut now, mut paid) = (0, us(0), 0);
        for round in 0..600u64 {
            let offer = Offer {
                size: PACKET,
                message_sent: Bytes::new(all),
                in_flight: Bytes::ZERO,
            };
            ids.iter().for_each(|&id| enforcer.offer(now, id, offer));
            let Some(id) = enforcer.next(now) else { break };
            let sent = Sent {
                size: PACKET,
                in_flight: PACKET,
            };
            enforcer.on_sent(now, id, sent);
            all += PACKET.get();
            paid = round + 1;
            now += PACKET.serialization(LINE);
        }
        paid
    };
    assert_eq!(sent(1), sent(8));
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

    /// Bytes without permission, per tenant and NIC, in any window T: depth + refill T + a packet.
    #[test]
    fn what_the_bucket_pays_is_bounded(
        depth in 1u64..500_000,
        rate in 1u64..50_000,
        takes in prop::collection::vec((0u64..20_000, 64u64..4096), 1..300),
    ) {
        let rate = Rate::from_mbps(rate);
        let mut bucket = Bucket::new(Bytes::new(depth));
        let mut now = Time::ZERO;
        let mut paid = Vec::new();
        for (wait, size) in takes {
            now += Duration::from_ns(wait);
            bucket.fill(now, rate);
            prop_assert!(bucket.level() <= Bytes::new(depth));
            if bucket.take(Bytes::new(size)) {
                paid.push((now, size));
            }
        }
        for first in 0..paid.len() {
            let mut sum = 0;
            for &(at, size) in &paid[first..] {
                sum += size;
                let allowed = depth + rate.bytes_in(at - paid[first].0).get() + 1;
                prop_assert!(sum <= allowed, "{} > {}", sum, allowed);
            }
        }
    }

    /// A full NIC never sends faster than its line, nobody is forgotten, and the bound of the
    /// mechanism holds: what leaves in a window is at most the credit and what controllers allow.
    #[test]
    fn the_injection_bound_holds(
        openings in prop::collection::vec((0u64..60, 0u32..30, 1u64..6), 5..60),
        depth in 1u32..6,
        least in 1u32..20,
    ) {
        let config = Config {
            depth: f64::from(depth),
            refill: f64::from(least) / 100.0,
            refill_least: f64::from(least) / 100.0,
            // What controllers allow once everything is marked: DCQCN's least rate for each.
            ..Config::default()
        };
        let mut nic = Nic::new(nic(Scope::Tenant, config, &[weight(red(), 1.0)]), true);
        // A pair that congestion has taught the aggregate.
        let teacher = nic.open(red(), 1000);
        nic.run(us(600));
        nic.close(teacher);
        let mut open = Vec::new();
        for (wait, destination, size) in openings {
            let end = nic.now + Duration::from_us(wait);
            nic.run(end);
            open.push((nic.open(red(), destination), size * BDP.get() / 2));
            open.retain(|&(at, size)| {
                let done = nic.queue_pairs[at].1 >= size;
                if done {
                    nic.close(at);
                }
                !done
            });
        }
        let end = nic.now;
        let rate = LINE.scale(f64::from(least) / 100.0);
        let depth = u64::from(depth) * BDP.get();
        for begin in (600..end.as_ps() / 1_000_000).step_by(50) {
            let span = end - us(begin);
            let sent = nic.sent(|_| true, us(begin), end);
            // The aggregate is below 5 Gb/s by then; each pair that ever was limited has a round trip of
            // packets at its own rate, and DCQCN never goes below 1 Gb/s.
            let controlled = Rate::from_gbps(10).bytes_in(span).get() + 32 * PACKET.get();
            let bound = depth + rate.bytes_in(span).get() + controlled;
            prop_assert!(sent <= bound, "{} > {} in {}", sent, bound, span);
        }
    }
}
