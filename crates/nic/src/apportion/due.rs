//! When gates open.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairlane_units::Time;

/// Gates by when they open, the earliest first; of those that open at the same time the one with the lowest number.
#[derive(Clone, Debug, Default)]
pub(super) struct Due {
    /// The first entry always holds; others may be out of date.
    entries: BinaryHeap<Reverse<(Time, u32)>>,
    /// By gate.
    at: Vec<Option<Time>>,
}

impl Due {
    /// A gate opens then, or not by itself.
    pub(super) fn set(&mut self, gate: u32, at: Option<Time>) {
        let place = gate as usize;
        if self.at.len() <= place {
            self.at.resize(place + 1, None);
        }
        if core::mem::replace(&mut self.at[place], at) == at {
            return;
        }
        if let Some(at) = at {
            self.entries.push(Reverse((at, gate)));
        }
        while let Some(&Reverse((at, gate))) = self.entries.peek()
            && self.at[gate as usize] != Some(at)
        {
            self.entries.pop();
        }
    }

    /// The gate that opens first, and when.
    pub(super) fn first(&self) -> Option<(Time, u32)> {
        self.entries.peek().map(|&Reverse(first)| first)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_that_of_a_plain_search(
            steps in prop::collection::vec((0u32..9, prop::option::of(0u64..20)), 1..200),
        ) {
            let (mut due, mut model) = (Due::default(), [None; 9]);
            for (gate, at) in steps {
                let at = at.map(Time::from_ns);
                due.set(gate, at);
                model[gate as usize] = at;
                let all = (0u32..).zip(&model).filter_map(|(gate, at)| Some(((*at)?, gate)));
                prop_assert_eq!(due.first(), all.min());
            }
        }
    }
}
