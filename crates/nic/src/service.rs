//! The queue pair that a port serves, while it has some of its quantum left.

use fairlane_units::Time;

use crate::packet::PairId;
use crate::pair::NONE;
use crate::settings::Quantum;

/// The queue pair that a port serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    pair: u32,
    /// Packets more that it may send.
    left: u32,
    /// Until when the port waits for the next one.
    until: Time,
}

impl Service {
    pub(crate) const NONE: Self = Self {
        pair: NONE,
        left: 0,
        until: Time::ZERO,
    };

    /// The queue pair that is to be served further.
    #[inline]
    pub(crate) const fn pair(&self) -> Option<PairId> {
        match self.left {
            0 => None,
            _ => Some(PairId(self.pair)),
        }
    }

    /// Whether the port waits for a packet that may leave at `at`.
    pub(crate) fn lasts(&self, at: Time) -> bool {
        at <= self.until
    }

    /// A queue pair sends a packet; `free` says that it is one that nobody enforces, which begins no quantum: the data of the
    /// queue pair has to be chosen for that.
    pub(crate) fn on_sent(
        &mut self,
        now: Time,
        PairId(pair): PairId,
        quantum: Quantum,
        free: bool,
    ) {
        let left = match (self.pair == pair && self.left > 0, free) {
            (true, _) => self.left,
            (false, false) => quantum.packets,
            (false, true) => 0,
        };
        *self = Self {
            pair,
            left: left.saturating_sub(1),
            until: now.saturating_add(quantum.gap),
        };
    }

    /// A queue pair goes.
    pub(crate) fn close(&mut self, PairId(pair): PairId) {
        if self.pair == pair {
            *self = Self::NONE;
        }
    }
}
