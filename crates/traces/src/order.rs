//! Operations of a rank that wait for each other.

use fairlane_program::Operation;

fn before(operation: &Operation) -> impl Iterator<Item = usize> {
    let all = operation.after.iter().chain(&operation.after_start);
    all.map(|&index| index as usize)
}

/// A cycle of operations of one rank, if there is one: each waits for the next, the last for the first.
pub(crate) fn cycle(operations: &[Operation]) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = operations.iter().map(|it| before(it).count()).collect();
    let mut behind = vec![Vec::new(); operations.len()];
    for (index, operation) in operations.iter().enumerate() {
        before(operation).for_each(|earlier| behind[earlier].push(index));
    }
    let mut free: Vec<usize> = (0..operations.len())
        .filter(|&it| waiting[it] == 0)
        .collect();
    while let Some(done) = free.pop() {
        for &next in &behind[done] {
            waiting[next] -= 1;
            if waiting[next] == 0 {
                free.push(next);
            }
        }
    }
    // Whoever still waits does so for one that waits, so this walk comes back to where it has been.
    let mut at = waiting.iter().position(|&count| count > 0)?;
    let mut walked = Vec::new();
    let mut seen = vec![None; operations.len()];
    loop {
        if let Some(start) = seen[at] {
            return Some(walked.split_off(start));
        }
        seen[at] = Some(walked.len());
        walked.push(at);
        at = before(&operations[at]).find(|&earlier| waiting[earlier] > 0)?;
    }
}

/// The names of a cycle's operations, as a message says them.
pub(crate) fn chain(names: impl Iterator<Item = String>) -> String {
    const MOST: usize = 6;
    let mut names: Vec<String> = names.collect();
    let left_out = names.len().saturating_sub(MOST);
    let first = names.first().cloned().unwrap_or_default();
    names.truncate(MOST);
    if left_out > 0 {
        names.push(format!("{left_out} others"));
    }
    names.push(first);
    names.join(", which waits for ")
}
