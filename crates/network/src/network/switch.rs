//! Switches: routing, admission, queues, marks, telemetry, pauses.

use crate::network::Network;
use crate::network::deflection;
use fairlane_units::Bytes;

use crate::counters::Drop;
use crate::five_tuple::FiveTuple;
use crate::forwarding::{EgressPorts, Label};
use crate::packet::{Kind, NONE, PacketRecord, TAKEN, UNDECIDED};
use crate::records::TraceEvent;

impl Network {
    /// A packet that `sender` has sent to the port `ingress` has come in and goes to the queue of its next hop.
    #[inline]
    pub(crate) fn forward(&mut self, sender: u32, ingress: u32, at: u32) {
        if self.recorder.tracer.is_on() {
            self.trace(ingress, at, TraceEvent::Received);
        }
        let egress = self.next_hop(ingress, at);
        if egress >= TAKEN {
            if egress == NONE {
                self.drop_packet(at, ingress, Drop::NoRoute);
            }
            return;
        }
        let packet = self.packets.get_mut(at);
        packet.hop += 1;
        let (class, charged, wire) = (packet.class, packet.charged, packet.wire);
        let port = &self.ports[egress as usize];
        let idle = port.nonempty == 0 && port.paused & 1 << class == 0 && port.up;
        let free = !self.engine.is_ahead(port.free_at, port.free_key);
        if idle && free && ingress != egress {
            // Nothing waits: the packet needn't either.
            self.pass_through(egress, at);
            return;
        }
        if class != 0 && !self.admit(sender, charged, wire) {
            self.drop_packet(at, ingress, Drop::BufferFull);
            return;
        }
        self.ports[egress as usize].enqueue(&mut self.packets, class, at);
        if self.recorder.tracer.is_on() {
            self.trace(egress, at, TraceEvent::Enqueued);
        }
        self.send_from_switch(egress);
    }

    /// Charges a packet to the buffer, which may pause the neighbour that it came from; `false` if
    /// there is no room.
    #[inline]
    pub(crate) fn admit(&mut self, sender: u32, class: u8, wire: u16) -> bool {
        let port = &mut self.ports[sender as usize];
        let buffer = &mut self.buffers[port.peer_owner as usize];
        if !buffer.admit(port, class, u32::from(wire)) {
            return false;
        }
        if buffer.should_pause(port, class) {
            port.pausing |= 1 << class;
            let peer = port.peer;
            self.send_pause(peer, class, true);
        }
        true
    }

    /// Sends a packet that finds the transmitter idle and the queues empty. It can't be marked:
    /// nothing stays behind.
    #[inline]
    fn pass_through(&mut self, egress: u32, at: u32) {
        let packet = self.packets.get(at);
        let (sender, class, telemetry) = (packet.sender, packet.class, packet.telemetry);
        let (charged, wire) = (packet.charged, packet.wire);
        if class != 0 && !self.pass_buffer(sender, charged, wire) {
            let ingress = self.ports[sender as usize].peer;
            self.drop_packet(at, ingress, Drop::BufferFull);
            return;
        }
        let port = &mut self.ports[egress as usize];
        port.waiting_max = port.waiting_max.max(u64::from(wire));
        if class != 0 {
            port.last_served = class;
        }
        if port.tenants.is_some() {
            self.count_tenant(egress, at);
        }
        if telemetry != NONE {
            self.stamp(egress, at);
        }
        if self.recorder.tracer.is_on() {
            self.trace_passing(egress, at);
        }
        self.transmit(egress, at);
    }

    /// Charges a packet to the buffer and gives that back at once, with the pauses and resumes that
    /// either leads to; `false` if there is no room.
    #[inline]
    fn pass_buffer(&mut self, sender: u32, class: u8, wire: u16) -> bool {
        let port = &mut self.ports[sender as usize];
        let buffer = &mut self.buffers[port.peer_owner as usize];
        let wire = u32::from(wire);
        if buffer.is_untouched(port, class, wire) {
            return true;
        }
        if !buffer.admit(port, class, wire) {
            return false;
        }
        let (peer, bit) = (port.peer, 1 << class);
        let pauses = buffer.should_pause(port, class);
        port.pausing |= if pauses { bit } else { 0 };
        buffer.release(port, class, wire);
        let resumes = buffer.should_resume(port, class);
        port.pausing &= if resumes { !bit } else { !0 };
        if pauses {
            self.send_pause(peer, class, true);
        }
        if resumes {
            self.send_pause(peer, class, false);
        }
        true
    }

