//! What a pair saves, and what it may do with that (`docs/isolation.md`, rule 2).

use std::collections::VecDeque;
use std::sync::Arc;

use fairlane_congestion::scope::{Config, Enforcer, Offer, SenderId, Sent, Setting, Weight};
use fairlane_congestion::{
    Ack, Algorithm, Environment, Loss, PacingRounding, Params, Scope, WindowMode, fixed,
};
use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};
use proptest::prelude::*;

const LINE: Rate = Rate::from_gbps(100);
const PACKET: Bytes = Bytes::new(1000);
const ENVIRONMENT: Environment = Environment {
    line_rate: LINE,
    base_rtt: Duration::from_us(12),
    bdp: Bytes::new(150_000),
    mtu: PACKET,
};
/// Half of a bandwidth-delay product: what may be saved, and the largest small message.
const SAVED: Bytes = Bytes::new(75_000);

/// A message on a queue pair of its own, to one destination.
struct Message {
    id: SenderId,
    size: Bytes,
    sent: Bytes,
    acknowledged: Bytes,
}

/// A NIC with one pair, whose packets are acknowledged some time later.
struct Nic {
    enforcer: Enforcer,
    now: Time,
    messages: Vec<Message>,
    /// When acknowledgements come, of which message, up to where, whether marked. They don't overtake each other.
    flying: VecDeque<(Time, usize, Bytes, bool)>,
    /// When packets left, and of which message.
    log: Vec<(Time, usize)>,
    /// The round trip of a packet that leaves as the n-th one, and whether it is marked.
    path: Box<dyn Fn(usize) -> (Duration, bool)>,
    /// The rate when the last packet left, which is paced by it.
    charged: Rate,
    /// Bits that the rate was worth until `now`, less bits that were sent, and the most that it ever was.
    balance: i128,
    most: i128,
    /// The most by which what was sent exceeds what the rate was worth, over all intervals.
    excess: i128,
}

impl Nic {
    fn new(params: Params, window: WindowMode) -> Self {
        let setting = Setting {
            scope: Scope::Tenant,
            config: Config::default(),
            params,
            window,
            rounding: PacingRounding::Picosecond,
            paced: true,
            per_tenant_feedback: false,
        };
        let tenant = Weight {
            tenant: TenantId::new(0),
            weight: 1.0,
            guarantee: None,
        };
        Self {
            enforcer: Enforcer::new(Arc::new(setting), ENVIRONMENT, &[tenant]),
            now: Time::ZERO,
            messages: Vec::new(),
            flying: VecDeque::new(),
            log: Vec::new(),
            path: Box::new(|_| (ENVIRONMENT.base_rtt, false)),
            charged: Rate::ZERO,
            balance: 0,
            most: 0,
            excess: 0,
        }
    }

    /// One whose pair may send at a rate that nothing changes.
    fn at(rate: Rate, window: WindowMode) -> Self {
        let config = fixed::Config { rate: Some(rate) };
        Self::new(Params::Fixed(Arc::new(config)), window)
    }

    fn post(&mut self, size: Bytes) -> usize {
        let tenant = TenantId::new(0);
        let id = (self.enforcer).open(self.now, tenant, HostId::new(1), &ENVIRONMENT);
        self.messages.push(Message {
            id,
            size,
            sent: Bytes::ZERO,
            acknowledged: Bytes::ZERO,
        });
        self.offer(self.messages.len() - 1);
        self.messages.len() - 1
    }

    fn offer(&mut self, at: usize) {
        let message = &self.messages[at];
        if message.sent == message.size {
            self.enforcer.withdraw(message.id);
            return;
        }
        let offer = Offer {
            in_flight: message.sent - message.acknowledged,
            message: message.size,
        };
        self.enforcer.offer(message.id, offer);
    }

    /// Goes on to a later time, for which the rate of now holds.
    fn pass(&mut self, to: Time) {
        if let Some(one) = self.messages.first() {
            let rate = self.enforcer.rate_of(one.id).max(self.charged);
            // In units of a bit for a picosecond of a second, so that nothing is rounded.
            self.balance +=
                i128::from(rate.as_bps()) * i128::from(to.saturating_since(self.now).as_ps());
            self.most = self.most.max(self.balance);
        }
        self.now = to;
    }

    /// Sends whenever somebody may, until `end`.
    fn run(&mut self, end: Time) {
        while self.now < end {
            while let Some(&(at, which, upto, marked)) = self.flying.front()
                && at <= self.now
            {
                self.flying.pop_front();
                self.hear(which, upto, marked);
            }
            if let Some(id) = self.enforcer.next(self.now) {
                self.send(id);
                let free = self.now + PACKET.serialization(LINE);
                self.pass(free);
                continue;
            }
            let heard = self.flying.front().map(|&(at, ..)| at);
            let due = self.enforcer.earliest();
            let next = heard.into_iter().chain(due).chain([end]).min();
            self.pass(next.map_or(end, |next| next.max(self.now)).min(end));
        }
    }

