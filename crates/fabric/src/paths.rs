//! Which source port takes which path, without running anything.

use fairlane_scenario::{Error, Loaded};
use fairlane_units::NodeId;

use crate::baseline::both_ways;
use crate::routing::{FiveTuple, Graph, Routes};
use crate::rules::Rules;
use crate::simulation::build_topology;

/// The way of one source port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPreview {
    /// UDP source port of the data.
    pub source_port: u16,
    /// Nodes that data passes, both ends included.
    pub forward: Vec<NodeId>,
    /// Nodes that acknowledgements pass, both ends included.
    pub reverse: Vec<NodeId>,
}

/// The ways that data from `source` to `destination` and its acknowledgements take, for each source
/// port. `destination_port` is the label of the message, which profile `hpcc-ns3` hashes.
///
/// # Errors
/// If a node isn't a host, both are the same, or the fabric is unsound.
pub fn paths(
    loaded: &Loaded,
    (source, destination): (NodeId, NodeId),
    source_ports: impl IntoIterator<Item = u16>,
    destination_port: u16,
) -> Result<Vec<PathPreview>, Error> {
    let topology = build_topology(loaded)?;
    for (name, node) in [("SRC", source), ("DST", destination)] {
        if !topology.is_host(node) {
            let message = format!("node {node} is not a host");
            return Err(Error::new(
                name,
                message,
                "`fairlane topology` lists the hosts",
            ));
        }
    }
    if source == destination {
        let message = format!("{destination} is the source itself");
        return Err(Error::new("DST", message, "name two different hosts"));
    }
    let rules = Rules::new(&loaded.scenario);
    let graph = Graph::new(&topology);
    let routes = Routes::new(&graph);
    let preview = |source_port| {
        let destination_port = rules.destination_port(destination_port);
        let tuple = FiveTuple {
            source,
            destination,
            source_port,
            destination_port,
        };
        let ways = both_ways(&graph, &routes, &tuple, &rules).ok_or_else(|| {
            let message = format!("there is no way from {source} to {destination}");
            Error::new(
                "DST",
                message,
                "links that are down at the start cut them off",
            )
        })?;
        let nodes = |start: NodeId, way: &[u32]| {
            let first = graph.host_edge(start);
            let visited = way.iter().map(|&port| graph.peer(port));
            [start.get(), first.to]
                .into_iter()
                .chain(visited)
                .map(NodeId::new)
                .collect()
        };
        Ok(PathPreview {
            source_port,
            forward: nodes(source, &ways[0]),
            reverse: nodes(destination, &ways[1]),
        })
    };
    source_ports.into_iter().map(preview).collect()
}
