//! What hosts tell each other out of band.

use std::collections::BTreeSet;

use fairlane_units::Time;

/// Something that a host hears out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// A message that this one waits for has arrived.
    Arrived(u32),
    /// The requester has closed a flow; whether all of it had arrived.
    Closed(u32, bool),
}

/// Notices under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices {
    pub(crate) due: BTreeSet<(Time, Notice)>,
}

impl Notices {
    pub(crate) fn insert(&mut self, at: Time, notice: Notice) {
        self.due.insert((at, notice));
    }

    /// Whether one is under way that may set off a message.
    pub(crate) fn are_pending(&self) -> bool {
        self.due
            .iter()
            .any(|(_, notice)| matches!(notice, Notice::Arrived(_)))
    }
}
