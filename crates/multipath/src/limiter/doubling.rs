//! Doubling until a chunk fails, then linear.
//!
//! Source: S3 (Tian et al., "A Novel Software-based Multi-path RDMA Solution for Data Center Networks"),
//! section 3.5: "binary increasing the chunk size", after `IBV_WC_RETRY_EXC_ERR` "decrease the chunk size to
//! previous value and find a maximum threshold in linear increasing". It is silent on the step (here the
//! smallest chunk) and on what comes later: here a size that was fine and fails is halved, and found again
//! linearly, since the network has changed.

use fairlane_units::{Bytes, Duration};

use super::Limit;
use crate::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Doubling,
    Linear,
    Found,
}

/// The limit of a path that loses what is sent too fast.
#[derive(Clone, Debug)]
pub struct Doubling {
    limit: Bytes,
    /// The largest chunk that arrived.
    proven: Bytes,
    phase: Phase,
}

impl Limit for Doubling {
    fn new(settings: &Settings) -> Self {
        Self {
            limit: settings.chunk,
            proven: Bytes::ZERO,
            phase: Phase::Doubling,
        }
    }

    #[inline]
    fn limit(&self) -> Bytes {
        self.limit
    }

    fn on_delivered(&mut self, settings: &Settings, bytes: Bytes, _after: Duration) {
        // A shorter one says nothing of the limit.
        if bytes < self.limit {
            return;
        }
        self.proven = self.limit;
        let more = match self.phase {
            Phase::Doubling => self.limit * 2,
            Phase::Linear => self.limit + settings.chunk_least,
            Phase::Found => return,
        };
        self.limit = more.min(settings.chunk_most).max(self.limit);
    }

    fn on_failed(&mut self, settings: &Settings, bytes: Bytes) {
        // Others of the same size were on their way.
        if bytes > self.limit {
            return;
        }
        if bytes > self.proven && !self.proven.is_zero() {
            self.phase = match self.phase {
                Phase::Doubling => Phase::Linear,
                Phase::Linear | Phase::Found => Phase::Found,
            };
            self.limit = self.proven;
            return;
        }
        let half = (bytes.min(self.limit) / 2).max(settings.chunk_least);
        self.limit = half.min(self.limit);
        self.proven = self.proven.min(self.limit);
        self.phase = Phase::Linear;
    }
}
