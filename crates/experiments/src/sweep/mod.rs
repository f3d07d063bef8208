//! Sweeps: a file that says what is varied, as runs that can be measured anywhere and in any order.
//!
//! A [`Sweep`] is a value: it is read once, with everything that can be wrong checked. An [`Executor`] measures
//! runs, on threads here ([`Local`]) or elsewhere by way of [`Task`]s; a [`Store`] keeps [`Record`]s, whatever
//! happens to the process. [`complete`] puts the three together. Tables follow from records alone.

mod complete;
mod file;
mod files;
mod key;
mod local;
mod page;
mod record;
mod store;
mod tables;
mod wanted;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fairlane_attacks::{Estimate, Plan};
use fairlane_drum::Workers;
use fairlane_scenario::{Files, Loaded, seed_after};
use toml::Value;

pub use complete::{Failed, Told, complete};
pub use file::Choice;
pub use local::{Done, Executor, Local};
pub use record::{Record, SHARES, Task, quantiles};
pub use store::{Extend, JOURNAL, Store};
pub use tables::{Column, Data, Frame};

use crate::design::{Base, Design, join, work};
use crate::error::Error;
use crate::metric::Quantity;
use file::{Entry, File};
use wanted::{Documents, Known, Of, Wanted};

/// More runs than this are asked back.
pub const MANY_RUNS: u64 = 10_000;

/// What is varied, and what is measured.
#[derive(Debug)]
pub struct Sweep {
    /// What is shown.
    pub title: String,
    /// What the page draws first.
    pub choice: Choice,
    text: String,
    scenario: Text,
    /// Where the scenario stands, to which the files that it names are relative.
    folder: PathBuf,
    design: Design,
    metrics: Vec<Wanted>,
    curves: Vec<Wanted>,
    points: Vec<Point>,
    runs: Vec<Run>,
}

/// A text and what messages call it.
#[derive(Clone, Debug)]
struct Text {
    text: String,
    place: String,
}

/// A combination of values.
#[derive(Clone, Debug)]
pub struct Point {
    /// Their names, joined.
    pub name: String,
    /// For each axis that is crossed, the place of its value.
    pub at: Vec<usize>,
}

/// A combination with a seed.
#[derive(Clone, Debug)]
pub struct Run {
    /// The number of its combination.
    pub point: usize,
    /// The seed.
    pub seed: u64,
    /// Roughly how long it takes, in no unit.
    pub work: u64,
    /// What tells it from every run that may have another outcome.
    pub key: String,
}

/// An axis as tables and pages show it.
#[derive(Clone, Debug)]
pub struct AxisView {
    /// Its name.
    pub name: String,
    /// Names of its values.
    pub values: Vec<String>,
    /// Its values as numbers, if all are.
    pub numbers: Option<Vec<f64>>,
    /// Which of the crossed axes it goes with; itself, if it is crossed.
    pub crossed: usize,
}

/// What a combination amounts to before it is run.
struct Draft {
    at: Vec<usize>,
    ready: Result<Ready, Error>,
}

struct Ready {
    digest: String,
    /// What tells it from combinations that may have other figures.
    outline: String,
    work: u64,
    seed: u64,
    workloads: u32,
    tenants: Vec<String>,
}

impl Sweep {
    /// Reads the sweep at `path`, on these threads. More than `most` runs are refused before any is looked at.
    ///
    /// # Errors
    /// Whatever can be known to be wrong before the first run, with its place; or that it was to give up.
    pub fn read(path: &Path, most: u64, local: Local<'_>) -> Result<Self, Error> {
        let text = read(
            path,
            "name the file of a sweep; docs/sweeps.md has an example",
        )?;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let mut sweep = Self::parse(&text, &path.display().to_string(), folder, (most, local))?;
        if sweep.title.is_empty() {
            let stem = path.file_stem().unwrap_or_default();
            sweep.title = stem.to_string_lossy().into_owned();
        }
        Ok(sweep)
    }

