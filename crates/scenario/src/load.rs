//! From a file to a resolved scenario.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use fairlane_units::Bytes;
use serde::Deserialize;
use toml::{Table, Value};

use crate::document::Document;
use crate::error::{Error, mistake};
use crate::files::{Files, read_text};
use crate::inputs::Inputs;
use crate::keypath::KeyPath;
use crate::overrides::{Override, overlay};
use crate::types::{Profile, Scenario};
use crate::validate::{default_floors, validate};
use crate::written::WrittenSizes;

/// A scenario in which every value is stated, and what its files say.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario, every default filled in.
    pub scenario: Scenario,
    /// The files that it names.
    pub inputs: Inputs,
    written: WrittenSizes,
}

/// Reads the scenario at `path`. `overrides` are `key.path=value`; they and `seed` replace what the
/// file says. A scenario without a name is called after its file.
///
/// # Errors
/// Anything that can be known to be wrong before the run: file and line or key path, what was
/// expected, and a hint.
pub fn load(path: &Path, overrides: &[String], seed: Option<u64>) -> Result<Loaded, Error> {
    let text = read_text(path).map_err(|error| unreadable(path, error))?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let place = path.display().to_string();
    let name = path.file_stem().and_then(|stem| stem.to_str());
    read(&text, &place, Files::Folder(folder), overrides, seed, name)
}

/// The mistake of naming something that is no scenario file.
fn unreadable(path: &Path, error: Error) -> Error {
    let place = &error.place;
    if path.is_dir() {
        let inside = path.join("scenario.toml");
        let hint = match inside.is_file() {
            true => format!("name the file in it, {}", inside.display()),
            false => "name a scenario file in it".to_owned(),
        };
        return mistake!(place, "is a directory, expected a scenario file"; "{hint}");
    }
    if !path.exists() {
        return mistake!(place, "no such file";
            "is the name right? Paths are relative to the current directory");
    }
    error
}

/// Reads a scenario from `text`, which messages call `place`; its files are relative to `folder`.
///
/// # Errors
/// As [`load`].
pub fn parse(
    text: &str,
    place: &str,
    folder: &Path,
    overrides: &[String],
    seed: Option<u64>,
) -> Result<Loaded, Error> {
    parse_with(text, place, Files::Folder(folder), overrides, seed)
}

/// Reads a scenario that a program holds as a `table`; mistakes are placed at the path of their key.
///
/// # Errors
/// As [`load`].
pub fn parse_table(
    table: &Table,
    folder: &Path,
    overrides: &[String],
    seed: Option<u64>,
) -> Result<Loaded, Error> {
    let text = toml::to_string(table).map_err(formless)?;
    parse(&text, "", folder, overrides, seed)
}

/// As [`parse`], with files from elsewhere.
///
/// # Errors
/// As [`load`].
pub fn parse_with(
    text: &str,
    place: &str,
    files: Files<'_>,
    overrides: &[String],
    seed: Option<u64>,
) -> Result<Loaded, Error> {
    read(text, place, files, overrides, seed, None)
}

/// As [`parse_with`]; the scenario is called `name`, if there is one, unless it says another.
fn read(
    text: &str,
    place: &str,
    files: Files<'_>,
    overrides: &[String],
    seed: Option<u64>,
    name: Option<&str>,
) -> Result<Loaded, Error> {
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|text| Override::parse(text))
        .collect::<Result<_, _>>()?;
    // What the text itself says is checked before anything replaces it.
    let written = Document::parse(text, place, &[])?;
    written.read(&written.table)?;
    let document = Document::parse(text, place, &overrides)?;
    let mut table = defaults(&document.table, &overrides)?;
    table.extend(name.map(|name| ("name".to_owned(), name.into())));
    overlay(&mut table, &document.table);
    overrides.iter().try_for_each(|set| set.apply(&mut table))?;
    let mut scenario = document.read(&table)?;
    scenario.resolve();
    // Taken before the caller's seed comes in, which may be one that TOML can't hold.
    let resolved = to_table(&scenario)?;
    let placed = |error| document.place(error, &resolved);
    let inputs = Inputs::read(&scenario, files).map_err(placed)?;
    let floors = default_floors(&scenario, &inputs);
    if set_unless_stated(&mut table, floors, &stated(&document.table, &overrides))? {
        scenario = document.read(&table)?;
        scenario.resolve();
    }
    scenario.seed = seed.unwrap_or(scenario.seed);
    validate(&scenario, &inputs).map_err(placed)?;
    let written = WrittenSizes::of(&table);
    Ok(Loaded {
        scenario,
        inputs,
        written,
    })
}

/// The keys that the user states, in the text or by overrides.
fn stated(written: &Table, overrides: &[Override]) -> Table {
    let mut stated = written.clone();
    for set in overrides {
        // One that leads nowhere in what is written is about elements that defaults have.
        let _ = set.apply(&mut stated);
    }
    stated
}

