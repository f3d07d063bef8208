//! A simulation whose driver has NICs of its own at some hosts.

use fairlane_congestion::{Environment, Telemetry};
use fairlane_engine::{Event, Key};
use fairlane_network::flow::Flow;
use fairlane_network::packet::Side;
use fairlane_network::{Attachment, Packet};
use fairlane_nic::{Ledger, Settings};
use fairlane_scenario::{Error, HostSet, Loaded};
use fairlane_transport::Status;
use fairlane_units::{Duration, FlowId, HostId, MessageId, NodeId, Rate, TenantId, Time};

use crate::goal::{Goal, Progress};
use crate::outside::{CarriedState, Happening, Outside};
use crate::requests::{WorkRequest, WorkRequests};
use crate::simulation::{Simulation, build_topology};
use crate::world::World;
use crate::{Ending, MessageSpec, Outcome, Results};

/// A simulation some of whose messages NICs outside of it carry, over its links and switches and beside its own NICs.
///
/// | what happens | call |
/// |---|---|
/// | [`next_time`](Self::next_time) has come | [`advance`](Self::advance), then [`poll`](Self::poll) until there is nothing; several may have the same time |
/// | a NIC has a packet and its port [is free](Self::is_free) | [`inject`](Self::inject); if it isn't, [`await_free`](Self::await_free) |
/// | a port is [`Free`](Happening::Free) and its NIC has nothing | [`resume`](Self::resume) |
/// | all of a message has arrived | [`received`](Self::received) |
/// | a message has ended at its source | [`complete`](Self::complete) |
///
/// Time never goes back, and nothing happens between two calls.
pub struct LiveSimulation {
    world: Box<World>,
    goal: Goal,
    settings: Settings,
    requests: WorkRequests,
}

/// One end of a flow that NICs outside carry.
#[derive(Clone, Copy, Debug)]
pub struct FlowEnd {
    /// The host, by number.
    pub host: HostId,
    /// The host, by node.
    pub node: NodeId,
    /// Its port, counted from 0.
    pub plane: u8,
    /// What its congestion control knows of the path.
    pub environment: Environment,
}

/// A flow that NICs outside carry: that of a message, or of several in the order of posting.
#[derive(Clone, Copy, Debug)]
pub struct CarriedFlow {
    /// Its number.
    pub flow: FlowId,
    /// Requester and responder.
    pub ends: [FlowEnd; 2],
    /// The traffic class of its data.
    pub class: u8,
    /// The tenant of its messages.
    pub tenant: TenantId,
    /// The UDP source port of its requester.
    pub source_port: u16,
    /// Messages that it carries in the run.
    pub messages: u32,
}

impl LiveSimulation {
    /// The `simulation` of a scenario, before its first event, with a driver that carries the messages that these `hosts` post, if any.
    ///
    /// # Errors
    /// If `hosts` aren't hosts; and for what a driver can't carry: messages with several paths, applications,
    /// costs of NICs, workloads with a congestion control of their own.
    pub fn new(
        mut simulation: Simulation,
        loaded: &Loaded,
        hosts: Option<&HostSet>,
    ) -> Result<Self, Error> {
        let mut carried = Vec::new();
        if let Some(hosts) = hosts {
            check(loaded)?;
            let all: Vec<NodeId> = build_topology(loaded)?.hosts().collect();
            carried = hosts.resolve(&all)?;
        }
        let mut goal = Goal::new(&simulation.world, simulation.stop);
        let world = &mut simulation.world;
        // Without messages, programs may come from the beginning.
        goal.first.get_or_insert(Time::ZERO);
        let settings = world.traffic.rules.nic(&loaded.scenario);
        let mut flows = vec![false; world.traffic.flow_count()];
        let mut attached = vec![false; world.net.ports().len()];
        for (number, spec) in (0..).zip(world.traffic.messages()) {
            let flow = world.traffic.flow_of(MessageId::new(number));
            flows[flow.index()] = carried.binary_search(&spec.source).is_ok();
            if flows[flow.index()] {
                let planes = world.net.ports_of(flow);
                for (node, plane) in [spec.source, spec.destination].into_iter().zip(planes) {
                    attached[world.hosts.nic_at(node).port(plane) as usize] = true;
                }
            }
        }
        let mut outside = Box::new(Outside::new(flows, attached, world.tenants.len()));
        let mut edge = outside.edge(&mut world.net);
        edge.follow_losses();
        edge.follow_captures();
        world.hosts.outside = Some(outside);
        simulation.begin(&goal);
        Ok(Self {
            world: Box::new(simulation.world),
            goal,
            settings,
            requests: WorkRequests::new(&loaded.scenario),
        })
    }

    /// What NICs of the scenario have in common.
    pub const fn nic_settings(&self) -> &Settings {
        &self.settings
    }

    /// A message of the run.
    pub fn message(&self, message: MessageId) -> &MessageSpec {
        self.world.traffic.message(message)
    }

