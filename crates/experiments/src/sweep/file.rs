//! What a sweep's file says.

use std::fmt::Display;
use std::ops::Range;

use fairlane_units::Bytes;
use serde::Deserialize;
use toml::{Spanned, Table, Value};

use crate::axis::{self, Axis};
use crate::design::Derived;
use crate::error::Error;
use crate::metric::{Limit, Metric, Quantity, Statistic};
use crate::sweep::wanted::{Of, Wanted};

/// A sweep's file, checked as far as it can be without its scenario.
#[derive(Debug)]
pub(super) struct File {
    /// What is shown.
    pub(super) title: Option<String>,
    /// Its path, or the scenario itself.
    pub(super) scenario: Value,
    /// Changes of every run.
    pub(super) set: Vec<String>,
    /// Runs of each combination.
    pub(super) seeds: u32,
    /// What is varied, and in which line that stands.
    pub(super) axes: Vec<Axis>,
    /// Where axes stand.
    pub(super) places: Vec<(String, String)>,
    /// What follows from that.
    pub(super) derived: Vec<Derived>,
    /// What is measured, in order.
    pub(super) metrics: Vec<Entry>,
    /// Figures of which distributions are kept.
    pub(super) curves: Vec<Entry>,
    /// What the page shows first.
    pub(super) plot: Choice,
}

/// Which axes the page draws along x and as lines, at first.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The axis along x.
    pub x: Option<String>,
    /// The axis with a line for each value.
    pub lines: Option<String>,
    /// Whether y is logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// A metric, or one for each of several groups.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) wanted: Wanted,
    pub(super) by: Option<By>,
    /// `file:line:column`.
    pub(super) place: String,
}

/// For what a metric is measured one by one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum By {
    Workload,
    Tenant,
    /// Sizes at which a class ends and the next begins.
    Size(Vec<Bytes>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: Option<String>,
    scenario: Value,
    #[serde(default)]
    set: Vec<Spanned<String>>,
    seeds: Option<Spanned<u32>>,
    #[serde(default)]
    axis: Vec<Spanned<Axis>>,
    #[serde(default)]
    derived: Vec<Derived>,
    #[serde(default)]
    metrics: Vec<Spanned<String>>,
    #[serde(default)]
    metric: Vec<Spanned<Table>>,
    #[serde(default)]
    curve: Vec<Spanned<Table>>,
    #[serde(default)]
    plot: Choice,
}

/// Names that columns of tables have already.
const TAKEN: [&str; 11] = [
    "run", "seed", "ending", "metric", "value", "mean", "ci95", "min", "max", "n", "",
];

const SEE: &str = "see docs/sweeps.md";