    fn send(&mut self, id: SenderId) {
        let at = self
            .messages
            .iter()
            .position(|one| one.id == id)
            .expect("it is open");
        let message = &mut self.messages[at];
        message.sent += PACKET;
        let sent = Sent {
            size: PACKET,
            in_flight: message.sent - message.acknowledged,
        };
        let upto = message.sent;
        self.enforcer.on_sent(self.now, id, sent);
        self.charged = self.enforcer.rate_of(id);
        let bits = i128::from(PACKET.get()) * 8 * 1_000_000_000_000;
        // The interval that begins with what was worth most, and ends with this packet.
        self.balance -= bits;
        self.excess = self.excess.max(self.most - self.balance);
        let (round_trip, marked) = (self.path)(self.log.len());
        let last = self.flying.back().map_or(Time::ZERO, |&(at, ..)| at);
        let back = (self.now + round_trip).max(last);
        self.flying.push_back((back, at, upto, marked));
        self.log.push((self.now, at));
        self.offer(at);
    }

    fn hear(&mut self, which: usize, upto: Bytes, marked: bool) {
        let message = &mut self.messages[which];
        message.acknowledged = upto;
        let ack = Ack {
            acknowledged: upto,
            next_to_send: message.sent,
            congestion_notified: marked,
            ..Ack::default()
        };
        self.enforcer.on_ack(self.now, message.id, &ack);
        self.offer(which);
    }

    /// When packets of a message left.
    fn departures(&self, which: usize) -> Vec<Time> {
        let own = self.log.iter().filter(|&&(_, of)| of == which);
        own.map(|&(at, _)| at).collect()
    }

    /// Packets of a message that left in a span.
    fn packets(&self, which: usize, begin: Time, end: Time) -> usize {
        let all = self.departures(which);
        all.iter().filter(|&&at| begin <= at && at < end).count()
    }
}

fn us(at: u64) -> Time {
    Time::from_ns(at * 1000)
}

/// The time of a packet at 1 Gb/s.
const PACED: Duration = Duration::from_us(8);

#[test]
fn what_a_pair_saved_is_for_small_messages() {
    let mut nic = Nic::at(Rate::from_gbps(1), WindowMode::None);
    nic.run(us(1000));
    let first = nic.post(SAVED);
    nic.run(us(2000));
    // All 75 packets at line rate.
    let sent = nic.departures(first);
    assert_eq!(sent.len(), 75);
    assert_eq!(sent[74], us(1000) + PACKET.serialization(LINE) * 74);
    // What was saved meanwhile: 1000 us at 1 Gb/s would be 125 packets, but no more than 75 are kept; these took 600 us.
    let second = nic.post(SAVED);
    nic.run(us(2100));
    assert_eq!(nic.packets(second, us(2000), us(2010)), 75);
    // 100 us are worth 12 of the 75 that are owed now: the pair may send that much ahead, then at its pace.
    let third = nic.post(SAVED);
    nic.run(us(2180));
    let sent = nic.departures(third);
    assert_eq!(nic.packets(third, us(2100), us(2102)), 12);
    assert!(sent[13..].windows(2).all(|two| two[1] == two[0] + PACED));
}

#[test]
fn a_large_message_is_paced_whatever_was_saved() {
    let mut nic = Nic::at(Rate::from_gbps(1), WindowMode::None);
    nic.run(us(1000));
    let large = nic.post(SAVED + PACKET);
    nic.run(us(2000));
    let sent = nic.departures(large);
    assert_eq!(sent.len(), 76);
    assert!(sent.windows(2).all(|two| two[1] == two[0] + PACED));
}

#[test]
fn small_messages_ahead_of_it_dont_delay_a_large_one() {
    let mut nic = Nic::at(Rate::from_gbps(1), WindowMode::None);
    let large = nic.post(Bytes::new(1_000_000));
    nic.run(us(1000));
    let small = nic.post(Bytes::new(40_000));
    nic.run(us(2000));
    // 40 packets ahead, at most one of them in a turn of the large message's.
    assert!(nic.departures(small)[39] <= us(1000) + PACED);
    assert!((249..=250).contains(&nic.packets(large, us(0), us(2000))));
    // It owes those, which a pair that is busy never pays: 35 more go ahead, and one or two at its pace.
    let next = nic.post(SAVED);
    nic.run(us(2008));
    let ahead = nic.packets(next, us(2000), us(2008));
    assert!((35..=37).contains(&ahead), "{ahead}");
}

