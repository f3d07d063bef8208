//! The one place that reads time.

use std::time::{Duration as Wall, Instant};

use fairlane_units::{Duration, Time};

/// `CLOCK_MONOTONIC`, counted from when the device was opened; or the clock of a network, which goes slower.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    /// How much slower it goes, in thousandths.
    scale: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            scale: 1000,
        }
    }

    /// The clock that was zero at `origin`, in nanoseconds of `CLOCK_MONOTONIC`, and goes so many thousandths slower.
    pub(crate) fn of(origin: u64, scale: u64) -> Self {
        let (own, now) = (fairlane_rings::monotonic(), Instant::now());
        let since = Wall::from_nanos(own.saturating_sub(origin));
        Self {
            start: now.checked_sub(since).unwrap_or(now),
            scale: scale.max(1),
        }
    }

    pub(crate) fn now(&self) -> Time {
        let picoseconds = u128::from(self.nanoseconds()) * 1_000_000 / u128::from(self.scale);
        Time::from_ps(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }

    /// Real time since it was zero.
    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// How long a time of this clock is.
    pub(crate) fn wall(&self, span: Duration) -> Wall {
        let nanoseconds = u128::from(span.as_ps()) * u128::from(self.scale) / 1_000_000;
        Wall::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// How much this clock goes on in a real time.
    pub(crate) fn span(&self, wall: Wall) -> Duration {
        let picoseconds = wall.as_nanos() * 1_000_000 / u128::from(self.scale);
        Duration::from_ps(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }
}
