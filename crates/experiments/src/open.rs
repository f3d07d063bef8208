//! What a source leaves open: checks that are made again for each value that it may have had.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::check::{self, Place};
use crate::condition::{Condition, PUBLISHED, Verdict, Wanted};
use crate::error::Error;
use crate::outcome::Rows;

/// Settings that the source doesn't state, and the checks that may depend on them.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenSettings {
    /// Their values; each is varied alone.
    #[serde(rename = "axis")]
    pub(crate) axes: Vec<Axis>,
    /// Names of checks that are made again.
    #[serde(default)]
    pub(crate) checks: Vec<String>,
    /// Checks that are made here only.
    #[serde(default, rename = "check")]
    pub(crate) own: Vec<Condition>,
}

/// A setting that the source leaves open, and what the checks that it matters to come to at each of its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Open {
    /// What it is called.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
    /// What was measured: a row for each run that a check is about, at each value.
    pub rows: Rows,
    /// The checks.
    pub checks: Vec<OpenCheck>,
}

/// A check at each value of an open setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenCheck {
    /// What, in words.
    pub name: String,
    /// The published value.
    pub published: Option<f64>,
    /// What the figures are held against.
    #[serde(flatten)]
    pub wanted: Wanted,
    /// The figure at each value; nothing if it isn't defined.
    pub measured: Vec<Option<f64>>,
    /// What becomes of it there.
    pub verdicts: Vec<Verdict>,
}

impl OpenCheck {
    /// The values at which it holds.
    pub fn holds_at<'a>(&self, values: &'a [String]) -> Vec<&'a str> {
        let held = values.iter().zip(&self.verdicts);
        let held = held.filter(|(_, verdict)| verdict.holds());
        held.map(|(value, _)| value.as_str()).collect()
    }
}

impl OpenSettings {
    /// The conditions that it names, of `all` that there are, and its own.
    ///
    /// # Errors
    /// If there is none of a name, there is nothing to check, or a condition is about published columns.
    pub(crate) fn conditions<'a>(
        &'a self,
        all: &'a [Condition],
    ) -> Result<Vec<&'a Condition>, Error> {
        let wrong = |words: String, hint: &str| Err(Error::new(format!("open: {words}"), hint));
        let mut found = Vec::new();
        for name in &self.checks {
            let Some(condition) = all.iter().find(|it| it.name == *name) else {
                let hint = "name a check, or a published number with a tolerance as <run>/<metric>";
                return wrong(format!("there is no check \"{name}\""), hint);
            };
            found.push(condition);
        }
        found.extend(&self.own);
        if found.is_empty() || self.axes.is_empty() {
            let hint = "give it `axis`, and `checks` or `check`";
            return wrong("there is nothing to vary or to check".into(), hint);
        }
        let over_published = |it: &&&Condition| it.over.as_deref() == Some(PUBLISHED);
        match found.iter().find(over_published) {
            Some(one) => wrong(
                format!("check \"{}\" is over published numbers", one.name),
                "give the published number a tolerance instead",
            ),
            None => Ok(found),
        }
    }

    /// The names of runs, among `names`, that conditions are about.
    pub(crate) fn runs<'a>(conditions: &[&Condition], names: &'a [String]) -> BTreeSet<&'a str> {
        let places = conditions
            .iter()
            .flat_map(|it| std::iter::once(&it.value).chain(&it.over));
        let patterns: Vec<&str> = places
            .filter_map(|place| Some(place.rsplit_once('/')?.0))
            .collect();
        let meant = |name: &&str| patterns.iter().any(|pattern| check::means(pattern, name));
        names.iter().map(String::as_str).filter(meant).collect()
    }
}

impl Open {
    /// Conditions at each value of an axis, of rows whose names begin with it. What `--quick` leaves out isn't made here either.
    pub(crate) fn new(
        axis: &Axis,
        conditions: &[&Condition],
        rows: Rows,
        quick: bool,
    ) -> Result<Self, Error> {
        let values: Vec<String> = axis.values.iter().map(|it| it.name.clone()).collect();
        let mut checks = Vec::new();
        for condition in conditions.iter().filter(|it| !(quick && it.full)) {
            let figures = values
                .iter()
                .map(|value| check::measured(&rows, condition, Place::At(value)));
            let measured = figures.collect::<Result<Vec<_>, _>>()?;
            let verdict = |figure: &Option<f64>| Verdict::of(condition.wanted, *figure);
            checks.push(OpenCheck {
                name: condition.name.clone(),
                published: condition.published,
                wanted: condition.wanted,
                verdicts: measured.iter().map(verdict).collect(),
                measured,
            });
        }
        Ok(Self {
            name: axis.name.clone(),
            values,
            rows,
            checks,
        })
    }
}
