//! What a pair has sent ahead of its pace.

use fairlane_units::{Duration, Rate, Time};

/// The bytes that a pair has sent beyond what its controller let go, less what has been let go and not used since: a token bucket,
/// kept as a time as in the virtual scheduling algorithm of ITU-T I.371, so that nothing is to be done while time passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Debt {
    /// When all that was sent will have been let go.
    paid_at: Time,
    /// When something was last sent.
    sent_at: Time,
}

impl Debt {
    /// Nothing is owed.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            paid_at: now,
            sent_at: now,
        }
    }

    /// As much is owed as is let go until `paid_at`.
    pub(crate) const fn resume(&mut self, paid_at: Time) {
        self.paid_at = paid_at;
    }

    /// When all that was sent will have been let go.
    pub(crate) const fn paid_at(&self) -> Time {
        self.paid_at
    }

    /// From when on no more is owed than is let go in `depth`; no sooner than the last packet, behind which others may have
    /// waited for longer.
    pub(crate) fn allows(&self, depth: Duration) -> Time {
        let due = self.paid_at.as_ps().saturating_sub(depth.as_ps());
        self.sent_at.max(Time::from_ps(due))
    }

    /// A packet leaves that is let go in `span`. No more is owed than is let go in `most`: what a pair sends at its pace is its own.
    pub(crate) fn on_sent(&mut self, now: Time, (span, most): (Duration, Duration)) {
        let paid_at = self.paid_at.max(now).saturating_add(span);
        self.paid_at = paid_at.min(now.saturating_add(most));
        self.sent_at = now;
    }

    /// A controller lets go so much more, or less.
    pub(crate) fn on_change(&mut self, now: Time, (before, after): (Rate, Rate)) {
        let rest = u128::from(self.paid_at.saturating_since(now).as_ps());
        if rest > 0 {
            let rest = (rest * u128::from(before.as_bps())).div_ceil(u128::from(after.as_bps()));
            let rest = u64::try_from(rest).unwrap_or(u64::MAX);
            self.paid_at = now.saturating_add(Duration::from_ps(rest));
        }
    }
}
