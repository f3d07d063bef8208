//! Networks for drivers that have no events of their own in the calendar, and whose flows come and go.

use fairlane_engine::{Event, Key};
use fairlane_scenario::Error;
use fairlane_units::{Bytes, Duration, FlowId, NodeId, PortId, TenantId, Time};

use crate::edge::{Attachment, Attachments, Delivery, Edge, Packet, check_class};
use crate::five_tuple::FiveTuple;
use crate::flow::Flow;
use crate::network::link::AtHost;
use crate::network::{Network, deflection};
use crate::routing::PortPair;
use crate::waking::{Waking, timer};

/// A [`Network`] whose flows come and go while it runs.
///
/// A driver [opens](Self::open) flows, [injects](Self::inject) packets at hosts, and has everything happen up to a
/// [time](Self::advance), when it is handed what has come to hosts. Payload stays with the driver, which may attach a number to
/// each packet.
#[derive(Clone)]
pub struct LiveNetwork {
    net: Network,
    flows: FlowTable,
    attachments: Attachments,
}

impl LiveNetwork {
    /// Takes a network without flows on which nothing has happened.
    pub fn new(net: Network) -> Self {
        let mut live = Self {
            net,
            flows: FlowTable::default(),
            attachments: Attachments::default(),
        };
        live.edge().follow_losses();
        live
    }

    /// Links and switches: what they have counted and recorded.
    pub const fn network(&self) -> &Network {
        &self.net
    }

    /// Opens a flow between a requester and a responder, each with its port counted from 0; packets of both directions
    /// belong to it. The number of a flow that is [closed](Self::close) may be given again.
    ///
    /// # Errors
    /// If the ends aren't ports of two hosts, data would be in a class that hosts don't send in, or there is no such tenant.
    pub fn open(
        &mut self,
        tuple: FiveTuple,
        ports: PortPair,
        class: u8,
        tenant: TenantId,
    ) -> Result<FlowId, Error> {
        let ends = [(tuple.source, ports[0]), (tuple.destination, ports[1])];
        for (node, port) in ends {
            self.check_end(node, port)?;
        }
        if tuple.source == tuple.destination {
            let message = format!("has node {} at both ends", tuple.source);
            return Err(Error::new("flow", message, "name two hosts"));
        }
        check_class(&self.net, class)?;
        self.check_tenant(tenant)?;
        let flow = self.flows.open(tenant);
        self.net.set_flow(flow, Flow::new(tuple, ports, class));
        Ok(flow)
    }

    fn check_end(&self, node: NodeId, port: u8) -> Result<(), Error> {
        let is_host = self.net.graph.is_switch.get(node.index()) == Some(&false);
        if !is_host {
            let message = format!("ends at node {node}, which is no host");
            return Err(Error::new("flow", message, "name two hosts"));
        }
        let count = self.net.graph.edges[node.index()].len();
        if usize::from(port) >= count {
            let message = format!("uses port {port} of host {node}, which has {count}");
            return Err(Error::new("flow", message, "ports are counted from 0"));
        }
        Ok(())
    }

    /// Where there are several tenants, packets are counted by tenant.
    fn check_tenant(&self, tenant: TenantId) -> Result<(), Error> {
        let ledger = self.net.counters.ledger.as_deref();
        let count = ledger.map_or(1, |ledger| ledger.tallies.len());
        if tenant.index() < count {
            return Ok(());
        }
        let message = format!("belongs to tenant {tenant}, expected 0 to {}", count - 1);
        let hint = "a tenant's number is its place in the scenario";
        Err(Error::new("flow", message, hint))
    }

    /// Closes a flow: no more packets of it are taken. Those under way go on, and its number is given again only after them.
    ///
    /// # Errors
    /// If it isn't open.
    pub fn close(&mut self, flow: FlowId) -> Result<(), Error> {
        let closed = self.flows.close(flow);
        closed.then_some(()).ok_or_else(|| not_open(flow))
    }

    /// Hands in a packet of a flow that is open, at the host that it comes from. It waits there behind others of its class until
    /// the port may send it. What it has been through counts from here: `marked` stays as it is, `hops` begin at 0.
    ///
    /// # Errors
    /// If its flow isn't open, or it is in a class that hosts don't send in, or of a kind that only switches send, or its size is 0
    /// or above that of the largest packet that switches are made for.
    pub fn inject(&mut self, packet: &Packet, attachment: Option<Attachment>) -> Result<(), Error> {
        let tenant = self.flows.tenant(packet.flow);
        let tenant = tenant.ok_or_else(|| not_open(packet.flow))?;
        self.edge().inject(packet, tenant, attachment)?;
        self.flows.on_injected(packet.flow);
        Ok(())
    }

