//! Packets one by one, at chosen nodes.

use std::collections::BTreeSet;

use crate::TraceRecord;
use crate::log::Log;

/// Records what happens to packets at chosen nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracer {
    pub(crate) nodes: BTreeSet<u32>,
    pub(crate) records: Log<TraceRecord>,
}

impl Tracer {
    pub(crate) fn new(nodes: &[u32]) -> Self {
        Self {
            nodes: nodes.iter().copied().collect(),
            records: Log::default(),
        }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        !self.nodes.is_empty()
    }
}
