//! Experiments that are simulated: a scenario with changes, one run for each combination.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlane_attacks::{Estimate, Plan};
use fairlane_drum::Workers;

use crate::axis::{Axis, AxisValue};
use crate::design::{Base, Design, join, simulate, work};
use crate::error::Error;
use crate::manifest::{Manifest, Profile, ProfilePoint};
use crate::measure::measure;
use crate::metric::Metric;
use crate::open::{Open, OpenSettings};
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::ratio::{Figures, Ratio};
use crate::sample::{Sample, estimate};
use crate::{Settings, Watch};

/// One combination of the values of the axes.
struct Run<'a> {
    design: &'a Design,
    point: Vec<usize>,
    values: Vec<&'a AxisValue>,
    seed: u32,
    measured: Result<Vec<Sample>, Error>,
}

/// Runs every combination and measures it, and again what depends on settings that the source leaves open.
pub(crate) fn run(
    manifest: &Manifest,
    base: Base<'_>,
    settings: Settings,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let design = design(manifest, settings.quick)?;
    let conditions = manifest.conditions();
    let mut opens = Vec::new();
    for open in &manifest.opens {
        let wanted = open.conditions(&conditions)?;
        let axes = open.axes.iter();
        opens.extend(axes.map(|axis| (axis, design.with(axis.clone()), wanted.clone())));
    }
    let mut runs = combinations(&design, &|_| true);
    let own = runs.len();
    let names: Vec<String> = runs.iter().map(|run| join(&run.values)).collect();
    let mut ends = vec![own];
    for (_, varied, wanted) in &opens {
        let meant = OpenSettings::runs(wanted, &names);
        runs.extend(combinations(varied, &|values| {
            meant.contains(&*join(&values[1..]))
        }));
        ends.push(runs.len());
    }
    simulate_all(manifest, base, &mut runs, settings, watch);
    let (done, mut rows) = table(manifest, &runs[..own])?;
    with_ratios(manifest, &done, &mut rows);
    let mut open = Vec::new();
    for ((axis, _, wanted), part) in opens.iter().zip(ends.windows(2)) {
        let (_, rows) = table(manifest, &runs[part[0]..part[1]])?;
        open.push(Open::new(axis, wanted, rows, settings.quick)?);
    }
    let maps = manifest.maps.iter();
    Ok(Outcome {
        maps: maps.map(|map| map.map(&design.axes, &rows)).collect(),
        plots: plots(manifest, &design.axes, &done),
        rows,
        open,
        ..Outcome::default()
    })
}

/// Simulates runs, and measures what each is asked for.
fn simulate_all(
    manifest: &Manifest,
    base: Base<'_>,
    runs: &mut [Run<'_>],
    settings: Settings,
    watch: &dyn Watch,
) {
    let parts = runs.len();
    // The longest first, so that no thread is left with one of them at the end.
    let plan = |run: &Run<'_>| plan(base, run);
    let measured = |plan: Plan| {
        let results = simulate(&plan, &|| watch.stopped())?;
        let metrics = manifest.metrics.iter();
        Ok(metrics
            .map(|metric| measure(&plan, &results, metric))
            .collect())
    };
    let mut order: Vec<_> = runs.iter_mut().map(|run| (0, run)).collect();
    settings.threads.for_each(&mut order, |_, (length, run)| {
        if !watch.stopped() {
            *length = plan(run).map_or(0, |plan| work(&plan));
        }
    });
    order.sort_by_key(|(length, _)| Reverse(*length));
    let begun = AtomicUsize::new(0);
    settings.threads.for_each(&mut order, |_, (_, run)| {
        let number = begun.fetch_add(1, Ordering::Relaxed) + 1;
        watch.begin(&join(&run.values), number, parts);
        run.measured = plan(run).and_then(measured);
    });
}

/// The figures of runs of one design, and a row for each combination of its axes.
fn table<'a>(manifest: &Manifest, runs: &[Run<'a>]) -> Result<(Vec<Figures<'a>>, Rows), Error> {
    let mut done = Vec::new();
    let mut rows = Rows::new(&measured_columns(manifest));
    let seeds = runs.first().map_or(1, |run| run.design.seeds.max(1));
    for runs in runs.chunks(seeds as usize) {
        let name = join(&runs[0].values);
        let estimates = estimates(manifest, runs).map_err(|error| error.within(&name))?;
        rows.push(name, cells_of(manifest, &estimates));
        let measured = estimates.iter().map(|estimate| estimate.mean).collect();
        done.push((runs[0].values.clone(), measured));
    }
    Ok((done, rows))
}

