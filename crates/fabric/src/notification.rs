//! Congestion notifications as packets of their own: from the host that a marked packet
//! has reached to the one that sent it.

use fairlane_wire::Opcode;

use crate::TraceEvent;
use crate::packet::{Kind, Packet};
use crate::world::World;

impl World {
    /// A marked packet has arrived: its acknowledgement will say so, or a CNP does. Returns whether a
    /// CNP waits to be sent.
    pub(crate) fn notify(&mut self, port: u32, at: u32) -> bool {
        let Some(interval) = self.rules.cnp_interval else {
            return false;
        };
        let now = self.engine.now();
        let packet = self.packets.get_mut(at);
        packet.flags &= !Packet::MARKED;
        let slot = packet.connection;
        let back = !packet.flags & Packet::BACK;
        let connection = self.connections.get_mut(slot);
        if !connection.notification_point.on_mark(now, interval) {
            return false;
        }
        connection.packets += 1;
        let mut cnp = Packet::new(Kind::Cnp, Opcode::Cnp, 0, self.rules.cnp);
        cnp.flags = back;
        cnp.connection = slot;
        cnp.tenant = connection.tenant;
        cnp.epoch = self.epoch;
        let cnp = self.packets.alloc(cnp);
        self.counters.cnps_sent += 1;
        if self.tracer.is_on() {
            self.trace(port, cnp, TraceEvent::Enqueued);
        }
        let host = self.ports[port as usize].owner;
        let replies = &mut self.nics[host as usize].replies;
        // Ahead of acknowledgements, which a pause may hold back.
        replies.push_behind(&mut self.packets, cnp, |ahead| ahead.kind == Kind::Cnp);
        true
    }

    /// A packet that isn't acknowledged takes its mark along; the next acknowledgement says so.
    #[inline]
    pub(crate) fn owe_mark(&mut self, at: u32) {
        let packet = self.packets.get(at);
        if packet.has(Packet::MARKED) {
            self.connections.get_mut(packet.connection).owes_mark = true;
        }
    }

    /// Marks an acknowledgement if one before it owed that.
    #[inline]
    pub(crate) fn pay_mark(&mut self, at: u32) {
        let packet = self.packets.get_mut(at);
        let connection = self.connections.get_mut(packet.connection);
        if std::mem::take(&mut connection.owes_mark) {
            packet.flags |= Packet::MARKED;
        }
    }

    /// A CNP has come back to the host that sends the data.
    pub(crate) fn on_cnp(&mut self, at: u32) {
        let now = self.engine.now();
        let packet = self.packets.get(at);
        let (slot, back) = (packet.connection, packet.has(Packet::BACK));
        let tenant = packet.tenant;
        self.discard(at);
        self.counters.on_reply(tenant, true);
        let Some(connection) = self.connections.of_packet(slot) else {
            return;
        };
        let host = if back {
            connection.source
        } else {
            connection.response.host
        };
        if connection.is_enforced() {
            self.tell(slot, |enforcer, sender| enforcer.on_cnp(now, sender));
        } else {
            let before = connection.controller.rate();
            connection.controller.on_cnp(now);
            self.arm_changed(slot);
            self.on_rate(slot, before, false);
        }
        self.refresh(slot);
        self.send_from_host(host);
    }
}
