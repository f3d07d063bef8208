//! The files that a scenario names.

use std::path::PathBuf;

use fairlane_multipath::PortFile;

use crate::sizes::SizeDistribution;
use crate::types::Flow;
use fairlane_hpcc_files::TopologyText;
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
    /// The file that `key` names, if it names one.
    pub fn file(&self, key: &str) -> Option<&SideFile> {
        self.files.iter().find(|file| file.key == key)
    }
}
