//! All hosts of a fabric, or of a part of it: NICs, and which of their queue pairs carry which flows.

use std::sync::Arc;

use fairlane_congestion::Environment;
use fairlane_engine::Event;
use fairlane_network::Network;
use fairlane_network::packet::Side;
use fairlane_network::routing::{HostPort, PortPair};
use fairlane_nic::{Extensions, Opening, PairId, Role, Start};
use fairlane_scenario::{BaseRtt, Scenario, Verb};
use fairlane_units::{Bytes, Duration, FlowId, HostId, MessageId, NodeId, Psn, Rate};

use crate::TraceEvent;
use crate::baseline::Baseline;
use crate::connections::{Connections, End};
use crate::header;
use crate::mail::{Announced, Mailboxes};
use crate::nic::AttachedNic;
use crate::ns3::Ns3;
use crate::outside::Outside;
use crate::traffic::Traffic;

/// Hosts with their NICs. None reads the state of another.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    pub(crate) nics: Vec<AttachedNic>,
    pub(crate) connections: Connections,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) mail: Mailboxes,
    pub(crate) baseline: Baseline,
    pub(crate) base_rtt: BaseRtt,
    /// Host number of each node; meaningless for switches.
    pub(crate) host_of: Vec<HostId>,
    /// In profile `hpcc-ns3`.
    pub(crate) ns3: Option<Box<Ns3>>,
    /// NICs that hosts have beside these, if the simulation has a driver of such.
    pub(crate) outside: Option<Box<Outside>>,
}

impl Hosts {
    /// Hosts before the first connection; `host_of` has the number of each node that is one.
    pub(crate) fn new(
        traffic: Arc<Traffic>,
        nics: Vec<AttachedNic>,
        baseline: Baseline,
        scenario: &Scenario,
        host_of: Vec<HostId>,
    ) -> Self {
        let flows = traffic.flow_count();
        let quirky = traffic.rules.quirks.nics;
        Self {
            ns3: quirky.then(|| Box::new(Ns3::new(nics.len(), flows))),
            nics,
            connections: Connections::new(flows),
            traffic,
            mail: Mailboxes::default(),
            baseline,
            base_rtt: scenario.congestion.base_rtt,
            host_of,
            outside: None,
        }
    }

    /// The host number of a node.
    pub(crate) fn host(&self, node: NodeId) -> HostId {
        self.host_of[node.index()]
    }

    /// The host and the plane of the port of a NIC with this number.
    #[inline]
    pub(crate) fn nic_port(&self, number: u32) -> (HostId, u8) {
        let count = self.nics.len() as u32;
        if number < count {
            return (HostId::new(number), 0);
        }
        (HostId::new(number % count), (number / count) as u8)
    }

    /// The NIC of a host.
    #[inline]
    pub(crate) fn nic(&self, host: HostId) -> &AttachedNic {
        &self.nics[host.index()]
    }

    /// The NIC of a host, to have it do something.
    #[inline]
    pub(crate) fn nic_mut(&mut self, host: HostId) -> &mut AttachedNic {
        &mut self.nics[host.index()]
    }

    /// The NIC at a node.
    #[inline]
    pub(crate) fn nic_at(&self, node: NodeId) -> &AttachedNic {
        self.nic(self.host(node))
    }

    /// What all NICs have counted.
    pub(crate) fn heard(&self) -> fairlane_nic::Counters {
        let mut all = fairlane_nic::Counters::default();
        self.nics
            .iter()
            .for_each(|nic| all += nic.core.ledger().all);
        if let Some(outside) = &self.outside {
            all += outside.ledger.all;
        }
        all
    }

    /// What all NICs have counted for a tenant, if there are several.
    pub(crate) fn heard_by(&self, tenant: usize) -> fairlane_nic::Tally {
        let mut all = fairlane_nic::Tally::default();
        let tallies = self.nics.iter().map(|nic| &nic.core.ledger().tallies);
        let outside = self.outside.iter().map(|outside| &outside.ledger.tallies);
        tallies
            .chain(outside)
            .filter_map(|tallies| tallies.get(tenant))
            .for_each(|&tally| all += tally);
        all
    }

