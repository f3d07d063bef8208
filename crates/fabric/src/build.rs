//! From a scenario to a world in which nothing has happened yet.

mod nics;

use std::sync::Arc;

use fairlane_network::flow::Flow;
use fairlane_network::log::Log;
use fairlane_network::routing::Graph;
use fairlane_network::topology::Topology;
use fairlane_network::trace::Tracer;
use fairlane_network::{Network, check_classes};
use fairlane_nic::Settings;
use fairlane_scenario::{Error, Loaded, Scenario};
use fairlane_units::{Duration, HostId, NodeId, Time};

use crate::baseline::Baseline;
use crate::carriers::Carriers;
use crate::chosen::Chosen;
use crate::controls::Controls;
use crate::endpoint::Endpoints;
use crate::faults::{Change, Faults};
use crate::hosts::Hosts;
use crate::multipath::Multipath;
use crate::notice::Notices;
use crate::placed::Placed;
use crate::rates::Rates;
use crate::rules::Rules;
use crate::sampler::Sampler;
use crate::schedule::{PortChooser, Schedule, flows, shares};
use crate::spread::PathProfiles;
use crate::storm::Storms;
use crate::traffic::{OpenQueuePairs, Traffic};
use crate::watch::Watch;
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
    let schedule = Schedule::new(&messages, steps);
    let mut behind = behind(loaded, topology, &messages)?;
    let starts = messages.iter().map(|spec| spec.start);
    let applications = behind.endpoints.as_deref();
    let applications = applications.and_then(Endpoints::first_start);
    let first = starts.chain(applications).min();
    let (net, hosts) = fabric(scenario, topology, messages, &mut behind)?;
    let Behind {
        endpoints,
        multipath,
        ..
    } = behind;
    let (sampler, chosen) = samplers(scenario, &net, first.unwrap_or(Time::ZERO))?;
    let rates = scenario.output.rate_interval;
    let messages = hosts.traffic.messages().len();
    Ok(World {
        sampler,
        placed: Placed::new(scenario.tenants().len()),
        chosen,
        rates: rates.map(|interval| Box::new(Rates::new(interval, messages))),
        watch: Watch::new(scenario, hosts.baseline.largest.rtt),
        owed: messages + schedule.local.left + endpoints.as_ref().map_or(0, |all| all.tokens()),
        traffic: hosts.traffic.clone(),
        hosts,
        profiles: PathProfiles::default(),
        endpoints,
        multipath,
        tenants: scenario.tenants(),
        schedule,
        notices: Notices::default(),
        records: Log::default(),
        moved: Log::default(),
        faults: Faults::new(changes(scenario, net.graph())?),
        storms: Storms::new(&scenario.faults.pause),
        ending: None,
        stuck: false,
        controls: 0,
        handled: 0,
        left: None,
        outlasting: None,
        net,
    })
}

/// Links, switches and hosts, with the traffic between them; paths learn how long a round trip takes.
fn fabric(
    scenario: &Scenario,
    topology: &Topology,
    messages: Vec<MessageSpec>,
    behind: &mut Behind,
) -> Result<(Network, Hosts), Error> {
    let Behind { multipath, qps, .. } = behind;
    let (mut rules, mut controls) = rules(scenario, topology)?;
    let carriers = carriers(scenario, &messages, multipath.as_deref());
    let classes = classes(&messages, qps);
    let mut net = Network::new(scenario, topology, rules.net.clone(), classes)?;
    check_classes("nic.class", &scenario.nic.class, net.settings().classes)?;
    let nodes: Vec<NodeId> = topology.hosts().collect();
    let baseline = Baseline::new(net.graph(), &nodes, &rules);
    let longest = baseline.largest;
    rules.tolerate(scenario, net.plan().foreseen, longest.bdp, longest.rate);
    controls.settle(net.graph(), &nodes, &rules);
    if let Some(multipath) = multipath {
        multipath.allow(longest.rtt);
    }
    let settings = Settings {
        coupled: multipath.as_ref().is_some_and(|all| all.couples()),
        controls: controls.for_nics(),
        ..rules.nic(scenario)
    };
    let rules = Arc::new(rules);
    let paths_pay = scenario.nic.costs.is_some();
    let qps = std::mem::take(qps);
    let traffic = Traffic::new(messages, qps, carriers, rules.clone(), controls, paths_pay);
    let traffic = Arc::new(traffic);
    let host_of = host_numbers(topology);
    let nics = nics::nics(
        (scenario, settings),
        (net.graph(), &baseline, &rules),
        &nodes,
        &traffic,
        &host_of,
    );
    let flows = labelled(scenario, &traffic, net.graph(), multipath.as_deref());
    net.open_all(flows);
    net.recorder.tracer = Tracer::new(&scenario.output.trace_nodes, traffic.lengths());
    let hosts = Hosts::new(traffic, nics, baseline, scenario, host_of);
    Ok((net, hosts))
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
    let chosen = Chosen::new(scenario, net.graph(), start);
    let all = net.ports().len();
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

/// The traffic class of messages that state none.
const USUAL_CLASS: u8 = 3;

/// Which connections carry which messages; paths have connections of their own.
fn carriers(
    scenario: &Scenario,
    messages: &[MessageSpec],
    multipath: Option<&Multipath>,
) -> Carriers {
    let single = |message| multipath.is_none_or(|all| all.connection_of_message(message).is_none());
    Carriers::new(messages, |message, spec| {
        single(message) && shares(scenario, spec)
    })
}

/// The classes that hosts send in, as a bit set; without messages, that of programs that may come.
fn classes(messages: &[MessageSpec], qps: &OpenQueuePairs) -> u8 {
    let of_messages = messages.iter().map(|spec| spec.class);
    let classes = of_messages.chain(qps.specs.iter().map(|spec| spec.class));
    match classes.fold(0, |set, class| set | 1 << class) {
        0 => 1 << USUAL_CLASS,
        classes => classes,
    }
}

/// The flows of a run, by number.
fn labelled(
    scenario: &Scenario,
    traffic: &Traffic,
    graph: &Graph,
    multipath: Option<&Multipath>,
) -> Vec<Flow> {
    let (workloads, rules) = (&scenario.workload, &traffic.rules);
    let mut flows = flows(traffic, workloads, rules, graph);
    if let Some(multipath) = multipath {
        let ports = PortChooser::new(graph, rules.net.seeds);
        multipath.label(&mut flows, traffic, workloads, ports);
    }
    flows
}

/// What stands behind queue pairs that stay open: applications, and connections with several paths.
struct Behind {
    endpoints: Option<Box<Endpoints>>,
    multipath: Option<Box<Multipath>>,
    qps: OpenQueuePairs,
}

fn behind(loaded: &Loaded, topology: &Topology, messages: &[MessageSpec]) -> Result<Behind, Error> {
    let host_of = &host_numbers(topology);
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

/// The number of each node among hosts; meaningless for switches.
fn host_numbers(topology: &Topology) -> Vec<HostId> {
    let mut numbers = vec![HostId::default(); topology.nodes.len()];
    for (number, node) in (0..).map(HostId::new).zip(topology.hosts()) {
        numbers[node.index()] = number;
    }
    numbers
}

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
