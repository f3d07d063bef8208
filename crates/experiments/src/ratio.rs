//! Runs over those that differ from them in one value of one axis.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::axis::AxisValue;
use crate::design::join;
use crate::error::Error;
use crate::manifest::Manifest;

/// Which figures are compared, and with whose.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ratio {
    /// The metrics; each makes a column for each of `over`.
    pub(crate) of: Vec<String>,
    /// The axis in which the runs that are compared differ.
    axis: String,
    /// The values of that which are divided by.
    over: Vec<String>,
    /// The metric that counts what a figure is of.
    #[serde(default)]
    count: Option<String>,
    /// Where either of the runs has less of that, the ratio isn't defined.
    #[serde(default)]
    least: f64,
}

/// The figures of a run, by metric.
pub(crate) type Figures<'a> = (Vec<&'a AxisValue>, Vec<Option<f64>>);

impl Ratio {
    /// Its columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = String> {
        let column = |of| {
            self.over
                .iter()
                .map(move |over| format!("{of}_over_{over}"))
        };
        self.of.iter().flat_map(column)
    }

    /// Checks that there is all that it names.
    pub(crate) fn verify(&self, manifest: &Manifest) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(format!("ratio: {message}"), ""));
        let axis = manifest.axes.iter().find(|axis| axis.name == self.axis);
        let Some(axis) = axis else {
            return wrong(format!("there is no axis \"{}\"", self.axis));
        };
        let mut over = self.over.iter();
        if let Some(lost) = over.find(|over| axis.values.iter().all(|it| it.name != **over)) {
            return wrong(format!("axis \"{}\" has no value \"{lost}\"", self.axis));
        }
        let mut used = self.of.iter().chain(&self.count);
        let is_metric = |name: &String| manifest.metrics.iter().any(|it| it.name == *name);
        match used.find(|name| !is_metric(name)) {
            Some(lost) => wrong(format!("there is no metric \"{lost}\"")),
            None => Ok(()),
        }
    }

    /// The cells of its columns for each run. A run over itself isn't defined.
    pub(crate) fn cells(&self, manifest: &Manifest, runs: &[Figures<'_>]) -> Vec<Vec<Option<f64>>> {
        let named = runs.iter().map(|(values, figures)| (join(values), figures));
        let by_name: BTreeMap<String, &Vec<Option<f64>>> = named.collect();
        let axis = manifest.axes.iter().position(|axis| axis.name == self.axis);
        let metric = |name: &String| manifest.metrics.iter().position(|it| it.name == *name);
        let enough = |figures: &[Option<f64>]| match &self.count {
            Some(count) => {
                let counted = metric(count).and_then(|at| figures[at]);
                counted.is_some_and(|counted| counted >= self.least)
            }
            None => true,
        };
        let twin = |values: &[&AxisValue], over: &str| {
            let at = axis.filter(|at| values[*at].name != over)?;
            let other = manifest.axes[at].values.iter().find(|it| it.name == over)?;
            let mut values = values.to_vec();
            values[at] = other;
            by_name.get(&join(&values)).copied()
        };
        let cell = |(values, figures): &Figures<'_>, of: &String, over: &String| {
            let others = twin(values, over)?;
            let at = metric(of)?;
            let ratio = figures[at]? / others[at]?;
            Some(ratio).filter(|it| it.is_finite() && enough(figures) && enough(others))
        };
        let row = |run: &Figures<'_>| {
            let cells = self
                .of
                .iter()
                .flat_map(|of| self.over.iter().map(move |over| (of, over)));
            cells.map(|(of, over)| cell(run, of, over)).collect()
        };
        runs.iter().map(row).collect()
    }
}