    /// Reads a sweep from `text`, which messages call `place`; the scenario that it names is relative to `folder`.
    ///
    /// # Errors
    /// As [`Sweep::read`].
    pub fn parse(
        text: &str,
        place: &str,
        folder: &Path,
        (most, local): (u64, Local<'_>),
    ) -> Result<Self, Error> {
        let file = File::parse(text, place)?;
        let design = Design {
            first: file.set.clone(),
            axes: file.axes.clone(),
            derived: file.derived.clone(),
            last: Vec::new(),
            seeds: file.seeds,
        };
        refuse_many(&design, most, place)?;
        let (scenario, folder) = scenario(&file.scenario, folder, place)?;
        let mut sweep = Self {
            title: file.title.clone().unwrap_or_default(),
            choice: file.plot.clone(),
            text: text.into(),
            scenario,
            folder,
            design,
            metrics: Vec::new(),
            curves: Vec::new(),
            points: Vec::new(),
            runs: Vec::new(),
        };
        sweep.check_choice(place)?;
        let drafts = sweep.drafts(&file, place, local)?;
        sweep.expand(&file, &drafts)?;
        sweep.enlist(drafts);
        Ok(sweep)
    }

    /// The file's text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The combinations.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The runs, in order of combination and seed.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The name of a run: that of its combination, and its seed if there are several.
    pub fn name(&self, run: usize) -> String {
        let Run { point, seed, .. } = &self.runs[run];
        let point = &self.points[*point].name;
        match (self.design.seeds, point.as_str()) {
            (1, point) if !point.is_empty() => point.to_owned(),
            (_, "") => format!("seed {seed}"),
            (_, point) => format!("{point}, seed {seed}"),
        }
    }

    /// Seeds of each combination.
    pub fn seeds(&self) -> usize {
        self.design.seeds as usize
    }

    /// Names of what is measured.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.metrics.iter().map(|wanted| wanted.name.as_str())
    }

    /// Names of the distributions that are kept.
    pub fn curves(&self) -> impl Iterator<Item = &str> {
        self.curves.iter().map(|wanted| wanted.name.as_str())
    }

    /// What the values of those distributions are, and the unit: `micros`, `times`, `gbps`.
    pub fn curve_units(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.curve_metrics().map(|metric| match metric.of {
            Quantity::Completion => ("completion time", "micros"),
            Quantity::JobTime => ("time of a job", "micros"),
            Quantity::JobRate => ("rate of a job", "gbps"),
            Quantity::OverStandalone => ("completion time over standalone time", "times"),
            _ => ("slowdown", "times"),
        })
    }

    /// What is varied, axes in step behind the one that they go with.
    pub fn axes(&self) -> Vec<AxisView> {
        let mut views = Vec::new();
        for (crossed, axis) in self.design.axes.iter().enumerate() {
            for axis in std::iter::once(axis).chain(&axis.followers) {
                views.push(AxisView {
                    name: axis.name.clone(),
                    values: axis.values.iter().map(|value| value.name.clone()).collect(),
                    numbers: axis.values.iter().map(|value| value.x).collect(),
                    crossed,
                });
            }
        }
        views
    }

