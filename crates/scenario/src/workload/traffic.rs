//! Between whom data flows.

use std::collections::BTreeSet;

use fairlane_units::NodeId;

use super::context::Context;
use super::verb::Verb;
use crate::host_set::HostSet;

/// Hosts that put data on the fabric, and hosts that it goes to: any of these to any of those.
pub(crate) struct Traffic {
    pub(crate) senders: BTreeSet<NodeId>,
    pub(crate) receivers: BTreeSet<NodeId>,
}

impl Traffic {
    /// What hosts that post put on the fabric with those that they name, or get from them.
    pub(crate) fn of(verb: Verb, asking: BTreeSet<NodeId>, asked: BTreeSet<NodeId>) -> Self {
        let (senders, receivers) = match verb {
            Verb::Read => (asked, asking),
            _ => (asking, asked),
        };
        Self { senders, receivers }
    }

    /// The traffic of sets of hosts: those that post, and those that they name.
    pub(super) fn between(context: &Context<'_>, verb: Verb, ends: [&HostSet; 2]) -> Self {
        let [asking, asked] = ends.map(|set| resolved(context.hosts, set));
        Self::of(verb, asking, asked)
    }
}

/// The hosts of a set. What it says wrongly is refused where workloads and attacks are checked.
pub(crate) fn resolved(hosts: &[NodeId], set: &HostSet) -> BTreeSet<NodeId> {
    let hosts = set.resolve(hosts).unwrap_or_default();
    hosts.into_iter().collect()
}
