//! The page of many runs in a browser.

use super::browser_tests::{browser, checks_passed_with};
use super::study::{Axis, Badge, Curve, Figure, First, Point, Side, Source, Study, Values, page};

const SELFTEST: &str = concat!(
    include_str!("../../../../report/checks.js"),
    include_str!("../../../../report/studytest.js")
);

fn axis(name: &str, values: &[&str], numbers: bool) -> Axis {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    Axis {
        name: name.into(),
        numbers: numbers.then(|| values.iter().map(|value| value.parse().unwrap()).collect()),
        values,
    }
}

/// Every combination of the values of axes.
fn places(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut places: Vec<Vec<usize>> = vec![Vec::new()];
    for axis in axes {
        let longer = |at: &Vec<usize>| {
            let at = at.clone();
            (0..axis.values.len()).map(move |place| [&at[..], &[place]].concat())
        };
        places = places.iter().flat_map(longer).collect();
    }
    places
}

/// A point whose figures grow along all axes.
fn point(at: Vec<usize>, shares: &[f64]) -> Point {
    let size = 1.0 + at.iter().sum::<usize>() as f64;
    let values = |factor: f64| -> Vec<f64> {
        let value = |share: &f64| size * factor * (10.0 + 90.0 * share);
        shares.iter().map(value).collect()
    };
    let figure = |mean: f64| Figure {
        mean: Some(mean),
        ci95: Some(mean / 10.0),
        n: 3,
    };
    let seeds = [values(0.9), values(1.1)];
    let curve = Values::Curve {
        x: vec![0.0, size, 9.0],
        y: vec![size, 2.0, 3.0],
        low: vec![Some(0.9 * size), None, Some(2.9)],
        high: vec![Some(1.1 * size), None, Some(3.1)],
    };
    Point {
        name: at
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join("-"),
        figures: vec![figure(size), figure(1000.0 * size)],
        curves: vec![Values::distribution(seeds.iter().map(Vec::as_slice)), curve],
        at,
    }
}

/// A study of these axes.
fn study(axes: Vec<Axis>) -> Study {
    let shares: Vec<f64> = (0..=20).map(|part| f64::from(part) / 20.0).collect();
    let curve = |name: &str, kind| Curve {
        name: name.into(),
        kind,
        x: Side::new("time", "time", false),
        y: Side::new("rate", "gbps", false),
        stepped: true,
    };
    let places = places(&axes).into_iter();
    Study {
        eyebrow: "Fairlane sweep",
        title: "</script><b>a study".into(),
        badge: Badge {
            text: "9 runs".into(),
            kind: "complete",
        },
        facts: vec![("Runs", "9".into())],
        version: "Fairlane".into(),
        seeds: 3,
        choice: First::default(),
        axes,
        metrics: vec!["slowdown.p99".into(), "queue_max_bytes".into()],
        points: places.map(|at| point(at, &shares)).collect(),
        curves: vec![
            curve("completion", "distribution"),
            curve("throughput", "curve"),
        ],
        curves_title: "Distributions",
        curves_caption: String::new(),
        shares,
        source: Source {
            title: "Sweep",
            summary: "What was varied",
            text: "seeds = 3".into(),
        },
    }
}

#[test]
fn a_page_of_many_runs_works_in_a_browser() {
    let Some(browser) = browser() else { return };
    let control = || axis("control", &["dcqcn", "hpcc"], false);
    let degree = || axis("degree", &["2", "8", "64"], true);
    let buffer = || axis("buffer", &["1MiB", "4MiB"], false);
    for (axes, checks) in [
        (vec![control()], 9),
        (vec![degree()], 9),
        (vec![control(), buffer()], 12),
        (vec![control(), degree(), buffer()], 12),
    ] {
        let names: Vec<_> = axes.iter().map(|axis| axis.name.clone()).collect();
        let page = page(&study(axes)).unwrap();
        for width in [1300, 500] {
            assert_eq!(
                checks_passed_with(browser, (&page, SELFTEST), width),
                checks,
                "{names:?}"
            );
        }
    }
}

#[test]
fn a_curve_of_one_point_is_seen() {
    let Some(browser) = browser() else { return };
    for log in [true, false] {
        let mut study = study(vec![axis("control", &["dcqcn", "hpcc"], false)]);
        study.curves[1].stepped = false;
        study.curves[1].x = Side::new("size up to", "bytes", log);
        for point in &mut study.points {
            point.curves[1] = Values::curve(vec![400_000.0], vec![2.0]);
            // Curves of several groups in one place cover each other.
            if point.at != [0] {
                point.curves[1] = Values::curve(Vec::new(), Vec::new());
            }
        }
        let page = page(&study).unwrap();
        assert_eq!(checks_passed_with(browser, (&page, SELFTEST), 1300), 9);
    }
}
