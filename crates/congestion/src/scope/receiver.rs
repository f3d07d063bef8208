//! Shares of a busy downlink, by tenant.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use super::{Config, Weight};

/// A tenant that uses less than its part is left so much room to grow: from a quarter on it has all of
/// its part, since congestion may be what holds it down.
const TENANT_GROWTH: f64 = 4.0;

/// As [`TENANT_GROWTH`] for a source inside its tenant.
const SOURCE_GROWTH: f64 = 1.25;

/// A look takes in so many packets for each source, or those that haven't sent just then would be forgotten.
const PACKETS_PER_SOURCE: usize = 4;

/// A look ends after so many intervals even if it has not seen that many.
const LONGEST_LOOK: u64 = 16;

/// The part of the link that is kept free to drain a queue in front of it, if all packets are marked.
const DRAIN: f64 = 0.3;

/// A link with one source is left to it from so long on after it had others: those may come back.
const LONE_AFTER: Duration = Duration::from_ms(1);

/// How the NIC of a receiver divides its link among tenants and their sources.
///
/// It measures who sends how much. While the link is busy, tenants fill it by weight as water fills
/// basins (max-min fairness), each with what its sources seem to want, guarantees first; inside a tenant
/// the same over sources. Acknowledgements carry a tenant's level.
#[derive(Clone, Debug)]
pub struct ReceiverShares {
    line_rate: Rate,
    interval: Duration,
    /// What is divided, in bits per second.
    granted: f64,
    /// From what use on, in bits per second.
    above: f64,
    tenants: Vec<Weight>,
    /// Bytes of the current look, by tenant and source.
    sources: BTreeMap<(TenantId, HostId), Bytes>,
    total: Bytes,
    packets: usize,
    marked: usize,
    began: Time,
    /// From when on a link with one source is left to it.
    alone: Time,
    levels: Vec<Option<Rate>>,
}

impl ReceiverShares {
    /// A link of `line_rate` that these tenants send to, whose controllers aim at using a part of it.
    pub fn new(config: &Config, target: f64, line_rate: Rate, tenants: &[Weight]) -> Self {
        let target = target * line_rate.as_f64();
        Self {
            line_rate,
            interval: config.share_interval,
            granted: config.share_granted * target,
            above: config.share_above * target,
            tenants: tenants.to_vec(),
            sources: BTreeMap::new(),
            total: Bytes::ZERO,
            packets: 0,
            marked: 0,
            began: Time::ZERO,
            alone: Time::ZERO,
            levels: vec![None; tenants.len()],
        }
    }

    /// A packet of `size` bytes on the wire has arrived, perhaps marked on its way; returns the rate that its
    /// sender may use towards this receiver, if that is limited.
    pub fn on_data(
        &mut self,
        now: Time,
        tenant: TenantId,
        source: HostId,
        (size, marked): (Bytes, bool),
    ) -> Option<Rate> {
        if self.has_seen_all(now) {
            self.divide(now);
        }
        self.packets += 1;
        self.marked += usize::from(marked);
        *self.sources.entry((tenant, source)).or_default() += size;
        self.total += size;
        self.level(tenant)
    }

    /// The rate of each source of a tenant.
    pub fn level(&self, tenant: TenantId) -> Option<Rate> {
        let is = |one: &Weight| one.tenant == tenant;
        // Usually all tenants are here, in order.
        let at = match self.tenants.get(tenant.index()).is_some_and(is) {
            true => tenant.index(),
            false => self.tenants.iter().position(is)?,
        };
        self.levels[at]
    }

    fn has_seen_all(&self, now: Time) -> bool {
        let span = now.saturating_since(self.began);
        span >= self.interval
            && (self.packets >= PACKETS_PER_SOURCE * self.sources.len()
                || span >= self.interval.saturating_mul(LONGEST_LOOK))
    }

