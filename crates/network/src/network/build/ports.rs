//! Ports and buffers of a scenario.

use fairlane_engine::Stream;
use fairlane_scenario::{Arbitration, ClassSchedule, Error, Forwarding, Pfc, Scenario};
use fairlane_units::{Bytes, NodeId, Rate};

use crate::buffer::{FIXED, SharedBuffer};
use crate::port::{FairQueues, Marking, Port, PortSpec, TenantUse};
use crate::routing::Graph;
use crate::settings::Settings;
use crate::topology::Topology;

/// The ports of all nodes, by number.
pub(crate) fn ports(
    topology: &Topology,
    graph: &Graph,
    settings: &Settings,
    owner_of: &[u32],
) -> Vec<Port> {
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
        let stream =
            |which| Stream::new(settings.seed, PORT_STREAMS + u64::from(number) * 2 + which);
        ports.push(Port::new(spec, settings.rounding, [stream(0), stream(1)]));
    }
    ports
}

/// Keeps the streams of ports apart from those of workloads and source ports.
const PORT_STREAMS: u64 = 1 << 61;

/// The classes that packets travel in if hosts send in `classes`; both are bit sets.
pub(crate) fn classes_in_use(scenario: &Scenario, classes: u8) -> u8 {
    let switch = &scenario.switch;
    // Who goes down and up again leaves its class for the next one.
    let turns = match switch.forwarding == Forwarding::Iofd && switch.iofd.valley {
        true => switch.iofd.labels,
        false => 0,
    };
    (0..=turns).fold(0, |set, turn| set | classes.checked_shl(turn).unwrap_or(0))
}

/// Has ports of switches send classes as they are scheduled.
pub(crate) fn set_classes(
    scenario: &Scenario,
    settings: &Settings,
    ports: &mut [Port],
) -> Result<(), Error> {
    check_classes("switch.class", &scenario.switch.class, settings.classes)?;
    if let Some(scheduler) = settings.scheduler(&scenario.switch.class) {
        let of_switches = ports.iter_mut().filter(|port| port.on_switch);
        of_switches.for_each(|port| port.schedule(scheduler.clone()));
    }
    Ok(())
}

/// Where classes have weights, a class with packets must have one too, or be strict: what its share would be nobody has said.
///
/// # Errors
/// If one of `used`, a bit set, isn't listed.
pub fn check_classes(key: &str, classes: &[ClassSchedule], used: u8) -> Result<(), Error> {
    let listed = |class: u8| classes.iter().any(|it| it.class == class);
    let weights = classes.iter().any(|it| it.weight.is_some());
    let missing = (1..8).find(|&class| used & 1 << class != 0 && !listed(class));
    match missing.filter(|_| weights) {
        Some(class) => {
            let message = format!("doesn't list class {class}, in which there are messages");
            let hint = format!("add {{ class = {class}, weight = 1 }}, or `strict = true` for it");
            Err(Error::new(key, message, hint))
        }
        None => Ok(()),
    }
}

/// Divides the buffer of a switch into headroom, reserve and what is shared.
pub(crate) fn buffer(
    scenario: &Scenario,
    graph: &Graph,
    ports: &mut [Port],
    node: NodeId,
    settings: &Settings,
) -> Result<SharedBuffer, Error> {
    let (total, pfc) = (scenario.switch.buffer.get(), &scenario.switch.pfc);
    let classes = u64::from(settings.classes.count_ones().max(1));
    let mut committed = 0;
    let nic_rate = if settings.quirks.buffers {
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
            None => lossless_headroom(port, settings),
        };
        port.headroom_limit = u32::try_from(headroom).unwrap_or(u32::MAX / 2);
        let shift = shift(port, nic_rate.unwrap_or_default(), pfc.threshold_shift);
        port.threshold_shift = match pfc.xoff {
            Some(_) => FIXED,
            None => u8::try_from(shift).unwrap_or(FIXED),
        };
        let copies = if settings.quirks.buffers { 1 } else { classes };
        committed += (headroom + pfc.reserve.get()) * copies;
    }
    if committed > total && !settings.quirks.buffers {
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
        shareable: if settings.quirks.buffers {
            (total as u32).wrapping_sub(committed as u32)
        } else {
            narrow(total - committed)
        },
        shared_used: 0,
        reserve: narrow(pfc.reserve.get()),
        resume_offset: narrow(pfc.resume_offset.get()),
        fixed: narrow(pfc.xoff.unwrap_or_default().get()),
        wraps: settings.quirks.buffers,
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
fn first_host_rate(graph: &Graph) -> Option<Rate> {
    let host = graph.is_switch.iter().position(|&is_switch| !is_switch)?;
    Some(graph.rates[graph.edges[host][0].port as usize / 2])
}

/// One less than `full` for each doubling of the port's rate above the hosts'.
fn shift(port: &Port, nic_rate: Rate, full: u32) -> u32 {
    let (mut shift, mut rate) = (full, port.rate);
    while rate > nic_rate && shift > 0 {
        shift -= 1;
        rate = rate / 2;
    }
    shift
}

/// What can still arrive after the decision to pause: the pause waits for a packet in transmission
/// and for other pauses, travels, lets the peer finish a packet, and what is on the link arrives.
fn lossless_headroom(port: &Port, settings: &Settings) -> u64 {
    let on_link = port.rate.bytes_in(port.delay * 2).get() + 2;
    let packets = 3 * u64::from(settings.largest);
    on_link + packets + 8 * (u64::from(settings.pause) + u64::from(settings.gap))
}

pub(crate) fn set_marking(scenario: &Scenario, ports: &mut [Port]) -> Result<(), Error> {
    for port in ports.iter_mut().filter(|port| port.on_switch) {
        let (kmin, kmax, pmax) = scenario.thresholds(port.rate).ok_or_else(|| {
            let message = format!("no thresholds for ports of {}", port.rate);
            let hint = "add a [[switch.ecn.threshold]] with that rate";
            Error::new("switch.ecn.threshold", message, hint)
        })?;
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
pub(crate) fn set_fairness(scenario: &Scenario, ports: &mut [Port]) {
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
