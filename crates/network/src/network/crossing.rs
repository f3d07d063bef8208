//! Packets that cross to another part of the fabric.

use fairlane_engine::Event;

use crate::network::Network;
use crate::packet::{NONE, PacketRecord};
use crate::place::{Crossing, Outbox};

impl Network {
    /// Hands a packet that `port` has sent over to the part of the switch at the other end.
    #[cold]
    pub(crate) fn send_across(&mut self, port: u32, at: u32, arrival: Event) {
        let part = self.place.part_of[self.graph.peer(port) as usize];
        let outbox = &mut self.place.outboxes[usize::from(part)];
        let packet = *self.packets.get(at);
        let record = match packet.telemetry {
            NONE => NONE,
            record => {
                let carried = (
                    self.packets.telemetry(record).copied(),
                    self.packets.stamp(record),
                );
                outbox.records.push(carried);
                outbox.records.len() as u32 - 1
            }
        };
        if packet.has(PacketRecord::LABELLED) {
            outbox.forks.push(self.packets.forks(at));
        }
        outbox.packets.push(Crossing {
            port,
            arrival,
            packet,
            record,
        });
        self.packets.release(at);
    }

    /// Hands what has crossed to another part, which has this number, over to it.
    pub fn hand_over(&mut self, other: &mut Self, part: usize) {
        if let Some(mut outbox) = self.place.outbox_for(part) {
            other.receive(&mut outbox);
            // Its memory is used again.
            self.place.give_back(part, outbox);
        }
    }

    /// Takes in packets that have crossed, with the records that came along.
    fn receive(&mut self, outbox: &mut Outbox) {
        let mut forks = outbox.forks.drain(..);
        for crossing in outbox.packets.drain(..) {
            let mut packet = crossing.packet;
            if crossing.record != NONE {
                let (telemetry, stamp) = outbox.records[crossing.record as usize];
                packet.telemetry = self.packets.restore_record(telemetry, stamp);
            }
            let (at, place) = self.packets.alloc();
            *place = packet;
            if packet.has(PacketRecord::LABELLED) {
                let forks = forks.next().expect("labels cross with their packet");
                self.packets.set_forks(at, forks);
            }
            let link = &mut self.ports[crossing.port as usize];
            if link.flight.push(&mut self.packets, at, crossing.arrival) {
                let Event { time, key } = crossing.arrival;
                self.engine.schedule(time, key);
            }
        }
        outbox.records.clear();
    }
}