impl File {
    /// Reads a text, which messages call `name`.
    pub(super) fn parse(text: &str, name: &str) -> Result<Self, Error> {
        let at = Lines { text, name };
        let written: Written =
            toml::from_str(text).map_err(|error| at.error(error.span(), error.message(), SEE))?;
        let seeds = written.seeds.unwrap_or_else(|| Spanned::new(0..0, 1));
        if *seeds.get_ref() == 0 {
            let hint = "leave it out for one run of each combination";
            return Err(at.error(Some(seeds.span()), "seeds is 0, expected at least 1", hint));
        }
        let place = |axis: &Spanned<Axis>| {
            let place = at.place(Some(axis.span()));
            (axis.get_ref().name.clone(), place)
        };
        for axis in &written.axis {
            if TAKEN.contains(&axis.get_ref().name.as_str()) {
                let message = format!("an axis can't be called \"{}\"", axis.get_ref().name);
                return Err(at.error(
                    Some(axis.span()),
                    message,
                    "tables have a column of that name",
                ));
            }
        }
        let names = written.metrics.iter().map(|name| Entry {
            wanted: Wanted {
                name: name.get_ref().clone(),
                of: Of::Summary(name.get_ref().clone()),
            },
            by: None,
            place: at.place(Some(name.span())),
        });
        let mut metrics: Vec<Entry> = names.collect();
        for table in written.metric {
            metrics.push(at.entry(table)?);
        }
        let curves = written.curve.into_iter().map(|table| at.curve(table));
        let curves = curves.collect::<Result<Vec<_>, _>>()?;
        if metrics.is_empty() && curves.is_empty() {
            let hint = "write metrics = [\"slowdown.p99\", \"goodput_gbps\"]";
            return Err(at.error(None, "nothing is measured", hint));
        }
        let places = written.axis.iter().map(place).collect();
        let axes: Vec<Axis> = written.axis.into_iter().map(Spanned::into_inner).collect();
        for set in &written.set {
            if let Some(other) = overridden(set.get_ref(), &axes, &written.derived) {
                let message = format!("`{}` has no effect: {other} sets it, too", set.get_ref());
                let hint = "remove one of the two; axes and [[derived]] come after `set`";
                return Err(at.error(Some(set.span()), message, hint));
            }
        }
        Ok(Self {
            title: written.title,
            scenario: written.scenario,
            set: written.set.into_iter().map(Spanned::into_inner).collect(),
            seeds: seeds.into_inner(),
            places,
            axes: axis::joined(axes).map_err(|error| error.within(name))?,
            derived: written.derived,
            metrics,
            curves,
            plot: written.plot,
        })
    }
}

/// What sets the key of a change again in every run.
fn overridden(set: &str, axes: &[Axis], derived: &[Derived]) -> Option<String> {
    let key = |set: &str| -> Vec<String> {
        let key = set.split('=').next().unwrap_or_default();
        key.split('.').map(|part| part.trim().to_owned()).collect()
    };
    let ours = key(set);
    // An element that is added is one more.
    let is_again = |other: &str| {
        let other = key(other);
        ours.starts_with(&other) && other.last().is_some_and(|last| last != "+")
    };
    let of_axis = axes.iter().find(|axis| {
        let mut values = axis.values.iter();
        values.all(|value| value.set.iter().any(|set| is_again(set)))
    });
    let of_derived = || derived.iter().find(|derived| is_again(&derived.key));
    match of_axis {
        Some(axis) => Some(format!("axis \"{}\"", axis.name)),
        None => of_derived().map(|derived| format!("[[derived]] {}", derived.key)),
    }
}

/// Says where in a file something stands.
struct Lines<'a> {
    text: &'a str,
    name: &'a str,
}

impl Lines<'_> {
    fn place(&self, span: Option<Range<usize>>) -> String {
        let Some(before) = span.and_then(|span| self.text.get(..span.start)) else {
            return self.name.to_owned();
        };
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }

    fn error(&self, span: Option<Range<usize>>, message: impl Display, hint: &str) -> Error {
        Error::new(
            format!("{}: {}", self.place(span), message.to_string().trim_end()),
            hint,
        )
    }

    /// What `[[metric]]` says.
    fn entry(&self, table: Spanned<Table>) -> Result<Entry, Error> {
        let span = table.span();
        let fail = |message: String| self.error(Some(span.clone()), message, SEE);
        let mut table = table.into_inner();
        let place = self.place(Some(span.clone()));
        let by = by(&mut table).map_err(&fail)?;
        if let Some(value) = table.remove("value") {
            let name = table.remove("name");
            let (Some(Value::String(name)), Value::String(formula), true, None) =
                (name, value, table.is_empty(), &by)
            else {
                return Err(fail(
                    "expected `name` and `value`, an expression, and no other key".into(),
                ));
            };
            let of = Of::Formula(formula);
            return Ok(Entry {
                wanted: Wanted { name, of },
                by,
                place,
            });
        }
        let metric: Metric = table
            .try_into()
            .map_err(|error: toml::de::Error| fail(error.message().to_owned()))?;
        if let Some(Statistic::Percentile(percent)) = metric.percentile
            && !(0.0..=100.0).contains(&percent)
        {
            return Err(fail(format!("percentile is {percent}, expected 0 to 100")));
        }
        let wanted = Wanted {
            name: metric.name.clone(),
            of: Of::Metric(Box::new(metric)),
        };
        Ok(Entry { wanted, by, place })
    }

    /// What `[[curve]]` says.
    fn curve(&self, table: Spanned<Table>) -> Result<Entry, Error> {
        let span = table.span();
        let entry = self.entry(table)?;
        let pooled = |of| {
            use Quantity::{Completion, JobRate, JobTime, OverStandalone, Slowdown};
            matches!(
                of,
                Completion | Slowdown | OverStandalone | JobTime | JobRate
            )
        };
        match &entry.wanted.of {
            Of::Metric(metric) if pooled(metric.of) && metric.percentile.is_none() => Ok(entry),
            _ => {
                let message = "a curve has no percentile, and is of completion, slowdown, over_standalone, job_time or job_rate";
                Err(self.error(Some(span), message, SEE))
            }
        }
    }
}

