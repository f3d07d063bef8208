//! The files that a scenario names.

use std::path::{Path, PathBuf};

use fairlane_multipath::PortFile;

use crate::error::Error;
use crate::files::Files;
use crate::section::inside;
use crate::sizes::SizeDistribution;
use crate::trace_files;
use crate::types::{Flow, Plan, Scenario, Sizes, Topology, Workload};
use fairlane_hpcc_files::TopologyText;
use fairlane_hpcc_files::flows;
use fairlane_hpcc_files::lines::number_of;

/// What the files of a scenario say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    /// The topology file.
    pub topology: Option<TopologyText>,
    /// By workload: the messages of a `flows` workload, from its file or listed in the scenario.
    pub flows: Vec<Option<Vec<Flow>>>,
    /// By workload: the sizes of a `poisson` or `key-value` workload, built in, from a file or listed.
    pub sizes: Vec<Option<SizeDistribution>>,
    /// By workload: the files of a `program` workload, by rank if there are several.
    pub traces: Vec<Option<Vec<TraceFile>>>,
    /// The source ports of multipath connections, by pair of hosts.
    pub ports: Option<PortFile>,
    /// The texts of all files, in the order in which the scenario names them.
    pub files: Vec<SideFile>,
}

/// A file that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideFile {
    /// The key that names it, such as `workload[0].path`.
    pub key: String,
    /// Where it was found.
    pub path: PathBuf,
    /// Its text, decompressed.
    pub text: String,
}

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// The key that names it, such as `workload[0].path[1]`.
    pub key: String,
    /// Where it was found.
    pub name: String,
    /// What it holds, decompressed.
    pub bytes: Vec<u8>,
}

impl SideFile {
    /// The place of the `index`th line that isn't blank, counted from 0.
    pub(crate) fn line(&self, index: usize) -> String {
        format!("{}:{}", self.path.display(), number_of(&self.text, index))
    }
}

impl Inputs {
    /// Reads the files that `scenario` names; `x.gz` stands in for `x`.
    ///
    /// # Errors
    /// A file that can't be read or is malformed, with its line; an unknown distribution.
    pub fn read(scenario: &Scenario, files: Files<'_>) -> Result<Self, Error> {
        let mut inputs = Self::default();
        if let Topology::File(file) = &scenario.topology {
            let (text, file) = inputs.open(files, &file.path, "topology.path".into())?;
            inputs.topology = Some(TopologyText::parse(&text, &file, scenario.profile.into())?);
        }
        let plan = scenario.multipath.as_ref().map(|it| &it.plan);
        if let Some(Plan::File { file }) = plan {
            let (text, name) = inputs.open(files, file, "multipath.plan.file".into())?;
            inputs.ports = Some(PortFile::parse(&text, &name)?);
        }
        for (i, workload) in scenario.workload.iter().enumerate() {
            let key = |key: &str| format!("workload[{i}].{key}");
            let (mut sizes, mut flows, mut traces) = (None, None, None);
            match workload {
                Workload::Poisson(it) => {
                    sizes = Some(inputs.sizes_of(&it.sizes, files, key("sizes"))?);
                }
                Workload::KeyValue(it) => {
                    let read = |stated| inputs.sizes_of(stated, files, key("sizes"));
                    sizes = it.sizes.as_ref().map(read).transpose()?;
                }
                Workload::Flows(it) => {
                    flows = Some(match &it.path {
                        Some(path) => {
                            let (text, file) = inputs.open(files, path, key("path"))?;
                            let messages = flows::parse(&text, &file, scenario.profile.into())?;
                            messages.into_iter().map(Flow::from).collect()
                        }
                        None => it.flow.clone(),
                    });
                }
                Workload::Program(it) => {
                    traces = Some(trace_files::read(&it.path, files, &key("path"))?);
                }
                _ => {}
            }
            inputs.traces.push(traces);
            inputs.sizes.push(sizes);
            inputs.flows.push(flows);
        }
        Ok(inputs)
    }

    /// The file that `key` names, if it names one.
    pub fn file(&self, key: &str) -> Option<&SideFile> {
        self.files.iter().find(|file| file.key == key)
    }

    fn sizes_of(
        &mut self,
        sizes: &Sizes,
        files: Files<'_>,
        key: String,
    ) -> Result<SizeDistribution, Error> {
        match sizes {
            Sizes::Points(points) => {
                let distribution = SizeDistribution::new(points.clone());
                distribution.map_err(|error| inside(error, key))
            }
            Sizes::Named(name) if name.contains(['/', '.']) => {
                let (text, file) = self.open(files, Path::new(name), key)?;
                SizeDistribution::parse(&text, file.strip_suffix(".gz").unwrap_or(&file))
            }
            Sizes::Named(name) => SizeDistribution::built_in(name).map_err(|error| error.at(key)),
        }
    }

    /// Reads and keeps a file; its text, and its name for messages.
    fn open(
        &mut self,
        files: Files<'_>,
        path: &Path,
        key: String,
    ) -> Result<(String, String), Error> {
        let (found, text) = files.read(path, &key)?;
        let file = found.display().to_string();
        self.files.push(SideFile {
            key,
            path: found,
            text: text.clone(),
        });
        Ok((text, file))
    }
}
