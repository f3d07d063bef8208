//! What must hold for every topology.

use fairlane_scenario::Topology as Shape;
use fairlane_units::NodeId;

use super::graph::Graph;
use super::{Link, Topology, TopologyError};

const MAX_NODES: u128 = 1 << 20;
const MAX_LINKS: u128 = 1 << 22;

/// Refuses fabrics that no run could hold. Products of three 32-bit counts fit the arguments.
pub(crate) fn size(nodes: u128, links: u128) -> Result<(), TopologyError> {
    if nodes > MAX_NODES || links > MAX_LINKS {
        return Err(TopologyError::TooLarge { nodes, links });
    }
    Ok(())
}

/// Refuses shapes that can't be generated.
pub(crate) fn shape(shape: &Shape) -> Result<(), TopologyError> {
    let counts = fairlane_scenario::counts(shape);
    let nodes = u128::from(counts.hosts) + u128::from(counts.switches);
    size(nodes, u128::from(counts.links))?;
    if counts.hosts == 0 {
        return Err(TopologyError::NoHosts);
    }
    if let Shape::FatTree(it) = shape {
        let (cores, aggregations) = (it.cores, it.aggregations_per_pod);
        if cores.checked_rem(aggregations).unwrap_or(cores) != 0 {
            return Err(TopologyError::UnevenCores {
                cores,
                aggregations,
            });
        }
    }
    Ok(())
}

pub(crate) fn all(topology: &Topology) -> Result<(), TopologyError> {
    if topology.hosts().next().is_none() {
        return Err(TopologyError::NoHosts);
    }
    ends(topology)?;
    losses(&topology.links)?;
    let graph = Graph::new(topology);
    host_links(topology, &graph)?;
    topology.planes().map_err(TopologyError::Planes)?;
    connected(topology, &graph)
}

fn ends(topology: &Topology) -> Result<(), TopologyError> {
    let nodes = topology.nodes.len();
    for (number, link) in (1..).zip(&topology.links) {
        for node in [link.a, link.b] {
            if node.index() >= nodes {
                let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
                return Err(TopologyError::UnknownNode {
                    link: number,
                    node,
                    nodes,
                });
            }
        }
        if link.a == link.b {
            return Err(TopologyError::SelfLink {
                link: number,
                node: link.a,
            });
        }
        if link.rate.is_zero() {
            let ends = TopologyError::ends(link);
            return Err(TopologyError::ZeroRate { link: number, ends });
        }
    }
    Ok(())
}

pub(crate) fn losses(links: &[Link]) -> Result<(), TopologyError> {
    let unsound = (1..)
        .zip(links)
        .find(|(_, link)| !(0.0..=1.0).contains(&link.loss));
    match unsound {
        Some((number, link)) => Err(TopologyError::Loss {
            link: number,
            ends: TopologyError::ends(link),
            loss: link.loss,
        }),
        None => Ok(()),
    }
}

fn host_links(topology: &Topology, graph: &Graph) -> Result<(), TopologyError> {
    for host in topology.hosts() {
        if graph.neighbours(host).is_empty() {
            return Err(TopologyError::Unlinked { host });
        }
    }
    Ok(())
}

/// Every host reaches every other, and every switch a host. Where hosts have several ports, they have been looked at pair
/// by pair.
fn connected(topology: &Topology, graph: &Graph) -> Result<(), TopologyError> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let Some(&first) = hosts.first() else {
        return Err(TopologyError::NoHosts);
    };
    let (from_first, from_any) = (graph.distances(&[first]), graph.distances(&hosts));
    let lost = |distances: &[Option<u32>], node: &NodeId| distances[node.index()].is_none();
    let mut switches = topology.switches();
    let cut_off = hosts.into_iter().find(|host| lost(&from_first, host));
    match cut_off.or_else(|| switches.find(|switch| lost(&from_any, switch))) {
        Some(to) => Err(TopologyError::Disconnected { from: first, to }),
        None => Ok(()),
    }
}
