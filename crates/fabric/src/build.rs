//! From a scenario to a world in which nothing has happened yet.

mod nics;
mod ports;

use std::sync::Arc;

use fairlane_congestion::{Telemetry, TelemetryFormat};
use fairlane_engine::Engine;
use fairlane_host::Settings;
use fairlane_scenario::{Error, Loaded, Scenario};
use fairlane_units::{Bytes, Duration, HostId, NodeId, Time};

use crate::baseline::Baseline;
use crate::buffer::SharedBuffer;
use crate::capture::Capture;
use crate::carriers::Carriers;
use crate::chosen::Chosen;
use crate::connections::Connections;
use crate::controls::Controls;
use crate::counters::Counters;
use crate::endpoint::Endpoints;
use crate::faults::{Change, Faults};
use crate::flow::Flow;
use crate::forwarding::Plan;
use crate::hosts::Hosts;
use crate::ledger::Ledger;
use crate::log::Log;
use crate::multipath::Multipath;
use crate::network::Network;
use crate::network::deflection::Deflection;
use crate::notice::Notices;
use crate::ns3::Ns3;
use crate::ns3_random::Ns3Random;
use crate::packet::PacketPool;
use crate::place::Place;
use crate::placed::Placed;
use crate::port::Port;
use crate::rates::Rates;
use crate::routing::{Graph, Routes};
use crate::rules::Rules;
use crate::sampler::Sampler;
use crate::schedule::{PortChooser, Schedule, flows, shares};
use crate::spread::Shapes;
use crate::storm::Storms;
use crate::topology::Topology;
use crate::trace::Tracer;
use crate::traffic::{OpenQueuePairs, Traffic};
use crate::watch::Watch;
use crate::watchdog::Watchdog;
use crate::workload::Generated;
use crate::world::World;
use crate::{MessageSpec, endpoint, multipath};

/// The world of a scenario with these messages and steps.
///
/// # Errors
/// If topology, workloads, buffers and policies don't fit together.
pub(crate) fn world(
    loaded: &Loaded,
    topology: &Topology,
    generated: Generated,
) -> Result<World, Error> {
    let Generated { messages, steps } = generated;
    let scenario = &loaded.scenario;
    let (mut rules, mut controls) = rules(scenario, topology)?;
    let graph = Graph::new(topology);
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let owner_of = owners(topology);
    let host_of: Vec<HostId> = owner_of.iter().copied().map(HostId::new).collect();
    let schedule = Schedule::new(&messages, steps);
    let Behind {
        endpoints,
        mut multipath,
        qps,
    } = behind(loaded, topology, &host_of, &messages)?;
    let starts = messages.iter().map(|spec| spec.start);
    let applications = endpoints.as_deref().and_then(Endpoints::first_start);
    let first = starts.chain(applications).min();
    let plan = plan(scenario, &graph, &rules);
    let baseline = Baseline::new(&graph, &hosts, &rules);
    let longest = baseline.largest;
    rules.tolerate(scenario, plan.foreseen, longest.bdp, longest.rate);
    controls.settle(&graph, &hosts, &rules);
    if let Some(multipath) = &mut multipath {
        multipath.allow(longest.rtt);
    }
    let settings = Settings {
        coupled: multipath.as_ref().is_some_and(|all| all.couples()),
        controls: controls.for_nics(),
        ..rules.nic(scenario)
    };
    let single = |message| {
        let all = multipath.as_deref();
        all.is_none_or(|all| all.bundle_of(message).is_none())
    };
    let carriers = Carriers::new(&messages, |message, spec| {
        single(message) && shares(scenario, spec)
    });
    let paths_pay = scenario.nic.costs.is_some();
    let traffic = Traffic::new(messages, qps, carriers, controls, paths_pay);
    let traffic = Arc::new(traffic);
    let nics = nics::nics(
        (scenario, settings),
        (&graph, &baseline, &rules),
        &hosts,
        &traffic,
        &host_of,
    );
    let mut flows = flows(&traffic, &scenario.workload, &rules, &graph);
    if let Some(multipath) = &multipath {
        let ports = PortChooser::new(&graph, rules.seeds);
        multipath.label(&mut flows, &traffic, &scenario.workload, ports);
    }
    let mut net = network(scenario, topology, graph, rules, plan, flows, &owner_of)?;
    net.tracer = Tracer::new(&scenario.output.trace_nodes, traffic.lengths());
    let (sampler, chosen) = samplers(scenario, &net, first.unwrap_or(Time::ZERO))?;
    let rates = scenario.output.rate_interval;
    let messages = traffic.messages().len();
    Ok(World {
        sampler,
        placed: Placed::new(scenario.tenants().len()),
        chosen,
        rates: rates.map(|interval| Box::new(Rates::new(interval, messages))),
        watch: Watch::new(scenario, longest.rtt),
        owed: messages + schedule.local.left + endpoints.as_ref().map_or(0, |all| all.tokens()),
        hosts: Hosts {
            ns3: (net.rules.quirks.nics)
                .then(|| Box::new(Ns3::new(nics.len(), traffic.flow_count()))),
            nics,
            connections: Connections::new(traffic.flow_count()),
            traffic: traffic.clone(),
            baseline,
            base_rtt: scenario.congestion.base_rtt,
            host_of,
        },
        traffic,
        endpoints,
        multipath,
        tenants: scenario.tenants(),
        schedule,
        notices: Notices::default(),
        records: Log::default(),
        moved: Log::default(),
        faults: Faults::new(changes(scenario, &net.graph)?),
        storms: Storms::new(&scenario.faults.pause),
        ending: None,
        stuck: false,
        controls: 0,
        handled: 0,
        left: None,
        witness: None,
        net,
    })
}

