//! Packets one by one, at chosen nodes.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairlane_units::Bytes;

use crate::log::Log;
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
    /// Of flows that carry so much, by flow, as far as that is known beforehand.
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
}
