//! A run, from scenario to results.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairlane_congestion::scope::Weight;
use fairlane_congestion::{Environment, Telemetry, TelemetryFormat};
use fairlane_engine::{Engine, Stream};
use fairlane_host::{Host, Tenants};
use fairlane_scenario::{Arbitration, Error, Forwarding, Loaded, Pfc, Scenario, Verb};
use fairlane_units::{Bytes, Duration, NodeId, TenantId, Time};

use crate::baseline::Baseline;
use crate::buffer::{FIXED, SharedBuffer};
use crate::capture::Capture;
use crate::connections::Connections;
use crate::counters::Counters;
use crate::endpoint;
use crate::faults::{Change, Faults};
use crate::forwarding::Plan;
use crate::forwarding::iofd::Misrule;
use crate::hosts::Hosts;
use crate::ledger::Ledger;
use crate::log::Log;
use crate::network::Network;
use crate::network::deflection::Deflection;
use crate::nic::Nic;
use crate::notice::Notices;
use crate::ns3::Ns3;
use crate::ns3_random::Ns3Random;
use crate::packet::{NONE, PacketPool};
use crate::place::Place;
use crate::port::{FairQueues, Marking, Port, PortSpec, TenantUse};
use crate::rates::Rates;
use crate::routing::{Graph, Routes};
use crate::rules::Rules;
use crate::sampler::Sampler;
use crate::schedule::{Schedule, flows};
use crate::spread::Shapes;
use crate::storm::Storms;
use crate::topology::Topology;
use crate::trace::Tracer;
use crate::watch::Watch;
use crate::watchdog::Watchdog;
use crate::world::World;
use crate::{MessageSpec, workload};

/// A simulation that is ready to run.
pub struct Simulation {
    pub(crate) world: World,
    pub(crate) stop: Option<Time>,
}

impl Simulation {
    /// Builds the fabric and the traffic of a scenario. An attack that it has isn't carried out: that is
    /// the work of `fairlane-attacks`.
    ///
    /// # Errors
    /// If topology, workloads or buffers don't fit together.
    pub fn new(loaded: &Loaded) -> Result<Self, Error> {
        let topology = build_topology(loaded)?;
        let specs = generate(loaded, &topology)?;
        Self::build(loaded, &topology, specs)
    }

    /// Builds the fabric of a scenario with `messages` instead of those that its workloads generate.
    /// Operations of `key-value` workloads come into being as the run goes, as ever.
    ///
    /// Messages are sorted by start; of equal start, they stay in order. [`MessageSpec::after`] names a
    /// message by its place in `messages`, [`MessageRecord::id`](crate::MessageRecord::id) by that in
    /// the sorted list.
    ///
    /// # Errors
    /// As [`Simulation::new`]; and for a message with ends that aren't two hosts, with a size, class,
    /// start or verb that the scenario can't have, with a tenant that it doesn't have, or with a
    /// predecessor that isn't there or waits for the message itself.
    pub fn with_messages(loaded: &Loaded, messages: Vec<MessageSpec>) -> Result<Self, Error> {
        let topology = build_topology(loaded)?;
        workload::check(&messages, &loaded.scenario, &topology)?;
        Self::build(loaded, &topology, workload::by_start(messages))
    }

    /// Has switches that move flows in order break a rule: only tests may want that.
    #[doc(hidden)]
    pub fn break_rule(&mut self, misrule: Misrule) {
        if let Some(deflection) = &mut self.world.net.deflection {
            deflection.misrule = Some(misrule);
        }
    }

    fn build(loaded: &Loaded, topology: &Topology, specs: Vec<MessageSpec>) -> Result<Self, Error> {
        let stop = loaded.scenario.stop.map(|span| Time::ZERO + span);
        let world = build_world(loaded, topology, specs)?;
        Ok(Self { world, stop })
    }
}

/// The messages that the workloads of a scenario generate, in order of start; those of `key-value`
/// workloads aren't known before a run.
///
/// # Errors
/// If topology and workloads don't fit together.
pub fn messages(loaded: &Loaded) -> Result<Vec<MessageSpec>, Error> {
    generate(loaded, &build_topology(loaded)?)
}