    /// Payload placed at receivers of a tenant's messages; `several` says whether there are others.
    pub(crate) fn placed_by(&self, tenant: usize, several: bool) -> u64 {
        match several {
            true => self.heard_by(tenant).placed,
            false => self.heard().placed,
        }
    }

    /// NICs outside hear of pauses that have ended or begun with the link of a port.
    pub(crate) fn tell_pauses(&mut self, net: &Network, port: u32) {
        let state = &net.ports()[port as usize];
        if let Some(outside) = &mut self.outside
            && !state.on_switch
        {
            let host = HostId::new(state.owner);
            let plane = self.nics[host.index()].plane_of(port);
            outside.tell_pauses(net, port, host, plane);
        }
    }

    /// The NIC of a host takes in a packet that has arrived; returns the port of the host that it came to.
    #[inline]
    pub(crate) fn receive(&mut self, net: &mut Network, host: HostId, at: u32) -> u8 {
        let packet = net.packets.get(at);
        let (flow, towards) = (packet.flow, packet.towards());
        let plane = net.port_at(flow, towards);
        if net.recorder.tracer.is_on() {
            net.trace(self.nic(host).port(plane), at, TraceEvent::Received);
        }
        net.leave(at);
        let packet = net.packets.get(at);
        let pair = match self.connections.end(flow, towards) {
            End::Open(pair) => Some(pair),
            End::Unknown if header::role(packet) == Role::Request => Some(self.accept(net, flow)),
            End::Unknown | End::Closed => None,
        };
        let heard = self.nic_mut(host).receive(net, (plane, at), pair);
        if let (Some(ns3), Some(pair)) = (&mut self.ns3, pair) {
            let nic = &mut self.nics[host.index()];
            ns3.follow(&mut net.engine, nic, (flow, pair), heard.shifted);
        }
        plane
    }

    /// Opens the end of a flow at the host that posts.
    pub(crate) fn connect(&mut self, net: &Network, flow: FlowId) -> PairId {
        self.open_end(net, flow, Side::Requester)
    }

    /// The queue pair that carries a message, which is about to be posted there; none if that has failed. It is opened if it
    /// isn't open yet.
    pub(crate) fn carry(&mut self, net: &Network, message: MessageId) -> Option<PairId> {
        let flow = self.traffic.flow_of(message);
        let pair = match self.connections.end(flow, Side::Requester) {
            End::Open(pair) => pair,
            End::Unknown => self.connect(net, flow),
            End::Closed => return None,
        };
        if self.traffic.is_shared(flow) {
            self.queue(net, (flow, pair), message);
        }
        Some(pair)
    }

    /// A message takes its place on a connection that stays open.
    fn queue(&mut self, net: &Network, (flow, pair): (FlowId, PairId), message: MessageId) {
        let spec = *self.traffic.message(message);
        let packets = spec
            .size
            .get()
            .div_ceil(u64::from(net.settings().mtu))
            .max(1);
        let requester = self.nic_at(spec.source).core.pair(pair).requester();
        let begins = requester.next_position() + requester.bytes_to_send();
        if let Some(posted) = self.connections.posted.get_mut(&message) {
            posted.begins = begins;
        }
        self.connections.queue(flow, message, packets);
        if net.place().owns(spec.destination) {
            self.connections.expect(flow, message, packets);
        } else {
            let announced = Announced {
                flow,
                message,
                packets,
            };
            self.mail.announce(net.place(), spec.destination, announced);
        }
    }

    /// A message of a flow has ended; whether its connection is over: it was the last one, or the first that failed.
    pub(crate) fn end_one(&mut self, flow: FlowId, succeeded: bool) -> bool {
        if !self.traffic.is_shared(flow) {
            return true;
        }
        // What was posted behind one that failed is flushed.
        if self.connections.end(flow, Side::Requester) == End::Closed {
            return false;
        }
        let ended = self.connections.end_one(flow);
        !succeeded || ended == self.traffic.message_count(flow)
    }

    /// Returns a message that has arrived completely on a connection that stays open, the oldest first; `None` once all such
    /// messages have been returned.
    pub(crate) fn next_arrived(&mut self, flow: FlowId) -> Option<MessageId> {
        let node = self.traffic.connection(flow).destination;
        let pair = self.connections.pair(flow, Side::Responder)?;
        let nic = &self.nic_at(node).core;
        let expected = nic.pair(pair).responder().expected();
        self.connections.next_arrived(flow, expected)
    }

