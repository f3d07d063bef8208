//! Tokens in bytes, filled at a rate.

use fairlane_units::{Bytes, Rate, Time};

/// A token bucket; it begins full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    depth: Bytes,
    level: Bytes,
    /// When the level was right.
    at: Time,
}

impl Bucket {
    /// A bucket of `depth` bytes.
    pub const fn new(depth: Bytes) -> Self {
        Self {
            depth,
            level: depth,
            at: Time::ZERO,
        }
    }

    /// Fills it at `rate` up to `now`.
    pub fn fill(&mut self, now: Time, rate: Rate) {
        if rate.is_zero() || self.level >= self.depth {
            self.at = now;
            return;
        }
        let gained = rate.bytes_in(now.saturating_since(self.at));
        let level = self.level + gained;
        if level >= self.depth {
            (self.level, self.at) = (self.depth, now);
            return;
        }
        self.level = level;
        // What is less than a byte stays for later.
        self.at = (self.at + gained.serialization(rate)).min(now);
    }

    /// The bytes in it.
    pub const fn level(&self) -> Bytes {
        self.level
    }

    /// Takes `size` if there is as much.
    pub fn take(&mut self, size: Bytes) -> bool {
        let enough = self.level >= size;
        if enough {
            self.level -= size;
        }
        enough
    }

    /// Takes `size` if `reserve` is left.
    pub fn take_above(&mut self, reserve: Bytes, size: Bytes) -> bool {
        self.level >= reserve + size && self.take(size)
    }

    /// When there will be `size` bytes at `rate`; never if the bucket is smaller, or nothing fills it.
    pub fn ready(&self, size: Bytes, rate: Rate) -> Option<Time> {
        if size > self.depth {
            return None;
        }
        let lacking = size.saturating_sub(self.level);
        match (lacking.is_zero(), rate.is_zero()) {
            (true, _) => Some(self.at),
            (false, true) => None,
            (false, false) => self.at.checked_add(lacking.serialization(rate)),
        }
    }
}