    /// The records of a combination, by seed, out of those of all runs.
    pub fn of_point<'a, T>(&self, point: usize, records: &'a [T]) -> &'a [T] {
        let seeds = self.seeds();
        records
            .get(point * seeds..(point + 1) * seeds)
            .unwrap_or_default()
    }

    /// Mean and 95 % confidence interval of a metric over the seeds of a combination.
    pub fn estimate(&self, point: usize, metric: usize, records: &[Option<Record>]) -> Estimate {
        let of_point = self.of_point(point, records).iter();
        Estimate::of(of_point.map(|record| record.as_ref()?.figures.get(metric).copied().flatten()))
    }

    /// The scenario of a run.
    fn load(&self, run: usize) -> Result<Loaded, Error> {
        let Run { point, seed, .. } = &self.runs[run];
        let mut loaded = self.design.load(self.base(), &self.points[*point].at)?;
        loaded.scenario.seed = *seed;
        Ok(loaded)
    }

    fn base(&self) -> Base<'_> {
        Base {
            scenario: &self.scenario.text,
            place: &self.scenario.place,
            files: Files::Folder(&self.folder),
        }
    }

    /// The numbers that a combination's axes have.
    fn numbers(&self, at: &[usize]) -> Vec<(String, f64)> {
        let settings = self.design.settings(at);
        settings
            .filter_map(|(axis, value)| Some((axis.name.clone(), value.x?)))
            .collect()
    }

    fn check_choice(&self, place: &str) -> Result<(), Error> {
        let axes = self.axes();
        let asked = [&self.choice.x, &self.choice.lines].into_iter().flatten();
        for name in asked {
            if !axes.iter().any(|axis| axis.name == *name) {
                let names: Vec<_> = axes.iter().map(|axis| axis.name.as_str()).collect();
                let message = format!("{place}: plot: there is no axis \"{name}\"");
                return Err(Error::new(
                    message,
                    format!("axes are {}", names.join(", ")),
                ));
            }
        }
        Ok(())
    }

    /// Looks at the scenario of every combination.
    fn drafts(&self, file: &File, place: &str, local: Local<'_>) -> Result<Vec<Draft>, Error> {
        let unseen = |at| Draft {
            at,
            ready: Err(Error::stopped()),
        };
        let mut drafts: Vec<Draft> = self.design.points().into_iter().map(unseen).collect();
        local.threads.for_each(&mut drafts, |_, draft| {
            if !(local.stopped)() {
                draft.ready = self.look(&draft.at);
            }
        });
        for draft in &drafts {
            if let Err(error) = &draft.ready {
                if error.stopped {
                    return Err(error.clone());
                }
                return Err(self.blame(error.clone(), file, place, &draft.at));
            }
        }
        Ok(drafts)
    }

    fn look(&self, at: &[usize]) -> Result<Ready, Error> {
        let loaded = self.design.load(self.base(), at)?;
        let digest = key::scenario(&loaded)?;
        let outline = key::outline(&loaded)?;
        let scenario = &loaded.scenario;
        let ready = Ready {
            digest,
            outline,
            work: 0,
            seed: scenario.seed,
            workloads: u32::try_from(scenario.workload.len()).unwrap_or(u32::MAX),
            tenants: scenario
                .tenant
                .iter()
                .map(|tenant| tenant.name.clone())
                .collect(),
        };
        let plan = Plan::new(&loaded)?;
        // Some mistakes show only when the fabric is built.
        plan.simulation()?;
        Ok(Ready {
            work: work(&plan),
            ..ready
        })
    }

    /// Puts in front of an error the axis whose setting it is about, or the combination.
    fn blame(&self, error: Error, file: &File, place: &str, at: &[usize]) -> Error {
        let is_about = |text: &String| {
            let key = text.split('=').next().unwrap_or_default();
            let starts = |start: String| error.message.starts_with(&start);
            starts(format!("--set {text}")) || starts(format!("{key}:"))
        };
        let guilty = self
            .design
            .settings(at)
            .find(|(_, value)| value.set.iter().any(is_about));
        let line = guilty.and_then(|(axis, _)| {
            let mut places = file.places.iter();
            places.find(|(name, _)| *name == axis.name)
        });
        match line {
            Some((axis, line)) => error.within(&format!("{line}: axis \"{axis}\"")),
            None => {
                let name = join(&self.design.values(at));
                error.within(&format!("{place}: run \"{name}\""))
            }
        }
    }

    /// Turns what the file wants into figures, for each workload and tenant that any scenario has.
    fn expand(&mut self, file: &File, drafts: &[Draft]) -> Result<(), Error> {
        let ready = || drafts.iter().filter_map(|draft| draft.ready.as_ref().ok());
        let workloads = ready().map(|it| it.workloads).max().unwrap_or(0);
        let mut tenants: Vec<String> = Vec::new();
        for tenant in ready().flat_map(|it| &it.tenants) {
            if !tenants.contains(tenant) {
                tenants.push(tenant.clone());
            }
        }
        let expand = |entry: &Entry| {
            let wanted = entry.expand(workloads, &tenants);
            wanted
                .into_iter()
                .map(|one| (one, entry.place.clone()))
                .collect::<Vec<_>>()
        };
        let Some(first) = drafts.first() else {
            return Ok(());
        };
        let mut known = Known {
            numbers: &self.numbers(&first.at),
            tenants: &tenants,
            workloads,
            documents: Documents::new(self.outlined(drafts)),
        };
        let mut checked = |entries: &[Entry]| {
            let (wanted, places): (Vec<_>, Vec<_>) = entries.iter().flat_map(expand).unzip();
            wanted::check(&wanted, &mut known)
                .map_err(|(at, error)| error.within(places.get(at).map_or("", String::as_str)))?;
            Ok::<_, Error>(wanted)
        };
        let (metrics, curves) = (checked(&file.metrics)?, checked(&file.curves)?);
        drop(known);
        (self.metrics, self.curves) = (metrics, curves);
        Ok(())
    }

    /// The first combination of each outline: combinations of one outline have the same keys and tenants, whatever the values.
    fn outlined<'a>(
        &'a self,
        drafts: &'a [Draft],
    ) -> impl Iterator<Item = Result<Plan, Error>> + 'a {
        let mut seen = BTreeSet::new();
        let firsts = drafts.iter().filter(move |draft| {
            let ready = draft.ready.as_ref();
            ready.is_ok_and(|ready| seen.insert(&ready.outline))
        });
        firsts.map(|draft| Ok(Plan::new(&self.design.load(self.base(), &draft.at)?)?))
    }

    /// Makes the list of runs.
    fn enlist(&mut self, drafts: Vec<Draft>) {
        for (number, draft) in drafts.into_iter().enumerate() {
            let Ok(ready) = draft.ready else { continue };
            let numbers = self.numbers(&draft.at);
            let point = key::point(&ready.digest, (&self.metrics, &self.curves), &numbers);
            for seed in 0..u64::from(self.design.seeds) {
                let seed = seed_after(ready.seed, seed);
                let key = key::run(&point, seed);
                self.runs.push(Run {
                    point: number,
                    seed,
                    work: ready.work,
                    key,
                });
            }
            let name = join(&self.design.values(&draft.at));
            self.points.push(Point { name, at: draft.at });
        }
    }

    /// The metrics that distributions are of.
    fn curve_metrics(&self) -> impl Iterator<Item = &crate::metric::Metric> {
        self.curves.iter().filter_map(|wanted| match &wanted.of {
            Of::Metric(metric) => Some(&**metric),
            Of::Summary(_) | Of::Formula(_) => None,
        })
    }
}

