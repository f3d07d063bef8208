//! Makes rings of one matching and the rings beside it, by exchanging parts.
//!
//! Each row is a permutation of the hosts (who sends to whom); together they use every directed link
//! once. Two rows can exchange their successors of a set of hosts if both send that set to the same hosts:
//! the links stay the same, and the cycles of both rows change. The search exchanges parts of a row with
//! several cycles and another row, and keeps what doesn't lead to more cycles, or now and then to one more.
//!
//! Such an exchange changes the signs of both permutations or of none, and the sign of a ring of an even
//! number of hosts is -1. If the product of all signs is wrong, which is so for multiples of 4, the search
//! first exchanges the successors of two hosts in an odd number of rows.

use fairlane_engine::Stream;

/// The search draws from a stream of its own, so that the rings depend on the number of hosts alone.
const SEED: u64 = 1;

/// Turns rows that use every link once into rings that do. There are at least 8 hosts, an even number.
pub(super) fn into_rings(rows: &mut [Vec<u32>]) {
    let mut stream = Stream::new(SEED, rows.len() as u64);
    while odd_rows(rows).is_multiple_of(2) {
        mend_signs(rows, &mut stream);
    }
    let mut cycles: Vec<usize> = rows.iter().map(|row| count_cycles(row)).collect();
    loop {
        let broken: Vec<usize> = (0..rows.len()).filter(|row| cycles[*row] > 1).collect();
        if broken.is_empty() {
            return;
        }
        let one = broken[below(&mut stream, broken.len())];
        let other = below(&mut stream, rows.len());
        if one != other {
            try_exchange(rows, &mut cycles, (one, other), &mut stream);
        }
    }
}

/// Exchanges a part of two rows if that is worth it.
fn try_exchange(
    rows: &mut [Vec<u32>],
    cycles: &mut [usize],
    (one, other): (usize, usize),
    stream: &mut Stream,
) {
    let part = exchangeable(&rows[one], &rows[other], below(stream, rows.len() + 1));
    exchange(rows, (one, other), &part);
    let found = (count_cycles(&rows[one]), count_cycles(&rows[other]));
    let (before, after) = (cycles[one] + cycles[other], found.0 + found.1);
    // Rarer with more hosts, since a step that helps is rarer, too.
    let patience = 8 * rows.len();
    let worth = after <= before || (after == before + 1 && below(stream, patience) == 0);
    if worth {
        (cycles[one], cycles[other]) = found;
    } else {
        exchange(rows, (one, other), &part);
    }
}

/// The smallest set of hosts with `host` whose successors are the same set in both rows.
fn exchangeable(one: &[u32], other: &[u32], host: usize) -> Vec<usize> {
    let mut sender = vec![0; other.len()];
    for (from, to) in other.iter().enumerate() {
        sender[*to as usize] = from;
    }
    let mut part = vec![host];
    loop {
        let last = part[part.len() - 1];
        let next = sender[one[last] as usize];
        if next == host {
            return part;
        }
        part.push(next);
    }
}

fn exchange(rows: &mut [Vec<u32>], (one, other): (usize, usize), part: &[usize]) {
    for host in part {
        let successor = rows[one][*host];
        rows[one][*host] = std::mem::replace(&mut rows[other][*host], successor);
    }
}

/// Exchanges parts of two rows at random, then, if there is one, the successors of two hosts in an odd
/// number of rows, which changes the product of signs.
fn mend_signs(rows: &mut [Vec<u32>], stream: &mut Stream) {
    let hosts = rows.len() + 1;
    let (one, other) = (below(stream, rows.len()), below(stream, rows.len()));
    if one != other {
        let part = exchangeable(&rows[one], &rows[other], below(stream, hosts));
        exchange(rows, (one, other), &part);
    }
    let (a, b) = (below(stream, hosts), below(stream, hosts));
    if a == b {
        return;
    }
    if let Some(part) = odd_part(rows, (a, b)) {
        for row in part {
            rows[row].swap(a, b);
        }
    }
}

/// An odd number of rows, as few as possible, in which hosts `a` and `b` have the same successors.
///
/// With the identity as one row more, every column has every host once, so rows form circles in which the
/// successor of `b` is that of `a` in the next row. The circle of the identity is of no use: it would let
/// hosts send to themselves.
fn odd_part(rows: &[Vec<u32>], (a, b): (usize, usize)) -> Option<Vec<usize>> {
    let mut row_of = vec![None; rows.len() + 1];
    for (number, row) in rows.iter().enumerate() {
        row_of[row[a] as usize] = Some(number);
    }
    let mut seen = vec![false; rows.len()];
    let mut best: Option<Vec<usize>> = None;
    for first in 0..rows.len() {
        if seen[first] {
            continue;
        }
        let (mut part, mut next) = (Vec::new(), Some(first));
        while let Some(row) = next.filter(|row| !seen[*row]) {
            seen[row] = true;
            part.push(row);
            next = row_of[rows[row][b] as usize];
        }
        let closed = next == Some(first);
        let shorter = best.as_ref().is_none_or(|best| best.len() > part.len());
        if closed && shorter && part.len() % 2 == 1 {
            best = Some(part);
        }
    }
    best
}

/// How many rows are odd permutations.
fn odd_rows(rows: &[Vec<u32>]) -> usize {
    let odd = |row: &&Vec<u32>| (row.len() - count_cycles(row)) % 2 == 1;
    rows.iter().filter(odd).count()
}

fn count_cycles(row: &[u32]) -> usize {
    let mut seen = vec![false; row.len()];
    let mut cycles = 0;
    for first in 0..row.len() {
        let mut host = first;
        cycles += usize::from(!seen[first]);
        while !seen[host] {
            seen[host] = true;
            host = row[host] as usize;
        }
    }
    cycles
}

#[expect(clippy::cast_possible_truncation, reason = "an index below a length")]
fn below(stream: &mut Stream, limit: usize) -> usize {
    stream.below(limit as u64) as usize
}
