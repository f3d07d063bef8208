//! What one run says about attacker and victims.

use std::collections::BTreeMap;

use fairlane_fabric::metrics::Spread;
use fairlane_fabric::{MessageRecord, Results, TenantRecord};
use fairlane_units::{Bytes, Duration, NodeId, Rate, TenantId, Time};

use crate::jobs::Job;
use crate::plan::Plan;

/// What one run says about attacker and victims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Payload placed at receivers of the attacker's messages in the time in which it sends traffic of the
    /// attack's own, or else from the first start to the end of the run, over that time.
    pub goodput: Rate,
    /// That payload.
    pub placed: Bytes,
    /// The largest bandwidth-delay product of the fabric.
    pub bdp: Bytes,
    /// The same rate of all other tenants together.
    pub victims_goodput: Rate,
    /// The attacker's part of what all get over its part by weight, in the time in which it sends traffic of the
    /// attack's own, or else from its first post to its last arrival.
    pub weight_share: Option<f64>,
    /// What the attacker has posted.
    pub posts: Posts,
    /// The attacker's jobs by number.
    pub jobs: BTreeMap<u32, Job>,
    /// Slowdown of the victims' messages.
    pub victims: Option<Tail>,
    /// The same of those below one bandwidth-delay product.
    pub short_victims: Option<Tail>,
    /// Slowdown of all tenants' messages below one bandwidth-delay product.
    pub short: Option<Tail>,
    /// Pause frames received.
    pub pauses: u64,
    /// Packets lost.
    pub drops: u64,
}

/// Slowdowns of messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// How they are spread.
    pub spread: Spread,
    /// How many they are.
    pub messages: usize,
}

impl Tail {
    /// Of slowdowns in any order; nothing if there are none.
    pub fn of(slowdowns: Vec<f64>) -> Option<Self> {
        let messages = slowdowns.len();
        Spread::of(slowdowns).map(|spread| Self { spread, messages })
    }

    /// The median.
    pub const fn p50(&self) -> Option<f64> {
        self.spread.p50
    }

    /// The 99th percentile.
    pub const fn p99(&self) -> Option<f64> {
        self.spread.p99
    }

    /// The 99.9th percentile; nothing if there are too few messages for one.
    pub const fn p999(&self) -> Option<f64> {
        self.spread.p999
    }
}

/// When, from where and to where a tenant has posted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posts {
    /// The first post.
    pub first: Time,
    /// The last post.
    pub last: Time,
    /// The hosts that posted, in ascending order.
    pub sources: Vec<NodeId>,
    /// The hosts that they posted to.
    pub destinations: Vec<NodeId>,
}

impl Measurement {
    /// Measures a run of `plan`, in which `attacker` attacks or could.
    ///
    /// Messages that aren't finished when the run ends count with the time that they have taken so far, if
    /// that is more than their ideal time; those that weren't posted don't count. With traffic of the attack's
    /// own, victims' messages count from its beginning on.
    pub fn of(plan: &Plan, results: &Results, attacker: TenantId) -> Self {
        let first = plan.window.map_or(Time::ZERO, |window| window.start);
        let is_victim = |m: &&MessageRecord| m.tenant != attacker && m.start >= first;
        let is_short = |m: &&MessageRecord| m.size < results.totals.bdp;
        let victims = || results.messages.iter().filter(is_victim);
        let short = results.messages.iter().filter(is_short);
        let span = match plan.window {
            Some(window) => window.span(),
            None => results.totals.end - results.totals.first_start,
        };
        let all_of_it = (first, results.totals.end);
        let placed = placed(results, all_of_it, |tenant| tenant == attacker.index());
        let others = self::placed(results, all_of_it, |tenant| tenant != attacker.index());
        let active = match plan.window {
            Some(_) => all_of_it,
            None => activity(results, attacker),
        };
        let mut jobs = Job::all(plan, results);
        jobs.retain(|_, job| job.tenant == attacker);
        Self {
            goodput: rate(placed, span),
            placed,
            bdp: results.totals.bdp,
            victims_goodput: rate(others, span),
            weight_share: weight_share(results, active, attacker),
            posts: Posts::of(results, attacker),
            jobs,
            victims: Tail::of(slowdowns(results, victims())),
            short_victims: Tail::of(slowdowns(results, victims().filter(is_short))),
            short: Tail::of(slowdowns(results, short)),
            pauses: results.signals.pauses.count,
            drops: results.totals.dropped.packets,
        }
    }
}

