//! Links that go down and come back.

use fairlane_units::Time;

/// A link changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    pub(crate) at: Time,
    pub(crate) link: u32,
    pub(crate) up: bool,
}

/// Changes of links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    /// Changes still to come, the next one last.
    changes: Vec<Change>,
    /// Changes that have come, in order.
    pub(crate) past: Vec<Change>,
}

impl Faults {
    pub(crate) fn new(mut changes: Vec<Change>) -> Self {
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            changes,
            past: Vec::new(),
        }
    }

    /// When links change.
    pub(crate) fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.changes.iter().map(|change| change.at)
    }

    /// When the next one comes.
    pub(crate) fn next(&self) -> Option<Time> {
        self.changes.last().map(|change| change.at)
    }

    /// Takes the next one.
    pub(crate) fn pop(&mut self) -> Option<Change> {
        let change = self.changes.pop()?;
        self.past.push(change);
        Some(change)
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Whether a link is still to come back.
    pub(crate) fn comes_back(&self, link: u32) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| change.link == link && change.up)
    }
}