/// The rules of the fabric, and the congestion controls that some messages have instead of its own.
fn rules(scenario: &Scenario, topology: &Topology) -> Result<(Rules, Controls), Error> {
    let mut rules = Rules::new(scenario);
    rules.lossy = topology.links.iter().any(|link| link.loss > 0.0);
    let controls = Controls::new(scenario, &mut rules)?;
    Ok((rules, controls))
}

/// What samples all ports, and what samples chosen ones, if any are: then the stated interval is theirs.
fn samplers(
    scenario: &Scenario,
    net: &Network,
    start: Time,
) -> Result<(Sampler, Option<Box<Chosen>>), Error> {
    let chosen = Chosen::new(scenario, &net.graph, start);
    let all = net.ports.len();
    samples(
        scenario,
        chosen.as_ref().map_or(all, |chosen| chosen.count()),
        start,
    )?;
    let stated = scenario.output.sample_interval;
    let sampler = Sampler::new(all, start, stated.filter(|_| chosen.is_none()));
    Ok((sampler, chosen))
}

/// Refuses a time series that is known to be too large.
fn samples(scenario: &Scenario, ports: usize, start: Time) -> Result<(), Error> {
    let (Some(interval), Some(stop)) = (scenario.output.sample_interval, scenario.stop) else {
        return Ok(());
    };
    let span = (Time::ZERO + stop).saturating_since(start);
    let (rows, most) = (span.as_ps() / interval.as_ps(), Sampler::rows_max(ports));
    if usize::try_from(rows).is_ok_and(|rows| rows < most) {
        return Ok(());
    }
    let least = Duration::from_ps(span.as_ps() / (most as u64 - 1) + 1);
    Err(Error::new(
        "output.sample_interval",
        format!(
            "{interval} until {stop} makes {rows} intervals of {ports} ports, more than are kept"
        ),
        format!("from {least} on it fits; or stop earlier"),
    ))
}

/// What stands behind queue pairs that stay open: applications, and connections with several paths.
struct Behind {
    endpoints: Option<Box<Endpoints>>,
    multipath: Option<Box<Multipath>>,
    qps: OpenQueuePairs,
}

