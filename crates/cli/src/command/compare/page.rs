//! Runs drawn over each other.

use std::path::PathBuf;

use fairlane_experiments::sweep::{SHARES, quantiles};

use super::groups::{Group, estimate};
use super::{Comparison, Run};
use crate::failure::Failure;
use crate::read::{self, Overlay};
use crate::report::study::{
    self, Axis, Badge, Curve, Figure, First, Point, Side, Source, Study, Values,
};

/// What is drawn of each run, if any has it.
const METRICS: [&str; 10] = [
    "completion_ns.p50",
    "completion_ns.p99",
    "slowdown.p50",
    "slowdown.p99",
    "goodput_gbps",
    "queue_max_bytes",
    "signals.ecn_marks",
    "signals.cnps",
    "signals.pauses",
    "signals.retransmissions",
];

/// The page, of runs in these directories.
///
/// # Errors
/// If a file of results is damaged.
pub(super) fn page(comparison: &Comparison, directories: &[PathBuf]) -> Result<String, Failure> {
    let overlays = directories.iter().map(|directory| read::overlay(directory));
    let overlays = overlays.collect::<Result<Vec<_>, _>>()?;
    let runs = &comparison.runs;
    let defined = |name: &&str| runs.iter().any(|run| run.number(name).is_some());
    let metrics: Vec<&str> = METRICS.into_iter().filter(defined).collect();
    let groups = &comparison.groups;
    let point = |(number, group): (usize, &Group)| {
        let figure = |name: &&str| {
            let estimate = estimate(group, runs, name);
            Figure {
                mean: estimate.mean,
                ci95: estimate.half_width,
                n: estimate.count,
            }
        };
        Point {
            name: group.name.clone(),
            at: vec![number],
            figures: metrics.iter().map(figure).collect(),
            curves: curves(group, runs, &overlays),
        }
    };
    let names: Vec<_> = groups.iter().map(|group| group.name.clone()).collect();
    let page = study::page(&Study {
        eyebrow: "Fairlane comparison",
        title: names.join(" · "),
        badge: Badge {
            text: format!("{} runs", runs.len()),
            kind: "complete",
        },
        facts: facts(comparison),
        version: format!("Fairlane {}", env!("CARGO_PKG_VERSION")),
        seeds: groups.iter().map(|group| group.runs.len()).max().unwrap_or(1),
        choice: First::default(),
        axes: vec![Axis {
            name: "run".into(),
            values: names,
            numbers: None,
        }],
        metrics: metrics.iter().map(|name| (*name).to_owned()).collect(),
        points: groups.iter().enumerate().map(point).collect(),
        curves: kinds(),
        curves_title: "Over each other",
        curves_caption: "Distributions: mean over seeds of the values at each share, with the least and greatest of all seeds as a band. Other curves: mean over seeds.".into(),
        shares: SHARES.iter().map(|share| share / 100.0).collect(),
        source: Source {
            title: "Settings that differ",
            summary: "By run",
            text: comparison.settings(&comparison.names()),
        },
    })?;
    Ok(page)
}

fn facts(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let names: Vec<_> = comparison.differing.iter().take(6).cloned().collect();
    let differing = match names.is_empty() {
        true => "nothing".into(),
        false => names.join(", "),
    };
    vec![
        ("Runs", comparison.runs.len().to_string()),
        ("Groups", comparison.groups.len().to_string()),
        ("Settings that differ", differing),
    ]
}

/// The kinds of curves, in the order of [`curves`].
fn kinds() -> Vec<Curve> {
    let distribution = |name: &str, format| Curve {
        name: name.into(),
        kind: "distribution",
        x: Side::new(name, format, true),
        y: Side::new("share at most", "share", false),
        stepped: false,
    };
    let curve = |name: &str, (x, y), stepped| Curve {
        name: name.into(),
        kind: "curve",
        x,
        y,
        stepped,
    };
    let time = || Side::new("time", "time", false);
    vec![
        distribution("completion time", "micros"),
        distribution("slowdown", "times"),
        curve(
            "99 % slowdown by message size",
            (
                Side::new("size up to", "bytes", true),
                Side::new("p99", "times", true),
            ),
            false,
        ),
        curve(
            "delivered throughput",
            (time(), Side::new("to hosts", "gbps", false)),
            true,
        ),
        curve(
            "deepest queue",
            (time(), Side::new("of switch ports", "bytes", false)),
            true,
        ),
    ]
}

fn curves(group: &Group, runs: &[Run], overlays: &[Overlay]) -> Vec<Values> {
    let of_group = || group.runs.iter().map(|run| &overlays[*run]);
    let spread = |pick: fn(&Overlay) -> &Vec<f64>| {
        let each: Vec<_> = of_group()
            .map(|overlay| quantiles(pick(overlay).clone()))
            .collect();
        Values::distribution(each.iter().map(Vec::as_slice))
    };
    let bins: Vec<_> = group.runs.iter().map(|run| bins(&runs[*run])).collect();
    let series = |pick: fn(&Overlay) -> &Vec<f64>| {
        let each = of_group().map(|overlay| {
            let times =
                (0..pick(overlay).len()).map(|at| overlay.start_ns + overlay.step_ns * at as f64);
            times.zip(pick(overlay).iter().copied()).collect()
        });
        mean(&each.collect::<Vec<_>>())
    };
    vec![
        spread(|overlay| &overlay.completion_us),
        spread(|overlay| &overlay.slowdown),
        mean(&bins),
        series(|overlay| &overlay.delivered_gbps),
        series(|overlay| &overlay.queue_bytes),
    ]
}

/// Largest size and 99th percentile of each bin of sizes of a run.
fn bins(run: &Run) -> Vec<(f64, f64)> {
    let bin = |at: usize| {
        let field = |name: &str| run.number(&format!("slowdown_bins[{at}].{name}"));
        Some((field("upto_bytes")?, field("p99")?))
    };
    (0..).map_while(bin).collect()
}

/// The mean of several curves, place by place; classes of size hold about equal parts of the messages, so that their places agree.
fn mean(curves: &[Vec<(f64, f64)>]) -> Values {
    let length = curves.iter().map(Vec::len).max().unwrap_or(0);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for at in 0..length {
        let there: Vec<_> = curves.iter().filter_map(|curve| curve.get(at)).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| {
            there.iter().map(|point| pick(point)).sum::<f64>() / there.len() as f64
        };
        // Bins of messages of one size are drawn once.
        let place = mean(|point| point.0);
        if x.last().is_none_or(|last| *last < place) {
            x.push(place);
            y.push(mean(|point| point.1));
        } else if let Some(last) = y.last_mut() {
            *last = last.max(mean(|point| point.1));
        }
    }
    Values::Curve { x, y }
}
