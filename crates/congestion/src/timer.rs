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
    armed_as: [u32; TIMERS],
    armed: u32,
    changed: u8,
}

impl Timers {
    /// No deadline.
    pub const IDLE: Self = Self {
        deadline: [Time::MAX; TIMERS],
        armed_as: [0; TIMERS],
        armed: 0,
        changed: 0,
    };

    /// Sets the deadline of `timer`, replacing an earlier one.
    pub fn arm(&mut self, timer: usize, deadline: Time) {
        self.armed = self.armed.wrapping_add(1);
        self.deadline[timer] = deadline;
        self.armed_as[timer] = self.armed;
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

    /// The timer that is due first: `(timer, deadline)`.
    pub fn next(&self) -> Option<(usize, Time)> {
        let order = |timer: &usize| {
            // Circular age: the timer armed longest ago is the one furthest behind `armed`.
            let age = self.armed.wrapping_sub(self.armed_as[*timer]);
            (self.deadline[*timer], core::cmp::Reverse(age))
        };
        let timer = (0..TIMERS).min_by_key(order)?;
        self.deadline(timer).map(|at| (timer, at))
    }
}
