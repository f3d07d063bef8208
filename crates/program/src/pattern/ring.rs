//! Around a ring: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.

use alloc::vec;
use alloc::vec::Vec;

use super::build::Builder;

/// After n - 1 steps the member at each place of the ring has the sum of its blocks, `bounds[place]..bounds[place + 1]`.
pub(super) fn reduce_scatter(builder: &mut Builder, ring: &[u32], bounds: &[u32]) {
    around(builder, (ring, bounds), 1, true);
}

/// After n - 1 steps all have the blocks of all.
pub(super) fn all_gather(builder: &mut Builder, ring: &[u32], bounds: &[u32]) {
    around(builder, (ring, bounds), 0, false);
}

/// In step s each place sends on the blocks of the place that is `behind + s` behind it, once they have come.
fn around(builder: &mut Builder, (ring, bounds): (&[u32], &[u32]), behind: usize, reduces: bool) {
    let count = ring.len();
    let mut came: Vec<Option<u32>> = vec![None; count];
    for step in 0..count.saturating_sub(1) {
        let mut next = vec![None; count];
        for place in 0..count {
            let chunk = (place + 2 * count - behind - step) % count;
            let ends = [ring[place], ring[(place + 1) % count]];
            let blocks = [bounds[chunk], bounds[chunk + 1]];
            let before: Vec<u32> = came[place].into_iter().collect();
            next[(place + 1) % count] = builder.send(ends, blocks, reduces, &before);
        }
        came = next;
    }
}

/// Block by block from the root to the next member, and on.
pub(super) fn broadcast(builder: &mut Builder, root: u32) {
    let chain: Vec<u32> = (0..builder.members())
        .map(|at| (root + at) % builder.members())
        .collect();
    along(builder, &chain, false);
}

/// Block by block from the member behind the root around to it.
pub(super) fn reduce(builder: &mut Builder, root: u32) {
    let chain: Vec<u32> = (1..=builder.members())
        .map(|at| (root + at) % builder.members())
        .collect();
    along(builder, &chain, true);
}

/// Each member of a chain sends a block on once that has come and its block before has arrived, so that blocks don't share links.
fn along(builder: &mut Builder, chain: &[u32], reduces: bool) {
    let mut before: Vec<Option<u32>> = vec![None; chain.len()];
    for block in 0..builder.blocks() {
        let mut came = None;
        for (place, ends) in chain.windows(2).enumerate() {
            let after: Vec<u32> = before[place].into_iter().chain(came).collect();
            came = builder.send([ends[0], ends[1]], [block, block + 1], reduces, &after);
            before[place] = came.or(before[place]);
        }
    }
}
