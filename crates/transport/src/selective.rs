//! Which packets a selective repeat sends again.
//!
//! A responder that keeps packets out of order reports each of them by a NAK whose PSN is the one
//! expected and whose MSN field is the PSN that came too early. The requester takes the packets in
//! between that were not reported as lost, and sends each of them again once; if a packet that was
//! sent after them arrives before the gap is filled, they are lost once more. Packets less than the
//! reorder tolerance behind are taken as still on their way.

use crate::bitmap::Bitmap;
use crate::config::Config;

/// What a requester knows about packets behind the oldest unacknowledged one.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// Packets that the responder keeps, from the oldest unacknowledged one on.
    kept: Bitmap,
    /// Packets before this that are not kept are to be sent again.
    end: u64,
    /// Packets from this on were sent after the repeat began.
    sent_later: u64,
    /// A packet is lost if one further ahead of it has arrived.
    tolerance: u64,
}

/// What a selective NAK means for the requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Nothing new is lost.
    Nothing,
    /// Packets from here on are.
    From(u64),
}

impl Scoreboard {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            kept: Bitmap::new(config.selective_window),
            end: 0,
            sent_later: 0,
            tolerance: config.reorder_tolerance.into(),
        }
    }

    /// The oldest unacknowledged packet is `by` packets later.
    #[inline]
    pub(crate) fn advance(&mut self, by: u64) {
        self.kept.advance(usize::try_from(by).unwrap_or(usize::MAX));
    }

    /// Nothing is known to be kept.
    pub(crate) fn forget(&mut self) {
        self.kept.advance(usize::MAX);
    }

    /// Everything that isn't kept is to be sent again, and the oldest unacknowledged packet in any
    /// case: if the responder has it, the acknowledgement is what was lost.
    pub(crate) fn repeat_all(&mut self, sent: u64) {
        self.kept.clear(0);
        (self.end, self.sent_later) = (sent, sent);
    }

    /// The first packet from `number` on that is worth sending.
    pub(crate) fn next_missing(&self, number: u64, unacked: u64, sent: u64) -> u64 {
        if number >= self.end {
            return number.max(sent);
        }
        let index = usize::try_from(number - unacked).unwrap_or(usize::MAX);
        let missing = unacked + self.kept.first_clear(index) as u64;
        if missing < self.end { missing } else { sent }
    }

    /// Hears that `arrived` came while `unacked` was expected; all before `sent` has been sent. A packet
    /// that takes several numbers is lost as a whole or not at all: `begins` says where it begins.
    pub(crate) fn on_nak(
        &mut self,
        unacked: u64,
        arrived: u64,
        sent: u64,
        begins: impl Fn(u64) -> u64,
    ) -> Repeat {
        if arrived <= unacked || arrived >= sent {
            // The responder couldn't keep it: everything that isn't kept must come again.
            self.repeat_all(sent);
            return Repeat::From(unacked);
        }
        if let Ok(index) = usize::try_from(arrived - unacked)
            && index < self.kept.len()
        {
            self.kept.set(index);
        }
        let end = begins(arrived.saturating_sub(self.tolerance));
        if end <= unacked {
            return Repeat::Nothing;
        }
        let active = self.end > unacked;
        if !active || end >= self.sent_later {
            (self.end, self.sent_later) = (end, sent);
            Repeat::From(unacked)
        } else if end > self.end {
            let from = core::mem::replace(&mut self.end, end);
            Repeat::From(from)
        } else {
            Repeat::Nothing
        }
    }
}
