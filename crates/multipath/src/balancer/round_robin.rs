//! One path after the other, whatever their state: a full one is waited for.
//!
//! What aws-ofi-nccl does with rails and NCCL with queue pairs. It is as slow as the slowest path times their number.

use fairlane_units::{Bytes, Time};

use super::{Balance, Choice};
use crate::{Paths, Settings};

/// Chunks in turn.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    next: usize,
}

impl Balance for RoundRobin {
    fn new(_settings: &Settings, _paths: usize, _seed: u64) -> Self {
        Self { next: 0 }
    }

    fn choose(&mut self, _now: Time, _left: Bytes, paths: &Paths) -> Option<Choice> {
        let count = paths.count();
        let mut turn = (self.next..count).chain(0..self.next);
        let path = turn.find(|&it| paths.is_usable(it))?;
        if !paths.is_open(path) {
            return None;
        }
        self.next = (path + 1) % count;
        Some(Choice::of(path))
    }
}
