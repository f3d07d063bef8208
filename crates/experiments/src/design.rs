//! Which runs there are: the cross product of axes, each with several seeds, as changes of a scenario.

use fairlane_attacks::Plan;
use fairlane_fabric::{Control, Results, metrics};
use fairlane_scenario::{Files, Loaded};
use serde::Deserialize;

use crate::axis::{Axis, AxisValue, written};
use crate::error::Error;
use crate::expression::evaluate;

/// What the runs of a design have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base<'a> {
    /// The text of the scenario.
    pub(crate) scenario: &'a str,
    /// What messages call it.
    pub(crate) place: &'a str,
    /// The files that it may name.
    pub(crate) files: Files<'a>,
}

/// A setting that follows from the values of axes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Derived {
    /// The key, as `--set` names it.
    pub(crate) key: String,
    /// An expression of names of axes.
    pub(crate) value: String,
    /// Put behind the number, such as `kB`.
    #[serde(default)]
    pub(crate) unit: String,
}

/// What is varied, and how.
#[derive(Clone, Debug, Default)]
pub(crate) struct Design {
    /// Changes of every run, which axes may change again.
    pub(crate) first: Vec<String>,
    /// What is varied.
    pub(crate) axes: Vec<Axis>,
    /// What follows from that.
    pub(crate) derived: Vec<Derived>,
    /// Changes of every run that nothing changes again.
    pub(crate) last: Vec<String>,
    /// How often each combination is run.
    pub(crate) seeds: u32,
}

impl Design {
    /// How many runs there are; nothing if they can't be counted.
    pub(crate) fn count(&self) -> Option<u64> {
        let lengths = self.axes.iter().map(|axis| axis.values.len() as u64);
        lengths
            .chain([u64::from(self.seeds)])
            .try_fold(1u64, u64::checked_mul)
    }

    /// The design with another axis in front: it varies slowest, and names of runs begin with its values.
    pub(crate) fn with(&self, axis: Axis) -> Self {
        let mut design = self.clone();
        design.axes.insert(0, axis);
        design
    }

    /// Every combination, as places in the lists of values; the last axis varies fastest.
    pub(crate) fn points(&self) -> Vec<Vec<usize>> {
        let mut points = vec![Vec::new()];
        for axis in &self.axes {
            let longer = |point: &Vec<usize>| {
                let point = point.clone();
                (0..axis.values.len()).map(move |place| [&point[..], &[place]].concat())
            };
            points = points.iter().flat_map(longer).collect();
        }
        points
    }

    /// The values of a combination.
    pub(crate) fn values(&self, point: &[usize]) -> Vec<&AxisValue> {
        let axes = self.axes.iter().zip(point);
        axes.map(|(axis, place)| &axis.values[*place]).collect()
    }

    /// All axes, those in step behind the one that they go with, each with its value of a combination.
    pub(crate) fn settings<'a>(
        &'a self,
        point: &'a [usize],
    ) -> impl Iterator<Item = (&'a Axis, &'a AxisValue)> {
        self.axes.iter().zip(point).flat_map(|(axis, place)| {
            let all = std::iter::once(axis).chain(&axis.followers);
            all.map(|axis| (axis, &axis.values[*place]))
        })
    }

    /// Changes of the scenario for a combination.
    pub(crate) fn overrides(&self, point: &[usize]) -> Result<Vec<String>, Error> {
        let number = |name: &str| {
            let found = self.settings(point).find(|(axis, _)| axis.name == name);
            let (_, value) = found.ok_or_else(|| format!("there is no axis `{name}`"))?;
            let x = value.x;
            x.ok_or_else(|| format!("`{}` of axis `{name}` is no number", value.name))
        };
        let derived = |derived: &Derived| {
            let wrong = |error: String| {
                let hint = "an expression has numbers, names of axes, + - * / and parentheses";
                Error::new(format!("derived {}: {error}", derived.key), hint)
            };
            let value = evaluate(&derived.value, &number).map_err(wrong)?;
            if !value.is_finite() {
                return Err(wrong(format!("`{}` is {value}", derived.value)));
            }
            Ok(format!(
                "{}={}{}",
                derived.key,
                written(value),
                derived.unit
            ))
        };
        let mut all = self.first.clone();
        for (_, value) in self.settings(point) {
            // What `set` adds to a list is no element yet.
            for one in &value.derived {
                all.push(derived(one)?);
            }
            all.extend(value.set.iter().cloned());
        }
        for one in &self.derived {
            all.push(derived(one)?);
        }
        all.extend(self.last.iter().cloned());
        Ok(all)
    }

    /// The scenario of a combination, with its first seed.
    pub(crate) fn load(&self, base: Base<'_>, point: &[usize]) -> Result<Loaded, Error> {
        let overrides = self.overrides(point)?;
        let Base {
            scenario,
            place,
            files,
        } = base;
        Ok(fairlane_scenario::parse_with(
            scenario, place, files, &overrides, None,
        )?)
    }
}

/// The name of a combination.
pub(crate) fn join(values: &[&AxisValue]) -> String {
    let names: Vec<_> = values.iter().map(|value| value.name.as_str()).collect();
    names.join("-")
}

/// Roughly how long a run takes: by its bytes, and more where controllers are shared or hear of every hop.
pub(crate) fn work(plan: &Plan) -> u64 {
    // What a message takes beside its packets, as so many bytes.
    const MESSAGE: u64 = 20_000;
    let congestion = &plan.loaded.scenario.congestion;
    let telemetry = congestion.algorithm.needs().telemetry;
    let shared = congestion.scope.is_shared();
    let sizes = plan.messages.iter().map(|message| message.size.get());
    let bytes: u64 = sizes.map(|size| size.saturating_add(MESSAGE)).sum();
    bytes.saturating_mul(2 + u64::from(telemetry) + u64::from(shared))
}

/// Runs a plan, unless `stopped` says to give up.
pub(crate) fn simulate(plan: &Plan, stopped: &dyn Fn() -> bool) -> Result<Results, Error> {
    if stopped() {
        return Err(Error::stopped());
    }
    let results = plan.simulation()?.run(&mut |_| match stopped() {
        true => Control::Interrupt,
        false => Control::Continue,
    });
    if stopped() {
        return Err(Error::stopped());
    }
    let lossless = metrics::is_lossless(&plan.loaded.scenario, &results);
    let violations = metrics::check(&results, lossless);
    if !violations.is_empty() {
        let list = violations.join("; ");
        return Err(Error::new(
            format!("the results contradict themselves, which is a bug in fairlane: {list}"),
            "please report it",
        ));
    }
    Ok(results)
}
