//! Counts of generated topologies.

use super::Check;
use super::limits::fail;
use crate::layout::counts;
use crate::types::{Scenario, Topology};
use fairlane_hpcc_files::{MOST_LINKS, MOST_NODES};

/// Checks that a generated topology has a sensible size, before it is generated.
pub(super) fn check(scenario: &Scenario) -> Check {
    let topology = &scenario.topology;
    if let Topology::FatTree {
        aggregations_per_pod,
        cores,
        ..
    } = topology
        && !cores.is_multiple_of(*aggregations_per_pod)
    {
        let message = format!(
            "is {cores}, expected a multiple of aggregations_per_pod, {aggregations_per_pod}"
        );
        let below = cores - cores % aggregations_per_pod;
        let nearest = if below == 0 {
            *aggregations_per_pod
        } else {
            below
        };
        return fail("topology.cores", message, format!("write {nearest}"));
    }
    let size = counts(topology);
    let nodes = size.hosts.saturating_add(size.switches);
    if nodes > MOST_NODES || size.links > MOST_LINKS {
        let message = format!(
            "{nodes} nodes and {} links, expected at most {MOST_NODES} and {MOST_LINKS}",
            size.links
        );
        return fail("topology", message, "lower the counts");
    }
    Ok(())
}