/// Adds the columns of ratios.
fn with_ratios(manifest: &Manifest, done: &[Figures<'_>], rows: &mut Rows) {
    for ratio in &manifest.ratios {
        rows.columns.extend(ratio.columns());
        let ratios = ratio.cells(manifest, done).into_iter();
        for (row, ratios) in rows.rows.iter_mut().zip(ratios) {
            row.extend(ratios.into_iter().map(Cell::from));
        }
    }
}

/// A column for each metric; if there are several seeds, behind it one for its confidence and one for how many
/// runs have it.
fn measured_columns(manifest: &Manifest) -> Vec<String> {
    let with_confidence = |name: &String| match manifest.seeds {
        1 => vec![name.clone()],
        _ => vec![name.clone(), format!("{name}_ci"), format!("{name}_n")],
    };
    let names = manifest.metrics.iter().map(|metric| &metric.name);
    names.flat_map(with_confidence).collect()
}

/// The measured columns, and the columns of each ratio.
pub(crate) fn columns(manifest: &Manifest) -> Vec<String> {
    let ratios = manifest.ratios.iter().flat_map(Ratio::columns);
    measured_columns(manifest)
        .into_iter()
        .chain(ratios)
        .collect()
}

fn cells_of(manifest: &Manifest, estimates: &[Estimate]) -> Vec<Cell> {
    let with_confidence = |estimate: &Estimate| {
        let figures = [estimate.mean, estimate.half_width].map(Cell::from);
        let wanted = if manifest.seeds == 1 { 1 } else { 3 };
        let count = Cell::from(estimate.count);
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
    let design = of_axes(manifest, manifest.axes.clone(), false);
    let points = design.points();
    points
        .iter()
        .map(|point| join(&design.values(point)))
        .collect()
}

/// The axes of the reduced size.
pub(crate) fn reduced(manifest: &Manifest) -> Result<Vec<Axis>, Error> {
    let axes = manifest.axes.iter();
    let reduced = |axis: &Axis| match manifest.quick_values.get(&axis.name) {
        Some(names) => axis.only(names),
        None => Ok(axis.clone()),
    };
    let wrong = |message| Error::new(format!("quick_values: {message}"), "");
    axes.map(|axis| reduced(axis).map_err(wrong)).collect()
}

/// What is varied, and how.
fn design(manifest: &Manifest, quick: bool) -> Result<Design, Error> {
    let axes = match quick {
        true => reduced(manifest)?,
        false => manifest.axes.clone(),
    };
    Ok(of_axes(manifest, axes, quick))
}

fn of_axes(manifest: &Manifest, axes: Vec<Axis>, quick: bool) -> Design {
    let reductions = quick.then_some(&manifest.quick).into_iter().flatten();
    Design {
        first: Vec::new(),
        axes,
        derived: manifest.derived.clone(),
        last: reductions.cloned().collect(),
        seeds: if quick { 1 } else { manifest.seeds },
    }
}

/// Every combination that is `wanted` with every seed; the seed varies fastest.
fn combinations<'a>(design: &'a Design, wanted: &dyn Fn(&[&AxisValue]) -> bool) -> Vec<Run<'a>> {
    let with_seeds = |point: Vec<usize>| {
        (0..design.seeds).map(move |seed| Run {
            design,
            values: design.values(&point),
            point: point.clone(),
            seed,
            measured: Ok(Vec::new()),
        })
    };
    let points = design.points().into_iter();
    let points = points.filter(|point| wanted(&design.values(point)));
    points.flat_map(with_seeds).collect()
}

/// The traffic of a run.
fn plan(base: Base<'_>, run: &Run<'_>) -> Result<Plan, Error> {
    let mut loaded = run.design.load(base, &run.point)?;
    loaded.scenario.seed = loaded.scenario.seed.wrapping_add(u64::from(run.seed));
    Ok(Plan::new(&loaded)?)
}

/// Pictures of the metrics, or of the one that is asked for.
fn plots(manifest: &Manifest, axes: &[Axis], runs: &[Figures<'_>]) -> Vec<Plot> {
    let settings = &manifest.plot;
    // With a map curves of everything would be in its way.
    let wanted = |name: &str| match settings.metric.as_deref() {
        Some(metric) => metric == name,
        None => manifest.maps.is_empty(),
    };
    let metrics = manifest
        .metrics
        .iter()
        .enumerate()
        .filter(|(_, metric)| wanted(&metric.name));
    let mut plots: Vec<Plot> = metrics
        .filter_map(|(index, metric)| plot(manifest, axes, (index, &metric.name), runs))
        .collect();
    for profile in &manifest.profiles {
        plots.extend(profiles(manifest, axes, profile, runs));
    }
    plots
}

/// Several metrics of each run as a curve; a picture for each combination of the axes but the last.
fn profiles(
    manifest: &Manifest,
    axes: &[Axis],
    profile: &Profile,
    runs: &[Figures<'_>],
) -> Vec<Plot> {
    let place = |name: &str| manifest.metrics.iter().position(|it| it.name == name);
    let curve = |(values, measured): &Figures<'_>| {
        let point = |it: &ProfilePoint| Some((it.x, measured[place(&it.metric)?]?));
        Curve {
            name: values.last().map_or_else(String::new, |it| it.name.clone()),
            points: profile.points.iter().filter_map(point).collect(),
            published: false,
        }
    };
    let values = axes.last().map_or(1, |axis| axis.values.len());
    let plot = |runs: &[Figures<'_>]| {
        let others = runs[0].0.len().saturating_sub(1);
        let series = join(&runs[0].0[..others]);
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
fn plot(
    manifest: &Manifest,
    axes: &[Axis],
    (index, metric): (usize, &str),
    runs: &[Figures<'_>],
) -> Option<Plot> {
    let (last, others) = axes.split_last()?;
    let place = |(place, value): (usize, &AxisValue)| {
        value
            .x
            .or_else(|| value.name.parse().ok())
            .unwrap_or(place as f64)
    };
    let xs: Vec<f64> = last.values.iter().enumerate().map(place).collect();
    let mut curves = Vec::new();
    for runs in runs.chunks(last.values.len()) {
        let series = join(&runs[0].0[..others.len()]);
        let measured = xs
            .iter()
            .zip(runs)
            .filter_map(|(x, (_, measured))| Some((*x, measured[index]?)));
        let published = xs.iter().zip(runs).filter_map(|(x, (values, _))| {
            let name = join(values);
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
