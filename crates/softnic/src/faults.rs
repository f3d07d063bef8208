//! A filter between socket and host that does to packets what networks do, from a seed.

use std::net::SocketAddr;

use fairlane_units::{Duration, Time};

use crate::engine::Incoming;

/// How often something happens to a packet that comes, as a part of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Where random numbers begin.
    pub seed: u64,
    /// It is lost.
    pub loss: f64,
    /// It comes twice.
    pub duplicate: f64,
    /// It comes later, behind others.
    pub reorder: f64,
    /// By so much.
    pub delay: Duration,
    /// One of its bits is turned over.
    pub corrupt: f64,
    /// The network marks it.
    pub mark: f64,
}

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
    faults: Faults,
    random: u64,
    held: Vec<Held>,
}

impl Filter {
    pub(crate) const fn new(faults: Faults) -> Self {
        Self {
            faults,
            random: faults.seed,
            held: Vec::new(),
        }
    }

    /// The next number of a sequence that begins with the seed (splitmix64).
    const fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn happens(&mut self, often: f64) -> bool {
        const BITS: u32 = 53;
        let part = (self.next() >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64;
        part < often
    }

    /// Passes a packet on as often as it comes.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        incoming: &Incoming<'_>,
        mut deliver: impl FnMut(&Incoming<'_>),
    ) {
        let faults = self.faults;
        if self.happens(faults.loss) {
            return;
        }
        let mut bytes = incoming.bytes.to_vec();
        if self.happens(faults.corrupt) && !bytes.is_empty() {
            let bit = self.next() as usize % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let marked = incoming.marked || self.happens(faults.mark);
        let (late, twice) = (self.happens(faults.reorder), self.happens(faults.duplicate));
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
    }

    /// Lets out what has been held back for long enough.
    pub(crate) fn release(&mut self, now: Time, mut deliver: impl FnMut(&Incoming<'_>)) {
        let due = self.held.extract_if(.., |held| held.until <= now);
        for held in due {
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
