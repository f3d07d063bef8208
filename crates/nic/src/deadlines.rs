//! The deadlines of queue pairs, of which a NIC shows the first.

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use fairlane_units::Time;

/// Deadlines by queue pair.
///
/// A queue pair whose deadline moves to later keeps its place and is put back when that comes up; one whose
/// deadline moves to earlier gets another place, and the one before means nothing any more.
#[derive(Clone, Debug)]
pub(crate) struct Deadlines {
    /// The first of them, [`Time::MAX`] without any: it is looked at all the time.
    first: Time,
    places: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            first: Time::MAX,
            places: BinaryHeap::new(),
        }
    }
}

impl Deadlines {
    /// Sees to it that a queue pair comes up at `at`; `queued` is when it would.
    #[inline]
    pub(crate) fn arm(&mut self, pair: u32, at: Time, queued: &mut Time) {
        if at < *queued {
            *queued = at;
            self.first = self.first.min(at);
            self.places.push(Reverse((at, pair)));
        }
    }

    /// The first deadline; there may be nothing to do by then.
    #[inline]
    pub(crate) const fn first(&self) -> Time {
        self.first
    }

    /// Takes the first place up to `now`: when it is for, and which queue pair.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, u32)> {
        let &Reverse((at, _)) = self.places.peek()?;
        if at > now {
            return None;
        }
        let place = self.places.pop().map(|Reverse(place)| place);
        self.first = self.places.peek().map_or(Time::MAX, |next| next.0.0);
        place
    }
}
