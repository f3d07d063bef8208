//! From a scenario to links and switches on which nothing has happened yet.

mod ports;

use std::sync::Arc;

use fairlane_congestion::{Telemetry, TelemetryFormat};
use fairlane_engine::Engine;
use fairlane_scenario::{Error, Scenario};
use fairlane_units::{Bytes, Duration, NodeId};

use crate::buffer::SharedBuffer;
use crate::capture::Capture;
use crate::counters::Counters;
use crate::flow::Flow;
use crate::forwarding::Plan;
use crate::ledger::Ledger;
use crate::network::Network;
use crate::network::deflection::Deflection;
use crate::ns3_random::Ns3Random;
use crate::packet::PacketPool;
use crate::place::Place;
use crate::port::Port;
use crate::recorder::Recorder;
use crate::routing::{Graph, Routes};
use crate::settings::Settings;
use crate::topology::Topology;
use crate::watchdog::Watchdog;

pub use ports::check_classes;

impl Network {
    /// The links and switches of a scenario, between hosts that send in `classes`, a bit set.
    ///
    /// # Errors
    /// If topology, buffers and policies don't fit together.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        settings: Settings,
        classes: u8,
    ) -> Result<Self, Error> {
        let settings = Settings {
            classes: ports::classes_in_use(scenario, classes),
            ..settings
        };
        let graph = Graph::new(topology);
        let plan = plan(scenario, &graph, &settings);
        let mut ports = ports::ports(topology, &graph, &settings, &owners(topology));
        let buffers = buffers(scenario, topology, &graph, &settings, &mut ports)?;
        ports::set_marking(scenario, &mut ports)?;
        ports::set_fairness(scenario, &mut ports);
        ports::set_classes(scenario, &settings, &mut ports)?;
        let routes = Routes::new(&graph);
        let deflection = Deflection::of(&plan, scenario, (&graph, &routes), classes)?;
        check_telemetry(&settings, &routes, scenario.packet.telemetry)?;
        let ledger = Ledger::new(scenario.tenants().len(), ports.len());
        let capture = Capture::new(&scenario.capture, &graph);
        let nodes = topology.nodes.len();
        let shared_random = settings.quirks.one_stream;
        Ok(Self {
            engine: Engine::new(settings.ties, slots(&graph, &settings)),
            ports,
            buffers,
            packets: PacketPool::new(),
            epoch: 0,
            flows: Arc::default(),
            routes,
            forwarders: plan.forwarders(&scenario.switch),
            deflection,
            plan,
            place: Place::whole(nodes),
            observed: capture.is_on() || ledger.is_some(),
            recorder: Recorder::of(capture),
            counters: Counters {
                ledger,
                ..Counters::default()
            },
            watchdog: Watchdog::new(&scenario.switch.pfc),
            ns3_random: shared_random.then(|| Box::new(Ns3Random::after_setup(nodes))),
            lost: None,
            graph,
            settings,
        })
    }

    /// Opens flows, which have the numbers from 0 on; there were none before.
    pub fn open_all(&mut self, flows: Vec<Flow>) {
        if let Some(deflection) = &mut self.deflection {
            deflection.expect(flows.len());
        }
        self.flows = Arc::new(flows);
        self.foresee_flows();
    }
}

/// The number of each node among hosts, or among switches.
fn owners(topology: &Topology) -> Vec<u32> {
    let mut owners = vec![0; topology.nodes.len()];
    let mut number = |nodes: &mut dyn Iterator<Item = NodeId>| {
        (0..)
            .zip(nodes)
            .for_each(|(number, node)| owners[node.index()] = number);
    };
    number(&mut topology.hosts());
    number(&mut topology.switches());
    owners
}

/// How switches choose, and what of that is the same everywhere.
fn plan(scenario: &Scenario, graph: &Graph, settings: &Settings) -> Plan {
    let mut plan = Plan::new(
        scenario.switch.forwarding,
        graph,
        settings.seeds,
        settings.seed,
    );
    plan.valley = plan.forks && scenario.switch.iofd.valley;
    plan.sees_all = plan.valley || plan.forks && !scenario.faults.link.is_empty();
    plan
}

/// The span of the calendar's slots: most events are no further away than the longest hop of a packet.
fn slots(graph: &Graph, settings: &Settings) -> Duration {
    let delay = graph.delays.iter().copied().max().unwrap_or(0);
    let slowest = graph.rates.iter().min().copied().unwrap_or_default();
    let hop = Duration::from_ps(delay) + settings.serialization(settings.largest, slowest);
    hop.saturating_mul(2)
}

/// The buffers of all switches, by number.
fn buffers(
    scenario: &Scenario,
    topology: &Topology,
    graph: &Graph,
    settings: &Settings,
    ports: &mut [Port],
) -> Result<Vec<SharedBuffer>, Error> {
    let buffer = |node| ports::buffer(scenario, graph, ports, node, settings);
    topology.switches().map(buffer).collect()
}

/// Refuses paths with more hops than telemetry can hold. Up to five fit into HPCC's header whatever size it is
/// given; for more it must have the size.
fn check_telemetry(settings: &Settings, routes: &Routes, size: Bytes) -> Result<(), Error> {
    let hops = routes.longest;
    let limit = if settings.quirks.telemetry {
        TelemetryFormat::HEADER_HOPS
    } else {
        Telemetry::MAX_HOPS
    };
    if settings.telemetry_format.is_none() || hops <= TelemetryFormat::HEADER_HOPS {
        return Ok(());
    }
    if hops > limit {
        let message = format!(
            "needs telemetry of {hops} switches on the longest path, expected at most {limit}"
        );
        let hint = "use another congestion control, or a fabric of fewer tiers";
        return Err(Error::new("congestion.algorithm", message, hint));
    }
    let needed = Bytes::new(HOP_BYTES * hops as u64 + 2);
    if size >= needed {
        return Ok(());
    }
    let message = format!(
        "is {size}, expected at least {needed} for telemetry of {hops} switches on the longest path"
    );
    let hint = format!("set it to \"{needed}\", {HOP_BYTES} bytes for each switch and 2");
    Err(Error::new("packet.telemetry", message, hint))
}

/// HPCC, section 4.1: what a switch adds to a packet.
const HOP_BYTES: u64 = 8;
