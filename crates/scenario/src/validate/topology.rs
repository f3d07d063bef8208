//! Counts and links of generated topologies.

use super::limits::{fail, positive, rate, span, within};
use super::{Check, Subject};
use crate::layout::counts;
use crate::planes::MOST_PLANES;
use crate::topology_text::{LONGEST_DELAY, MOST_LINKS, MOST_NODES, shortest_delay};
use crate::types::{LinkSpec, Scenario, Topology};

/// Checks that a generated topology has a sensible size, before it is generated.
pub(super) fn check_counts(scenario: &Scenario) -> Check {
    let topology = &scenario.topology;
    within("topology.planes", topology.planes(), 1, MOST_PLANES)?;
    for (key, count) in named_counts(topology) {
        positive(&format!("topology.{key}"), count)?;
    }
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

pub(super) fn check_links(subject: &Subject<'_>) -> Check {
    let profile = subject.scenario.profile;
    for (key, link) in named_links(&subject.scenario.topology) {
        rate(&format!("topology.{key}.rate"), link.rate)?;
        let place = format!("topology.{key}.delay");
        span(profile, &place, link.delay)?;
        within(&place, link.delay, shortest_delay(profile), LONGEST_DELAY)?;
    }
    Ok(())
}

fn named_counts(topology: &Topology) -> Vec<(&'static str, u32)> {
    match *topology {
        Topology::Dumbbell { left, right, .. } => vec![("left", left), ("right", right)],
        Topology::Star { hosts, .. } => vec![("hosts", hosts)],
        Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            ..
        } => {
            vec![
                ("leaves", leaves),
                ("spines", spines),
                ("hosts_per_leaf", hosts_per_leaf),
            ]
        }
        Topology::Mesh {
            switches,
            hosts_per_switch,
            ..
        } => {
            vec![
                ("switches", switches),
                ("hosts_per_switch", hosts_per_switch),
            ]
        }
        Topology::FatTree {
            pods,
            tors_per_pod,
            aggregations_per_pod,
            cores,
            hosts_per_tor,
            ..
        } => {
            vec![
                ("pods", pods),
                ("tors_per_pod", tors_per_pod),
                ("aggregations_per_pod", aggregations_per_pod),
                ("cores", cores),
                ("hosts_per_tor", hosts_per_tor),
            ]
        }
        Topology::File { .. } => Vec::new(),
    }
}

fn named_links(topology: &Topology) -> Vec<(&'static str, LinkSpec)> {
    match *topology {
        Topology::Dumbbell {
            host_link,
            core_link,
            ..
        } => {
            vec![("host_link", host_link), ("core_link", core_link)]
        }
        Topology::Star { host_link, .. } => vec![("host_link", host_link)],
        Topology::LeafSpine {
            host_link,
            fabric_link,
            ..
        }
        | Topology::Mesh {
            host_link,
            fabric_link,
            ..
        }
        | Topology::FatTree {
            host_link,
            fabric_link,
            ..
        } => {
            vec![("host_link", host_link), ("fabric_link", fabric_link)]
        }
        Topology::File { .. } => Vec::new(),
    }
}