    /// The egress port of a packet, or [`NONE`]: the one that was foreseen if routes are as they were when it
    /// set out, else what the switch chooses now.
    #[inline]
    fn next_hop(&mut self, ingress: u32, at: u32) -> u32 {
        let packet = self.packets.get(at);
        if packet.epoch == self.epoch && packet.egress != UNDECIDED {
            return packet.egress;
        }
        if self.plan.forks {
            return deflection::route(self, ingress, at);
        }
        self.choose(self.ports[ingress as usize].owner, at)
    }

    /// The egress port that a switch chooses for a packet that is there; [`NONE`] if none leads anywhere.
    pub(crate) fn choose(&mut self, switch: u32, at: u32) -> u32 {
        let packet = self.packets.get(at);
        let label = Label {
            tuple: self.tuple_of(packet),
        };
        let aware = packet.epoch == self.epoch;
        let back = packet.has(PacketRecord::BACK);
        let host = self.flows[packet.flow.index()].destination(back);
        let numbers = self.routes.towards(switch, host, aware);
        if numbers.len() < 2 {
            return numbers.first().copied().unwrap_or(NONE);
        }
        let candidates = EgressPorts {
            numbers,
            detours: &[],
            ports: &self.ports,
            class: packet.class,
        };
        let forwarder = &mut self.forwarders[switch as usize];
        let chosen = forwarder.choose(self.engine.now(), &label, &candidates);
        numbers[chosen as usize]
    }

    /// Addresses and ports of a packet that belongs to a message.
    #[inline]
    pub(crate) fn tuple_of(&self, packet: &PacketRecord) -> FiveTuple {
        let flow = &self.flows[packet.flow.index()];
        flow.label(
            packet.has(PacketRecord::BACK),
            self.settings.quirks.five_tuples,
        )
    }

    /// Sends the next packet of a switch port if its transmitter is free.
    #[inline]
    pub fn send_from_switch(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        if port.sendable() == 0 || !port.up {
            return;
        }
        if self.is_busy(number) {
            self.await_port(number);
            return;
        }
        let port = &mut self.ports[number as usize];
        let Some((class, at)) = port.dequeue(&self.packets) else {
            return;
        };
        self.packets
            .fetch(port.queues[usize::from(class)].packets.head);
        if class != 0 {
            self.release_buffer(at);
            self.mark(number, class, at);
            self.maybe_resume(at);
        }
        if self.ports[number as usize].tenants.is_some() {
            self.count_tenant(number, at);
        }
        if self.packets.get(at).telemetry != NONE {
            self.stamp(number, at);
        }
        if self.recorder.tracer.is_on() {
            self.trace(number, at, TraceEvent::Dequeued);
        }
        self.transmit(number, at);
        if self.ports[number as usize].sendable() != 0 {
            self.await_port(number);
        }
    }

    /// Gives back the buffer of a packet that leaves.
    #[inline]
    fn release_buffer(&mut self, at: u32) {
        let packet = self.packets.get(at);
        if packet.has(PacketRecord::UNCHARGED) {
            deflection::uncharge(self, at);
            return;
        }
        let class = packet.charged;
        let port = &mut self.ports[packet.sender as usize];
        self.buffers[port.peer_owner as usize].release(port, class, u32::from(packet.wire));
    }

    /// Ends the pause of the neighbour that a packet came from, if its leaving allows that.
    #[inline]
    fn maybe_resume(&mut self, at: u32) {
        let packet = self.packets.get(at);
        let (port, class) = (&mut self.ports[packet.sender as usize], packet.charged);
        if self.buffers[port.peer_owner as usize].should_resume(port, class) {
            port.pausing &= !(1 << class);
            let peer = port.peer;
            self.send_pause(peer, class, false);
        }
    }

