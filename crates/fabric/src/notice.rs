//! What hosts tell each other out of band.

use std::collections::BTreeSet;

use fairlane_units::{FlowId, MessageId, Time};

/// Something that a host hears out of band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Notice {
    /// Something that a message or step waits for has arrived: this message.
    Arrived(u32, MessageId),
    /// The requester has closed a flow; whether all of it had arrived.
    Closed(FlowId, bool),
    /// What a work request of a flow is, which its packets don't say here.
    Frame(FlowId, Frame),
    /// The requester has replaced the queue pair of a flow: the new one begins with this packet number.
    Renewed(FlowId, u32),
    /// The other end of a flow knows that.
    Ready(FlowId),
    /// The other end of a connection with several paths has one more receive, of this number.
    Granted(u32, u64),
}

/// What a work request of a connection with several paths is: what its bytes, or the software that they come to,
/// would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    /// Counts those of the queue pair.
    pub(crate) number: u32,
    /// The number behind its last packet.
    pub(crate) end: u32,
    pub(crate) message: MessageId,
    /// Counts connections between the two that have failed before.
    pub(crate) epoch: u32,
    /// Whether it is a SEND; else a WRITE that somebody waits for.
    pub(crate) is_send: bool,
    /// The number of the message among SENDs, or among such WRITEs.
    pub(crate) id: u64,
    /// Bytes of the message.
    pub(crate) total: u64,
    /// Where the data begins in it, and how much there is.
    pub(crate) offset: u64,
    pub(crate) length: u64,
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

    /// Whether one is under way that sets off a message.
    pub(crate) fn set_off(&self) -> bool {
        let mut due = self.due.iter();
        due.any(|(_, notice)| matches!(notice, Notice::Arrived(..)))
    }

    /// Whether one is under way after which something may be sent.
    pub(crate) fn are_pending(&self) -> bool {
        let mut due = self.due.iter();
        due.any(|(_, notice)| !matches!(notice, Notice::Closed(..)))
    }
}
