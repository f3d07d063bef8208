//! The time of the next packet.

use fairlane_units::{Bytes, Duration, Rate, Time};

/// How the time of a packet at a rate is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacingRounding {
    /// Up to a whole picosecond.
    #[default]
    Picosecond,
    /// Down to a whole nanosecond by way of seconds in floating point, as ns-3 does: an exact
    /// number of nanoseconds usually becomes one less.
    Ns3,
}

impl PacingRounding {
    /// The time of `size` bytes at `rate`.
    ///
    /// # Panics
    /// If `rate` is zero.
    #[inline]
    pub fn serialization(self, size: Bytes, rate: Rate) -> Duration {
        match self {
            Self::Picosecond => size.serialization(rate),
            Self::Ns3 => ns3_seconds(size.as_f64() * 8.0 / rate.as_f64()),
        }
    }
}

/// Seconds to nanoseconds through a 64.64 fixed-point number, truncated twice.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "these truncations are the rounding being described"
)]
fn ns3_seconds(seconds: f64) -> Duration {
    const FRACTION: f64 = 18_446_744_073_709_551_616.0;
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * FRACTION) as u64;
    let nanoseconds = (u128::from(fraction) * 1_000_000_000) >> 64;
    Duration::from_ns(whole * 1_000_000_000 + nanoseconds as u64)
}

/// Spaces the packets of one rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    available: Time,
    last_size: Bytes,
}

impl Pacer {
    /// A pacer whose first packet may leave at `now`.
    pub const fn new(now: Time) -> Self {
        Self {
            available: now,
            last_size: Bytes::ZERO,
        }
    }

    /// When the next packet may leave.
    #[inline]
    pub const fn available(&self) -> Time {
        self.available
    }

    /// A packet of `size` bytes starts at `now` and is charged at `rate`.
    #[inline]
    pub fn on_sent(&mut self, now: Time, size: Bytes, rate: Rate, rounding: PacingRounding) {
        self.last_size = size;
        self.available = now + rounding.serialization(size, rate);
    }

    /// Charges the last packet at `new` instead of `old`.
    #[inline]
    pub fn on_rate_change(&mut self, old: Rate, new: Rate, rounding: PacingRounding) {
        let was = rounding.serialization(self.last_size, old);
        let is = rounding.serialization(self.last_size, new);
        self.available = Time::from_ps((self.available + is).as_ps().saturating_sub(was.as_ps()));
    }
}
