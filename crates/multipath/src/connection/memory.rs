//! The pieces of local memory of all messages, and which of them a chunk covers.

use crate::Segment;
use crate::numbered::Numbered;

/// A piece, and where it begins in its message.
#[derive(Clone, Copy, Debug)]
struct Held {
    segment: Segment,
    start: u64,
}

/// Pieces of all messages, in the order of posting.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    held: Numbered<Held>,
}

/// The pieces of one message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pieces {
    first: u64,
    count: u64,
}

impl Memory {
    pub(super) const fn new() -> Self {
        Self {
            held: Numbered::new(),
        }
    }

    /// Keeps the pieces of a message; empty ones are of no use.
    pub(super) fn keep(&mut self, memory: &[Segment]) -> Pieces {
        let first = self.held.end();
        let mut start = 0;
        for &segment in memory.iter().filter(|it| it.length > 0) {
            self.held.push(Held { segment, start });
            start += segment.length;
        }
        Pieces {
            first,
            count: self.held.end() - first,
        }
    }

    /// Forgets the pieces of the oldest message.
    pub(super) fn release(&mut self, pieces: Pieces) {
        for _ in 0..pieces.count {
            self.held.pop();
        }
    }

    /// The number of the piece that a position lies in.
    fn find(&self, pieces: Pieces, offset: u64) -> u64 {
        let (mut low, mut high) = (pieces.first, pieces.first + pieces.count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.held.get(middle) {
                Some(held) if held.start <= offset => low = middle,
                _ => high = middle,
            }
        }
        low
    }

    /// How many of `length` bytes from `offset` on lie in `most` pieces.
    #[inline]
    pub(super) fn cut(&self, pieces: Pieces, offset: u64, length: u64, most: usize) -> u64 {
        if pieces.count <= most as u64 {
            return length;
        }
        let behind = self.find(pieces, offset) + most as u64;
        match self.held.get(behind) {
            Some(held) if behind < pieces.first + pieces.count => length.min(held.start - offset),
            _ => length,
        }
    }

    /// The pieces of `length` bytes from `offset` on.
    pub(super) fn within(
        &self,
        pieces: Pieces,
        offset: u64,
        length: u64,
    ) -> impl Iterator<Item = Segment> + '_ {
        let end = offset + length;
        let from = self.find(pieces, offset);
        let numbers = from..pieces.first + pieces.count;
        let held = numbers.filter_map(|number| self.held.get(number));
        held.take_while(move |it| length > 0 && it.start < end)
            .map(move |it| {
                let skip = offset.saturating_sub(it.start);
                let stop = (end - it.start).min(it.segment.length);
                Segment {
                    address: it.segment.address + skip,
                    length: stop - skip,
                    key: it.segment.key,
                }
            })
    }

    pub(super) fn heap(&self) -> usize {
        self.held.heap()
    }
}

impl Pieces {
    pub(super) const fn count(self) -> usize {
        self.count as usize
    }
}