    /// Ends a look.
    fn divide(&mut self, now: Time) {
        let span = now.saturating_since(self.began);
        let seconds = span.as_secs_f64();
        let sources = core::mem::take(&mut self.sources);
        let total = core::mem::take(&mut self.total);
        // As much as marks tell of a queue is left free, or it would stand for as long as the shares.
        let drain = DRAIN * self.marked as f64 / self.packets.max(1) as f64;
        let divided = self.granted * (1.0 - drain);
        (self.began, self.packets, self.marked) = (now, 0, 0);
        if sources.len() > 1 {
            self.alone = now.saturating_add(LONE_AFTER);
        }
        let line = self.line_rate.as_f64();
        let rate = |bytes: Bytes| bytes.as_f64() * 8.0 / seconds;
        if rate(total) <= self.above || now >= self.alone {
            self.levels.fill(None);
            return;
        }
        let demands: Vec<Vec<f64>> = self
            .tenants
            .iter()
            .map(|one| {
                let own = sources
                    .iter()
                    .filter(|((tenant, _), _)| *tenant == one.tenant);
                own.map(|(_, &bytes)| (SOURCE_GROWTH * rate(bytes)).min(line))
                    .collect()
            })
            .collect();
        let used: Vec<f64> = demands.iter().map(|all| all.iter().sum()).collect();
        // Up to its part by weight a tenant has much room to grow, beyond that little.
        let weights: f64 = self.tenants.iter().map(|one| one.weight).sum();
        let wish = |(one, &used): (&Weight, &f64)| {
            let part = divided * one.weight / weights;
            (TENANT_GROWTH / SOURCE_GROWTH * used).min(part).max(used)
        };
        let wanted: Vec<f64> = self.tenants.iter().zip(&used).map(wish).collect();
        // A guarantee that isn't used is left to others.
        let granted = self.grant(divided, &wanted, &used);
        // What each would get if all that are active wanted everything.
        let greedy = |all: &Vec<f64>| if all.is_empty() { 0.0 } else { line };
        let greedy: Vec<f64> = demands.iter().map(greedy).collect();
        let parts = self.grant(divided, &greedy, &greedy);
        for (at, demands) in demands.iter().enumerate() {
            // Who uses less than its part may take all of it at once.
            let budget = granted[at].max(parts[at]);
            let filled = level(demands, budget);
            self.levels[at] = filled.map(|bps| scaled(bps).max(Rate::from_bps(1)));
        }
    }

    /// What each tenant gets of `all`: guarantees first as far as they are used, then by weight.
    fn grant(&self, all: f64, wanted: &[f64], used: &[f64]) -> Vec<f64> {
        let guaranteed = self
            .tenants
            .iter()
            .zip(used)
            .map(|(one, &used)| one.guarantee.map_or(0.0, |rate| rate.as_f64().min(used)));
        let mut granted: Vec<f64> = guaranteed.collect();
        let mut left = all - granted.iter().sum::<f64>();
        let mut open: Vec<usize> = (0..wanted.len())
            .filter(|&at| wanted[at] > granted[at])
            .collect();
        while left > 1.0 && !open.is_empty() {
            let weights: f64 = open.iter().map(|&at| self.tenants[at].weight).sum();
            // The smallest rise per weight that satisfies somebody, or uses up the link.
            let need = |at: usize| (wanted[at] - granted[at]) / self.tenants[at].weight;
            let rise = open
                .iter()
                .map(|&at| need(at))
                .fold(left / weights, f64::min);
            for &at in &open {
                granted[at] += rise * self.tenants[at].weight;
            }
            left -= rise * weights;
            open.retain(|&at| wanted[at] - granted[at] > 1.0);
        }
        granted
    }
}

/// A rate from bits per second.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and rounding down is wanted"
)]
const fn scaled(bps: f64) -> Rate {
    Rate::from_bps(bps as u64)
}

/// The level up to which `budget` fills basins of these depths, and what is left over them all alike;
/// nothing without basins.
fn level(demands: &[f64], budget: f64) -> Option<f64> {
    let mut sorted = demands.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut left = budget;
    for (at, &demand) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at) as f64;
        if demand > share {
            return Some(share);
        }
        left -= demand;
    }
    let deepest = sorted.last()?;
    Some(deepest + left / sorted.len() as f64)
}
