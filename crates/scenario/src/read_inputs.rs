//! Reads the files that a scenario names.

use std::path::Path;

use fairlane_multipath::PortFile;

use crate::error::Error;
use crate::files::Files;
use crate::inputs::{Inputs, SideFile};
use crate::section::inside;
use crate::sizes::{SizeDistribution, Sizes};
use crate::trace_files;
use crate::types::{Flow, Plan, Scenario, Topology};
use crate::workload::Source;
use fairlane_hpcc_files::TopologyText;
use fairlane_hpcc_files::flows;

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
            match workload.kind().source() {
                Source::Keys => {}
                Source::Sizes(stated) => {
                    sizes = Some(inputs.sizes_of(stated, files, key("sizes"))?);
                }
                Source::Messages(Some(path), _) => {
                    let (text, file) = inputs.open(files, path, key("path"))?;
                    let messages = flows::parse(&text, &file, scenario.profile.into())?;
                    flows = Some(messages.into_iter().map(Flow::from).collect());
                }
                Source::Messages(None, listed) => flows = Some(listed.to_vec()),
                Source::Trace(path) => {
                    traces = Some(trace_files::read(path, files, &key("path"))?);
                }
            }
            inputs.traces.push(traces);
            inputs.sizes.push(sizes);
            inputs.flows.push(flows);
        }
        Ok(inputs)
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
