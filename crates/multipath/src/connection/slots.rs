//! Work requests that are posted and not completed.

use alloc::vec::Vec;

use fairlane_units::Time;

use crate::Tag;

/// What a work request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A chunk of a message.
    Data,
    /// The SEND that makes the other end see a message: all of it, or that it has been written.
    Notice,
    /// A receive that is offered.
    Grant,
    /// Finds out whether a path lives.
    Probe,
    /// Measures a path.
    Measure,
    /// A part of a message that has failed.
    Orphan,
}

/// A part of a message, or what stands for one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The number of the message, or of the grant.
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) attempts: u8,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) piece: Piece,
    pub(super) posted: Time,
    generation: u32,
    pub(super) path: u16,
    used: bool,
}

const _: () = assert!(size_of::<Slot>() <= 48);

/// All of them, each in a place that is used again.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) const fn new() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
        }
    }

    /// How many are in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.all.len() - self.free.len()
    }

    #[inline]
    pub(super) fn put(&mut self, now: Time, path: usize, piece: Piece) -> Tag {
        let slot = Slot {
            piece,
            posted: now,
            generation: 0,
            path: path as u16,
            used: true,
        };
        if let Some(at) = self.free.pop() {
            let place = &mut self.all[at as usize];
            let generation = place.generation;
            *place = Slot { generation, ..slot };
            return Tag::of(at, generation);
        }
        self.all.push(slot);
        // Room to free all of them, so that freeing never allocates.
        self.free.reserve(self.all.len());
        Tag::of(self.all.len() as u32 - 1, 0)
    }

    /// The work request of a tag, unless it is no more.
    #[inline]
    pub(super) fn take(&mut self, tag: Tag) -> Option<Slot> {
        let slot = self.all.get(tag.slot())?;
        if !slot.used || slot.generation != tag.generation() {
            return None;
        }
        Some(self.free(tag.slot()))
    }

    fn free(&mut self, at: usize) -> Slot {
        let slot = &mut self.all[at];
        let taken = *slot;
        slot.used = false;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(at as u32);
        taken
    }

    /// Takes back the oldest one of a path.
    pub(super) fn take_of(&mut self, path: usize) -> Option<Slot> {
        let of_path = |&at: &usize| self.all[at].used && usize::from(self.all[at].path) == path;
        let found = (0..self.all.len()).filter(of_path);
        let oldest = found.min_by_key(|&at| {
            let slot = &self.all[at];
            (slot.posted, slot.piece.number, slot.piece.offset)
        })?;
        Some(self.free(oldest))
    }

    /// Nobody waits any more for what belongs to this message and later ones.
    pub(super) fn orphan(&mut self, from: u64) {
        for slot in self.all.iter_mut().filter(|slot| slot.used) {
            let is_message = matches!(slot.piece.kind, Kind::Data | Kind::Notice);
            if is_message && slot.piece.number >= from {
                slot.piece.kind = Kind::Orphan;
            }
        }
    }

    pub(super) fn heap(&self) -> usize {
        self.all.capacity() * size_of::<Slot>() + self.free.capacity() * size_of::<u32>()
    }
}
