//! The only module that calls the simulator, its metrics and the scenario's loader.

use std::ops::RangeInclusive;
use std::path::Path;

use fairlane_attacks::Plan;
use fairlane_fabric::topology::{self, Facts, Topology};
use fairlane_fabric::{Results, metrics};
use fairlane_scenario::{conweave, hpcc};
use fairlane_units::{NodeId, TenantId};
use serde::Serialize;

pub(crate) use fairlane_congestion::{Algorithm, Scope};
pub(crate) use fairlane_explain::explain;
pub(crate) use fairlane_fabric::metrics::{
    LinkShare, SlowdownBin, Spread, Summary, Tenancy, TenantSummary,
};
pub(crate) use fairlane_fabric::{AnyPath, Control, PathPreview, Paths, Progress, Threading, Ways};
pub(crate) use fairlane_scenario::{Attack, AttackKind, Loaded, schema};

use crate::args;
use crate::failure::Failure;
use crate::report;

/// Bins of the slowdown: 5 % of the messages in each, as HPCC's `fct_analysis.py` has it.
const BINS: usize = 20;
/// Points of a distribution function in the report.
const POINTS: usize = 200;

impl From<fairlane_scenario::Error> for Failure {
    fn from(error: fairlane_scenario::Error) -> Self {
        let failure = Self::new(format!("{}: {}", error.place, error.message));
        if error.hint.is_empty() {
            failure
        } else {
            failure.hint(error.hint)
        }
    }
}

/// Reads and checks a scenario with the changes of the command line.
///
/// # Errors
/// If it is wrong, with the place.
pub(crate) fn load(arguments: &args::Scenario) -> Result<Loaded, Failure> {
    Ok(fairlane_scenario::load(
        &arguments.scenario,
        &arguments.overrides,
        arguments.seed,
    )?)
}

/// Reads the scenario of a result directory, and finds the ways of its messages.
///
/// # Errors
/// If there is none, or it isn't one.
pub(crate) fn load_results(directory: &Path) -> Result<(Loaded, Ways), Failure> {
    let loaded = fairlane_scenario::load(&directory.join("scenario.toml"), &[], None)?;
    let ways = Ways::new(&loaded)?;
    Ok((loaded, ways))
}

/// What a run amounts to.
pub(crate) struct Figures {
    /// In a few figures.
    pub(crate) summary: Summary,
    /// Slowdown by message size.
    pub(crate) bins: Vec<SlowdownBin>,
    /// The same against the standalone time of HPCC's text format.
    pub(crate) standalone_bins: Vec<SlowdownBin>,
    /// For the report: slowdown by message size of each tenant, if there are several.
    pub(crate) tenant_bins: Vec<Vec<report::SlowdownBin>>,
    /// For the report: key figures.
    pub(crate) report: report::Figures,
    /// For the report: completion times.
    pub(crate) completion: report::Distribution,
    /// For the report: queue lengths.
    pub(crate) queue: report::Distribution,
}

