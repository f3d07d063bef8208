//! What a NIC knows of a tenant.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use fairlane_units::{HostId, Rate, TenantId, Time};

use super::Weight;

/// A tenant at a NIC: its lanes in order.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) id: TenantId,
    /// Units of virtual time that a byte takes.
    pub(crate) pace: u64,
    /// Where the search for a pair to replace goes on.
    pub(crate) hand: HostId,
    /// Pairs that it has at the NIC.
    pub(crate) pairs: u32,
    /// When its turn comes, in virtual time.
    pub(crate) turn: u128,
    /// Lanes that may send or wait for their pacer: time, number of the entry, lane.
    pub(crate) waiting: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// The pair that stands for those that find no place, once there are such.
    pub(crate) overflow: Option<u32>,
}

impl Tenant {
    pub(crate) const fn new(id: TenantId, share: f64) -> Self {
        Self {
            id,
            pace: pace(share),
            hand: HostId::new(0),
            pairs: 0,
            turn: 0,
            waiting: BinaryHeap::new(),
            overflow: None,
        }
    }
}

/// The virtual time of a byte: 2^20 units at a share of 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub(crate) const fn pace(share: f64) -> u64 {
    let units = (1u64 << 20) as f64 / share;
    if units < 1.0 { 1 } else { units as u64 }
}

/// What guarantees leave to tenants without one, so that nobody starves.
const LEAST_SHARE: f64 = 1e-3;

/// What each tenant has of a link if all want it, as a part: its guarantee, and by weight of what is left.
pub fn shares(tenants: &[Weight], line_rate: Rate) -> Vec<(TenantId, f64)> {
    let weights: f64 = tenants.iter().map(|one| one.weight).sum();
    let guaranteed = |one: &Weight| one.guarantee.map_or(0.0, Rate::as_f64) / line_rate.as_f64();
    let all: f64 = tenants.iter().map(guaranteed).sum();
    // Guarantees that the link can't give together shrink alike.
    let fits = if all > 1.0 { 1.0 / all } else { 1.0 };
    let left = (1.0 - all * fits).max(LEAST_SHARE);
    let share = |one: &Weight| fits * guaranteed(one) + left * one.weight / weights;
    let share = |one: &Weight| (one.tenant, share(one));
    tenants.iter().map(share).collect()
}
