//! Runs drawn over each other.

use std::path::PathBuf;

use fairlane_experiments::sweep::{SHARES, quantiles};

use super::groups::{Group, estimate};
use super::{Comparison, short_names, sizes};
use crate::failure::Failure;
use crate::read::{self, Overlay};
use fairlane_results::report::study::{
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
pub(super) fn page(comparison: &Comparison, directories: &[PathBuf]) -> Result<String, Failure> {
    let overlays = directories.iter().map(|directory| read::overlay(directory));
    let overlays = overlays.collect::<Result<Vec<_>, _>>()?;
    let runs = &comparison.runs;
    let defined = |name: &&str| runs.iter().any(|run| run.number(name).is_some());
    let metrics: Vec<&str> = METRICS.into_iter().filter(defined).collect();
    let groups = &comparison.groups;
    let edges = sizes::edges(&overlays, groups.len());
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
            curves: curves(group, &overlays, &edges),
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
        seeds: groups.iter().map(|group| group.seeds.len()).max().unwrap_or(1),
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
        curves_caption: "Distributions: mean over seeds of the values at each share, with the least and greatest of all seeds as a band. Sizes: messages of all seeds together, in classes that all runs have in common, with the least and greatest of single seeds as a band. Other curves: mean over seeds.".into(),
        shares: SHARES.iter().map(|share| share / 100.0).collect(),
        source: Source {
            title: "Settings that differ",
            summary: "By run",
            text: comparison.settings(&short_names(&comparison.runs)),
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

fn curves(group: &Group, overlays: &[Overlay], edges: &[u64]) -> Vec<Values> {
    let of_group = || group.seeds.iter().map(|run| &overlays[*run]);
    let spread = |pick: fn(&Overlay) -> &Vec<f64>| {
        let each: Vec<_> = of_group()
            .map(|overlay| quantiles(pick(overlay).clone()))
            .collect();
        Values::distribution(each.iter().map(Vec::as_slice))
    };
    let of_sizes: Vec<&Overlay> = of_group().collect();
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
        sizes::curve(edges, &of_sizes),
        series(|overlay| &overlay.delivered_gbps),
        series(|overlay| &overlay.queue_bytes),
    ]
}

/// The mean of several curves, place by place; of those that end earlier than others, as far as they go.
fn mean(curves: &[Vec<(f64, f64)>]) -> Values {
    let length = curves.iter().map(Vec::len).max().unwrap_or(0);
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for at in 0..length {
        let there: Vec<_> = curves.iter().filter_map(|curve| curve.get(at)).collect();
        let mean = |pick: fn(&(f64, f64)) -> f64| {
            there.iter().map(|point| pick(point)).sum::<f64>() / there.len() as f64
        };
        x.push(mean(|point| point.0));
        y.push(mean(|point| point.1));
    }
    Values::curve(x, y)
}
