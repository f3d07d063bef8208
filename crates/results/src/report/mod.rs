//! `report.html`: what a run did, as one file that needs no network.
//!
//! [`render`] gathers a `data::ReportData` from the results and writes it, with the page of
//! `report/` at the root of the repository, into one HTML file. The page draws; nothing is modelled
//! here or there. The contract between the two is described in `report/README.md`.

mod attack;
mod collectives;
mod data;
mod extremes;
mod frame;
mod frames;
mod gather;
mod grouping;
mod map;
pub mod study;
mod tenants;
mod text;
mod tiles;
pub mod verdict;

#[cfg(test)]
mod browser_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod study_tests;
#[cfg(test)]
mod tests;

use fairlane_fabric::Results;
use fairlane_fabric::metrics::Tenancy;

pub use attack::{Throughput, Timeline};
pub use data::{Distribution, SlowdownBin};

/// Everything that the report shows.
pub struct ReportInput<'a> {
    /// What the run was.
    pub heading: Heading<'a>,
    /// What it left behind.
    pub results: &'a Results,
    /// The figures of `summary.json` that aren't in [`Results`].
    pub figures: Figures,
    /// Slowdown of completed messages by rank of size, in ascending order of size.
    pub slowdown: &'a [SlowdownBin],
    /// Completion times of completed messages, in nanoseconds.
    pub completion: &'a Distribution,
    /// Sampled queue lengths of switch ports, in bytes.
    pub queue: &'a Distribution,
    /// The tenants, if there are several.
    pub tenants: Option<TenantInput<'a>>,
    /// The attack that the run carries out, if it is drawn beside an honest run.
    pub attack: Option<&'a Timeline<'a>>,
    /// The resolved scenario as text.
    pub scenario: &'a str,
}

/// What the metrics say of tenants.
pub struct TenantInput<'a> {
    /// Their figures, and the links that they contend for.
    pub tenancy: &'a Tenancy,
    /// By tenant, as [`ReportInput::slowdown`].
    pub slowdown: &'a [Vec<SlowdownBin>],
}

/// What the run was, in words.
pub struct Heading<'a> {
    /// The scenario's name.
    pub name: &'a str,
    /// The profile.
    pub profile: &'a str,
    /// Congestion control, with its scope and window if they matter.
    pub congestion: &'a str,
    /// The fabric in one line.
    pub topology: &'a str,
    /// The traffic in one line.
    pub workload: &'a str,
    /// The seed.
    pub seed: u64,
    /// The version of Fairlane that ran it.
    pub version: &'a str,
}

/// Key figures that the metrics compute from [`Results`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Payload placed at receivers over the time of arrivals, in bits per second.
    pub goodput_bps: Option<f64>,
    /// The time of arrivals in nanoseconds.
    pub goodput_ns: f64,
    /// Median slowdown of completed messages; this and other percentiles of enough messages.
    pub slowdown_p50: Option<f64>,
    /// 99th percentile.
    pub slowdown_p99: Option<f64>,
    /// 99.9th percentile.
    pub slowdown_p999: Option<f64>,
    /// Events handled per second of processor time; left out where a report must be the same for
    /// every run of its scenario.
    pub events_per_second: Option<f64>,
}

/// The scripts of a run's page, in their order.
const SCRIPTS: [&str; 9] = [
    include_str!("../../../../report/timecharts.js"),
    include_str!("../../../../report/mapview.js"),
    include_str!("../../../../report/mapstates.js"),
    include_str!("../../../../report/mapdraw.js"),
    include_str!("../../../../report/map.js"),
    include_str!("../../../../report/link.js"),
    include_str!("../../../../report/attack.js"),
    include_str!("../../../../report/tenants.js"),
    include_str!("../../../../report/tables.js"),
];

/// What ties them together, last.
const REPORT: &str = include_str!("../../../../report/report.js");
/// What follows a run that goes on.
const LIVE: &str = include_str!("../../../../report/live.js");

/// The report as one HTML file.
pub fn render(input: &ReportInput<'_>) -> String {
    page(input.heading.name, &data(input), &[REPORT], "")
}

/// The page that follows the run of this name while it goes on: it hears events from the address `events` of whoever
/// serves it. The data of an event `report` are a [`running`] or, at the end, a [`data`]; those of `progress` an object
/// with `share`, 0 to 1, and `words`; an event `end` is the last.
pub fn live_page(name: &str) -> String {
    page(name, "null", &[REPORT, LIVE], "; connect-src 'self'")
}

/// The page's data as JSON; `report/README.md` has the contract.
pub fn data(input: &ReportInput<'_>) -> String {
    to_json(&gather::report_data(input))
}

/// The data of the page of a run that goes on, as JSON.
pub fn running(input: &ReportInput<'_>) -> String {
    to_json(&gather::running_data(input))
}

fn to_json(data: &data::ReportData) -> String {
    match serde_json::to_string(data) {
        Ok(json) => text::escape_json(&json),
        // Plain numbers and text always serialise; the page says so if that ever changes.
        Err(error) => format!(
            "{{\"error\":\"{}\"}}",
            text::escape_html(&error.to_string())
        ),
    }
}

fn page(name: &str, data: &str, last: &[&str], sources: &str) -> String {
    let scripts = [&SCRIPTS[..], last].concat();
    frame::Page {
        title: name,
        body: include_str!("../../../../report/run.html"),
        data,
        scripts: &scripts,
        sources,
    }
    .text()
}
