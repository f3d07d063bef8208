//! What one run says about attacker and victims.

use std::collections::BTreeMap;

use fairlane_fabric::metrics::{Spread, placed_between};
use fairlane_fabric::{MessageRecord, Results};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, Rate, TenantId, Time};

use crate::jobs::Job;
use crate::plan::Plan;

/// What one run says about attacker and victims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurement {
    /// Payload placed at receivers of the attacker's messages in the time in which it sends traffic of the
    /// attack's own, or else from the first start to the end of the run, over that time.
    pub goodput: Rate,
    /// The payload that `goodput` counts.
    pub placed: Bytes,
    /// The largest bandwidth-delay product of the fabric.
    pub bdp: Bytes,
    /// Payload placed at receivers of all other tenants' messages, over the same time.
    pub victims_goodput: Rate,
    /// What each side got while both had something to send; nothing if they never had at once.
    pub contention: Option<Contention>,
    /// The attacker's part of what all get over its part by weight, in the time in which it sends traffic of the
    /// attack's own, or else from its first post to its last arrival.
    pub weight_share: Option<f64>,
    /// What the attacker has posted.
    pub posts: Posts,
    /// The attacker's jobs by number.
    pub jobs: BTreeMap<MessageId, Job>,
    /// Slowdown of the victims' messages.
    pub victims: Option<Tail>,
    /// Slowdown of the victims' messages below one bandwidth-delay product.
    pub short_victims: Option<Tail>,
    /// Slowdown of all tenants' messages below one bandwidth-delay product.
    pub short: Option<Tail>,
    /// Pause frames received.
    pub pauses: u64,
    /// Packets lost.
    pub drops: u64,
}

/// What reached receivers while attacker and victims both had something to send: from the time when both have posted
/// their first message until one of them has nothing left that isn't complete, or the run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contention {
    /// For how long.
    pub time: Duration,
    /// Payload of the attacker's messages placed in that time, over that time.
    pub attacker: Rate,
    /// Payload of all other tenants' messages placed in that time, over that time.
    pub victims: Rate,
}

impl Contention {
    /// The contention in a run between `attacker` and all other tenants.
    pub fn of(results: &Results, attacker: TenantId) -> Option<Self> {
        let own = activity(results, |tenant| tenant == attacker)?;
        let others = activity(results, |tenant| tenant != attacker)?;
        let (from, to) = (own.0.max(others.0), own.1.min(others.1));
        let time = to.saturating_since(from);
        let got = |of_attacker: bool| {
            let wanted = |tenant: usize| (tenant == attacker.index()) == of_attacker;
            rate(placed_between(results, (from, to), wanted), time)
        };
        (!time.is_zero()).then(|| Self {
            time,
            attacker: got(true),
            victims: got(false),
        })
    }
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
    /// The tail of slowdowns in any order; nothing if there are none.
    pub fn of(slowdowns: Vec<f64>) -> Option<Self> {
        let messages = slowdowns.len();
        Spread::of(slowdowns).map(|spread| Self { spread, messages })
    }

    /// The median; this and other percentiles if there are enough messages for one.
    pub const fn p50(&self) -> Option<f64> {
        self.spread.p50
    }

    /// The 99th percentile.
    pub const fn p99(&self) -> Option<f64> {
        self.spread.p99
    }

    /// The 99.9th percentile.
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
        let placed = placed_between(results, all_of_it, |tenant| tenant == attacker.index());
        let others = placed_between(results, all_of_it, |tenant| tenant != attacker.index());
        let active = match plan.window {
            Some(_) => all_of_it,
            None => activity(results, |tenant| tenant == attacker).unwrap_or(all_of_it),
        };
        let mut jobs = Job::all(plan, results);
        jobs.retain(|_, job| job.tenant == attacker);
        Self {
            goodput: rate(placed, span),
            placed,
            bdp: results.totals.bdp,
            victims_goodput: rate(others, span),
            contention: Contention::of(results, attacker),
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

/// From the first post of some tenants to their last arrival, or to the end of the run if one is missing.
fn activity(results: &Results, wanted: impl Fn(TenantId) -> bool) -> Option<(Time, Time)> {
    let own = || {
        let messages = results.messages.iter();
        messages.filter(|message| wanted(message.tenant) && message.posted)
    };
    let end = results.totals.end;
    let last = own().map(|message| message.finish.unwrap_or(end)).max();
    own().map(|message| message.start).min().zip(last)
}

/// A tenant's part of the payload placed at receivers in a time, over its part by weight; nothing if none is.
fn weight_share(results: &Results, time: (Time, Time), tenant: TenantId) -> Option<f64> {
    let tenants = &results.tenants;
    let own = placed_between(results, time, |number| number == tenant.index()).as_f64();
    let all = placed_between(results, time, |_| true).as_f64();
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
    /// The posts of a tenant in a run.
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
