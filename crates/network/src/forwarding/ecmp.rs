//! Equal-cost multipath: one port for all packets of a five-tuple.
//!
//! Source: RFC 2992, "Analysis of an Equal-Cost Multi-Path Algorithm", section 2, hash modulo number of
//! next hops. Hash and seeds are those of HPCC's simulator (MurmurHash3 from the number of the switch),
//! which other profiles mix with the seed of the run, so that switches choose independently.
//!
//! Pauses and queues don't matter to it.

use fairlane_scenario::Switch;
use fairlane_units::Time;

use super::{Candidates, Forwarding, Label, Place};

/// A switch under ECMP: it remembers nothing.
#[derive(Clone, Debug)]
pub struct Ecmp {
    place: Place,
}

impl Forwarding for Ecmp {
    fn new(_parameters: &Switch, place: &Place) -> Self {
        Self { place: *place }
    }

    #[inline]
    fn foresee(place: &Place, packet: &Label, count: u32) -> Option<u32> {
        let hash = packet.tuple.hash(place.hash_seed);
        // Nearly every fabric has powers of two, and division is slow.
        Some(if count.is_power_of_two() {
            hash & (count - 1)
        } else {
            hash % count
        })
    }

    fn choose(&mut self, _now: Time, packet: &Label, candidates: &impl Candidates) -> u32 {
        Self::foresee(&self.place, packet, candidates.count()).unwrap_or(0)
    }
}
