//! What a manager is told when it is made.

use fairlane_units::Duration;

use crate::format::Wait;

/// The settings of a manager.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The GUID of the channel adapter.
    pub guid: u64,
    /// Where its names of connections begin. A number that differs from run to run keeps messages to an earlier run
    /// from being taken for others.
    pub first_id: u32,
    /// How long either side may take to answer. Linux's RDMA CM has 4.3 s (`CMA_CM_RESPONSE_TIMEOUT`, 20).
    pub response_timeout: Wait,
    /// How long a packet may be under way. Linux has 1.07 s for RoCE (`CMA_IBOE_PACKET_LIFETIME`, 18).
    pub packet_lifetime: Wait,
    /// How often a message is repeated, below 16. Linux's RDMA CM has 15 (`CMA_MAX_CM_RETRIES`).
    pub retries: u8,
    /// The longest time that a peer may ask for: 69 s.
    pub longest_wait: Wait,
    /// How many connections it may have, those that are opened and those that wait for their end included.
    pub connections: usize,
}

impl Settings {
    /// Usual settings of an adapter with this GUID.
    pub const fn new(guid: u64) -> Self {
        Self {
            guid,
            first_id: 1,
            response_timeout: Wait::of_bits(20),
            packet_lifetime: Wait::of_bits(18),
            retries: 15,
            longest_wait: Wait::of_bits(24),
            connections: 65_536,
        }
    }

    /// How long an answer takes that a peer has so long for (IBTA 12.9.8.1: both ways are packets under way).
    pub(crate) fn answer_in(&self, wait: Wait) -> Duration {
        wait.min(self.longest_wait).duration() + self.time_wait()
    }

    /// How long repetitions with so long to wait for each answer take.
    pub(crate) fn patience(&self, wait: Wait, retries: u8) -> Duration {
        self.answer_in(wait).saturating_mul(u64::from(retries) + 1)
    }

    /// How long a connection that is over is kept, so that its packets aren't taken for those of the next
    /// (IBTA 12.9.8.4).
    pub(crate) fn time_wait(&self) -> Duration {
        self.packet_lifetime.duration() * 2
    }
}
