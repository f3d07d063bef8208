//! Whether everything begins one day.

use alloc::vec;
use alloc::vec::Vec;

use super::lower::Origins;
use super::{Expansion, Node};
use crate::Error;

/// # Errors
/// At an operation that waits for itself.
pub(super) fn check(expansion: &Expansion, origins: &Origins) -> Result<(), Error> {
    let messages = expansion.messages.len();
    let at = |node: Node| match node {
        Node::Message(it) => it as usize,
        Node::Step(it) => messages + it as usize,
    };
    let count = messages + expansion.steps.len();
    let begins = (0u32..).zip(&expansion.steps);
    let begins =
        begins.filter_map(|(number, step)| Some((Node::Step(number), Node::Step(step.begins?))));
    let edges: Vec<(usize, usize)> = begins
        .chain(expansion.edges.iter().copied())
        .map(|(before, after)| (at(before), at(after)))
        .collect();
    let mut first = vec![0u32; count + 2];
    let mut missing = vec![0u32; count];
    for &(before, after) in &edges {
        first[before + 2] += 1;
        missing[after] += 1;
    }
    for node in 1..first.len() {
        first[node] += first[node - 1];
    }
    let mut successors = vec![0; edges.len()];
    for &(before, after) in &edges {
        let slot = &mut first[before + 1];
        successors[*slot as usize] = after;
        *slot += 1;
    }
    let mut ready: Vec<usize> = (0..count).filter(|&node| missing[node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &next in &successors[first[node] as usize..first[node + 1] as usize] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(next);
            }
        }
    }
    let Some(stuck) = on_cycle(&missing, &edges) else {
        return Ok(());
    };
    let origin = match stuck.checked_sub(messages) {
        Some(step) => origins.steps[step],
        None => origins.messages[stuck],
    };
    let message = "waits for itself through what it waits for";
    let hint = "let one of the operations of the circle begin without the others";
    Err(Error::new(origin, message, hint))
}

/// A node on a cycle, if some nodes are still missing others: whoever goes back from one of them long enough comes to one.
fn on_cycle(missing: &[u32], edges: &[(usize, usize)]) -> Option<usize> {
    let mut before = vec![usize::MAX; missing.len()];
    for &(from, to) in edges {
        if missing[from] > 0 && missing[to] > 0 {
            before[to] = from;
        }
    }
    let mut node = missing.iter().position(|missing| *missing > 0)?;
    for _ in 0..missing.len() {
        node = before[node];
    }
    Some(node)
}
