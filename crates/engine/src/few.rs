//! Sorting a few events.

use alloc::vec::Vec;

use crate::event::Event;

const FEW: usize = 16;
/// Places are compared so many at a time: hardly any slot has more events.
const CHUNK: usize = 4;

/// Some events whose times differ in some low bits only.
///
/// Their order is found by counting, without branches on what is compared or how many there are: no
/// processor foresees those.
#[derive(Clone, Debug)]
pub(crate) struct Few {
    bits: u32,
    count: usize,
    events: [Event; FEW],
    /// The events [abridged](Event::abridged), then zeros.
    places: [u64; FEW],
}

impl Few {
    /// None yet; their times are to differ in the low `bits` at most.
    pub(crate) const fn new(bits: u32) -> Self {
        Self {
            bits,
            count: 0,
            events: [Event::NEVER; FEW],
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
        self.clear();
    }

    fn clear(&mut self) {
        self.count = 0;
        self.places = [0; FEW];
    }

    /// Moves all events to `sorted`, which is empty, last one first.
    #[inline]
    pub(crate) fn sort_to(&mut self, sorted: &mut Vec<Event>) {
        let count = self.count;
        let used = count.next_multiple_of(CHUNK);
        sorted.extend_from_slice(&[Event::NEVER; FEW]);
        let mut sum = 0;
        for at in (0..used).step_by(CHUNK) {
            let mut later = [0; CHUNK];
            for others in self.places[..used].chunks_exact(CHUNK) {
                for (later, &place) in later.iter_mut().zip(&self.places[at..at + CHUNK]) {
                    *later += others
                        .iter()
                        .map(|&other| usize::from(other > place))
                        .sum::<usize>();
                }
            }
            for (&later, event) in later.iter().zip(&self.events[at..at + CHUNK]) {
                sorted[later % FEW] = *event;
                sum += later;
            }
        }
        sorted.truncate(count);
        // What isn't used comes behind all events. Places that are equal once abridged leave gaps.
        if sum != count * count.saturating_sub(1) / 2 + (used - count) * count {
            sorted.copy_from_slice(&self.events[..count]);
            sorted.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.clear();
    }
}
