//! What is varied: lists and ranges of values, alone or in step.

use std::collections::BTreeSet;

use fairlane_units::{Bytes, Duration, Rate};
use serde::Deserialize;
use toml::{Table, Value};

use crate::design::Derived;
use crate::error::Error;

/// Something that is varied.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Written")]
pub(crate) struct Axis {
    /// What it is called.
    pub(crate) name: String,
    /// Its values.
    pub(crate) values: Vec<AxisValue>,
    /// The axis that it goes in step with.
    with: Option<String>,
    /// Axes that go in step with this one, which have as many values.
    pub(crate) followers: Vec<Self>,
}

/// One value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisValue {
    /// Part of the run's name.
    pub(crate) name: String,
    /// Where it stands in a plot, and what it is in an expression; nothing for words.
    pub(crate) x: Option<f64>,
    /// Changes of the scenario.
    pub(crate) set: Vec<String>,
    /// Changes that follow from the values of all axes.
    pub(crate) derived: Vec<Derived>,
}

/// More values than this are taken for a mistake.
const MOST_VALUES: f64 = 1e6;

/// An axis as a file says it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    /// The key that its values are of, as `--set` names it.
    key: Option<String>,
    /// Several keys, each value a list with an element for each.
    keys: Option<Vec<String>>,
    values: Option<Vec<Value>>,
    range: Option<Range>,
    with: Option<String>,
}

/// Numbers from one to another: a step, a factor or a count says which.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: f64,
    to: f64,
    step: Option<f64>,
    factor: Option<f64>,
    /// Put behind each number, such as `kB`.
    unit: Option<String>,
}

/// A value with a name of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    x: Option<f64>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    derived: Vec<Derived>,
    value: Option<Value>,
}

impl TryFrom<Written> for Axis {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let keys = match (written.key, written.keys) {
            (Some(_), Some(_)) => return Err("expected `key` or `keys`, not both".into()),
            (Some(key), None) => vec![key],
            (None, keys) => keys.unwrap_or_default(),
        };
        let values = match (written.values, written.range) {
            (Some(values), None) => values,
            (None, Some(range)) => range.values()?,
            _ => return Err("expected either `values` or `range`".into()),
        };
        if values.is_empty() {
            return Err("the list of values is empty, expected at least one".into());
        }
        if written.name.is_empty() {
            return Err("its name is empty".into());
        }
        let values = values.into_iter().map(|value| read(value, &keys));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = values.iter().find(|value| !names.insert(&value.name)) {
            return Err(format!("two of its values are called \"{}\"", twice.name));
        }
        Ok(Self {
            name: written.name,
            values,
            with: written.with,
            followers: Vec::new(),
        })
    }
}

impl Axis {
    /// The axis with only the values that have one of `names`.
    ///
    /// # Errors
    /// The name that no value has.
    pub(crate) fn only(&self, names: &[String]) -> Result<Self, String> {
        let place = |name: &String| {
            let found = self.values.iter().position(|value| value.name == *name);
            found.ok_or_else(|| format!("axis \"{}\" has no value \"{name}\"", self.name))
        };
        let places = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let pick = |axis: &Self| Self {
            values: places.iter().map(|at| axis.values[*at].clone()).collect(),
            ..axis.clone()
        };
        Ok(Self {
            followers: self.followers.iter().map(pick).collect(),
            ..pick(self)
        })
    }
}

/// Puts axes that go `with` another one to that, and leaves those that are crossed.
pub(crate) fn joined(axes: Vec<Axis>) -> Result<Vec<Axis>, Error> {
    let mut names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|two| two[0] == two[1]) {
        let message = format!("two axes are called \"{}\"", twice[0]);
        return Err(Error::new(message, "give each axis a name of its own"));
    }
    let (followers, mut leaders): (Vec<_>, Vec<_>) =
        axes.into_iter().partition(|axis| axis.with.is_some());
    for follower in followers {
        let wanted = follower.with.as_deref().unwrap_or_default();
        let leader = leaders.iter_mut().find(|axis| axis.name == wanted);
        let place = format!("axis \"{}\"", follower.name);
        let Some(leader) = leader else {
            let message = format!("{place}: there is no axis \"{wanted}\" to go with");
            return Err(Error::new(message, "name an axis that is crossed itself"));
        };
        let (ours, theirs) = (follower.values.len(), leader.values.len());
        if ours != theirs {
            let message = format!("{place} has {ours} values, and \"{wanted}\" has {theirs}");
            return Err(Error::new(message, "axes in step have equally many values"));
        }
        leader.followers.push(follower);
    }
    Ok(leaders)
}

