//! Packets one by one, at chosen nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairlane_units::{Bytes, Psn};

use crate::log::Log;
use crate::packet::{Kind, PacketRecord};
use crate::records::TraceRecord;

/// Records what happens to packets at chosen nodes.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    pub(crate) nodes: BTreeSet<u32>,
    /// What flows carry, by flow, where that is known beforehand; it ends sequence numbers.
    pub(crate) lengths: Arc<[Bytes]>,
    /// What was recorded.
    pub records: Log<TraceRecord>,
}

impl Tracer {
    /// A tracer at `nodes`; `lengths` is what flows carry, by flow, as far as that is known beforehand.
    pub fn new(nodes: &[u32], lengths: impl Iterator<Item = Bytes>) -> Self {
        let lengths = match nodes {
            [] => Arc::default(),
            _ => lengths.collect(),
        };
        Self {
            nodes: nodes.iter().copied().collect(),
            lengths,
            records: Log::default(),
        }
    }

    /// Whether any node is traced.
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Stream position of a data packet's first byte, or of the next byte that a reply expects.
    pub(crate) fn sequence(&self, packet: &PacketRecord, mtu: u32) -> u64 {
        // An acknowledgement has the PSN of the last packet that it confirms.
        let next = packet.psn + u32::from(packet.kind == Kind::Ack);
        let at = u64::from(Psn::new(next).get()) * u64::from(mtu);
        if packet.kind.is_pause_frame() {
            return at;
        }
        let length = self.lengths.get(packet.flow.index());
        length.map_or(at, |length| at.min(length.get()))
    }
}
