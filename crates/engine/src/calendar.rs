//! A calendar queue: a wheel of short time slots for the near future, a heap for the rest.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairlane_units::Duration;

use crate::event::Event;
use crate::few::Few;

const SLOTS: u64 = 1 << 14;
const WORDS: usize = SLOTS as usize / 64;
/// Events that the wheel holds; more of them wait in the heap until there is room.
const NODES: usize = 1 << 16;
const NONE: u16 = u16::MAX;
/// A slot is opened early if it is no farther away: events are pushed before one that is farther, which
/// must then be closed again.
const EARLY: u64 = 32;

/// A priority queue of events that pops them in ascending order.
///
/// Pushing and popping take O(1) on average for events within the span given at construction,
/// O(log n) beyond it. The order of equal events is that of their keys, whatever the order of
/// insertion, so every correct queue pops the same sequence.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// log2 of the picoseconds in a slot.
    shift: u32,
    /// Number of the slot being emptied, counted from time zero.
    cursor: u64,
    /// Events of the slot being emptied and of earlier ones, last one first.
    current: Vec<Event>,
    /// Number of the slot that is emptied next: it is opened early, so that there is time to fetch
    /// what its events will touch.
    opened: u64,
    /// Events of the slot that is opened, last one first.
    next: Vec<Event>,
    /// Where those of a slot are sorted.
    few: Few,
    /// First node of the list of each slot in `opened + 1 .. cursor + SLOTS`.
    heads: Box<[u16; SLOTS as usize]>,
    /// One bit for each slot that has a list.
    occupied: Box<[u64; WORDS]>,
    /// The events of the nodes of lists. Indices of nodes fill 16 bits, which spares bounds checks.
    events: Box<[Event; NODES]>,
    /// The node behind each one. Apart from the events, those of a whole list are found in little memory
    /// before any of them arrives in the cache.
    links: Box<[u16; NODES]>,
    /// First of the nodes not in use.
    free: u16,
    /// Events in lists.
    listed: usize,
    /// Events at or beyond slot `cursor + SLOTS`, and those that the wheel has no room for.
    far: BinaryHeap<Reverse<Event>>,
    /// Slot of the first event in `far`.
    far_slot: u64,
}

/// An array on the heap: its constant length spares bounds checks.
fn boxed<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the length is N"),
    }
}

/// Nodes linked in order; the last one, whose number is [`NONE`], is never used.
fn unused_nodes() -> Box<[u16; NODES]> {
    let mut links = boxed(NONE);
    for (link, next) in links.iter_mut().zip(1..=NONE) {
        *link = next;
    }
    links
}

impl Calendar {
    /// An empty queue that is fastest for events up to `span` ahead.
    pub fn new(span: Duration) -> Self {
        let slot = span.as_ps().div_ceil(SLOTS).max(1);
        let shift = slot.next_power_of_two().trailing_zeros();
        Self {
            shift,
            cursor: 0,
            current: Vec::new(),
            opened: 0,
            next: Vec::new(),
            few: Few::new(shift),
            heads: boxed(NONE),
            occupied: boxed(0),
            events: boxed(Event::NEVER),
            links: unused_nodes(),
            free: 0,
            listed: 0,
            far: BinaryHeap::new(),
            far_slot: u64::MAX,
        }
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.current.len() + self.next.len() + self.listed + self.far.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event; one in the past is popped next.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let slot = event.time.as_ps() >> self.shift;
        if slot <= self.opened {
            self.push_near(slot, event);
        } else {
            self.push_later(slot, event);
        }
    }

