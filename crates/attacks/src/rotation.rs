//! Destinations in random order, and closed loops over them.

use fairlane_engine::Stream;
use fairlane_fabric::MessageSpec;
use fairlane_units::{MessageId, NodeId};

use crate::plan::Draft;

/// Random permutations of hosts, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    hosts: Vec<NodeId>,
    at: usize,
    stream: Stream,
}

impl Rotation {
    /// Over `hosts` but `without`; nothing if nobody is left.
    pub(crate) fn new(hosts: &[NodeId], without: Option<NodeId>, stream: Stream) -> Option<Self> {
        let mut hosts = hosts.to_vec();
        hosts.retain(|host| Some(*host) != without);
        let at = hosts.len();
        (at > 0).then_some(Self { hosts, at, stream })
    }

    /// How many hosts there are.
    pub(crate) fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The next host: every one comes once before any comes again.
    pub(crate) fn next(&mut self) -> NodeId {
        if self.at == self.hosts.len() {
            shuffle(&mut self.hosts, &mut self.stream);
            self.at = 0;
        }
        self.at += 1;
        self.hosts[self.at - 1]
    }
}

/// Fisher and Yates.
pub(crate) fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for last in (1..items.len()).rev() {
        #[expect(clippy::cast_possible_truncation, reason = "an index below a length")]
        let chosen = stream.below(last as u64 + 1) as usize;
        items.swap(last, chosen);
    }
}

/// Messages of which each is posted once the one `outstanding` places before it has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    outstanding: usize,
    names: Vec<MessageId>,
}

impl Chain {
    pub(crate) fn new(outstanding: u32) -> Self {
        Self {
            outstanding: outstanding.max(1) as usize,
            names: Vec::new(),
        }
    }

    /// What the next message waits for, if it waits.
    pub(crate) fn predecessor(&self) -> Option<MessageId> {
        let index = self.names.len().checked_sub(self.outstanding)?;
        Some(self.names[index])
    }

    /// Adds a message to the chain and to the traffic.
    pub(crate) fn push(&mut self, draft: &mut Draft, message: MessageSpec) {
        let after = self.predecessor();
        self.names
            .push(draft.push(MessageSpec { after, ..message }));
    }

    /// Adds a message that others name `name`.
    pub(crate) fn note(&mut self, name: MessageId) {
        self.names.push(name);
    }
}
