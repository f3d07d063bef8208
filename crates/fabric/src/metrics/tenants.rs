//! Who got what: the figures of each tenant, and its share of contended links.

use fairlane_units::{NodeId, TenantId};
use serde::Serialize;

use super::series::{TimeSeries, payload_over_time};
use super::slowdown::{SlowdownBin, slowdown, slowdown_bins};
use super::statistics::{Spread, completion, jain, nanoseconds};
use super::summary::{completed_bytes, count, payload, span_ns, spread};
use crate::{ContendedPort, MessageRecord, Outcome, Results};

/// The tenants of a run side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tenancy {
    /// Jain's index of throughput over weight, of tenants with messages: 1 if each got what its weight
    /// says, 1/n if one of n got everything.
    pub tenant_fairness: Option<f64>,
    /// Tenants by number.
    pub tenants: Vec<TenantSummary>,
    /// Ports that were contended, by number.
    pub contended_links: Vec<LinkShare>,
}

/// One tenant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantSummary {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// Messages.
    pub messages: usize,
    /// Messages acknowledged to the last byte.
    pub completed: usize,
    /// Payload of all messages.
    pub bytes: u64,
    /// Payload of completed messages.
    pub completed_bytes: u64,
    /// Payload placed at receivers.
    pub placed_bytes: u64,
    /// `placed_bytes` over the time from the first start of the run to its end.
    pub throughput_gbps: f64,
    /// Completion time over ideal time, of completed messages.
    pub slowdown: Option<Spread>,
    /// Completed messages that are smaller than the bandwidth-delay product.
    pub small_completed: usize,
    /// Slowdown of these.
    pub small_slowdown: Option<Spread>,
    /// Completion times of completed messages.
    pub completion_ns: Option<Spread>,
}

/// Who used a port that was contended. Only data packets count, headers included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkShare {
    /// Number of the port in the whole fabric.
    pub port_id: u32,
    /// The node that sends.
    pub node: u32,
    /// The node at the other end.
    pub peer_node: u32,
    /// Length of the sampling intervals in which the port was contended.
    pub contended_ns: f64,
    /// By tenant, bytes sent in these intervals.
    pub contended_bytes: Vec<u64>,
    /// By tenant, its part of these bytes, 0 to 1.
    pub shares: Vec<f64>,
    /// By tenant, bytes sent in the whole run.
    pub bytes: Vec<u64>,
    /// Jain's index of these parts over weight, of tenants that sent anything while it was contended.
    pub fairness: Option<f64>,
}

impl LinkShare {
    /// Whether several tenants sent data while it was contended.
    pub fn is_shared(&self) -> bool {
        self.contended_bytes
            .iter()
            .filter(|bytes| **bytes > 0)
            .count()
            > 1
    }
}

impl Tenancy {
    /// The tenants of a run, `None` if there is only one.
    pub fn of(results: &Results) -> Option<Self> {
        if results.tenants.len() < 2 {
            return None;
        }
        let numbers = (0..).map(TenantId::new).zip(&results.tenants);
        let tenants: Vec<_> = numbers.map(|(number, _)| tenant(results, number)).collect();
        let active = tenants.iter().filter(|tenant| tenant.messages > 0);
        let by_weight = active.map(|tenant| tenant.throughput_gbps / tenant.weight);
        Some(Self {
            tenant_fairness: jain(&by_weight.collect::<Vec<_>>()),
            tenants,
            contended_links: results
                .contended
                .iter()
                .map(|port| link(results, port))
                .collect(),
        })
    }
}

/// Sums up one tenant, which exists.
fn tenant(results: &Results, number: TenantId) -> TenantSummary {
    let record = &results.tenants[number.index()];
    let messages: Vec<&MessageRecord> = of_tenant(results, number).collect();
    let bdp = results.totals.bdp;
    let small = messages.iter().filter(|message| message.size < bdp);
    let small: Vec<&MessageRecord> = small.copied().collect();
    let span = span_ns(results);
    let slowdown = |message: &MessageRecord| slowdown(message, message.ideal);
    TenantSummary {
        name: record.name.clone(),
        weight: record.weight,
        messages: messages.len(),
        completed: count(&messages, Outcome::Completed),
        bytes: payload(&messages).get(),
        completed_bytes: completed_bytes(&messages).get(),
        placed_bytes: record.placed.get(),
        throughput_gbps: if span > 0.0 {
            8.0 * record.placed.as_f64() / span
        } else {
            0.0
        },
        slowdown: spread(&messages, slowdown),
        small_completed: count(&small, Outcome::Completed),
        small_slowdown: spread(&small, slowdown),
        completion_ns: spread(&messages, |message| completion(message).map(nanoseconds)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn link(results: &Results, contended: &ContendedPort) -> LinkShare {
    let bytes = &contended.contended;
    let total = bytes.iter().sum::<u64>() as f64;
    let part = |bytes: &u64| match total > 0.0 {
        true => *bytes as f64 / total,
        false => 0.0,
    };
    let weighted = bytes.iter().zip(&results.tenants);
    let weighted = weighted.filter(|(bytes, _)| **bytes > 0);
    let weighted = weighted.map(|(bytes, tenant)| *bytes as f64 / tenant.weight);
    let info = results.ports.get(contended.port.index());
    let node = |node: Option<NodeId>| node.unwrap_or_default().get();
    LinkShare {
        port_id: contended.port.get(),
        node: node(info.map(|info| info.node)),
        peer_node: node(info.map(|info| info.peer_node)),
        contended_ns: nanoseconds(contended.contended_for),
        contended_bytes: bytes.clone(),
        shares: bytes.iter().map(part).collect(),
        bytes: contended.sent.clone(),
        fairness: jain(&weighted.collect::<Vec<_>>()),
    }
}

/// The messages of a tenant.
fn of_tenant(results: &Results, tenant: TenantId) -> impl Iterator<Item = &MessageRecord> {
    let messages = results.messages.iter();
    messages.filter(move |message| message.tenant == tenant)
}

/// Payload placed at a tenant's receivers over time, in Gb/s.
pub fn tenant_throughput(results: &Results, tenant: TenantId) -> TimeSeries {
    let record = results.tenants.get(tenant.index());
    payload_over_time(results, record.map_or(&[], |record| &record.placed_series))
}

/// As [`slowdown_bins`], for the messages of one tenant.
pub fn tenant_slowdown_bins(results: &Results, tenant: TenantId, bins: usize) -> Vec<SlowdownBin> {
    let messages: Vec<MessageRecord> = of_tenant(results, tenant).copied().collect();
    slowdown_bins(&messages, bins)
}
