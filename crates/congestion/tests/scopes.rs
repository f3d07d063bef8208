//! Scopes that share controllers: who may send, what is bounded, what eviction can't do.

use std::sync::Arc;

use fairlane_congestion::scope::{
    Bucket, Config, Enforcer, Offer, ReceiverShares, STATE_BYTES, SenderId, Setting, Weight,
};
use fairlane_congestion::{
    Ack, Algorithm, Environment, PacingRounding, Params, Scope, WindowMode, dcqcn, hpcc,
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

fn card(scope: Scope, config: Config, tenants: &[Weight]) -> Enforcer {
    let setting = Setting {
        scope,
        config,
        params: Params::new(Algorithm::Dcqcn),
        window: WindowMode::None,
        rounding: PacingRounding::Picosecond,
        paced: true,
    };
    Enforcer::new(Arc::new(setting), ENVIRONMENT, tenants)
}

/// A card whose every packet is acknowledged a round trip later, marked or not.
struct Card {
    enforcer: Enforcer,
    now: Time,
    /// Queue pairs: identity, bytes sent, bytes acknowledged.
    queue_pairs: Vec<(SenderId, u64, u64)>,
    /// What is under way: when it comes back, of which queue pair, up to which byte.
    flying: std::collections::VecDeque<(Time, usize, u64)>,
    marks: bool,
    /// When packets left: time, queue pair.
    log: Vec<(Time, usize)>,
}

impl Card {
    fn new(enforcer: Enforcer, marks: bool) -> Self {
        Self {
            enforcer,
            now: Time::ZERO,
            queue_pairs: Vec::new(),
            flying: Default::default(),
            marks,
            log: Vec::new(),
        }
    }

    fn open(&mut self, tenant: TenantId, destination: u32) -> usize {
        let destination = HostId::new(destination);
        let id = self
            .enforcer
            .open(self.now, tenant, destination, &ENVIRONMENT);
        self.queue_pairs.push((id, 0, 0));
        let at = self.queue_pairs.len() - 1;
        self.offer(at);
        at
    }

    fn offer(&mut self, at: usize) {
        let (id, sent, acknowledged) = self.queue_pairs[at];
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
        let found = self.queue_pairs.iter().rposition(|&(one, ..)| one == id);
        let at = found.expect("an open queue pair");
        self.enforcer.on_sent(self.now, id, PACKET);
        self.log.push((self.now, at));
        self.queue_pairs[at].1 += PACKET.get();
        let back = self.now + ENVIRONMENT.base_rtt;
        self.flying.push_back((back, at, self.queue_pairs[at].1));
        self.offer(at);
        self.now += PACKET.serialization(LINE);
    }

    fn hear(&mut self, at: usize, upto: u64) {
        self.queue_pairs[at].2 = upto;
        let (id, sent, _) = self.queue_pairs[at];
        let ack = Ack {
            acknowledged: Bytes::new(upto),
            next_to_send: Bytes::new(sent),
            congestion_notified: self.marks,
            ..Ack::default()
        };
        self.enforcer.on_ack(self.now, id, &ack, None);
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
        let mut card = Card::new(
            card(Scope::Pair, Config::default(), &[weight(red(), 1.0)]),
            true,
        );
        for _ in 0..count {
            card.open(red(), 1);
        }
        card.run(us(2000));
        let bytes = card.sent(|_| true, us(1000), us(2000));
        assert!((124_000..=126_000).contains(&bytes), "{count}: {bytes}");
        let id = card.queue_pairs[0].0;
        assert_eq!(card.enforcer.rate_of(id), Rate::from_gbps(1));
    }
}

#[test]
fn unsplit_queue_pairs_each_send_at_the_rate() {
    let scope = Scope::DestinationUnsplit;
    let mut card = Card::new(card(scope, Config::default(), &[weight(red(), 1.0)]), true);
    for _ in 0..8 {
        card.open(red(), 1);
    }
    card.run(us(2000));
    let bytes = card.sent(|_| true, us(1000), us(2000));
    assert!((990_000..=1_010_000).contains(&bytes), "{bytes}");
}

#[test]
fn tenants_take_turns_by_weight() {
    let tenants = [weight(red(), 1.0), weight(blue(), 3.0)];
    let mut card = Card::new(card(Scope::Tenant, Config::default(), &tenants), false);
    // Many queue pairs to many destinations buy no time at the card.
    let hogs: Vec<usize> = (0..20).map(|at| card.open(red(), 10 + at)).collect();
    let honest = card.open(blue(), 1);
    card.run(us(3000));
    let mine = card.sent(|one| one == honest, us(1000), us(3000));
    let all = card.sent(
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
    let mut card = Card::new(self::card(Scope::Tenant, config, &tenants), false);
    for at in 0..20 {
        card.open(red(), 10 + at);
    }
    let honest = card.open(blue(), 1);
    card.run(us(3000));
    let mine = card.sent(|one| one == honest, us(1000), us(3000)) as f64;
    assert!(mine / card.sent(|_| true, us(1000), us(3000)) as f64 <= 0.1);
}

#[test]
fn a_fresh_queue_pair_is_no_fresh_start() {
    let tenants = [weight(red(), 1.0)];
    let mut card = Card::new(card(Scope::Tenant, Config::default(), &tenants), true);
    let first = card.open(red(), 1);
    card.run(us(1000));
    let before = card.enforcer.rate_of(card.queue_pairs[first].0);
    assert!(before < Rate::from_gbps(10), "{before}");
    card.close(first);
    let second = card.open(red(), 1);
    assert!(card.enforcer.rate_of(card.queue_pairs[second].0) <= before);
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
        let mut card = Card::new(card(Scope::Tenant, config, &tenants), true);
        // Another destination every two bandwidth-delay products, in a network that marks everything.
        for destination in 0..200 {
            let at = card.open(red(), destination);
            while card.queue_pairs[at].1 < 2 * BDP.get() && card.now < us(4000) {
                let soon = card.now + Duration::from_us(1);
                card.run(soon);
            }
            card.close(at);
        }
        card.sent(|_| true, us(2000), us(4000))
    };
    let (with, without) = (run(true), run(false));
    // 10 % of the line rate is credit in any case.
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
        let mut card = Card::new(card(Scope::Tenant, config, &tenants), true);
        for round in 0..400u32 {
            let at = card.open(red(), round % 8);
            let end = card.now + Duration::from_us(10);
            card.run(end);
            card.close(at);
        }
        assert!(card.enforcer.pairs() <= pairs as usize + 1);
        card.sent(|_| true, us(1000), us(4000))
    };
    let (small, large) = (sent(4), sent(64));
    assert!(
        small as f64 <= 1.1 * large as f64,
        "{small} against {large}"
    );
}

