//! Sparse symmetric systems of the form `diagonal + sum over columns of factor * a a'`: the normal equations of an
//! interior-point method, in which rows are joined by the rates that use both.
//!
//! Rows of few neighbours are eliminated first (minimum degree: George and Liu, "The evolution of the minimum degree
//! ordering algorithm", 1989), until those that are left are joined with about all others; these make a dense rest. The
//! order and where numbers go depend on the pattern alone, and are found once.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// Part of all others that each of the rows left is joined with where the rest counts as dense.
const DENSE: f64 = 0.5;
/// Rows of the dense rest that are eliminated together.
const BLOCK: usize = 48;
/// Pivots below this part of the diagonal are rounding: their unknowns don't change.
const ROUNDING: f64 = 1e-15;
/// Times that a solution is corrected by what it leaves.
const CORRECTIONS: usize = 2;

/// The pattern of a system.
pub(super) struct Pattern {
    /// Place of each row in the order of elimination.
    place: Vec<usize>,
    /// Rows that are eliminated one by one; the rest is dense.
    sparse: usize,
    /// Places below the diagonal that each of these columns has, ascending, and where they start.
    below: Vec<u32>,
    starts: Vec<usize>,
    /// Where the products of a column's entries go, column by column.
    targets: Vec<usize>,
    /// Multiplications of an elimination.
    work: f64,
}

/// A system that has been eliminated.
pub(super) struct Factor {
    pivots: Vec<f64>,
    /// Entries of `below`, then the dense rest by row, of which the upper half counts.
    entries: Vec<f64>,
}

/// A column's uses of rows, and its part in the system.
pub(super) struct Term<'a> {
    pub(super) uses: &'a [(u32, f64)],
    pub(super) factor: f64,
}

