//! Totals over the whole fabric, kept as the run goes; those of hosts are their NICs'.

use crate::ledger::{Ledger, Tally};
use crate::records::Flux;

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// The buffer of a switch had no room.
    BufferFull,
    /// A link lost it.
    LinkError,
    /// The packet was on a link that went down, or waited for one.
    LinkDown,
    /// No route led to its destination.
    NoRoute,
    /// A switch that keeps flows in order had no room to hold it.
    HoldFull,
    /// A switch that keeps flows in order held it for too long.
    HoldTimeout,
    /// The packet had set out before its way changed, and came to a switch that keeps flows in order.
    Rerouted,
}

impl Drop {
    /// All reasons: first those that every switch knows.
    pub const ALL: [Self; 7] = [
        Self::BufferFull,
        Self::LinkError,
        Self::LinkDown,
        Self::NoRoute,
        Self::HoldFull,
        Self::HoldTimeout,
        Self::Rerouted,
    ];

    /// How many of them every switch knows.
    pub const PLAIN: usize = 4;

    /// The name of the reason in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer-full",
            Self::LinkError => "link-error",
            Self::LinkDown => "link-down",
            Self::NoRoute => "no-route",
            Self::HoldFull => "hold-full",
            Self::HoldTimeout => "hold-timeout",
            Self::Rerouted => "rerouted",
        }
    }
}

/// Totals over the whole fabric.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Packets whose transmission began, pause frames included.
    pub transmissions: u64,
    /// Pause frames that were sent.
    pub pause_transmissions: u64,
    /// What entered the network at hosts.
    pub injected: Flux,
    /// What left it at hosts.
    pub delivered: Flux,
    /// What was lost.
    pub dropped: Flux,
    /// Lost packets by reason.
    pub drops: [u64; Drop::ALL.len()],
    /// Packets that were marked.
    pub marks: u64,
    /// Data packets that would have been marked at ports that face hosts.
    pub filtered: u64,
    /// Pauses that took effect.
    pub pauses: u64,
    /// By tenant, if there are several.
    pub ledger: Option<Box<Ledger>>,
}

impl Flux {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, wire: u16) {
        self.packets += 1;
        self.bytes += u64::from(wire);
    }

    /// Adds what another part of the network has counted.
    pub fn absorb(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl Counters {
    /// Takes in what another part of the fabric has counted.
    pub fn absorb(&mut self, other: &Self) {
        self.transmissions += other.transmissions;
        self.pause_transmissions += other.pause_transmissions;
        self.injected.absorb(other.injected);
        self.delivered.absorb(other.delivered);
        self.dropped.absorb(other.dropped);
        for (all, drops) in self.drops.iter_mut().zip(other.drops) {
            *all += drops;
        }
        self.marks += other.marks;
        self.filtered += other.filtered;
        self.pauses += other.pauses;
        if let (Some(all), Some(part)) = (&mut self.ledger, &other.ledger) {
            all.absorb(part);
        }
    }

    /// What happened so far to the packets of a tenant, if tenants are counted.
    #[inline]
    fn tally(&mut self, tenant: u16) -> Option<&mut Tally> {
        let ledger = self.ledger.as_deref_mut()?;
        ledger.tallies.get_mut(usize::from(tenant))
    }

    /// A switch has marked a packet.
    #[inline]
    pub(crate) fn on_mark(&mut self, tenant: u16) {
        self.marks += 1;
        if let Some(tally) = self.tally(tenant) {
            tally.marks += 1;
        }
    }

    /// A packet is lost.
    pub(crate) fn on_drop(&mut self, tenant: u16, wire: u16, reason: Drop) {
        self.drops[reason as usize] += 1;
        self.dropped.add(wire);
        if let Some(tally) = self.tally(tenant) {
            tally.drops += 1;
        }
    }
}
