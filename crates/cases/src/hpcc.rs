//! Imports cases of HPCC's ns-3 simulator: a configuration with its topology, flow and trace files.
//!
//! Every key is honoured, noted as without effect, or refused by name. Files are looked for
//! relative to the configuration's folder, beside it and one folder up, each also gzipped. Module
//! `conweave` has what differs in a simulator that descends from this one.

mod config;
mod convert;
mod keys;

use std::collections::BTreeSet;
use std::path::Path;

use fairlane_hpcc_files::{Times, flows, lines::lines};
use fairlane_scenario::{
    Error, Flow, Inputs, SideFile, TopologyText,
    files::{plain_or_gzipped, read_text},
    validate,
};

pub(crate) use self::config::{Config, Dialect};
pub(crate) use self::convert::common;
pub(crate) use self::keys::source_of;

use crate::imported::{Case, Imported, Traffic, name_files, stem};

/// The simulator that these cases come from.
const ORIGIN: &str = "HPCC's ns-3 simulator";

/// Imports the case of the configuration at `config`.
///
/// # Errors
/// A key that is unknown or can't be honoured, a malformed file, anything that [`fairlane_scenario::load`]
/// would refuse: with file and line where there is one.
pub fn import(config: &Path) -> Result<Imported, Error> {
    let path = plain_or_gzipped(config).unwrap_or_else(|| config.into());
    let text = read_text(&path)?;
    let name = path.display().to_string();
    let settings = Config::parse(&text, &name, Dialect::Hpcc)?;
    let mut notes = Vec::new();
    let mut scenario = convert::scenario(&settings, &mut notes)?;
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let case = Case {
        config: &settings,
        folder,
    };
    let topology = case.topology(&mut notes)?;
    let flows = case.flows(&mut notes)?;
    let inputs = parse_files(topology, flows)?;
    let nodes = inputs
        .topology
        .as_ref()
        .map_or(0, |topology| topology.nodes);
    scenario.output.trace_nodes = traced(&case, nodes, &mut notes)?;
    name_files(&mut scenario, Traffic::Flows, "topology.txt", "flows.txt");
    scenario.name = stem(config);
    scenario.resolve();
    validate(&scenario, &inputs).map_err(|error| case.place(error))?;
    let topology = inputs
        .topology
        .as_ref()
        .map_or_else(String::new, TopologyText::to_text);
    let flows = inputs
        .file("workload[0].path")
        .map(|file| flows::normalize(&file.text));
    Ok(Imported {
        origin: ORIGIN,
        scenario,
        topology,
        traffic: Traffic::Flows,
        flows: flows.unwrap_or_default(),
        notes,
    })
}

fn parse_files(topology: SideFile, flows: SideFile) -> Result<Inputs, Error> {
    let name = |file: &SideFile| file.path.display().to_string();
    let fabric = TopologyText::parse(&topology.text, &name(&topology), Times::Ns3)?;
    let messages = flows::parse(&flows.text, &name(&flows), Times::Ns3)?;
    Ok(Inputs {
        traces: vec![None],
        ports: None,
        topology: Some(fabric),
        flows: vec![Some(messages.into_iter().map(Flow::from).collect())],
        sizes: vec![None],
        files: vec![topology, flows],
    })
}

/// The nodes whose packets are recorded. The file is checked even if tracing is off.
fn traced(case: &Case<'_>, nodes: u32, notes: &mut Vec<String>) -> Result<Vec<u32>, Error> {
    let enabled = case.config.flag("ENABLE_TRACE", true)?;
    let exists = case
        .config
        .value("TRACE_FILE")
        .is_some_and(|name| case.find(name).is_some());
    if !exists && !enabled {
        return Ok(Vec::new());
    }
    let file = case.read("TRACE_FILE", "output.trace_nodes", notes)?;
    let traced = parse_trace(&file.text, &file.path.display().to_string(), nodes, notes)?;
    Ok(if enabled { traced } else { Vec::new() })
}

/// Reads a trace file: a count, then that many node numbers. As that simulator does, it leaves out nodes that don't exist
/// and whatever follows.
fn parse_trace(
    text: &str,
    file: &str,
    nodes: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<u32>, Error> {
    let mut rest = lines(text, file);
    let first = rest.next().ok_or_else(|| {
        Error::new(
            file,
            "empty, expected the number of nodes",
            "write 0 for none",
        )
    })?;
    let [count] = first.fields("COUNT")?;
    let count: usize = first.whole(count, "the number of nodes", "a whole number")?;
    let (mut traced, mut absent, mut read) = (BTreeSet::new(), 0, 0);
    'lines: for line in rest {
        for field in line.text.split_ascii_whitespace() {
            if read == count {
                let number = line.number;
                notes.push(format!(
                    "TRACE_FILE has more in line {number}, behind the {count} nodes that it counts: left out"
                ));
                break 'lines;
            }
            let node: u32 = line.whole(field, "a node", "a node number")?;
            read += 1;
            if node < nodes {
                traced.insert(node);
            } else {
                absent += 1;
            }
        }
    }
    if read != count {
        let message = format!("the count is {count}, but {read} nodes follow");
        return Err(first.error(message, "correct the count, or is the file truncated?"));
    }
    if absent > 0 {
        notes.push(format!(
            "TRACE_FILE names {absent} nodes that don't exist, expected below {nodes}: left out"
        ));
    }
    Ok(traced.into_iter().collect())
}
