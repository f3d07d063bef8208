//! From the section of a scenario to queue pairs with source ports.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use fairlane_multipath::{PathPlan, PortFile};
use fairlane_network::five_tuple::address;
use fairlane_network::flow::Flow;
use fairlane_network::packet::NONE;
use fairlane_network::topology::Topology;
use fairlane_scenario::{Error, Loaded, Multipath as Section, Plan, Workload};
use fairlane_units::{Duration, FlowId, HostId, MessageId, QpId};

use super::thread::DriverThread;
use super::{Costs, Multipath, MultipathConnection, Tallies};
use crate::MessageSpec;
use crate::carriers::Shared;
use crate::schedule::{PortChooser, shares};
use crate::spec::ConnectionSpec;
use crate::traffic::Traffic;

/// Queue pairs of a run at most.
const MOST_SUBFLOWS: usize = 1 << 26;
/// The dynamic ports (RFC 6335), among which the next ports are found.
const DYNAMIC: u16 = 0xc000;
const DYNAMIC_PORTS: u32 = 1 << 14;

/// What the messages that share a connection of several paths have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sharing {
    shared: Shared,
    paths: u32,
}

/// Builds what stands behind messages with several paths; `None` if there are none. `qps` are the queue pairs
/// that stay open; those of paths get a specification each behind them.
///
/// # Errors
/// If there are too many queue pairs.
pub(crate) fn build(
    loaded: &Loaded,
    topology: &Topology,
    host_of: &[HostId],
    messages: &[MessageSpec],
    qps: &mut Vec<ConnectionSpec>,
) -> Result<Option<Box<Multipath>>, Error> {
    let scenario = &loaded.scenario;
    let Some(section) = &scenario.multipath else {
        return Ok(None);
    };
    let first = next_flow(messages, qps);
    let divided = divide(loaded, section, host_of, messages, qps)?;
    if divided.connections.is_empty() {
        return Ok(None);
    }
    let rates = topology.host_rates();
    let of_hosts = topology.hosts().map(|host| rates[host.index()]);
    let slowest = of_hosts.min().unwrap_or_default();
    let plan = Ports::new(section, loaded.inputs.ports.as_ref(), &divided.connections)?;
    Ok(Some(Box::new(Multipath {
        settings: Arc::new(section.settings(scenario.packet.mtu, slowest)),
        twins: section.twins,
        costs: section.costs.map_or_else(Costs::default, |costs| Costs {
            post: costs.post,
            poll: costs.poll,
            split: costs.split,
            reassemble: costs.reassemble,
        }),
        coupled: section.coupled,
        seed: scenario.seed,
        first,
        connections: divided.connections,
        of_message: divided.of_message.into(),
        of_subflow: divided.of_subflow.into(),
        senders: BTreeMap::new(),
        receivers: BTreeMap::new(),
        threads: vec![DriverThread::default(); topology.hosts().count()],
        plan,
        outputs: Vec::new(),
        tallies: Tallies::default(),
    })))
}

/// Which messages have which queue pairs.
struct Divided {
    connections: Vec<MultipathConnection>,
    of_message: Vec<u32>,
    of_subflow: Vec<u32>,
}

/// Finds the connections of messages, and adds the specifications of their queue pairs.
fn divide(
    loaded: &Loaded,
    section: &Section,
    host_of: &[HostId],
    messages: &[MessageSpec],
    qps: &mut Vec<ConnectionSpec>,
) -> Result<Divided, Error> {
    let (mut connections, mut of_message) = (
        Vec::<MultipathConnection>::new(),
        vec![NONE; messages.len()],
    );
    let mut of_subflow = Vec::new();
    let mut known: BTreeMap<Sharing, u32> = BTreeMap::new();
    for (message, spec) in messages.iter().enumerate() {
        let paths = paths_of(section, &loaded.scenario.workload, spec);
        if paths <= 1 {
            continue;
        }
        let shares = shares(&loaded.scenario, spec);
        let next = connections.len() as u32;
        let connection = match Shared::of(spec).filter(|_| shares) {
            Some(shared) => *known.entry(Sharing { shared, paths }).or_insert(next),
            None => next,
        };
        of_message[message] = connection;
        if let Some(known) = connections.get_mut(connection as usize) {
            known.stays_open = true;
            continue;
        }
        if of_subflow.len() + paths as usize > MOST_SUBFLOWS {
            return Err(too_many());
        }
        connections.push(MultipathConnection {
            first: next_flow(messages, qps),
            paths,
            source: spec.source,
            destination: spec.destination,
            verb: spec.verb,
            hosts: [spec.source, spec.destination].map(|node| host_of[node.index()]),
            stays_open: false,
        });
        for _ in 0..paths {
            of_subflow.push(connection);
            qps.push(ConnectionSpec {
                group: Some(connection),
                ..ConnectionSpec::of(spec)
            });
        }
    }
    Ok(Divided {
        connections,
        of_message,
        of_subflow,
    })
}