#[test]
fn all_places_taken_is_no_way_out() {
    let config = Config {
        pairs: 2,
        ..Config::default()
    };
    let mut card = Card::new(card(Scope::Tenant, config, &[weight(red(), 1.0)]), true);
    for at in 0..40 {
        card.open(red(), at);
    }
    card.run(us(2000));
    assert_eq!(card.enforcer.pairs(), 3);
    // Every one goes on, and together they stay near DCQCN's least rate and the credit.
    let bytes = card.sent(|_| true, us(1000), us(2000));
    assert!(bytes < 100_000_000 / 8 / 4, "{bytes}");
    assert!(card.queue_pairs.iter().all(|&(_, sent, _)| sent > 0));
}

#[test]
fn a_message_in_parts_has_the_credit_of_one() {
    // All eight parts count together: past the first bandwidth-delay product nothing is paid.
    let tenants = [weight(red(), 1.0)];
    let sent = |parts: u64| {
        let mut enforcer = card(Scope::Tenant, Config::default(), &tenants);
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
            enforcer.on_sent(now, id, PACKET);
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

/// What each source sends once all follow the levels of a receiver that they could overwhelm, in bits
/// per second, over intervals after the first.
fn settle(shares: &mut ReceiverShares, sources: &[TenantId]) -> Vec<f64> {
    let (mut now, mut sum, rounds) = (Time::ZERO, vec![0.0; sources.len()], 300);
    for round in 0..rounds {
        let wish = |tenant: &TenantId| shares.level(*tenant).unwrap_or(LINE).as_f64();
        let wishes: Vec<f64> = sources.iter().map(wish).collect();
        // More than the link carries doesn't arrive.
        let fits = (LINE.as_f64() / wishes.iter().sum::<f64>()).min(1.0);
        for (at, rate) in wishes.iter().enumerate() {
            let bytes = Bytes::new((rate * fits * 10e-6 / 8.0) as u64);
            shares.on_data(now, sources[at], HostId::new(at as u32), bytes);
            if round >= rounds / 2 {
                sum[at] += rate * fits / f64::from(rounds / 2);
            }
        }
        now += Duration::from_us(10);
    }
    sum
}

#[test]
fn a_busy_receiver_divides_by_weight_whoever_sends_from_more_hosts() {
    let green = TenantId::new(2);
    let tenants = [weight(red(), 1.0), weight(blue(), 2.0), weight(green, 4.0)];
    let mut shares = ReceiverShares::new(&Config::default(), LINE, &tenants);
    let sources = [red(), red(), red(), red(), blue(), green];
    let rates = settle(&mut shares, &sources);
    let total: f64 = rates.iter().sum();
    let part = |rate: f64| rate / total * 7.0;
    assert!(
        (part(rates[..4].iter().sum()) - 1.0).abs() < 0.05,
        "{rates:?}"
    );
    assert!((part(rates[4]) - 2.0).abs() < 0.1, "{rates:?}");
    assert!((part(rates[5]) - 4.0).abs() < 0.2, "{rates:?}");
    assert!(total > 0.94 * LINE.as_f64(), "{rates:?}");
}

#[test]
fn a_receiver_that_is_not_busy_limits_nobody() {
    let tenants = [weight(red(), 1.0), weight(blue(), 1.0)];
    let mut shares = ReceiverShares::new(&Config::default(), LINE, &tenants);
    let mut now = Time::ZERO;
    while now < us(100) {
        assert_eq!(shares.on_data(now, red(), HostId::new(0), PACKET), None);
        now += PACKET.serialization(Rate::from_gbps(80));
    }
}

#[test]
fn guarantees_come_before_weights() {
    let tenants = [
        Weight {
            tenant: red(),
            weight: 1.0,
            guarantee: Some(Rate::from_gbps(60)),
        },
        weight(blue(), 9.0),
    ];
    let mut shares = ReceiverShares::new(&Config::default(), LINE, &tenants);
    let mut now = Time::ZERO;
    for at in 0..2000u64 {
        let tenant = TenantId::new(u32::from(at % 2 == 0));
        shares.on_data(now, tenant, HostId::new(tenant.get()), PACKET);
        now += PACKET.serialization(LINE);
    }
    // Red uses 50: its guarantee covers 60 of what it may want, and a tenth of the rest is its part.
    let level = shares.level(blue()).map(Rate::as_f64);
    assert!(
        level.is_some_and(|rate| (33e9..=40e9).contains(&rate)),
        "{level:?}"
    );
}

proptest! {
    /// Bytes without permission, per tenant and card, in any window T: depth + refill T + a packet.
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

    /// A full card never sends faster than its line, nobody is forgotten, and the bound of the
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
        let mut card = Card::new(card(Scope::Tenant, config, &[weight(red(), 1.0)]), true);
        // A pair that congestion has taught the aggregate.
        let teacher = card.open(red(), 1000);
        card.run(us(600));
        card.close(teacher);
        let mut open = Vec::new();
        for (wait, destination, size) in openings {
            let end = card.now + Duration::from_us(wait);
            card.run(end);
            open.push((card.open(red(), destination), size * BDP.get() / 2));
            open.retain(|&(at, size)| {
                let done = card.queue_pairs[at].1 >= size;
                if done {
                    card.close(at);
                }
                !done
            });
        }
        let end = card.now;
        let rate = LINE.scale(f64::from(least) / 100.0);
        let depth = u64::from(depth) * BDP.get();
        for begin in (600..end.as_ps() / 1_000_000).step_by(50) {
            let span = end - us(begin);
            let sent = card.sent(|_| true, us(begin), end);
            // The aggregate is below 5 Gb/s by then; each pair that ever was limited has a round trip of
            // packets at its own rate, and DCQCN never goes below 1 Gb/s.
            let controlled = Rate::from_gbps(10).bytes_in(span).get() + 32 * PACKET.get();
            let bound = depth + rate.bytes_in(span).get() + controlled;
            prop_assert!(sent <= bound, "{} > {} in {}", sent, bound, span);
        }
    }
}
