//! Along a binomial tree, in as many rounds as the number of members has binary digits.

use alloc::vec::Vec;

use super::build::Builder;

/// From the root to members that are half as far each round. A member sends to one at a time, to the one with the most behind it first.
pub(super) fn broadcast(builder: &mut Builder, root: u32) {
    let members = builder.members();
    let whole = [0, builder.blocks()];
    let mut sent: Vec<Option<u32>> = alloc::vec![None; members as usize];
    for distance in distances(members).rev() {
        for place in (0..members).step_by(2 * distance as usize) {
            if place + distance < members {
                let ends = [place, place + distance].map(|at| (root + at) % members);
                let mut after = builder.received(ends[0]);
                after.extend(sent[place as usize]);
                sent[place as usize] = builder.send(ends, whole, false, &after);
            }
        }
    }
}

/// The other way around.
pub(super) fn reduce(builder: &mut Builder, root: u32) {
    let members = builder.members();
    let whole = [0, builder.blocks()];
    for distance in distances(members) {
        for place in (0..members).step_by(2 * distance as usize) {
            if place + distance < members {
                let ends = [place + distance, place].map(|at| (root + at) % members);
                let after = builder.received(ends[0]);
                builder.send(ends, whole, true, &after);
            }
        }
    }
}

/// Powers of two below the number of members.
fn distances(members: u32) -> impl DoubleEndedIterator<Item = u32> {
    let rounds = members.checked_next_power_of_two().map_or(32, u32::ilog2);
    (0..rounds).map(|round| 1 << round)
}
