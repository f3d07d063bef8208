//! Which messages wait for which.

use std::ops::Range;

use crate::MessageSpec;

/// Who waits for whom, and what is still to arrive.
///
/// A message waits for the one that its [`MessageSpec::after`] names, and for all that join it.
#[derive(Clone, Debug)]
pub(crate) struct Precedence {
    /// For each message, those that wait for it: `successors[first[m]..first[m + 1]]`.
    first: Vec<u32>,
    successors: Vec<u32>,
    /// For each message, how many of it and those that join it haven't arrived.
    missing: Vec<u32>,
}

impl Precedence {
    pub(crate) fn new(specs: &[MessageSpec]) -> Self {
        let numbered = || (0u32..).zip(specs);
        let mut first = vec![0u32; specs.len() + 2];
        let mut missing = vec![1; specs.len()];
        for spec in specs {
            if let Some(before) = spec.after {
                first[before as usize + 2] += 1;
            }
            if let Some(other) = spec.joins {
                missing[other as usize] += 1;
            }
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut successors = vec![0; first[first.len() - 1] as usize];
        for (number, spec) in numbered() {
            if let Some(before) = spec.after {
                let slot = &mut first[before as usize + 1];
                successors[*slot as usize] = number;
                *slot += 1;
            }
        }
        Self {
            first,
            successors,
            missing,
        }
    }

    /// Message number `message` has arrived. Gives the ranges of those that have nothing left to wait for, for
    /// [`successor`](Self::successor).
    pub(crate) fn arrived(&mut self, specs: &[MessageSpec], message: u32) -> [Range<usize>; 2] {
        let joined = specs[message as usize].joins;
        [Some(message), joined].map(|one| one.map_or(0..0, |one| self.count(one)))
    }

    /// One fewer is missing of a message; if that was the last, those that wait for it.
    fn count(&mut self, message: u32) -> Range<usize> {
        let at = message as usize;
        self.missing[at] = self.missing[at].saturating_sub(1);
        match self.missing[at] {
            0 => self.first[at] as usize..self.first[at + 1] as usize,
            _ => 0..0,
        }
    }

    /// The message at a place of a range.
    pub(crate) fn successor(&self, at: usize) -> u32 {
        self.successors[at]
    }

    /// Whether a message, or one that joins it, is still to arrive.
    pub(crate) fn is_missing(&self, message: u32) -> bool {
        self.missing[message as usize] > 0
    }
}
