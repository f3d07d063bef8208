//! `report.html`: what a run did, as one file that needs no network.
//!
//! [`render`] gathers a [`data::ReportData`] from the results and writes it, with the page of
//! `report/` at the root of the repository, into one HTML file. The page draws; nothing is modelled
//! here or there. The contract between the two is described in `report/README.md`.

mod attack;
mod data;
mod frames;
mod gather;
mod grouping;
mod map;
mod tenants;
mod text;
mod tiles;

#[cfg(test)]
mod browser_tests;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

use fairlane_fabric::Results;
use fairlane_fabric::metrics::Tenancy;

pub(crate) use attack::{Throughput, Timeline};
pub(crate) use data::{Distribution, SlowdownBin};

/// Everything that the report shows.
pub(crate) struct ReportInput<'a> {
    /// What the run was.
    pub(crate) heading: Heading<'a>,
    /// What it left behind.
    pub(crate) results: &'a Results,
    /// The figures of `summary.json` that aren't in [`Results`].
    pub(crate) figures: Figures,
    /// Slowdown of completed messages by rank of size, in ascending order of size.
    pub(crate) slowdown: &'a [SlowdownBin],
    /// Completion times of completed messages, in nanoseconds.
    pub(crate) completion: &'a Distribution,
    /// Sampled queue lengths of switch ports, in bytes.
    pub(crate) queue: &'a Distribution,
    /// The tenants, if there are several.
    pub(crate) tenants: Option<TenantInput<'a>>,
    /// The attack that the run carries out, if it is drawn beside an honest run.
    pub(crate) attack: Option<&'a Timeline<'a>>,
    /// The resolved scenario as text.
    pub(crate) scenario: &'a str,
}

/// What the metrics say of tenants.
pub(crate) struct TenantInput<'a> {
    /// Their figures, and the links that they contend for.
    pub(crate) tenancy: &'a Tenancy,
    /// By tenant, as [`ReportInput::slowdown`].
    pub(crate) slowdown: &'a [Vec<SlowdownBin>],
}

/// What the run was, in words.
pub(crate) struct Heading<'a> {
    /// The scenario's name.
    pub(crate) name: &'a str,
    /// The profile.
    pub(crate) profile: &'a str,
    /// Congestion control, with its scope and window if they matter.
    pub(crate) congestion: &'a str,
    /// The fabric in one line.
    pub(crate) topology: &'a str,
    /// The traffic in one line.
    pub(crate) workload: &'a str,
    /// The seed.
    pub(crate) seed: u64,
    /// The version of Fairlane that ran it.
    pub(crate) version: &'a str,
}

/// Key figures that the metrics compute from [`Results`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Figures {
    /// Payload of completed messages over the time from the first start to the end of the run, in
    /// bits per second.
    pub(crate) goodput_bps: Option<f64>,
    /// Median slowdown of completed messages.
    pub(crate) slowdown_p50: Option<f64>,
    /// 99th percentile.
    pub(crate) slowdown_p99: Option<f64>,
    /// 99.9th percentile.
    pub(crate) slowdown_p999: Option<f64>,
    /// Events handled per second of processor time; left out where a report must be the same for
    /// every run of its scenario.
    pub(crate) events_per_second: Option<f64>,
}

const TEMPLATE: &str = include_str!("../../../../report/template.html");

/// What each `{{name}}` of the template stands for, apart from the title and the data.
const PARTS: [(&str, &str); 10] = [
    (
        "uplot.css",
        include_str!("../../../../report/vendor/uPlot.min.css"),
    ),
    ("report.css", include_str!("../../../../report/report.css")),
    (
        "uplot.js",
        include_str!("../../../../report/vendor/uPlot.iife.min.js"),
    ),
    ("format.js", include_str!("../../../../report/format.js")),
    ("charts.js", include_str!("../../../../report/charts.js")),
    ("mapview.js", include_str!("../../../../report/mapview.js")),
    ("map.js", include_str!("../../../../report/map.js")),
    ("attack.js", include_str!("../../../../report/attack.js")),
    ("tenants.js", include_str!("../../../../report/tenants.js")),
    ("report.js", include_str!("../../../../report/report.js")),
];

/// The report as one HTML file.
pub(crate) fn render(input: &ReportInput<'_>) -> String {
    let title = text::escape_html(input.heading.name);
    let json = match serde_json::to_string(&gather::report_data(input)) {
        Ok(json) => text::escape_json(&json),
        // Plain numbers and text always serialise; the page says so if that ever changes.
        Err(error) => format!(
            "{{\"error\":\"{}\"}}",
            text::escape_html(&error.to_string())
        ),
    };
    fill(TEMPLATE, |name| match name {
        "title" => Some(title.as_str()),
        "data" => Some(json.as_str()),
        _ => PARTS
            .iter()
            .find(|(part, _)| *part == name)
            .map(|(_, text)| *text),
    })
}

/// Replaces each `{{name}}` in one pass, so that nothing inserted is read as a placeholder.
fn fill<'a>(template: &'a str, part: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut page = String::with_capacity(1 << 20);
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        page.push_str(before);
        let found = after
            .split_once("}}")
            .and_then(|(name, tail)| Some((part(name)?, tail)));
        match found {
            Some((text, tail)) => {
                page.push_str(text);
                rest = tail;
            }
            None => {
                page.push_str("{{");
                rest = after;
            }
        }
    }
    page.push_str(rest);
    page
}
