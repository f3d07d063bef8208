//! The path on which the chunk would be acknowledged first.
//!
//! The estimate is round trip plus what is in flight and the chunk at the path's capacity. A path that looked
//! bad once would never be tried again, so that one chunk in 64 goes to the next path in turn.

use fairlane_units::{Bytes, Time};

use super::{Balance, Choice};
use crate::{Paths, Settings};

const EXPLORE: u32 = 64;

/// Chunks by expected delay.
#[derive(Clone, Debug)]
pub struct LeastDelay {
    count: u32,
    explored: usize,
}

impl Balance for LeastDelay {
    fn new(_settings: &Settings, _paths: usize, _seed: u64) -> Self {
        Self {
            count: 0,
            explored: 0,
        }
    }

    fn choose(&mut self, _now: Time, left: Bytes, paths: &Paths) -> Option<Choice> {
        let count = paths.count();
        let turn = (self.explored..count).chain(0..self.explored);
        let mut open = turn.filter(|&it| paths.is_open(it));
        let path = if self.count == EXPLORE {
            let path = open.next()?;
            self.explored = (path + 1) % count;
            self.count = 0;
            path
        } else {
            let delay = |it: &usize| paths.expected(*it, left.min(paths.limit(*it)));
            open.min_by_key(delay)?
        };
        self.count += 1;
        Some(Choice::of(path))
    }
}