fn behind(
    loaded: &Loaded,
    topology: &Topology,
    host_of: &[HostId],
    messages: &[MessageSpec],
) -> Result<Behind, Error> {
    let mut qps = OpenQueuePairs::default();
    let mut endpoints = endpoint::build(loaded, topology, host_of, messages.len(), &mut qps.specs)?;
    qps.applications = qps.specs.len();
    let multipath = multipath::build(loaded, topology, host_of, messages, &mut qps.specs)?;
    let charged = loaded.scenario.nic.costs.is_some();
    if let Some(endpoints) = endpoints.as_deref_mut().filter(|_| charged) {
        endpoint::add_paths(endpoints, &qps, messages.len(), host_of);
    }
    Ok(Behind {
        endpoints,
        multipath,
        qps,
    })
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
fn plan(scenario: &Scenario, graph: &Graph, rules: &Rules) -> Plan {
    let mut plan = Plan::new(scenario.switch.forwarding, graph, rules.seeds, rules.seed);
    plan.valley = plan.forks && scenario.switch.iofd.valley;
    plan.sees_all = plan.valley || plan.forks && !scenario.faults.link.is_empty();
    plan
}

/// Links and switches.
fn network(
    scenario: &Scenario,
    topology: &Topology,
    graph: Graph,
    rules: Rules,
    plan: Plan,
    flows: Vec<Flow>,
    owner_of: &[u32],
) -> Result<Network, Error> {
    let mut ports = ports::ports(topology, &graph, &rules, owner_of);
    let buffers = buffers(scenario, topology, &graph, &rules, &mut ports, &flows)?;
    ports::set_marking(scenario, &mut ports)?;
    ports::set_fairness(scenario, &mut ports);
    ports::set_classes(scenario, &rules, &flows, &mut ports)?;
    let routes = Routes::new(&graph);
    let deflection = Deflection::of(&plan, scenario, (&graph, &routes), &flows)?;
    check_telemetry(&rules, &routes, scenario.packet.telemetry)?;
    let ledger = Ledger::new(scenario.tenants().len(), ports.len());
    let capture = Capture::new(&scenario.capture, &graph);
    let shared_random = rules.quirks.one_stream;
    let mut net = Network {
        engine: Engine::new(rules.ties, slots(&graph, &rules)),
        ports,
        buffers,
        packets: PacketPool::new(),
        epoch: 0,
        flows: Arc::new(flows),
        routes,
        shapes: Shapes::default(),
        forwarders: plan.forwarders(&scenario.switch),
        deflection,
        plan,
        place: Place::whole(topology.nodes.len()),
        observed: capture.is_on() || ledger.is_some(),
        capture,
        counters: Counters {
            ledger,
            ..Counters::default()
        },
        tracer: Tracer::default(),
        pauses: Log::default(),
        watchdog: Watchdog::new(&scenario.switch.pfc),
        ns3_random: shared_random.then(|| Box::new(Ns3Random::after_setup(topology.nodes.len()))),
        graph,
        rules,
    };
    net.foresee_flows();
    Ok(net)
}

/// The span of the calendar's slots: most events are no further away than the longest hop of a packet.
fn slots(graph: &Graph, rules: &Rules) -> Duration {
    let delay = graph.delays.iter().copied().max().unwrap_or(0);
    let slowest = graph.rates.iter().min().copied().unwrap_or_default();
    let hop = Duration::from_ps(delay) + rules.serialization(rules.largest(), slowest);
    hop.saturating_mul(2)
}

/// The buffers of all switches, by number.
fn buffers(
    scenario: &Scenario,
    topology: &Topology,
    graph: &Graph,
    rules: &Rules,
    ports: &mut [Port],
    flows: &[Flow],
) -> Result<Vec<SharedBuffer>, Error> {
    let classes = ports::count_classes(scenario, flows);
    let buffer = |node| ports::buffer(scenario, graph, ports, node, classes, rules);
    topology.switches().map(buffer).collect()
}

/// Refuses paths with more hops than telemetry can hold. Up to five fit into HPCC's header whatever size it is
/// given; for more it must have the size.
fn check_telemetry(rules: &Rules, routes: &Routes, size: Bytes) -> Result<(), Error> {
    let hops = routes.longest;
    let limit = if rules.quirks.telemetry {
        TelemetryFormat::HEADER_HOPS
    } else {
        Telemetry::MAX_HOPS
    };
    if rules.telemetry_format.is_none() || hops <= TelemetryFormat::HEADER_HOPS {
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

/// What happens to links, in the order of the scenario.
fn changes(scenario: &Scenario, graph: &Graph) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for (index, fault) in scenario.faults.link.iter().enumerate() {
        let ends = graph.owners.chunks_exact(2);
        let links = fault.links(ends.map(|ends| [ends[0], ends[1]]));
        if links.is_empty() {
            let [a, b] = fault.between;
            let place = format!("faults.link[{index}].between");
            let message = format!("there is no such link between {a} and {b}");
            return Err(Error::new(
                place,
                message,
                "`fairlane topology` lists nodes and links",
            ));
        }
        for link in links {
            changes.push(Change {
                at: Time::ZERO + fault.down,
                link,
                up: false,
            });
            changes.extend(fault.up.map(|up| Change {
                at: Time::ZERO + up,
                link,
                up: true,
            }));
        }
    }
    Ok(changes)
}
