//! In-order flow deflection: a flow moves to a port with a shorter queue, and its packets still arrive in order.
//!
//! Each switch begins with ECMP, and forks a stream ([`streams`]) where the queue is long and another one is short: a tail
//! goes behind its last packet, and what comes later carries the label of the fork. The last switch before the host holds what
//! has come before the tail that it waits for ([`merge`]). `docs/iofd.md` has the mechanism, why packets stay in order, and why
//! nothing waits for ever; nothing here knows of links or queues.
//!
//! Acknowledgements and notifications are never moved.

pub mod merge;
pub mod streams;
#[cfg(test)]
mod tests;

use fairlane_scenario::Switch;
use fairlane_units::Time;

use super::ecmp::Ecmp;
use super::{Candidates, Forwarding, Label, Place};
pub use crate::fork::{Fork, Forks};
use streams::Streams;

/// Rules that let a fabric wait for itself for ever, for tests that show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misrule {
    /// What the last switch holds is charged to the port that it came in by, which pauses others.
    ChargeHeld,
    /// On valleys, the class is one higher from the link that leads down, not from that up again.
    CountDetours,
    /// On valleys, the class is that of the message and one higher for each label.
    CountLabels,
}

/// A switch that moves flows in order.
#[derive(Clone, Debug)]
pub struct Iofd {
    own: Ecmp,
    streams: Box<Streams>,
}

impl Forwarding for Iofd {
    const FORKS: bool = true;

    fn new(parameters: &Switch, place: &Place) -> Self {
        Self {
            own: Ecmp::new(parameters, place),
            streams: Box::new(Streams::new(place.number, &parameters.iofd)),
        }
    }

    #[inline]
    fn foresee(place: &Place, packet: &Label, count: u32) -> Option<u32> {
        Ecmp::foresee(place, packet, count)
    }

    #[inline]
    fn choose(&mut self, now: Time, packet: &Label, candidates: &impl Candidates) -> u32 {
        self.own.choose(now, packet, candidates)
    }

    #[inline]
    fn streams(&mut self) -> Option<&mut Streams> {
        Some(&mut self.streams)
    }

    fn known_streams(&self) -> Option<&Streams> {
        Some(&self.streams)
    }
}
