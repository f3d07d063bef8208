//! Experiments that are simulated: a scenario with changes, one run for each combination.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlane_attacks::{Estimate, Plan};
use fairlane_drum::Workers;

use crate::axis::AxisValue;
use crate::design::{Base, Design, join, simulate, work};
use crate::error::Error;
use crate::manifest::{Manifest, Profile, ProfilePoint};
use crate::measure::measure;
use crate::metric::Metric;
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::sample::{Sample, estimate};
use crate::{Settings, Watch};

/// One combination of the values of the axes.
struct Run<'a> {
    point: Vec<usize>,
    values: Vec<&'a AxisValue>,
    seed: u32,
    measured: Result<Vec<Sample>, Error>,
}

/// A combination that has been measured.
struct Done<'a> {
    values: Vec<&'a AxisValue>,
    measured: Vec<Option<f64>>,
}

/// Runs every combination and measures it.
pub(crate) fn run(
    manifest: &Manifest,
    base: Base<'_>,
    settings: Settings,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let design = design(manifest, settings.quick);
    let mut runs = combinations(&design);
    let parts = runs.len();
    // The longest first, so that no thread is left with one of them at the end.
    let plan = |run: &Run<'_>| plan(&design, base, run);
    let measured = |plan: Plan| {
        let results = simulate(&plan, &|| watch.stopped())?;
        let metrics = manifest.metrics.iter();
        Ok(metrics
            .map(|metric| measure(&plan, &results, metric))
            .collect())
    };
    let mut order: Vec<_> = runs
        .iter_mut()
        .map(|run| (plan(run).map_or(0, |plan| work(&plan)), run))
        .collect();
    order.sort_by_key(|(work, _)| Reverse(*work));
    let begun = AtomicUsize::new(0);
    settings.threads.for_each(&mut order, |_, (_, run)| {
        let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
        watch.begin(&join(&run.values), number, parts);
        run.measured = plan(run).and_then(measured);
    });
    let mut rows = Rows::new(&columns(manifest));
    let mut done = Vec::new();
    for runs in runs.chunks(design.seeds.max(1) as usize) {
        let name = join(&runs[0].values);
        let estimates = estimates(manifest, runs).map_err(|error| error.within(&name))?;
        rows.push(name, cells(manifest, &estimates));
        done.push(Done {
            values: runs[0].values.clone(),
            measured: estimates.iter().map(|estimate| estimate.mean).collect(),
        });
    }
    let plots = plots(manifest, &done);
    Ok(Outcome {
        rows,
        plots,
        ..Outcome::default()
    })
}

/// A column for each metric; if there are several seeds, behind it one for its confidence and one for how many
/// runs have it.
pub(crate) fn columns(manifest: &Manifest) -> Vec<String> {
    let with_confidence = |name: &String| match manifest.seeds {
        1 => vec![name.clone()],
        _ => vec![name.clone(), format!("{name}_ci"), format!("{name}_n")],
    };
    let names = manifest.metrics.iter().map(|metric| &metric.name);
    names.flat_map(with_confidence).collect()
}

fn cells(manifest: &Manifest, estimates: &[Estimate]) -> Vec<Cell> {
    let with_confidence = |estimate: &Estimate| {
        let figures = [estimate.mean, estimate.half_width].map(Cell::number);
        let wanted = if manifest.seeds == 1 { 1 } else { 3 };
        let count = Cell::count(Some(estimate.count));
        figures.into_iter().chain([count]).take(wanted)
    };
    estimates.iter().flat_map(with_confidence).collect()
}

/// The figure of each metric over the seeds of one combination.
fn estimates(manifest: &Manifest, runs: &[Run<'_>]) -> Result<Vec<Estimate>, Error> {
    let mut seeds = Vec::new();
    for run in runs {
        seeds.push(run.measured.as_ref().map_err(Error::clone)?);
    }
    let of_metric = |(index, metric): (usize, &Metric)| {
        let samples: Vec<Sample> = seeds.iter().map(|run| run[index].clone()).collect();
        estimate(&samples, metric.percentile)
    };
    Ok(manifest.metrics.iter().enumerate().map(of_metric).collect())
}

/// The names of the runs.
pub(crate) fn names(manifest: &Manifest) -> Vec<String> {
    let design = design(manifest, false);
    let points = design.points();
    points
        .iter()
        .map(|point| join(&design.values(point)))
        .collect()
}

/// What is varied, and how.
fn design(manifest: &Manifest, quick: bool) -> Design {
    let reductions = quick.then_some(&manifest.quick).into_iter().flatten();
    Design {
        first: Vec::new(),
        axes: manifest.axes.clone(),
        derived: manifest.derived.clone(),
        last: reductions.cloned().collect(),
        seeds: if quick { 1 } else { manifest.seeds },
    }
}

/// Every combination with every seed; the seed varies fastest.
fn combinations(design: &Design) -> Vec<Run<'_>> {
    let with_seeds = |point: Vec<usize>| {
        (0..design.seeds).map(move |seed| Run {
            values: design.values(&point),
            point: point.clone(),
            seed,
            measured: Ok(Vec::new()),
        })
    };
    design.points().into_iter().flat_map(with_seeds).collect()
}

