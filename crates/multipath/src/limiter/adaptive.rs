//! Chunks that occupy their path for a given time, as completions tell.
//!
//! The field's fixed sizes lie between 16 KiB (UCX) and 512 KiB (HCCL). A chunk that is short in time leaves a
//! congested path soon; one that is long costs few completions. So the size follows the rate of completions.

use fairlane_units::{Bytes, Duration};

use super::Limit;
use crate::Settings;

/// The limit of a path that is measured.
#[derive(Clone, Debug)]
pub struct Adaptive {
    limit: Bytes,
    /// Picoseconds of a KiB, smoothed; 0 before the first completion.
    pace: u64,
}

/// Sizes are whole pages.
const PAGE: u64 = 4096;

impl Limit for Adaptive {
    fn new(settings: &Settings) -> Self {
        let within = settings.chunk.max(settings.chunk_least);
        Self {
            limit: within.min(settings.chunk_most),
            pace: 0,
        }
    }

    #[inline]
    fn limit(&self) -> Bytes {
        self.limit
    }

    fn on_delivered(&mut self, settings: &Settings, bytes: Bytes, after: Duration) {
        // The ends of messages tell more of the round trip than of the rate.
        if bytes.get() < self.limit.get().min(settings.chunk_least.get()) || bytes.is_zero() {
            return;
        }
        let sample = (after.as_ps() / bytes.get().div_ceil(1024)).max(1);
        self.pace = match self.pace {
            0 => sample,
            old => old - old / 8 + sample / 8,
        }
        .max(1);
        let wanted = (settings.chunk_time.as_ps() / self.pace).saturating_mul(1024);
        let wanted = wanted - wanted % PAGE;
        // One burst of completions doesn't move it far.
        let near = wanted.clamp(self.limit.get() / 2, self.limit.get() * 2);
        let (least, most) = (settings.chunk_least.get(), settings.chunk_most.get());
        self.limit = Bytes::new(near.clamp(least, most));
    }
}
