//! Which paths packets between two hosts take, without running anything.

use fairlane_network::five_tuple::FiveTuple;
use fairlane_network::forwarding::Plan;
use fairlane_network::path::Path;
use fairlane_network::routing::{Graph, Leg, PortPair, Routes};
use fairlane_network::topology::Topology;
use fairlane_scenario::{Error, Loaded};
use fairlane_units::NodeId;

use crate::rules::Rules;
use crate::schedule::PortChooser;
use crate::simulation::build_topology;

/// The most paths that are listed one by one.
const MOST: usize = 4096;

/// The paths between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paths {
    /// The source port decides: one path there and back for each.
    ByPort(Vec<PathPreview>),
    /// Every packet may take any of these; where hosts have several ports, those by the ports of its message.
    Any(AnyPath),
}

/// The paths of one source port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPreview {
    /// UDP source port of the data.
    pub source_port: u16,
    /// The path of data.
    pub forward: Path,
    /// The path of acknowledgements.
    pub reverse: Path,
}

/// Paths of equal length, among which switches choose packet by packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnyPath {
    /// Paths that data may take.
    pub forward: Vec<Path>,
    /// Paths that acknowledgements may take.
    pub reverse: Vec<Path>,
    /// Whether there are more in either direction than are listed.
    pub more: bool,
}

/// The paths of messages through a fabric in which the source port decides.
pub struct PortPaths {
    graph: Graph,
    routes: Routes,
    plan: Plan,
    rules: Rules,
}

impl std::fmt::Debug for PortPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortPaths").finish_non_exhaustive()
    }
}

impl PortPaths {
    /// The paths through a scenario's fabric as it is at the start.
    ///
    /// # Errors
    /// If the fabric is unsound.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let rules = Rules::new(&loaded.scenario);
        let graph = Graph::new(&build_topology(loaded)?);
        let routes = Routes::new(&graph);
        let forwarding = loaded.scenario.switch.forwarding;
        let plan = Plan::new(forwarding, &graph, rules.net.seeds, rules.net.seed);
        Ok(Self {
            graph,
            routes,
            plan,
            rules,
        })
    }

    /// The path of the data of a message by its ends and ports; by the ports of messages whose workload
    /// states no plane. Nothing if switches choose packet by packet, if there is no path, or if an end isn't a host.
    pub fn of(
        &self,
        (source, destination): (NodeId, NodeId),
        (source_port, destination_port): (u16, u16),
    ) -> Option<Path> {
        let is_host = |node: NodeId| self.graph.is_switch.get(node.index()) == Some(&false);
        if !self.plan.foreseen || !is_host(source) || !is_host(destination) {
            return None;
        }
        let tuple = FiveTuple {
            source,
            destination,
            source_port,
            destination_port: self.rules.destination_port(destination_port),
        };
        let ports = PortChooser::new(&self.graph, self.rules.net.seeds).ports(&tuple, 0, None);
        self.path(&Leg { tuple, ports })
    }

    fn path(&self, leg: &Leg) -> Option<Path> {
        let ports = self.plan.fixed_path(&self.graph, &self.routes, leg)?;
        let first = self.graph.host_edge(leg.from()).port;
        let ports = std::iter::once(first).chain(ports);
        Some(Path::new(&self.graph, leg.tuple.source, ports))
    }

    /// All paths of packets with a five-tuple, and of the answers to them, if there are any.
    fn any(&self, tuple: &FiveTuple) -> Option<AnyPath> {
        let pairs = self.graph.port_pairs([tuple.source, tuple.destination]);
        let legs = |ports: PortPair| Leg {
            tuple: *tuple,
            ports,
        };
        let swaps = self.rules.net.quirks.five_tuples;
        let there = pairs.iter().copied().map(legs);
        let back = there.clone().map(|leg| leg.answering(swaps));
        let paths = |leg| all_paths(&self.graph, &self.routes, &leg);
        let mut forward: Vec<Path> = there.flat_map(paths).collect();
        let mut reverse: Vec<Path> = back.flat_map(paths).collect();
        let more = forward.len().max(reverse.len()) > MOST;
        let some = !forward.is_empty() && !reverse.is_empty();
        forward.truncate(MOST);
        reverse.truncate(MOST);
        some.then_some(AnyPath {
            forward,
            reverse,
            more,
        })
    }
}