    /// Takes a packet out of the buffer.
    #[inline]
    pub(crate) fn evict(&mut self, at: u32) {
        self.release_buffer(at);
        self.maybe_resume(at);
    }

    /// Marks a data packet that leaves if the queue behind it is long, or counts that it would have at a port that isn't to. In a reply the mark is an echo
    /// and says nothing of the way back.
    #[inline]
    fn mark(&mut self, egress: u32, class: u8, at: u32) {
        let port = &self.ports[egress as usize];
        let told = match &port.tenants {
            None => 1.0,
            Some(tenants) => tenants.ratio(self.packets.get(at).tenant()),
        };
        let probability = port.mark_probability(class, told);
        if probability == 0.0 || !self.settings.ecn {
            return;
        }
        let draw = match &mut self.ns3_random {
            _ if self.ports[egress as usize].is_over_kmax(class, told) => 0.0,
            Some(random) => random.next_f64(),
            None => self.ports[egress as usize].marks.next_f64(),
        };
        let packet = self.packets.get_mut(at);
        if draw < probability && packet.kind == Kind::Data {
            if !self.ports[egress as usize].peer_on_switch && !self.settings.host_ports_mark {
                self.counters.filtered += 1;
                return;
            }
            packet.flags |= PacketRecord::MARKED;
            self.counters.on_mark(packet.tenant);
            self.ports[egress as usize].marked += 1;
        }
    }

    /// Adds the state of the egress port to a data packet's telemetry.
    fn stamp(&mut self, egress: u32, at: u32) {
        let packet = self.packets.get(at);
        let (Kind::Data, Some(format)) = (packet.kind, &self.settings.telemetry_format) else {
            return;
        };
        let port = &self.ports[egress as usize];
        let (sent, waiting) = match &port.tenants {
            None => (Bytes::new(port.sent_bytes), Bytes::new(port.waiting)),
            Some(tenants) => {
                let tenant = self.packets.get(at).tenant();
                let waiting = port.waiting as f64 * tenants.ratio(tenant);
                (
                    tenants.told(tenant, port.sent_bytes),
                    Bytes::new(waiting as u64),
                )
            }
        };
        let hop = format.hop(self.engine.now(), sent, waiting, port.rate);
        let before = usize::from(packet.hop) - 1;
        self.packets
            .telemetry_mut(packet.telemetry)
            .end_with(before, egress, hop);
    }

    /// Counts a packet that leaves for its tenant, at a port that distinguishes tenants.
    #[inline(never)]
    fn count_tenant(&mut self, egress: u32, at: u32) {
        let packet = self.packets.get(at);
        if packet.kind != Kind::Data {
            return;
        }
        let (wire, tenant, now) = (
            u64::from(packet.wire),
            self.packets.get(at).tenant(),
            self.now(),
        );
        let port = &mut self.ports[egress as usize];
        let sent = port.sent_bytes;
        if let Some(tenants) = &mut port.tenants {
            tenants.on_sent(now, tenant, wire, sent);
        }
    }

    /// Sends a pause or resume of `class` to the neighbour at `number`.
    pub(crate) fn send_pause(&mut self, number: u32, class: u8, pause: bool) {
        self.queue_pause(number, class, pause);
        self.send_from_switch(number);
    }

    /// Has such a frame wait at a port, ahead of everything else.
    pub(crate) fn queue_pause(&mut self, number: u32, class: u8, pause: bool) {
        if let Some(random) = &mut self.ns3_random {
            // The identification field of the frame.
            random.skip();
        }
        let at = self.new_pause_frame(class, pause);
        // Pause frames wait in the control queue whatever class they pause.
        self.ports[number as usize].enqueue_pause(&mut self.packets, at);
        if self.recorder.tracer.is_on() {
            self.trace(number, at, TraceEvent::Enqueued);
        }
    }
}
