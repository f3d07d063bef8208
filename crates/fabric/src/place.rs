//! Which part of the fabric a world is, and what it has for other parts: packets by value, and notices.

use std::sync::Arc;

use fairlane_congestion::Telemetry;
use fairlane_engine::Event;
use fairlane_units::{FlowId, MessageId, NodeId, Time};

use crate::fork::Forks;
use crate::notice::Notice;
use crate::packet::{PacketRecord, Stamp};

/// Which part of a fabric this is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) part: u16,
    /// By node.
    pub(crate) part_of: Arc<[u16]>,
    /// By part.
    pub(crate) outboxes: Vec<Outbox>,
}

impl Place {
    /// The whole of a fabric of so many nodes.
    pub(crate) fn whole(nodes: usize) -> Self {
        Self {
            part: 0,
            part_of: vec![0; nodes].into(),
            outboxes: Vec::new(),
        }
    }

    /// Has another part hear of something at a time.
    pub(crate) fn notify(&mut self, part: u16, at: Time, notice: Notice) {
        self.outboxes[usize::from(part)].notices.push((at, notice));
    }

    /// Has the part of a node learn of a message that was posted: see [`Outbox::posted`].
    pub(crate) fn announce(&mut self, node: NodeId, posted: Announced) {
        let part = self.part_of[node.index()];
        self.outboxes[usize::from(part)].posted.push(posted);
    }

    /// What this part has for another, if anything.
    pub(crate) fn outbox_for(&mut self, part: usize) -> Option<Outbox> {
        let outbox = &mut self.outboxes[part];
        let some =
            !outbox.packets.is_empty() || !outbox.notices.is_empty() || !outbox.posted.is_empty();
        some.then(|| std::mem::take(outbox))
    }

    /// Takes back an outbox that has been emptied.
    pub(crate) fn give_back(&mut self, part: usize, outbox: Outbox) {
        self.outboxes[part] = outbox;
    }

    /// Whether a node is in this part.
    #[inline]
    pub(crate) fn owns(&self, node: NodeId) -> bool {
        self.part_of[node.index()] == self.part
    }
}

/// A packet on a link between two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// The port that sent it.
    pub(crate) port: u32,
    /// Its arrival.
    pub(crate) arrival: Event,
    pub(crate) packet: PacketRecord,
    /// Place of its record among those that cross, or [`NONE`].
    pub(crate) record: u32,
}

/// A message that was posted on a connection that stays open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Announced {
    pub(crate) flow: FlowId,
    pub(crate) message: MessageId,
    pub(crate) packets: u64,
}

/// What one part has for another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) packets: Vec<Crossing>,
    pub(crate) records: Vec<(Option<Telemetry>, Option<Stamp>)>,
    /// Of the packets that carry labels, one after the other.
    pub(crate) forks: Vec<Forks>,
    pub(crate) notices: Vec<(Time, Notice)>,
    /// Messages that were posted on connections that stay open.
    pub(crate) posted: Vec<Announced>,
}
