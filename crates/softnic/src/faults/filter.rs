//! A filter between socket and host that does to packets what networks do.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use fairlane_units::Time;

use super::random::Random;
use super::{Faults, PacketFaults};
use crate::engine::Incoming;
use crate::interface::HEADERS;
use crate::socket::Datagram;

/// A packet that is held back.
#[derive(Debug)]
pub(crate) struct Held {
    until: Time,
    source: SocketAddr,
    bytes: Vec<u8>,
    marked: bool,
}

impl Held {
    /// The packet as it came.
    pub(crate) fn datagram(&self) -> Datagram<'_> {
        Datagram {
            source: self.source,
            bytes: &self.bytes,
            segment: self.bytes.len().max(1),
            marked: self.marked,
        }
    }
}

/// Packets that are held back at most: 64 MiB of the largest path MTU.
const MOST: usize = 1 << 14;

/// The filter and what it holds.
#[derive(Debug)]
pub(crate) struct Filter {
    packets: PacketFaults,
    /// Bytes that the way here has room for, from BTH on.
    room: usize,
    /// Where random numbers begin.
    start: u64,
    /// How many packets have come.
    number: u64,
    /// In the order in which they came, which is that of their times.
    held: VecDeque<Held>,
    /// The packet that has been altered.
    altered: Vec<u8>,
    /// Whether nothing gets through.
    pub(crate) closed: bool,
    /// How much it has done that hasn't been counted.
    pub(crate) injected: u64,
}

impl Filter {
    pub(crate) fn new(faults: &Faults, device: IpAddr) -> Self {
        Self {
            packets: faults.packets,
            room: faults.mtu.path.map_or(usize::MAX, room),
            start: Random::start(faults.seed, device),
            number: 0,
            held: VecDeque::new(),
            altered: Vec::new(),
            closed: false,
            injected: 0,
        }
    }

    /// What gets through at once of a packet, if something does.
    pub(crate) fn pass<'a>(
        &'a mut self,
        now: Time,
        mut incoming: Incoming<'a>,
    ) -> Option<Incoming<'a>> {
        let faults = self.packets;
        self.number += 1;
        let mut random = Random::of(self.start, self.number);
        let lost = random.happens(faults.loss);
        if self.closed || lost || incoming.bytes.len() > self.room {
            self.injected += 1;
            return None;
        }
        let corrupt = random.happens(faults.corrupt) && !incoming.bytes.is_empty();
        let bit = random.next() as usize;
        if corrupt {
            self.altered.clear();
            self.altered.extend_from_slice(incoming.bytes);
            let at = bit / 8 % self.altered.len();
            self.altered[at] ^= 1 << (bit % 8);
            incoming.bytes = &self.altered;
        }
        let mark = random.happens(faults.mark);
        incoming.marked |= mark;
        let late = random.happens(faults.reorder);
        let twice = random.happens(faults.duplicate);
        // Without room a packet that comes late is lost, and one that comes twice doesn't.
        if (late || twice) && self.held.len() < MOST {
            self.held.push_back(Held {
                until: now.saturating_add(faults.delay),
                source: incoming.source,
                bytes: incoming.bytes.to_vec(),
                marked: incoming.marked,
            });
        }
        let done = [corrupt, mark, late, twice].into_iter();
        self.injected += done.map(u64::from).sum::<u64>();
        (!late).then_some(incoming)
    }

    /// What has been held back for long enough, and gets through.
    pub(crate) fn release(&mut self, now: Time) -> Vec<Held> {
        let waits = |held: &Held| held.until > now;
        let due = self.held.iter().position(waits).unwrap_or(self.held.len());
        let closed = self.closed;
        self.held.drain(..due).filter(|_| !closed).collect()
    }

    /// When something is to be let out.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.held.front().map(|held| held.until)
    }
}

/// Bytes from BTH on of the largest packets on a path with this MTU.
fn room(mtu: u16) -> usize {
    usize::from(mtu) + HEADERS as usize - fairlane_wire::Udp::LENGTH
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
            let at_once = filter.pass(NOW, incoming);
            passed.extend(at_once.map(|got| (got.bytes.to_vec(), got.marked)));
            if number % 10 == 9 {
                let late = filter.release(Time::MAX).into_iter();
                passed.extend(late.map(|got| (got.bytes, got.marked)));
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
    fn what_is_held_back_is_bounded_and_comes_in_order() {
        let words = "packets=reorder:1,delay:10us".parse().unwrap();
        let mut filter = Filter::new(&words, "10.0.0.2".parse().unwrap());
        let source = "10.0.0.1:4791".parse().unwrap();
        let at = |number: usize| Time::from_ns(number as u64);
        for number in 0..2 * MOST {
            let bytes = &number.to_ne_bytes()[..];
            let marked = false;
            let incoming = Incoming {
                source,
                bytes,
                marked,
            };
            assert!(filter.pass(at(number), incoming).is_none());
        }
        let delay = 10_000;
        assert_eq!(filter.next_time(), Some(at(delay)));
        assert_eq!(filter.release(at(delay + 99)).len(), 100);
        let rest = filter.release(Time::MAX);
        let numbers = rest.iter().map(|held| held.bytes.as_slice());
        let expected: Vec<_> = (100..MOST).map(usize::to_ne_bytes).collect();
        assert!(numbers.eq(expected.iter().map(|bytes| &bytes[..])));
        assert_eq!(filter.next_time(), None);
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
            assert!(filter.pass(NOW, incoming).is_none() && filter.next_time().is_none());
        }
        assert_eq!(filter.injected, 100);
    }
}
