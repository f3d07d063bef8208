//! A program without collectives: messages, and what takes time at a rank or none.

use alloc::string::String;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration};

use crate::{Algorithm, Error, Kind, Program};

mod check;
mod cycle;
mod lower;

/// The most messages and steps that a program may become.
pub const MOST_NODES: u64 = 1 << 24;

/// A message or a collective of a program has at most so many bytes, 1 TiB: no sum of sizes overflows.
pub const LONGEST: Bytes = Bytes::new(1 << 40);

/// A message or a local step of an [`Expansion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// Index into [`Expansion::messages`].
    Message(u32),
    /// Index into [`Expansion::steps`].
    Step(u32),
}

/// A message from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank that sends.
    pub from: u32,
    /// The rank that receives.
    pub to: u32,
    /// Payload, at least one byte.
    pub size: Bytes,
    /// The NICs that the send and the receive name, each `None` where it names none.
    pub nics: [Option<u32>; 2],
    /// The group whose collective it is of, an index into [`Program::groups`]; nothing for a send.
    pub group: Option<u32>,
    /// The channel that it goes over.
    pub channel: u32,
}

/// Something of one rank that needs no fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rank that takes the step.
    pub rank: u32,
    /// How long it takes.
    pub time: Duration,
    /// Steps of one stream go one at a time, in the order in which they may begin. Streams are counted over all ranks; a step without one
    /// only waits.
    pub stream: Option<u32>,
    /// The step that ends as this one begins.
    pub begins: Option<u32>,
    /// The step of training that it belongs to.
    pub iteration: u32,
}

/// A collective that all its members have been through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// What it does.
    pub kind: Kind,
    /// In which steps; never [`Algorithm::Usual`].
    pub algorithm: Algorithm,
    /// Index into [`Program::groups`].
    pub group: u32,
    /// As [`Collective::size`](crate::Collective::size); of an unequal all-to-all what the members send in all, themselves too, divided by how many they are.
    pub size: Bytes,
    /// Payload of its messages.
    pub sent: Bytes,
    /// The step of training that it belongs to at its first member.
    pub iteration: u32,
    /// What its first member calls it.
    pub name: String,
    /// For each member the steps with which it enters and has done its part.
    pub members: Vec<[u32; 2]>,
}

/// What a program amounts to.
///
/// An edge says that a node waits for another that happens at the same rank: a message for its sender when that hears that it has arrived,
/// for its receiver when it arrives there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    /// Messages.
    pub messages: Vec<Message>,
    /// For each message the rank and the operation that it is sent for, by index.
    pub origins: Vec<(u32, u32)>,
    /// Local steps.
    pub steps: Vec<Step>,
    /// Who waits for whom: the first, then the one that waits.
    pub edges: Vec<(Node, Node)>,
    /// Collectives, in the order in which the ranks name them.
    pub collectives: Vec<Instance>,
    /// Streams of all ranks.
    pub streams: u32,
}

impl Expansion {
    /// Expands the collectives of a program, and finds the receive of every send.
    ///
    /// # Errors
    /// For a rank, group or operation that isn't there, a group that names a rank twice, sizes out of bounds, a collective whose algorithm can't do it,
    /// whose members disagree, or that a rank isn't a member of, sends without receive and receives without send, operations that wait for themselves, and more
    /// than [`MOST_NODES`] messages or steps.
    pub fn new(program: &Program) -> Result<Self, Error> {
        Self::over(program, 1)
    }

    /// As [`new`](Self::new), over several channels. The vector of a collective is divided equally among them, and each part
    /// goes through all steps by itself, as NCCL has it; sends from one rank to another take them in turn.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn over(program: &Program, channels: u32) -> Result<Self, Error> {
        check::references(program)?;
        let (mut expansion, origins) = lower::lower(program, channels)?;
        cycle::check(&expansion, &origins)?;
        expansion.origins = origins.messages;
        Ok(expansion)
    }
}
