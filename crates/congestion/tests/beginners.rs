//! What a tenant's beginners get beside pairs that are limited already.

mod common;

use common::card::{LINE, PACKET, ROUND_TRIP, card};
use common::us;
use fairlane_congestion::scope::{Config, Enforcer, Grant, Offer, SenderId, Sent};
use fairlane_congestion::{Ack, Algorithm, Reading, Telemetry, TelemetryFormat};
use fairlane_units::{Bytes, HostId, Rate, TenantId, Time};

/// A card of one tenant, without credit: every packet waits for its pacer.
struct Card(Enforcer);

impl Card {
    fn new(algorithm: Algorithm) -> Self {
        let config = Config {
            express: false,
            ..Config::default()
        };
        Self(card(algorithm, config))
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
            let mut record = Telemetry::EMPTY;
            let format = &TelemetryFormat::EXACT;
            record.push(
                7,
                format.hop(us(at), Bytes::new(at * 12_500), Bytes::new(500_000), LINE),
            );
            let ack = Ack {
                acknowledged: Bytes::new(at * PACKET.get()),
                next_to_send: Bytes::new((at + 1) * PACKET.get()),
                congestion_notified: true,
                telemetry: Some(Reading::new(&record, format)),
                ..Ack::default()
            };
            self.0.on_ack(us(at), id, &ack, Grant::Unsaid);
        }
    }
}

/// What one beginner gets beside a limited pair, and that one alone after the limited one has stopped; then
/// what each of two gets.
fn rates(algorithm: Algorithm) -> [Rate; 3] {
    let mut card = Card::new(algorithm);
    let first = card.begin(us(0), 1);
    card.meet_congestion(first);
    let beginner = card.begin(us(200), 2);
    let beside = card.0.rate_of(beginner);
    card.begin(us(200), 3);
    let of_two = card.0.rate_of(beginner);
    let mut card = Card::new(algorithm);
    let first = card.begin(us(0), 1);
    card.meet_congestion(first);
    card.0.withdraw(us(200), first);
    let beginner = card.begin(us(200), 2);
    [beside, card.0.rate_of(beginner), of_two]
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
    assert_eq!(beside, alone / 2);
    assert_eq!(of_two, alone / 3);
}
