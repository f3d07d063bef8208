//! What an egress port tells each tenant of its queue: less to those that use less than their share.

use fairlane_units::{Bytes, Duration, TenantId, Time};

/// Bytes of every tenant at a port, and how much of the port's load each is told of.
///
/// A tenant below its part by weight of what active tenants send hears of the load only in the
/// proportion in which it fills that part, so that it grows while those above it shrink. A switch needs
/// two counters and a ratio for each port and tenant.
#[derive(Clone, Debug)]
pub struct TenantUse {
    weights: Vec<f64>,
    /// Bytes of the current interval.
    bytes: Vec<u64>,
    ratios: Vec<f64>,
    /// The port's counter as each tenant is told, up to the beginning of the interval.
    told: Vec<f64>,
    interval: Duration,
    began: Time,
    /// The port's counter at the beginning of the interval.
    sent: u64,
}

impl TenantUse {
    pub(crate) fn new(weights: &[f64], interval: Duration) -> Self {
        Self {
            weights: weights.to_vec(),
            bytes: vec![0; weights.len()],
            ratios: vec![1.0; weights.len()],
            told: vec![0.0; weights.len()],
            interval,
            began: Time::ZERO,
            sent: 0,
        }
    }

    /// A packet of a tenant leaves; `sent` is the port's counter without it.
    pub(crate) fn on_sent(&mut self, now: Time, tenant: TenantId, wire: u64, sent: u64) {
        if now.saturating_since(self.began) >= self.interval {
            self.turn(now, sent);
        }
        self.bytes[tenant.index()] += wire;
    }

    fn turn(&mut self, now: Time, sent: u64) {
        let passed = (sent - self.sent) as f64;
        for (told, ratio) in self.told.iter_mut().zip(&self.ratios) {
            *told += passed * ratio;
        }
        let all: u64 = self.bytes.iter().sum();
        let active = self.bytes.iter().zip(&self.weights);
        let weights: f64 = active
            .filter(|(bytes, _)| **bytes > 0)
            .map(|(_, weight)| weight)
            .sum();
        for (at, ratio) in self.ratios.iter_mut().enumerate() {
            let part = self.weights[at] / weights.max(self.weights[at]);
            let used = self.bytes[at] as f64 / (all.max(1) as f64 * part);
            // Who hasn't sent is told everything: nobody knows what it would use.
            *ratio = if self.bytes[at] == 0 {
                1.0
            } else {
                used.min(1.0)
            };
        }
        self.bytes.fill(0);
        (self.began, self.sent) = (now, sent);
    }

    /// The part of the port's load that a tenant is told of.
    pub(crate) fn ratio(&self, tenant: TenantId) -> f64 {
        self.ratios[tenant.index()]
    }

    /// The port's counter as a tenant is told.
    pub(crate) fn told(&self, tenant: TenantId, sent: u64) -> Bytes {
        let at = tenant.index();
        Bytes::new((self.told[at] + (sent - self.sent) as f64 * self.ratios[at]) as u64)
    }
}
