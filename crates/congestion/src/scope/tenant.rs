//! What a NIC knows of a tenant.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;

use fairlane_units::{Bytes, Duration, HostId, TenantId, Time};

use super::bucket::Bucket;

/// A tenant at a NIC: its bucket, its aggregate, its lanes in order.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) id: TenantId,
    /// Its part of what the tenants of this NIC have together.
    pub(crate) share: f64,
    /// Units of virtual time that a byte takes.
    pub(crate) pace: u64,
    pub(crate) bucket: Bucket,
    /// What young pairs may send at the aggregate's rate beside that.
    pub(crate) beginnings: Bucket,
    /// When the aggregate last heard of a mark.
    marked: Option<Time>,
    /// Bytes that the aggregate heard of, and those in flight that it waits for.
    pub(crate) delivered: Bytes,
    pub(crate) awaited: Bytes,
    /// Where the search for a pair to replace goes on.
    pub(crate) hand: HostId,
    /// Pairs that it has at the NIC.
    pub(crate) pairs: u32,
    /// Limited pairs with packets, the weights of those, and of the young ones among them.
    pub(crate) limited: u32,
    pub(crate) weights: u32,
    pub(crate) beginners: u32,
    /// When its turn comes, in virtual time.
    pub(crate) turn: u128,
    /// Lanes with early packets that the bucket may pay for.
    pub(crate) express: VecDeque<u32>,
    /// Lanes that wait for their pacer: time, number of the entry, lane.
    pub(crate) waiting: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// The pair that stands for those that find no place, once there are such.
    pub(crate) overflow: Option<u32>,
}

impl Tenant {
    pub(crate) const fn new(id: TenantId, share: f64, depth: Bytes, beginnings: Bytes) -> Self {
        Self {
            id,
            share,
            pace: pace(share),
            bucket: Bucket::new(depth),
            beginnings: Bucket::new(beginnings),
            marked: None,
            delivered: Bytes::ZERO,
            awaited: Bytes::ZERO,
            hand: HostId::new(0),
            pairs: 0,
            limited: 0,
            weights: 0,
            beginners: 0,
            turn: 0,
            express: VecDeque::new(),
            waiting: BinaryHeap::new(),
            overflow: None,
        }
    }

    /// The aggregate hears of a mark.
    pub(crate) const fn note_mark(&mut self, now: Time) {
        self.marked = Some(now);
    }

    /// Whether the aggregate heard of a mark less than `span` ago.
    pub(crate) fn is_marked(&self, now: Time, span: Duration) -> bool {
        self.marked
            .is_some_and(|at| now.saturating_since(at) < span)
    }
}

/// The virtual time of a byte: 2^20 units at a share of 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
const fn pace(share: f64) -> u64 {
    let units = (1u64 << 20) as f64 / share;
    if units < 1.0 { 1 } else { units as u64 }
}