fn read(value: Value, keys: &[String]) -> Result<AxisValue, String> {
    match value {
        Value::Table(table) => named(table, keys),
        _ if keys.is_empty() => {
            Err("expected `key`, or values such as { name = \"a\", set = [\"key=value\"] }".into())
        }
        value => Ok(AxisValue {
            name: words(&value),
            x: number(&value),
            set: settings(&value, keys)?,
            derived: Vec::new(),
        }),
    }
}

fn named(table: Table, keys: &[String]) -> Result<AxisValue, String> {
    let named: Named = table
        .try_into()
        .map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut set = named.set;
    if let Some(value) = &named.value {
        set.extend(settings(value, keys)?);
    } else if !keys.is_empty() && set.is_empty() && named.derived.is_empty() {
        return Err(format!("value \"{}\" has no `value`", named.name));
    }
    let x = named.x.or_else(|| number(named.value.as_ref()?));
    Ok(AxisValue {
        x: x.or_else(|| named.name.parse().ok()),
        name: named.name,
        set,
        derived: named.derived,
    })
}

/// The changes that give each key its part of a value.
fn settings(value: &Value, keys: &[String]) -> Result<Vec<String>, String> {
    let set = |(key, value): (&String, &Value)| format!("{key}={value}");
    match (keys, value) {
        ([], _) => Err("there is no `key` that its values are of".into()),
        ([key], value) => Ok(vec![set((key, value))]),
        (keys, Value::Array(parts)) if parts.len() == keys.len() => {
            Ok(keys.iter().zip(parts).map(set).collect())
        }
        (keys, value) => Err(format!(
            "{value} doesn't give each of {} keys a value, expected a list of as many",
            keys.len()
        )),
    }
}

/// A value in the name of a run.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// A value as a number: of a size bytes, of a time seconds, of a rate bits per second, of a list its first.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Array(parts) => number(parts.first()?),
        Value::String(text) => {
            let size = || Some(text.parse::<Bytes>().ok()?.as_f64());
            let time = || Some(text.parse::<Duration>().ok()?.as_secs_f64());
            let rate = || Some(text.parse::<Rate>().ok()?.as_bps() as f64);
            size().or_else(time).or_else(rate)
        }
        _ => None,
    }
}

impl Range {
    fn values(&self) -> Result<Vec<Value>, String> {
        let Self { from, to, .. } = *self;
        if !(from.is_finite() && to.is_finite() && from <= to) {
            return Err(format!("the range from {from} to {to} is empty"));
        }
        // What rounding takes from the last value isn't to cost it.
        const SLACK: f64 = 1e-9;
        let steps = match (self.step, self.factor) {
            (Some(step), None) if step > 0.0 => (to - from) / step,
            (None, Some(factor)) if factor > 1.0 && from > 0.0 => {
                libm::log(to / from) / libm::log(factor)
            }
            _ => {
                return Err(
                    "expected `step` above 0, or `factor` above 1 with `from` above 0".into(),
                );
            }
        };
        if steps >= MOST_VALUES {
            return Err(format!(
                "the range has {steps:.0} values, at most {MOST_VALUES:.0}"
            ));
        }
        let places = (0u32..).take_while(|place| f64::from(*place) <= steps + SLACK);
        let value = |place: u32| match self.factor {
            Some(factor) => from * libm::pow(factor, f64::from(place)),
            None => from + f64::from(place) * self.step.unwrap_or_default(),
        };
        Ok(places.map(|place| self.value(value(place))).collect())
    }

    fn value(&self, number: f64) -> Value {
        match &self.unit {
            Some(unit) => Value::String(format!("{}{unit}", written(number))),
            None => whole(number).map_or_else(|| Value::Float(rounded(number)), Value::Integer),
        }
    }
}

/// A number as a person would write it: whole if it is but for rounding.
pub(crate) fn written(number: f64) -> String {
    whole(number).map_or_else(|| rounded(number).to_string(), |whole| whole.to_string())
}

