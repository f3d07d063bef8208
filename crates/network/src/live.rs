//! Networks for drivers that have no events of their own in the calendar, and whose flows come and go.

use fairlane_congestion::Telemetry;
use fairlane_engine::{Event, Key};
use fairlane_scenario::Error;
use fairlane_units::{Bytes, Duration, FlowId, NodeId, PortId, Psn, TenantId, Time};
use fairlane_wire::Opcode;

use crate::counters::Drop;
use crate::five_tuple::FiveTuple;
use crate::flow::Flow;
use crate::network::link::AtHost;
use crate::network::{Network, deflection};
use crate::packet::{Kind, NONE, PacketRecord, Side};
use crate::records::TraceEvent;
use crate::routing::PortPair;
use crate::waking::{Waking, timer};

/// What a driver has of a packet, such as where its payload is. It travels with the packet and comes out with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attachment(u32);

impl Attachment {
    /// An attachment with this number.
    ///
    /// # Panics
    /// For [`u32::MAX`].
    pub const fn new(number: u32) -> Self {
        assert!(number != NONE, "the number stands for no attachment");
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A packet that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its flow.
    pub flow: FlowId,
    /// What its driver had of it.
    pub attachment: Option<Attachment>,
    /// Why.
    pub reason: Drop,
}

/// A packet at the edge of a network: what switches read of it, and what they have done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its flow.
    pub flow: FlowId,
    /// The end of the flow that it goes to.
    pub towards: Side,
    /// What it is to switches: data may be marked and collects telemetry.
    pub kind: Kind,
    /// The opcode of its BTH.
    pub opcode: Opcode,
    /// The sequence number of its BTH.
    pub psn: Psn,
    /// Bytes of payload.
    pub payload: u16,
    /// Bytes on the wire, without the gap behind it.
    pub wire: u16,
    /// Its traffic class; 0 for control, which is never paused.
    pub class: u8,
    /// Congestion experienced (RFC 3168).
    pub marked: bool,
    /// Switches that it has passed.
    pub hops: u8,
}

/// What comes out of a network at a host.
#[derive(Clone, Copy, Debug)]
pub enum Delivery<'a> {
    /// A packet has arrived.
    Packet {
        /// The port of the host that it has come to.
        port: PortId,
        /// The packet.
        packet: Packet,
        /// What switches wrote into it, if data packets collect telemetry.
        telemetry: Option<&'a Telemetry>,
        /// What came with it.
        attachment: Option<Attachment>,
    },
    /// A packet was lost. No host hears of it: it is for the driver, which may have something to forget.
    Lost(Lost),
    /// The switch at the other end has paused classes of a host's port, or ended pauses.
    Pauses {
        /// The port.
        port: PortId,
        /// The classes that are paused now, as a bit set.
        paused: u8,
    },
}

/// A [`Network`] whose flows come and go while it runs.
///
/// A driver [opens](Self::open) flows, [injects](Self::inject) packets at hosts, and has everything happen up to a
/// [time](Self::advance), when it is handed what has come to hosts. Payload stays with the driver, which may attach a number to
/// each packet.
#[derive(Clone)]
pub struct LiveNetwork {
    net: Network,
    flows: FlowTable,
}

impl LiveNetwork {
    /// Takes a network without flows on which nothing has happened.
    pub fn new(mut net: Network) -> Self {
        net.lost = Some(Vec::new());
        Self {
            net,
            flows: FlowTable::default(),
        }
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
        self.check_class(class)?;
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

    fn check_class(&self, class: u8) -> Result<(), Error> {
        let sends = u32::from(self.net.settings.classes) >> class.min(8) & 1 == 1;
        if sends && class != 0 {
            return Ok(());
        }
        let message = format!("is in class {class}, in which hosts don't send");
        let hint = "name the class when the network is made: buffers are divided among classes";
        Err(Error::new("flow", message, hint))
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

    fn check_packet(&self, packet: &Packet) -> Result<(), Error> {
        if packet.kind.is_of_switches() {
            let message = format!("is of kind {:?}, which only switches send", packet.kind);
            return Err(Error::new("packet", message, "hand in what hosts send"));
        }
        let largest = self.net.settings.largest - u32::from(self.net.settings.gap);
        if (1..=largest).contains(&u32::from(packet.wire)) {
            return Ok(());
        }
        let message = format!("has {} B on the wire, expected 1 to {largest}", packet.wire);
        let hint = "packet.mtu of the scenario makes switches ready for larger packets";
        Err(Error::new("packet", message, hint))
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
        if packet.class != 0 {
            self.check_class(packet.class)?;
        }
        self.check_packet(packet)?;
        let number = self.port_of(packet.flow, packet.towards.other());
        let collects = packet.kind == Kind::Data && self.net.settings.telemetry_format.is_some();
        let net = &mut self.net;
        let record = net
            .packets
            .alloc_record((collects, false), net.engine.now());
        let (at, place) = net.packets.alloc();
        *place = PacketRecord::new(packet.kind, packet.opcode, packet.class, packet.wire);
        place.flow = packet.flow;
        place.tenant = tenant.get() as u16;
        place.psn = packet.psn.get();
        place.payload = packet.payload;
        place.telemetry = record;
        place.epoch = net.epoch;
        if packet.towards == Side::Requester {
            place.flags |= PacketRecord::BACK;
        }
        if packet.marked {
            place.flags |= PacketRecord::MARKED;
        }
        net.counters.injected.add(packet.wire);
        net.ports[number as usize].enqueue(&mut net.packets, packet.class, at);
        if net.recorder.tracer.is_on() {
            net.trace(number, at, TraceEvent::Enqueued);
        }
        self.flows.on_injected(at, packet.flow, attachment);
        self.send_from_host(number);
        Ok(())
    }

    /// Has the switch at the other end of a host's port pause a class of what it sends there, or ends that. A link that goes
    /// down ends all pauses.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn pause(&mut self, port: PortId, class: u8, pause: bool) {
        self.net.queue_pause(port.get(), class, pause);
        self.send_from_host(port.get());
    }

    /// Bytes that wait at a host's port: back pressure for whoever hands in packets there.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn waiting(&self, port: PortId) -> Bytes {
        Bytes::new(self.net.ports[port.index()].waiting)
    }

