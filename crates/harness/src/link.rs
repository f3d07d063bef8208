//! The network between two hosts: it loses, repeats, reorders, alters and marks frames.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use fairlane_units::{Duration, Time};
use fairlane_wire::{Bth, Ethernet, Ipv4, Udp};

use super::choices::Choices;
use super::program::{Link, Side};

/// Where IPv4 holds the mark.
const TRAFFIC_CLASS: usize = Ethernet::LENGTH + 1;
const CHECKSUM: std::ops::Range<usize> = Ethernet::LENGTH + 10..Ethernet::LENGTH + 12;
const MARKED: u8 = 0b11;
/// Where the transport headers begin.
const TRANSPORT: usize = Ethernet::LENGTH + Ipv4::LENGTH + Udp::LENGTH;
/// The byte of the BTH that the ICRC leaves out (IBTA 7.8.1); a flipped bit there isn't noticed.
const NOT_COVERED: usize = TRANSPORT + 4;

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) arrival: Time,
    /// Frames that arrive at the same time do so in the order of sending.
    order: u64,
    pub(super) to: Side,
    pub(super) connection: usize,
    pub(super) frame: Vec<u8>,
    pub(super) altered: bool,
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Flight {}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.arrival, other.order).cmp(&(self.arrival, self.order))
    }
}

/// What has become of a frame that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) copies: u32,
    pub(super) altered: bool,
}

/// Both directions of the network.
#[derive(Clone, Debug)]
pub(super) struct Network {
    link: Link,
    choices: Choices,
    flights: BinaryHeap<Flight>,
    sent: u64,
}

impl Network {
    pub(super) const fn new(link: Link) -> Self {
        Self {
            link,
            choices: Choices::from_seed(link.seed),
            flights: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// Sends a frame at `now`.
    pub(super) fn send(
        &mut self,
        now: Time,
        (to, connection): (Side, usize),
        frame: &[u8],
    ) -> Fate {
        let mut fate = Fate::default();
        if self.choices.percent(self.link.loss) {
            return fate;
        }
        fate.copies = 1 + u32::from(self.choices.percent(self.link.duplication));
        for _ in 0..fate.copies {
            let mut frame = frame.to_vec();
            let altered = self.choices.percent(self.link.corruption);
            if altered {
                self.flip(&mut frame);
            } else if self.choices.percent(self.link.marks) {
                mark(&mut frame);
            }
            fate.altered |= altered;
            self.sent += 1;
            let jitter = Duration::from_ps(self.choices.between(0, self.link.jitter.as_ps()));
            self.flights.push(Flight {
                arrival: now + self.link.delay + jitter,
                order: self.sent,
                to,
                connection,
                frame,
                altered,
            });
        }
        fate
    }

    /// Flips a bit that the ICRC covers.
    fn flip(&mut self, frame: &mut [u8]) {
        let covered = (frame.len() - TRANSPORT) as u64;
        let place = TRANSPORT + self.choices.below(covered) as usize;
        let place = if place == NOT_COVERED {
            TRANSPORT + Bth::LENGTH - 1
        } else {
            place
        };
        frame[place] ^= 1 << self.choices.below(8);
    }

    /// When the next frame arrives.
    pub(super) fn next(&self) -> Option<Time> {
        self.flights.peek().map(|flight| flight.arrival)
    }

    /// A frame that has arrived.
    pub(super) fn arrived(&mut self, now: Time) -> Option<Flight> {
        let due = self.next().is_some_and(|arrival| arrival <= now);
        if due { self.flights.pop() } else { None }
    }

    /// Forgets what is on its way between the ends of a connection.
    pub(super) fn forget(&mut self, connection: usize) {
        self.flights
            .retain(|flight| flight.connection != connection);
    }
}

/// What a switch does to a frame that it marks: the mark, and the checksum that covers it.
fn mark(frame: &mut [u8]) {
    let before = frame[TRAFFIC_CLASS];
    frame[TRAFFIC_CLASS] |= MARKED;
    let checksum = u16::from_be_bytes([frame[CHECKSUM.start], frame[CHECKSUM.start + 1]]);
    // RFC 1624, eq. 3: HC' = ~(~HC + ~m + m').
    let sum =
        u32::from(!checksum) + u32::from(!u16::from(before)) + u32::from(frame[TRAFFIC_CLASS]);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    frame[CHECKSUM].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}
