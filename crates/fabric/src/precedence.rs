//! Which messages wait for which.

use crate::MessageSpec;

/// Who waits for whom, and what is still to arrive.
///
/// A message waits for the one that its [`MessageSpec::after`] names, and for all that join it.
#[derive(Clone, Debug)]
pub(crate) struct Precedence {
    /// For each message, those that wait for it: `successors[first[m]..first[m + 1]]`.
    first: Vec<u32>,
    successors: Vec<u32>,
    /// For each message, how many it waits for.
    missing: Vec<u32>,
}

impl Precedence {
    pub(crate) fn new(specs: &[MessageSpec]) -> Self {
        let numbered = || (0u32..).zip(specs);
        let mut first = vec![0u32; specs.len() + 2];
        let mut joined = vec![1; specs.len()];
        for spec in specs {
            if let Some(before) = spec.after {
                first[before as usize + 2] += 1;
            }
            if let Some(other) = spec.joins {
                joined[other as usize] += 1;
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
        let missing = |spec: &MessageSpec| spec.after.map_or(0, |before| joined[before as usize]);
        Self {
            first,
            successors,
            missing: specs.iter().map(missing).collect(),
        }
    }

    /// Those that wait for a message, or for the one that it joins.
    pub(crate) fn successors(
        &self,
        specs: &[MessageSpec],
        message: u32,
    ) -> impl Iterator<Item = u32> + '_ {
        let joined = specs[message as usize].joins;
        let of = |one: u32| {
            let at = one as usize;
            self.successors[self.first[at] as usize..self.first[at + 1] as usize].iter()
        };
        of(message).chain(joined.into_iter().flat_map(of)).copied()
    }

    /// One fewer is missing of those that `message` waits for; whether that was the last.
    pub(crate) fn arrived(&mut self, message: u32) -> bool {
        let missing = &mut self.missing[message as usize];
        let waited = *missing > 0;
        *missing = missing.saturating_sub(1);
        waited && *missing == 0
    }

    /// Whether a message waits for another.
    pub(crate) fn waits(&self, message: u32) -> bool {
        self.missing[message as usize] > 0
    }
}
