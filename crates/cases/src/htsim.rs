//! Imports cases of htsim: a connection matrix (`.cm`) and the fat tree that it runs on (`.topo`).
//!
//! Transport, queues and congestion control are arguments of htsim's programs, so that the scenario has Fairlane's. The formats are those of
//! `connection_matrix.cpp` and `fat_tree_topology.cpp` in csg-htsim.

mod matrix;
mod schedule;
mod tree;

use std::path::{Path, PathBuf};

use fairlane_hpcc_files::{Times, flows};
use fairlane_scenario::{
    Error, Flow, Inputs, Profile, Scenario, SideFile, TopologyText, TraceFile,
    files::{plain_or_gzipped, read_text},
    validate,
};

use self::matrix::Matrix;
use self::tree::Tree;
use crate::imported::{Imported, Traffic, name_files};

/// Imports the connection matrix at `matrix` on the fat tree that `topology` describes, or on the one that htsim builds without.
///
/// # Errors
/// A file that can't be read or is malformed, a tree whose figures don't fit each other, nodes that the tree doesn't have, triggers that
/// can't be honoured: with file and line where there is one.
pub fn import(matrix: &Path, topology: Option<&Path>) -> Result<Imported, Error> {
    let (path, text) = read(matrix)?;
    let name = path.display().to_string();
    let connections = Matrix::parse(&text, &name)?;
    let mut notes = Vec::new();
    let tree = tree(topology, connections.nodes, &mut notes)?;
    if u64::from(connections.nodes) > tree.hosts() {
        let (nodes, hosts) = (connections.nodes, tree.hosts());
        let message = format!("Nodes is {nodes}, but the topology has {hosts}");
        return Err(Error::new(
            name,
            message,
            "give a topology with as many nodes",
        ));
    }
    if connections.has_priorities {
        notes.push("prio has no effect: all messages have one class".into());
    }
    let topology = tree.topology()?.to_text();
    let fabric = TopologyText::parse(&topology, "the topology", Times::Exact)?;
    let mut inputs = Inputs {
        topology: Some(fabric),
        flows: vec![None],
        sizes: vec![None],
        traces: vec![None],
        ports: None,
        files: Vec::new(),
    };
    let mut scenario = Scenario::defaults(Profile::Exact);
    let (traffic, text) = if schedule::has_order(&connections) {
        let text = schedule::schedule(&connections, &mut notes)?;
        inputs.traces = vec![Some(vec![TraceFile {
            key: "workload[0].path".into(),
            name,
            bytes: text.clone().into_bytes(),
        }])];
        (Traffic::Schedule, text)
    } else {
        let messages = schedule::messages(&connections, &mut notes)?;
        let text = flows::to_text(&messages);
        inputs.files.push(SideFile {
            key: "workload[0].path".into(),
            path,
            text: text.clone(),
        });
        inputs.flows = vec![Some(messages.into_iter().map(Flow::from).collect())];
        (Traffic::Flows, text)
    };
    name_files(
        &mut scenario,
        traffic,
        "topology.txt",
        &format!("case{}", traffic.ending()),
    );
    let stem = matrix.file_stem().and_then(|stem| stem.to_str());
    scenario.name = stem.unwrap_or("htsim").into();
    scenario.resolve();
    validate(&scenario, &inputs)?;
    notes.push("transport, queues and congestion control are arguments of htsim's programs: the scenario has the defaults".into());
    Ok(Imported {
        origin: "htsim",
        scenario,
        topology,
        traffic,
        flows: text,
        notes,
    })
}

fn read(path: &Path) -> Result<(PathBuf, String), Error> {
    let path = plain_or_gzipped(path).unwrap_or_else(|| path.into());
    let text = read_text(&path)?;
    Ok((path, text))
}

fn tree(topology: Option<&Path>, nodes: u32, notes: &mut Vec<String>) -> Result<Tree, Error> {
    let Some(topology) = topology else {
        notes.push("no topology is given: a fat tree of three tiers at 100 Gb/s and 1 us a link, as htsim builds without".into());
        return Tree::usual(nodes);
    };
    let (path, text) = read(topology)?;
    let tree = Tree::parse(&text, &path.display().to_string())?;
    notes.extend(tree.notes()?);
    if tree.has_latency() {
        notes.push("Switch_Latency_ns is divided among the links at a switch, so that every path takes as long".into());
    }
    Ok(tree)
}