/// Sets keys to values, unless they are `stated`; says whether any was set.
fn set_unless_stated(
    table: &mut Table,
    values: Vec<(String, Value)>,
    stated: &Table,
) -> Result<bool, Error> {
    let paths = values
        .into_iter()
        .map(|(key, value)| (KeyPath::from_place(&key), value));
    let paths: Vec<_> = paths
        .filter(|(path, _)| path.find(stated).is_none())
        .collect();
    let any = !paths.is_empty();
    for (path, value) in paths {
        Override::silent(path, value).apply(table)?;
    }
    Ok(any)
}

/// The defaults of the profile in force, as a table.
fn defaults(written: &Table, overrides: &[Override]) -> Result<Table, Error> {
    let mut set = overrides.iter().rev();
    let set = set.find(|set| set.path.to_string() == "profile");
    let stated = set.map(|set| &set.value).or_else(|| written.get("profile"));
    // An unknown profile is refused, with its place, when the whole table is read.
    let profile = stated.and_then(|value| Profile::deserialize(value.clone()).ok());
    to_table(&Scenario::defaults(profile.unwrap_or_default()))
}

fn to_table(scenario: &Scenario) -> Result<Table, Error> {
    Table::try_from(scenario).map_err(formless)
}

fn formless(error: impl Display) -> Error {
    mistake!("scenario", "has no TOML form: {error}"; "paths of files must be UTF-8")
}

impl Scenario {
    /// Fills in what a value left out stands for, so that it is visible when written.
    pub fn resolve(&mut self) {
        self.congestion.window = Some(self.congestion.window_mode());
        let (marking, ecn) = (self.marking(), &mut self.switch.ecn);
        ecn.kmin_per_gbps = Some(marking.kmin_per_gbps);
        ecn.kmax_per_gbps = Some(marking.kmax_per_gbps);
        ecn.pmax = Some(marking.pmax);
        self.assign_tenants();
    }

    /// The scenario as TOML.
    ///
    /// # Errors
    /// A path that isn't UTF-8, which can't be read from a file.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(formless)
    }
}

impl Loaded {
    /// The resolved scenario as TOML; reading it again in the same folder gives an equal value.
    ///
    /// # Errors
    /// As [`Scenario::to_toml`]; never for a value that [`load`] returned.
    pub fn to_toml(&self) -> Result<String, Error> {
        Ok(self.written.restore(self.scenario.to_toml()?))
    }

    /// A size at a key, such as `workload[0].size`, in the unit that it was written in.
    pub fn size_text(&self, key: &str, size: Bytes) -> String {
        let written = self.written.text(key, size).map(str::to_owned);
        written.unwrap_or_else(|| size.to_string())
    }

    /// The resolved scenario as TOML with its files beside it: their paths, which start with
    /// `inputs/` and are relative to the scenario, and what they hold.
    ///
    /// # Errors
    /// As [`Loaded::to_toml`].
    pub fn portable(&self) -> Result<(String, Copies<'_>), Error> {
        let mut table = to_table(&self.scenario)?;
        let mut copies = Copies::new();
        let texts = self.inputs.files.iter();
        let texts = texts.map(|file| (&file.key, &*file.path, file.text.as_bytes()));
        for (key, path, bytes) in texts {
            let value = copied(path, bytes, &mut copies);
            Override::silent(KeyPath::from_place(key), value).apply(&mut table)?;
        }
        for (index, traces) in self.inputs.traces.iter().enumerate() {
            let mut values = Vec::new();
            for file in traces.iter().flatten() {
                values.push(copied(Path::new(&file.name), &file.bytes, &mut copies));
            }
            // What a folder or a pattern stood for is listed, as it may stand for something else there.
            let value = match (values.len(), values.pop()) {
                (_, None) => continue,
                (1, Some(only)) => only,
                (_, last) => Value::Array(values.into_iter().chain(last).collect()),
            };
            let key = KeyPath::from_place(&format!("workload[{index}].path"));
            Override::silent(key, value).apply(&mut table)?;
        }
        let scenario = Scenario::deserialize(table).map_err(formless)?;
        Ok((self.written.restore(scenario.to_toml()?), copies))
    }
}

/// Copies of files: where to, and what they hold.
pub type Copies<'a> = Vec<(PathBuf, &'a [u8])>;

/// Adds a copy of a file; its path.
fn copied<'a>(path: &Path, bytes: &'a [u8], copies: &mut Copies<'a>) -> Value {
    let copy = free_name(path, copies);
    let value = copy.display().to_string().into();
    copies.push((copy, bytes));
    value
}

/// A path in `inputs/` that no earlier copy has.
fn free_name(path: &Path, taken: &[(PathBuf, &[u8])]) -> PathBuf {
    let name = path
        .file_name()
        .map_or_else(|| "input".into(), |name| name.to_string_lossy());
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let candidate = |number: usize| match number {
        0 => Path::new("inputs").join(name),
        _ => Path::new("inputs").join(format!("{number}-{name}")),
    };
    let is_free = |path: &PathBuf| taken.iter().all(|(other, _)| other != path);
    (0..).map(candidate).find(is_free).unwrap_or_default()
}
