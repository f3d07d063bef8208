//! Sets of hosts as text.

use std::collections::BTreeSet;

use fairlane_units::NodeId;

use crate::error::Error;
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
        let fail = |message: String, hint: &str| {
            Error::new(format!("hosts \"{}\"", shorten(&self.0)), message, hint)
        };
        let mut chosen = BTreeSet::new();
        for part in self.0.split(',').map(str::trim) {
            let (first, last) = range(part).ok_or_else(|| {
                let message = format!(
                    "\"{}\" is no host, expected a number or a range",
                    shorten(part)
                );
                fail(message, "write \"all\", \"0-15\" or \"0,4,8-11\"")
            })?;
            let start = hosts.partition_point(|host| host.get() < first);
            let end = hosts.partition_point(|host| host.get() <= last);
            let members = hosts.get(start..end).unwrap_or(&[]);
            if members.len() as u64 != u64::from(last - first) + 1 {
                let message = missing(members, first, last);
                return Err(fail(
                    message,
                    "hosts are named by node number; `fairlane topology` lists them",
                ));
            }
            if let Some(twice) = members.iter().find(|host| !chosen.insert(**host)) {
                return Err(fail(
                    format!("host {twice} is named twice"),
                    "name every host once",
                ));
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

/// Digits only: `+5` is none.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// The first number of the range that isn't a host.
fn missing(members: &[NodeId], first: u32, last: u32) -> String {
    let gap = (first..=last)
        .zip(members)
        .find(|(number, host)| *number != host.get());
    let after = first.saturating_add(u32::try_from(members.len()).unwrap_or(0));
    let absent = gap.map_or(after, |(number, _)| number);
    format!("node {absent} isn't a host, expected hosts only")
}
