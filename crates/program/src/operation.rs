//! Operations and their order.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use fairlane_units::{Bytes, Duration};

/// What each rank of a program does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// The operations of each rank; their order is that of posting, which matters where nothing else decides.
    pub ranks: Vec<Vec<Operation>>,
    /// Ranks that take part in collectives, in the order of the collectives' algorithms.
    pub groups: Vec<Vec<u32>>,
}

/// One operation of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// What it does.
    pub work: Work,
    /// Operations of the same rank, by index, that have ended before it begins.
    pub after: Vec<u32>,
    /// Operations of the same rank, by index, that have begun before it begins.
    pub after_start: Vec<u32>,
    /// Computations of one stream of a rank go one at a time, in the order in which they may begin. Communication takes no stream.
    pub stream: u32,
    /// The NIC of the rank that a message takes; `None` leaves the choice to the fabric.
    pub nic: Option<u32>,
    /// The step of training, or of whatever repeats, that it belongs to.
    pub step: u32,
    /// What it is called in results; empty for no name.
    pub name: String,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Time without communication.
    Compute(Duration),
    /// A message to another rank; it ends when the message has arrived.
    Send {
        /// The rank that receives.
        to: u32,
        /// Payload, at least one byte.
        size: Bytes,
        /// The n-th message of a sender to a receiver with a tag is for its n-th receive.
        tag: u64,
    },
    /// Ends when the message has arrived.
    Receive {
        /// The rank that sends.
        from: u32,
        /// Payload, as the sender says.
        size: Bytes,
        /// As the sender's.
        tag: u64,
    },
    /// A collective: the n-th of a rank in a group is the n-th of every other member. It ends at a rank when that has sent and
    /// received all that is its part.
    Collective(Collective),
}

/// A collective operation as one rank sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// What it does.
    pub kind: Kind,
    /// In which steps.
    pub algorithm: Algorithm,
    /// Index into [`Program::groups`].
    pub group: u32,
    /// Bytes: of all-reduce, broadcast and reduce the vector; of all-gather and reduce-scatter the whole vector, of which each member has or
    /// gets a part; of an all-to-all what each member sends, to all members together.
    pub size: Bytes,
    /// For an all-to-all of unequal parts (`alltoallv`) what this rank sends to each member of the group, in the group's
    /// order; else empty.
    pub parts: Vec<Bytes>,
}

/// Which collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Every member ends with the sum of all vectors.
    AllReduce,
    /// Every member ends with all parts.
    AllGather,
    /// Every member ends with its part of the sum.
    ReduceScatter,
    /// Every member sends a part to every other.
    AllToAll,
    /// The member `root`, an index into the group, sends a vector to all.
    Broadcast {
        /// Index into the group.
        root: u32,
    },
    /// The member `root`, an index into the group, ends with the sum.
    Reduce {
        /// Index into the group.
        root: u32,
    },
    /// Nobody goes on before all have come; size is ignored.
    Barrier,
}

impl Kind {
    /// What it is called, whatever its root.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Broadcast { .. } => "broadcast",
            Self::Reduce { .. } => "reduce",
            Self::Barrier => "barrier",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broadcast { root } | Self::Reduce { root } => {
                write!(f, "{} (root {root})", self.name())
            }
            _ => f.write_str(self.name()),
        }
    }
}

/// In which steps a collective is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// The usual one of the kind: a ring for all-reduce, all-gather and reduce-scatter, a binomial tree for broadcast, reduce and barrier, direct messages
    /// for all-to-all.
    #[default]
    Usual,
    /// Around a ring (Patarasuk and Yuan, 2009).
    Ring,
    /// Along a binomial tree; an all-reduce is a reduce and a broadcast.
    Tree,
    /// Recursive halving and doubling (Thakur, Rabenseifner and Gropp, 2005).
    HalvingDoubling,
    /// In groups of so many consecutive members first, then between the groups, then back.
    Hierarchical {
        /// Members of an inner group.
        inner: u32,
    },
    /// A message to every other member at once.
    Direct,
}

impl Algorithm {
    /// What it is called, whatever its groups.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Ring => "ring",
            Self::Tree => "tree",
            Self::HalvingDoubling => "halving-doubling",
            Self::Hierarchical { .. } => "hierarchical",
            Self::Direct => "direct",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hierarchical { inner } => write!(f, "{} (inner {inner})", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}