/// The traffic of a run.
fn plan(design: &Design, base: Base<'_>, run: &Run<'_>) -> Result<Plan, Error> {
    let mut loaded = design.load(base, &run.point)?;
    loaded.scenario.seed = loaded.scenario.seed.wrapping_add(u64::from(run.seed));
    Ok(Plan::new(&loaded)?)
}

/// Pictures of the metrics, or of the one that is asked for.
fn plots(manifest: &Manifest, runs: &[Done<'_>]) -> Vec<Plot> {
    let settings = &manifest.plot;
    let wanted = |name: &str| {
        settings
            .metric
            .as_deref()
            .is_none_or(|metric| metric == name)
    };
    let metrics = manifest
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| wanted(&metric.name));
    let mut plots: Vec<Plot> = metrics
        .filter_map(|(index, metric)| plot(manifest, (index, &metric.name), runs))
        .collect();
    for profile in &manifest.profiles {
        plots.extend(profiles(manifest, profile, runs));
    }
    plots
}

/// Several metrics of each run as a curve; a picture for each combination of the axes but the last.
fn profiles(manifest: &Manifest, profile: &Profile, runs: &[Done<'_>]) -> Vec<Plot> {
    let place = |name: &str| manifest.metrics.iter().position(|it| it.name == name);
    let curve = |run: &Done<'_>| {
        let point = |it: &ProfilePoint| Some((it.x, run.measured[place(&it.metric)?]?));
        Curve {
            name: run
                .values
                .last()
                .map_or_else(String::new, |it| it.name.clone()),
            points: profile.points.iter().filter_map(point).collect(),
            published: false,
        }
    };
    let values = manifest.axes.last().map_or(1, |axis| axis.values.len());
    let plot = |runs: &[Done<'_>]| {
        let others = runs[0].values.len().saturating_sub(1);
        let series = join(&runs[0].values[..others]);
        Plot {
            file: format!("{}-{series}", profile.name),
            title: format!("{}: {series}", manifest.title),
            x: profile.x.clone(),
            y: profile.y.clone(),
            log: profile.log,
            curves: runs.iter().map(curve).collect(),
        }
    };
    runs.chunks(values.max(1)).map(plot).collect()
}

/// One metric over the last axis, a line for each combination of the others.
fn plot(manifest: &Manifest, (index, metric): (usize, &str), runs: &[Done<'_>]) -> Option<Plot> {
    let (last, others) = manifest.axes.split_last()?;
    let place = |(place, value): (usize, &AxisValue)| {
        value
            .x
            .or_else(|| value.name.parse().ok())
            .unwrap_or(place as f64)
    };
    let xs: Vec<f64> = last.values.iter().enumerate().map(place).collect();
    let mut curves = Vec::new();
    for runs in runs.chunks(last.values.len()) {
        let series = join(&runs[0].values[..others.len()]);
        let measured = xs
            .iter()
            .zip(runs)
            .filter_map(|(x, run)| Some((*x, run.measured[index]?)));
        let published = xs.iter().zip(runs).filter_map(|(x, run)| {
            let name = join(&run.values);
            let mut numbers = manifest.published.iter();
            Some((
                *x,
                numbers
                    .find(|one| one.run == name && one.metric == metric)?
                    .value,
            ))
        });
        let (measured, published) = (measured.collect(), published.collect::<Vec<_>>());
        let name = format!("{series} (published)");
        curves.push(Curve {
            name: series,
            points: measured,
            published: false,
        });
        if !published.is_empty() {
            curves.push(Curve {
                name,
                points: published,
                published: true,
            });
        }
    }
    Some(Plot {
        file: metric.into(),
        title: manifest.title.clone(),
        x: last.name.clone(),
        y: manifest.plot.y.clone().unwrap_or_else(|| metric.into()),
        log: manifest.plot.log,
        curves,
    })
}
