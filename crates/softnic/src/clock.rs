//! The one place that reads time.

use std::time::Instant;

use fairlane_units::Time;

/// `CLOCK_MONOTONIC`, counted from when the device was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_ns(self.nanoseconds())
    }

    pub(crate) fn nanoseconds(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
