//! What a sweep measures of a run: figures by name, by statistic or by formula.

use std::collections::BTreeSet;

use fairlane_attacks::Plan;
use fairlane_fabric::metrics::{Spread, Summary};
use fairlane_fabric::{Control, Results};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;
use crate::expression::evaluate;
use crate::measure::measure;
use crate::metric::Metric;

/// A figure of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Wanted {
    /// What it is called.
    pub(crate) name: String,
    /// What it is.
    pub(crate) of: Of,
}

/// What a figure is.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Of {
    /// A name of `summary.json`, or of a count of `signals.json` behind `signals.`.
    Summary(String),
    /// As experiments measure it.
    Metric(Box<Metric>),
    /// An expression of figures before it, and of axes.
    Formula(String),
}

/// The figures of a run; nothing where one isn't defined. `numbers` are those of axes by name.
pub(super) fn figures(
    wanted: &[Wanted],
    numbers: &[(String, f64)],
    plan: &Plan,
    results: &Results,
) -> Vec<Option<f64>> {
    let is_summary = |one: &Wanted| matches!(one.of, Of::Summary(_));
    let document = match wanted.iter().any(is_summary) {
        true => document(results),
        false => Value::Null,
    };
    let mut known: Vec<(&str, Option<f64>)> = Vec::new();
    for one in wanted {
        let value = match &one.of {
            Of::Summary(path) => match look(&document, path) {
                Found::Number(number) => Some(number),
                Found::Nothing | Found::Undefined => None,
            },
            Of::Metric(metric) => measure(plan, results, metric).figure(metric.percentile),
            Of::Formula(text) => formula(text, &known, numbers).unwrap_or(None),
        };
        known.push((&one.name, value.filter(|value| value.is_finite())));
    }
    known.into_iter().map(|(_, value)| value).collect()
}

/// The value of a formula; nothing if a figure in it isn't defined.
fn formula(
    text: &str,
    known: &[(&str, Option<f64>)],
    numbers: &[(String, f64)],
) -> Result<Option<f64>, String> {
    let number = |name: &str| {
        let figure = known.iter().find(|(other, _)| *other == name);
        let axis = || numbers.iter().find(|(other, _)| other == name);
        match figure {
            Some((_, value)) => Ok(value.unwrap_or(f64::NAN)),
            None => axis().map(|(_, value)| *value).ok_or_else(|| {
                format!("`{name}` is no metric before this one, and no axis of numbers")
            }),
        }
    };
    evaluate(text, &number).map(|value| Some(value).filter(|value| value.is_finite()))
}

/// What the combinations of a sweep have that metrics may name.
pub(super) struct Known<'a> {
    /// Numbers of the first combination, by name.
    pub(super) numbers: &'a [(String, f64)],
    /// Tenants that any combination has.
    pub(super) tenants: &'a [String],
    /// The most workloads that any combination has.
    pub(super) workloads: u32,
    pub(super) documents: Documents<'a>,
}

/// What `summary.json` and `signals.json` say of combinations that differ in what they have; no more are run than it takes
/// to find what is asked for.
pub(super) struct Documents<'a> {
    read: Vec<Value>,
    plans: Box<dyn Iterator<Item = Result<Plan, Error>> + 'a>,
}

impl<'a> Documents<'a> {
    pub(super) fn new(plans: impl Iterator<Item = Result<Plan, Error>> + 'a) -> Self {
        Self {
            read: Vec::new(),
            plans: Box::new(plans),
        }
    }

