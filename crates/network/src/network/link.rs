//! Packets on links: transmission, arrival, loss.

use fairlane_engine::Event;

use crate::counters::Drop;
use crate::flow::Flow;
use crate::forwarding::Plan;
use crate::network::Network;
use crate::packet::{Kind, NONE, PacketRecord, UNDECIDED};
use crate::port::Port;
use crate::records::{PauseRecord, TraceEvent};
use crate::routing::Routes;

/// What has come to a host.
#[derive(Clone, Copy, Debug)]
pub enum AtHost {
    /// The packet with this index.
    Packet(u32),
    /// The pause of a class, or the end of it: the port may send more.
    Pause(bool),
}

impl Network {
    /// Whether the transmitter of `port` is sending.
    #[inline]
    pub fn is_busy(&self, port: u32) -> bool {
        let port = &self.ports[port as usize];
        self.engine.is_ahead(port.free_at, port.free_key)
    }

    /// Puts a packet on the link of `port`, whose transmitter must be free.
    ///
    /// The event at which the transmitter becomes free gets its place now but is scheduled only if
    /// somebody waits for it: see [`Network::await_port`].
    #[inline(always)]
    pub fn transmit(&mut self, number: u32, at: u32) {
        if self.observed {
            self.observe(number, at);
        }
        let now = self.engine.now();
        let port = &mut self.ports[number as usize];
        let packet = self.packets.get_mut(at);
        packet.sender = number;
        packet.egress = foresee((&self.flows, &self.plan, &self.routes), port, packet);
        let wire = u32::from(packet.wire);
        let busy = port.serialization(wire);
        let gap = u32::from(self.settings.gap);
        port.free_at = now
            + if gap == 0 {
                busy
            } else {
                port.serialization(wire + gap)
            };
        let [free, arrival] = port.keys;
        port.free_key = self.engine.reserve_ranked(free);
        let key = self.engine.reserve_ranked(arrival);
        let time = now + busy + port.delay;
        port.sent_bytes += u64::from(wire);
        self.counters.transmissions += 1;
        if port.crosses {
            self.send_across(number, at, Event { time, key });
        } else if port.flight.push(&mut self.packets, at, Event { time, key }) {
            self.engine.schedule(time, key);
        }
    }

    /// Asks to be told when the transmitter of `port` becomes free.
    #[inline]
    pub fn await_port(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if !port.free_armed {
            port.free_armed = true;
            self.engine.schedule(port.free_at, port.free_key);
        }
    }

    /// The first packet on the link of `sender` arrives at the other end: switches see to it, hosts are
    /// the driver's.
    #[inline]
    pub fn on_arrival(&mut self, sender: u32, event: Event) -> Option<AtHost> {
        let link = &mut self.ports[sender as usize];
        // A link that went down has dropped the packet that this event was for.
        let (at, follower) = link.flight.pop(&self.packets, event)?;
        if let Some(follower) = follower {
            self.engine.schedule(follower.time, follower.key);
        }
        let (receiver, to_switch) = (link.peer, link.peer_on_switch);
        let pauses = self.packets.get(at).kind.is_pause_frame();
        // Switches repeat pause frames as long as they hold, so the loss of one means nothing.
        if !pauses && link.loses && link.losses.next_f64() < link.loss_rate {
            self.drop_packet(at, receiver, Drop::LinkError);
            return None;
        }
        if self.recorder.capture.is_on() {
            self.recorder
                .capture(&self.engine, receiver, false, &self.packets, at);
        }
        if pauses {
            return self.on_pause(receiver, at).map(AtHost::Pause);
        }
        if to_switch {
            self.forward(sender, receiver, at);
            return None;
        }
        Some(AtHost::Packet(at))
    }

    /// A pause frame arrives; returns whether it ends a pause if a host is to know.
    #[inline(never)]
    fn on_pause(&mut self, receiver: u32, at: u32) -> Option<bool> {
        let now = self.now();
        let pause = self.packets.get(at).kind == Kind::Pause;
        if self.recorder.tracer.is_on() {
            self.trace(receiver, at, TraceEvent::Received);
        }
        let class = self.packets.get(at).class;
        self.packets.release(at);
        self.counters.pauses += u64::from(pause);
        let port = fairlane_units::PortId::new(receiver);
        let record = PauseRecord {
            time: now,
            port,
            class,
            pause,
        };
        self.recorder.pauses.push(self.engine.latest(), record);
        if !self.obey(receiver, class, pause) {
            return None;
        }
        if !self.ports[receiver as usize].on_switch {
            return Some(!pause);
        }
        if !pause {
            self.send_from_switch(receiver);
        }
        None
    }

    /// The peer of a port pauses a class, or ends that; `false` if the port ignores it.
    pub(crate) fn obey(&mut self, number: u32, class: u8, pause: bool) -> bool {
        let now = self.now();
        if self.watchdog.is_on() && self.watchdog_hears(number, class, pause) {
            return false;
        }
        self.ports[number as usize].set_paused(now, class, pause);
        true
    }

    /// A packet is about to be put on the link of a port, and somebody wants to know.
    #[inline(never)]
    fn observe(&mut self, port: u32, at: u32) {
        if self.recorder.capture.is_on() {
            self.recorder
                .capture(&self.engine, port, true, &self.packets, at);
        }
        if let Some(ledger) = &mut self.counters.ledger {
            ledger.on_transmission(port, self.packets.get(at));
        }
    }

    /// Loses a packet at `port`.
    pub(crate) fn drop_packet(&mut self, at: u32, port: u32, reason: Drop) {
        if self.recorder.tracer.is_on() {
            self.trace(port, at, TraceEvent::Dropped);
        }
        let packet = self.packets.get(at);
        if packet.kind.is_of_hosts() {
            self.counters.on_drop(packet.tenant, packet.wire, reason);
            if let Some(lost) = &mut self.lost {
                lost.push((at, packet.flow, reason));
            }
        }
        self.packets.release(at);
    }
}

/// The egress port at the switch that a packet leaves for through `port`, if that can be known now;
/// anything if it leaves for a host.
#[inline(always)]
fn foresee(
    (flows, plan, routes): (&[Flow], &Plan, &Routes),
    port: &Port,
    packet: &PacketRecord,
) -> u32 {
    let Some(flow) = flows.get(packet.flow.index()) else {
        return NONE;
    };
    if plan.fixed {
        return flow.egress(packet);
    }
    if !port.peer_on_switch {
        return NONE;
    }
    if plan.forks && is_looked_at(plan, packet) {
        return UNDECIDED;
    }
    let destination = flow.destination(packet.has(PacketRecord::BACK));
    match routes.towards(port.peer_owner, destination, true) {
        [] => NONE,
        [only] => *only,
        _ => UNDECIDED,
    }
}

/// Whether switches that fork flows must look at a packet even where there is one way.
#[inline]
fn is_looked_at(plan: &Plan, packet: &PacketRecord) -> bool {
    packet.has(PacketRecord::LABELLED)
        || matches!(packet.kind, Kind::Tail | Kind::Clear)
        || plan.sees_all && packet.kind == Kind::Data
}
