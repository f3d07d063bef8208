//! Parameters of a queue pair.

use fairlane_units::{Bytes, Duration};

/// Parameters that both ends of a connection agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Path MTU: the largest payload of one packet.
    pub mtu: Bytes,
    /// Time without progress after which unacknowledged packets are sent again; `None` for never.
    pub ack_timeout: Option<Duration>,
    /// Timeouts in a row after which the queue pair fails.
    pub retry_limit: u32,
    /// Shortest time between two NAKs for the same packet.
    pub nak_interval: Duration,
    /// Whether a duplicate packet is acknowledged again (IBTA 9.7.5.1.4).
    pub ack_duplicates: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1024),
            ack_timeout: Some(Duration::from_ns(4096 << 14)),
            retry_limit: 7,
            nak_interval: Duration::from_us(500),
            ack_duplicates: true,
        }
    }
}