fn refuse_many(design: &Design, most: u64, place: &str) -> Result<(), Error> {
    let count = design.count();
    if count.is_some_and(|count| count <= most) {
        return Ok(());
    }
    let count = count.map_or_else(
        || "more runs than can be counted".into(),
        |n| format!("{n} runs"),
    );
    let lengths = design
        .axes
        .iter()
        .map(|axis| format!("{} of {}", axis.values.len(), axis.name));
    let lengths: Vec<_> = lengths.chain([format!("{} seeds", design.seeds)]).collect();
    let message = format!("{place}: these are {count} ({})", lengths.join(" x "));
    Err(Error::new(message, "is that meant? Then say --yes"))
}

/// The scenario that a file names or holds, and the folder that it stands in.
fn scenario(value: &Value, folder: &Path, place: &str) -> Result<(Text, PathBuf), Error> {
    match value {
        Value::String(name) => {
            let path = folder.join(name);
            let text = read(
                &path,
                "`scenario` is relative to the folder of the sweep's file",
            )
            .map_err(|error| error.within(&format!("{place}: scenario")))?;
            let place = path.display().to_string();
            let folder = path.parent().unwrap_or(folder).to_owned();
            Ok((Text { text, place }, folder))
        }
        Value::Table(table) => {
            let text = toml::to_string(table)
                .map_err(|error| Error::new(format!("{place}: scenario: {error}"), ""))?;
            let place = format!("{place}: scenario");
            Ok((Text { text, place }, folder.to_owned()))
        }
        other => {
            let message = format!("{place}: scenario is {other}, expected a path or a table");
            Err(Error::new(message, "scenario = \"incast.toml\""))
        }
    }
}

fn read(path: &Path, hint: &str) -> Result<String, Error> {
    let text = fs::read_to_string(path)
        .map_err(|error| Error::new(format!("{}: can't be read: {error}", path.display()), hint))?;
    // Some editors begin a file with a byte order mark.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}
