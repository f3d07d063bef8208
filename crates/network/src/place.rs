//! Which part of the fabric this is, and packets for other parts, by value.

use std::sync::Arc;

use fairlane_congestion::Telemetry;
use fairlane_engine::Event;
use fairlane_units::NodeId;

use crate::fork::Forks;
use crate::packet::{PacketRecord, Stamp};

/// Which part of a fabric this is.
#[derive(Clone, Debug)]
pub struct Place {
    /// The number of the part.
    pub part: u16,
    /// By node.
    pub part_of: Arc<[u16]>,
    /// By part.
    pub outboxes: Vec<Outbox>,
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

    /// What this part has for another, if anything.
    pub(crate) fn outbox_for(&mut self, part: usize) -> Option<Outbox> {
        let outbox = &mut self.outboxes[part];
        (!outbox.packets.is_empty()).then(|| std::mem::take(outbox))
    }

    /// Takes back an outbox that has been emptied.
    pub(crate) fn give_back(&mut self, part: usize, outbox: Outbox) {
        self.outboxes[part] = outbox;
    }

    /// Whether a node is in this part.
    #[inline]
    pub fn owns(&self, node: NodeId) -> bool {
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

/// What one part has for another.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    pub(crate) packets: Vec<Crossing>,
    pub(crate) records: Vec<(Option<Telemetry>, Option<Stamp>)>,
    /// The labels of packets that carry any, one packet after the other.
    pub(crate) forks: Vec<Forks>,
}