/// The paths that data from `source` to `destination` and its acknowledgements take: for each source port,
/// or all of them if switches choose otherwise. The ports of hosts are those of messages with one path whose workload
/// states no plane. `destination_port` is the label of the message, which profile
/// `hpcc-ns3` hashes.
///
/// # Errors
/// If a node isn't a host, both are the same, or the fabric is unsound.
pub fn paths(
    loaded: &Loaded,
    (source, destination): (NodeId, NodeId),
    source_ports: impl IntoIterator<Item = u16>,
    destination_port: u16,
) -> Result<Paths, Error> {
    let topology = build_topology(loaded)?;
    check_ends(&topology, source, destination)?;
    let ways = PortPaths::new(loaded)?;
    let PortPaths {
        graph, plan, rules, ..
    } = &ways;
    let tuple = |source_port| FiveTuple {
        source,
        destination,
        source_port,
        destination_port: rules.destination_port(destination_port),
    };
    let cut_off = || {
        let message = format!("there is no path from {source} to {destination}");
        let hint = "links that are down at the start cut them off";
        Error::new("DST", message, hint)
    };
    if !plan.foreseen {
        return ways.any(&tuple(0)).map(Paths::Any).ok_or_else(cut_off);
    }
    let path = |leg| ways.path(&leg).ok_or_else(cut_off);
    let mut chooser = PortChooser::new(graph, rules.net.seeds);
    let mut preview = |source_port| {
        let tuple = tuple(source_port);
        let there = Leg {
            ports: chooser.ports(&tuple, 0, None),
            tuple,
        };
        Ok(PathPreview {
            source_port,
            forward: path(there)?,
            reverse: path(there.answering(rules.net.quirks.five_tuples))?,
        })
    };
    let previews = source_ports.into_iter().map(&mut preview);
    previews.collect::<Result<_, _>>().map(Paths::ByPort)
}

fn check_ends(topology: &Topology, source: NodeId, destination: NodeId) -> Result<(), Error> {
    for (name, node) in [("SRC", source), ("DST", destination)] {
        if !topology.is_host(node) {
            let message = format!("node {node} is not a host");
            let hosts: Vec<u32> = topology.hosts().map(NodeId::get).collect();
            let hint = match (hosts.first(), hosts.last()) {
                // Hosts have the lowest numbers in every shape; files may have others.
                (Some(first), Some(last)) if (last - first) as usize + 1 == hosts.len() => {
                    format!("hosts are the nodes {first} to {last}")
                }
                _ => "`fairlane topology` lists the hosts".to_owned(),
            };
            return Err(Error::new(name, message, hint));
        }
    }
    if source == destination {
        let message = format!("{destination} is the source itself");
        return Err(Error::new("DST", message, "name two different hosts"));
    }
    Ok(())
}

/// All shortest paths between two ports, in the order of ports at the first switch where they differ; one more than
/// [`MOST`] if there are more.
fn all_paths(graph: &Graph, routes: &Routes, leg: &Leg) -> Vec<Path> {
    let start = vec![graph.host_edge(leg.from()).port];
    let (mut open, mut found) = (vec![start], Vec::new());
    while let Some(ports) = open.pop() {
        let here = graph.peer(ports[ports.len() - 1]);
        if here == leg.tuple.destination.get() {
            found.push(Path::new(graph, leg.tuple.source, ports));
            if found.len() > MOST {
                break;
            }
            continue;
        }
        let next = routes.towards(routes.number(here), leg.to(), true);
        // The last one that is put down is looked at next.
        for &port in next.iter().rev() {
            let mut longer = ports.clone();
            longer.push(port);
            open.push(longer);
        }
    }
    found
}