/// Twelve digits: the rest is what sums of steps leave.
fn rounded(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

#[expect(clippy::cast_possible_truncation, reason = "in range")]
fn whole(number: f64) -> Option<i64> {
    let near = number.round();
    let is_whole = (number - near).abs() <= 1e-9 * number.abs().max(1e-3) && near.abs() < 9e15;
    is_whole.then_some(near as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(text: &str) -> Result<Vec<Axis>, String> {
        #[derive(Deserialize)]
        struct File {
            axis: Vec<Axis>,
        }
        let file: File = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        joined(file.axis).map_err(|error| error.message)
    }

    fn sets(text: &str) -> Vec<String> {
        let axes = axes(text).expect("an axis without mistakes");
        axes[0]
            .values
            .iter()
            .flat_map(|value| value.set.clone())
            .collect()
    }

    #[test]
    fn lists_and_ranges_become_settings() {
        let one = |rest: &str| sets(&format!("[[axis]]\nname = \"a\"\nkey = \"k\"\n{rest}"));
        assert_eq!(
            one("values = [1, 2.5, \"1kB\"]"),
            ["k=1", "k=2.5", "k=\"1kB\""]
        );
        assert_eq!(
            one("range = { from = 0.1, to = 0.3, step = 0.1 }"),
            ["k=0.1", "k=0.2", "k=0.3"]
        );
        assert_eq!(
            one("range = { from = 1, to = 9, factor = 2 }"),
            ["k=1", "k=2", "k=4", "k=8"]
        );
        let sizes = one("range = { from = 1, to = 10, factor = 10, unit = \"kB\" }");
        assert_eq!(sizes, ["k=\"1kB\"", "k=\"10kB\""]);
        let named = one("values = [{ name = \"low\", value = [1, 2] }]");
        assert_eq!(named, ["k=[1, 2]"]);
        let both = sets("[[axis]]\nname = \"a\"\nkeys = [\"k\", \"l\"]\nvalues = [[1, \"x\"]]");
        assert_eq!(both, ["k=1", "l=\"x\""]);
    }

    #[test]
    fn sizes_and_times_are_numbers_too() {
        let text = "[[axis]]\nname = \"a\"\nkey = \"k\"\nvalues = [\"2kB\", \"3us\", \"dcqcn\"]";
        let axes = axes(text).expect("an axis");
        let xs: Vec<_> = axes[0].values.iter().map(|value| value.x).collect();
        assert_eq!(xs, [Some(2000.0), Some(3e-6), None]);
    }

    #[test]
    fn axes_go_in_step() {
        let text = "[[axis]]\nname = \"a\"\nkey = \"k\"\nvalues = [1, 2]\n\
                    [[axis]]\nname = \"b\"\nkey = \"l\"\nvalues = [3, 4]\nwith = \"a\"";
        let found = axes(text).expect("axes");
        assert_eq!((found.len(), found[0].followers[0].name.as_str()), (1, "b"));
        let short = text.replace("[3, 4]", "[3]");
        assert!(axes(&short).is_err_and(|error| error.contains("has 1 values")));
        let lost = text.replace("with = \"a\"", "with = \"c\"");
        assert!(axes(&lost).is_err_and(|error| error.contains("no axis \"c\"")));
    }

    /// A comparison of every two of them would take minutes.
    #[test]
    fn many_values_are_read_at_once() {
        let range = "range = { from = 1, to = 900000, step = 1 }";
        let axes = axes(&format!("[[axis]]\nname = \"a\"\nkey = \"k\"\n{range}"));
        assert_eq!(axes.expect("an axis")[0].values.len(), 900_000);
    }

    #[test]
    fn mistakes_are_refused() {
        for (rest, words) in [
            ("values = []", "empty"),
            ("", "either `values` or `range`"),
            ("values = [1, 1]", "two of its values"),
            ("range = { from = 2, to = 1, step = 1 }", "is empty"),
            ("range = { from = 1, to = 2, step = 0 }", "`step` above 0"),
            (
                "range = { from = 0, to = 2, factor = 2 }",
                "`factor` above 1",
            ),
            ("range = { from = 0, to = 1e9, step = 1 }", "at most"),
            ("values = [{ name = \"x\" }]", "no `value`"),
        ] {
            let text = format!("[[axis]]\nname = \"a\"\nkey = \"k\"\n{rest}");
            let error = axes(&text).expect_err(rest);
            assert!(error.contains(words), "{rest}: {error}");
        }
    }
}