impl Pattern {
    /// The pattern of a system of so many rows whose columns use these.
    pub(super) fn new<'a>(
        rows: usize,
        columns: impl Iterator<Item = &'a [(u32, f64)]> + Clone,
    ) -> Self {
        let mut joined = alloc::vec![Vec::new(); rows];
        for uses in columns.clone() {
            for &(row, _) in uses {
                let others = uses.iter().filter(|(other, _)| *other != row);
                joined[row as usize].extend(others.map(|(other, _)| *other));
            }
            // Lists are kept short, since many columns join the same rows.
            for &(row, _) in uses {
                let list = &mut joined[row as usize];
                if list.len() > 4 * rows {
                    list.sort_unstable();
                    list.dedup();
                }
            }
        }
        for list in &mut joined {
            list.sort_unstable();
            list.dedup();
        }
        let (order, sparse, lists) = eliminate(joined);
        let mut place = alloc::vec![0; rows];
        for (at, row) in order.iter().enumerate() {
            place[*row as usize] = at;
        }
        let (mut below, mut starts) = (Vec::new(), alloc::vec![0]);
        let width = (rows - sparse) as f64;
        let mut work = width * width * width / 6.0;
        for list in lists {
            let first = below.len();
            below.extend(list.iter().map(|row| place[*row as usize] as u32));
            below[first..].sort_unstable();
            starts.push(below.len());
            work += (list.len() * list.len()) as f64 / 2.0;
        }
        let mut pattern = Self {
            place,
            sparse,
            below,
            starts,
            targets: Vec::new(),
            work,
        };
        for uses in columns {
            for (at, &(row, _)) in uses.iter().enumerate() {
                for &(other, _) in &uses[..=at] {
                    let target = pattern.target(row as usize, other as usize);
                    pattern.targets.push(target);
                }
            }
        }
        pattern
    }

    /// Multiplications that an elimination takes.
    pub(super) fn work(&self) -> f64 {
        self.work
    }

    fn rows(&self) -> usize {
        self.place.len()
    }

    /// Where the entry of two rows is: pivots first, then entries.
    fn target(&self, row: usize, other: usize) -> usize {
        let rows = self.rows();
        let (a, b) = (self.place[row], self.place[other]);
        let (a, b) = (a.min(b), a.max(b));
        if a == b {
            return a;
        }
        if a >= self.sparse {
            let width = rows - self.sparse;
            return rows + self.below.len() + (a - self.sparse) * width + b - self.sparse;
        }
        let list = &self.below[self.starts[a]..self.starts[a + 1]];
        rows + self.starts[a] + list.partition_point(|place| (*place as usize) < b)
    }

    /// Eliminates `diagonal + sum of factor * a a'`; columns are those of the pattern, in the same order.
    pub(super) fn factor<'a>(
        &self,
        diagonal: &[f64],
        columns: impl Iterator<Item = Term<'a>>,
    ) -> Factor {
        let rows = self.rows();
        let width = rows - self.sparse;
        let mut numbers = alloc::vec![0.0; rows + self.below.len() + width * width];
        for (row, value) in diagonal.iter().enumerate() {
            numbers[self.place[row]] = *value;
        }
        let mut targets = self.targets.iter();
        for Term { uses, factor } in columns {
            for (at, &(_, load)) in uses.iter().enumerate() {
                let scaled = factor * load;
                for (&(_, other), target) in uses[..=at].iter().zip(&mut targets) {
                    numbers[*target] += scaled * other;
                }
            }
        }
        let mut entries = numbers.split_off(rows);
        let mut pivots = numbers;
        let least: Vec<f64> = pivots.iter().map(|pivot| ROUNDING * pivot).collect();
        self.eliminate_sparse(&mut pivots, &mut entries, &least);
        let dense = &mut entries[self.below.len()..];
        eliminate_dense(&mut pivots[self.sparse..], dense, &least[self.sparse..]);
        Factor { pivots, entries }
    }

    /// Column by column: takes from each what columns before it that have it below their diagonal say.
    fn eliminate_sparse(&self, pivots: &mut [f64], entries: &mut [f64], least: &[f64]) {
        let rows = self.rows();
        let width = rows - self.sparse;
        let (sparse, dense) = entries.split_at_mut(self.below.len());
        let mut work = alloc::vec![0.0; rows];
        // Columns by the place that they come to next, as lists: the first of each, and what follows it.
        let mut heads = alloc::vec![usize::MAX; rows];
        let mut follows = alloc::vec![usize::MAX; self.sparse];
        let mut next: Vec<usize> = self.starts[..self.sparse].to_vec();
        for at in 0..rows {
            let own = (at < self.sparse).then(|| self.starts[at]..self.starts[at + 1]);
            for entry in own.clone().into_iter().flatten() {
                work[self.below[entry] as usize] = sparse[entry];
            }
            let mut column = heads[at];
            while column != usize::MAX {
                let following = follows[column];
                let (first, end) = (next[column], self.starts[column + 1]);
                let share = sparse[first] * pivots[column];
                pivots[at] -= share * sparse[first];
                let rest = first + 1..end;
                if own.is_some() {
                    for entry in rest {
                        work[self.below[entry] as usize] -= share * sparse[entry];
                    }
                } else {
                    let line = &mut dense[(at - self.sparse) * width..][..width];
                    for entry in rest {
                        line[self.below[entry] as usize - self.sparse] -= share * sparse[entry];
                    }
                }
                next[column] = first + 1;
                if first + 1 < end {
                    let to = self.below[first + 1] as usize;
                    follows[column] = heads[to];
                    heads[to] = column;
                }
                column = following;
            }
            let Some(own) = own else { continue };
            pivots[at] = pivot(pivots[at], least[at]);
            for entry in own.clone() {
                sparse[entry] = work[self.below[entry] as usize] / pivots[at];
            }
            if !own.is_empty() {
                let to = self.below[own.start] as usize;
                follows[at] = heads[to];
                heads[to] = at;
            }
        }
    }

    /// Solves the system of these columns for `right`.
    pub(super) fn solve<'a, I: Iterator<Item = Term<'a>>>(
        &self,
        factor: &Factor,
        diagonal: &[f64],
        columns: impl Fn() -> I,
        right: &[f64],
    ) -> Vec<f64> {
        let mut found = self.substitute(factor, right);
        for _ in 0..CORRECTIONS {
            let terms = right.iter().zip(diagonal).zip(&found);
            let mut left: Vec<f64> = terms.map(|((right, d), x)| right - d * x).collect();
            for Term { uses, factor } in columns() {
                let product: f64 = uses.iter().map(|(row, a)| a * found[*row as usize]).sum();
                for (row, load) in uses {
                    left[*row as usize] -= factor * product * load;
                }
            }
            let change = self.substitute(factor, &left);
            for (found, change) in found.iter_mut().zip(change) {
                *found += change;
            }
        }
        found
    }

    fn substitute(&self, factor: &Factor, right: &[f64]) -> Vec<f64> {
        let rows = self.rows();
        let width = rows - self.sparse;
        let (sparse, dense) = factor.entries.split_at(self.below.len());
        let mut found = alloc::vec![0.0; rows];
        for (row, value) in right.iter().enumerate() {
            found[self.place[row]] = *value;
        }
        let line = |at: usize| {
            &dense[(at - self.sparse) * width + at + 1 - self.sparse..][..rows - at - 1]
        };
        for at in 0..rows {
            let value = found[at];
            if at < self.sparse {
                for entry in self.starts[at]..self.starts[at + 1] {
                    found[self.below[entry] as usize] -= sparse[entry] * value;
                }
            } else {
                for (found, entry) in found[at + 1..].iter_mut().zip(line(at)) {
                    *found -= entry * value;
                }
            }
        }
        for at in (0..rows).rev() {
            let mut value = found[at] / factor.pivots[at];
            if at < self.sparse {
                for entry in self.starts[at]..self.starts[at + 1] {
                    value -= sparse[entry] * found[self.below[entry] as usize];
                }
            } else {
                for (found, entry) in found[at + 1..].iter().zip(line(at)) {
                    value -= entry * found;
                }
            }
            found[at] = value;
        }
        self.place.iter().map(|place| found[*place]).collect()
    }
}

