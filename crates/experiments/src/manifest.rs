//! `experiment.toml`.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_congestion::Scope;
use fairlane_scenario::Attack;
use serde::Deserialize;

use crate::axis::{self, Axis};
use crate::check;
use crate::condition::{Condition, PUBLISHED, Published};
use crate::design::Derived;
use crate::error::Error;
use crate::map::MapSettings;
use crate::metric::Metric;
use crate::open::OpenSettings;
use crate::outcome::Outcome;
use crate::ratio::Ratio;
use crate::solver::Solver;
use crate::{simulated, verdicts};

/// What `experiment.toml` says.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// What is shown.
    pub title: String,
    /// Where it was published.
    pub source: String,
    /// The figure there.
    #[serde(default)]
    pub figure: Option<String>,
    /// What a reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The base of simulated runs.
    #[serde(default = "scenario")]
    pub(crate) scenario: String,
    /// Changes of every run in the reduced size, as `--set` takes them.
    #[serde(default)]
    pub(crate) quick: Vec<String>,
    /// Values that axes have in the reduced size, if not all, by names.
    #[serde(default)]
    pub(crate) quick_values: BTreeMap<String, Vec<String>>,
    /// How often each combination is run, with seeds from the scenario's on; once in the reduced size.
    #[serde(default = "one")]
    pub(crate) seeds: u32,
    /// Attacks and scopes, instead of axes and metrics.
    #[serde(default, rename = "suite")]
    pub(crate) suites: Vec<SuiteSettings>,
    /// The solver experiment, instead of axes and metrics.
    #[serde(default)]
    pub(crate) solver: Option<Solver>,
    /// What is varied: runs are the cross product of the axes.
    #[serde(default, rename = "axis")]
    pub(crate) axes: Vec<Axis>,
    /// Settings that follow from the values of axes.
    #[serde(default)]
    pub(crate) derived: Vec<Derived>,
    /// What is measured in every run.
    #[serde(default, rename = "metric")]
    pub(crate) metrics: Vec<Metric>,
    /// What is compared between runs.
    #[serde(default, rename = "ratio")]
    pub(crate) ratios: Vec<Ratio>,
    /// Published numbers.
    #[serde(default)]
    pub(crate) published: Vec<Published>,
    /// What must hold.
    #[serde(default, rename = "check")]
    pub(crate) checks: Vec<Condition>,
    /// What the source leaves open.
    #[serde(default, rename = "open")]
    pub(crate) opens: Vec<OpenSettings>,
    /// What is drawn.
    #[serde(default)]
    pub(crate) plot: PlotSettings,
    /// What is drawn as colours.
    #[serde(default, rename = "map")]
    pub(crate) maps: Vec<MapSettings>,
    /// What is drawn besides: several metrics of each run.
    #[serde(default, rename = "profile")]
    pub(crate) profiles: Vec<Profile>,
}

fn scenario() -> String {
    "scenario.toml".into()
}

const fn one() -> u32 {
    1
}

/// Which verdicts are computed.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuiteSettings {
    /// What its rows begin with, if there are several.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// Its scenario, if it isn't the experiment's.
    #[serde(default)]
    pub(crate) scenario: Option<String>,
    /// Changes of the scenario, as `--set` takes them.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// The tenant that attacks.
    pub(crate) attacker: String,
    /// Congestion controls, as the scenario names them.
    pub(crate) controllers: Vec<String>,
    /// Scopes.
    pub(crate) scopes: Vec<Scope>,
    /// Attacks, with their keys.
    pub(crate) attacks: Vec<Attack>,
    /// How many of the scopes, from the last back, the reduced size has.
    pub(crate) quick_scopes: usize,
    /// How many of the attacks, from the first on, the reduced size has.
    pub(crate) quick_attacks: usize,
}

/// What is drawn of a sweep.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlotSettings {
    /// The metric; by default the first.
    #[serde(default)]
    pub(crate) metric: Option<String>,
    /// What stands at the y axis; by default the metric.
    #[serde(default)]
    pub(crate) y: Option<String>,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub(crate) log: bool,
}

/// Several metrics of each run as one curve, such as a slowdown over sizes: a picture for each combination of
/// the axes but the last, a line for each value of that.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    /// What its files begin with.
    pub(crate) name: String,
    /// What stands at the x axis.
    pub(crate) x: String,
    /// What stands at the y axis.
    pub(crate) y: String,
    /// Whether the y axis is logarithmic.
    #[serde(default)]
    pub(crate) log: bool,
    /// The points of a curve.
    pub(crate) points: Vec<ProfilePoint>,
}

/// A point of a curve.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfilePoint {
    /// Where it stands at the x axis.
    pub(crate) x: f64,
    /// The metric that is its height.
    pub(crate) metric: String,
}

