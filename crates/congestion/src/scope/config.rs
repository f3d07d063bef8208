//! Parameters of scope `tenant`.

use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::Duration;

use crate::{Limit, Parameters, Rule};

/// Parameters of scope `tenant`; each part can be switched off. `docs/isolation.md` has the rules.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Config {
    /// Express credit: whether the first bandwidth-delay product of a message may go at line rate if the
    /// tenant's bucket pays for it.
    pub express: bool,
    /// Depth of the bucket in bandwidth-delay products.
    pub depth: f64,
    /// Refill of the bucket as a share of what the aggregate controller allows, at most the line rate;
    /// divided by weight among the tenants of the host.
    pub refill: f64,
    /// The least refill, as a share of the line rate: what so many hosts can always send beside all control.
    pub refill_least: f64,
    /// How far express packets may push back what their pair sends later, in bandwidth-delay products
    /// divided by the number of limited pairs; beyond that they wait like others.
    pub debt: u32,
    /// The longest time by which they push it back; towards a receiver with a share [`share_memory`](Self::share_memory)
    /// if that is longer.
    pub debt_span: Duration,
    /// Inheritance: whether a young pair that sends unpaid packets takes over the tenant's aggregate
    /// controller.
    pub inheritance: bool,
    /// A pair without an acknowledgement for so long is young again.
    pub young_after: Duration,
    /// The aggregate hears the first bytes of young pairs, so many bandwidth-delay products.
    pub heard: u32,
    /// The same under algorithms with telemetry, which says how much room a path has: there long messages
    /// don't slow short ones, and an aggregate that hears nothing keeps a rate that is out of date.
    pub heard_with_telemetry: u32,
    /// Budget of beginnings: how much young pairs may send at the aggregate's rate beside what the bucket pays for, in
    /// bandwidth-delay products; beyond that the cautious aggregate holds under HPCC, and [`restraint`](Self::restraint) under algorithms
    /// that count notifications.
    pub beginnings: f64,
    /// Refill of that budget as a share of the line rate, divided by weight among the tenants of the host.
    pub beginnings_refill: f64,
    /// What a pair sends counts as its beginning until it has delivered so many bandwidth-delay products since it
    /// became young.
    pub beginning_length: f64,
    /// What the budget keeps for the first product of each pair: later parts of a beginning take none of it, or long
    /// messages would use up what short ones need. In bandwidth-delay products.
    pub beginnings_reserve: f64,
    /// As [`lean`](Self::lean), of the cautious aggregate: from its inverse on, as a part of the line rate, it takes nothing of
    /// what is free. Zero: there is none.
    pub caution: f64,
    /// Beyond the budget a pair begins at 1 / (1 + `restraint` r / R) of what aggregate and pool allow, where the aggregate has
    /// rate r and the line R. Only under algorithms that count notifications.
    pub restraint: f64,
    /// That holds for so long after the aggregate has heard of a mark.
    pub restrained_for: Duration,
    /// How much more a pair at line rate gives way than one at next to nothing, and how much less it takes of what
    /// is free, which each takes in small parts; zero: both as the algorithm has it. Only under HPCC.
    pub lean: f64,
    /// Multiplies the additive increase of pairs; only under HPCC.
    pub increase: u32,
    /// Multiplies the additive increase of the aggregate, which hears of few packets; only under HPCC.
    pub aggregate_increase: u32,
    /// Coupling: whether the k limited pairs of a tenant at a host each send at rate / k; young ones, under algorithms
    /// that don't count notifications, divide the aggregate's rate among themselves.
    pub coupling: bool,
    /// For how many of those a pair counts that has a message of which less than a bandwidth-delay product has been sent.
    pub early_weight: u32,
    /// Pooling: whether limited pairs also have a controller in common, which hears the marks of all; only
    /// under algorithms that count notifications (DCQCN, InfiniBand).
    pub pooling: bool,
    /// A pair with a mark in this time is limited.
    pub limited_for: Duration,
    /// Receiver shares: whether a busy receiver divides its link by weight.
    pub shares: bool,
    /// How often the receiver looks, at least; less often with many sources.
    pub share_interval: Duration,
    /// Use of its link, in parts of what the algorithm aims at, above which a receiver divides it.
    pub share_above: f64,
    /// What it divides, in parts of that.
    pub share_granted: f64,
    /// Time constant with which a pair comes closer to its share; zero: never.
    pub share_memory: Duration,
    /// Arbitration: whether tenants take turns at the NIC, by weight.
    pub arbitration: bool,
    /// Whether paid packets go ahead of that.
    pub express_first: bool,
    /// Time in which an idle pair's rate comes 63 % closer to the line rate, under algorithms that don't
    /// say what idleness does (HPCC, PowerTCP); zero: idleness changes nothing.
    pub idle_recovery: Duration,
    /// Pairs that a host remembers; further ones replace those idle longest.
    pub pairs: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            express: true,
            depth: 2.0,
            refill: 0.2,
            refill_least: 0.05,
            debt: 1,
            debt_span: Duration::from_us(300),
            inheritance: true,
            // Four round trips of a three-tier fabric with links of 1 us.
            young_after: Duration::from_us(50),
            heard: 4,
            heard_with_telemetry: 16,
            beginnings: 8.0,
            beginnings_refill: 0.2,
            beginning_length: 2.5,
            beginnings_reserve: 5.0,
            caution: 3.0,
            restraint: 1.5,
            // Ten rate-increase intervals of DCQCN: so long may it take until what a mark took is back.
            restrained_for: Duration::from_ms(3),
            lean: 1.0,
            increase: 4,
            aggregate_increase: 10,
            coupling: true,
            early_weight: 4,
            pooling: true,
            // The rate-increase interval of DCQCN.
            limited_for: Duration::from_us(300),
            shares: true,
            share_interval: Duration::from_us(10),
            share_above: 0.92,
            share_granted: 0.97,
            share_memory: Duration::from_ms(1),
            arbitration: true,
            express_first: false,
            idle_recovery: Duration::from_us(300),
            pairs: 4096,
        }
    }
}

