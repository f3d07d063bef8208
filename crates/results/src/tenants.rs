//! The tenants of a run as tables on standard output.

use fairlane_fabric::SignalsByTenant;

use crate::table;
use fairlane_fabric::metrics::{LinkShare, Spread, Tenancy, TenantSummary};

/// More contended links than this are left to `summary.json`.
const MOST_LINKS: usize = 8;

/// A block for the tenants and one for the links that they contend for.
pub(crate) fn blocks(tenancy: &Tenancy, signals: Option<&SignalsByTenant>) -> Vec<String> {
    let mut blocks = vec![tenants(tenancy)];
    blocks.extend(signals.map(|signals| self::signals(tenancy, signals)));
    blocks.push(links(tenancy));
    blocks
}

fn tenants(tenancy: &Tenancy) -> String {
    let figure = |spread: &Option<Spread>, pick: fn(&Spread) -> Option<f64>| {
        table::dash(spread.as_ref().and_then(pick), table::digits)
    };
    let count = |count: usize| table::count(count as u64);
    let complete =
        |tenant: &TenantSummary| [tenant.completed, tenant.messages].map(count).join(" of ");
    let tenants = table::grid_of(
        &tenancy.tenants,
        &[
            ("tenant", &|it| it.name.clone()),
            ("weight", &|it| table::digits(it.weight)),
            ("complete", &|it| complete(it)),
            ("throughput", &|it| {
                table::digits(it.throughput_gbps) + " Gb/s"
            }),
            ("slowdown p50", &|it| figure(&it.slowdown, |s| s.p50)),
            ("p95", &|it| figure(&it.slowdown, |s| s.p95)),
            ("p99", &|it| figure(&it.slowdown, |s| s.p99)),
            ("p99.9", &|it| figure(&it.slowdown, |s| s.p999)),
            ("below BDP", &|it| count(it.small_completed)),
            ("p50", &|it| figure(&it.small_slowdown, |s| s.p50)),
            ("p99", &|it| figure(&it.small_slowdown, |s| s.p99)),
            ("p99.9", &|it| figure(&it.small_slowdown, |s| s.p999)),
        ],
    );
    let fairness = tenancy.tenant_fairness.map_or_else(
        || "no tenant got anything".to_owned(),
        |index| {
            let index = table::digits(index);
            format!("Jain's index of throughput over weight: {index}")
        },
    );
    format!("{tenants}\n{fairness}")
}

fn signals(tenancy: &Tenancy, signals: &SignalsByTenant) -> String {
    let row = |tenant: &TenantSummary| {
        let its = signals.get(&tenant.name)?;
        let counts = [&its.ecn_marks, &its.cnps, &its.retransmissions, &its.drops];
        let counts = counts.map(|signal| table::count(signal.count));
        let cells = std::iter::once(tenant.name.clone()).chain(counts);
        Some(cells.collect())
    };
    let rows: Vec<Vec<String>> = tenancy.tenants.iter().filter_map(row).collect();
    let header = ["tenant", "marks", "CNPs", "retransmissions", "drops"];
    table::grid(&header, &rows)
}

/// The links that were contended for longest by several tenants.
fn links(tenancy: &Tenancy) -> String {
    let shared = tenancy
        .contended_links
        .iter()
        .filter(|link| link.is_shared());
    let mut shared: Vec<&LinkShare> = shared.collect();
    let count = shared.len();
    if count == 0 {
        return format!(
            "no link was contended by several tenants ({} by one)",
            tenancy.contended_links.len()
        );
    }
    shared.sort_by(|a, b| b.contended_ns.total_cmp(&a.contended_ns));
    let mut header = vec!["contended link", "for"];
    header.extend(tenancy.tenants.iter().map(|tenant| tenant.name.as_str()));
    header.push("fairness");
    let row = |link: &&LinkShare| {
        let mut cells = vec![
            format!("node {} to node {}", link.node, link.peer_node),
            table::seconds(link.contended_ns / 1e9),
        ];
        let shares = link.shares.iter();
        cells.extend(shares.map(|share| format!("{} %", table::digits(share * 100.0))));
        cells.push(table::dash(link.fairness, table::digits));
        cells
    };
    let rows: Vec<_> = shared.iter().take(MOST_LINKS).map(row).collect();
    let text = table::grid(&header, &rows);
    match count.saturating_sub(MOST_LINKS) {
        0 => text,
        more => format!("{text}\n{more} more in summary.json"),
    }
}