    /// Has the switch at the other end of a host's port pause a class of what it sends there, or ends that. A link that goes
    /// down ends all pauses.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn pause(&mut self, port: PortId, class: u8, pause: bool) {
        self.net.queue_pause(port.get(), class, pause);
        self.edge().send_from(port.get());
    }

    /// Bytes that wait at a host's port: back pressure for whoever hands in packets there.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn waiting(&self, port: PortId) -> Bytes {
        Bytes::new(self.net.ports[port.index()].waiting)
    }

    /// When something happens next, if nothing is handed in before.
    pub fn next_time(&mut self) -> Option<Time> {
        self.net.engine.peek().map(|event| event.time)
    }

    /// Has everything happen up to and including a time, which is then the present, and hands over what comes to hosts in
    /// order. A driver that answers at once stops at each [`next_time`](Self::next_time).
    pub fn advance(&mut self, until: Time, mut deliver: impl FnMut(Delivery<'_>)) {
        let bound = Event {
            time: until.saturating_add(Duration::from_ps(1)),
            key: Key::MIN,
        };
        loop {
            if self.net.engine.near().is_empty() && !self.net.find_events() {
                break;
            }
            let Some(event) = self.net.engine.next_event_before(bound) else {
                break;
            };
            self.handle(event, &mut deliver);
            self.take_lost(&mut deliver);
        }
        if self.net.now() < until {
            self.net.engine.advance(Event {
                time: until,
                key: Key::MIN,
            });
        }
    }

    /// A link, the one of ports 2 `link` and 2 `link` + 1, goes down with what it carries and what waits for it, or comes back;
    /// routes change at once.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn change_link(&mut self, link: u32, up: bool, mut deliver: impl FnMut(Delivery<'_>)) {
        self.net.change_link(link, up);
        self.net.reroute();
        self.take_lost(&mut deliver);
        for port in [2 * link, 2 * link + 1] {
            self.send_from(port);
        }
    }

    fn handle(&mut self, event: Event, deliver: &mut impl FnMut(Delivery<'_>)) {
        let (waking, index) = Waking::of(event.component());
        match (waking, index) {
            (Waking::Arrival, _) => {
                let receiver = self.net.ports[index as usize].peer;
                if let Some(came) = self.net.on_arrival(index, event) {
                    self.take_out(receiver, came, deliver);
                }
            }
            (Waking::PortFree, _) => {
                self.net.ports[index as usize].free_armed = false;
                self.send_from(index);
            }
            (Waking::Control, timer::WATCHDOG) => self.net.on_watchdog(),
            (Waking::Control, timer::DEFLECTION) => deflection::on_due(&mut self.net),
            _ => debug_assert!(false, "nobody else has events here"),
        }
    }

    /// Hands over what was lost.
    fn take_lost(&mut self, deliver: &mut impl FnMut(Delivery<'_>)) {
        let (mut edge, flows) = self.split();
        edge.take_lost(|lost| {
            flows.on_gone(lost.flow);
            deliver(Delivery::Lost(lost));
        });
    }

    /// What has come to a host leaves the network.
    fn take_out(&mut self, receiver: u32, came: AtHost, deliver: &mut impl FnMut(Delivery<'_>)) {
        let AtHost::Packet(at) = came else {
            // What was paused may go on.
            self.edge().send_from(receiver);
            let paused = self.net.ports[receiver as usize].paused;
            let port = PortId::new(receiver);
            deliver(Delivery::Pauses { port, paused });
            return;
        };
        let flow = self.net.packets.get(at).flow;
        self.flows.on_gone(flow);
        self.edge().take_out(receiver, at, deliver);
    }

    /// Sends the next packet of a port if it may.
    fn send_from(&mut self, number: u32) {
        match self.net.ports[number as usize].on_switch {
            true => self.net.send_from_switch(number),
            false => self.edge().send_from(number),
        }
    }

    /// The ports of hosts.
    const fn edge(&mut self) -> Edge<'_> {
        self.split().0
    }

    /// The ports of hosts, and flows.
    const fn split(&mut self) -> (Edge<'_>, &mut FlowTable) {
        let edge = Edge {
            net: &mut self.net,
            attachments: &mut self.attachments,
        };
        (edge, &mut self.flows)
    }
}

fn not_open(flow: FlowId) -> Error {
    let message = format!("{flow} isn't open");
    Error::new("flow", message, "open it before its first packet")
}

/// A flow that a driver has opened.
#[derive(Clone, Copy, Debug)]
struct Opened {
    tenant: TenantId,
    /// Packets under way.
    packets: u32,
    closed: bool,
}

/// The flows that are open.
#[derive(Clone, Debug, Default)]
struct FlowTable {
    /// By flow.
    flows: Vec<Opened>,
    /// Flows that are closed and of which no packet is under way.
    free: Vec<FlowId>,
}

impl FlowTable {
    /// The number of a new flow: one that is free, or the next.
    fn open(&mut self, tenant: TenantId) -> FlowId {
        let opened = Opened {
            tenant,
            packets: 0,
            closed: false,
        };
        if let Some(flow) = self.free.pop() {
            self.flows[flow.index()] = opened;
            return flow;
        }
        self.flows.push(opened);
        FlowId::new(self.flows.len() as u32 - 1)
    }

    /// The tenant of a flow that is open.
    fn tenant(&self, flow: FlowId) -> Option<TenantId> {
        let opened = self.flows.get(flow.index())?;
        (!opened.closed).then_some(opened.tenant)
    }

    /// Closes a flow; whether it was open.
    fn close(&mut self, flow: FlowId) -> bool {
        if self.tenant(flow).is_none() {
            return false;
        }
        self.flows[flow.index()].closed = true;
        self.free_if_over(flow);
        true
    }

    fn free_if_over(&mut self, flow: FlowId) {
        let opened = &self.flows[flow.index()];
        if opened.closed && opened.packets == 0 {
            self.free.push(flow);
        }
    }

    /// A packet of a flow sets out.
    fn on_injected(&mut self, flow: FlowId) {
        self.flows[flow.index()].packets += 1;
    }

    /// A packet of a flow has left the network.
    fn on_gone(&mut self, flow: FlowId) {
        self.flows[flow.index()].packets -= 1;
        self.free_if_over(flow);
    }
}