/// Measures what a run amounts to.
pub(crate) fn figures(results: &Results) -> Figures {
    let summary = Summary::of(results);
    let percentile = |pick: fn(&Spread) -> f64| summary.slowdown.as_ref().map(pick);
    let report = report::Figures {
        goodput_bps: Some(summary.goodput_gbps * 1e9),
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
pub(crate) fn report_bins(bins: &[SlowdownBin]) -> Vec<report::SlowdownBin> {
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

/// Ways in which results contradict themselves.
pub(crate) fn violations(loaded: &Loaded, results: &Results) -> Vec<String> {
    metrics::check(results, metrics::is_lossless(&loaded.scenario, results))
}

/// What a reader of the results should know beforehand.
pub(crate) fn notes(loaded: &Loaded) -> Vec<String> {
    fairlane_fabric::forwarding::notes(&loaded.scenario)
}

/// Use of every port in an interval of the time series, 0 to 1.
pub(crate) fn utilization(results: &Results, interval: usize) -> Vec<f64> {
    metrics::interval_utilisation(results, interval)
}

/// Reads a case of another simulator, writes it as a scenario and returns what a reader should know.
///
/// # Errors
/// If a file is missing, unreadable or says something that can't be honoured.
pub(crate) fn import(from: &args::Import) -> Result<Vec<String>, Failure> {
    let (case, imported) = match from {
        args::Import::Hpcc(case) => (case, hpcc::import(&case.config)?),
        args::Import::Conweave(case) => (case, conweave::import(&case.config)?),
    };
    imported.write(&case.output)?;
    Ok(imported.notes)
}

/// What a fabric amounts to.
#[derive(Debug, Serialize)]
pub(crate) struct TopologyReport {
    /// What its links and nodes amount to.
    #[serde(flatten)]
    pub(crate) facts: Facts,
    /// Node numbers of the hosts.
    pub(crate) host_nodes: Vec<u32>,
    /// Round-trip time without queues, the largest of all host pairs.
    pub(crate) base_rtt_ns: f64,
    /// Bandwidth-delay product, the largest of all host pairs.
    pub(crate) bdp_bytes: u64,
}

/// Builds the fabric of a scenario and describes it.
///
/// # Errors
/// If the fabric can't be built.
pub(crate) fn topology(loaded: &Loaded) -> Result<TopologyReport, Failure> {
    let scenario = &loaded.scenario;
    let file = loaded.inputs.topology.as_ref();
    let fabric = Topology::build(&scenario.topology, file, scenario.faults.loss_rate)
        .map_err(|error| Failure::new(error.message()).hint(error.hint()))?
        .slowed(&scenario.faults);
    let totals = idle(loaded)?.totals;
    Ok(TopologyReport {
        facts: topology::facts(&fabric),
        host_nodes: fabric.hosts().map(NodeId::get).collect(),
        base_rtt_ns: totals.base_rtt.as_secs_f64() * 1e9,
        bdp_bytes: totals.bdp.get(),
    })
}

/// The fabric of a scenario without traffic: what it would measure of itself.
fn idle(loaded: &Loaded) -> Result<Results, Failure> {
    let mut idle = loaded.clone();
    idle.scenario.workload.clear();
    idle.scenario.attack = None;
    idle.scenario.faults.link.clear();
    idle.scenario.faults.pause.clear();
    Ok(simulate(&idle, Some(1), &mut |_| Control::Interrupt)?.0)
}

/// The algorithm of a name.
///
/// # Errors
/// If there is none.
pub(crate) fn algorithm(name: &str) -> Result<Algorithm, Failure> {
    let found = Algorithm::ALL.into_iter().find(|it| it.name() == name);
    found.ok_or_else(|| {
        let failure = Failure::new(format!("there is no congestion control \"{name}\""));
        failure.hint(format!(
            "one of {}",
            Algorithm::ALL.map(Algorithm::name).join(", ")
        ))
    })
}

/// Runs a scenario, and its attack if it has one, on so many threads, or as many as pay; `watch` hears of
/// progress and may interrupt.
///
/// # Errors
/// If topology, workloads or buffers don't fit together.
pub(crate) fn simulate(
    loaded: &Loaded,
    threads: Option<usize>,
    watch: &mut dyn FnMut(&Progress) -> Control,
) -> Result<(Results, Threading), Failure> {
    let simulation = Plan::new(loaded)?.simulation()?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(|| simulation.threads_that_pay(cores()));
    Ok(simulation.run_on(threads, watch))
}

/// The paths between two hosts, by source port if that decides, for messages with a destination port.
///
/// # Errors
/// If a node isn't a host, or the fabric can't be built.
pub(crate) fn paths(
    loaded: &Loaded,
    ends: (NodeId, NodeId),
    source_ports: RangeInclusive<u16>,
    destination_port: u16,
) -> Result<Paths, Failure> {
    Ok(fairlane_fabric::paths(
        loaded,
        ends,
        source_ports,
        destination_port,
    )?)
}
