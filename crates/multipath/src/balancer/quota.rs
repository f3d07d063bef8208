//! Bytes that are promised to each path before the first one goes.

use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::Bytes;

use super::Choice;
use crate::Paths;

/// What each path still has to carry of what was divided.
#[derive(Clone, Debug)]
pub(super) struct Quota {
    left: Vec<u64>,
    /// The path whose turn it is, if it has something left.
    next: usize,
}

impl Quota {
    pub(super) fn new(paths: usize) -> Self {
        Self {
            left: vec![0; paths],
            next: 0,
        }
    }

    /// The next path in turn that has something left and is open. When nobody usable has anything, `message`
    /// is divided by `weight`, which is above zero for every usable path.
    pub(super) fn choose(
        &mut self,
        message: Bytes,
        paths: &Paths,
        weight: impl Fn(usize) -> u64,
    ) -> Option<Choice> {
        let pending = |left: &[u64]| (0..left.len()).any(|it| left[it] > 0 && paths.is_usable(it));
        if !pending(&self.left) {
            self.divide(message.get().max(1), paths, weight);
        }
        let count = self.left.len();
        let turn = (self.next..count).chain(0..self.next);
        let path = { turn }.find(|&it| self.left[it] > 0 && paths.is_open(it))?;
        self.next = (path + 1) % count;
        Some(Choice {
            path,
            at_most: Bytes::new(self.left[path]),
        })
    }

    /// Shares are rounded so that each is less than a byte away from exact, and the sum is.
    fn divide(&mut self, message: u64, paths: &Paths, weight: impl Fn(usize) -> u64) {
        self.left.fill(0);
        let usable = |it: &usize| paths.is_usable(*it);
        let all: u128 = (0..self.left.len())
            .filter(usable)
            .map(|it| u128::from(weight(it)))
            .sum();
        let (mut before, mut given) = (0u128, 0u64);
        for path in (0..self.left.len()).filter(usable) {
            before += u128::from(weight(path));
            let until = (u128::from(message) * before / all.max(1)) as u64;
            self.left[path] = until - given;
            given = until;
        }
    }

    /// A path has taken so many bytes.
    pub(super) fn take(&mut self, path: usize, bytes: u64) {
        self.left[path] = self.left[path].saturating_sub(bytes);
    }

    pub(super) fn heap(&self) -> usize {
        self.left.capacity() * size_of::<u64>()
    }

    /// Nothing is promised: paths have come or gone.
    pub(super) fn forget(&mut self) {
        self.left.fill(0);
    }
}