/// Takes `by` and `classes` out of a table.
fn by(table: &mut Table) -> Result<Option<By>, String> {
    let classes = table.remove("classes");
    let by = table.remove("by");
    let word = by.as_ref().map(|by| by.as_str().unwrap_or_default());
    match (word, classes) {
        (None, None) => Ok(None),
        (Some("workload"), None) => Ok(Some(By::Workload)),
        (Some("tenant"), None) => Ok(Some(By::Tenant)),
        (Some("size"), Some(classes)) => {
            let sizes: Vec<Bytes> = classes
                .try_into()
                .map_err(|error: toml::de::Error| format!("classes: {}", error.message()))?;
            match sizes.is_empty() || sizes.windows(2).any(|two| two[0] >= two[1]) {
                true => {
                    Err("classes: expected sizes that rise, such as [\"10kB\", \"1MB\"]".into())
                }
                false => Ok(Some(By::Size(sizes))),
            }
        }
        _ => Err(
            "expected by = \"workload\", by = \"tenant\", or by = \"size\" with `classes`".into(),
        ),
    }
}

impl Entry {
    /// A metric for each group; names tell them apart.
    pub(super) fn expand(&self, workloads: u32, tenants: &[String]) -> Vec<Wanted> {
        let Of::Metric(metric) = &self.wanted.of else {
            return vec![self.wanted.clone()];
        };
        let with = |group: String, change: &dyn Fn(&mut Metric)| {
            let mut metric = metric.clone();
            change(&mut metric);
            metric.name = format!("{}.{group}", metric.name);
            Wanted {
                name: metric.name.clone(),
                of: Of::Metric(metric),
            }
        };
        match &self.by {
            None => vec![self.wanted.clone()],
            Some(By::Workload) => (0..workloads)
                .map(|number| {
                    with(format!("workload{number}"), &|it| {
                        it.workload = Some(number)
                    })
                })
                .collect(),
            Some(By::Tenant) => {
                let one = |name: &String| with(name.clone(), &|it| it.tenant = Some(name.clone()));
                tenants.iter().map(one).collect()
            }
            Some(By::Size(bounds)) => {
                let lows = std::iter::once(None).chain(bounds.iter().copied().map(Some));
                let highs = bounds.iter().copied().map(Some).chain([None]);
                let class = |(low, high): (Option<Bytes>, Option<Bytes>)| {
                    let name = match (low, high) {
                        (None, Some(high)) => format!("below_{high}"),
                        (Some(low), Some(high)) => format!("{low}_to_{high}"),
                        (low, None) => format!("from_{}", low.unwrap_or(Bytes::ZERO)),
                    };
                    with(name.replace(' ', ""), &|it| {
                        it.from = low.map(Limit::Size);
                        it.below = high.map(Limit::Size);
                    })
                };
                lows.zip(highs).map(class).collect()
            }
        }
    }
}
