//! What work requests cost.

use fairlane_scenario::{Costs as Stated, Scenario};
use fairlane_units::{Bytes, Duration};

/// Costs of a run; see [`fairlane_scenario::Costs`] for their meaning.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    pub(crate) doorbell: Duration,
    pub(crate) wqe_fetch: Duration,
    pub(crate) wqes_per_fetch: usize,
    /// Time of one work request on the NIC's PCIe link.
    pub(crate) wqe_transfer: Duration,
    pub(crate) processing: Duration,
    pub(crate) pipeline: u32,
    pub(crate) cache_entries: usize,
    pub(crate) cache_miss: Duration,
    pub(crate) receive_buffer: u64,
    pub(crate) cqe_write: Duration,
    pub(crate) post: Duration,
    pub(crate) poll: Duration,
    pub(crate) cqe: Duration,
    pub(crate) lock: Duration,
    pub(crate) lock_contention: Duration,
    pub(crate) handoff: Duration,
}

impl Costs {
    /// The costs of a scenario; nothing costs anything where it states none.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        match &scenario.nic.costs {
            Some(stated) => Self::stated(stated),
            None => Self::none(),
        }
    }

    fn stated(stated: &Stated) -> Self {
        Self {
            doorbell: stated.doorbell,
            wqe_fetch: stated.wqe_fetch,
            wqes_per_fetch: stated.wqes_per_fetch as usize,
            wqe_transfer: Bytes::new(stated.wqe_bytes.get()).serialization(stated.pcie_rate),
            processing: stated.processing,
            pipeline: stated.pipeline,
            cache_entries: stated.cache_entries as usize,
            cache_miss: stated.cache_miss,
            receive_buffer: stated.receive_buffer.get(),
            cqe_write: stated.cqe_write,
            post: stated.post,
            poll: stated.poll,
            cqe: stated.cqe,
            lock: stated.lock,
            lock_contention: stated.lock_contention,
            handoff: stated.handoff,
        }
    }

    const fn none() -> Self {
        Self {
            doorbell: Duration::ZERO,
            wqe_fetch: Duration::ZERO,
            wqes_per_fetch: 1,
            wqe_transfer: Duration::ZERO,
            processing: Duration::ZERO,
            pipeline: u32::MAX,
            cache_entries: usize::MAX,
            cache_miss: Duration::ZERO,
            receive_buffer: u64::MAX,
            cqe_write: Duration::ZERO,
            post: Duration::ZERO,
            poll: Duration::ZERO,
            cqe: Duration::ZERO,
            lock: Duration::ZERO,
            lock_contention: Duration::ZERO,
            handoff: Duration::ZERO,
        }
    }
}
