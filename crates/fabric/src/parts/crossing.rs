//! What crosses from one part of a fabric to another: packets by value, and notices.

use fairlane_congestion::Telemetry;
use fairlane_engine::Event;
use fairlane_units::Time;

use crate::notices::Notice;
use crate::packet::{NONE, Packet, Stamp};
use crate::world::{World, control};

/// A packet on a link between two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    /// The port that sent it.
    port: u32,
    /// Its arrival.
    arrival: Event,
    packet: Packet,
    /// Place of its record among those that cross, or [`NONE`].
    record: u32,
}

/// What one part has for another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    packets: Vec<Crossing>,
    records: Vec<(Option<Telemetry>, Option<Stamp>)>,
    notices: Vec<(Time, Notice)>,
}

impl Outbox {
    pub(crate) const fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.notices.is_empty()
    }
}

impl World {
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
        outbox.packets.push(Crossing {
            port,
            arrival,
            packet,
            record,
        });
        self.packets.release(at);
    }

    /// Hands a notice over to the part of the host that is to hear of it.
    pub(crate) fn notify_across(&mut self, part: u16, at: Time, notice: Notice) {
        self.place.outboxes[usize::from(part)]
            .notices
            .push((at, notice));
    }

    /// Whether this part has something for another.
    #[inline]
    pub(crate) fn has_for(&self, part: usize) -> bool {
        !self.place.outboxes[part].is_empty()
    }

    /// What this part has for another, which is empty from then on.
    pub(crate) fn outbox_for(&mut self, part: usize, spare: Outbox) -> Outbox {
        std::mem::replace(&mut self.place.outboxes[part], spare)
    }

    /// Takes in what another part had for this one; returns the empty outbox.
    pub(crate) fn take_in(&mut self, mut outbox: Outbox) -> Outbox {
        for crossing in outbox.packets.drain(..) {
            let mut packet = crossing.packet;
            if crossing.record != NONE {
                let (telemetry, stamp) = outbox.records[crossing.record as usize];
                packet.telemetry = self.packets.restore_record(telemetry, stamp);
            }
            let at = self.packets.alloc(packet);
            let link = &mut self.ports[crossing.port as usize];
            if link.flight.push(&mut self.packets, at, crossing.arrival) {
                let Event { time, key } = crossing.arrival;
                self.engine.schedule(time, key);
            }
        }
        outbox.records.clear();
        for (at, notice) in outbox.notices.drain(..) {
            self.notices.insert(at, notice);
            self.schedule_control(at, control::NOTICE);
        }
        outbox
    }
}
