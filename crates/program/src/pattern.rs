//! Who sends what to whom in a collective, and after what.

mod build;
mod direct;
mod halving;
mod ring;
mod tree;

use alloc::vec::Vec;

use fairlane_units::Bytes;

use crate::{Algorithm, Kind};
use build::Builder;

/// One node of a [`Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A message between members. It waits for what has happened at its sender.
    Transfer(Transfer),
    /// Takes no time: something that a member waits for before it goes on.
    Join {
        /// Index into the group.
        member: u32,
        /// Parts, by index, that it waits for.
        after: Vec<u32>,
    },
}

/// A message of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The member that sends, an index into the group.
    pub from: u32,
    /// The member that receives.
    pub to: u32,
    /// Payload, at least one byte.
    pub size: Bytes,
    /// Blocks of the vector that it carries, the first one and the one behind the last.
    pub blocks: [u32; 2],
    /// Whether what it carries is added to what the receiver has; else it takes its place.
    pub reduces: bool,
    /// Parts, by index, that have arrived at the sender, or have come about there, before it is sent; of a message of the
    /// sender's own, that it has arrived.
    pub after: Vec<u32>,
}

/// The messages of a collective among members that are counted from 0, each after what it waits for. The first parts are joins,
/// one a member: it enters. The last are, too: it has sent and received all that is its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Members.
    pub members: u32,
    /// Blocks into which the vector is divided; the first ones are a byte larger where it can't be divided equally.
    pub blocks: u32,
    /// Joins and messages.
    pub parts: Vec<Part>,
}

/// Whether a kind of collective can be done in the steps of an algorithm.
pub fn is_possible(kind: Kind, algorithm: Algorithm) -> bool {
    let reduces = matches!(kind, Kind::AllReduce);
    let spreads = matches!(
        kind,
        Kind::AllReduce | Kind::AllGather | Kind::ReduceScatter
    );
    let rooted = matches!(kind, Kind::Broadcast { .. } | Kind::Reduce { .. });
    match algorithm {
        Algorithm::Usual => true,
        Algorithm::Ring => spreads || rooted,
        Algorithm::Tree => reduces || rooted || matches!(kind, Kind::Barrier),
        Algorithm::HalvingDoubling => spreads,
        Algorithm::Hierarchical { inner } => reduces && inner > 0,
        Algorithm::Direct => spreads || matches!(kind, Kind::AllToAll),
    }
}

/// What [`Algorithm::Usual`] is for a kind.
pub fn usual(kind: Kind, algorithm: Algorithm) -> Algorithm {
    if algorithm != Algorithm::Usual {
        return algorithm;
    }
    match kind {
        Kind::AllReduce | Kind::AllGather | Kind::ReduceScatter => Algorithm::Ring,
        Kind::Broadcast { .. } | Kind::Reduce { .. } | Kind::Barrier => Algorithm::Tree,
        Kind::AllToAll => Algorithm::Direct,
    }
}

/// The most messages that a collective of so many members can have.
pub fn most_messages(kind: Kind, algorithm: Algorithm, members: u32) -> u64 {
    let n = u64::from(members);
    let others = n.saturating_sub(1);
    let around = n * others;
    let twice = if kind == Kind::AllReduce { 2 } else { 1 };
    match usual(kind, algorithm) {
        Algorithm::Ring | Algorithm::Direct | Algorithm::Usual => twice * around,
        Algorithm::Tree => 2 * others,
        Algorithm::HalvingDoubling => n * (2 * u64::from(members.max(1).ilog2()) + 2),
        Algorithm::Hierarchical { inner } => {
            let inner = u64::from(inner).clamp(1, n.max(1));
            let groups = n.div_ceil(inner);
            2 * n * (inner - 1) + 2 * inner * groups * (groups - 1)
        }
    }
}

