//! What carries work requests between two hosts.

use fairlane_middleware::Posting;
use fairlane_multipath::{Outcome, Remote, Segment, Tag};
use fairlane_units::{PathId, Time};

use crate::memory;

/// Which host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Posts messages.
    Sender,
    /// Posts receives.
    Receiver,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Sender, Self::Receiver];

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// What a host's completion queue has.
#[derive(Clone, Debug)]
pub(crate) enum Happened {
    /// A work request has ended.
    Ended(PathId, Tag, Outcome),
    /// A SEND has come.
    Came(Vec<u8>),
}

/// Two hosts with memory, and a queue pair for each path between them. Their memory is at the places that `memory` names, unless
/// a carrier has other ones.
pub(crate) trait Carrier {
    fn now(&self) -> Time;

    /// Posts a work request with these pieces of the host's memory.
    fn post(&mut self, side: Side, posting: &Posting, pieces: &[Segment]);

    /// What has happened at a host.
    fn poll(&mut self, side: Side) -> Option<Happened>;

    /// Lets time pass until something may have happened, at most until then.
    fn wait(&mut self, until: Time);

    /// Replaces the queue pairs of a path; returns what each host had posted and never hears of again.
    fn replace(&mut self, path: PathId) -> [Vec<Tag>; 2];

    fn kill(&mut self, path: PathId);
    fn revive(&mut self, path: PathId);

    /// Memory of the sender that a message's data is in.
    fn local(&self, message: u64) -> Segment {
        memory::local(message)
    }

    /// Memory of the receiver that a receive's data goes to; the key is that by which the sender writes there.
    fn receive(&self, number: u64) -> Segment {
        memory::receive(number)
    }

    /// The receiver's memory that WRITEs, READs and atomics touch.
    fn shared(&self, at: u64) -> Remote {
        memory::shared(at)
    }

    fn write(&mut self, side: Side, address: u64, bytes: &[u8]);
    fn read(&self, side: Side, address: u64, length: u64) -> Vec<u8>;
}
