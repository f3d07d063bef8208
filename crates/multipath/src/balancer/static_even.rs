//! An equal number of bytes for every path, however fast it is.
//!
//! S1, section III.B, has it as what not to do: one path with heavy traffic then holds up the whole message.

use fairlane_units::{Bytes, Time};

use super::quota::Quota;
use super::{Balance, Choice};
use crate::{Paths, Settings};

/// Equal parts of each message.
#[derive(Clone, Debug)]
pub struct StaticEven {
    quota: Quota,
}

impl Balance for StaticEven {
    fn new(_settings: &Settings, paths: usize, _seed: u64) -> Self {
        Self {
            quota: Quota::new(paths),
        }
    }

    fn choose(&mut self, _now: Time, left: Bytes, paths: &Paths) -> Option<Choice> {
        self.quota.choose(left, paths, |_| 1)
    }

    fn on_posted(&mut self, path: usize, bytes: Bytes) {
        self.quota.take(path, bytes.get().max(1));
    }

    fn on_change(&mut self, _now: Time, _paths: &Paths) {
        self.quota.forget();
    }

    fn heap(&self) -> usize {
        self.quota.heap()
    }
}
