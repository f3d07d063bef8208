//! What a NIC's pairs send together where each has a share of its receiver.

mod common;

use common::nic::{LINE, PACKET, ROUND_TRIP, nic};
use common::us;
use fairlane_congestion::scope::{Config, Enforcer, Grant, Offer, SenderId, Sent, Share};
use fairlane_congestion::{Ack, Algorithm};
use fairlane_units::{HostId, Rate, TenantId, Time};

/// A NIC that sends to one destination for each share; all were slowed, and are told their share for 8 ms.
fn rates(algorithm: Algorithm, shares: &[u64]) -> Vec<Rate> {
    let mut enforcer = nic(algorithm, Config::default());
    let begin = |to: u32| enforcer.open(us(0), TenantId::new(0), HostId::new(to), &ROUND_TRIP);
    let ids: Vec<SenderId> = (0..).take(shares.len()).map(begin).collect();
    for at in 1..10_000 {
        for (&id, &share) in ids.iter().zip(shares) {
            send(&mut enforcer, us(at), id, at);
            let slowed = at < 2_000;
            let ack = Ack {
                acknowledged: PACKET * at,
                next_to_send: PACKET * (at + 1),
                congestion_notified: slowed,
                ..Ack::default()
            };
            let stated = Share::from_rate(Rate::from_gbps(share), LINE);
            let grant = match slowed {
                true => Grant::Unsaid,
                false => Grant::Share(stated),
            };
            enforcer.on_ack(us(at), id, &ack, grant);
        }
    }
    ids.iter().map(|&id| enforcer.rate_of(id)).collect()
}

/// Another packet of a message without end, past its first bandwidth-delay product.
fn send(enforcer: &mut Enforcer, now: Time, id: SenderId, number: u64) {
    let offer = Offer {
        size: PACKET,
        message_sent: ROUND_TRIP.bdp + PACKET * number,
        in_flight: PACKET,
    };
    enforcer.offer(now, id, offer);
    let packet = Sent {
        size: PACKET,
        in_flight: PACKET,
    };
    enforcer.on_sent(now, id, packet);
    enforcer.offer(now, id, offer);
}

#[test]
fn pairs_that_divide_a_rate_come_up_to_their_shares() {
    for algorithm in [
        Algorithm::Dcqcn,
        Algorithm::Swift,
        Algorithm::Nscc,
        Algorithm::Dctcp,
    ] {
        for shares in [&[20][..], &[20, 20], &[10, 30], &[15, 15, 15, 15]] {
            let rates = rates(algorithm, shares);
            for (rate, &share) in rates.iter().zip(shares) {
                let share = Rate::from_gbps(share);
                let name = algorithm.name();
                assert!(*rate <= share, "{name}, {shares:?}: {rates:?}");
                assert!(*rate > share.scale(0.85), "{name}, {shares:?}: {rates:?}");
            }
        }
    }
}