    /// Whether a combination has something at a path, by a run of it that ends early.
    fn have(&mut self, path: &str) -> Result<bool, Error> {
        let has = |document: &Value| !matches!(look(document, path), Found::Nothing);
        if self.read.iter().any(has) {
            return Ok(true);
        }
        for plan in self.plans.by_ref() {
            let simulation = plan?.simulation()?;
            let document = document(&simulation.run(&mut |_| Control::Interrupt));
            let found = has(&document);
            self.read.push(document);
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Checks that names and formulas mean something in one combination at least.
pub(super) fn check(wanted: &[Wanted], known: &mut Known<'_>) -> Result<(), (usize, Error)> {
    let mut before: Vec<(&str, Option<f64>)> = Vec::new();
    for (place, one) in wanted.iter().enumerate() {
        check_one(one, &before, known).map_err(|error| (place, error))?;
        before.push((&one.name, Some(1.0)));
    }
    Ok(())
}

fn check_one(
    one: &Wanted,
    before: &[(&str, Option<f64>)],
    known: &mut Known<'_>,
) -> Result<(), Error> {
    if before.iter().any(|(name, _)| *name == one.name) {
        let message = format!("two metrics are called \"{}\"", one.name);
        return Err(Error::new(message, "give each a name of its own"));
    }
    match &one.of {
        Of::Summary(path) if !known.documents.have(path)? => {
            let message = format!("summary.json has no number \"{path}\"");
            Err(Error::new(message, hint(path, &known.documents.read)))
        }
        Of::Summary(_) => Ok(()),
        Of::Formula(text) => formula(text, before, known.numbers)
            .map(|_| ())
            .map_err(|error| Error::new(error, "metrics stand in order of use")),
        Of::Metric(metric) => groups(metric, known),
    }
}

/// Checks that the tenant and the workload of a metric are there.
fn groups(metric: &Metric, known: &Known<'_>) -> Result<(), Error> {
    if let Some(name) = &metric.tenant
        && !known.tenants.contains(name)
    {
        let hint = match known.tenants {
            [] => "the scenario has no [[tenant]]".into(),
            all => format!("tenants are {}", all.join(", ")),
        };
        return Err(Error::new(format!("there is no tenant \"{name}\""), hint));
    }
    match metric.workload {
        Some(number) if number >= known.workloads => {
            let message = format!("there is no workload {number}");
            let hint = format!("there are {}, counted from 0", known.workloads);
            Err(Error::new(message, hint))
        }
        _ => Ok(()),
    }
}

/// What `summary.json` and `signals.json` say.
fn document(results: &Results) -> Value {
    let mut document = serde_json::to_value(Summary::of(results)).unwrap_or_default();
    let signals = serde_json::to_value(&results.signals).unwrap_or_default();
    if let Value::Object(all) = &mut document {
        all.insert("signals".into(), signals);
    }
    document
}

/// What stands at a path.
enum Found {
    Number(f64),
    /// A value that may be a number in another run.
    Undefined,
    Nothing,
}

fn look(document: &Value, path: &str) -> Found {
    let path = path.replace('[', ".").replace(']', "");
    let mut here = document;
    let mut parts = path.split('.').peekable();
    while let Some(part) = parts.next() {
        let next = match here {
            Value::Object(fields) => fields.get(part),
            Value::Array(elements) => element(elements, part),
            Value::Null => {
                let is_known = spread().contains(&part.to_owned()) && parts.peek().is_none();
                return if is_known {
                    Found::Undefined
                } else {
                    Found::Nothing
                };
            }
            _ => None,
        };
        let Some(next) = next else {
            return Found::Nothing;
        };
        here = next;
    }
    let last = path.rsplit('.').next().unwrap_or_default();
    match here {
        // A percentile of too few messages.
        Value::Null if spread().contains(&last.to_owned()) => Found::Undefined,
        Value::Number(number) => number.as_f64().map_or(Found::Undefined, Found::Number),
        // A signal has a count and a reason.
        Value::Object(fields) => match fields.get("count").and_then(Value::as_f64) {
            Some(count) => Found::Number(count),
            None => Found::Nothing,
        },
        _ => Found::Nothing,
    }
}

/// An element by its name, the number of its workload, or its place.
fn element<'a>(elements: &'a [Value], part: &str) -> Option<&'a Value> {
    let number: Option<u64> = part.parse().ok();
    let named = |it: &&Value| it.get("name").and_then(Value::as_str) == Some(part);
    let numbered = |it: &&Value| {
        let its = it.get("workload").and_then(Value::as_u64);
        its.is_some() && its == number
    };
    elements
        .iter()
        .find(named)
        .or_else(|| elements.iter().find(numbered))
        .or_else(|| elements.get(usize::try_from(number?).ok()?))
}

/// The figures of a distribution.
fn spread() -> Vec<String> {
    let spread = Spread::of(vec![1.0]).and_then(|spread| serde_json::to_value(spread).ok());
    match spread {
        Some(Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    }
}

/// Which names there are, the nearest first if one is near.
fn hint(wanted: &str, documents: &[Value]) -> String {
    let mut names = Vec::new();
    let fields = documents.iter().filter_map(Value::as_object).flatten();
    for (name, value) in fields {
        match value {
            Value::Number(_) => names.push(name.clone()),
            Value::Null => names.extend(spread().iter().map(|part| format!("{name}.{part}"))),
            Value::Object(inner) if inner.values().all(|it| it.is_number() || it.is_null()) => {
                names.extend(inner.keys().map(|part| format!("{name}.{part}")));
            }
            _ if name == "signals" => {
                let inner = value.as_object().into_iter().flatten();
                names.extend(inner.map(|(part, _)| format!("signals.{part}")));
            }
            _ => {}
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    match fairlane_scenario::nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!(
            "known are {}; and of workloads and tenants such as workloads.0.slowdown.p99",
            names.join(", ")
        ),
    }
}