fn generate(loaded: &Loaded, topology: &Topology) -> Result<Vec<MessageSpec>, Error> {
    let Loaded { scenario, inputs } = loaded;
    let (workloads, tenants) = (&scenario.workload, &scenario.tenant);
    workload::generate(workloads, tenants, inputs, topology, scenario.seed)
}

pub(crate) fn build_topology(loaded: &Loaded) -> Result<Topology, Error> {
    let scenario = &loaded.scenario;
    let file = loaded.inputs.topology.as_ref();
    let built = Topology::build(&scenario.topology, file, scenario.faults.loss_rate);
    built.map_err(|error| Error::new("topology", error.message(), error.hint()))
}

fn build_world(
    loaded: &Loaded,
    topology: &Topology,
    mut specs: Vec<MessageSpec>,
) -> Result<World, Error> {
    let scenario = &loaded.scenario;
    let mut rules = Rules::new(scenario);
    rules.lossy = topology.links.iter().any(|link| link.loss > 0.0);
    let graph = Graph::new(topology);
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let switches: Vec<NodeId> = topology.switches().collect();
    let mut owner_of = vec![0; topology.nodes.len()];
    for nodes in [&hosts, &switches] {
        (0..)
            .zip(nodes)
            .for_each(|(number, node)| owner_of[node.index()] = number);
    }
    let schedule = Schedule::new(&specs);
    let messages = specs.len();
    let endpoints = endpoint::build(loaded, topology, &owner_of, &mut specs)?;
    let ending = endpoints.as_ref().map_or(0, |endpoints| endpoints.tokens());
    let mut ports = build_ports(topology, &graph, &rules, &owner_of);
    let classes = classes_in_use(scenario, &specs);
    let buffers = switches
        .iter()
        .map(|&node| build_buffer(scenario, &graph, &mut ports, (node, classes), &rules))
        .collect::<Result<Vec<_>, Error>>()?;
    set_marking(scenario, &mut ports)?;
    set_fairness(scenario, &mut ports);
    let routes = Routes::new(&graph);
    let mut plan = Plan::new(scenario.switch.forwarding, &graph, rules.seeds, rules.seed);
    plan.valley = plan.forks && scenario.switch.iofd.valley;
    plan.sees_all = plan.valley || plan.forks && !scenario.faults.link.is_empty();
    let deflection = Deflection::of(&plan, scenario, (&graph, &routes), &specs)?;
    check_telemetry(&rules, &routes, scenario.packet.telemetry)?;
    let baseline = Baseline::new(&graph, &hosts, &rules);
    let longest = (baseline.largest.bdp, baseline.largest.rate);
    rules.tolerate(scenario, plan.foreseen, longest);
    let longest_delay = graph.delays.iter().copied().max().unwrap_or(0);
    let slowest = graph.rates.iter().min().copied().unwrap_or_default();
    let span = Duration::from_ps(longest_delay) + rules.serialization(rules.largest(), slowest);
    let first = specs
        .iter()
        .map(|spec| spec.start)
        .min()
        .unwrap_or(Time::ZERO);
    let interval = scenario.output.sample_interval;
    let rates = scenario.output.rate_interval;
    let members = tenant_hosts(scenario, &hosts);
    let senders = senders(&specs, members, |node| owner_of[node.index()]);
    let settings = Arc::new(rules.nic(scenario));
    let nics = (0u32..).zip(&hosts).map(|(host, &node)| {
        let ports = graph.edges[node.index()].iter().map(|edge| edge.port);
        let environments = ports.clone().map(|port| Environment {
            line_rate: graph.rates[port as usize / 2],
            base_rtt: baseline.largest.rtt,
            bdp: baseline.largest.bdp,
            mtu: Bytes::new(u64::from(rules.mtu)),
        });
        let environments: Vec<Environment> = environments.collect();
        let tenants = tenants_at(scenario, host, &senders);
        let nic = Host::new(settings.clone(), &environments, &tenants);
        Nic::new((host, hosts.len() as u32), node, ports, nic)
    });
    let nics: Vec<Nic> = nics.collect();
    let tenants = scenario.tenants();
    let ledger = Ledger::new(tenants.len(), ports.len());
    let capture = Capture::new(&scenario.capture, &graph);
    let net = Network {
        engine: Engine::new(rules.ties, span.saturating_mul(2)),
        ports,
        buffers,
        packets: PacketPool::new(),
        epoch: 0,
        flows: Arc::new(flows(
            &specs,
            &scenario.workload,
            &rules,
            graph.planes.count,
        )),
        routes,
        shapes: Shapes::default(),
        forwarders: plan.forwarders(&scenario.switch),
        deflection,
        plan,
        specs: specs.into(),
        messages,
        place: Place::whole(topology.nodes.len()),
        observed: capture.is_on() || ledger.is_some(),
        capture,
        counters: Counters {
            ledger,
            ..Counters::default()
        },
        tracer: Tracer::new(&scenario.output.trace_nodes),
        pauses: Log::default(),
        watchdog: Watchdog::new(&scenario.switch.pfc),
        ns3_random: rules
            .quirks
            .one_stream
            .then(|| Box::new(Ns3Random::after_setup(topology.nodes.len()))),
        graph,
        rules,
    };
    let mut world = World {
        sampler: Sampler::new(net.ports.len(), first, interval),
        rates: rates.map(|interval| Box::new(Rates::new(interval, messages))),
        watch: Watch::new(scenario, baseline.largest.rtt),
        hosts: Hosts {
            ns3: net
                .rules
                .quirks
                .nics
                .then(|| Box::new(Ns3::new(nics.len(), net.specs.len()))),
            nics,
            connections: Connections::new(net.specs.len()),
            baseline,
            base_rtt: scenario.congestion.base_rtt,
            host_of: owner_of,
        },
        owed: messages + ending,
        endpoints,
        tenants,
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
        witness: NONE,
        net,
    };
    world.net.foresee_flows();
    Ok(world)
}

