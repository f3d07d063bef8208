//! Flowlets: packets that follow each other closely stay together, and a gap lets them part.
//!
//! Source: LetFlow, "Let It Flow: Resilient Asymmetric Load Balancing with Flowlet Switching" (NSDI 2017),
//! section 3: a table indexed by a hash of the flow, in which every packet renews its entry; a packet that
//! finds its entry older than the gap takes a random port. The load of ports isn't looked at, since the
//! sizes of flowlets follow it by themselves.
//!
//! Differences: an entry has the time of its last packet in place of an age bit that a timer sets, so gaps
//! are exact; flows to different destinations may meet in an entry, and one whose port leads elsewhere is
//! as good as old.

use fairlane_engine::Stream;
use fairlane_scenario::Switch;
use fairlane_units::{Duration, Time};

use super::{Candidates, Forwarding, Label, Place};

/// The flowlets of one switch.
#[derive(Clone, Debug)]
pub struct Flowlet {
    /// Time of the last packet in picoseconds, and its port plus one: 0 is nothing, so that memory that
    /// no flow needs is never touched.
    table: Vec<[u64; 2]>,
    gap: Duration,
    hash_seed: u32,
    stream: Stream,
}

impl Forwarding for Flowlet {
    fn new(parameters: &Switch, place: &Place) -> Self {
        let parameters = &parameters.flowlet;
        Self {
            table: vec![[0; 2]; parameters.entries as usize],
            gap: parameters.gap,
            hash_seed: place.hash_seed,
            stream: place.stream(),
        }
    }

    #[inline]
    fn choose(&mut self, now: Time, packet: &Label, candidates: &impl Candidates) -> u32 {
        let hash = u64::from(packet.tuple.hash(self.hash_seed));
        let index = (hash * self.table.len() as u64) >> 32;
        let [last, port] = &mut self.table[index as usize];
        let goes_on = now.as_ps() - *last <= self.gap.as_ps();
        let known = |at: &u32| u64::from(candidates.port(*at)) + 1 == *port;
        let same = (0..candidates.count()).find(known).filter(|_| goes_on);
        let chosen = same.unwrap_or_else(|| self.stream.below(candidates.count().into()) as u32);
        *last = now.as_ps();
        *port = u64::from(candidates.port(chosen)) + 1;
        chosen
    }
}
