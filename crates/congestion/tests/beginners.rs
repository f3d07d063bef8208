//! What a tenant's beginners get beside pairs that are limited already.

mod common;

use common::nic::{LINE, PACKET, ROUND_TRIP, nic};
use common::us;
use fairlane_congestion::scope::{Config, Enforcer, Grant, Offer, SenderId, Sent};
use fairlane_congestion::{Ack, Algorithm, Reading, Telemetry, TelemetryFormat};
use fairlane_units::{Bytes, HostId, Rate, TenantId, Time};

/// A NIC of one tenant, without credit: every packet waits for its pacer.
struct Nic(Enforcer);

impl Nic {
    fn new(algorithm: Algorithm) -> Self {
        Self::with(algorithm, Config::default())
    }

    fn with(algorithm: Algorithm, config: Config) -> Self {
        let config = Config {
            express: false,
            ..config
        };
        Self(nic(algorithm, config))
    }

    /// A queue pair to a destination of its own sends a packet.
    fn begin(&mut self, now: Time, to: u32) -> SenderId {
        let id = self
            .0
            .open(now, TenantId::new(0), HostId::new(to), &ROUND_TRIP);
        self.send(now, id, 0);
        id
    }

    fn send(&mut self, now: Time, id: SenderId, sent: u64) {
        let offer = |bytes: u64| Offer {
            size: PACKET,
            message_sent: Bytes::new(bytes),
            in_flight: PACKET,
        };
        self.0.offer(now, id, offer(sent));
        let packet = Sent {
            size: PACKET,
            in_flight: PACKET,
        };
        self.0.on_sent(now, id, packet);
        self.0.offer(now, id, offer(sent + PACKET.get()));
    }

    /// A packet each microsecond passes a full port, for a while.
    fn meet_congestion(&mut self, id: SenderId) {
        for at in 1..200 {
            self.send(us(at), id, at * PACKET.get());
            self.hear(us(at), id, at, (at * 12_500, 500_000));
        }
    }

    /// So many packets have arrived, by a port that has sent so much and where so much waits.
    fn hear(&mut self, now: Time, id: SenderId, packets: u64, (sent, queue): (u64, u64)) {
        let mut record = Telemetry::EMPTY;
        let format = &TelemetryFormat::EXACT;
        record.push(
            7,
            format.hop(now, Bytes::new(sent), Bytes::new(queue), LINE),
        );
        let ack = Ack {
            acknowledged: PACKET * packets,
            next_to_send: PACKET * (packets + 1),
            congestion_notified: true,
            telemetry: Some(Reading::new(&record, format)),
            ..Ack::default()
        };
        self.0.on_ack(now, id, &ack, Grant::Unsaid);
    }

    /// A packet each microsecond to one destination after the other by a port that others fill for 100 us and use by half
    /// for 100 us; each arrives before the next is sent, and its queue pair ends.
    fn rotate(&mut self, packets: u64, settles: bool) {
        let mut sent = 0;
        for at in 0..packets {
            let (more, queue) = match at / 100 % 2 {
                0 => (12_500, 25_000),
                _ => (6_250, 0),
            };
            sent += more;
            let id = self.begin(us(at), at as u32);
            self.hear(Time::from_ns(at * 1000 + 900), id, 1, (sent, queue));
            self.0.withdraw(us(at + 1), id);
            if settles {
                self.0.settle(id);
            }
            self.0.close(us(at + 1), id);
        }
    }
}

/// What one that begins gets after `packets` packets to as many destinations.
fn after_rotation(config: Config, packets: u64, settles: bool) -> Rate {
    let mut nic = Nic::with(Algorithm::Hpcc, config);
    nic.rotate(packets, settles);
    let id = nic.begin(us(packets), 5000);
    (1..10).for_each(|sent| nic.send(us(packets), id, sent * PACKET.get()));
    nic.0.rate_of(id)
}

