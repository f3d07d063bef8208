//! `fairlane topology`.

use std::process::ExitCode;

use fairlane_fabric::topology::{Facts, TierFacts};

use serde::Serialize;

use crate::args::{TableFormat, Topology};
use crate::backend::{self, Lists, TopologyReport};
use crate::failure::Failure;
use crate::{print, table};

/// What the fabric amounts to, with its lists if they are asked for.
#[derive(Serialize)]
struct Whole {
    #[serde(flatten)]
    report: TopologyReport,
    #[serde(flatten)]
    lists: Option<Lists>,
}

/// Prints what the fabric of a scenario amounts to.
///
/// # Errors
/// If the scenario is wrong.
pub(crate) fn topology(arguments: &Topology) -> Result<ExitCode, Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    if arguments.format == TableFormat::Csv {
        if !arguments.links {
            let failure = Failure::new("--format csv: what a fabric amounts to is no table");
            return Err(failure.hint("add --links for a row for each link, or use --format json"));
        }
        print::text(&csv(&Lists::new(&loaded)?)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = TopologyReport::new(&loaded)?;
    let lists = arguments.links.then(|| Lists::new(&loaded)).transpose()?;
    if arguments.format == TableFormat::Json {
        print::json(&Whole { report, lists })?;
        return Ok(ExitCode::SUCCESS);
    }
    print::text(&text(&report))?;
    if let Some(lists) = lists {
        print::text(&format!("\n{}", listed(&lists)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for each link.
fn csv(lists: &Lists) -> Result<String, Failure> {
    let broken = |error: &dyn std::fmt::Display| Failure::new(format!("CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for link in &lists.link_list {
        writer.serialize(link).map_err(|error| broken(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| broken(&error))?;
    String::from_utf8(bytes).map_err(|error| broken(&error))
}

/// Switches and links as tables.
fn listed(lists: &Lists) -> String {
    let switches = lists.switch_list.iter().map(|switch| {
        vec![
            switch.node.to_string(),
            switch.tier.to_string(),
            switch.ports.to_string(),
            gbps(switch.rate_gbps),
        ]
    });
    let end = |node: u32, port: u32, tier: u8| match tier {
        0 => format!("host {node} port {port}"),
        _ => format!("switch {node} port {port}"),
    };
    let links = lists.link_list.iter().map(|link| {
        vec![
            link.link.to_string(),
            end(link.a, link.a_port, link.a_tier),
            end(link.b, link.b_port, link.b_tier),
            gbps(link.rate_gbps),
            table::seconds(link.delay_ns / 1e9),
            table::number(link.loss),
        ]
    });
    let header = ["switch", "tier", "ports", "rate"];
    let switches = table::grid(&header, &switches.collect::<Vec<_>>());
    let header = ["link", "from", "to", "rate", "delay", "loss"];
    let links = table::columns(&header, &links.collect::<Vec<_>>());
    format!("{switches}\n\n{links}")
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
