//! `fairlane topology`.

use fairlane_fabric::topology::Facts;

use fairlane_results::to_csv;
use serde::Serialize;

use crate::args::{TableFormat, Topology};
use crate::backend::{self, Lists, TopologyReport};
use crate::failure::Failure;
use crate::print;
use fairlane_results::table;

/// What the fabric amounts to, with its lists if they are asked for.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    report: TopologyReport,
    #[serde(flatten)]
    lists: Option<Lists>,
}

/// Prints what the fabric of a scenario amounts to.
pub(crate) fn topology(arguments: &Topology) -> Result<(), Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    if arguments.format == TableFormat::Csv {
        if !arguments.links {
            let failure = Failure::new("--format csv: what a fabric amounts to is no table");
            return Err(failure.hint("add --links for a row for each link, or use --format json"));
        }
        print::text(&to_csv(&Lists::new(&loaded)?.link_list)?)?;
        return Ok(());
    }
    let report = TopologyReport::new(&loaded)?;
    let lists = arguments.links.then(|| Lists::new(&loaded)).transpose()?;
    if arguments.format == TableFormat::Json {
        print::json(&Whole { report, lists })?;
        return Ok(());
    }
    print::text(&text(&report))?;
    if let Some(lists) = lists {
        print::text(&format!("\n{}", listed(&lists)))?;
    }
    Ok(())
}

/// Switches and links as tables.
fn listed(lists: &Lists) -> String {
    let switches = table::grid_of(
        &lists.switch_list,
        &[
            ("switch", &|switch| switch.node.to_string()),
            ("tier", &|switch| switch.tier.to_string()),
            ("ports", &|switch| switch.ports.to_string()),
            ("rate", &|switch| gbps(switch.rate_gbps)),
        ],
    );
    let end = |node: u32, port: u32, tier: u8| match tier {
        0 => format!("host {node} port {port}"),
        _ => format!("switch {node} port {port}"),
    };
    let links = table::columns_of(
        &lists.link_list,
        &[
            ("link", &|link| link.link.to_string()),
            ("from", &|link| end(link.a, link.a_port, link.a_tier)),
            ("to", &|link| end(link.b, link.b_port, link.b_tier)),
            ("rate", &|link| gbps(link.rate_gbps)),
            ("delay", &|link| table::seconds(link.delay_ns / 1e9)),
            ("loss", &|link| table::number(link.loss)),
        ],
    );
    format!("{switches}\n\n{links}")
}

fn text(report: &TopologyReport) -> String {
    let facts = &report.facts;
    let (count, nodes) = (facts.hosts as u64, table::ranges(&report.host_nodes));
    let hosts = format!("{} (nodes {nodes})", table::count(count));
    let round_trip = table::seconds(report.base_rtt_ns / 1e9);
    let product = table::bytes(report.bdp_bytes as f64);
    let bisection = table::dash(facts.bisection_gbps, gbps);
    let list = table::list(&[
        ("hosts", hosts),
        ("switches", table::count(facts.switches as u64)),
        ("links", links(facts)),
        ("diameter", format!("{} links", facts.diameter_links)),
        ("base round-trip time", round_trip),
        ("bandwidth-delay product", product),
        ("bisection bandwidth", bisection),
    ]);
    let ratio = |ratio: f64| format!("{}:1", table::digits(ratio));
    let tiers = table::grid_of(
        &facts.tiers,
        &[
            ("tier", &|tier| tier.tier.to_string()),
            ("switches", &|tier| table::count(tier.switches as u64)),
            ("down", &|tier| gbps(tier.down_gbps)),
            ("up", &|tier| gbps(tier.up_gbps)),
            ("oversubscription", &|tier| {
                table::dash(tier.oversubscription, ratio)
            }),
        ],
    );
    match report.offered.is_empty() {
        true => format!("{list}\n\n{tiers}"),
        false => format!("{list}\n\n{tiers}\n\n{}", offered(report)),
    }
}

/// What messages at random times offer the links of each tier.
fn offered(report: &TopologyReport) -> String {
    let name = |tier: u8| match tier {
        0 => "hosts".to_owned(),
        tier => format!("tier {tier}"),
    };
    let share = |share: f64| format!("{} %", table::digits(share * 100.0));
    table::grid_of(
        &report.offered,
        &[
            ("links", &|tier| {
                format!("{} to {}", name(tier.from), name(tier.to))
            }),
            ("capacity", &|tier| gbps(tier.capacity_gbps)),
            ("offered", &|tier| gbps(tier.offered_gbps)),
            ("share", &|tier| share(tier.share)),
            ("most", &|tier| share(tier.worst.share)),
            ("from", &|tier| {
                format!("node {} port {}", tier.worst.node, tier.worst.port)
            }),
            ("to", &|tier| format!("node {}", tier.worst.peer)),
        ],
    )
}

fn links(facts: &Facts) -> String {
    let parts = facts.links_by_rate.iter().map(|part| {
        let count = table::count(part.links as u64);
        format!("{count} of {}", gbps(part.rate_gbps))
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{} ({parts})", table::count(facts.links as u64))
}

fn gbps(rate: f64) -> String {
    if rate >= 1000.0 {
        return format!("{} Tb/s", table::digits(rate / 1000.0));
    }
    format!("{} Gb/s", table::digits(rate))
}