/// Slowdowns of those that were posted.
fn slowdowns<'a>(results: &Results, messages: impl Iterator<Item = &'a MessageRecord>) -> Vec<f64> {
    let slowdown = |message: &MessageRecord| slowdown_so_far(message, results.totals.end);
    messages.filter_map(slowdown).collect()
}

/// Completion time over ideal time. A message that isn't finished at the `end` of the run counts with the time
/// that it has taken so far, if that is more than its ideal time; one that wasn't posted has none.
pub fn slowdown_so_far(message: &MessageRecord, end: Time) -> Option<f64> {
    message.slowdown().or_else(|| {
        let so_far = end.saturating_since(message.start).as_secs_f64();
        let slowdown = so_far / message.ideal.as_secs_f64();
        (message.posted && slowdown > 1.0).then_some(slowdown)
    })
}

/// From a tenant's first post to its last arrival, or to the end of the run if one is missing.
fn activity(results: &Results, tenant: TenantId) -> (Time, Time) {
    let own = || {
        let messages = results.messages.iter();
        messages.filter(|message| message.tenant == tenant && message.posted)
    };
    let end = results.totals.end;
    let last = own().map(|message| message.finish.unwrap_or(end)).max();
    let first = own().map(|message| message.start).min();
    (first.unwrap_or_default(), last.unwrap_or(end))
}

/// Payload placed at receivers between two times for the tenants whose number is `wanted`.
fn placed(results: &Results, (from, to): (Time, Time), wanted: impl Fn(usize) -> bool) -> Bytes {
    let numbered = results.tenants.iter().enumerate();
    let theirs = numbered.filter(|(number, _)| wanted(*number));
    let between = |(_, tenant): (usize, &TenantRecord)| {
        let until = before(results, to, tenant);
        until.saturating_sub(before(results, from, tenant))
    };
    theirs.map(between).sum()
}

/// What a tenant's receivers had before `until`, to the sampling interval: of the one that `until` divides, as
/// much as that part of it is. Of a run's only tenant there is no series, but nobody whom it could harm either.
fn before(results: &Results, until: Time, tenant: &TenantRecord) -> Bytes {
    if until >= results.totals.end {
        return tenant.placed;
    }
    let interval = results.series.interval.as_ps().max(1);
    let elapsed = until.saturating_since(results.series.start).as_ps();
    let part = |(row, placed): (u64, &u64)| {
        let begin = row.saturating_mul(interval);
        let within = elapsed.saturating_sub(begin).min(interval);
        let part = u128::from(*placed) * u128::from(within) / u128::from(interval);
        u64::try_from(part).unwrap_or(u64::MAX)
    };
    Bytes::new((0..).zip(&tenant.placed_series).map(part).sum())
}

/// A tenant's part of the payload placed at receivers in a time, over its part by weight; nothing if none is.
fn weight_share(results: &Results, time: (Time, Time), tenant: TenantId) -> Option<f64> {
    let tenants = &results.tenants;
    let own = placed(results, time, |number| number == tenant.index()).as_f64();
    let all = placed(results, time, |_| true).as_f64();
    let weights: f64 = tenants.iter().map(|one| one.weight).sum();
    let weight = tenants.get(tenant.index())?.weight;
    (all > 0.0).then(|| own / all * weights / weight)
}

/// Bytes over time; zero in no time.
pub(crate) fn rate(bytes: Bytes, span: Duration) -> Rate {
    let bits = u128::from(bytes.get()) * 8;
    let bps = (bits * 1_000_000_000_000).checked_div(u128::from(span.as_ps()));
    Rate::from_bps(u64::try_from(bps.unwrap_or(0)).unwrap_or(u64::MAX))
}

impl Posts {
    /// Those of a tenant in a run.
    pub fn of(results: &Results, tenant: TenantId) -> Self {
        let own = || {
            let messages = results.messages.iter();
            messages.filter(|message| message.tenant == tenant && message.posted)
        };
        let hosts = |pick: fn(&MessageRecord) -> NodeId| {
            let mut hosts: Vec<NodeId> = own().map(pick).collect();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        };
        Self {
            first: own().map(|message| message.start).min().unwrap_or_default(),
            last: own().map(|message| message.start).max().unwrap_or_default(),
            sources: hosts(|message| message.source),
            destinations: hosts(|message| message.destination),
        }
    }
}
