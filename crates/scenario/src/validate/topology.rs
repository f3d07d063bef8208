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
    for (key, count) in parts(topology).0 {
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
    for (key, link) in parts(&subject.scenario.topology).1 {
        rate(&format!("topology.{key}.rate"), link.rate)?;
        let place = format!("topology.{key}.delay");
        span(profile, &place, link.delay)?;
        within(&place, link.delay, shortest_delay(profile), LONGEST_DELAY)?;
    }
    Ok(())
}

type Named<T> = Vec<(&'static str, T)>;

/// The counts and the links of a shape by their keys.
fn parts(topology: &Topology) -> (Named<u32>, Named<LinkSpec>) {
    macro_rules! named {
        ($($key:ident),*) => { vec![$((stringify!($key), $key)),*] };
    }
    match *topology {
        Topology::Dumbbell {
            left,
            right,
            host_link,
            core_link,
        } => (named![left, right], named![host_link, core_link]),
        Topology::Star {
            hosts, host_link, ..
        } => (named![hosts], named![host_link]),
        Topology::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            host_link,
            fabric_link,
            ..
        } => (
            named![leaves, spines, hosts_per_leaf],
            named![host_link, fabric_link],
        ),
        Topology::Mesh {
            switches,
            hosts_per_switch,
            host_link,
            fabric_link,
        } => (
            named![switches, hosts_per_switch],
            named![host_link, fabric_link],
        ),
        Topology::FatTree {
            pods,
            tors_per_pod,
            aggregations_per_pod,
            cores,
            hosts_per_tor,
            host_link,
            fabric_link,
            ..
        } => (
            named![
                pods,
                tors_per_pod,
                aggregations_per_pod,
                cores,
                hosts_per_tor
            ],
            named![host_link, fabric_link],
        ),
        Topology::File { .. } => (Vec::new(), Vec::new()),
    }
}
