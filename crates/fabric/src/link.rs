//! Packets on links: transmission, arrival, loss.

use fairlane_engine::Event;

use crate::counters::Drop;
use crate::packet::Kind;
use crate::world::{Waking, World};
use crate::{PauseRecord, TraceEvent};

impl World {
    /// Whether the transmitter of `port` is sending.
    #[inline]
    pub(crate) fn is_busy(&self, port: u32) -> bool {
        let port = &self.ports[port as usize];
        self.engine.is_ahead(port.free_at, port.free_key)
    }

    /// Puts a packet on the link of `port`, whose transmitter must be free.
    ///
    /// The event at which the transmitter becomes free gets its place now but is scheduled only if
    /// somebody waits for it: see [`World::await_port`].
    #[inline]
    pub(crate) fn transmit(&mut self, number: u32, at: u32) {
        if self.observed {
            self.observe(number, at);
        }
        let now = self.engine.now();
        let egress = self.foresee(number, at);
        let port = &mut self.ports[number as usize];
        let packet = self.packets.get_mut(at);
        let wire = u32::from(packet.wire);
        let busy = port.serialization(wire);
        let gap = u32::from(self.rules.gap);
        port.free_at = now
            + if gap == 0 {
                busy
            } else {
                port.serialization(wire + gap)
            };
        let index = u64::from(number);
        port.free_key = self.engine.reserve(
            Waking::PortFree.rank(index),
            Waking::PortFree.component(number),
        );
        let key = self.engine.reserve(
            Waking::Arrival.rank(index),
            Waking::Arrival.component(number),
        );
        let time = now + busy + port.delay;
        packet.sender = number;
        packet.egress = egress;
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
    pub(crate) fn await_port(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if !port.free_armed {
            port.free_armed = true;
            self.engine.schedule(port.free_at, port.free_key);
        }
    }

    pub(crate) fn on_port_free(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        port.free_armed = false;
        self.send_from(number);
    }

    /// Sends the next packet of a port if it may.
    #[inline]
    pub(crate) fn send_from(&mut self, number: u32) {
        let port = &self.ports[number as usize];
        if port.on_switch {
            self.send_from_switch(number);
        } else {
            let host = port.owner;
            self.send_from_host(host);
        }
    }

    /// The first packet on the link of `sender` arrives at the other end.
    #[inline]
    pub(crate) fn on_arrival(&mut self, sender: u32, event: Event) {
        let link = &mut self.ports[sender as usize];
        // A link that went down has dropped the packet that this event was for.
        let Some((at, follower)) = link.flight.pop(&self.packets, event) else {
            return;
        };
        if let Some(follower) = follower {
            self.engine.schedule(follower.time, follower.key);
        }
        let (receiver, to_switch) = (link.peer, link.peer_on_switch);
        let pauses = self.packets.get(at).kind.is_pause_frame();
        // Switches repeat pause frames as long as they hold, so the loss of one means nothing.
        if !pauses && link.loses && link.losses.next_f64() < link.loss_rate {
            self.drop_packet(at, receiver, Drop::LinkError);
            return;
        }
        if self.capture.is_on() {
            self.capture(receiver, at, false);
        }
        if pauses {
            self.on_pause(receiver, at);
        } else if to_switch {
            self.forward(sender, at);
        } else {
            self.on_host_arrival(receiver, at);
        }
    }

    fn on_pause(&mut self, receiver: u32, at: u32) {
        let now = self.now();
        let pause = self.packets.get(at).kind == Kind::Pause;
        if self.tracer.is_on() {
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
        self.pauses.push(self.engine.current(), record);
        if self.obey(receiver, class, pause) && !pause {
            self.send_from(receiver);
        }
    }

    /// The peer of a port pauses a class, or ends that; `false` if the port ignores it.
    pub(crate) fn obey(&mut self, receiver: u32, class: u8, pause: bool) -> bool {
        let now = self.now();
        if self.watchdog.is_on() && self.watchdog_hears(receiver, class, pause) {
            return false;
        }
        let port = &mut self.ports[receiver as usize];
        port.set_paused(now, class, pause);
        let (on_switch, owner) = (port.on_switch, port.owner);
        if !on_switch {
            self.on_host_pause(owner);
        }
        true
    }

    /// Loses a packet at `port`.
    pub(crate) fn drop_packet(&mut self, at: u32, port: u32, reason: Drop) {
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Dropped);
        }
        let packet = self.packets.get(at);
        if !packet.kind.is_pause_frame() {
            self.counters.on_drop(packet.tenant, packet.wire, reason);
        }
        self.discard(at);
    }

    /// Ends the existence of a packet.
    #[inline]
    pub(crate) fn discard(&mut self, at: u32) {
        self.packets.release(at);
    }
}
