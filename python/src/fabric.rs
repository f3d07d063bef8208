//! What a fabric is, without traffic.

use std::path::PathBuf;

use fairlane_fabric::{Path, PathPreview, Paths};
use fairlane_results::topology::Report;
use fairlane_units::NodeId;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{error, source};

/// A source port, and the paths there and back: first nodes, then indices of links.
type Row = (
    Option<u16>,
    Option<Vec<u32>>,
    Option<Vec<u32>>,
    Option<Vec<Option<u32>>>,
    Option<Vec<Option<u32>>>,
);

/// What `fairlane topology --format json` prints.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, *, folder = PathBuf::new()))]
pub(crate) fn topology(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    folder: PathBuf,
) -> PyResult<String> {
    let loaded = source::load(scenario, overrides, None, &folder)?;
    let report = py.detach(|| Report::new(&loaded));
    let report = report.map_err(|error| error::scenario(&error))?;
    fairlane_results::to_json(&report).map_err(error::results)
}

/// The ways between two hosts, by source port if that decides.
#[pyfunction]
#[pyo3(signature = (scenario, overrides, ends, ports, destination_port, *, folder = PathBuf::new()))]
pub(crate) fn paths(
    scenario: &Bound<'_, PyAny>,
    overrides: &Bound<'_, PyDict>,
    ends: (u32, u32),
    ports: (u16, u16),
    destination_port: u16,
    folder: PathBuf,
) -> PyResult<Vec<Row>> {
    let loaded = source::load(scenario, overrides, None, &folder)?;
    let ends = (NodeId::new(ends.0), NodeId::new(ends.1));
    let found = fairlane_fabric::paths(&loaded, ends, ports.0..=ports.1, destination_port);
    let found = found.map_err(|error| error::scenario(&error))?;
    Ok(match found {
        Paths::ByPort(previews) => {
            let rows = previews.into_iter();
            let row =
                |one: PathPreview| row(Some(one.source_port), Some(one.forward), Some(one.reverse));
            rows.map(row).collect()
        }
        Paths::Any(any) => {
            let forward = any.forward.into_iter();
            let forward = forward.map(|path| row(None, Some(path), None));
            let reverse = any.reverse.into_iter();
            let reverse = reverse.map(|path| row(None, None, Some(path)));
            forward.chain(reverse).collect()
        }
    })
}

fn row(source_port: Option<u16>, forward: Option<Path>, reverse: Option<Path>) -> Row {
    let nodes = |path: &Path| path.nodes.iter().map(|node| node.get()).collect();
    (
        source_port,
        forward.as_ref().map(nodes),
        reverse.as_ref().map(nodes),
        forward.map(|path| path.indices),
        reverse.map(|path| path.indices),
    )
}