    /// The messages that the driver carries.
    pub fn carried(&self) -> impl Iterator<Item = MessageId> + '_ {
        let messages = 0..self.world.traffic.messages().len() as u32;
        let outside = self.world.hosts.outside.as_deref();
        let is_carried = move |message: &MessageId| {
            let flow = self.world.traffic.flow_of(*message);
            outside.is_some_and(|outside| outside.carries(flow))
        };
        messages.map(MessageId::new).filter(is_carried)
    }

    /// The flow of a message that the driver carries.
    pub fn flow_of(&self, message: MessageId) -> CarriedFlow {
        let World {
            net,
            traffic,
            hosts,
            ..
        } = &*self.world;
        let flow = traffic.flow_of(message);
        let spec = traffic.message(message);
        let planes = net.ports_of(flow);
        let end = |side: Side, node| FlowEnd {
            host: hosts.host(node),
            node,
            plane: planes[side as usize],
            environment: hosts.environment(net, flow, side).0,
        };
        CarriedFlow {
            flow,
            ends: [
                end(Side::Requester, spec.source),
                end(Side::Responder, spec.destination),
            ],
            class: spec.class,
            tenant: spec.tenant,
            source_port: net.flow(flow).tuple.source_port,
            messages: traffic.message_count(flow),
        }
    }

    /// Has the run go on until it is [ended](Self::end), whatever its messages do: programs may come.
    pub fn stay(&mut self) {
        self.world.owed += 1;
    }

    /// Attaches a NIC to a port of a host; returns the rate of its link. A host is named by its node.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn attach(&mut self, node: NodeId, plane: u8) -> Result<Rate, Error> {
        let Some(port) = self.port(node, plane) else {
            let message = format!("there is no port {plane} of a host {node}");
            return Err(Error::new(
                "host",
                message,
                "`fairlane topology` lists hosts",
            ));
        };
        self.outside().attach(port);
        Ok(self.world.net.ports()[port as usize].rate)
    }

    /// The port of a host, if there is one.
    fn port(&self, node: NodeId, plane: u8) -> Option<u32> {
        let graph = self.world.net.graph();
        let is_host = graph.is_switch.get(node.index()) == Some(&false);
        let ports = graph.edges.get(node.index()).filter(|_| is_host)?;
        ports.get(usize::from(plane)).map(|edge| edge.port)
    }

    /// Whether a node is a host with such a port.
    pub fn has_port(&self, node: NodeId, plane: u8) -> bool {
        self.port(node, plane).is_some()
    }

    /// The longest round trip between two hosts on an idle fabric.
    pub fn base_rtt(&self) -> Duration {
        self.world.hosts.baseline.largest.rtt
    }

    /// The number of a host that is named by its node.
    pub fn host(&self, node: NodeId) -> HostId {
        self.world.hosts.host(node)
    }

    /// Opens a flow of a tenant that the driver carries beside messages, between ports of two hosts that NICs are attached to.
    pub fn open(&mut self, flow: Flow, tenant: TenantId) -> FlowId {
        let World { net, hosts, .. } = &mut *self.world;
        let outside = hosts.outside.as_deref_mut();
        let outside = outside.expect("it was made with the simulation");
        outside.open(net, flow, tenant)
    }

    /// The present time.
    pub const fn now(&self) -> Time {
        self.world.net.now()
    }

    /// When something happens next, if the driver does nothing before; `None` if nothing does.
    pub fn next_time(&mut self) -> Option<Time> {
        self.world.net.engine.peek().map(|event| event.time)
    }

    /// Has everything happen up to and including a time, which is then the present, or until something concerns the driver or ends
    /// the run; whether it has ended.
    pub fn advance(&mut self, until: Time) -> bool {
        let bound = Event {
            time: until.saturating_add(Duration::from_ps(1)),
            key: Key::MIN,
        };
        while self.world.handle(1, bound, true) > 0 {
            let World { net, hosts, .. } = &mut *self.world;
            if let Some(outside) = &mut hosts.outside {
                outside.take_captured(net);
                outside.take_lost(net);
                if !outside.happened.is_empty() {
                    return self.has_ended();
                }
            }
        }
        let ended = self.has_ended();
        if !ended && self.now() < until {
            self.world.net.engine.advance(Event {
                time: until,
                key: Key::MIN,
            });
        }
        ended
    }

    fn has_ended(&self) -> bool {
        self.world.is_done() || self.world.ending.is_some()
    }

    /// What the driver hasn't heard of, in the order in which it happened.
    pub fn poll(&mut self) -> Option<Happening> {
        self.outside().happened.pop_front()
    }

    /// Whether the transmitter of a host's port is free, and its link up.
    pub fn is_free(&mut self, host: HostId, plane: u8) -> bool {
        let World { net, hosts, .. } = &mut *self.world;
        let number = hosts.nic(host).port(plane);
        let outside = hosts.outside.as_deref_mut();
        outside.is_some_and(|outside| outside.edge(net).is_free(number))
    }

    /// Since when the transmitter of a host's port, which is free, has been so.
    pub fn free_since(&self, host: HostId, plane: u8) -> Time {
        let number = self.world.hosts.nic(host).port(plane);
        self.world.net.ports()[number as usize].free_at
    }

    /// Has the driver hear when the transmitter of a host's port is free again.
    pub fn await_free(&mut self, host: HostId, plane: u8) {
        let number = self.world.hosts.nic(host).port(plane);
        if self.world.net.is_busy(number) {
            self.world.net.await_port(number);
        }
    }

    /// The NIC outside has nothing to send by a port: that of the simulation may.
    pub fn resume(&mut self, host: HostId, plane: u8) {
        self.world.send_from_plane(host, plane);
    }

    /// Hands in a packet of a flow that the driver carries, at the host that it comes from.
    ///
    /// # Errors
    /// If it is in a class that hosts don't send in, or of a kind that only switches send, or its size is 0 or above that of the
    /// largest packet that switches are made for.
    pub fn inject(&mut self, packet: &Packet, attachment: Attachment) -> Result<(), Error> {
        let World {
            net,
            traffic,
            hosts,
            ..
        } = &mut *self.world;
        let Some(outside) = hosts.outside.as_deref_mut() else {
            return Ok(());
        };
        let opened = outside.tenant(packet.flow);
        let tenant = opened.unwrap_or_else(|| traffic.connection(packet.flow).tenant);
        let mut edge = outside.edge(net);
        let port = edge.port_of(packet.flow, packet.towards.other());
        edge.inject(packet, tenant, Some(attachment))?;
        outside.take_captured(net);
        outside.sent_last[port as usize] = true;
        Ok(())
    }

    /// Takes note of a work request of a program that has ended, whose flow the driver has [opened](Self::open); `false` if it says that it
    /// was faster than can be.
    pub fn record(&mut self, request: &WorkRequest) -> bool {
        let World {
            net,
            hosts,
            profiles,
            ..
        } = &mut *self.world;
        let paths = profiles.known_paths(net, request.flow);
        let is_possible = self.requests.push(net, &hosts.baseline, paths, request);
        if let Some(outside) = hosts.outside.as_deref_mut().filter(|_| is_possible) {
            if request.outcome == Outcome::Completed {
                outside.ledger.on_placed(request.tenant, request.size);
            }
            let again = request.retransmitted.into();
            outside.ledger.on_retransmitted(request.tenant, again);
        }
        is_possible
    }

    /// What switches wrote into the packet that has come last of those that had an attachment, if data collects telemetry.
    pub fn telemetry(&self, attachment: Attachment) -> Option<&Telemetry> {
        let outside = self.world.hosts.outside.as_deref();
        outside.and_then(|outside| outside.telemetry(attachment))
    }

    /// All data of a message has arrived where that goes.
    pub fn received(&mut self, message: MessageId) {
        self.world.on_message_received(message);
    }

    /// States how far a message is, for results of a run that ends before it.
    pub fn note(&mut self, message: MessageId, state: CarriedState) {
        self.outside().note(message, state);
    }

    /// A message has ended at its source, that far.
    pub fn complete(&mut self, message: MessageId, status: Status, state: CarriedState) {
        self.note(message, state);
        self.world.finish(message, None, status);
        self.outside().forget(message);
        let world = &mut self.world;
        if status == Status::Success {
            world.on_message_completed(message);
        }
    }

    /// What the NICs outside have counted together, which their driver keeps up to date.
    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.outside().ledger
    }

    /// States whether one of the NICs outside will do something by itself: a run in which nobody will is stalled.
    pub fn set_will_act(&mut self, will_act: bool) {
        self.outside().will_act = will_act;
    }

    /// How far the run has come.
    pub fn progress(&self) -> Progress<'_> {
        self.goal.progress(std::slice::from_ref(&self.world))
    }

    /// Ends the run here, for this reason.
    pub fn end(&mut self, ending: Ending) {
        self.world.ending.get_or_insert(ending);
    }

    /// What the run leaves behind.
    pub fn into_results(self) -> Results {
        let mut results = self.world.into_results();
        self.requests.join(&mut results.messages);
        results
    }

    fn outside(&mut self) -> &mut Outside {
        let outside = self.world.hosts.outside.as_deref_mut();
        outside.expect("it was made with the simulation")
    }
}

/// Refuses what NICs outside don't know.
fn check(loaded: &Loaded) -> Result<(), Error> {
    let scenario = &loaded.scenario;
    let refuse = |place: String, message: &str, hint: &str| Err(Error::new(place, message, hint));
    if scenario.nic.costs.is_some() {
        return refuse(
            "nic.costs".into(),
            "has costs of simulated NICs, which real ones don't have",
            "leave it out",
        );
    }
    if scenario.multipath.is_some() {
        return refuse(
            "multipath".into(),
            "has messages with several paths, which only simulated NICs carry",
            "leave the section out",
        );
    }
    for (index, workload) in scenario.workload.iter().enumerate() {
        if workload.is_key_value() {
            return refuse(
                format!("workload[{index}]"),
                "is one of applications, which only simulated NICs serve",
                "give messages instead, as of kind \"permutation\" or \"poisson\"",
            );
        }
        if workload.congestion().is_some() {
            return refuse(
                format!("workload[{index}].congestion"),
                "is a congestion control of its own, which only simulated NICs have",
                "give all workloads that of [congestion]",
            );
        }
    }
    Ok(())
}
