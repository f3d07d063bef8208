//! The link of the device, which is as fast as its settings say and no real one knows, or that of whoever carries its packets.

use fairlane_units::{Bytes, Rate, Time};

/// Preamble and gap between frames (IEEE 802.3).
const GAP: u64 = 20;

/// The device's link, which carries a packet at a time.
#[derive(Debug)]
pub(super) struct Link {
    /// `None` if its driver sees to that.
    rate: Option<Rate>,
    /// When it has carried everything.
    pub(super) free_at: Time,
}

impl Link {
    pub(super) const fn new(rate: Option<Rate>) -> Self {
        Self {
            rate,
            free_at: Time::ZERO,
        }
    }

    /// Carries a packet of so many bytes as soon as it is free.
    pub(super) fn carry(&mut self, now: Time, wire: u16) {
        let Some(rate) = self.rate else { return };
        let carried = Bytes::new(u64::from(wire) + GAP).serialization(rate);
        self.free_at = self.free_at.max(now).saturating_add(carried);
    }
}
