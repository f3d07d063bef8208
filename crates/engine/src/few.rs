//! Sorting a few events.

use alloc::vec::Vec;

use crate::calendar::NEVER;
use crate::event::Event;

const FEW: usize = 16;

/// Some events whose times differ in some low bits only.
///
/// Their order is found by counting, without branches on what is compared: no processor foresees
/// those.
pub(crate) struct Few {
    bits: u32,
    count: usize,
    events: [Event; FEW],
    /// The events [abridged](Event::abridged).
    places: [u64; FEW],
}

impl Few {
    /// None yet; their times are to differ in the low `bits` at most.
    #[inline]
    pub(crate) const fn new(bits: u32) -> Self {
        Self {
            bits,
            count: 0,
            events: [NEVER; FEW],
            places: [0; FEW],
        }
    }

    /// Adds an event; `false` if there is no room.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) -> bool {
        let Some(place) = self.places.get_mut(self.count) else {
            return false;
        };
        *place = event.abridged(self.bits);
        self.events[self.count] = event;
        self.count += 1;
        true
    }

    /// Moves all events to the end of `others`, in any order.
    #[cold]
    pub(crate) fn move_to(&mut self, others: &mut Vec<Event>) {
        others.extend_from_slice(&self.events[..self.count]);
        self.count = 0;
    }

    /// Moves all events to `sorted`, which is empty, last one first.
    #[inline]
    pub(crate) fn sort_to(&mut self, sorted: &mut Vec<Event>) {
        let count = self.count;
        sorted.resize(count, NEVER);
        let (events, places) = (&self.events[..count], &self.places[..count]);
        let mut sum = 0;
        for (event, &place) in events.iter().zip(places) {
            let later: usize = places.iter().map(|&other| usize::from(other > place)).sum();
            sorted[later] = *event;
            sum += later;
        }
        // Places that are equal once abridged leave gaps.
        if sum != count * count.saturating_sub(1) / 2 {
            sorted.copy_from_slice(events);
            sorted.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.count = 0;
    }
}
