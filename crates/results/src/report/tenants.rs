//! Tenants side by side: figures, throughput over time, slowdown by size, shares of contended links.

use fairlane_fabric::metrics::{LinkShare, Spread, TenantSummary, tenant_throughput};
use fairlane_fabric::{Results, Signal, TenantSignals};
use fairlane_units::TenantId;

use super::TenantInput;
use super::data::{LinkData, TenantData, TenantsData};
use super::grouping::Grouping;
use super::text::{count, scaled, three_digits};

/// More links than this are left to `summary.json`.
const MOST_LINKS: usize = 12;

/// What the page shows of tenants.
pub(super) fn tenants_data(
    input: &TenantInput<'_>,
    results: &Results,
    grouping: Grouping,
) -> TenantsData {
    let tenancy = input.tenancy;
    let numbered = (0..).map(TenantId::new).zip(&tenancy.tenants);
    let tenants = numbered
        .zip(input.slowdown)
        .map(|((number, tenant), bins)| {
            let throughput = tenant_throughput(results, number).values;
            let signals = results.signals.tenants.as_ref();
            let signals = signals.and_then(|signals| signals.get(&tenant.name));
            TenantData {
                name: tenant.name.clone(),
                cells: cells(tenant, signals),
                placed_gbps: grouping.means(&throughput),
                slowdown: bins.clone(),
            }
        });
    let mut shared: Vec<&LinkShare> = tenancy
        .contended_links
        .iter()
        .filter(|link| link.is_shared())
        .collect();
    shared.sort_by(|a, b| b.contended_ns.total_cmp(&a.contended_ns));
    TenantsData {
        fairness: tenancy.tenant_fairness.map(three_decimals),
        tenants: tenants.collect(),
        links: shared
            .iter()
            .take(MOST_LINKS)
            .map(|link| row(link))
            .collect(),
        shared_links: shared.len(),
        contended_links: tenancy.contended_links.len(),
    }
}

fn row(link: &LinkShare) -> LinkData {
    LinkData {
        node: link.node,
        peer_node: link.peer_node,
        contended_ns: link.contended_ns,
        shares: link.shares.clone(),
        fairness: link.fairness.map(three_decimals),
    }
}

/// The row of a tenant without its name, in the order of the page's header.
fn cells(tenant: &TenantSummary, signals: Option<&TenantSignals>) -> Vec<String> {
    let (rate, unit) = scaled(tenant.throughput_gbps * 1e9, "b/s");
    let slowdown = |spread: &Option<Spread>, pick: fn(&Spread) -> Option<f64>| {
        let value = spread.as_ref().and_then(pick);
        value.map_or_else(|| "–".into(), three_digits)
    };
    let signal = |pick: fn(&TenantSignals) -> &Signal| {
        signals.map_or_else(|| "–".into(), |its| count(pick(its).count))
    };
    vec![
        three_digits(tenant.weight),
        format!(
            "{} of {}",
            count(tenant.completed as u64),
            count(tenant.messages as u64)
        ),
        format!("{rate} {unit}"),
        slowdown(&tenant.slowdown, |spread| spread.p50),
        slowdown(&tenant.slowdown, |spread| spread.p99),
        slowdown(&tenant.slowdown, |spread| spread.p999),
        count(tenant.small_completed as u64),
        slowdown(&tenant.small_slowdown, |spread| spread.p99),
        slowdown(&tenant.small_slowdown, |spread| spread.p999),
        signal(|its| &its.ecn_marks),
        signal(|its| &its.cnps),
        signal(|its| &its.retransmissions),
        signal(|its| &its.drops),
    ]
}

/// An index between 0 and 1.
fn three_decimals(index: f64) -> String {
    format!("{index:.3}")
}