impl Manifest {
    /// Reads the text of `experiment.toml`.
    ///
    /// # Errors
    /// If it is malformed, has unknown keys, or lacks what a run needs.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut manifest: Self = toml::from_str(text)
            .map_err(|error| Error::new(error.message(), "see docs/experiments.md"))?;
        manifest.axes = axis::joined(manifest.axes)?;
        let sweep = !manifest.axes.is_empty() && !manifest.metrics.is_empty();
        let kinds = [
            sweep,
            manifest.solver.is_some(),
            !manifest.suites.is_empty(),
        ];
        if kinds.into_iter().filter(|kind| *kind).count() != 1 {
            let message = "expected one of `solver`, `[[suite]]`, and `[[axis]]` with `[[metric]]`";
            return Err(Error::new(message, "see docs/experiments.md"));
        }
        if manifest.seeds == 0 {
            let hint = "leave it out for one run of each combination";
            return Err(Error::new("seeds is 0, expected at least 1", hint));
        }
        manifest.verify()?;
        Ok(manifest)
    }

    /// Checks that published numbers and conditions are of runs and columns that there are. Those of a solver
    /// experiment are known only once it has run.
    fn verify(&self) -> Result<(), Error> {
        if self.solver.is_some() {
            return self.verify_open(&[]);
        }
        let (runs, columns) = match self.suites.is_empty() {
            true => (simulated::names(self), simulated::columns(self)),
            false => (verdicts::names(&self.suites), verdicts::columns()),
        };
        let mut names = BTreeSet::new();
        if let Some(twice) = runs.iter().find(|run| !names.insert(run.as_str())) {
            let hint = "give suites and values of an axis names of their own";
            return Err(Error::new(format!("two runs are called {twice}"), hint));
        }
        for axis in self.quick_values.keys() {
            if !self.axes.iter().any(|it| it.name == *axis) {
                let message = format!("quick_values: there is no axis \"{axis}\"");
                return Err(Error::new(message, "name an axis that is crossed"));
            }
        }
        simulated::reduced(self)?;
        self.ratios
            .iter()
            .try_for_each(|ratio| ratio.verify(self))?;
        let verified = |map: &MapSettings| map.verify(&self.axes, &columns);
        self.maps.iter().try_for_each(verified)?;
        let mut places: Vec<_> = self.published.iter().map(Published::place).collect();
        let of_opens = self.opens.iter().flat_map(|open| &open.own);
        for check in self.checks.iter().chain(of_opens) {
            places.push(check.value.clone());
            places.extend(check.over.iter().filter(|over| *over != PUBLISHED).cloned());
        }
        for place in places {
            let known = place.rsplit_once('/').is_some_and(|(run, column)| {
                names.iter().any(|name| check::means(run, name))
                    && columns.iter().any(|name| check::means(column, name))
            });
            if !known {
                return Err(check::unknown(&place));
            }
        }
        let mut drawn = self.profiles.iter().flat_map(|it| &it.points);
        let is_metric = |name: &str| self.metrics.iter().any(|metric| metric.name == name);
        if let Some(point) = drawn.find(|point| !is_metric(&point.metric)) {
            let message = format!("{} is no metric of this experiment", point.metric);
            return Err(Error::new(message, "draw what is measured"));
        }
        let conditions = self.conditions();
        let mut checks = BTreeSet::new();
        let mut named = conditions.iter().map(|it| it.name.as_str());
        if let Some(twice) = named.find(|name| !checks.insert(*name)) {
            let message = format!("two checks are called \"{twice}\"");
            return Err(Error::new(message, "say what sets them apart"));
        }
        self.verify_open(&conditions)
    }

    /// Checks that open settings are of a sweep, and of checks that there are.
    fn verify_open(&self, conditions: &[Condition]) -> Result<(), Error> {
        if !self.opens.is_empty() && (self.axes.is_empty() || !self.ratios.is_empty()) {
            let message = "[[open]] goes with [[axis]] and [[metric]], and without [[ratio]]";
            return Err(Error::new(message, "see docs/experiments.md"));
        }
        let mut opens = self.opens.iter();
        opens.try_for_each(|open| open.conditions(conditions).map(|_| ()))
    }

    /// What published numbers are held against the figures, and every check.
    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let published = self.published.iter().filter_map(Published::condition);
        published.chain(self.checks.iter().cloned()).collect()
    }

    /// Adds to an outcome what was published, and checks it.
    pub(crate) fn complete(&self, outcome: &mut Outcome, quick: bool) -> Result<(), Error> {
        outcome.title.clone_from(&self.title);
        outcome.source.clone_from(&self.source);
        outcome.figure.clone_from(&self.figure);
        outcome.quick = quick;
        let mut notes = self.notes.clone();
        if quick {
            notes.push("--quick: a reduced size; figures are those of the reduced size".into());
        }
        notes.append(&mut outcome.notes);
        outcome.notes = notes;
        // A sweep has the same runs in both sizes, unless it says otherwise.
        let fewer = !(self.suites.is_empty() && self.quick_values.is_empty());
        let partial = quick && (self.solver.is_some() || fewer);
        check::published(&mut outcome.rows, &self.published, partial)?;
        check::check(outcome, &self.conditions(), (partial, quick))
    }
}
