//! What a fabric is, without traffic.

use std::path::PathBuf;

use fairlane_fabric::Paths;
use fairlane_results::topology::Report;
use fairlane_units::NodeId;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{error, source};

/// A source port, and the ways there and back.
type Way = (Option<u16>, Option<Vec<u32>>, Option<Vec<u32>>);

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
) -> PyResult<Vec<Way>> {
    let loaded = source::load(scenario, overrides, None, &folder)?;
    let ends = (NodeId::new(ends.0), NodeId::new(ends.1));
    let found = fairlane_fabric::paths(&loaded, ends, ports.0..=ports.1, destination_port);
    let found = found.map_err(|error| error::scenario(&error))?;
    Ok(match found {
        Paths::ByPort(previews) => {
            let ways = previews.into_iter();
            ways.map(|way| {
                (
                    Some(way.source_port),
                    Some(numbers(&way.forward)),
                    Some(numbers(&way.reverse)),
                )
            })
            .collect()
        }
        Paths::Any(any) => {
            let forward = any
                .forward
                .iter()
                .map(|way| (None, Some(numbers(way)), None));
            let reverse = any
                .reverse
                .iter()
                .map(|way| (None, None, Some(numbers(way))));
            forward.chain(reverse).collect()
        }
    })
}

fn numbers(way: &[NodeId]) -> Vec<u32> {
    way.iter().map(|node| node.get()).collect()
}
