//! Sets of hosts as text.

use std::collections::BTreeSet;

use fairlane_units::NodeId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture_point::number;
use crate::error::{Error, bail, ensure, mistake};
use fairlane_hpcc_files::lines::shorten;

/// A set of hosts by node number: `"all"`, `"0-15"`, `"0,4,8-11"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HostSet(pub String);

impl Default for HostSet {
    fn default() -> Self {
        Self("all".into())
    }
}

impl HostSet {
    /// Whether it is the set of all hosts by name.
    pub fn is_all(&self) -> bool {
        self.0.trim() == "all"
    }

    /// The hosts of the set among `hosts` (ascending), in ascending order.
    ///
    /// # Errors
    /// A text that isn't a set, a node that isn't a host, a host named twice; the place is the set.
    pub fn resolve(&self, hosts: &[NodeId]) -> Result<Vec<NodeId>, Error> {
        if self.is_all() {
            return Ok(hosts.to_vec());
        }
        let place = || format!("hosts \"{}\"", shorten(&self.0));
        let mut chosen = BTreeSet::new();
        for part in self.0.split(',').map(str::trim) {
            let (first, last) = range(part).ok_or_else(|| {
                mistake!(place(), "\"{}\" is no host, expected a number or a range", shorten(part);
                    "write \"all\", \"0-15\" or \"0,4,8-11\"")
            })?;
            let is_host = |node: &u32| hosts.binary_search(&NodeId::new(*node)).is_ok();
            if let Some(node) = (first..=last).find(|node| !is_host(node)) {
                bail!(place(), "node {node} isn't a host, expected hosts only";
                    "hosts are named by node number; `fairlane topology` lists them");
            }
            for host in (first..=last).map(NodeId::new) {
                ensure!(chosen.insert(host), place(),
                    "host {host} is named twice"; "name every host once");
            }
        }
        Ok(chosen.into_iter().collect())
    }
}

fn range(part: &str) -> Option<(u32, u32)> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (number(first.trim())?, number(last.trim())?);
    (first <= last).then_some((first, last))
}
