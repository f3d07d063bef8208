//! What an import of another simulator's case gives, and how it is written.

use std::path::{Path, PathBuf};
use std::{fs, io};

use fairlane_hpcc_files::{flows, lines::lines};
use fairlane_scenario::{
    Connections, Error, Flows, HostSet, Program, Scenario, SideFile, Topology, TopologyFile,
    TopologyText, TracePath, Verb, Workload,
    files::{plain_or_gzipped, read_text},
};

use fairlane_units::Duration;

use crate::hpcc::{Config, source_of};

/// How the messages of a case are stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// By their starts, in a flow file.
    Flows,
    /// By what they wait for, in a GOAL schedule.
    Schedule,
}

impl Traffic {
    /// How the name of such a file ends.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Flows => ".flows.txt",
            Self::Schedule => ".goal",
        }
    }
}

/// A case, ready to be written as a scenario with its side files.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The simulator that the case comes from, in words.
    pub origin: &'static str,
    /// The scenario, resolved; its files are `topology.txt` and `flows.txt` until [`Imported::write`] names
    /// them after the case.
    pub scenario: Scenario,
    /// The topology as text.
    pub topology: String,
    /// What states the messages.
    pub traffic: Traffic,
    /// The messages as text.
    pub flows: String,
    /// What a reader should know: keys without effect, files found elsewhere, other models.
    pub notes: Vec<String>,
}

impl Imported {
    /// Writes the scenario to `case` (`CASE.toml`; the extension may be left out) and its files to
    /// `CASE.topology.txt` and `CASE.flows.txt`, or `CASE.goal`, beside it. All are written under temporary names and then
    /// renamed, the scenario last.
    ///
    /// # Errors
    /// A path that isn't UTF-8, or files that can't be written.
    pub fn write(&self, case: &Path) -> Result<(), Error> {
        let (base, name) = split(case)?;
        let names = self.endings().map(|ending| format!("{name}{ending}"));
        let [target, topology, flows] = names.each_ref().map(|name| base.with_file_name(name));
        let mut scenario = self.scenario.clone();
        scenario.name = name;
        name_files(&mut scenario, self.traffic, &names[1], &names[2]);
        let mut text = format!("# Imported from a case of {}.\n", self.origin);
        for note in &self.notes {
            text.push_str(&format!("# {}\n", note.replace(['\n', '\r'], " ")));
        }
        text.push_str(&scenario.to_toml()?);
        write_all(&[
            (topology, &self.topology),
            (flows, &self.flows),
            (target, &text),
        ])
    }

    /// The files that [`Imported::write`] writes for `case`: the scenario, its topology and its messages.
    ///
    /// # Errors
    /// A path that isn't UTF-8, or names no file.
    pub fn targets(&self, case: &Path) -> Result<[PathBuf; 3], Error> {
        let (base, name) = split(case)?;
        let endings = self.endings();
        Ok(endings.map(|ending| base.with_file_name(format!("{name}{ending}"))))
    }

    /// How the files end: the scenario, its topology and its messages.
    fn endings(&self) -> [&'static str; 3] {
        [".toml", ".topology.txt", self.traffic.ending()]
    }
}

/// A case without the extension of a scenario, and the last part of that.
fn split(case: &Path) -> Result<(PathBuf, String), Error> {
    let is_toml = case
        .extension()
        .is_some_and(|extension| extension == "toml");
    let base = if is_toml {
        case.with_extension("")
    } else {
        case.into()
    };
    let name = base
        .file_name()
        .and_then(|name| name.to_str())
        .map(str::to_owned);
    let name = name.ok_or_else(|| {
        Error::new(
            case.display().to_string(),
            "is no file name, expected CASE.toml",
            "name the scenario to write",
        )
    })?;
    Ok((base, name))
}

/// Writes `files`: all under temporary names first, then renamed in order. A file that can't be
/// written leaves all targets as they were; a reader of the last file finds all others.
fn write_all(files: &[(PathBuf, &str)]) -> Result<(), Error> {
    let partial = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        PathBuf::from(name)
    };
    let write = || -> Result<(), (PathBuf, io::Error)> {
        for (path, text) in files {
            if path.is_dir() {
                return Err((path.clone(), io::Error::from(io::ErrorKind::IsADirectory)));
            }
            fs::write(partial(path), text).map_err(|error| (path.clone(), error))?;
        }
        for (path, _) in files {
            fs::rename(partial(path), path).map_err(|error| (path.clone(), error))?;
        }
        Ok(())
    };
    write().map_err(|(path, error)| {
        for (path, _) in files {
            // Already renamed or never written: nothing left to remove.
            let _ = fs::remove_file(partial(path));
        }
        Error::new(
            path.display().to_string(),
            format!("can't be written: {error}"),
            "does the folder exist, and may you write there?",
        )
    })
}