impl Pattern {
    /// The messages of a collective that [is possible](is_possible) among `members`; `size` as in [`Collective`](crate::Collective).
    /// Parts of which nothing is left because the vector is small aren't sent.
    ///
    /// `parts` are those of each member of an unequal all-to-all; none if they are equal.
    pub fn new(
        kind: Kind,
        algorithm: Algorithm,
        (members, size): (u32, Bytes),
        parts: &[&[Bytes]],
    ) -> Self {
        let all: Vec<u32> = (0..members).collect();
        let algorithm = usual(kind, algorithm);
        let blocks = match algorithm {
            Algorithm::Tree => 1,
            Algorithm::HalvingDoubling if kind == Kind::AllReduce => halving::cores(members),
            Algorithm::Hierarchical { inner } => {
                inner.clamp(1, members.max(1)) * members.div_ceil(inner.max(1))
            }
            _ => members,
        };
        let size = match kind {
            Kind::Barrier => Bytes::new(1),
            _ => size,
        };
        let mut builder = Builder::new(members, blocks.max(1), size);
        match (kind, algorithm) {
            (Kind::AllToAll, _) => direct::all_to_all(&mut builder, parts),
            (Kind::Broadcast { root }, Algorithm::Ring) => ring::broadcast(&mut builder, root),
            (Kind::Reduce { root }, Algorithm::Ring) => ring::reduce(&mut builder, root),
            (Kind::Broadcast { root }, _) => tree::broadcast(&mut builder, root),
            (Kind::Reduce { root }, _) => tree::reduce(&mut builder, root),
            (Kind::Barrier, _) | (Kind::AllReduce, Algorithm::Tree) => {
                tree::reduce(&mut builder, 0);
                builder.gate();
                tree::broadcast(&mut builder, 0);
            }
            (_, Algorithm::HalvingDoubling) => halving::run(&mut builder, kind),
            (_, Algorithm::Hierarchical { inner }) => hierarchical(&mut builder, inner),
            (_, Algorithm::Direct) => spread(&mut builder, kind, direct::scatter, direct::gather),
            _ => {
                let bounds: Vec<u32> = (0..=members).collect();
                spread(
                    &mut builder,
                    kind,
                    |builder| ring::reduce_scatter(builder, &all, &bounds),
                    |builder| ring::all_gather(builder, &all, &bounds),
                );
            }
        }
        builder.finish()
    }

    /// Payload of all messages.
    pub fn sent(&self) -> Bytes {
        let sizes = self.parts.iter().map(|part| match part {
            Part::Transfer(transfer) => transfer.size,
            Part::Join { .. } => Bytes::ZERO,
        });
        sizes.sum()
    }

    /// The largest message; nothing if there is none.
    pub fn largest(&self) -> Bytes {
        let sizes = self.parts.iter().map(|part| match part {
            Part::Transfer(transfer) => transfer.size,
            Part::Join { .. } => Bytes::ZERO,
        });
        sizes.max().unwrap_or(Bytes::ZERO)
    }
}

/// A reduce-scatter, an all-gather, or both.
fn spread(
    builder: &mut Builder,
    kind: Kind,
    scatter: impl Fn(&mut Builder),
    gather: impl Fn(&mut Builder),
) {
    if kind != Kind::AllGather {
        scatter(builder);
        builder.gate();
    }
    if kind != Kind::ReduceScatter {
        gather(builder);
    }
}

/// A reduce-scatter within each inner group, an all-reduce of each part among those who have it, an all-gather within.
fn hierarchical(builder: &mut Builder, inner: u32) {
    let members = builder.members();
    let inner = inner.clamp(1, members.max(1));
    let groups = members.div_ceil(inner);
    let all: Vec<u32> = (0..members).collect();
    // Each inner group has the vector in as many parts as the largest has members, of which some of a smaller one have several.
    let owned = |size: u32| -> Vec<u32> {
        (0..=size)
            .map(|at| (at * inner).div_ceil(size) * groups)
            .collect()
    };
    for group in all.chunks(inner as usize) {
        ring::reduce_scatter(builder, group, &owned(group.len() as u32));
    }
    builder.gate();
    let across = |builder: &mut Builder, phase: fn(&mut Builder, &[u32], &[u32])| {
        for part in 0..inner {
            let owner = |group: &[u32]| group[(part * group.len() as u32 / inner) as usize];
            let owners: Vec<u32> = all.chunks(inner as usize).map(owner).collect();
            let bounds: Vec<u32> = (0..=groups).map(|at| part * groups + at).collect();
            phase(builder, &owners, &bounds);
        }
        builder.gate();
    };
    across(builder, ring::reduce_scatter);
    across(builder, ring::all_gather);
    for group in all.chunks(inner as usize) {
        ring::all_gather(builder, group, &owned(group.len() as u32));
    }
}
