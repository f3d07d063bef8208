//! Bytes in flight of the whole device.

use fairlane_nic::{Admission, Nic, PairId};
use fairlane_units::Time;

/// Bytes that all queue pairs have in flight together, and how many there may be.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) in_flight: u64,
    pub(super) limit: u64,
}

impl Window {
    pub(super) const fn is_open(&self) -> bool {
        self.in_flight < self.limit
    }
}

impl Admission for Window {
    fn admit(&mut self, _: Time, _: &Nic, chosen: PairId) -> Result<PairId, Time> {
        match self.is_open() {
            true => Ok(chosen),
            false => Err(Time::MAX),
        }
    }
}