/// The hosts and tenants that data is sent by.
fn senders(
    specs: &[MessageSpec],
    tenants: impl Iterator<Item = (u32, TenantId)>,
    host: impl Fn(NodeId) -> u32,
) -> BTreeSet<(u32, TenantId)> {
    let sending = specs.iter().map(|spec| {
        let node = match spec.verb {
            Verb::Read => spec.destination,
            _ => spec.source,
        };
        (host(node), spec.tenant)
    });
    sending.chain(tenants).collect()
}

/// What the NIC of a host knows of tenants.
fn tenants_at(scenario: &Scenario, host: u32, senders: &BTreeSet<(u32, TenantId)>) -> Tenants {
    let weight = |(number, tenant): (u32, fairlane_scenario::Tenant)| Weight {
        tenant: TenantId::new(number),
        weight: tenant.weight,
        guarantee: tenant.guarantee,
    };
    let all: Vec<Weight> = (0..).zip(scenario.tenants()).map(weight).collect();
    let sends = |one: &&Weight| senders.contains(&(host, one.tenant));
    Tenants {
        here: all.iter().filter(sends).copied().collect(),
        all,
    }
}

/// The hosts of every tenant.
fn tenant_hosts<'a>(
    scenario: &'a Scenario,
    hosts: &'a [NodeId],
) -> impl Iterator<Item = (u32, TenantId)> + 'a {
    let numbered = (0..).map(TenantId::new).zip(&scenario.tenant);
    numbered.flat_map(move |(number, tenant)| {
        // Validated: a set that can't be resolved doesn't come here.
        let here = tenant.hosts.resolve(hosts).unwrap_or_default();
        let host = |node: NodeId| hosts.binary_search(&node).map_or(0, |at| at as u32);
        here.into_iter()
            .map(move |node| (host(node), number))
            .collect::<Vec<_>>()
    })
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

fn build_ports(topology: &Topology, graph: &Graph, rules: &Rules, owner_of: &[u32]) -> Vec<Port> {
    let mut ports = Vec::with_capacity(topology.links.len() * 2);
    for (number, &node) in (0u32..).zip(&graph.owners) {
        let link = &topology.links[number as usize / 2];
        let peer = graph.peer(number);
        let spec = PortSpec {
            number,
            node,
            owner: owner_of[node as usize],
            peer: number ^ 1,
            peer_owner: owner_of[peer as usize],
            on_switch: graph.is_switch[node as usize],
            peer_on_switch: graph.is_switch[peer as usize],
            rate: link.rate,
            delay: link.delay,
            loss_rate: link.loss,
        };
        // Two streams for each port; workloads draw from streams with other numbers.
        let stream = |which| Stream::new(rules.seed, PORT_STREAMS + u64::from(number) * 2 + which);
        ports.push(Port::new(spec, rules.rounding, [stream(0), stream(1)]));
    }
    ports
}

