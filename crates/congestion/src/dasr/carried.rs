//! What the way to a receiver carries, if that is less than the receiver lets a sender send.
//!
//! Windows keep the queue of a bottleneck in the core below what switches mark, so that congestion control doesn't
//! hear of it: the sender finds out by waiting for acknowledgements where it waits for its pace otherwise. What it sends then is what the
//! bottleneck gives it.

use fairlane_units::{Bytes, Duration, Rate, Time};

use super::params::spans;
use super::rows::over;

/// Round trips and packets that a look takes at least.
const ROUNDS: f64 = 2.0;
const PACKETS: u64 = 8;

/// Looks in a row that have to find a limit: half a product each of 32 senders that begin at a time, which stands in front of the
/// receiver and closes windows as well, has drained by then.
const LOOKS: u8 = 8;

/// Less than this part of the receiver's share counts as limited: windows of 1.5 shares let a product stand in front of the receiver that
/// makes it so much.
const LIMITED: f64 = 0.75;

/// What is declared beyond what was carried: less than shares are exact to. More isn't needed to grow back, since a sender that
/// waits for its pace again declares everything.
const HEADROOM: f64 = 0.05;

/// What a sender finds out of the way to one receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    /// Since when it measures; `None` until the next packet.
    since: Option<Time>,
    /// What was sent since, and whether the window was ever closed.
    sent: Bytes,
    closed: bool,
    /// Looks in a row that have found a limit.
    limits: u8,
    /// What it has found, with head-room.
    rate: Option<Rate>,
}

impl Carried {
    /// The window is closed.
    pub(super) const fn on_closed(&mut self) {
        self.closed = true;
    }

    /// Measuring begins anew with the next packet: nothing was in flight, or the share has changed.
    pub(super) const fn restart(&mut self) {
        self.since = None;
    }

    /// A packet leaves, at no more than `pace`.
    pub(super) fn on_sent(&mut self, now: Time, wire: Bytes, rtt: Duration, pace: Rate) {
        if let Some(since) = self.since {
            self.sent += wire;
            let span = now.saturating_since(since);
            if span < spans(rtt, ROUNDS) || self.sent < wire * PACKETS {
                return;
            }
            let rate = over(self.sent, span);
            let limited = self.closed && rate < pace.scale(LIMITED);
            self.limits = if limited {
                self.limits.saturating_add(1)
            } else {
                0
            };
            self.rate = (self.limits >= LOOKS).then(|| rate.scale(1.0 + HEADROOM));
        }
        (self.since, self.sent, self.closed) = (Some(now), Bytes::ZERO, false);
    }

    /// What the way carries; `None` if that seems to be what the receiver lets it send.
    pub(super) const fn rate(&self) -> Option<Rate> {
        self.rate
    }
}
