//! A path earns its next chunk by completing one.
//!
//! Source: S1, algorithm 1: every queue pair begins with a small, equal amount; a completion on one brings it
//! the next chunk, so that slow paths get less. A path with room is one that has earned a chunk; of several,
//! the one with the fewest chunks in flight goes first, and in turn if they have as many.

use fairlane_units::{Bytes, Time};

use super::{Balance, Choice};
use crate::{Paths, Settings};

/// Chunks by completions.
#[derive(Clone, Debug)]
pub struct Completion {
    next: usize,
}

impl Balance for Completion {
    fn new(_settings: &Settings, _paths: usize, _seed: u64) -> Self {
        Self { next: 0 }
    }

    fn choose(&mut self, _now: Time, _left: Bytes, paths: &Paths) -> Option<Choice> {
        let count = paths.count();
        let turn = (self.next..count).chain(0..self.next);
        let open = turn.filter(|&it| paths.is_open(it));
        let path = open.min_by_key(|&it| paths.in_flight(it))?;
        self.next = (path + 1) % count;
        Some(Choice::of(path))
    }
}
