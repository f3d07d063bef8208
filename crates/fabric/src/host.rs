//! Hosts: drives the ends of connections and the network card, and contains no rule of either.

use fairlane_congestion::scope::{Grant, Share};
use fairlane_congestion::{Ack, Loss, Reading};
use fairlane_engine::Event;
use fairlane_scenario::{AckPause, Verb};
use fairlane_transport::{self as transport, Extension, Remote, Reply, Status, Unchecked};
use fairlane_units::{Bytes, Psn, Rate, Time};
use fairlane_wire::{Aeth, ExtensionKind, NakCode, Opcode, Syndrome};

use crate::connection::{ACK_TIMEOUT, Connection, WAKES};
use crate::nic::Turn;
use crate::packet::{Kind, NONE, Packet};
use crate::response::{self, ACCEPTED};
use crate::world::{Waking, World};
use crate::{Outcome, TraceEvent};

impl World {
    /// A packet has arrived at a host. Not part of what handles arrivals at switches, which would need
    /// more registers than there are.
    #[inline(never)]
    pub(crate) fn on_host_arrival(&mut self, port: u32, at: u32) {
        if self.endpoints.is_some() && self.is_held(port, at) {
            return;
        }
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Received);
        }
        let packet = *self.packets.get(at);
        self.counters.delivered.add(packet.wire);
        match (packet.kind, packet.has(Packet::BACK)) {
            (Kind::Data, false) => self.on_request(port, at),
            (Kind::Ack | Kind::Nak, true) => self.on_reply(at),
            (Kind::Data, true) => self.on_response(port, at),
            (Kind::Ack | Kind::Nak, false) => self.on_feedback(at),
            (Kind::Cnp, _) => self.on_cnp(at),
            (Kind::Pause | Kind::Resume, _) => unreachable!("pauses are taken by the link"),
        }
    }

    fn on_request(&mut self, port: u32, at: u32) {
        let now = self.engine.now();
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        self.count_arrival(port, &packet);
        let Some(connection) = self.connections.of_packet(slot) else {
            self.discard(at);
            return;
        };
        let config = &self.rules.transport;
        let (message, verb, stays_open) =
            (connection.message, connection.verb, connection.stays_open);
        let pair = self.endpoints.as_deref().filter(|_| stays_open);
        let extension = match packet.opcode.extension() {
            ExtensionKind::None => Extension::None,
            _ => match pair.map(|all| all.extension(connection.pair, &packet, config)) {
                None => extension(&packet, config, || self.specs[message as usize].size),
                Some(Some(extension)) => extension,
                Some(None) => {
                    self.discard(at);
                    return;
                }
            },
        };
        let request = transport::Packet {
            opcode: packet.opcode,
            psn: Psn::new(packet.psn),
            payload: Bytes::new(u64::from(packet.payload)),
            ack_request: packet.has(Packet::ACK_REQUEST),
            solicited: false,
            selective: config.is_selective(),
            extension,
        };
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        let received = connection
            .responder
            .on_packet(config, now, &request, memory, receives);
        self.counters.on_placed(packet.tenant, received.placed);
        let marked = packet.has(Packet::MARKED) && packet.opcode != Opcode::RcReadRequest;
        let notified = marked && self.notify(port, at);
        if verb.awaits_response() {
            self.answer_inquiry(port, at);
            return;
        }
        let complete = received.messages > 0 && !stays_open && self.is_received(slot);
        match received.reply {
            Some(reply) => self.answer(port, at, Opcode::RcAcknowledge, &reply),
            None => {
                self.owe_mark(at);
                self.discard(at);
                if notified {
                    self.send_from_host(self.ports[port as usize].owner);
                }
            }
        }
        if complete {
            self.on_message_received(message);
        }
    }

    /// Whether all of a connection's message has arrived; placed directly, each packet is one of its
    /// own for the responder.
    #[inline]
    fn is_received(&self, slot: u32) -> bool {
        let connection = self.connections.get(slot);
        !self.rules.transport.direct_placement
            || connection.responder.expected() == connection.requester.posted_psn()
    }

    /// Turns a packet into the answer to it and queues that.
    #[inline]
    pub(crate) fn answer(&mut self, port: u32, at: u32, opcode: Opcode, reply: &Reply) {
        if self.rules.stamps {
            self.packets.note_hops(at);
        }
        self.pay_mark(at);
        let share = self.share(port, at);
        let packet = self.packets.get_mut(at);
        self.counters.cnps_sent += u64::from(packet.has(Packet::MARKED));
        let (kind, distance) = match reply.aeth.syndrome {
            Syndrome::Ack { .. } => (Kind::Ack, i32::from(share)),
            // In a selective NAK the MSN is the PSN of the packet that came too early.
            _ if reply.selective => (Kind::Nak, Psn::new(reply.aeth.msn).distance(reply.psn)),
            _ => (Kind::Nak, 0),
        };
        packet.kind = kind;
        packet.opcode = opcode;
        packet.psn = reply.psn.get();
        packet.wire = self.rules.reply_wire(opcode);
        packet.payload = distance as u16;
        packet.hop = 0;
        packet.epoch = self.epoch;
        packet.flags = packet.flags & Packet::MARKED | Packet::BACK;
        if self.rules.ack_control_class {
            packet.class = 0;
        }
        self.queue_reply(port, at);
    }

    /// Queues a packet that goes ahead of a host's queue pairs.
    #[inline]
    pub(crate) fn queue_reply(&mut self, port: u32, at: u32) {
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Enqueued);
        }
        let host = self.ports[port as usize].owner;
        self.nics[host as usize].replies.push(&mut self.packets, at);
        self.send_from_host(host);
    }

    fn on_reply(&mut self, at: u32) {
        let now = self.engine.now();
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        let Some(connection) = self.connections.of_packet(slot) else {
            self.discard(at);
            return;
        };
        let nak = packet.kind == Kind::Nak;
        let config = &self.rules.transport;
        let progress = if packet.opcode == Opcode::RcAcknowledge {
            let reply = reply(&packet, config.is_selective());
            connection.requester.on_reply(config, now, &reply)
        } else {
            let extension = Extension::AtomicResult {
                aeth: ACCEPTED,
                original: 0,
            };
            let result = response::received(&packet, extension);
            connection.requester.on_packet(config, now, &result).0
        };
        self.counters.naks += u64::from(nak);
        self.counters
            .on_reply(packet.tenant, packet.has(Packet::MARKED));
        let (host, message, atomic) = (
            connection.source,
            connection.message,
            connection.verb.is_atomic(),
        );
        let next = connection.requester.next_position();
        if connection.stays_open {
            self.on_pair_reply(at, (progress.acknowledged, next), progress.went_back);
            return;
        }
        let completed = connection.requester.poll_completion();
        if let Some(completion) = completed {
            self.finish(slot, completion.status);
        }
        let positions = (progress.acknowledged, next);
        self.hear(slot, &packet, positions, progress.went_back);
        self.discard(at);
        if completed.is_some() {
            self.forget(slot);
        } else {
            self.refresh(slot);
        }
        let succeeded = completed.is_some_and(|end| end.status == Status::Success);
        if atomic && succeeded {
            self.on_message_received(message);
        }
        self.send_from_host(host);
    }

    /// A reply to a queue pair that stays open.
    fn on_pair_reply(&mut self, at: u32, positions: (Bytes, Bytes), lost: bool) {
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        let host = self.connections.get(slot).source;
        self.hear(slot, &packet, positions, lost);
        self.discard(at);
        self.refresh(slot);
        let now = self.now();
        self.complete_pair(slot, now);
        self.send_from_host(host);
    }

    /// Passes a reply on to the controller of a connection: `positions` are those up to which it
    /// confirms and of the next byte to send; `lost` says that it reports a loss.
    #[inline]
    pub(crate) fn hear(
        &mut self,
        slot: u32,
        reply: &Packet,
        (acknowledged, next_to_send): (Bytes, Bytes),
        lost: bool,
    ) {
        let now = self.engine.now();
        let stamp = self.packets.stamp(reply.telemetry);
        let telemetry = self.packets.telemetry(reply.telemetry);
        let format = self.rules.telemetry_format.as_ref();
        let ack = Ack {
            acknowledged,
            next_to_send,
            congestion_notified: reply.has(Packet::MARKED),
            round_trip: stamp.map(|stamp| now - stamp.sent),
            // Hosts of the simulation take no time.
            endpoint_delay: None,
            hops: stamp.map_or(0, |stamp| stamp.hops),
            telemetry: telemetry
                .zip(format)
                .map(|(record, format)| Reading::new(record, format)),
        };
        let connection = &mut self.connections.slots[slot as usize];
        if connection.is_enforced() {
            let grant = match reply.kind {
                Kind::Ack => Share::new(reply.payload).map_or(Grant::Free, Grant::Share),
                _ => Grant::Unsaid,
            };
            let cards = self.enforcement.as_deref_mut().expect("it is enforced");
            cards.on_ack(now, connection, &ack, (grant, lost));
            return;
        }
        let before = connection.controller.rate();
        if lost {
            connection.controller.on_loss(now, Loss::Nak);
        }
        let adjusted = connection.controller.on_ack(now, &ack);
        self.arm_changed(slot);
        self.on_rate(slot, before, adjusted);
    }

    /// Follows a change of rate from `before`; `shifts` says that a packet already paced moves too.
    pub(crate) fn on_rate(&mut self, slot: u32, before: Rate, shifts: bool) {
        let connection = &mut self.connections.slots[slot as usize];
        let rate = connection.controller.rate();
        if connection.is_window_limited() {
            connection.update_window();
        }
        if !shifts {
            return;
        }
        connection
            .pacer
            .on_rate_change(before, rate, self.rules.rounding);
        if self.rules.nic_quirks {
            let (host, at) = (connection.source, connection.pacer.available());
            self.advance_wake(host, at);
        }
    }

    /// Arms the controller's deadlines that have changed.
    pub(crate) fn arm_changed(&mut self, slot: u32) {
        let connection = &mut self.connections.slots[slot as usize];
        let changed = connection.controller.take_changed_timers();
        if changed == 0 || !connection.live {
            return;
        }
        let (timers, message) = (*connection.controller.timers(), connection.message);
        let wakes = &mut self.connections.wakes[slot as usize];
        for timer in (0..ACK_TIMEOUT).filter(|timer| changed & 1 << timer != 0) {
            match timers.deadline(timer) {
                Some(at) => {
                    let (rank, component) = deadline_ids(slot, message, timer);
                    wakes[timer].arm(&mut self.engine, at, rank, component);
                }
                None => wakes[timer].cancel(),
            }
        }
    }

    /// A deadline of a connection comes up.
    pub(crate) fn on_connection_deadline(&mut self, index: u32, event: Event) {
        let (slot, timer) = (index / WAKES as u32, index as usize % WAKES);
        let wake = &mut self.connections.wakes[slot as usize][timer];
        if !wake.fires(&mut self.engine, event) {
            return;
        }
        if timer == ACK_TIMEOUT {
            self.on_ack_timeout(slot);
            return;
        }
        let now = self.engine.now();
        let connection = &mut self.connections.slots[slot as usize];
        let before = connection.controller.rate();
        connection.controller.on_timer(now, timer);
        self.arm_changed(slot);
        self.on_rate(slot, before, false);
        if self.connections.get(slot).is_window_limited() {
            self.refresh(slot);
        }
    }

    /// Tells the controller of a connection that packets were lost.
    pub(crate) fn hear_loss(&mut self, slot: u32, loss: Loss) {
        let now = self.engine.now();
        if self.connections.get(slot).is_enforced() {
            self.tell(slot, |enforcer, sender| enforcer.on_loss(now, sender, loss));
            return;
        }
        let controller = &mut self.connections.slots[slot as usize].controller;
        let before = controller.rate();
        controller.on_loss(now, loss);
        self.arm_changed(slot);
        self.on_rate(slot, before, false);
    }

    fn on_ack_timeout(&mut self, slot: u32) {
        let now = self.engine.now();
        let connection = &mut self.connections.slots[slot as usize];
        connection.timeout_armed = false;
        if connection.requester.deadline().is_none_or(|at| at > now) {
            self.refresh(slot);
            return;
        }
        connection.requester.on_timeout(&self.rules.transport, now);
        self.counters.timeouts += 1;
        // Of a READ, the responder's host hears when it is asked again.
        if connection.verb != Verb::Read {
            self.hear_loss(slot, Loss::Timeout);
        }
        let connection = &mut self.connections.slots[slot as usize];
        let host = connection.source;
        if connection.stays_open {
            self.refresh(slot);
            self.complete_pair(slot, now);
        } else if let Some(completion) = connection.requester.poll_completion() {
            self.finish(slot, completion.status);
            self.forget(slot);
        } else {
            self.refresh(slot);
        }
        self.send_from_host(host);
    }

    /// Sends the next packet of a host if its transmitter is free: acknowledgements first, then the
    /// queue pairs in turn.
    #[inline]
    pub(crate) fn send_from_host(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        let port = nic.port;
        if nic.replies.is_empty() && nic.turns.is_empty() {
            return;
        }
        if !self.ports[port as usize].up {
            return;
        }
        if self.is_busy(port) {
            self.await_host(host);
            return;
        }
        if self.reply_may_leave(host) {
            let nic = &mut self.nics[host as usize];
            let at = nic.replies.pop(&self.packets).expect("checked");
            if self.packets.get(at).kind.is_pause_frame() {
                self.transmit(port, at);
            } else {
                self.inject(port, at);
            }
        } else if let Some(chosen) = self.in_turn(host) {
            let position = match self.endpoints {
                None => Some(chosen),
                Some(_) => self.with_context(host, chosen),
            };
            let Some(position) = position else {
                return;
            };
            self.send_data(host, position);
        } else {
            self.await_turn(host);
            return;
        }
        self.await_host(host);
    }

    /// Whether the first acknowledgement of a host may be sent.
    #[inline]
    fn reply_may_leave(&self, host: u32) -> bool {
        let nic = &self.nics[host as usize];
        if nic.replies.is_empty() {
            return false;
        }
        let first = self.packets.get(nic.replies.head);
        let class = match self.rules.ack_pause {
            _ if first.kind.is_pause_frame() => return true,
            AckPause::Never => return true,
            AckPause::Class3 if first.kind != Kind::Cnp => 3,
            AckPause::Class3 | AckPause::OwnClass => first.class,
        };
        class == 0 || self.ports[nic.port as usize].paused & 1 << class == 0
    }

    /// The position in turn, after forgetting finished connections where that is done lazily.
    #[inline]
    fn in_turn(&mut self, host: u32) -> Option<u32> {
        let now = self.engine.now();
        let turns = &mut self.nics[host as usize].turns;
        let chosen = turns.in_turn(now);
        if !self.rules.nic_quirks {
            return match self.enforcement {
                None => chosen,
                Some(_) => chosen.or_else(|| self.enforced_turn(host)),
            };
        }
        let slots = &mut self.connections.slots;
        turns.sweep(chosen, |turn, position| {
            *slots[turn.connection()].turn_mut(turn) = position
        })
    }

    #[inline]
    fn send_data(&mut self, host: u32, position: u32) {
        let now = self.engine.now();
        let nic = &mut self.nics[host as usize];
        let port = nic.port;
        let turn = nic.turns.serve(position);
        let slot = turn.connection() as u32;
        if turn.is_response() {
            self.send_response(port, slot);
            return;
        }
        let connection = &mut self.connections.slots[slot as usize];
        let config = &self.rules.transport;
        let outgoing = connection.requester.poll_transmit(config, now);
        let outgoing = outgoing.expect("a connection in turn has a packet");
        let closes = connection.requester.bytes_in_flight() >= connection.window_limit;
        if closes {
            connection.requester.ask();
        }
        // A window that is shared may close with another queue pair's packet.
        let asks = outgoing.packet.ack_request || closes || connection.is_enforced();
        let flags = if asks { Packet::ACK_REQUEST } else { 0 };
        self.counters
            .on_packet(connection.tenant, outgoing.retransmitted);
        let stays_open = connection.stays_open;
        self.send_payload(port, slot, &outgoing.packet, flags);
        self.refresh(slot);
        if stays_open && !outgoing.retransmitted {
            self.on_pair_sent(port, slot, &outgoing.packet);
        }
    }

    /// A packet of a queue pair that stays open has been sent for the first time.
    fn on_pair_sent(&mut self, port: u32, slot: u32, packet: &transport::Packet) {
        let whole = self.connections.get(slot).verb.awaits_response();
        if !whole && !self.ends_work_request(slot, packet) {
            return;
        }
        if !self.rules.transport.service.is_reliable() {
            // Its end is when the last packet is on the wire.
            let at = self.ports[port as usize].free_at;
            self.complete_pair(slot, at);
        }
        self.on_wqe_sent(slot);
    }

    /// Sends a packet of a queue pair and charges its pacer.
    #[inline]
    pub(crate) fn send_payload(
        &mut self,
        port: u32,
        slot: u32,
        outgoing: &transport::Packet,
        flags: u8,
    ) {
        let now = self.engine.now();
        let connection = &mut self.connections.slots[slot as usize];
        let payload = outgoing.payload.get() as u16;
        let wire = self.rules.data_wire(outgoing.opcode, payload);
        let mut packet = Packet::new(Kind::Data, outgoing.opcode, connection.class, wire);
        packet.flags = flags;
        packet.connection = slot;
        packet.tenant = connection.tenant;
        connection.packets += 1;
        packet.psn = outgoing.psn.get();
        packet.payload = payload;
        packet.epoch = self.epoch;
        packet.telemetry = self.packets.alloc_record(&self.rules, now);
        let rate = if self.rules.paced {
            connection.controller.rate()
        } else {
            self.ports[port as usize].rate
        };
        let size = Bytes::new(u64::from(wire));
        // The rate of a READ is that of its response.
        let data = outgoing.opcode != Opcode::RcReadRequest;
        let enforced = data && connection.is_enforced();
        if data && !enforced {
            let rounding = self.rules.rounding;
            connection.pacer.on_sent(now, size, rate, rounding);
        }
        self.counters.data_packets += 1;
        if enforced {
            self.charge(slot, size);
        }
        let at = self.packets.alloc(packet);
        self.inject(port, at);
    }

    /// Puts a packet of a host on its link.
    #[inline]
    fn inject(&mut self, port: u32, at: u32) {
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Dequeued);
        }
        self.counters.injected.add(self.packets.get(at).wire);
        self.transmit(port, at);
    }

    /// Brings the turn of a connection up to date and sees to its acknowledgement timeout.
    #[inline]
    pub(crate) fn refresh(&mut self, slot: u32) {
        let connection = &mut self.connections.slots[slot as usize];
        let nic = &mut self.nics[connection.source as usize];
        let paused = self.ports[nic.port as usize].paused & 1 << connection.class != 0;
        let at = available(connection, paused);
        let waits_here = connection.is_enforced() && connection.verb != Verb::Read;
        nic.turns
            .set(connection.position, at.filter(|_| !waits_here));
        // Nothing else has responses that take turns; theirs is a cache line of its own.
        if connection.verb == Verb::Read && connection.response.position != NONE {
            self.refresh_response(slot);
        }
        if waits_here {
            self.offer(slot, at.is_some());
        }
        let connection = &mut self.connections.slots[slot as usize];
        if connection.timeout_armed {
            // Progress moves the timeout to later; the event that is under way finds that out.
            return;
        }
        if let Some(at) = connection.requester.deadline() {
            connection.timeout_armed = true;
            let (rank, component) = deadline_ids(slot, connection.message, ACK_TIMEOUT);
            let wake = &mut self.connections.wakes[slot as usize][ACK_TIMEOUT];
            wake.arm(&mut self.engine, at, rank, component);
        }
    }

    /// The pauses of a host's port have changed.
    pub(crate) fn on_host_pause(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        let (paused, count) = (self.ports[nic.port as usize].paused, nic.turns.len() as u32);
        for position in 0..count {
            let Some((turn, connection)) = self.connection_at(host, position) else {
                continue;
            };
            let paused = paused & 1 << connection.class != 0;
            let at = if turn.is_response() {
                connection.response_available(paused)
            } else {
                available(connection, paused)
            };
            let sends = turn.is_response() == (connection.verb == Verb::Read);
            if sends && connection.is_enforced() {
                self.offer(turn.connection() as u32, at.is_some());
            } else {
                self.nics[host as usize].turns.set(position, at);
            }
        }
    }

    /// Asks to be woken when a host that has just sent, or is sending, can send again.
    #[inline]
    fn await_host(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        let port = nic.port;
        if !nic.replies.is_empty() || (self.rules.nic_quirks && !nic.turns.is_empty()) {
            self.await_port(port);
        } else if let Some(at) = self.earliest(host) {
            if at <= self.ports[port as usize].free_at {
                self.await_port(port);
            } else {
                self.arm_wake(host, at);
            }
        }
    }

    /// Asks to be woken when a host whose transmitter is free has a queue pair that may send.
    fn await_turn(&mut self, host: u32) {
        if !self.rules.nic_quirks {
            if let Some(at) = self.earliest(host) {
                // What the bucket pays for may be due already, if less was in it than was thought.
                self.arm_wake(host, at.max(self.now()));
            }
            return;
        }
        let nic = &self.nics[host as usize];
        // HPCC's simulator looks at all queue pairs with bytes left, also those that a window or a
        // pause stops; if the earliest of them is not in the future, nobody is woken.
        let earliest = (0..nic.turns.len() as u32)
            .filter_map(|position| self.connection_at(host, position))
            .filter(|(_, connection)| connection.requester.has_packet())
            .map(|(_, connection)| connection.pacer.available())
            .min();
        match earliest {
            Some(at) if !nic.wake.is_armed() && at > self.now() => self.arm_wake(host, at),
            _ => {}
        }
    }

    /// When the first queue pair of a host may send.
    #[inline]
    fn earliest(&mut self, host: u32) -> Option<Time> {
        let turns = self.nics[host as usize].turns.earliest();
        if self.enforcement.is_none() {
            return turns;
        }
        let enforced = self.enforced_earliest(host);
        turns.into_iter().chain(enforced).min()
    }

    /// The connection in a position, unless it is finished and only waits to be swept.
    fn connection_at(&self, host: u32, position: u32) -> Option<(Turn, &Connection)> {
        let turn = self.nics[host as usize].turns.at(position);
        let connection = &self.connections.slots[turn.connection()];
        let here = if turn.is_response() {
            connection.response.host == host && connection.response.position == position
        } else {
            connection.source == host && connection.position == position
        };
        (connection.live && here).then_some((turn, connection))
    }

    pub(crate) fn arm_wake(&mut self, host: u32, at: Time) {
        let wake = &mut self.nics[host as usize].wake;
        if wake.deadline() != at {
            let rank = Waking::Nic.rank(u64::from(host));
            wake.arm(&mut self.engine, at, rank, Waking::Nic.component(host));
        }
    }

    /// Moves a pending wake of a host forward to `at` if that is earlier.
    fn advance_wake(&mut self, host: u32, at: Time) {
        let wake = &self.nics[host as usize].wake;
        if wake.is_armed() && at < wake.deadline() {
            self.arm_wake(host, at.max(self.now()));
        }
    }

    pub(crate) fn on_nic_wake(&mut self, host: u32, event: Event) {
        if self.nics[host as usize].wake.fires(&mut self.engine, event) {
            self.send_from_host(host);
        }
    }

    /// Records the end of a connection's message.
    pub(crate) fn finish(&mut self, slot: u32, status: Status) {
        let outcome = match status {
            Status::Success => Outcome::Completed,
            _ => Outcome::RetryExceeded,
        };
        self.counters.failed += u32::from(outcome != Outcome::Completed);
        let finish = (outcome == Outcome::Completed).then_some(self.now());
        let record = self.record(slot, finish, outcome);
        self.records.push(record);
    }

    /// Ends the use of a connection.
    pub(crate) fn forget(&mut self, slot: u32) {
        let connection = &mut self.connections.slots[slot as usize];
        let (position, host) = (connection.position, connection.source);
        let response = connection.response;
        if connection.is_enforced() {
            // Feedback for the last packets of a READ is still to come: without it, a READ of a round
            // trip would never be controlled.
            match connection.verb == Verb::Read && connection.packets > 0 {
                true => self.offer(slot, false),
                false => self.stop_enforcing(slot),
            }
        }
        self.connections.remove(slot);
        if self.rules.nic_quirks {
            self.nics[host as usize].turns.finish(position);
            return;
        }
        self.leave_turns(host, position);
        if response.position != NONE {
            self.leave_turns(response.host, response.position);
        }
    }

    fn leave_turns(&mut self, host: u32, position: u32) {
        let slots = &mut self.connections.slots;
        let turns = &mut self.nics[host as usize].turns;
        turns.remove(position, |turn, position| {
            *slots[turn.connection()].turn_mut(turn) = position
        });
    }
}