    /// The port of a host that packets of a flow leave by at one of its ends, or come to.
    fn port_of(&self, flow: FlowId, side: Side) -> u32 {
        let back = side == Side::Requester;
        let end = self.net.flow(flow).destination(back);
        self.net.graph.host_edge(end).port
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
        for (at, flow, reason) in self.net.lost.iter_mut().flat_map(|lost| lost.drain(..)) {
            let attachment = self.flows.on_gone(at, flow);
            deliver(Delivery::Lost(Lost {
                flow,
                attachment,
                reason,
            }));
        }
    }

    /// What has come to a host leaves the network.
    fn take_out(&mut self, receiver: u32, came: AtHost, deliver: &mut impl FnMut(Delivery<'_>)) {
        let port = PortId::new(receiver);
        let AtHost::Packet(at) = came else {
            let paused = self.net.ports[receiver as usize].paused;
            // What was paused may go on.
            self.send_from_host(receiver);
            deliver(Delivery::Pauses { port, paused });
            return;
        };
        let net = &mut self.net;
        if net.recorder.tracer.is_on() {
            net.trace(receiver, at, TraceEvent::Received);
        }
        let record = *net.packets.get(at);
        net.leave(at);
        let attachment = self.flows.on_gone(at, record.flow);
        deliver(Delivery::Packet {
            port,
            packet: Packet {
                flow: record.flow,
                towards: record.towards(),
                kind: record.kind,
                opcode: record.opcode,
                psn: Psn::new(record.psn),
                payload: record.payload,
                wire: record.wire,
                class: record.class,
                marked: record.has(PacketRecord::MARKED),
                hops: record.hop,
            },
            telemetry: net.packets.telemetry(record.telemetry),
            attachment,
        });
        net.packets.release(at);
    }

    /// Sends the next packet of a port if it may.
    fn send_from(&mut self, number: u32) {
        match self.net.ports[number as usize].on_switch {
            true => self.net.send_from_switch(number),
            false => self.send_from_host(number),
        }
    }

    /// Sends the next packet that waits at a host's port, if its transmitter is free.
    fn send_from_host(&mut self, number: u32) {
        let net = &mut self.net;
        let port = &net.ports[number as usize];
        if port.sendable() == 0 || !port.up {
            return;
        }
        if net.is_busy(number) {
            net.await_port(number);
            return;
        }
        let Some((_, at)) = net.ports[number as usize].dequeue(&net.packets) else {
            return;
        };
        if net.recorder.tracer.is_on() {
            net.trace(number, at, TraceEvent::Dequeued);
        }
        net.transmit(number, at);
        if net.ports[number as usize].sendable() != 0 {
            net.await_port(number);
        }
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

/// The flows that are open, and what their driver has of packets under way.
#[derive(Clone, Debug, Default)]
struct FlowTable {
    /// By flow.
    flows: Vec<Opened>,
    /// Flows that are closed and of which no packet is under way.
    free: Vec<FlowId>,
    /// By place in the pool of packets, as far as any there has had one: an attachment, or [`NONE`].
    attachments: Vec<u32>,
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

    /// The packet at a place of the pool sets out.
    fn on_injected(&mut self, at: u32, flow: FlowId, attachment: Option<Attachment>) {
        self.flows[flow.index()].packets += 1;
        let (place, known) = (at as usize, self.attachments.len());
        if attachment.is_some() && known <= place {
            self.attachments.resize(place + 1, NONE);
        }
        if let Some(known) = self.attachments.get_mut(place) {
            *known = attachment.map_or(NONE, Attachment::get);
        }
    }

    /// The packet at a place of the pool has left the network; returns what its driver had of it.
    fn on_gone(&mut self, at: u32, flow: FlowId) -> Option<Attachment> {
        self.flows[flow.index()].packets -= 1;
        self.free_if_over(flow);
        let known = self.attachments.get_mut(at as usize)?;
        let attachment = std::mem::replace(known, NONE);
        (attachment != NONE).then_some(Attachment(attachment))
    }
}
