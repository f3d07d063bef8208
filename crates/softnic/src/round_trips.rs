//! Round trips of packets that ask for an acknowledgement.

use std::collections::VecDeque;

use fairlane_nic::Departure;
use fairlane_transport::{Extension, Packet};
use fairlane_units::{Duration, Psn, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};

/// When packets of a reliable connection that ask for an acknowledgement have left, oldest first. The time until the
/// acknowledgement comes is a round trip.
#[derive(Debug, Default)]
pub(crate) struct RoundTrips {
    sent: VecDeque<Departed>,
}

#[derive(Clone, Copy, Debug)]
struct Departed {
    psn: Psn,
    at: Time,
}

impl RoundTrips {
    /// A request's `packet` leaves. One that leaves again makes what is known useless: an acknowledgement doesn't say of which
    /// time it is (Karn and Partridge, SIGCOMM 1987). A READ request, which data answers, isn't measured.
    pub(crate) fn on_departure(&mut self, departure: &Departure, packet: &Packet, at: Time) {
        if departure.meta.retransmitted {
            self.clear();
        } else if packet.ack_request && packet.opcode != Opcode::RcReadRequest {
            self.on_sent(packet.psn, at);
        }
    }

    fn on_sent(&mut self, psn: Psn, at: Time) {
        self.sent.push_back(Departed { psn, at });
    }

    pub(crate) fn clear(&mut self) {
        self.sent.clear();
    }

    /// A packet has come; returns the round trip of the one that it acknowledges, if that is known.
    #[inline]
    pub(crate) fn on_packet(&mut self, packet: &Packet, now: Time) -> Option<Duration> {
        match packet.extension {
            Extension::Acknowledge(Aeth {
                syndrome: Syndrome::Ack { .. },
                ..
            }) => self.on_acknowledged(packet.psn, now),
            _ => None,
        }
    }

    fn on_acknowledged(&mut self, psn: Psn, now: Time) -> Option<Duration> {
        while let Some(first) = self.sent.front()
            && psn.distance(first.psn) >= 0
        {
            let Departed { psn: own, at } = *first;
            self.sent.pop_front();
            if own == psn {
                return Some(now.saturating_since(at));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_that_of_the_packet_that_is_acknowledged() {
        let mut own = RoundTrips::default();
        for (psn, at) in [(0xff_fffe, 10), (0xff_ffff, 20), (3, 30), (9, 40)] {
            own.on_sent(Psn::new(psn), Time::from_ns(1000 * at));
        }
        let after = |span| Some(Duration::from_us(span));
        let now = Time::from_ns(100_000);
        assert_eq!(own.on_acknowledged(Psn::new(0xff_ffff), now), after(80));
        // Of an older one, which the last has confirmed; of one that didn't ask for it.
        assert_eq!(own.on_acknowledged(Psn::new(0xff_fffe), now), None);
        assert_eq!(own.on_acknowledged(Psn::new(5), now), None);
        assert_eq!(own.on_acknowledged(Psn::new(9), now), after(60));
        own.on_sent(Psn::new(10), now);
        own.clear();
        assert_eq!(own.on_acknowledged(Psn::new(10), now), None);
    }
}
