//! Sets of hosts as text.

use std::collections::BTreeSet;

use fairlane_units::NodeId;

use crate::capture_point::number;
use crate::error::{Error, ensure, mistake};
use crate::types::HostSet;
use fairlane_hpcc_files::lines::shorten;

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
            let start = hosts.partition_point(|host| host.get() < first);
            let end = hosts.partition_point(|host| host.get() <= last);
            let members = hosts.get(start..end).unwrap_or(&[]);
            ensure!(members.len() as u64 == u64::from(last - first) + 1, place(),
                "node {} isn't a host, expected hosts only", missing(members, first, last);
                "hosts are named by node number; `fairlane topology` lists them");
            for host in members {
                ensure!(chosen.insert(*host), place(),
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

/// The first number of the range that isn't a host.
fn missing(members: &[NodeId], first: u32, last: u32) -> u32 {
    let mut numbered = (first..=last).zip(members);
    let gap = numbered.find(|(number, host)| *number != host.get());
    let after = first.saturating_add(u32::try_from(members.len()).unwrap_or(0));
    gap.map_or(after, |(number, _)| number)
}
