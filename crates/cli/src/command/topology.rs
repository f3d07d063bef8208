//! `fairlane topology`.

use std::process::ExitCode;

use fairlane_fabric::topology::{Facts, TierFacts};

use crate::args::{Format, Topology};
use crate::backend::{self, TopologyReport};
use crate::failure::Failure;
use crate::{print, table};

/// Prints what the fabric of a scenario amounts to.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn topology(arguments: &Topology) -> Result<ExitCode, Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    let report = backend::topology(&loaded)?;
    match arguments.format {
        Format::Text => print::text(&text(&report))?,
        Format::Json => print::json(&report)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn text(report: &TopologyReport) -> String {
    let facts = &report.facts;
    let list = table::list(&[
        (
            "hosts",
            format!(
                "{} (nodes {})",
                table::count(facts.hosts as u64),
                table::ranges(&report.host_nodes)
            ),
        ),
        ("switches", table::count(facts.switches as u64)),
        ("links", links(facts)),
        ("diameter", format!("{} links", facts.diameter_links)),
        (
            "base round-trip time",
            table::seconds(report.base_rtt_ns / 1e9),
        ),
        (
            "bandwidth-delay product",
            table::bytes(report.bdp_bytes as f64),
        ),
        (
            "bisection bandwidth",
            facts.bisection_gbps.map_or_else(|| "-".into(), gbps),
        ),
    ]);
    let header = ["tier", "switches", "down", "up", "oversubscription"];
    let tiers: Vec<_> = facts.tiers.iter().map(tier).collect();
    format!("{list}\n\n{}", table::grid(&header, &tiers))
}

fn links(facts: &Facts) -> String {
    let parts = facts.links_by_rate.iter();
    let parts = parts.map(|part| {
        format!(
            "{} of {}",
            table::count(part.links as u64),
            gbps(part.rate_gbps)
        )
    });
    format!(
        "{} ({})",
        table::count(facts.links as u64),
        parts.collect::<Vec<_>>().join(", ")
    )
}

fn tier(tier: &TierFacts) -> Vec<String> {
    let ratio = tier.oversubscription;
    vec![
        tier.tier.to_string(),
        table::count(tier.switches as u64),
        gbps(tier.down_gbps),
        gbps(tier.up_gbps),
        ratio.map_or_else(|| "-".into(), |ratio| format!("{}:1", table::digits(ratio))),
    ]
}

fn gbps(rate: f64) -> String {
    if rate >= 1000.0 {
        return format!("{} Tb/s", table::digits(rate / 1000.0));
    }
    format!("{} Gb/s", table::digits(rate))
}
