//! Totals over the whole fabric, kept as the run goes.

use crate::Flux;
use crate::ledger::Ledger;

/// Why a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drop {
    BufferFull,
    LinkError,
    LinkDown,
    NoRoute,
}

impl Drop {
    pub(crate) const ALL: [Self; 4] = [
        Self::BufferFull,
        Self::LinkError,
        Self::LinkDown,
        Self::NoRoute,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer-full",
            Self::LinkError => "link-error",
            Self::LinkDown => "link-down",
            Self::NoRoute => "no-route",
        }
    }
}

/// Totals over the whole fabric.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Packets whose transmission began, pause frames included.
    pub(crate) transmissions: u64,
    pub(crate) pause_transmissions: u64,
    pub(crate) data_packets: u64,
    pub(crate) injected: Flux,
    pub(crate) delivered: Flux,
    pub(crate) dropped: Flux,
    /// Lost packets by reason.
    pub(crate) drops: [u64; Drop::ALL.len()],
    pub(crate) marks: u64,
    /// Notifications that receivers sent, and those that senders got.
    pub(crate) cnps_sent: u64,
    pub(crate) cnps: u64,
    pub(crate) pauses: u64,
    pub(crate) naks: u64,
    pub(crate) timeouts: u64,
    pub(crate) retransmissions: u64,
    /// Bytes placed at receivers.
    pub(crate) placed: u64,
    pub(crate) failed: u32,
    /// By tenant, if there are several.
    pub(crate) ledger: Option<Box<Ledger>>,
}

impl Flux {
    #[inline]
    pub(crate) fn add(&mut self, wire: u16) {
        self.packets += 1;
        self.bytes += u64::from(wire);
    }
}