/// Keeps the streams of ports apart from those of workloads and source ports.
const PORT_STREAMS: u64 = 1 << 61;

fn classes_in_use(scenario: &Scenario, specs: &[MessageSpec]) -> u64 {
    let switch = &scenario.switch;
    // Who goes down and up again leaves its class for the next one.
    let turns = match switch.forwarding == Forwarding::Iofd && switch.iofd.valley {
        true => switch.iofd.labels,
        false => 0,
    };
    let own =
        |spec: &MessageSpec| (0..=turns).fold(0, |set, turn| set | 1u32 << spec.class << turn);
    let set = specs.iter().fold(0, |set, spec| set | own(spec));
    u64::from(set.count_ones().max(1))
}

/// Divides the buffer of a switch into headroom, reserve and what is shared.
fn build_buffer(
    scenario: &Scenario,
    graph: &Graph,
    ports: &mut [Port],
    (node, classes): (NodeId, u64),
    rules: &Rules,
) -> Result<SharedBuffer, Error> {
    let (total, pfc) = (scenario.switch.buffer.get(), &scenario.switch.pfc);
    let mut committed = 0;
    let nic_rate = if rules.quirks.buffers {
        first_host_rate(graph)
    } else {
        ports
            .iter()
            .filter(|port| !port.on_switch)
            .map(|port| port.rate)
            .min()
    };
    for edge in &graph.edges[node.index()] {
        // What a neighbour sends is accounted for at its port, the other end of the link.
        let port = &mut ports[edge.port as usize ^ 1];
        let headroom = match pfc.headroom_delays {
            _ if !pfc.enabled => 0,
            Some(delays) => headroom_of(port) * delays,
            None => lossless_headroom(port, rules),
        };
        port.headroom_limit = u32::try_from(headroom).unwrap_or(u32::MAX / 2);
        let shift = shift(port, nic_rate.unwrap_or_default(), pfc.threshold_shift);
        port.threshold_shift = match pfc.xoff {
            Some(_) => FIXED,
            None => u8::try_from(shift).unwrap_or(FIXED),
        };
        let copies = if rules.quirks.buffers { 1 } else { classes };
        committed += (headroom + pfc.reserve.get()) * copies;
    }
    if committed > total && !rules.quirks.buffers {
        let message = format!(
            "{} is less than the {committed} B of headroom and reserve that switch {node} needs",
            scenario.switch.buffer
        );
        let hint = "enlarge the buffer, shorten the links, or set switch.pfc.headroom_delays";
        return Err(Error::new("switch.buffer", message, hint));
    }
    let ports = graph.edges[node.index()].len() as u64;
    check_xoff(pfc, node, ports * classes, total.saturating_sub(committed))?;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    Ok(SharedBuffer {
        shareable: if rules.quirks.buffers {
            (total as u32).wrapping_sub(committed as u32)
        } else {
            narrow(total - committed)
        },
        shared_used: 0,
        reserve: narrow(pfc.reserve.get()),
        resume_offset: narrow(pfc.resume_offset.get()),
        fixed: narrow(pfc.xoff.unwrap_or_default().get()),
        wraps: rules.quirks.buffers,
        pfc: pfc.enabled,
    })
}

/// A fixed threshold must be there for every port and class at once: nothing else keeps them from taking more
/// than is shared.
fn check_xoff(pfc: &Pfc, node: NodeId, copies: u64, shared: u64) -> Result<(), Error> {
    let Some(xoff) = pfc.xoff else { return Ok(()) };
    let most = shared / copies.max(1);
    if xoff.get() <= most {
        return Ok(());
    }
    let message = format!(
        "is {xoff}, expected at most {most} B: switch {node} shares {shared} B among {copies} ports and classes"
    );
    let hint = "lower it, enlarge switch.buffer, or leave it out for a share of what is free";
    Err(Error::new("switch.pfc.xoff", message, hint))
}