/// When a connection may send its next packet, if it has one and nothing stops it.
#[inline]
fn available(connection: &Connection, paused: bool) -> Option<Time> {
    let requester = &connection.requester;
    // A window that shrinks may close with nothing asked: one packet more asks.
    let within = requester.bytes_in_flight() < connection.window_limit
        || !requester.awaits_acknowledgement();
    let open = requester.has_packet() && !paused && within;
    open.then(|| match connection.verb {
        Verb::Read => Time::ZERO,
        _ => connection.pacer.available(),
    })
}

/// Rank and component of a deadline of a connection.
fn deadline_ids(slot: u32, message: u32, timer: usize) -> (u64, fairlane_engine::Component) {
    let rank = Waking::Connection.rank(u64::from(message) * WAKES as u64 + timer as u64);
    (
        rank,
        Waking::Connection.component(slot * WAKES as u32 + timer as u32),
    )
}

/// The extension headers of a request, which carry no more than what both ends know anyway.
#[cold]
fn extension(
    packet: &Packet,
    config: &transport::Config,
    size: impl FnOnce() -> Bytes,
) -> Extension {
    let remote = Remote::default();
    let length = match packet.opcode {
        Opcode::RcWriteFirst => size(),
        // A READ asks for all that is behind its first byte.
        Opcode::RcReadRequest => {
            Bytes::new(size().get() - u64::from(packet.psn) * config.mtu.get())
        }
        Opcode::RcFetchAdd | Opcode::RcCompareSwap => {
            return Extension::Atomic(transport::Operation::FetchAdd { remote, add: 1 });
        }
        _ => Bytes::new(u64::from(packet.payload)),
    };
    Extension::Remote {
        remote,
        length,
        immediate: None,
    }
}

/// Bytes that the RETH or AtomicETH of a request is about.
pub(crate) fn request_length(packet: &Packet, config: &transport::Config, size: Bytes) -> Bytes {
    match extension(packet, config, || size) {
        Extension::Remote { length, .. } => length,
        _ => size,
    }
}

/// A reply as the requester hears it.
#[inline]
fn reply(packet: &Packet, selective: bool) -> Reply {
    let psn = Psn::new(packet.psn);
    let (syndrome, distance) = match packet.kind {
        Kind::Nak => (
            Syndrome::Nak(NakCode::SequenceError),
            u32::from(packet.payload),
        ),
        _ => (Syndrome::ACK, 0),
    };
    Reply {
        psn,
        aeth: Aeth {
            syndrome,
            msn: psn.advance(distance).get(),
        },
        selective,
    }
}
