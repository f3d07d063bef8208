//! Imports cases of HPCC's ns-3 simulator: a configuration with its topology, flow and trace files.
//!
//! Every key is honoured, noted as without effect, or refused by name. Files are looked for
//! relative to the configuration's folder, beside it and one folder up, each also gzipped.

mod config;
mod convert;
mod keys;

use std::path::{Path, PathBuf};

use self::config::Config;
use crate::error::Error;
use crate::files::{plain_or_gzipped, read_text, write_all};
use crate::flow_text;
use crate::inputs::{Inputs, SideFile};
use crate::lines::lines;
use crate::topology_text::TopologyText;
use crate::types::{Profile, Scenario, Topology, Verb, Workload};
use crate::validate::validate;

/// A case, ready to be written as a scenario with its side files.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The scenario, resolved, profile `hpcc-ns3`; its files are `topology.txt` and `flows.txt`
    /// until [`Imported::write`] names them after the case.
    pub scenario: Scenario,
    /// The topology as text.
    pub topology: String,
    /// The messages as text.
    pub flows: String,
    /// What a reader should know: keys without effect, files found elsewhere.
    pub notes: Vec<String>,
}

/// Imports the case of the configuration at `config`.
///
/// # Errors
/// A key that is unknown or can't be honoured, a malformed file, anything that [`crate::load`]
/// would refuse: with file and line where there is one.
pub fn import(config: &Path) -> Result<Imported, Error> {
    let path = plain_or_gzipped(config).unwrap_or_else(|| config.into());
    let text = read_text(&path)?;
    let name = path.display().to_string();
    let settings = Config::parse(&text, &name)?;
    let mut notes = Vec::new();
    let mut scenario = convert::scenario(&settings, &mut notes)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let case = Case {
        config: &settings,
        folder,
    };
    let topology = case.read("TOPOLOGY_FILE", "topology.path", &mut notes)?;
    let flows = case.read("FLOW_FILE", "workload[0].path", &mut notes)?;
    let inputs = parse_files(topology, flows)?;
    let nodes = inputs
        .topology
        .as_ref()
        .map_or(0, |topology| topology.nodes);
    scenario.output.trace_nodes = case.traced(nodes, &mut notes)?;
    scenario.topology = Topology::File {
        path: "topology.txt".into(),
    };
    scenario.workload = vec![Workload::Flows {
        path: Some("flows.txt".into()),
        flow: Vec::new(),
        verb: Verb::Write,
        tenant: None,
        plane: None,
        paths: None,
    }];
    scenario.name = stem(config);
    scenario.resolve();
    validate(&scenario, &inputs).map_err(|error| case.place(error))?;
    let topology = inputs
        .topology
        .as_ref()
        .map_or_else(String::new, TopologyText::to_text);
    let flows = inputs
        .file("workload[0].path")
        .map(|file| flow_text::normalize(&file.text));
    Ok(Imported {
        scenario,
        topology,
        flows: flows.unwrap_or_default(),
        notes,
    })
}

impl Imported {
    /// Writes the scenario to `case` (`CASE.toml`; the extension may be left out) and its files to
    /// `CASE.topology.txt` and `CASE.flows.txt` beside it. All are written under temporary names and then
    /// renamed, the scenario last.
    ///
    /// # Errors
    /// A path that isn't UTF-8, or files that can't be written.
    pub fn write(&self, case: &Path) -> Result<(), Error> {
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
            .ok_or_else(|| {
                let place = case.display().to_string();
                Error::new(
                    place,
                    "is no file name, expected CASE.toml",
                    "name the scenario to write",
                )
            })?;
        let (topology, flows) = (format!("{name}.topology.txt"), format!("{name}.flows.txt"));
        let mut scenario = self.scenario.clone();
        scenario.name = name.into();
        scenario.topology = Topology::File {
            path: topology.clone().into(),
        };
        scenario.workload = vec![Workload::Flows {
            path: Some(flows.clone().into()),
            flow: Vec::new(),
            verb: Verb::Write,
            tenant: None,
            plane: None,
            paths: None,
        }];
        let mut text = String::from("# Imported from a case of HPCC's ns-3 simulator.\n");
        for note in &self.notes {
            text.push_str(&format!("# {}\n", note.replace(['\n', '\r'], " ")));
        }
        text.push_str(&scenario.to_toml()?);
        let target = base.with_file_name(format!("{name}.toml"));
        write_all(&[
            (base.with_file_name(topology), &self.topology),
            (base.with_file_name(flows), &self.flows),
            (target, &text),
        ])
    }
}

/// The folder that holds the case is its name: configurations are all called alike.
fn stem(config: &Path) -> String {
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

fn parse_files(topology: SideFile, flows: SideFile) -> Result<Inputs, Error> {
    let name = |file: &SideFile| file.path.display().to_string();
    let fabric = TopologyText::parse(&topology.text, &name(&topology), Profile::HpccNs3)?;
    let messages = flow_text::parse(&flows.text, &name(&flows), Profile::HpccNs3)?;
    Ok(Inputs {
        ports: None,
        topology: Some(fabric),
        flows: vec![Some(messages)],
        sizes: vec![None],
        files: vec![topology, flows],
    })
}

/// A configuration and where it is.
struct Case<'a> {
    config: &'a Config<'a>,
    folder: &'a Path,
}

impl Case<'_> {
    /// Reads the file that `key` names.
    fn read(&self, key: &str, as_key: &str, notes: &mut Vec<String>) -> Result<SideFile, Error> {
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

    fn find(&self, named: &str) -> Option<PathBuf> {
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

    /// The nodes whose packets are recorded. The file is checked even if tracing is off.
    fn traced(&self, nodes: u32, notes: &mut Vec<String>) -> Result<Vec<u32>, Error> {
        let enabled = self.config.flag("ENABLE_TRACE", true)?;
        let exists = self
            .config
            .value("TRACE_FILE")
            .is_some_and(|name| self.find(name).is_some());
        if !exists && !enabled {
            return Ok(Vec::new());
        }
        let file = self.read("TRACE_FILE", "output.trace_nodes", notes)?;
        let traced = parse_trace(&file.text, &file.path.display().to_string(), nodes)?;
        Ok(if enabled { traced } else { Vec::new() })
    }

    /// Names the configuration key instead of the scenario key that it became.
    fn place(&self, error: Error) -> Error {
        match keys::source_of(&error.place) {
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

/// Reads a trace file: a count, then that many node numbers.
fn parse_trace(text: &str, file: &str, nodes: u32) -> Result<Vec<u32>, Error> {
    let mut rest = lines(text, file);
    let first = rest.next().ok_or_else(|| {
        Error::new(
            file,
            "empty, expected the number of nodes",
            "write 0 for none",
        )
    })?;
    let [count] = first.fields("COUNT")?;
    let count: usize = first.number(count, "the number of nodes", "a whole number")?;
    let mut traced = std::collections::BTreeSet::new();
    for line in rest {
        for field in line.text.split_ascii_whitespace() {
            let node: u32 = line.number(field, "a node", "a node number")?;
            if node >= nodes {
                let message = format!("node {node} doesn't exist, expected below {nodes}");
                return Err(line.error(message, "nodes are numbered from 0"));
            }
            if !traced.insert(node) {
                let message = format!("node {node} is named twice, expected once");
                return Err(line.error(message, "remove one of the two"));
            }
        }
    }
    if traced.len() != count {
        let message = format!("the count is {count}, but {} nodes follow", traced.len());
        return Err(first.error(message, "correct the count, or is the file truncated?"));
    }
    Ok(traced.into_iter().collect())
}