/// Bytes that a link holds, in the arithmetic of HPCC's simulator.
fn headroom_of(port: &Port) -> u64 {
    let bits = u128::from(port.rate.as_bps()) * u128::from(port.delay.as_ns());
    (bits / 8 / 1_000_000_000) as u64
}

/// Rate of the link of the host with the lowest number, which HPCC's simulator takes for all.
fn first_host_rate(graph: &Graph) -> Option<fairlane_units::Rate> {
    let host = graph.is_switch.iter().position(|&is_switch| !is_switch)?;
    Some(graph.rates[graph.edges[host][0].port as usize / 2])
}

/// One less than `full` for each doubling of the port's rate above the hosts'.
fn shift(port: &Port, nic_rate: fairlane_units::Rate, full: u32) -> u32 {
    let (mut shift, mut rate) = (full, port.rate);
    while rate > nic_rate && shift > 0 {
        shift -= 1;
        rate = rate / 2;
    }
    shift
}

/// What can still arrive after the decision to pause: the pause waits for a packet in transmission
/// and for other pauses, travels, lets the peer finish a packet, and what is on the link arrives.
fn lossless_headroom(port: &Port, rules: &Rules) -> u64 {
    let on_link = port.rate.bytes_in(port.delay * 2).get() + 2;
    let packets = 3 * u64::from(rules.largest());
    on_link + packets + 8 * (u64::from(rules.pause) + u64::from(rules.gap))
}

fn set_marking(scenario: &Scenario, ports: &mut [Port]) -> Result<(), Error> {
    let ecn = &scenario.switch.ecn;
    for port in ports.iter_mut().filter(|port| port.on_switch) {
        let listed = ecn
            .threshold
            .iter()
            .find(|threshold| threshold.rate == port.rate);
        let (kmin, kmax, pmax) = match listed {
            Some(threshold) => (threshold.kmin, threshold.kmax, threshold.pmax),
            None if ecn.threshold.is_empty() || !ecn.enabled => {
                let marking = scenario.marking();
                let scale = |per_gbps: Bytes| {
                    let bytes = u128::from(per_gbps.get()) * u128::from(port.rate.as_bps());
                    Bytes::new(u64::try_from(bytes / 1_000_000_000).unwrap_or(u64::MAX))
                };
                (
                    scale(marking.kmin_per_gbps),
                    scale(marking.kmax_per_gbps),
                    marking.pmax,
                )
            }
            None => {
                let message = format!("no thresholds for ports of {}", port.rate);
                let hint = "add a [[switch.ecn.threshold]] with that rate";
                return Err(Error::new("switch.ecn.threshold", message, hint));
            }
        };
        let narrow = |bytes: Bytes| u32::try_from(bytes.get()).unwrap_or(u32::MAX);
        port.marking = Marking {
            kmin: narrow(kmin),
            kmax: narrow(kmax),
            pmax,
        };
    }
    Ok(())
}

/// Switch ports that arbitrate between ingress ports, or distinguish tenants.
fn set_fairness(scenario: &Scenario, ports: &mut [Port]) {
    let switch = &scenario.switch;
    let tenants = scenario.tenants();
    let weights: Vec<f64> = tenants.iter().map(|tenant| tenant.weight).collect();
    for port in ports.iter_mut().filter(|port| port.on_switch) {
        if switch.arbitration == Arbitration::Ingress {
            port.fair = Some(Box::new(FairQueues::default()));
        }
        if switch.tenant_feedback && weights.len() > 1 {
            port.tenants = Some(Box::new(TenantUse::new(&weights, switch.feedback_interval)));
        }
    }
}

fn changes(scenario: &Scenario, graph: &Graph) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    for (index, fault) in scenario.faults.link.iter().enumerate() {
        let [a, b] = fault.between;
        let known = (a as usize) < graph.edges.len();
        let port = if known {
            graph.port_towards(a, b)
        } else {
            None
        };
        let Some(port) = port else {
            let place = format!("faults.link[{index}].between");
            let message = format!("there is no link between {a} and {b}");
            return Err(Error::new(
                place,
                message,
                "`fairlane topology` lists nodes and links",
            ));
        };
        let link = port / 2;
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
    Ok(changes)
}