impl Parameters for Config {
    fn limits(&self) -> Vec<Limit> {
        vec![
            Limit::within("depth", self.depth, 0.0, 1024.0),
            Limit::within("refill", self.refill, 0.0, 1.0),
            Limit::within("refill_least", self.refill_least, 0.0, 1.0),
            Limit::count("debt", self.debt.into(), 0, 1024),
            Limit::new("debt_span", Rule::Span(self.debt_span)),
            Limit::new("young_after", Rule::Period(self.young_after)),
            Limit::count("heard", self.heard.into(), 0, 1024),
            Limit::count(
                "heard_with_telemetry",
                self.heard_with_telemetry.into(),
                0,
                1024,
            ),
            Limit::within("beginnings", self.beginnings, 0.0, 1024.0),
            Limit::within("beginnings_refill", self.beginnings_refill, 0.0, 1.0),
            Limit::within("beginning_length", self.beginning_length, 0.0, 1024.0),
            Limit::within("beginnings_reserve", self.beginnings_reserve, 0.0, 1024.0),
            Limit::within("caution", self.caution, 0.0, 16.0),
            Limit::within("restraint", self.restraint, 0.0, 16.0),
            Limit::new("restrained_for", Rule::Span(self.restrained_for)),
            Limit::within("lean", self.lean, 0.0, 1.0),
            Limit::count("increase", self.increase.into(), 1, 1024),
            Limit::count(
                "aggregate_increase",
                self.aggregate_increase.into(),
                1,
                1024,
            ),
            Limit::count("early_weight", self.early_weight.into(), 1, 1024),
            Limit::new("limited_for", Rule::Span(self.limited_for)),
            Limit::new("share_interval", Rule::Period(self.share_interval)),
            Limit::new("share_above", Rule::Share(self.share_above)),
            Limit::new("share_granted", Rule::Share(self.share_granted)),
            Limit::new("share_memory", Rule::Span(self.share_memory)),
            Limit::new("idle_recovery", Rule::Span(self.idle_recovery)),
            Limit::count("pairs", self.pairs.into(), 1, 1 << 20),
        ]
    }
}