/// Makes files the topology and the messages of a scenario.
pub(crate) fn name_files(
    scenario: &mut Scenario,
    traffic: Traffic,
    topology: &str,
    messages: &str,
) {
    scenario.topology = Topology::File(TopologyFile {
        path: topology.into(),
    });
    let workload = match traffic {
        Traffic::Flows => Workload::Flows(Flows {
            path: Some(messages.into()),
            flow: Vec::new(),
            verb: Verb::Write,
            tenant: None,
            plane: None,
            congestion: None,
            paths: None,
            connections: None,
        }),
        Traffic::Schedule => Workload::Program(Program {
            path: TracePath::One(messages.into()),
            format: None,
            start: Duration::ZERO,
            hosts: HostSet::default(),
            placement: Vec::new(),
            class: 3,
            verb: Verb::Write,
            tenant: None,
            plane: None,
            congestion: None,
            channels: 1,
            send_latency: Duration::ZERO,
            paths: None,
            // Each line of a connection matrix is a connection.
            connections: Some(Connections::Message),
        }),
    };
    scenario.workload = vec![workload];
}

/// The folder that holds the case is its name: configurations are all called alike.
pub(crate) fn stem(config: &Path) -> String {
    let stem = config
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("config");
    let folder = config
        .parent()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    match (stem, folder) {
        ("config", Some(folder)) => folder.into(),
        _ => stem.into(),
    }
}

/// A configuration and where it is.
pub(crate) struct Case<'a> {
    pub(crate) config: &'a Config<'a>,
    pub(crate) folder: &'a Path,
}

impl Case<'_> {
    /// Reads the file that `key` names.
    pub(crate) fn read(
        &self,
        key: &str,
        as_key: &str,
        notes: &mut Vec<String>,
    ) -> Result<SideFile, Error> {
        let named = self.config.value(key).ok_or_else(|| {
            let hint = format!("add a line `{key} NAME`");
            self.config
                .error(key, "is missing, expected a file name", &hint)
        })?;
        let path = self.find(named).ok_or_else(|| {
            let hint = "files are looked for in the configuration's folder and one folder up, also with .gz";
            self.config.error(key, format!("names {named}, which doesn't exist"), hint)
        })?;
        if path != self.folder.join(named) {
            notes.push(format!("{key} {named} was found elsewhere or gzipped"));
        }
        Ok(SideFile {
            key: as_key.into(),
            text: read_text(&path)?,
            path,
        })
    }

    /// Reads the topology, up to the last line that its first one counts.
    pub(crate) fn topology(&self, notes: &mut Vec<String>) -> Result<SideFile, Error> {
        let key = "TOPOLOGY_FILE";
        let file = self.read(key, "topology.path", notes)?;
        let behind = TopologyText::behind(&file.text);
        Ok(up_to(file, behind, key, "links", notes))
    }

    /// Reads the messages, up to the last line that the first one counts.
    pub(crate) fn flows(&self, notes: &mut Vec<String>) -> Result<SideFile, Error> {
        let key = "FLOW_FILE";
        let file = self.read(key, "workload[0].path", notes)?;
        let behind = flows::behind(&file.text);
        Ok(up_to(file, behind, key, "messages", notes))
    }

    pub(crate) fn find(&self, named: &str) -> Option<PathBuf> {
        let named = Path::new(named);
        let base = named.file_name().map_or(named, Path::new);
        let up = self.folder.join("..");
        [
            self.folder.join(named),
            self.folder.join(base),
            up.join(named),
            up.join(base),
        ]
        .iter()
        .find_map(|path| plain_or_gzipped(path))
    }

    /// Names the configuration key instead of the scenario key that it became.
    pub(crate) fn place(&self, error: Error) -> Error {
        match source_of(&error.place) {
            Some(key) => {
                let message = format!("{key} ({}) {}", error.place, error.message);
                Error {
                    place: self.config.place(key),
                    message,
                    hint: error.hint,
                }
            }
            None => error,
        }
    }
}

/// A file without the lines from number `behind` on, which those simulators don't read: remarks, or lines that are switched
/// off by a smaller count.
fn up_to(
    mut file: SideFile,
    behind: Option<usize>,
    key: &str,
    counted: &str,
    notes: &mut Vec<String>,
) -> SideFile {
    let Some(behind) = behind else {
        return file;
    };
    let left = lines(&file.text, "")
        .filter(|line| line.number >= behind)
        .count();
    notes.push(format!(
        "{key} has {left} lines behind the {counted} that it counts, from line {behind} on: left out, as that simulator doesn't read them"
    ));
    let kept = file.text.lines().take(behind - 1);
    file.text = kept.flat_map(|line| [line, "\n"]).collect();
    file
}
