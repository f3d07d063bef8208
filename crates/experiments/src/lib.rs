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

mod axis;
mod check;
mod condition;
mod design;
mod divided;
mod error;
mod expression;
mod heat;
mod jobs;
mod manifest;
mod map;
mod measure;
mod metric;
mod open;
mod outcome;
mod placed;
mod plot;
mod ratio;
mod sample;
mod settling;
mod signals;
mod simulated;
mod solver;
pub mod sweep;
mod verdicts;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use fairlane_scenario::Files;
use fairlane_threads::Threads;

pub use condition::{Relation, Verdict, Wanted};
pub use error::Error;
pub use heat::svg as map_svg;
pub use manifest::Manifest;
pub use open::{Open, OpenCheck};
pub use outcome::{Cell, Check, Curve, Map, Outcome, Plot, Rows};
pub use plot::svg;

/// An experiment and its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// The source's folder, such as `s0`; that of an opened folder.
    pub source: Cow<'static, str>,
    /// The name, such as `s0-fig8`; the folder's, of an opened one.
    pub name: Cow<'static, str>,
    files: Where,
}

/// Where an experiment's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Where {
    /// In the program.
    Held(&'static [(&'static str, &'static [u8])]),
    /// In a folder.
    Folder(PathBuf),
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

/// The experiments that a name is for: `all`, one of the program's, or the path of a folder.
///
/// # Errors
/// If there is none.
pub fn select(name: &str) -> Result<Vec<Experiment>, Error> {
    if name == "all" {
        return Ok(all().to_vec());
    }
    if let Some(found) = find(name) {
        return Ok(vec![found.clone()]);
    }
    let path = Path::new(name);
    if name.contains('/') || path.is_dir() {
        return Ok(vec![Experiment::open(path)?]);
    }
    Err(Error::new(
        format!("there is no experiment \"{name}\""),
        "`fairlane reproduce --list` names them all; a folder of your own is named by its path, ./FOLDER",
    ))
}

impl Experiment {
    /// One of the program's own.
    const fn held(
        source: &'static str,
        name: &'static str,
        files: &'static [(&'static str, &'static [u8])],
    ) -> Self {
        Self {
            source: Cow::Borrowed(source),
            name: Cow::Borrowed(name),
            files: Where::Held(files),
        }
    }

    /// The experiment in a folder, wherever that is.
    ///
    /// # Errors
    /// If there is no `experiment.toml` in it.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        if !folder.join("experiment.toml").is_file() {
            let message = format!("{}: there is no experiment.toml here", folder.display());
            let hint = "name a folder as docs/experiments.md describes it";
            return Err(Error::new(message, hint));
        }
        // A path such as `.` has no name of its own.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.into());
        let name = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).unwrap_or_default();
            Cow::Owned(name.to_string_lossy().into_owned())
        };
        Ok(Self {
            source: name(whole.parent()),
            name: name(Some(&whole)),
            files: Where::Folder(folder.into()),
        })
    }

    /// What `experiment.toml` says.
    ///
    /// # Errors
    /// If it is malformed, which the tests of this crate rule out for those of the program.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        Manifest::parse(&self.file("experiment.toml")?)
            .map_err(|error| error.within(&format!("{}/experiment.toml", self.name)))
    }

    /// The text of one of its files.
    fn file(&self, name: &str) -> Result<Cow<'static, str>, Error> {
        match &self.files {
            Where::Held(files) => {
                let found = files.iter().find(|(file, _)| *file == name);
                found
                    .and_then(|(_, bytes)| std::str::from_utf8(bytes).ok())
                    .map(Cow::Borrowed)
                    .ok_or_else(|| {
                        Error::new(format!("{}: there is no text {name}", self.name), "")
                    })
            }
            Where::Folder(folder) => {
                let path = folder.join(name);
                let wrong = |error| Error::new(format!("{}: {error}", path.display()), "");
                fs::read_to_string(&path).map(Cow::Owned).map_err(wrong)
            }
        }
    }

    /// The files that its scenarios may name.
    fn files(&self) -> Files<'_> {
        match &self.files {
            Where::Held(files) => Files::Held(files),
            Where::Folder(folder) => Files::Folder(folder),
        }
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
                false => verdicts::run(
                    &manifest,
                    (|name: &str| self.file(name), self.files()),
                    settings,
                    watch,
                )?,
                true => {
                    let base = design::Base {
                        scenario: &self.file(&manifest.scenario)?,
                        place: &manifest.scenario,
                        files: self.files(),
                    };
                    simulated::run(&manifest, base, settings, watch)?
                }
            },
        };
        outcome.name = self.name.clone().into_owned();
        manifest.complete(&mut outcome, settings.quick)?;
        Ok(outcome)
    }
}