    /// Removes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if !self.turn(|_| ()) {
            return None;
        }
        self.current.pop()
    }

    /// The next events, those of one slot, last one first.
    #[inline]
    pub fn near(&self) -> &[Event] {
        &self.current
    }

    /// Goes on to the next slot if no event is [`near`](Self::near); `false` if none waits at all.
    /// Shows most of the events that will be near after those.
    #[inline]
    pub fn turn(&mut self, show: impl FnMut(Event)) -> bool {
        !self.current.is_empty() || self.advance(show)
    }

    /// Adds an event to a slot behind those that are open.
    #[inline]
    fn push_later(&mut self, slot: u64, event: Event) {
        if slot - self.cursor >= SLOTS || !self.list(slot, event) {
            self.far_slot = self.far_slot.min(slot);
            self.far.push(Reverse(event));
        }
    }

    /// Adds an event to a slot that is open or lies before one that is.
    #[cold]
    fn push_near(&mut self, slot: u64, event: Event) {
        if slot > self.cursor && slot < self.opened {
            self.close_next(slot);
        }
        let events = if slot <= self.cursor {
            &mut self.current
        } else {
            &mut self.next
        };
        let at = events.partition_point(|&other| other > event);
        events.insert(at, event);
    }

    /// Puts the events of the slot opened early back, and opens `slot` instead, which has none.
    fn close_next(&mut self, slot: u64) {
        let later = core::mem::replace(&mut self.opened, slot);
        while let Some(event) = self.next.pop() {
            self.push_later(later, event);
        }
    }

    /// Adds an event to the list of its slot; `false` if the wheel is full.
    #[inline]
    fn list(&mut self, slot: u64, event: Event) -> bool {
        let at = self.free;
        if at == NONE {
            return false;
        }
        let index = (slot % SLOTS) as usize;
        self.events[usize::from(at)] = event;
        let link = &mut self.links[usize::from(at)];
        self.free = core::mem::replace(link, self.heads[index]);
        self.heads[index] = at;
        self.occupied[index / 64] |= 1 << (index % 64);
        self.listed += 1;
        true
    }

    /// Moves to the next slot that has events; `false` if none has.
    fn advance(&mut self, mut show: impl FnMut(Event)) -> bool {
        self.enter();
        if self.current.is_empty() {
            self.open(u64::MAX, &mut show);
            self.enter();
        }
        self.open(EARLY, &mut show);
        !self.current.is_empty()
    }

    /// Makes the slot that is open the one being emptied.
    fn enter(&mut self) {
        core::mem::swap(&mut self.current, &mut self.next);
        self.cursor = self.opened;
    }

    /// Opens the next slot that has events, if it lies within so many slots.
    fn open(&mut self, within: u64, show: &mut impl FnMut(Event)) {
        let listed = if self.listed > 0 {
            self.next_occupied()
        } else {
            u64::MAX
        };
        let next = listed.min(self.far_slot);
        if next == u64::MAX || next - self.cursor > within {
            return;
        }
        self.opened = next;
        if next == listed {
            self.open_slot(show);
        }
        if self.far_slot - self.cursor < SLOTS || self.far_slot == next {
            self.bring_near();
        }
    }

    /// Moves events out of the heap that the wheel has come to reach.
    fn bring_near(&mut self) {
        while let Some(Reverse(event)) = self.far.peek().copied() {
            let slot = event.time.as_ps() >> self.shift;
            if slot <= self.opened {
                self.push_near(slot, event);
            } else if slot - self.cursor >= SLOTS || !self.list(slot, event) {
                break;
            }
            self.far.pop();
        }
        let next = self.far.peek();
        self.far_slot = next.map_or(u64::MAX, |next| next.0.time.as_ps() >> self.shift);
    }

    fn next_occupied(&self) -> u64 {
        let start = self.opened + 1;
        let index = (start % SLOTS) as usize;
        let (first, bit) = (index / 64, index % 64);
        let mut word = self.occupied[first] & (!0 << bit);
        let mut at = first;
        // The first word is looked at twice: its low bits are the farthest slots.
        for _ in 0..=WORDS {
            if word != 0 {
                let found = (at * 64) as u64 + u64::from(word.trailing_zeros());
                return start + (found + SLOTS - index as u64) % SLOTS;
            }
            at = (at + 1) % WORDS;
            word = self.occupied[at];
        }
        unreachable!("a listed event has its slot marked")
    }

    /// Moves the events of slot `opened` into `next`, which is empty.
    fn open_slot(&mut self, show: &mut impl FnMut(Event)) {
        let index = (self.opened % SLOTS) as usize;
        let first = core::mem::replace(&mut self.heads[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        let (mut at, mut last) = (first, first);
        while at != NONE {
            let event = self.events[usize::from(at)];
            show(event);
            if !self.few.push(event) {
                self.few.move_to(&mut self.next);
                self.few.push(event);
            }
            (last, at) = (at, self.links[usize::from(at)]);
        }
        self.links[usize::from(last)] = core::mem::replace(&mut self.free, first);
        if self.next.is_empty() {
            self.few.sort_to(&mut self.next);
        } else {
            self.few.move_to(&mut self.next);
            self.next.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.listed -= self.next.len();
    }
}