fn pivot(value: f64, least: f64) -> f64 {
    if value > least { value } else { f64::MAX }
}

/// Orders rows by how many others they are joined with: the order, how many come before the dense rest, and what each
/// of these is joined with when its turn comes.
fn eliminate(mut joined: Vec<Vec<u32>>) -> (Vec<u32>, usize, Vec<Vec<u32>>) {
    let mut queue: BTreeSet<(usize, u32)> = (0_u32..)
        .zip(&joined)
        .map(|(row, list)| (list.len(), row))
        .collect();
    let mut degrees: Vec<usize> = joined.iter().map(Vec::len).collect();
    // Lists keep rows that are gone until they change otherwise: some are long, and change often.
    let mut is_gone = alloc::vec![false; joined.len()];
    let (mut order, mut lists) = (Vec::with_capacity(joined.len()), Vec::new());
    while let Some(&(degree, row)) = queue.first() {
        if degree as f64 > DENSE * queue.len() as f64 {
            break;
        }
        queue.remove(&(degree, row));
        is_gone[row as usize] = true;
        let mut own = core::mem::take(&mut joined[row as usize]);
        own.retain(|other| !is_gone[*other as usize]);
        for &other in &own {
            let (list, degree) = (&mut joined[other as usize], &mut degrees[other as usize]);
            queue.remove(&(*degree, other));
            let is_new = |row: &&u32| **row != other && list.binary_search(row).is_err();
            if own.iter().any(|row| is_new(&row)) {
                *list = merged(list, &own);
                list.retain(|row| *row != other && !is_gone[*row as usize]);
                *degree = list.len();
            } else {
                *degree -= 1;
            }
            queue.insert((*degree, other));
        }
        order.push(row);
        lists.push(own);
    }
    let sparse = order.len();
    order.extend(queue.into_iter().map(|(_, row)| row));
    (order, sparse, lists)
}