    /// Opens the other end, as the first packet comes.
    #[cold]
    fn accept(&mut self, net: &Network, flow: FlowId) -> PairId {
        self.open_end(net, flow, Side::Responder)
    }

    /// What the congestion control at one end of a flow knows of its path, and the rate of the other end's link.
    pub(crate) fn environment(
        &self,
        net: &Network,
        flow: FlowId,
        side: Side,
    ) -> (Environment, Rate) {
        let spec = self.traffic.connection(flow);
        let (ports, controls) = (net.ports_of(flow), &self.traffic.controls);
        let baseline = controls.baseline(controls.of(&spec));
        let trip = (baseline.unwrap_or(&self.baseline)).for_controller(
            net.graph(),
            self.base_rtt,
            ports,
            (spec.source, spec.destination),
        );
        let ends = [(spec.source, ports[0]), (spec.destination, ports[1])];
        let rates = ends.map(|(host, port)| {
            let edge = net.graph().host_edge(HostPort { host, port });
            net.ports()[edge.port as usize].rate
        });
        let environment = Environment {
            line_rate: rates[side as usize],
            base_rtt: trip.rtt,
            bdp: trip.bdp,
            mtu: Bytes::new(u64::from(net.settings().mtu)),
        };
        (environment, rates[side.other() as usize])
    }

    fn open_end(&mut self, net: &Network, flow: FlowId, side: Side) -> PairId {
        let spec = self.traffic.connection(flow);
        let ends = (spec.source, spec.destination);
        let ports = net.ports_of(flow);
        let (environment, peer_rate) = self.environment(net, flow, side);
        let (here, there, port) = match side {
            Side::Requester => (ends.0, ends.1, ports[0]),
            Side::Responder => (ends.1, ends.0, ports[1]),
        };
        let (here, there) = (self.host(here), self.host(there));
        let opening = Opening {
            flow,
            port,
            class: spec.class,
            tenant: spec.tenant,
            peer: there,
            extensions: Extensions::with(peer_rate),
            environment,
            group: spec.group,
        };
        let first = Psn::new(self.connections.first_of(flow, side));
        let start = Start {
            sends: first,
            expects: first,
            control: self.traffic.controls.of(&spec),
            transport: None,
        };
        let nic = &mut self.nic_mut(here).core;
        let pair = nic.open_at(net.now(), &opening, start);
        self.connections.open(flow, side, pair);
        pair
    }

    /// Forgets an end of a flow; `settled` says that what it sent has arrived.
    pub(crate) fn close_end(&mut self, net: &Network, flow: FlowId, side: Side, settled: bool) {
        let spec = self.traffic.connection(flow);
        let node = match side {
            Side::Requester => spec.source,
            Side::Responder => spec.destination,
        };
        let host = self.host(node);
        if let Some(pair) = self.connections.pair(flow, side) {
            self.nic_mut(host).core.close(net.now(), pair, settled);
            if let Some(ns3) = &mut self.ns3 {
                ns3.forget(flow);
            }
        }
        self.connections.close(flow, side);
    }

    /// Half a round trip between two hosts by a port of each.
    pub(crate) fn half_round_trip(
        &self,
        net: &Network,
        ports: PortPair,
        ends: (NodeId, NodeId),
    ) -> Duration {
        self.baseline.pair(net.graph(), ports, ends).rtt / 2
    }

    /// An alarm beyond those of hosts comes up: a timer of a controller, in profile `hpcc-ns3`.
    #[cold]
    pub(crate) fn on_controller_timer(&mut self, net: &mut Network, number: u32, event: Event) {
        let Some(ns3) = &mut self.ns3 else {
            return;
        };
        let Some((flow, timer)) = ns3.fires(&mut net.engine, number, event) else {
            return;
        };
        let spec = self.traffic.connection(flow);
        let (side, node) = match spec.verb {
            Verb::Read => (Side::Responder, spec.destination),
            _ => (Side::Requester, spec.source),
        };
        let nic = &mut self.nics[self.host_of[node.index()].index()];
        if let Some(pair) = self.connections.pair(flow, side) {
            nic.core.on_timer(net.engine.now(), pair, timer);
            ns3.arm_timers(&mut net.engine, nic, flow, pair);
        }
    }
}
