//! The one pending deadline of a component.

use fairlane_units::Time;

use crate::clock::Engine;
use crate::event::{Component, Event};

/// A deadline that can be moved and cancelled.
///
/// The queue holds at most one live event for it: moving a deadline to a later time leaves the event
/// where it is, and when that event comes up it is put back at the deadline. An event that was
/// overtaken by an earlier deadline is recognised by its time and key and ignored.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    deadline: Event,
    queued: Event,
}

impl Default for Wake {
    fn default() -> Self {
        Self {
            deadline: Event::NEVER,
            queued: Event::NEVER,
        }
    }
}

impl Wake {
    /// Whether a deadline is set.
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.deadline.time != Time::MAX
    }

    /// The deadline, [`Time::MAX`] if none is set.
    #[inline]
    pub const fn deadline(&self) -> Time {
        self.deadline.time
    }

    /// Sets the deadline, replacing an earlier one. For `rank` see [`Engine::reserve`].
    #[inline]
    pub fn arm(&mut self, engine: &mut Engine, time: Time, rank: u64, component: Component) {
        let key = engine.reserve(rank, component);
        self.deadline = Event { time, key };
        if self.deadline < self.queued {
            self.queued = self.deadline;
            engine.schedule(time, key);
        }
    }

    /// Forgets the deadline.
    #[inline]
    pub fn cancel(&mut self) {
        self.deadline = Event::NEVER;
    }

    /// Whether `event`, which has just come up for this component, is the deadline.
    #[inline]
    pub fn fires(&mut self, engine: &mut Engine, event: Event) -> bool {
        if event != self.queued {
            return false;
        }
        self.queued = Event::NEVER;
        if event == self.deadline {
            self.deadline = Event::NEVER;
            return true;
        }
        if self.is_armed() {
            self.queued = self.deadline;
            engine.schedule(self.deadline.time, self.deadline.key);
        }
        false
    }
}
