//! Distributions of message sizes.

use fairlane_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::position;
use crate::error::{Error, ensure, mistake, suggestion};
use crate::rules::LARGEST_MESSAGE;
use crate::section::inside;
use fairlane_hpcc_files::lines::{lines, shorten};

/// The names of the distributions that ship with Fairlane, and their texts.
const BUILT_IN: [(&str, &str); 4] = [
    ("websearch", include_str!("../sizes/websearch.toml")),
    ("hadoop", include_str!("../sizes/hadoop.toml")),
    ("storage", include_str!("../sizes/storage.toml")),
    ("rpc", include_str!("../sizes/rpc.toml")),
];

/// A distribution of message sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "the name of a distribution, a file, or points such as [{ size = \"1kB\", percent = 0 }, ...]"
)]
pub enum Sizes {
    /// A built-in distribution by name, or a file: any text with `/` or `.`.
    Named(String),
    /// Points of the distribution function in the scenario itself.
    Points(Vec<SizePoint>),
}

/// A point of a distribution function: `percent` of messages are at most `size`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizePoint {
    /// Message size.
    pub size: Bytes,
    /// Cumulative percent, 0 to 100.
    pub percent: f64,
}

/// A distribution function of message sizes, linear between its points.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    points: Vec<SizePoint>,
}

/// A distribution in a file of Fairlane's own; what isn't read is for people.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeFile {
    #[serde(rename = "name")]
    _name: String,
    /// Where the figures were published.
    #[serde(rename = "publication")]
    _publication: String,
    /// What was measured, and how the figures differ from the publication's.
    #[serde(default, rename = "note")]
    _note: String,
    points: Vec<SizePoint>,
}

impl SizeDistribution {
    /// A distribution through `points`.
    ///
    /// # Errors
    /// Fewer than two points, a first percent that isn't 0, a last one that isn't 100, or points
    /// that don't ascend; the place is `[index]` of the point.
    pub fn new(points: Vec<SizePoint>) -> Result<Self, Error> {
        let mut before = None;
        for (i, point) in points.iter().enumerate() {
            check_point(before, point).map_err(|error| error.at(format!("[{i}]")))?;
            before = Some(point);
        }
        Self { points }.complete()
    }

    /// The built-in distribution `name`.
    ///
    /// # Errors
    /// An unknown name; the place is the name.
    pub fn built_in(name: &str) -> Result<Self, Error> {
        let found = BUILT_IN.iter().find(|(known, _)| *known == name);
        let (name, text) = found.ok_or_else(|| {
            let names = BUILT_IN.map(|(known, _)| known);
            let list = names.join(", ");
            let known = suggestion(name, names, '"', format!("known are {list}"));
            mistake!(name,
                "unknown size distribution \"{}\", expected one of {list}", shorten(name);
                "{known}; a file is named with `/` or `.`")
        })?;
        Self::parse(text, &format!("{name}.toml"))
    }

    /// Reads a file: TOML as `sizes/hadoop.toml` if `file` ends in `.toml`, else two columns, size
    /// in bytes and cumulative percent, where `#` starts a comment.
    ///
    /// # Errors
    /// As [`SizeDistribution::new`], with the line.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        if file.ends_with(".toml") {
            parse_toml(text, file)
        } else {
            parse_columns(text, file)
        }
    }

    /// The points.
    pub fn points(&self) -> &[SizePoint] {
        &self.points
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        let part = |pair: &[SizePoint]| {
            let middle = (pair[0].size.as_f64() + pair[1].size.as_f64()) / 2.0;
            middle * (pair[1].percent - pair[0].percent) / 100.0
        };
        self.points.windows(2).map(part).sum()
    }

    /// The size below which a share `u` of messages is, for `u` in 0..1: linear between points,
    /// truncated to whole bytes, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes are below 2^53, and truncation is the stated rounding"
    )]
    pub fn sample(&self, u: f64) -> Bytes {
        let percent = u * 100.0;
        let after = self.points.partition_point(|point| point.percent < percent);
        let after = after.clamp(1, self.points.len() - 1);
        let (low, high) = (&self.points[after - 1], &self.points[after]);
        let (x0, x1) = (low.size.as_f64(), high.size.as_f64());
        let span = high.percent - low.percent;
        let size = if span > 0.0 {
            x0 + (x1 - x0) / span * (percent - low.percent)
        } else {
            x1
        };
        Bytes::new((size as u64).max(1))
    }

    /// Checks what only all points together show; the place stays empty.
    fn complete(self) -> Result<Self, Error> {
        let (count, mean) = (self.points.len(), self.mean());
        let last = self.points.last().map_or(0.0, |last| last.percent);
        ensure!(count >= 2, "", "{count} points, expected at least 2";
            "a fixed size is two points of that size, at 0 and 100 percent");
        ensure!(last != 1.0, "", "the last percent is 1, expected 100";
            "multiply by 100: these are percents, not fractions");
        ensure!(last == 100.0, "",
            "the last percent is {last}, expected 100"; "is the file complete?");
        ensure!(mean >= 1.0, "",
            "the mean size is {mean} B, expected at least 1"; "sizes are in bytes");
        Ok(self)
    }
}

/// Checks a point after the one before it; the place stays empty.
fn check_point(before: Option<&SizePoint>, point: &SizePoint) -> Result<(), Error> {
    let SizePoint { size, percent } = *point;
    ensure!((0.0..=100.0).contains(&percent), "",
        "percent is {percent}, expected 0 to 100"; "percents are cumulative");
    ensure!(size <= LARGEST_MESSAGE, "",
        "size is {size}, expected at most {LARGEST_MESSAGE}, what a work request can hold";
        "sizes are in bytes; larger transfers are several messages");
    let Some(before) = before else {
        ensure!(percent == 0.0, "", "the first percent is {percent}, expected 0";
            "add a first point with the smallest size and percent 0");
        return Ok(());
    };
    ensure!(percent >= before.percent, "",
        "percent falls from {} to {percent}, expected ascending percents", before.percent;
        "percents are cumulative: share of messages of at most this size");
    ensure!(size >= before.size, "",
        "size falls from {} to {size}, expected ascending sizes", before.size;
        "sort the points by size");
    ensure!(point != before, "", "point {size}, {percent} is listed twice"; "remove one");
    Ok(())
}

fn parse_toml(text: &str, file: &str) -> Result<SizeDistribution, Error> {
    let parsed: SizeFile = toml::from_str(text).map_err(|error| {
        let place = position(text, file, error.span());
        mistake!(place, "{}", error.message().replace('\n', ", ");
            "write name = \"...\", publication = \"...\" and \
            points = [{{ size = 0, percent = 0 }}, ...]")
    })?;
    let distribution = SizeDistribution::new(parsed.points);
    distribution.map_err(|error| inside(error, format_args!("{file}: points")))
}

fn parse_columns(text: &str, file: &str) -> Result<SizeDistribution, Error> {
    let mut points: Vec<SizePoint> = Vec::new();
    for mut line in lines(text, file) {
        line.text = line.text.split('#').next().unwrap_or("").trim();
        if line.text.is_empty() {
            continue;
        }
        let [size, percent] = line.fields("SIZE PERCENT")?;
        let point = SizePoint {
            size: line.size(size, "the size", "whole bytes")?,
            percent: line.number(percent, "the percent", "a number from 0 to 100")?,
        };
        check_point(points.last(), &point).map_err(|error| error.at(line.place()))?;
        points.push(point);
    }
    let distribution = SizeDistribution { points };
    distribution.complete().map_err(|error| error.at(file))
}
