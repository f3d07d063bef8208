//! What the page of many runs shows of a sweep.

use fairlane_results::report::study::{
    self, Axis, Badge, Curve, Figure, First, Point, Side, Source, Study, Values,
};

use crate::error::Error;
use crate::sweep::{Choice, Record, SHARES, Sweep};

impl Sweep {
    /// The page, as one file that needs no network.
    ///
    /// # Errors
    /// Never for records of this sweep.
    pub fn page(&self, records: &[Option<Record>]) -> Result<String, Error> {
        Ok(study::page(&content(self, records))?)
    }
}

fn content(sweep: &Sweep, records: &[Option<Record>]) -> Study {
    let kept = records.iter().flatten().count();
    let Choice { x, lines, log } = sweep.choice.clone();
    let all = sweep.axes();
    // Axes in step with another one have their values beside that one's.
    let crossed = all.iter().map(|axis| axis.crossed + 1).max().unwrap_or(0);
    let axis = |place: usize| {
        let names = all.iter().filter(|axis| axis.crossed == place);
        let mut axes = names.clone();
        let first = axes.next();
        let value = |at: usize| {
            let names: Vec<_> = names.clone().map(|axis| axis.values[at].as_str()).collect();
            names.join(" / ")
        };
        let values = first.map_or(0, |axis| axis.values.len());
        let titles: Vec<_> = names.clone().map(|axis| axis.name.as_str()).collect();
        Axis {
            name: titles.join(" / "),
            values: (0..values).map(value).collect(),
            numbers: first.and_then(|axis| axis.numbers.clone()),
        }
    };
    let mut axes: Vec<Axis> = (0..crossed).map(axis).collect();
    // The page has somewhere to put a single combination.
    let lone = axes.is_empty();
    if lone {
        axes.push(Axis {
            name: "scenario".into(),
            values: vec![sweep.title.clone()],
            numbers: None,
        });
    }
    // An axis in step is asked for by its own name.
    let whole = |name: Option<String>| {
        let name = name?;
        let place = all.iter().find(|axis| axis.name == name)?.crossed;
        Some(axes.get(place)?.name.clone())
    };
    let first = First {
        x: whole(x),
        lines: whole(lines),
        log,
    };
    Study {
        eyebrow: "Fairlane sweep",
        title: sweep.title.clone(),
        badge: badge(kept, records.len()),
        facts: facts(sweep, kept),
        version: format!("Fairlane {}", env!("CARGO_PKG_VERSION")),
        seeds: sweep.seeds(),
        choice: first,
        metrics: sweep.metrics().map(str::to_owned).collect(),
        points: points(sweep, records, lone),
        curves: sweep.curves().zip(sweep.curve_units()).map(curve).collect(),
        curves_title: "Distributions",
        curves_caption: "Share of messages at most so large; mean over seeds of the values at each share, with the least and greatest of all seeds as a band.".into(),
        shares: SHARES.iter().map(|share| share / 100.0).collect(),
        source: Source {
            title: "Sweep",
            summary: "What was varied and measured",
            text: sweep.text().into(),
        },
        axes,
    }
}

fn badge(kept: usize, runs: usize) -> Badge {
    match kept == runs {
        true => Badge {
            text: format!("{runs} runs"),
            kind: "complete",
        },
        false => Badge {
            text: format!("{kept} of {runs} runs"),
            kind: "partial",
        },
    }
}

fn facts(sweep: &Sweep, kept: usize) -> Vec<(&'static str, String)> {
    let axes = sweep.axes();
    let names: Vec<_> = axes
        .iter()
        .map(|axis| format!("{} ({})", axis.name, axis.values.len()))
        .collect();
    vec![
        ("Varied", names.join(", ")),
        ("Combinations", sweep.points().len().to_string()),
        ("Seeds", sweep.seeds().to_string()),
        ("Runs", kept.to_string()),
    ]
}

fn points(sweep: &Sweep, records: &[Option<Record>], lone: bool) -> Vec<Point> {
    let metrics = sweep.metrics().count();
    let curves = sweep.curves().count();
    let point = |(number, point): (usize, &crate::sweep::Point)| {
        let figure = |metric| {
            let estimate = sweep.estimate(number, metric, records);
            Figure {
                mean: estimate.mean,
                ci95: estimate.half_width,
                n: estimate.count,
            }
        };
        let of_point = sweep.of_point(number, records);
        let values = |curve: usize| {
            let runs = of_point.iter().flatten();
            Values::distribution(runs.filter_map(|run| run.curves.get(curve).map(Vec::as_slice)))
        };
        Point {
            name: point.name.clone(),
            at: if lone { vec![0] } else { point.at.clone() },
            figures: (0..metrics).map(figure).collect(),
            curves: (0..curves).map(values).collect(),
        }
    };
    sweep.points().iter().enumerate().map(point).collect()
}

fn curve((name, (words, format)): (&str, (&'static str, &'static str))) -> Curve {
    Curve {
        name: name.into(),
        kind: "distribution",
        x: Side::new(words, format, true),
        y: Side::new("share at most", "share", false),
        stepped: false,
    }
}
