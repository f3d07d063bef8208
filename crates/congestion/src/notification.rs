//! The receiver's part in congestion control: when a mark becomes a notification.

use fairlane_units::{Duration, Time};

/// The notification point of one queue pair (DCQCN, SIGCOMM 2015, section 3.1, figure 6): a marked
/// packet makes a CNP unless one was made less than an interval ago.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NotificationPoint {
    /// No CNP before.
    quiet_until: Time,
}

impl NotificationPoint {
    /// A notification point that has made no CNP.
    pub const fn new() -> Self {
        Self {
            quiet_until: Time::ZERO,
        }
    }

    /// A marked packet has arrived; returns whether to send a CNP, of which there is at most one in
    /// every `interval`.
    #[inline]
    pub fn on_mark(&mut self, now: Time, interval: Duration) -> bool {
        let sends = now >= self.quiet_until;
        if sends {
            self.quiet_until = now.saturating_add(interval);
        }
        sends
    }
}
