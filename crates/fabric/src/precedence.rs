//! Which messages and local steps wait for which.

use std::sync::Arc;

use fairlane_units::MessageId;

use crate::MessageSpec;
use fairlane_scenario::traffic::{STEP, Steps};

/// Who waits for whom, and what is still to arrive. Nodes are messages, then local steps.
///
/// A message waits for the one that its [`MessageSpec::after`] names, and for all that join it; messages and steps of programs for
/// whatever has an edge to them. Parts of a fabric share what doesn't change.
#[derive(Clone, Debug)]
pub(crate) struct Precedence {
    /// For each node, those that wait for it: `successors[first[n]..first[n + 1]]`.
    first: Arc<[u32]>,
    successors: Arc<[u32]>,
    /// For each node, how many it waits for.
    missing: Vec<u32>,
}

impl Precedence {
    pub(crate) fn new(specs: &[MessageSpec], steps: &Steps) -> Self {
        let nodes = specs.len() + steps.all.len();
        let mut joined = vec![1; specs.len()];
        for other in specs.iter().filter_map(|spec| spec.joins) {
            joined[other.index()] += 1;
        }
        let named = |node: u32| match node.checked_sub(STEP) {
            Some(step) => specs.len() as u32 + step,
            None => node,
        };
        let after = (0u32..).zip(specs);
        let after = after.filter_map(|(number, spec)| Some((spec.after?.get(), number)));
        let edges = steps.edges.iter();
        let edges = edges.map(|&(before, after)| (named(before), named(after)));
        let edges = || after.clone().chain(edges.clone());
        let mut first = vec![0u32; nodes + 2];
        let mut missing = vec![0; nodes];
        for (before, node) in edges() {
            first[before as usize + 2] += 1;
            missing[node as usize] += joined.get(before as usize).copied().unwrap_or(1);
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut successors = vec![0; first[first.len() - 1] as usize];
        for (before, node) in edges() {
            let slot = &mut first[before as usize + 1];
            successors[*slot as usize] = node;
            *slot += 1;
        }
        Self {
            first: first.into(),
            successors: successors.into(),
            missing,
        }
    }

    /// The nodes that wait for a node, or for the message that it joins.
    pub(crate) fn successors(
        &self,
        specs: &[MessageSpec],
        node: u32,
    ) -> impl Iterator<Item = u32> + '_ {
        let joined = specs.get(node as usize).and_then(|spec| spec.joins);
        let joined = joined.map(MessageId::get);
        let of = |one: u32| {
            let at = one as usize;
            self.successors[self.first[at] as usize..self.first[at + 1] as usize].iter()
        };
        of(node).chain(joined.into_iter().flat_map(of)).copied()
    }

    /// One fewer is missing of those that `node` waits for; whether that was the last.
    pub(crate) fn arrived(&mut self, node: u32) -> bool {
        let missing = &mut self.missing[node as usize];
        let waited = *missing > 0;
        *missing = missing.saturating_sub(1);
        waited && *missing == 0
    }

    /// Whether a node waits for another.
    pub(crate) fn waits(&self, node: u32) -> bool {
        self.missing[node as usize] > 0
    }
}

#[cfg(test)]
mod tests {
    use fairlane_units::{Duration, NodeId, Time};

    use super::*;
    use fairlane_scenario::traffic::Step;

    /// Every part of a fabric has one, and a program may have hundreds of millions of edges.
    #[test]
    fn copies_share_what_does_not_change() {
        let step = Step {
            rank: 0,
            host: NodeId::new(0),
            workload: 0,
            iteration: 0,
            start: Time::ZERO,
            time: Duration::ZERO,
            stream: None,
            begins: None,
        };
        let steps = Steps {
            all: vec![step; 2],
            edges: vec![(STEP, STEP + 1)],
            ..Steps::default()
        };
        let one = Precedence::new(&[], &steps);
        let mut other = one.clone();
        assert!(Arc::ptr_eq(&one.first, &other.first));
        assert!(Arc::ptr_eq(&one.successors, &other.successors));
        assert!(other.arrived(1));
        assert!(one.waits(1) && !other.waits(1));
    }
}
