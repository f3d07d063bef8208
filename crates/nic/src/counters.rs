//! What a NIC counts.

use alloc::vec::Vec;
use core::ops::{AddAssign, Sub};

use fairlane_units::{Bytes, TenantId};

/// What a NIC has counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets with data, and requests for data, that were sent.
    pub data_packets: u64,
    /// Packets among `data_packets` that were sent before.
    pub retransmissions: u64,
    /// Bytes placed in memory.
    pub placed: u64,
    /// Packets that arrived after one that was sent later; those sent again don't count.
    pub reordered: u64,
    /// NAKs that arrived.
    pub naks: u64,
    /// Acknowledgement timeouts.
    pub timeouts: u64,
    /// Notifications of congestion that were sent: CNPs, or acknowledgements that say so.
    pub cnps_sent: u64,
    /// Notifications of congestion that arrived.
    pub cnps: u64,
}

/// What a NIC has counted of one tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As [`Counters::placed`].
    pub placed: u64,
    /// As [`Counters::cnps`].
    pub cnps: u64,
    /// As [`Counters::retransmissions`].
    pub retransmissions: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.data_packets += other.data_packets;
        self.retransmissions += other.retransmissions;
        self.placed += other.placed;
        self.reordered += other.reordered;
        self.naks += other.naks;
        self.timeouts += other.timeouts;
        self.cnps_sent += other.cnps_sent;
        self.cnps += other.cnps;
    }
}

impl Sub for Counters {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            data_packets: self.data_packets - other.data_packets,
            retransmissions: self.retransmissions - other.retransmissions,
            placed: self.placed - other.placed,
            reordered: self.reordered - other.reordered,
            naks: self.naks - other.naks,
            timeouts: self.timeouts - other.timeouts,
            cnps_sent: self.cnps_sent - other.cnps_sent,
            cnps: self.cnps - other.cnps,
        }
    }
}

impl Sub for Tally {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            placed: self.placed - other.placed,
            cnps: self.cnps - other.cnps,
            retransmissions: self.retransmissions - other.retransmissions,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.placed += other.placed;
        self.cnps += other.cnps;
        self.retransmissions += other.retransmissions;
    }
}

/// Counters of a NIC, in all and by tenant.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// In all.
    pub all: Counters,
    /// By tenant; empty if there is one tenant, of which the totals say everything.
    pub tallies: Vec<Tally>,
}

impl Ledger {
    /// One that knows so many tenants, before anything has been counted.
    pub fn of(tenants: usize) -> Self {
        let tallies = match tenants {
            0 | 1 => Vec::new(),
            several => alloc::vec![Tally::default(); several],
        };
        Self {
            all: Counters::default(),
            tallies,
        }
    }

    /// Payload of a tenant has been placed at its receiver.
    #[inline]
    pub fn on_placed(&mut self, tenant: TenantId, placed: Bytes) {
        self.all.placed += placed.get();
        if let Some(tally) = self.tallies.get_mut(tenant.index()) {
            tally.placed += placed.get();
        }
    }

    /// A reply has reached the sender of data.
    #[inline]
    pub(crate) fn on_reply(&mut self, tenant: TenantId, notifies: bool) {
        self.all.cnps += u64::from(notifies);
        if let Some(tally) = self.tallies.get_mut(tenant.index()) {
            tally.cnps += u64::from(notifies);
        }
    }

    /// A tenant has sent packets more than once.
    #[inline]
    pub fn on_retransmitted(&mut self, tenant: TenantId, packets: u64) {
        self.all.retransmissions += packets;
        if let Some(tally) = self.tallies.get_mut(tenant.index()) {
            tally.retransmissions += packets;
        }
    }

    /// A packet is sent; `retransmitted` says that it isn't for the first time.
    #[inline]
    pub(crate) fn on_packet(&mut self, tenant: TenantId, retransmitted: bool) {
        self.all.data_packets += 1;
        self.on_retransmitted(tenant, retransmitted.into());
    }
}
