//! Responses to READs and atomics, and their congestion control.
//!
//! The data of a READ goes from the responder to the requester, so the responder's network card takes
//! turns with it, and the controller of the connection sets its rate. No acknowledgement comes back
//! for a response; instead, the requester's card sends feedback for each packet of it: the size of an
//! acknowledgement, with the packet's mark and telemetry.

use fairlane_congestion::Loss;
use fairlane_scenario::Verb;
use fairlane_transport::{self as transport, Extension, Reply, Status};
use fairlane_units::{Bytes, Psn};
use fairlane_wire::{Aeth, Opcode, Syndrome};

use crate::nic::Turn;
use crate::packet::{Kind, NONE, Packet};
use crate::world::World;

impl World {
    /// The responder has taken packet `at`, a READ request or an atomic.
    #[cold]
    pub(crate) fn answer_inquiry(&mut self, port: u32, at: u32) {
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        let connection = &mut self.connections.slots[slot as usize];
        if packet.opcode != Opcode::RcReadRequest {
            match connection.responder.poll_transmit(&self.rules.transport) {
                Some(outgoing) => {
                    let reply = Reply {
                        psn: outgoing.packet.psn,
                        aeth: ACCEPTED,
                        selective: false,
                    };
                    self.answer(port, at, outgoing.packet.opcode, &reply);
                }
                None => {
                    self.discard(at);
                    self.send_from_host(self.ports[port as usize].owner);
                }
            }
            return;
        }
        let host = connection.response.host;
        let mtu = u64::from(self.rules.mtu);
        let mut lost = false;
        if let Some((psn, repeated)) = connection.responder.next_response() {
            if !connection.stays_open {
                connection.response.next = u64::from(psn.get()) * mtu;
                // Who asks from here on has everything before it.
                connection.response.heard = u64::from(packet.psn) * mtu;
            } else {
                connection.response.next = connection.response.position(psn, mtu);
                if repeated {
                    let asked = connection.response.position(Psn::new(packet.psn), mtu);
                    connection.response.heard = asked.min(connection.response.next);
                }
            }
            lost = repeated;
            if connection.response.position == NONE {
                let turns = &mut self.nics[host as usize].turns;
                connection.response.position = turns.push(Turn::response(slot));
            }
        }
        self.discard(at);
        if lost {
            self.hear_loss(slot, Loss::Nak);
        }
        if self.connections.get(slot).response.position != NONE {
            self.refresh_response(slot);
        }
        self.send_from_host(host);
    }

    /// Brings the turn of a response up to date.
    pub(crate) fn refresh_response(&mut self, slot: u32) {
        let connection = &self.connections.slots[slot as usize];
        let nic = &mut self.nics[connection.response.host as usize];
        let paused = self.ports[nic.port as usize].paused & 1 << connection.class != 0;
        let at = connection.response_available(paused);
        if connection.is_enforced() && connection.verb == Verb::Read {
            self.offer(slot, at.is_some());
        } else {
            nic.turns.set(connection.response.position, at);
        }
    }

    /// Sends the next packet of a READ's response.
    pub(crate) fn send_response(&mut self, port: u32, slot: u32) {
        let connection = &mut self.connections.slots[slot as usize];
        let outgoing = connection.responder.poll_transmit(&self.rules.transport);
        let outgoing = outgoing.expect("a response in turn has a packet");
        connection.response.next += match connection.stays_open {
            false => outgoing.packet.payload.get(),
            // Messages follow each other: positions count full packets.
            true => u64::from(self.rules.mtu),
        };
        connection.response.repeated += u32::from(outgoing.retransmitted);
        self.counters
            .on_packet(connection.tenant, outgoing.retransmitted);
        self.send_payload(port, slot, &outgoing.packet, Packet::BACK);
        self.refresh_response(slot);
    }

    /// A packet of a READ's response has arrived at the requester.
    pub(crate) fn on_response(&mut self, port: u32, at: u32) {
        let now = self.engine.now();
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        self.count_arrival(port, &packet);
        let Some(connection) = self.connections.of_packet(slot) else {
            self.discard(at);
            return;
        };
        let response = received(&packet, Extension::Acknowledge(ACCEPTED));
        let config = &self.rules.transport;
        let (_, placement) = connection.requester.on_packet(config, now, &response);
        if placement.is_some() {
            self.counters.on_placed(packet.tenant, response.payload);
        }
        let (host, message) = (connection.source, connection.message);
        let stays_open = connection.stays_open;
        if stays_open {
            self.refresh(slot);
            self.complete_pair(slot, now);
        }
        match self.connections.get_mut(slot).requester.poll_completion() {
            _ if stays_open => {}
            Some(completion) => {
                self.finish(slot, completion.status);
                self.forget(slot);
                if completion.status == Status::Success {
                    self.on_message_received(message);
                }
            }
            None => self.refresh(slot),
        }
        let marked = packet.has(Packet::MARKED);
        let _ = marked && self.notify(port, at);
        if self.rules.response_feedback {
            self.feed_back(port, at);
        } else {
            self.discard(at);
            self.send_from_host(host);
        }
    }

    /// Turns a packet of a response into the feedback for it.
    fn feed_back(&mut self, port: u32, at: u32) {
        if self.rules.stamps {
            self.packets.note_hops(at);
        }
        let share = self.share(port, at);
        let packet = self.packets.get_mut(at);
        self.counters.cnps_sent += u64::from(packet.has(Packet::MARKED));
        packet.kind = Kind::Ack;
        packet.opcode = Opcode::RcAcknowledge;
        packet.wire = self.rules.ack;
        packet.payload = share;
        packet.hop = 0;
        packet.epoch = self.epoch;
        packet.flags &= Packet::MARKED;
        if self.rules.ack_control_class {
            packet.class = 0;
        }
        self.queue_reply(port, at);
    }

    /// Feedback for a packet of a READ's response has come back to the responder's host.
    pub(crate) fn on_feedback(&mut self, at: u32) {
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        let connection = &mut self.connections.slots[slot as usize];
        let ended = !connection.live;
        if ended && !connection.is_enforced() {
            self.discard(at);
            return;
        }
        self.counters
            .on_reply(packet.tenant, packet.has(Packet::MARKED));
        let mtu = u64::from(self.rules.mtu);
        let size = self.specs[connection.message as usize].size.get();
        let stays_open = connection.stays_open;
        let response = &mut connection.response;
        let confirmed = match stays_open {
            false => ((u64::from(packet.psn) + 1) * mtu).min(size),
            true => response.position(Psn::new(packet.psn), mtu) + mtu,
        };
        // Feedback from before a repeat confirms no more than the repeat has sent.
        response.heard = response.heard.max(confirmed.min(response.next));
        let (host, positions) = (
            response.host,
            (Bytes::new(confirmed), Bytes::new(response.next)),
        );
        self.hear(slot, &packet, positions, false);
        self.discard(at);
        if !ended {
            self.refresh_response(slot);
        }
        self.send_from_host(host);
    }
}

/// The AETH of every response.
pub(crate) const ACCEPTED: Aeth = Aeth {
    syndrome: Syndrome::ACK,
    msn: 0,
};

/// A response as the requester hears it.
pub(crate) fn received(packet: &Packet, extension: Extension) -> transport::Packet {
    transport::Packet {
        opcode: packet.opcode,
        psn: Psn::new(packet.psn),
        payload: Bytes::new(u64::from(packet.payload)),
        ack_request: false,
        solicited: false,
        selective: false,
        extension,
    }
}
