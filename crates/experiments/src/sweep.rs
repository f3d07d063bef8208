//! Experiments that are simulated: a scenario with changes, one run for each combination.

use std::path::Path;

use fairlane_drum::Workers;
use fairlane_fabric::{Control, Simulation, metrics};

use crate::error::Error;
use crate::manifest::{AxisValue, Manifest};
use crate::measure::measure;
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::{Settings, Watch};

/// One combination of the values of the axes.
struct Run<'a> {
    values: Vec<&'a AxisValue>,
    measured: Result<Vec<Option<f64>>, Error>,
}

/// A combination that has been measured.
struct Done<'a> {
    values: Vec<&'a AxisValue>,
    measured: Vec<Option<f64>>,
}

/// The name of a combination.
fn join(values: &[&AxisValue]) -> String {
    let names: Vec<_> = values.iter().map(|value| value.name.as_str()).collect();
    names.join("-")
}

/// Runs every combination and measures it.
pub(crate) fn run(
    manifest: &Manifest,
    scenario: &str,
    settings: Settings,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let mut runs = combinations(manifest);
    let parts = runs.len();
    settings.threads.for_each(&mut runs, |index, run| {
        watch.begin(&join(&run.values), index + 1, parts);
        run.measured = simulate(manifest, scenario, run, settings.quick, watch);
    });
    let names: Vec<_> = manifest
        .metrics
        .iter()
        .map(|metric| metric.name.as_str())
        .collect();
    let mut rows = Rows::new(&names);
    let mut done = Vec::new();
    for run in runs {
        let name = join(&run.values);
        let measured = run.measured.map_err(|error| error.within(&name))?;
        rows.push(name, measured.iter().map(|value| Cell::number(*value)));
        done.push(Done {
            values: run.values,
            measured,
        });
    }
    let plots = plots(manifest, &done);
    Ok(Outcome {
        rows,
        plots,
        ..Outcome::default()
    })
}

/// The cross product of the axes; the last varies fastest.
fn combinations(manifest: &Manifest) -> Vec<Run<'_>> {
    let mut combinations: Vec<Vec<&AxisValue>> = vec![Vec::new()];
    for axis in &manifest.axes {
        let longer = |values: &Vec<_>| {
            let values = values.clone();
            axis.values.iter().map(move |value| {
                let mut longer = values.clone();
                longer.push(value);
                longer
            })
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    let run = |values| Run {
        values,
        measured: Ok(Vec::new()),
    };
    combinations.into_iter().map(run).collect()
}

fn simulate(
    manifest: &Manifest,
    scenario: &str,
    run: &Run<'_>,
    quick: bool,
    watch: &dyn Watch,
) -> Result<Vec<Option<f64>>, Error> {
    if watch.stopped() {
        return Err(Error::stopped());
    }
    let changes = run.values.iter().flat_map(|value| &value.set);
    let reductions = quick.then_some(&manifest.quick).into_iter().flatten();
    let overrides: Vec<String> = changes.chain(reductions).cloned().collect();
    // The scenarios of experiments name no files, so the folder doesn't matter.
    let loaded = fairlane_scenario::parse(
        scenario,
        &manifest.scenario,
        Path::new("."),
        &overrides,
        None,
    )?;
    let results = Simulation::new(&loaded)?.run(&mut |_| match watch.stopped() {
        true => Control::Interrupt,
        false => Control::Continue,
    });
    if watch.stopped() {
        return Err(Error::stopped());
    }
    let violations = metrics::check(&results, loaded.scenario.switch.pfc.enabled);
    if !violations.is_empty() {
        let list = violations.join("; ");
        return Err(Error::new(
            format!("the results contradict themselves, which is a bug in fairlane: {list}"),
            "please report it",
        ));
    }
    Ok(manifest
        .metrics
        .iter()
        .map(|metric| measure(&results, metric))
        .collect())
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
    metrics
        .filter_map(|(index, metric)| plot(manifest, (index, &metric.name), runs))
        .collect()
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
