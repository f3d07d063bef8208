//! What drivers do at the ports of hosts.

use fairlane_wire::Opcode;

use super::Network;
use crate::packet::{Kind, PacketRecord};
use crate::records::TraceEvent;

impl Network {
    /// Puts a packet of a host on the link of its port: `write` gives it its headers, and `record` is what it collects.
    #[inline(always)]
    pub fn enter(&mut self, port: u32, record: u32, write: impl FnOnce(&mut PacketRecord)) {
        let (at, packet) = self.packets.alloc();
        write(packet);
        packet.epoch = self.epoch;
        packet.telemetry = record;
        self.counters.injected.add(packet.wire);
        if self.recorder.tracer.is_on() {
            self.trace(port, at, TraceEvent::Dequeued);
        }
        self.transmit(port, at);
    }

    /// A packet has come to its host.
    #[inline]
    pub fn leave(&mut self, at: u32) {
        let wire = self.packets.get(at).wire;
        self.counters.delivered.add(wire);
    }

    /// A frame that pauses a class of what the other end of a link sends, or ends that, for [`transmit`](Self::transmit).
    pub fn new_pause_frame(&mut self, class: u8, pause: bool) -> u32 {
        let kind = if pause { Kind::Pause } else { Kind::Resume };
        let (at, packet) = self.packets.alloc();
        // Of a pause frame the opcode has no meaning.
        *packet = PacketRecord::new(kind, Opcode::Cnp, class, self.settings.pause);
        packet.epoch = self.epoch;
        self.counters.pause_transmissions += 1;
        at
    }

    /// A pause frame is lost before it was sent.
    pub fn discard_pause_frame(&mut self, at: u32) {
        self.counters.pause_transmissions -= 1;
        self.packets.release(at);
    }

    /// The event of a port's free transmitter has come.
    #[inline]
    pub fn on_port_free(&mut self, port: u32) {
        self.ports[port as usize].free_armed = false;
    }
}
