//! A filter between socket and host that does to packets what networks do.

use std::net::{IpAddr, SocketAddr};

use fairlane_units::Time;

use super::random::Random;
use super::{Faults, PacketFaults};
use crate::engine::Incoming;

/// A packet that is held back.
#[derive(Debug)]
struct Held {
    until: Time,
    source: SocketAddr,
    bytes: Vec<u8>,
    marked: bool,
}

/// The filter and what it holds.
#[derive(Debug)]
pub(crate) struct Filter {
    packets: PacketFaults,
    /// The largest payload that the way here has room for.
    path_mtu: Option<u16>,
    /// Where random numbers begin.
    start: u64,
    /// How many packets have come.
    number: u64,
    held: Vec<Held>,
    /// Whether nothing gets through.
    pub(crate) closed: bool,
}

impl Filter {
    pub(crate) fn new(faults: &Faults, device: IpAddr) -> Self {
        Self {
            packets: faults.packets,
            path_mtu: faults.mtu.path,
            start: Random::start(faults.seed, device),
            number: 0,
            held: Vec::new(),
            closed: false,
        }
    }

    /// Whether a packet is larger than the way here has room for.
    fn is_too_large(&self, bytes: &[u8]) -> bool {
        self.path_mtu.is_some_and(|most| {
            let read = fairlane_wire::Packet::parse(bytes);
            read.is_ok_and(|(packet, _)| packet.payload.len() > most.into())
        })
    }

    /// Passes a packet on as often as it comes; returns how much is done to it.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        mut deliver: impl FnMut(&Incoming<'_>),
    ) -> u64 {
        let faults = self.packets;
        self.number += 1;
        let mut random = Random::of(self.start, self.number);
        let lost = random.happens(faults.loss);
        if self.closed || lost || self.is_too_large(incoming.bytes) {
            return 1;
        }
        let mut bytes = incoming.bytes.to_vec();
        let corrupt = random.happens(faults.corrupt) && !bytes.is_empty();
        if corrupt {
            let bit = random.next() as usize % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let mark = random.happens(faults.mark);
        let (late, twice) = (
            random.happens(faults.reorder),
            random.happens(faults.duplicate),
        );
        let marked = incoming.marked || mark;
        if late || twice {
            self.held.push(Held {
                until: now.saturating_add(faults.delay),
                source: incoming.source,
                bytes: bytes.clone(),
                marked,
            });
        }
        if !late {
            deliver(&Incoming {
                source: incoming.source,
                bytes: &bytes,
                marked,
            });
        }
        let done = [corrupt, mark, late, twice].into_iter();
        done.map(u64::from).sum()
    }

    /// Lets out what has been held back for long enough.
    pub(crate) fn release(&mut self, now: Time, mut deliver: impl FnMut(&Incoming<'_>)) {
        let due = self.held.extract_if(.., |held| held.until <= now);
        for held in due.filter(|_| !self.closed) {
            deliver(&Incoming {
                source: held.source,
                bytes: &held.bytes,
                marked: held.marked,
            });
        }
    }

    /// When something is to be let out.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.held.iter().map(|held| held.until).min()
    }
}

#[cfg(test)]
mod tests {
    use fairlane_units::Duration;

    use super::*;

    const NOW: Time = Time::from_ns(1);

    fn faults(seed: u64) -> Faults {
        let half = 0.5;
        Faults {
            seed,
            packets: PacketFaults {
                loss: half,
                duplicate: half,
                reorder: half,
                delay: Duration::from_us(1),
                corrupt: half,
                mark: half,
            },
            ..Faults::default()
        }
    }

    /// What becomes of packets: bytes and marks as they get through, `each` at a time.
    fn passed(seed: u64, device: &str, marked: bool) -> Vec<(Vec<u8>, bool)> {
        let mut filter = Filter::new(&faults(seed), device.parse().unwrap());
        let mut passed = Vec::new();
        for number in 0..100_u8 {
            let incoming = Incoming {
                source: "10.0.0.1:4791".parse().unwrap(),
                bytes: &[number; 64],
                marked,
            };
            let mut deliver = |got: &Incoming<'_>| passed.push((got.bytes.to_vec(), got.marked));
            filter.pass(NOW, &incoming, &mut deliver);
            if number % 10 == 9 {
                filter.release(Time::MAX, &mut deliver);
            }
        }
        passed
    }

    #[test]
    fn a_device_and_its_seed_decide() {
        let all = passed(7, "10.0.0.2", false);
        assert!(all.len() > 40 && all == passed(7, "10.0.0.2", false));
        assert!(all != passed(8, "10.0.0.2", false) && all != passed(7, "10.0.0.3", false));
    }

    #[test]
    fn what_happens_to_a_packet_does_not_depend_on_its_marks() {
        let bytes = |marked| -> Vec<_> {
            let all = passed(7, "10.0.0.2", marked);
            all.into_iter().map(|(bytes, _)| bytes).collect()
        };
        assert_eq!(bytes(true), bytes(false));
    }

    #[test]
    fn nothing_gets_through_while_it_is_closed() {
        let mut filter = Filter::new(&faults(7), "10.0.0.2".parse().unwrap());
        filter.closed = true;
        let incoming = Incoming {
            source: "10.0.0.1:4791".parse().unwrap(),
            bytes: &[0; 64],
            marked: false,
        };
        for _ in 0..100 {
            let done = filter.pass(NOW, &incoming, |_| panic!("it got through"));
            assert_eq!((done, filter.next_time()), (1, None));
        }
    }
}
