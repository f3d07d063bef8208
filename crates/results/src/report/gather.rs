//! From the results of a run to the data of its page.

use fairlane_fabric::metrics::{marks, paused, pauses, throughput};
use fairlane_fabric::{Ending, LinkChange, PortInfo, Results, Stall};
use fairlane_units::PortId;

use super::attack::attack_data;
use super::data::{EndingData, EndingKind, FaultData, HeadingData, ReportData, SeriesData};
use super::grouping::Grouping;
use super::tenants::tenants_data;
use super::{Heading, ReportInput, collectives, extremes, map, text, tiles};

/// More points than this can't be told apart in a chart over time.
const POINTS: usize = 1000;

/// The data of the page.
pub(super) fn report_data(input: &ReportInput<'_>) -> ReportData {
    gathered(input, false)
}

/// The data of the page of a run that goes on.
pub(super) fn running_data(input: &ReportInput<'_>) -> ReportData {
    gathered(input, true)
}

fn gathered(input: &ReportInput<'_>, goes_on: bool) -> ReportData {
    let results = input.results;
    let grouping = Grouping::of(&results.series, POINTS);
    let tenants = input.tenants.as_ref();
    ReportData {
        heading: heading_data(&input.heading),
        ending: match goes_on {
            true => running(),
            false => ending_data(results),
        },
        tiles: tiles::tiles(results, &input.figures, goes_on),
        slowdown: input.slowdown.to_vec(),
        completion: input.completion.clone(),
        queue: input.queue.clone(),
        series: series_data(results),
        signals: tiles::signal_rows(&results.signals),
        map: map::map_data(results),
        faults: results.link_changes.iter().map(fault).collect(),
        slowest: extremes::slowest(results),
        collectives: collectives::data(results),
        hottest: extremes::hottest(results),
        tenants: tenants.map(|input| tenants_data(input, results, grouping)),
        attack: input
            .attack
            .map(|attack| attack_data(attack, results, grouping)),
        scenario: input.scenario.to_string(),
    }
}

fn running() -> EndingData {
    EndingData {
        kind: EndingKind::Running,
        label: "Running",
        reason: String::new(),
        details: Vec::new(),
    }
}

fn fault(change: &LinkChange) -> FaultData {
    FaultData {
        time_ns: change.time.as_ps() as f64 / 1e3,
        port: change.port.get(),
        up: change.up,
    }
}

fn heading_data(heading: &Heading<'_>) -> HeadingData {
    let facts = [
        ("Fabric", heading.topology.to_string()),
        ("Traffic", heading.workload.to_string()),
        ("Congestion control", heading.congestion.to_string()),
        ("Profile", heading.profile.to_string()),
        ("Seed", heading.seed.to_string()),
    ];
    HeadingData {
        name: heading.name.to_string(),
        facts: facts
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .collect(),
        version: heading.version.to_string(),
    }
}

fn ending_data(results: &Results) -> EndingData {
    let plain = |kind, label, reason: String| EndingData {
        kind,
        label,
        reason,
        details: Vec::new(),
    };
    match &results.totals.ending {
        Ending::Complete => plain(EndingKind::Complete, "Complete", String::new()),
        Ending::Stopped => {
            let (value, unit) = text::time(results.totals.end.as_ps() as f64 / 1e3);
            let open = messages(tiles::unfinished(results));
            let reason = format!("The scenario's stop, {value} {unit}, came with {open} open.");
            plain(EndingKind::Stopped, "Stopped", reason)
        }
        Ending::Interrupted => {
            let (value, unit) = text::time(results.totals.end.as_ps() as f64 / 1e3);
            let open = messages(tiles::unfinished(results));
            let reason = format!("The run was interrupted at {value} {unit} with {open} open.");
            plain(EndingKind::Stopped, "Interrupted", reason)
        }
        Ending::Failed => {
            let reason = format!("Queue pairs gave up on {}.", messages(failed(results)));
            plain(EndingKind::Failed, "Failed", reason)
        }
        Ending::Stalled(stall) => EndingData {
            details: cycle(&results.ports, stall),
            ..plain(EndingKind::Stalled, "STALLED", stall_reason(stall))
        },
    }
}

fn stall_reason(stall: &Stall) -> String {
    let (value, unit) = text::time(stall.at.as_ps() as f64 / 1e3);
    let open = messages(u64::from(stall.unfinished));
    format!(
        "{} (noticed at {value} {unit} with {open} unfinished)",
        stall.reason
    )
}

/// Messages whose queue pair gave up.
fn failed(results: &Results) -> u64 {
    let outcomes = results.messages.iter().map(|message| message.outcome);
    outcomes.filter(|outcome| outcome.is_failure()).count() as u64
}

fn messages(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} message{plural}", text::count(count))
}

/// The ports of a circle of pauses, as the reader finds them in `ports.parquet`.
fn cycle(ports: &[PortInfo], stall: &Stall) -> Vec<String> {
    let name = |id: &PortId| match ports.get(id.index()) {
        Some(port) => {
            format!(
                "node {} port {} waits for node {}",
                port.node, port.number, port.peer_node
            )
        }
        None => format!("port {id}"),
    };
    stall.pause_cycle.iter().map(name).collect()
}

fn series_data(results: &Results) -> SeriesData {
    let series = &results.series;
    let grouping = Grouping::of(series, POINTS);
    let paused = grouping
        .sums(&paused(results).values)
        .into_iter()
        .enumerate();
    let port_ns = |group| grouping.span_ns(group) * series.ports as f64;
    SeriesData {
        start_ns: grouping.start_ns,
        step_ns: grouping.step_ns,
        delivered_gbps: grouping.means(&throughput(results).values),
        marks: grouping.sums(&marks(results).values),
        pauses: grouping.sums(&pauses(results).values),
        paused_share: paused.map(|(group, ns)| ns / port_ns(group)).collect(),
        queue_max: (0..grouping.count)
            .map(|group| deepest(results, grouping, group))
            .collect(),
    }
}

/// The deepest queue of any switch port in a group of intervals.
fn deepest(results: &Results, grouping: Grouping, group: usize) -> u64 {
    let series = &results.series;
    let rows = grouping
        .rows(group)
        .filter_map(|row| series.queue_max.get(row * series.ports..));
    let cells = rows.flat_map(|row| row.iter().zip(&results.ports));
    let queues = cells
        .filter(|(_, port)| port.on_switch)
        .map(|(queue, _)| *queue);
    queues.max().unwrap_or(0)
}
