//! What a run amounts to, and its report page.

use fairlane_fabric::Results;
use fairlane_fabric::metrics::{self, SlowdownBin, Spread, Summary};
use fairlane_scenario::Loaded;
use fairlane_units::TenantId;

use crate::heading;
use crate::report::{self, ReportInput, TenantInput, Timeline};

/// Most classes of size: 5 % of the messages in each, as HPCC's `fct_analysis.py` has it.
const BINS: usize = 20;
/// Points of a distribution function in the report.
const POINTS: usize = 200;

/// What a run amounts to.
pub struct Figures {
    /// In a few figures.
    pub summary: Summary,
    /// Slowdown by message size.
    pub bins: Vec<SlowdownBin>,
    /// Slowdown by message size against the standalone time of HPCC's text format.
    pub standalone_bins: Vec<SlowdownBin>,
    /// For the report: slowdown by message size of each tenant, if there are several.
    pub tenant_bins: Vec<Vec<report::SlowdownBin>>,
    /// For the report: key figures.
    pub report: report::Figures,
    /// For the report: completion times.
    pub completion: report::Distribution,
    /// For the report: queue lengths.
    pub queue: report::Distribution,
}

/// Measures what a run amounts to.
pub fn figures(results: &Results) -> Figures {
    let summary = Summary::of(results);
    let percentile = |pick: fn(&Spread) -> Option<f64>| summary.slowdown.as_ref().and_then(pick);
    let report = report::Figures {
        goodput_bps: Some(summary.goodput_gbps * 1e9),
        goodput_ns: summary.goodput_ns,
        slowdown_p50: percentile(|spread| spread.p50),
        slowdown_p99: percentile(|spread| spread.p99),
        slowdown_p999: percentile(|spread| spread.p999),
        events_per_second: None,
    };
    let switch_ports = results.ports.iter().filter(|port| port.on_switch).count();
    let intervals = results
        .series
        .sent
        .len()
        .checked_div(results.series.ports)
        .unwrap_or(0);
    Figures {
        bins: metrics::slowdown_bins(&results.messages, BINS),
        standalone_bins: metrics::standalone_bins(&results.messages, BINS),
        tenant_bins: tenant_bins(results),
        completion: distribution(
            &metrics::completion_cdf(&results.messages, POINTS),
            summary.completed,
        ),
        queue: distribution(
            &metrics::queue_cdf(results, POINTS),
            switch_ports * intervals,
        ),
        report,
        summary,
    }
}

/// Slowdown by message size of each tenant, if there are several.
fn tenant_bins(results: &Results) -> Vec<Vec<report::SlowdownBin>> {
    let tenants = (0..).map(TenantId::new).zip(&results.tenants);
    let bins = |tenant| report_bins(&metrics::tenant_slowdown_bins(results, tenant, BINS));
    match results.tenants.len() {
        0 | 1 => Vec::new(),
        _ => tenants.map(|(tenant, _)| bins(tenant)).collect(),
    }
}

/// A distribution function of `count` values as the report draws it: zeros apart, since its axis is
/// logarithmic.
fn distribution(points: &[metrics::CdfPoint], count: usize) -> report::Distribution {
    let (zeros, rest) = points.split_at(points.partition_point(|point| point.value <= 0.0));
    report::Distribution {
        value: rest.iter().map(|point| point.value).collect(),
        share: rest.iter().map(|point| point.share).collect(),
        zero: zeros.last().map_or(0.0, |point| point.share),
        count: count as u64,
    }
}

/// Slowdown bins as the report draws them.
pub fn report_bins(bins: &[SlowdownBin]) -> Vec<report::SlowdownBin> {
    let bin = |bin: &SlowdownBin| report::SlowdownBin {
        size: bin.upto_bytes,
        count: bin.count as u64,
        p50: bin.p50,
        p95: bin.p95,
        p99: bin.p99,
        p999: bin.p999,
    };
    bins.iter().map(bin).collect()
}

/// The text of `report.html`.
pub fn page(
    loaded: &Loaded,
    scenario: &str,
    run: (&Results, Option<&Timeline<'_>>),
    figures: &Figures,
) -> String {
    with_input(loaded, scenario, run, figures, report::render)
}

/// The data of a run's page as JSON: `ask` is [`report::data`], or [`report::running`] while it goes on.
pub fn page_data(
    loaded: &Loaded,
    scenario: &str,
    results: &Results,
    figures: &Figures,
    ask: fn(&ReportInput<'_>) -> String,
) -> String {
    with_input(loaded, scenario, (results, None), figures, ask)
}

fn with_input(
    loaded: &Loaded,
    scenario: &str,
    (results, attack): (&Results, Option<&Timeline<'_>>),
    figures: &Figures,
    ask: fn(&ReportInput<'_>) -> String,
) -> String {
    let words = heading::Words::of(loaded);
    ask(&ReportInput {
        heading: words.heading(&loaded.scenario),
        results,
        figures: figures.report,
        slowdown: &report_bins(&figures.bins),
        completion: &figures.completion,
        queue: &figures.queue,
        tenants: figures.summary.tenancy.as_ref().map(|tenancy| TenantInput {
            tenancy,
            slowdown: &figures.tenant_bins,
        }),
        attack,
        scenario,
    })
}
