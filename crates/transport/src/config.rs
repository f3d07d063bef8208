//! Parameters of a queue pair.

use fairlane_units::{Bytes, Duration};

/// The service that a queue pair gives (IBTA 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Service {
    /// Reliable connection: acknowledged, in order, every operation.
    #[default]
    ReliableConnection,
    /// Unreliable connection: SEND and WRITE; a message that lost a packet is lost.
    UnreliableConnection,
    /// Unreliable datagram: SEND of one packet to any queue pair.
    UnreliableDatagram,
}

impl Service {
    /// Whether packets are acknowledged and sent again.
    #[inline]
    pub const fn is_reliable(self) -> bool {
        matches!(self, Self::ReliableConnection)
    }
}

/// Parameters of a queue pair; the queue pairs of one application usually share one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The service.
    pub service: Service,
    /// Path MTU: the largest payload of one packet.
    pub mtu: Bytes,
    /// Every how many packets the requester asks for an acknowledgement; it also asks at the end of
    /// every message and whenever it sends again.
    pub ack_interval: u32,
    /// Time without progress after which unacknowledged packets are sent again; `None` for never.
    pub ack_timeout: Option<Duration>,
    /// Timeouts in a row after which the queue pair fails.
    pub retry_limit: u32,
    /// RNR NAKs in a row after which the queue pair fails; [`Self::FOREVER`] for never.
    pub rnr_retry_limit: u32,
    /// How long a requester is asked to wait when no receive is posted; sent as the next longer time
    /// that IBTA table 45 has.
    pub rnr_timer: Duration,
    /// Shortest time between two NAKs for the same packet.
    pub nak_interval: Duration,
    /// Whether a duplicate packet is acknowledged again (IBTA 9.7.5.1.4).
    pub ack_duplicates: bool,
    /// READs and atomics that the requester has under way at most.
    pub max_reads: u8,
    /// READs and atomics that the responder keeps resources for.
    pub max_destination_reads: u8,
    /// Packets that a responder keeps out of order, and a requester tracks one by one; 0 for
    /// go-back-N.
    pub selective_window: u32,
    /// By how many packets one may overtake another before the one behind counts as lost, where the
    /// responder reports what it keeps; 0 if every gap is a loss.
    pub reorder_tolerance: u32,
    /// Whether every packet of a WRITE carries its address, as a message of one packet each, so that
    /// it can be placed whenever it arrives.
    pub direct_placement: bool,
}

impl Config {
    /// As [`rnr_retry_limit`](Self::rnr_retry_limit): the value 7 of the verbs.
    pub const FOREVER: u32 = u32::MAX;

    /// Whether packets that arrive out of order are kept.
    #[inline]
    pub const fn is_selective(&self) -> bool {
        self.selective_window > 0
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            service: Service::ReliableConnection,
            mtu: Bytes::new(1024),
            ack_interval: 1,
            ack_timeout: Some(Duration::from_ns(4096 << 14)),
            retry_limit: 7,
            rnr_retry_limit: Self::FOREVER,
            rnr_timer: Duration::from_us(640),
            nak_interval: Duration::from_us(500),
            ack_duplicates: true,
            max_reads: 16,
            max_destination_reads: 16,
            selective_window: 0,
            reorder_tolerance: 0,
            direct_placement: false,
        }
    }
}