/// What one beginner gets beside a limited pair, and that one alone after the limited one has stopped; then
/// what each of two gets.
fn rates(algorithm: Algorithm) -> [Rate; 3] {
    let mut nic = Nic::new(algorithm);
    let first = nic.begin(us(0), 1);
    nic.meet_congestion(first);
    let beginner = nic.begin(us(200), 2);
    let beside = nic.0.rate_of(beginner);
    nic.begin(us(200), 3);
    let of_two = nic.0.rate_of(beginner);
    let mut nic = Nic::new(algorithm);
    let first = nic.begin(us(0), 1);
    nic.meet_congestion(first);
    nic.0.withdraw(us(200), first);
    let beginner = nic.begin(us(200), 2);
    [beside, nic.0.rate_of(beginner), of_two]
}

#[test]
fn beginners_have_the_aggregate_for_themselves() {
    let [beside, alone, of_two] = rates(Algorithm::Hpcc);
    assert!(alone < LINE / 2, "{alone}");
    assert_eq!(beside, alone);
    assert_eq!(of_two, beside / 2);
}

#[test]
fn where_marks_are_counted_beginners_are_pairs_like_others() {
    let [beside, alone, of_two] = rates(Algorithm::Dcqcn);
    // Beginners count for four, the other one for one.
    assert_eq!(beside, alone * 4 / 5);
    assert_eq!(of_two, alone * 4 / 9);
}

/// What a long message gets that has met congestion, and a short one beside it.
fn long_and_short(early_weight: u32) -> [Rate; 2] {
    let config = Config {
        early_weight,
        ..Config::default()
    };
    let mut nic = Nic::with(Algorithm::Dcqcn, config);
    let long = nic.begin(us(0), 1);
    nic.meet_congestion(long);
    let short = nic.begin(us(200), 2);
    [long, short].map(|id| nic.0.rate_of(id))
}

#[test]
fn short_messages_have_more_of_what_limited_pairs_divide_but_both_have_no_more() {
    let [long, short] = long_and_short(1);
    let [less, more] = long_and_short(4);
    assert_eq!(less, long * 2 / 5);
    assert_eq!(more, short * 8 / 5);
    assert!(less + more <= long + short);
}

/// A budget of three bandwidth-delay products, which lasts for 800 packets of [`NIC::rotate`], and no caution.
fn budgets() -> [Config; 2] {
    let budget = Config {
        beginnings: 3.0,
        beginnings_refill: 0.05,
        beginnings_reserve: 0.0,
        ..Config::default()
    };
    let none = Config {
        caution: 0.0,
        ..budget
    };
    [budget, none]
}

#[test]
fn what_begins_beyond_a_budget_goes_at_a_cautious_rate() {
    let [budget, none] = budgets();
    for packets in [50, 150, 500] {
        let within = after_rotation(budget.clone(), packets, true);
        assert_eq!(
            within,
            after_rotation(none.clone(), packets, true),
            "{packets}"
        );
    }
    for packets in [1000, 1500, 3000] {
        let beyond = after_rotation(budget.clone(), packets, true);
        let free = after_rotation(none.clone(), packets, true);
        assert!(
            beyond < free.scale(0.6),
            "{packets}: {beyond}, without caution {free}"
        );
    }
}

/// What one that begins gets at `at` after packets to 200 destinations, of which one was marked if `marked`,
/// and what an aggregate without restraint allows it.
fn after_mark(at: Time, marked: bool) -> [Rate; 2] {
    let [budget, _] = budgets();
    let none = Config {
        restraint: 0.0,
        ..budget
    };
    [budget, none].map(|config| {
        let mut nic = Nic::with(Algorithm::Dcqcn, config);
        for to in 0..200 {
            let id = nic.begin(us(to), to as u32);
            if marked && to == 10 {
                nic.0.on_cnp(us(to), id);
            }
            nic.0.withdraw(us(to), id);
            nic.0.settle(id);
            nic.0.close(us(to), id);
        }
        let id = nic.begin(at, 5000);
        (1..400).for_each(|sent| nic.send(at, id, sent * PACKET.get()));
        nic.0.rate_of(id)
    })
}

