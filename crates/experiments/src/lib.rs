//! Experiments that hold published results against those of this repository.
//!
//! An [`Experiment`] is a folder `experiments/<source>/<name>/`: `experiment.toml` says what is run, what
//! was published and what must hold; a scenario is the base of the runs if they are simulated. The folders
//! are part of the program. [`Experiment::run`] gives an [`Outcome`]: rows, checks and curves.
//!
//! There are three kinds. A sweep runs a scenario with changes ([`Manifest`]) on `fairlane-fabric`; a suite
//! tries attacks under scopes with `fairlane-attacks` (module `verdicts`); a solver experiment solves problems
//! of `fairlane-drum` (module `solver`).
//!
//! What this crate refuses: numbers of its own. No measured number is stored; what is published stands in
//! `experiment.toml` with its source.
#![forbid(unsafe_code)]

mod check;
mod error;
mod jobs;
mod manifest;
mod measure;
mod outcome;
mod placed;
mod plot;
mod sample;
mod settling;
mod signals;
mod solver;
mod sweep;
mod verdicts;

use fairlane_scenario::Files;
use fairlane_threads::Threads;

pub use error::Error;
pub use manifest::{Manifest, Relation};
pub use outcome::{Cell, Check, Curve, Outcome, Plot, Rows};
pub use plot::svg;

/// An experiment and its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The source's folder, such as `s0`.
    pub source: &'static str,
    /// The name, such as `s0-fig8`.
    pub name: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

/// Every experiment, by source and name.
static ALL: &[Experiment] = &include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// How an experiment is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// In a reduced size.
    pub quick: bool,
    /// On so many threads; rows and checks don't depend on them, except for times that were measured.
    pub threads: Threads,
}

/// What an experiment tells whoever waits for it.
pub trait Watch: Sync {
    /// Hears that a part, of so many, has begun.
    fn begin(&self, part: &str, number: usize, parts: usize);
    /// Whether to give up.
    fn stopped(&self) -> bool;
}

/// Every experiment, by source and name.
pub fn all() -> &'static [Experiment] {
    ALL
}

/// The experiment of a name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

impl Experiment {
    /// What `experiment.toml` says.
    ///
    /// # Errors
    /// If it is malformed, which the tests of this crate rule out.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        Manifest::parse(self.file("experiment.toml")?)
            .map_err(|error| error.within(&format!("{}/experiment.toml", self.name)))
    }

    /// The text of one of its files.
    fn file(&self, name: &str) -> Result<&'static str, Error> {
        let found = self.files.iter().find(|(file, _)| *file == name);
        found
            .and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
            .ok_or_else(|| Error::new(format!("{}: there is no text {name}", self.name), ""))
    }

    /// Runs it.
    ///
    /// # Errors
    /// If its files are wrong, or `watch` gave up.
    pub fn run(&self, settings: Settings, watch: &dyn Watch) -> Result<Outcome, Error> {
        let manifest = self.manifest()?;
        let mut outcome = match &manifest.solver {
            Some(solver) => solver::run(*solver, settings, watch)?,
            None => match manifest.suites.is_empty() {
                false => verdicts::run(&manifest, |name| self.file(name), settings, watch)?,
                true => {
                    let base = sweep::Base {
                        scenario: self.file(&manifest.scenario)?,
                        files: Files::Held(self.files),
                    };
                    sweep::run(&manifest, base, settings, watch)?
                }
            },
        };
        outcome.name = self.name.into();
        manifest.complete(&mut outcome, settings.quick)?;
        Ok(outcome)
    }
}