/// Two ascending lists as one.
fn merged(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut list = Vec::with_capacity(one.len() + other.len());
    let (mut a, mut b) = (0, 0);
    while a < one.len() || b < other.len() {
        let first = one.get(a).copied().unwrap_or(u32::MAX);
        let second = other.get(b).copied().unwrap_or(u32::MAX);
        let least = first.min(second);
        a += usize::from(first == least);
        b += usize::from(second == least);
        list.push(least);
    }
    list
}

/// Eliminates a dense matrix by row, of which the upper half counts; several rows at a time, so that what they change is
/// read less often.
fn eliminate_dense(pivots: &mut [f64], matrix: &mut [f64], least: &[f64]) {
    let width = pivots.len();
    for start in (0..width).step_by(BLOCK) {
        let end = (start + BLOCK).min(width);
        for at in start..end {
            pivots[at] = pivot(pivots[at], least[at]);
            let (above, rest) = matrix.split_at_mut((at + 1) * width);
            let own = &mut above[at * width..];
            for row in at + 1..end {
                let share = own[row] / pivots[at];
                pivots[row] -= share * own[row];
                let line = &mut rest[(row - at - 1) * width..][row + 1..width];
                for (value, own) in line.iter_mut().zip(&own[row + 1..width]) {
                    *value -= share * own;
                }
            }
        }
        let (block, rest) = matrix[start * width..].split_at_mut((end - start) * width);
        for row in end..width {
            let line = &mut rest[(row - end) * width..][row + 1..width];
            for (at, own) in (start..end).zip(block.chunks_exact(width)) {
                let share = own[row] / pivots[at];
                pivots[row] -= share * own[row];
                for (value, own) in line.iter_mut().zip(&own[row + 1..]) {
                    *value -= share * own;
                }
            }
        }
        for (at, own) in (start..end).zip(block.chunks_exact_mut(width)) {
            for value in &mut own[at + 1..] {
                *value /= pivots[at];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::{Pattern, Term};

    proptest! {
        #[test]
        fn what_is_found_solves_the_system(
            rows in 1..60_usize,
            columns in prop::collection::vec(
                prop::collection::btree_map(0..60_u32, 0.1..2.0_f64, 1..6), 0..90,
            ),
            factors in prop::collection::vec(-3.0..3.0_f64, 90),
        ) {
            let columns: Vec<Vec<(u32, f64)>> = columns
                .into_iter()
                .map(|uses| uses.into_iter().filter(|(row, _)| (*row as usize) < rows).collect())
                .collect();
            let diagonal: Vec<f64> = (0..rows).map(|row| 0.1 + row as f64).collect();
            let right: Vec<f64> = (0..rows).map(|row| 1.0 - row as f64).collect();
            let pattern = Pattern::new(rows, columns.iter().map(|uses| &uses[..]));
            let terms = || columns.iter().zip(&factors).map(|(uses, exponent)| Term {
                uses,
                factor: libm::pow(10.0, *exponent),
            });
            let factor = pattern.factor(&diagonal, terms());
            let found = pattern.solve(&factor, &diagonal, terms, &right);
            for row in 0..rows {
                let mut left = diagonal[row] * found[row];
                let mut size = right[row].abs() + left.abs();
                for Term { uses, factor } in terms() {
                    for (own, load) in uses.iter().filter(|(own, _)| *own as usize == row) {
                        for (other, more) in uses {
                            let term = factor * load * more * found[*other as usize];
                            prop_assert!(*own as usize == row);
                            left += term;
                            size += term.abs();
                        }
                    }
                }
                prop_assert!((left - right[row]).abs() <= 1e-9 * size, "{left} {}", right[row]);
            }
        }
    }
}
