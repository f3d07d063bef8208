//! Adaptive forwarding: for every packet the port with the fewest bytes waiting.
//!
//! Source: DRILL, "Micro Load Balancing for Low-latency Data Center Networks" (SIGCOMM 2017), section 3.2,
//! with all ports for samples and none remembered: DRILL(all, 0), the shortest queue. Switches for RoCE do the
//! same under the name of adaptive routing. Ports that are paused come after all others.
//!
//! Among equal ports the first one behind the last choice is taken, so that packets which arrive together
//! don't meet at one port; each switch begins elsewhere.

use fairlane_scenario::Switch;
use fairlane_units::Time;

use super::{Candidates, Forwarding, Label, Place};

/// A switch that looks at its queues.
#[derive(Clone, Debug)]
pub struct Adaptive {
    /// Where the search begins, modulo the number of candidates.
    next: u32,
}

impl Forwarding for Adaptive {
    fn new(_parameters: &Switch, place: &Place) -> Self {
        Self {
            next: place.hash_seed >> 1,
        }
    }

    #[inline]
    fn choose(&mut self, _now: Time, _packet: &Label, candidates: &impl Candidates) -> u32 {
        let count = candidates.count();
        let begin = self.next % count;
        let load = |at: u32| (candidates.is_paused(at), candidates.waiting(at));
        let (mut chosen, mut least) = (begin, load(begin));
        for at in (begin + 1..count).chain(0..begin) {
            if load(at) < least {
                (chosen, least) = (at, load(at));
            }
        }
        self.next = chosen + 1;
        chosen
    }
}
