//! Spraying: a random port for every packet.
//!
//! Source: Dixit et al., "On the Impact of Packet Spraying in Data Center Networks" (INFOCOM 2013),
//! section III: random spraying over all shortest paths. Ports that are paused are passed over as long as
//! there is another one, which the publication, without pauses, has no need of.

use fairlane_engine::Stream;
use fairlane_scenario::Switch;
use fairlane_units::Time;

use super::{Candidates, Forwarding, Label, Place};

/// A switch that sprays.
#[derive(Clone, Debug)]
pub struct Spray {
    stream: Stream,
}

impl Forwarding for Spray {
    fn new(_parameters: &Switch, place: &Place) -> Self {
        Self {
            stream: place.stream(),
        }
    }

    #[inline]
    fn choose(&mut self, _now: Time, _packet: &Label, candidates: &impl Candidates) -> u32 {
        let count = candidates.count();
        let drawn = self.stream.below(count.into()) as u32;
        if !candidates.is_paused(drawn) {
            return drawn;
        }
        let open = || (0..count).filter(|&at| !candidates.is_paused(at));
        let among = open().count() as u64;
        if among == 0 {
            return drawn;
        }
        // A draw of its own, so that the port behind a paused one has no advantage.
        let place = self.stream.below(among) as usize;
        open().nth(place).unwrap_or(drawn)
    }
}
