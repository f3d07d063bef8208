//! Bytes in proportion to capacity, so that all paths finish at one time.
//!
//! Source: S3, section 3.5, eq. 1: data / capacity is the same for all paths, and the data adds up to the
//! message; work requests go round robin. The capacity is that of [`Paths`]: from probes, and from completions
//! later (S3: "historical information"). A path of which nothing is known counts as the mean of the others.

use fairlane_units::{Bytes, Time};

use super::quota::Quota;
use super::{Balance, Choice};
use crate::{Paths, Settings};

/// Parts of each message by capacity.
#[derive(Clone, Debug)]
pub struct Proportional {
    quota: Quota,
}

impl Balance for Proportional {
    fn new(_settings: &Settings, paths: usize, _seed: u64) -> Self {
        Self {
            quota: Quota::new(paths),
        }
    }

    fn choose(&mut self, _now: Time, left: Bytes, paths: &Paths) -> Option<Choice> {
        let weight = |path| match paths.weight(path) {
            0 => mean(paths),
            known => known,
        };
        self.quota.choose(left, paths, weight)
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

/// The mean weight of the paths that are known, 1 if none is.
fn mean(paths: &Paths) -> u64 {
    let weights = (0..paths.count()).map(|it| paths.weight(it));
    let known = weights.filter(|&weight| weight > 0);
    let (sum, count) = known.fold((0, 0), |(sum, count), it| (sum + it, count + 1));
    (sum / u64::max(count, 1)).max(1)
}
