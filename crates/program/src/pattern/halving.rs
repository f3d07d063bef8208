//! Recursive halving and doubling: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
//! IJHPCA 2005. If the number of members isn't a power of two, the first ones join in pairs before, of which the odd one takes part.

use super::build::Builder;
use crate::Kind;

/// Members that take part in the exchange: the largest power of two.
pub(super) fn cores(members: u32) -> u32 {
    1 << members.max(1).ilog2()
}

/// Who takes part, and which blocks are whose.
#[derive(Clone, Copy)]
struct Cores {
    count: u32,
    /// Pairs of members that take part as one.
    pairs: u32,
    /// Whether each member has blocks of its own, or only those who take part.
    each: bool,
}

impl Cores {
    fn member(self, core: u32) -> u32 {
        match core < self.pairs {
            true => 2 * core + 1,
            false => core + self.pairs,
        }
    }

    /// The first block of a core.
    fn begin(self, core: u32) -> u32 {
        match self.each {
            true => core + core.min(self.pairs),
            false => core,
        }
    }

    fn blocks(self, first: u32, behind: u32) -> [u32; 2] {
        [self.begin(first), self.begin(behind)]
    }
}

pub(super) fn run(builder: &mut Builder, kind: Kind) {
    let (members, whole) = (builder.members(), [0, builder.blocks()]);
    let count = cores(members);
    let cores = Cores {
        count,
        pairs: members.saturating_sub(count),
        each: kind != Kind::AllReduce,
    };
    let (scatters, gathers) = (kind != Kind::AllGather, kind != Kind::ReduceScatter);
    for pair in 0..cores.pairs {
        let ends = [2 * pair, 2 * pair + 1];
        match scatters {
            true => builder.send(ends, whole, true, &[]),
            false => builder.send(ends, ends_of(ends[0]), false, &[]),
        };
    }
    builder.gate();
    if scatters {
        halve(builder, cores);
        builder.gate();
    }
    if gathers {
        double(builder, cores);
        builder.gate();
    }
    for pair in 0..cores.pairs {
        let ends = [2 * pair + 1, 2 * pair];
        let blocks = if gathers { whole } else { ends_of(2 * pair) };
        builder.send(ends, blocks, false, &[]);
    }
}

const fn ends_of(block: u32) -> [u32; 2] {
    [block, block + 1]
}

/// Each core ends with the sum of its own blocks.
fn halve(builder: &mut Builder, cores: Cores) {
    let mut distance = cores.count / 2;
    while distance > 0 {
        exchange(builder, cores, distance, true);
        distance /= 2;
    }
}

/// Each core ends with all blocks.
fn double(builder: &mut Builder, cores: Cores) {
    let mut distance = 1;
    while distance < cores.count {
        exchange(builder, cores, distance, false);
        distance *= 2;
    }
}

/// Each core exchanges blocks with the one at a distance: it sends the half that isn't its own of what it has to reduce, or all that it
/// has gathered.
fn exchange(builder: &mut Builder, cores: Cores, distance: u32, reduces: bool) {
    let came: alloc::vec::Vec<_> = (0..cores.count)
        .map(|core| builder.received(cores.member(core)))
        .collect();
    for core in 0..cores.count {
        let other = core ^ distance;
        let of = if reduces { other } else { core };
        let first = of & !(distance - 1);
        let blocks = cores.blocks(first, first + distance);
        let ends = [cores.member(core), cores.member(other)];
        builder.send(ends, blocks, reduces, &came[core as usize]);
    }
}
