//! The page of many runs: a sweep, or runs that are compared. `report/README.md` has the contract.
#![expect(
    missing_docs,
    reason = "report/README.md says what each field of the page is"
)]

use serde::Serialize;

use super::frame::Page;
use super::text;
use crate::error::Error;

/// Scripts that only this page has.
const SCRIPTS: [&str; 2] = [
    include_str!("../../../../report/studycharts.js"),
    include_str!("../../../../report/study.js"),
];

/// What the page shows.
#[derive(Debug, Serialize)]
pub struct Study {
    pub eyebrow: &'static str,
    pub title: String,
    pub badge: Badge,
    pub facts: Vec<(&'static str, String)>,
    pub version: String,
    /// At most so many runs of a point.
    pub seeds: usize,
    pub choice: First,
    pub axes: Vec<Axis>,
    pub metrics: Vec<String>,
    pub points: Vec<Point>,
    pub curves: Vec<Curve>,
    pub curves_title: &'static str,
    pub curves_caption: String,
    /// Shares of 1 at which distributions have their values.
    pub shares: Vec<f64>,
    pub source: Source,
}

/// What stands at the right of the title.
#[derive(Debug, Serialize)]
pub struct Badge {
    pub text: String,
    /// Its class in `report.css`.
    pub kind: &'static str,
}

/// Where it all comes from.
#[derive(Debug, Serialize)]
pub struct Source {
    pub title: &'static str,
    pub summary: &'static str,
    pub text: String,
}

/// What is drawn first.
#[derive(Debug, Default, Serialize)]
pub struct First {
    pub x: Option<String>,
    pub lines: Option<String>,
    pub log: bool,
}

/// What is varied.
#[derive(Debug, Serialize)]
pub struct Axis {
    pub name: String,
    pub values: Vec<String>,
    pub numbers: Option<Vec<f64>>,
}

/// A combination.
#[derive(Debug, Serialize)]
pub struct Point {
    pub name: String,
    pub at: Vec<usize>,
    /// By metric.
    pub figures: Vec<Figure>,
    /// By curve.
    pub curves: Vec<Values>,
}

/// A mean over seeds.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub mean: Option<f64>,
    pub ci95: Option<f64>,
    pub n: usize,
}

/// A kind of curve.
#[derive(Debug, Serialize)]
pub struct Curve {
    pub name: String,
    /// `distribution`, or `curve`.
    pub kind: &'static str,
    pub x: Side,
    pub y: Side,
    /// Whether it is about intervals of time.
    pub stepped: bool,
}

/// An axis of a chart.
#[derive(Debug, Serialize)]
pub struct Side {
    pub name: String,
    /// One of `FORMATS` in `studycharts.js`.
    pub format: &'static str,
    pub log: bool,
}

/// What a point has of a curve.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Values {
    /// At the shares of the page: mean, least and greatest of all seeds.
    Distribution {
        mean: Vec<f64>,
        low: Vec<f64>,
        high: Vec<f64>,
    },
    /// At places of its own, with the edges of a band where there is one.
    Curve {
        x: Vec<f64>,
        y: Vec<f64>,
        low: Vec<Option<f64>>,
        high: Vec<Option<f64>>,
    },
}

impl Side {
    pub fn new(name: &str, format: &'static str, log: bool) -> Self {
        Self {
            name: name.into(),
            format,
            log,
        }
    }
}

impl Values {
    /// A curve without a band.
    pub fn curve(x: Vec<f64>, y: Vec<f64>) -> Self {
        let (low, high) = (vec![None; x.len()], vec![None; x.len()]);
        Self::Curve { x, y, low, high }
    }

    /// A distribution of the quantiles of several runs, without those that have none.
    pub fn distribution<'a>(runs: impl Iterator<Item = &'a [f64]>) -> Self {
        let runs: Vec<&[f64]> = runs.filter(|run| !run.is_empty()).collect();
        let length = runs.iter().map(|run| run.len()).min().unwrap_or(0);
        let at = |fold: &dyn Fn(&mut dyn Iterator<Item = f64>) -> f64| {
            let value = |share: usize| fold(&mut runs.iter().map(|run| run[share]));
            (0..length).map(value).collect()
        };
        Self::Distribution {
            mean: at(&|values| values.sum::<f64>() / runs.len() as f64),
            low: at(&|values| values.fold(f64::INFINITY, f64::min)),
            high: at(&|values| values.fold(f64::NEG_INFINITY, f64::max)),
        }
    }
}

/// A page as one HTML file.
///
/// # Errors
/// If a text or number has no JSON form, which none is.
pub fn page(study: &Study) -> Result<String, Error> {
    let json = serde_json::to_string(study)
        .map_err(|error| Error::new(format!("report.html: {error}")))?;
    let page = Page {
        title: &study.title,
        body: include_str!("../../../../report/study.html"),
        data: &text::escape_json(&json),
        scripts: &SCRIPTS,
        sources: "",
    };
    Ok(page.text())
}
