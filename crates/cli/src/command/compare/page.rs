//! Runs drawn over each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fairlane_experiments::sweep::{SHARES, quantiles};

use super::groups::{Group, estimate};
use super::{Comparison, Run, short_names};
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
        curves_caption: "Distributions: mean over seeds of the values at each share, with the least and greatest of all seeds as a band. Other curves: mean over seeds; of sizes over those with equally many classes.".into(),
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

fn curves(group: &Group, runs: &[Run], overlays: &[Overlay]) -> Vec<Values> {
    let of_group = || group.seeds.iter().map(|run| &overlays[*run]);
    let spread = |pick: fn(&Overlay) -> &Vec<f64>| {
        let each: Vec<_> = of_group()
            .map(|overlay| quantiles(pick(overlay).clone()))
            .collect();
        Values::distribution(each.iter().map(Vec::as_slice))
    };
    let bins = alike(group.seeds.iter().map(|run| bins(&runs[*run])).collect());
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

/// The curves of the length that most have; of lengths that equally many have, the greatest. How many bins a run has depends on
/// how many messages finished, and the n-th of 19 holds others than the n-th of 20.
fn alike(mut curves: Vec<Vec<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for curve in &curves {
        *counts.entry(curve.len()).or_default() += 1;
    }
    let usual = counts
        .into_iter()
        .max_by_key(|&(length, count)| (count, length));
    curves.retain(|curve| Some(curve.len()) == usual.map(|(length, _)| length));
    curves
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equally_many_bins_are_averaged() {
        let curve = |count: usize, value: f64| {
            let bin = |at| (at as f64, value);
            (0..count).map(bin).collect::<Vec<_>>()
        };
        let of = |curves| match mean(&alike(curves)) {
            Values::Curve { x, y } => (x.len(), y),
            _ => panic!("expected a curve"),
        };
        let curves = vec![curve(3, 2.0), curve(2, 50.0), curve(3, 4.0)];
        assert_eq!(of(curves), (3, vec![3.0; 3]));
        let curves = vec![curve(2, 50.0), curve(3, 4.0)];
        assert_eq!(of(curves), (3, vec![4.0; 3]));
        assert_eq!(of(Vec::new()), (0, Vec::new()));
    }
}
