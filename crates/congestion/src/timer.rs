//! The deadlines of a controller.

use fairlane_units::Time;

/// How many independent deadlines a controller can have.
pub const TIMERS: usize = 3;

/// Up to [`TIMERS`] deadlines, each identified by its index.
///
/// A driver with one wake per timer re-arms those that [`Timers::take_changed`] names; a driver with
/// one wake per controller uses [`Timers::next`]. Deadlines that fall together fire in the order in
/// which they were armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    deadline: [Time; TIMERS],
    /// The timers, that armed longest ago first.
    order: [u8; TIMERS],
    changed: u8,
}

impl Timers {
    /// No deadline.
    pub const IDLE: Self = Self {
        deadline: [Time::MAX; TIMERS],
        order: [0, 1, 2],
        changed: 0,
    };

    /// Sets the deadline of `timer`, replacing an earlier one.
    pub fn arm(&mut self, timer: usize, deadline: Time) {
        self.deadline[timer] = deadline;
        let at = self.order.iter().position(|&one| usize::from(one) == timer);
        self.order[at.unwrap_or(TIMERS)..].rotate_left(1);
        self.changed |= 1 << timer;
    }

    /// Forgets every deadline.
    pub fn cancel_all(&mut self) {
        self.deadline = [Time::MAX; TIMERS];
        self.changed = (1 << TIMERS) - 1;
    }

    /// The deadline of `timer`, if it is armed.
    pub fn deadline(&self, timer: usize) -> Option<Time> {
        Some(self.deadline[timer]).filter(|&at| at != Time::MAX)
    }

    /// The timers armed or cancelled since the last call, as a bit set.
    #[inline]
    pub fn take_changed(&mut self) -> u8 {
        core::mem::take(&mut self.changed)
    }

    /// The timer that is due first, of those that fall together the one with the lowest index:
    /// `(timer, deadline)`.
    #[inline]
    pub fn first(&self) -> Option<(usize, Time)> {
        let numbered = self.deadline.iter().copied().enumerate();
        let first = numbered.min_by_key(|&(_, at)| at)?;
        (first.1 != Time::MAX).then_some(first)
    }

    /// The timer that is due first: `(timer, deadline)`.
    pub fn next(&self) -> Option<(usize, Time)> {
        let timers = self.order.iter().map(|&timer| usize::from(timer));
        let timer = timers.min_by_key(|&timer| self.deadline[timer])?;
        self.deadline(timer).map(|at| (timer, at))
    }
}
