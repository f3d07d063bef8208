//! A random path for every packet, which carries its own address, so that order doesn't matter.
//!
//! Oblivious packet spraying, as in Dixit et al., "On the Impact of Packet Spraying in Data Center Networks"
//! (INFOCOM 2013). Each packet is a WRITE or READ of its own (direct placement), as in MRC and STrack.

use fairlane_units::{Bytes, Time};

use super::two_choices::drawn;
use super::{Balance, Choice, Unit};
use crate::random::Random;
use crate::{Paths, Settings};

/// Packets by chance.
#[derive(Clone, Debug)]
pub struct Spray {
    random: Random,
}

impl Balance for Spray {
    const UNIT: Unit = Unit::Packet;

    fn new(_settings: &Settings, _paths: usize, seed: u64) -> Self {
        Self {
            random: Random::new(seed),
        }
    }

    fn choose(&mut self, _now: Time, _left: Bytes, paths: &Paths) -> Option<Choice> {
        drawn(&mut self.random, paths).map(Choice::of)
    }
}
