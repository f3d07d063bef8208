//! What hosts of one part of a fabric have for those of another, beside packets.

use fairlane_network::place::Place;
use fairlane_units::{FlowId, MessageId, NodeId, Time};

use crate::notice::Notice;

/// A message that was posted on a connection that stays open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub(crate) flow: FlowId,
    pub(crate) message: MessageId,
    pub(crate) packets: u64,
}

/// What hosts of one part have for those of another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mail {
    pub(crate) notices: Vec<(Time, Notice)>,
    /// Messages that were posted on connections that stay open.
    pub(crate) posted: Vec<Announced>,
}

/// What hosts of this part have for those of others, by part; empty if there is one part.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mailboxes(Vec<Mail>);

impl Mailboxes {
    /// For so many parts.
    pub(crate) fn new(parts: usize) -> Self {
        Self(vec![Mail::default(); parts])
    }

    /// Has another part hear of something at a time.
    pub(crate) fn notify(&mut self, part: u16, at: Time, notice: Notice) {
        self.0[usize::from(part)].notices.push((at, notice));
    }

    /// Has the part of a node learn of a message that was posted.
    pub(crate) fn announce(&mut self, place: &Place, node: NodeId, posted: Announced) {
        let part = place.part_of[node.index()];
        self.0[usize::from(part)].posted.push(posted);
    }

    /// What there is for a part, if anything.
    pub(crate) fn take(&mut self, part: usize) -> Option<Mail> {
        let mail = &mut self.0[part];
        let any = !mail.notices.is_empty() || !mail.posted.is_empty();
        any.then(|| std::mem::take(mail))
    }

    /// Takes back mail that has been emptied.
    pub(crate) fn give_back(&mut self, part: usize, mail: Mail) {
        self.0[part] = mail;
    }
}
