//! What one run says about attacker and victims.

use std::collections::BTreeMap;

use fairlane_fabric::metrics::Spread;
use fairlane_fabric::{MessageRecord, Results};
use fairlane_units::{Rate, TenantId, Time};

use crate::plan::Plan;

/// What one run says about attacker and victims.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Payload placed at receivers of the attacker's messages, over the time in which it sends traffic of
    /// the attack's own, or else from the first start to the end of the run.
    pub goodput: Rate,
    /// Hosts from which the attacker has sent.
    pub sources: usize,
    /// Completion times in seconds of the attacker's jobs: of each honest message, by its number, from the
    /// first start to the last finish of its pieces. Jobs with unfinished pieces are left out.
    pub jobs: BTreeMap<u32, f64>,
    /// Slowdown of the victims' messages below one bandwidth-delay product, or of all if none is so small.
    pub victims: Option<Spread>,
    /// How many messages that is about.
    pub victim_messages: usize,
    /// Slowdown of all tenants' messages below one bandwidth-delay product.
    pub short: Option<Spread>,
}

impl Measurement {
    /// Measures a run of `plan`, in which `attacker` attacks or could.
    ///
    /// Messages that aren't finished when the run ends count with the time that they have taken so far, if
    /// that is more than their ideal time. With traffic of the attack's own, victims' messages count from
    /// its beginning on.
    pub fn of(plan: &Plan, results: &Results, attacker: TenantId) -> Self {
        let first = plan.window.map_or(Time::ZERO, |window| window.start);
        let is_victim = |m: &&MessageRecord| m.tenant != attacker && m.start >= first;
        let is_short = |m: &&MessageRecord| m.size < results.totals.bdp;
        let victims = || results.messages.iter().filter(is_victim);
        let mut slowdowns = slowdowns(results, victims().filter(is_short));
        if slowdowns.is_empty() {
            slowdowns = self::slowdowns(results, victims());
        }
        Self {
            goodput: goodput(plan, results, attacker),
            sources: sources(results, attacker),
            jobs: jobs(plan, results, attacker),
            victim_messages: slowdowns.len(),
            victims: Spread::of(slowdowns),
            short: Spread::of(self::slowdowns(
                results,
                results.messages.iter().filter(is_short),
            )),
        }
    }
}

fn slowdowns<'a>(results: &Results, messages: impl Iterator<Item = &'a MessageRecord>) -> Vec<f64> {
    let end = results.totals.end;
    let slowdown = |message: &MessageRecord| match message.slowdown() {
        Some(slowdown) => Some(slowdown),
        None => {
            let so_far = end.saturating_since(message.start).as_secs_f64();
            Some(so_far / message.ideal.as_secs_f64()).filter(|slowdown| *slowdown > 1.0)
        }
    };
    messages.filter_map(slowdown).collect()
}

fn goodput(plan: &Plan, results: &Results, attacker: TenantId) -> Rate {
    let placed = results
        .tenants
        .get(attacker.index())
        .map(|tenant| tenant.placed);
    let span = match plan.window {
        Some(window) => window.span(),
        None => results.totals.end - results.totals.first_start,
    };
    let bits = u128::from(placed.unwrap_or_default().get()) * 8;
    let bps = (bits * 1_000_000_000_000).checked_div(u128::from(span.as_ps()));
    Rate::from_bps(u64::try_from(bps.unwrap_or(0)).unwrap_or(u64::MAX))
}

fn sources(results: &Results, attacker: TenantId) -> usize {
    let own = results
        .messages
        .iter()
        .filter(|message| message.tenant == attacker);
    let mut hosts: Vec<_> = own.map(|message| message.source).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.len()
}

fn jobs(plan: &Plan, results: &Results, attacker: TenantId) -> BTreeMap<u32, f64> {
    let mut spans: BTreeMap<u32, (Time, Option<Time>)> = BTreeMap::new();
    for message in results
        .messages
        .iter()
        .filter(|message| message.tenant == attacker)
    {
        // Operations of connections that stay open are no part of the plan.
        let Some(job) = plan.jobs.get(message.id as usize).copied().flatten() else {
            continue;
        };
        let span = spans
            .entry(job)
            .or_insert((message.start, Some(message.start)));
        span.0 = span.0.min(message.start);
        span.1 = span
            .1
            .zip(message.finish)
            .map(|(last, finish)| last.max(finish));
    }
    let seconds = |(job, (first, last)): (u32, (Time, Option<Time>))| {
        Some((job, (last? - first).as_secs_f64()))
    };
    spans.into_iter().filter_map(seconds).collect()
}
