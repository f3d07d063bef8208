//! Sorting a few events.

use alloc::vec::Vec;

use crate::event::Event;

const FEW: usize = 16;
/// Hardly any slot has more events; where there are more, so many are compared at a time.
const USUAL: usize = 4;
/// The bits that tell so many apart.
const TAG: u64 = USUAL as u64 - 1;
/// Places of no event: before all others, and different even if the tag isn't looked at.
const UNUSED: [u64; FEW] = {
    let mut places = [0; FEW];
    let mut at = 0;
    while at < USUAL {
        places[at] = (at * USUAL) as u64;
        at += 1;
    }
    places
};

/// Some events whose times differ in some low bits only.
///
/// Their order is found without branches on what is compared or how many there are: no processor foresees
/// those.
#[derive(Clone, Debug)]
pub(crate) struct Few {
    bits: u32,
    count: usize,
    events: [Event; FEW],
    /// The events [abridged](Event::abridged), then those of no event.
    places: [u64; FEW],
}

impl Few {
    /// None yet; their times are to differ in the low `bits` at most.
    pub(crate) const fn new(bits: u32) -> Self {
        Self {
            bits,
            count: 0,
            events: [Event::NEVER; FEW],
            places: UNUSED,
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
        self.places = UNUSED;
    }

    /// Moves all events to `sorted`, which is empty, last one first.
    #[inline]
    pub(crate) fn sort_to(&mut self, sorted: &mut Vec<Event>) {
        if self.count <= USUAL {
            self.sort_usual_to(sorted);
        } else {
            self.sort_many_to(sorted);
        }
    }

    /// Sorts as many as there are in nearly every slot, by a network of comparators.
    #[inline]
    fn sort_usual_to(&mut self, sorted: &mut Vec<Event>) {
        // The low bits of a place say which event it is of.
        let tagged = |at: usize| self.places[at] & !TAG | at as u64;
        let [a, b, c, d] = [tagged(0), tagged(1), tagged(2), tagged(3)];
        let (a, b) = (a.max(b), a.min(b));
        let (c, d) = (c.max(d), c.min(d));
        let (a, c) = (a.max(c), a.min(c));
        let (b, d) = (b.max(d), b.min(d));
        let (b, c) = (b.max(c), b.min(c));
        let event = |place: u64| self.events[(place & TAG) as usize];
        sorted.extend_from_slice(&[event(a), event(b), event(c), event(d)]);
        sorted.truncate(self.count);
        let same = |one: u64, other: u64| (one ^ other) & !TAG == 0;
        if same(a, b) | same(b, c) | same(c, d) {
            self.sort_alike(sorted);
        }
        self.count = 0;
        self.places[..USUAL].copy_from_slice(&UNUSED[..USUAL]);
    }

    /// Puts events in order some of which are alike once abridged.
    #[cold]
    fn sort_alike(&self, sorted: &mut [Event]) {
        sorted.copy_from_slice(&self.events[..self.count]);
        sorted.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Sorts by counting how many come later.
    #[inline(never)]
    fn sort_many_to(&mut self, sorted: &mut Vec<Event>) {
        let count = self.count;
        let used = count.next_multiple_of(USUAL);
        sorted.extend_from_slice(&[Event::NEVER; FEW]);
        let mut sum = 0;
        for at in (0..used).step_by(USUAL) {
            let mut later = [0; USUAL];
            for others in self.places[..used].chunks_exact(USUAL) {
                for (later, &place) in later.iter_mut().zip(&self.places[at..at + USUAL]) {
                    *later += others
                        .iter()
                        .map(|&other| usize::from(other > place))
                        .sum::<usize>();
                }
            }
            for (&later, event) in later.iter().zip(&self.events[at..at + USUAL]) {
                sorted[later % FEW] = *event;
                sum += later;
            }
        }
        sorted.truncate(count);
        // What isn't used comes behind all events. Places that are equal once abridged leave gaps.
        if sum != count * count.saturating_sub(1) / 2 + (used - count) * count {
            self.sort_alike(sorted);
        }
        self.clear();
    }
}
