//! A calendar queue: a wheel of short time slots for the near future, a heap for the rest.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairlane_units::{Duration, Time};

use crate::event::{Event, Key};

const SLOTS: u64 = 1 << 14;
const WORDS: usize = SLOTS as usize / 64;
/// Events that the wheel holds; more of them wait in the heap until there is room.
const NODES: usize = 1 << 16;
const NONE: u16 = u16::MAX;
/// Slots with more events than this are sorted, others are filled in order.
const SORT_FROM: usize = 32;

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
    /// First node of the list of each slot in `cursor + 1 .. cursor + SLOTS`.
    heads: Box<[u16; SLOTS as usize]>,
    /// One bit for each slot that has a list.
    occupied: Box<[u64; WORDS]>,
    /// The indices of nodes fill 16 bits, which spares bounds checks.
    nodes: Box<[Node; NODES]>,
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

#[derive(Clone, Copy, Debug)]
struct Node {
    event: Event,
    next: u16,
}

/// Nodes linked in order; the last one, whose number is [`NONE`], is never used.
fn unused_nodes() -> Box<[Node; NODES]> {
    let event = NEVER;
    let mut nodes = boxed(Node { event, next: NONE });
    for (node, next) in nodes.iter_mut().zip(1..=NONE) {
        node.next = next;
    }
    nodes
}

impl Calendar {
    /// An empty queue that is fastest for events up to `span` ahead.
    pub fn new(span: Duration) -> Self {
        let slot = span.as_ps().div_ceil(SLOTS).max(1);
        Self {
            shift: slot.next_power_of_two().trailing_zeros(),
            cursor: 0,
            current: Vec::new(),
            heads: boxed(NONE),
            occupied: boxed(0),
            nodes: unused_nodes(),
            free: 0,
            listed: 0,
            far: BinaryHeap::new(),
            far_slot: u64::MAX,
        }
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.current.len() + self.listed + self.far.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event; one in the past is popped next.
    #[inline]
    pub fn push(&mut self, event: Event) {
        let slot = event.time.as_ps() >> self.shift;
        if slot <= self.cursor {
            self.insert_current(event);
        } else if slot - self.cursor >= SLOTS || !self.list(slot, event) {
            self.far_slot = self.far_slot.min(slot);
            self.far.push(Reverse(event));
        }
    }

    /// Removes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.current.is_empty() {
            self.advance()?;
        }
        self.current.pop()
    }

    /// The event that [`pop`](Self::pop) returns next, if it lies in the slot being emptied.
    #[inline]
    pub fn upcoming(&self) -> Option<&Event> {
        self.current.last()
    }

    fn insert_current(&mut self, event: Event) {
        self.current.push(event);
        let mut at = self.current.len() - 1;
        while at > 0 && self.current[at - 1] < event {
            self.current[at] = self.current[at - 1];
            at -= 1;
        }
        self.current[at] = event;
    }

    /// Adds an event to the list of its slot; `false` if the wheel is full.
    #[inline]
    fn list(&mut self, slot: u64, event: Event) -> bool {
        let at = self.free;
        if at == NONE {
            return false;
        }
        let index = (slot % SLOTS) as usize;
        let node = &mut self.nodes[usize::from(at)];
        node.event = event;
        self.free = core::mem::replace(&mut node.next, self.heads[index]);
        self.heads[index] = at;
        self.occupied[index / 64] |= 1 << (index % 64);
        self.listed += 1;
        true
    }

    /// Moves to the next slot that has events and sorts them into `current`.
    fn advance(&mut self) -> Option<()> {
        let listed = if self.listed > 0 {
            self.next_occupied()
        } else {
            u64::MAX
        };
        let next = listed.min(self.far_slot);
        if next == u64::MAX {
            return None;
        }
        self.cursor = next;
        if self.cursor == listed {
            self.open_slot();
        }
        if self.far_slot - self.cursor < SLOTS {
            self.bring_near();
        }
        Some(())
    }

    /// Moves events out of the heap that the wheel has come to reach.
    fn bring_near(&mut self) {
        while let Some(Reverse(event)) = self.far.peek().copied() {
            let slot = event.time.as_ps() >> self.shift;
            if slot <= self.cursor {
                self.insert_current(event);
            } else if slot - self.cursor >= SLOTS || !self.list(slot, event) {
                break;
            }
            self.far.pop();
        }
        let next = self.far.peek();
        self.far_slot = next.map_or(u64::MAX, |next| next.0.time.as_ps() >> self.shift);
    }

    fn next_occupied(&self) -> u64 {
        let start = self.cursor + 1;
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

    fn open_slot(&mut self) {
        let index = (self.cursor % SLOTS) as usize;
        let first = core::mem::replace(&mut self.heads[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        let (mut at, mut last, mut count) = (first, first, 0);
        while at != NONE {
            let Node { event, next } = self.nodes[usize::from(at)];
            (last, at) = (at, next);
            count += 1;
            // Lists hold the newest event first, which is usually the last one: almost sorted.
            if self.current.len() < SORT_FROM {
                self.insert_current(event);
            } else {
                self.current.push(event);
            }
        }
        self.nodes[usize::from(last)].next = core::mem::replace(&mut self.free, first);
        self.listed -= count;
        if self.current.len() > SORT_FROM {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

/// An event later than all others.
pub(crate) const NEVER: Event = Event {
    time: Time::MAX,
    key: Key::MAX,
};