#[test]
fn after_a_mark_what_begins_beyond_a_budget_is_restrained() {
    let [beyond, free] = after_mark(us(200), true);
    let restraint = 1.0 + Config::default().restraint * free.as_f64() / LINE.as_f64();
    assert!(beyond < free, "{beyond}, without restraint {free}");
    let expected = free.scale(1.0 / restraint);
    let off = expected.max(beyond).saturating_sub(expected.min(beyond));
    assert!(off < Rate::from_mbps(1), "{beyond}, not {expected}");
}

#[test]
fn without_marks_or_long_after_nobody_is_restrained() {
    for (at, marked) in [(us(200), false), (us(3011), true)] {
        let [beyond, free] = after_mark(at, marked);
        assert_eq!(beyond, free, "{at} {marked}");
    }
}

#[test]
fn closing_before_anything_is_heard_is_no_way_out_of_the_budget() {
    let [budget, none] = budgets();
    for packets in [500, 1000, 3000] {
        let beyond = after_rotation(budget.clone(), packets, false);
        assert!(beyond <= after_rotation(none.clone(), packets, false));
        assert!(beyond < LINE / 20, "{packets}: {beyond}");
    }
}

/// What a pair goes on at that has delivered one and a half bandwidth-delay products after a mark that its tenant
/// heard, once so many others have begun with a packet each, and what a further one begins at.
fn after_a_beginning(config: Config, others: u32) -> [Rate; 2] {
    let mut nic = Nic::with(Algorithm::Dcqcn, config);
    let end = |nic: &mut Nic, id| {
        nic.0.withdraw(us(150), id);
        nic.0.settle(id);
        nic.0.close(us(150), id);
    };
    let marked = nic.begin(us(0), 1);
    nic.0.on_cnp(us(0), marked);
    let id = nic.begin(us(0), 2);
    for sent in 1..=150 {
        nic.send(us(sent), id, sent * PACKET.get());
        let ack = Ack {
            acknowledged: PACKET * sent,
            next_to_send: PACKET * (sent + 1),
            ..Ack::default()
        };
        nic.0.on_ack(us(sent), id, &ack, Grant::Unsaid);
    }
    end(&mut nic, marked);
    for to in 0..others {
        let other = nic.begin(us(150), 1000 + to);
        end(&mut nic, other);
    }
    nic.send(us(150), id, 151 * PACKET.get());
    let goes_on = nic.0.rate_of(id);
    end(&mut nic, id);
    let further = nic.begin(us(150), 5000);
    [goes_on, nic.0.rate_of(further)]
}

#[test]
fn a_pair_begins_until_it_has_delivered_so_much() {
    let [budget, _] = budgets();
    let [on, still_on, held, still_held] = [1.0, 1.45, 1.55, 4.0].map(|beginning_length| {
        let config = Config {
            beginning_length,
            ..budget.clone()
        };
        after_a_beginning(config, 400)[0]
    });
    assert_eq!(on, still_on);
    assert_eq!(held, still_held);
    assert!(held < on.scale(0.8), "{held} instead of {on}");
}

#[test]
fn later_parts_of_a_beginning_leave_a_reserve_for_first_ones() {
    let [budget, _] = budgets();
    // Of the budget of 300 packets 240 are left after those of the pair, which took 150 us, and 40 after those of 200 others.
    let [plenty, scarce] = [0, 200].map(|others| {
        [0.0, 1.0].map(|beginnings_reserve| {
            let config = Config {
                beginnings_reserve,
                ..budget.clone()
            };
            after_a_beginning(config, others)
        })
    });
    assert_eq!(plenty[0], plenty[1]);
    let [[without, first], [with, first_with]] = scarce;
    assert!(with < without.scale(0.8), "{with} instead of {without}");
    assert_eq!(first, first_with);
}
