//! What passes between ports of hosts and drivers whose NICs aren't part of the fabric: packets by value, with attachments.

use fairlane_congestion::Telemetry;
use fairlane_scenario::Error;
use fairlane_units::{FlowId, PortId, Psn, TenantId};
use fairlane_wire::Opcode;

use crate::capture::{Capture, CaptureRecord};
use crate::counters::Drop;
use crate::flow::Flow;
use crate::network::Network;
use crate::packet::{Kind, NONE, PacketRecord, Side};
use crate::records::TraceEvent;

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

/// Attachments of the packets of a network that are under way.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    /// By place in the pool of packets, as far as any there has had one: an attachment, or [`NONE`].
    by_place: Vec<u32>,
}

impl Attachments {
    /// The packet at a place of the pool sets out.
    fn put(&mut self, at: u32, attachment: Option<Attachment>) {
        let (place, known) = (at as usize, self.by_place.len());
        if attachment.is_some() && known <= place {
            self.by_place.resize(place + 1, NONE);
        }
        if let Some(known) = self.by_place.get_mut(place) {
            *known = attachment.map_or(NONE, Attachment::get);
        }
    }

    /// What the packet at a place of the pool has.
    fn look(&self, at: u32) -> Option<Attachment> {
        let known = self.by_place.get(at as usize).copied();
        known.filter(|known| *known != NONE).map(Attachment)
    }

    /// The packet at a place of the pool has left the network.
    pub(crate) fn take(&mut self, at: u32) -> Option<Attachment> {
        let known = self.by_place.get_mut(at as usize)?;
        let attachment = std::mem::replace(known, NONE);
        (attachment != NONE).then_some(Attachment(attachment))
    }
}

/// The ports of hosts, for drivers that push packets: they have queues.
pub struct Edge<'a> {
    /// The network.
    pub net: &'a mut Network,
    /// What drivers have of packets.
    pub attachments: &'a mut Attachments,
}

impl Edge<'_> {
    /// Hands in a packet of a tenant's flow at the host that it comes from. It waits there behind others of its class until the port may
    /// send it. What it has been through counts from here: `marked` stays as it is, `hops` begin at 0.
    ///
    /// # Errors
    /// If it is in a class that hosts don't send in, or of a kind that only switches send, or its size is 0 or above that of the
    /// largest packet that switches are made for.
    pub fn inject(
        &mut self,
        packet: &Packet,
        tenant: TenantId,
        attachment: Option<Attachment>,
    ) -> Result<(), Error> {
        if packet.class != 0 {
            check_class(self.net, packet.class)?;
        }
        check_packet(self.net, packet)?;
        let number = self.port_of(packet.flow, packet.towards.other());
        let net = &mut *self.net;
        let collects = packet.kind == Kind::Data && net.settings.telemetry_format.is_some();
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
        self.attachments.put(at, attachment);
        self.send_from(number);
        Ok(())
    }

    /// Gives a number to a flow: one that is known, or the next.
    pub fn set_flow(&mut self, number: FlowId, flow: Flow) {
        self.net.set_flow(number, flow);
    }

    /// Whether a packet that is handed in at a host's port leaves at once.
    pub fn is_free(&self, number: u32) -> bool {
        let port = &self.net.ports[number as usize];
        port.up && port.sendable() == 0 && !self.net.is_busy(number)
    }

    /// Has losses reported from here on.
    pub fn follow_losses(&mut self) {
        self.net.lost.get_or_insert_default();
    }

    /// Has captured packets told of from here on, if any port is captured.
    pub fn follow_captures(&mut self) {
        if self.net.recorder.captures() {
            self.net.recorder.capture.places.get_or_insert_default();
        }
    }

    /// Hands over what was captured since the last call, in order: as it is recorded, and what its driver has of it. Of a packet that
    /// has left the network since nothing is known any more.
    pub fn take_captured(&mut self, mut deliver: impl FnMut(&CaptureRecord, Option<Attachment>)) {
        let Capture {
            places, records, ..
        } = &mut self.net.recorder.capture;
        let Some(places) = places else { return };
        let first = records.entries.len() - places.len();
        for (at, record) in places.drain(..).zip(&records.entries[first..]) {
            deliver(record, self.attachments.look(at));
        }
    }

    /// The port of a host that packets of a flow leave by at one of its ends, or come to.
    pub fn port_of(&self, flow: FlowId, side: Side) -> u32 {
        let back = side == Side::Requester;
        let end = self.net.flow(flow).destination(back);
        self.net.graph.host_edge(end).port
    }

    /// Sends the next packet that waits at a host's port, if its transmitter is free.
    pub fn send_from(&mut self, number: u32) {
        let net = &mut *self.net;
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

    /// The packet at a place of the pool leaves the network at a host's port.
    pub fn take_out(&mut self, receiver: u32, at: u32, deliver: impl FnOnce(Delivery<'_>)) {
        let net = &mut *self.net;
        if net.recorder.tracer.is_on() {
            net.trace(receiver, at, TraceEvent::Received);
        }
        let record = *net.packets.get(at);
        net.leave(at);
        let attachment = self.attachments.take(at);
        deliver(Delivery::Packet {
            port: PortId::new(receiver),
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

    /// Hands over what was lost.
    pub fn take_lost(&mut self, mut deliver: impl FnMut(Lost)) {
        for (at, flow, reason) in self.net.lost.iter_mut().flat_map(|lost| lost.drain(..)) {
            deliver(Lost {
                flow,
                attachment: self.attachments.take(at),
                reason,
            });
        }
    }
}

/// Refuses a class in which hosts don't send.
pub(crate) fn check_class(net: &Network, class: u8) -> Result<(), Error> {
    let sends = u32::from(net.settings.classes) >> class.min(8) & 1 == 1;
    if sends && class != 0 {
        return Ok(());
    }
    let message = format!("is in class {class}, in which hosts don't send");
    let hint = "name the class when the network is made: buffers are divided among classes";
    Err(Error::new("flow", message, hint))
}

fn check_packet(net: &Network, packet: &Packet) -> Result<(), Error> {
    if packet.kind.is_of_switches() {
        let message = format!("is of kind {:?}, which only switches send", packet.kind);
        return Err(Error::new("packet", message, "hand in what hosts send"));
    }
    let largest = net.settings.largest - u32::from(net.settings.gap);
    if (1..=largest).contains(&u32::from(packet.wire)) {
        return Ok(());
    }
    let message = format!("has {} B on the wire, expected 1 to {largest}", packet.wire);
    let hint = "packet.mtu of the scenario makes switches ready for larger packets";
    Err(Error::new("packet", message, hint))
}