#[test]
fn at_its_pace_a_pairs_messages_take_turns() {
    let mut nic = Nic::at(Rate::from_gbps(1), WindowMode::None);
    let large = nic.post(Bytes::new(1_000_000));
    let smalls = [(); 4].map(|()| nic.post(SAVED));
    // What may go ahead has gone.
    nic.run(us(1000));
    nic.run(us(1800));
    // 100 packets, a fifth of them each: nobody has ended.
    let all = |one: &usize| nic.packets(*one, us(1000), us(1800));
    let of_small: usize = smalls.iter().map(all).sum();
    let of_large = nic.packets(large, us(1000), us(1800));
    assert_eq!(of_small + of_large, 100);
    assert!((19..=21).contains(&of_large), "{of_large}");
}

#[test]
fn a_window_is_worth_what_it_carries_in_the_round_trip_that_was_measured() {
    // 150 kB and a packet in 24 us instead of 12: half the line rate.
    let mut nic = Nic::at(LINE, WindowMode::Fixed);
    nic.path = Box::new(|_| (Duration::from_us(24), false));
    let one = nic.post(Bytes::new(10_000_000));
    assert_eq!(nic.enforcer.rate_of(nic.messages[one].id), LINE);
    nic.run(us(100));
    let rate = nic.enforcer.rate_of(nic.messages[one].id);
    assert_eq!(rate.as_bps(), 151_000 * 8 * 1_000_000 / 24);
}

#[test]
fn a_packet_that_is_sent_again_isnt_timed() {
    let mut nic = Nic::at(LINE, WindowMode::Fixed);
    let one = nic.post(PACKET * 2);
    nic.run(us(1));
    let id = nic.messages[one].id;
    nic.enforcer.on_loss(us(500), id, Loss::Timeout);
    nic.flying.clear();
    nic.messages[one].sent = Bytes::ZERO;
    nic.now = us(500);
    nic.offer(one);
    nic.run(us(501));
    // What was acknowledged a millisecond after it left for the first time, or half of one after it left again, tells nothing.
    nic.flying.clear();
    nic.now = us(1000);
    nic.hear(one, PACKET * 2, false);
    assert_eq!(nic.enforcer.rate_of(id), LINE);
}

#[test]
fn in_flight_is_no_more_than_the_window_and_what_was_saved() {
    let mut nic = Nic::at(LINE, WindowMode::Fixed);
    nic.path = Box::new(|_| (Duration::from_ms(1), false));
    nic.post(Bytes::new(10_000_000));
    for _ in 0..10 {
        nic.post(SAVED);
    }
    nic.run(us(900));
    // A packet may leave while fewer bytes are in flight.
    assert_eq!(nic.log.len(), 225);
}

/// Packets of 2.6 MB that have left after 1 ms, cut into messages of so many bytes.
fn sent_in_pieces(piece: Bytes, rate: Rate, window: WindowMode, round_trip: Duration) -> usize {
    let mut nic = Nic::at(rate, window);
    nic.path = Box::new(move |_| (round_trip, false));
    // Until as much is saved as may be.
    nic.run(us(1000));
    for _ in 0..2_600_000 / piece.get() {
        nic.post(piece);
    }
    nic.run(us(2000));
    nic.log.len()
}

/// What is called small needn't be trusted: it decides of the order in time within what a pair may send anyway.
#[test]
fn a_message_that_is_cut_has_no_more_than_what_was_saved() {
    // What was saved, and a packet each by time and by window. In the first round trip nobody knows that it is longer, so what
    // was saved comes again.
    for (rate, window, more) in [(5, WindowMode::None, 77), (100, WindowMode::Fixed, 152)] {
        for products in [1, 2, 8] {
            let sent = |piece| {
                let round_trip = ENVIRONMENT.base_rtt * products;
                sent_in_pieces(Bytes::new(piece), Rate::from_gbps(rate), window, round_trip)
            };
            let (whole, cut) = (sent(2_600_000), sent(50_000));
            assert!(
                cut <= whole + more,
                "{rate} Gb/s, {products}: {cut}, whole {whole}"
            );
        }
    }
}

proptest! {
    /// However messages are cut and whatever the network says: over no interval more is sent than the rate is worth,
    /// what may be saved, and two packets.
    #[test]
    fn no_more_is_sent_than_the_rate_and_what_may_be_saved(
        path in prop::collection::vec((1u64..6, prop::bool::weighted(0.2)), 1..40),
        posts in prop::collection::vec((0u64..300, 1u64..200), 1..40),
    ) {
        let mut nic = Nic::new(Params::new(Algorithm::Dcqcn), WindowMode::None);
        nic.path = Box::new(move |at| {
            let (products, marked) = path[at / 16 % path.len()];
            (ENVIRONMENT.base_rtt * products, marked)
        });
        for (later, packets) in posts {
            let end = nic.now + Duration::from_us(later);
            nic.run(end);
            nic.post(PACKET * packets);
        }
        let end = nic.now + Duration::from_us(500);
        nic.run(end);
        let bound = (SAVED + PACKET * 2).get();
        let excess = nic.excess / (8 * 1_000_000_000_000);
        prop_assert!(excess <= i128::from(bound), "{} beyond {}", excess, bound);
    }
}