/// The flow of the next queue pair.
fn next_flow(messages: &[MessageSpec], qps: &[ConnectionSpec]) -> FlowId {
    Traffic::flow_of_qp(messages.len(), QpId::new(qps.len() as u32))
}

fn too_many() -> Error {
    let message = format!("makes more than {MOST_SUBFLOWS} queue pairs in all");
    let hint = "use fewer paths, or connections = \"pair\"";
    Error::new("multipath.paths", message, hint)
}

/// How many paths a message has. A part of a message has one.
fn paths_of(section: &Section, workloads: &[Workload], spec: &MessageSpec) -> u32 {
    let workload = workloads.get(spec.workload as usize);
    let stated = workload.and_then(Workload::paths);
    match spec.part_of {
        Some(_) => 1,
        None => stated.unwrap_or(section.paths),
    }
}

/// The source ports of paths.
#[derive(Clone, Debug)]
pub(super) enum Ports {
    /// Ports that follow that of the first path.
    Next,
    /// These, by path.
    List(Vec<u16>),
    /// These, by connection.
    Each(Vec<Vec<u16>>),
}

impl Ports {
    fn new(
        section: &Section,
        file: Option<&PortFile>,
        connections: &[MultipathConnection],
    ) -> Result<Self, Error> {
        match &section.plan {
            Plan::Next(_) => Ok(Self::Next),
            Plan::List(list) => Ok(Self::List(list.clone())),
            Plan::File { .. } => {
                let file = file.cloned().ok_or_else(|| {
                    let hint = "load the scenario from its file so that side files are read";
                    Error::new("multipath.plan.file", "hasn't been read", hint)
                })?;
                let plan = PathPlan::File(file);
                let ports = connections
                    .iter()
                    .map(|connection| of_file(&plan, connection));
                Ok(Self::Each(ports.collect::<Result<_, _>>()?))
            }
        }
    }

    /// The source port of a path of a connection whose first one would have `base`.
    fn port(&self, connection: u32, path: u32, base: u16) -> u16 {
        match self {
            Self::Next => {
                let behind = u32::from(base.wrapping_sub(DYNAMIC)) + path;
                DYNAMIC + (behind % DYNAMIC_PORTS) as u16
            }
            Self::List(list) => list[path as usize],
            Self::Each(all) => all[connection as usize][path as usize],
        }
    }
}

/// The ports that a file has for two hosts.
fn of_file(plan: &PathPlan, connection: &MultipathConnection) -> Result<Vec<u16>, Error> {
    let [from, to] = [connection.source, connection.destination]
        .map(|node| IpAddr::V4(Ipv4Addr::from_bits(address(node))));
    let found = plan.resolve(from, to, Some(connection.paths as usize));
    let found = found.map_err(|mistake| {
        let ends = format!(
            "from host {} to host {}",
            connection.source, connection.destination
        );
        let message = format!("{ends}: {}", mistake.message);
        Error::new(mistake.place, message, mistake.hint)
    })?;
    Ok(found.iter().filter_map(|selector| selector.port).collect())
}

impl Multipath {
    /// A silence that is shorter than two round trips says nothing of a path.
    pub(crate) fn allow(&mut self, round_trip: Duration) {
        let settings = Arc::make_mut(&mut self.settings);
        let least = settings.timeout_least.max(round_trip.saturating_mul(2));
        settings.timeout_least = least;
        settings.timeout_most = settings.timeout_most.max(least);
        settings.first_timeout = settings.first_timeout.max(least);
    }

    /// Gives queue pairs their source ports, and the ports of hosts unless a workload states a plane: those of the first path
    /// by its hash, of each further one the next, so that paths use all before any comes again. Messages have those of the
    /// first.
    pub(crate) fn label(
        &self,
        flows: &mut [Flow],
        traffic: &Traffic,
        workloads: &[Workload],
        mut ports: PortChooser<'_>,
    ) {
        let mut messages: Vec<Option<FlowId>> = vec![None; self.connections.len()];
        for (message, &connection) in (0..).map(MessageId::new).zip(self.of_message.iter()) {
            if let Some(first) = messages.get_mut(connection as usize) {
                first.get_or_insert(traffic.flow_of(message));
            }
        }
        for (number, (connection, message)) in (0u32..).zip(self.connections.iter().zip(messages)) {
            let base = message.map_or(0, |flow| flows[flow.index()].tuple.source_port);
            let mut first = flows[connection.first.index()].tuple;
            first.source_port = self.plan.port(number, 0, base);
            for (path, flow) in (0..).zip(connection.flows()) {
                let mut tuple = flows[flow.index()].tuple;
                tuple.source_port = self.plan.port(number, path, base);
                let spec = traffic.connection(flow);
                let stated = spec.stated_plane(workloads, ports.planes());
                let ports = ports.ports(&first, path, stated);
                flows[flow.index()] = Flow::new(tuple, ports, spec.class);
            }
        }
        for (message, &connection) in (0..).map(MessageId::new).zip(self.of_message.iter()) {
            if let Some(connection) = self.connections.get(connection as usize) {
                flows[traffic.flow_of(message).index()] = flows[connection.first.index()];
            }
        }
    }
}
