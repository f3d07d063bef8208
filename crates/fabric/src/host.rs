//! Hosts: drives the ends of connections and the network card, and contains no rule of either.

use fairlane_congestion::{Ack, Loss, Reading};
use fairlane_engine::Event;
use fairlane_scenario::AckPause;
use fairlane_transport::{Progress, Reply, ReplyKind, Segment, Status};
use fairlane_units::{Bytes, Psn, Rate, Time};

use crate::connection::{ACK_TIMEOUT, Connection, WAKES};
use crate::packet::{Kind, Packet};
use crate::world::{Waking, World};
use crate::{Outcome, TraceEvent};

impl World {
    /// A packet has arrived at a host.
    #[inline]
    pub(crate) fn on_host_arrival(&mut self, port: u32, at: u32) {
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Received);
        }
        let packet = *self.packets.get(at);
        self.counters.delivered.add(packet.wire);
        match packet.kind {
            Kind::Data => self.on_data(port, at),
            Kind::Ack => self.on_reply(at, ReplyKind::Ack),
            Kind::Nak => self.on_reply(at, ReplyKind::NakSequence),
            Kind::Cnp => self.on_cnp(at),
            Kind::Pause | Kind::Resume => unreachable!("pauses are taken by the link"),
        }
    }

    fn on_data(&mut self, port: u32, at: u32) {
        let now = self.engine.now();
        let packet = self.packets.get(at);
        let slot = packet.connection;
        let Some(connection) = self.connections.of_packet(slot) else {
            self.discard(at);
            return;
        };
        let segment = Segment {
            psn: Psn::new(packet.psn),
            offset: Bytes::ZERO,
            payload: Bytes::new(u64::from(packet.payload)),
            first: packet.has(Packet::FIRST),
            last: packet.has(Packet::LAST),
            retransmitted: false,
        };
        let received = connection
            .responder
            .on_packet(&self.rules.transport, now, &segment);
        let message = connection.message;
        self.counters.placed += received.placed.get();
        let marked = packet.has(Packet::MARKED);
        let notified = marked && self.notify(port, at);
        match received.reply {
            Some(reply) => self.answer(port, at, &reply),
            None => {
                self.discard(at);
                if notified {
                    self.send_from_host(self.ports[port as usize].owner);
                }
            }
        }
        if received.message_complete {
            self.on_message_received(message);
        }
    }

    /// Turns a data packet into its acknowledgement and queues it.
    #[inline]
    fn answer(&mut self, port: u32, at: u32, reply: &Reply) {
        if self.rules.stamps {
            self.packets.note_hops(at);
        }
        let packet = self.packets.get_mut(at);
        self.counters.cnps_sent += u64::from(packet.has(Packet::MARKED));
        packet.kind = Kind::of_reply(reply.kind);
        packet.psn = reply.expected.get();
        packet.wire = self.rules.ack;
        packet.payload = 0;
        packet.hop = 0;
        packet.epoch = self.epoch;
        if self.rules.ack_control_class {
            packet.class = 0;
        }
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Enqueued);
        }
        let host = self.ports[port as usize].owner;
        self.nics[host as usize].replies.push(&mut self.packets, at);
        self.send_from_host(host);
    }

    fn on_reply(&mut self, at: u32, kind: ReplyKind) {
        let now = self.engine.now();
        let packet = *self.packets.get(at);
        let slot = packet.connection;
        let Some(connection) = self.connections.of_packet(slot) else {
            self.discard(at);
            return;
        };
        let reply = Reply {
            kind,
            expected: Psn::new(packet.psn),
        };
        let progress = connection
            .requester
            .on_reply(&self.rules.transport, now, &reply);
        self.counters.naks += u64::from(kind == ReplyKind::NakSequence);
        self.counters.cnps += u64::from(packet.has(Packet::MARKED));
        let host = connection.source;
        let completed = connection.requester.poll_completion();
        if let Some(completion) = completed {
            self.finish(slot, completion.status);
        }
        self.hear(slot, &packet, &progress);
        self.discard(at);
        if completed.is_some() {
            self.forget(slot);
        } else {
            self.refresh(slot);
        }
        self.send_from_host(host);
    }

    /// Passes a reply on to the controller of a connection.
    #[inline]
    fn hear(&mut self, slot: u32, reply: &Packet, progress: &Progress) {
        let now = self.engine.now();
        let stamp = self.packets.stamp(reply.telemetry);
        let telemetry = self.packets.telemetry(reply.telemetry);
        let format = self.rules.telemetry_format.as_ref();
        let connection = &mut self.connections.slots[slot as usize];
        let before = connection.controller.rate();
        if progress.went_back {
            connection.controller.on_loss(now, Loss::Nak);
        }
        let ack = Ack {
            acknowledged: progress.acknowledged,
            next_to_send: connection.requester.next_position(),
            congestion_notified: reply.has(Packet::MARKED),
            round_trip: stamp.map(|stamp| now - stamp.sent),
            // Hosts of the simulation take no time.
            endpoint_delay: None,
            hops: stamp.map_or(0, |stamp| stamp.hops),
            telemetry: telemetry
                .zip(format)
                .map(|(record, format)| Reading { record, format }),
        };
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

    fn on_ack_timeout(&mut self, slot: u32) {
        let now = self.engine.now();
        let connection = &mut self.connections.slots[slot as usize];
        connection.timeout_armed = false;
        if connection.requester.deadline().is_none_or(|at| at > now) {
            self.refresh(slot);
            return;
        }
        connection.requester.on_timeout(&self.rules.transport, now);
        let before = connection.controller.rate();
        connection.controller.on_loss(now, Loss::Timeout);
        self.counters.timeouts += 1;
        self.arm_changed(slot);
        self.on_rate(slot, before, false);
        let connection = &mut self.connections.slots[slot as usize];
        let host = connection.source;
        if let Some(completion) = connection.requester.poll_completion() {
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
            self.inject(port, at);
        } else if let Some(position) = self.in_turn(host) {
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
            return chosen;
        }
        let slots = &mut self.connections.slots;
        turns.sweep(chosen, |slot, position| {
            slots[slot as usize].position = position
        })
    }

    #[inline]
    fn send_data(&mut self, host: u32, position: u32) {
        let now = self.engine.now();
        let nic = &mut self.nics[host as usize];
        let port = nic.port;
        let slot = nic.turns.serve(position);
        let connection = &mut self.connections.slots[slot as usize];
        let segment = connection
            .requester
            .poll_transmit(&self.rules.transport, now);
        let segment = segment.expect("a connection in turn has a packet");
        let payload = segment.payload.get() as u16;
        let wire = self.rules.data_wire(payload, segment.first);
        let mut packet = Packet::new(Kind::Data, connection.class, wire);
        let first = if segment.first { Packet::FIRST } else { 0 };
        let last = if segment.last { Packet::LAST } else { 0 };
        packet.flags = first | last;
        packet.connection = slot;
        connection.packets += 1;
        packet.psn = segment.psn.get();
        packet.payload = payload;
        packet.epoch = self.epoch;
        packet.telemetry = self.packets.alloc_record(&self.rules, now);
        let line_rate = self.ports[port as usize].rate;
        let rate = if self.rules.paced {
            connection.controller.rate()
        } else {
            line_rate
        };
        connection
            .pacer
            .on_sent(now, Bytes::new(u64::from(wire)), rate, self.rules.rounding);
        self.counters.data_packets += 1;
        self.counters.retransmissions += u64::from(segment.retransmitted);
        let at = self.packets.alloc(packet);
        self.inject(port, at);
        self.refresh(slot);
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
        nic.turns
            .set(connection.position, available(connection, paused));
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
            let Some(connection) = self.connection_at(host, position) else {
                continue;
            };
            let at = available(connection, paused & 1 << connection.class != 0);
            self.nics[host as usize].turns.set(position, at);
        }
    }

    /// Asks to be woken when a host that has just sent, or is sending, can send again.
    #[inline]
    fn await_host(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        let port = nic.port;
        if !nic.replies.is_empty() || (self.rules.nic_quirks && !nic.turns.is_empty()) {
            self.await_port(port);
        } else if let Some(at) = nic.turns.earliest() {
            if at <= self.ports[port as usize].free_at {
                self.await_port(port);
            } else {
                self.arm_wake(host, at);
            }
        }
    }

    /// Asks to be woken when a host whose transmitter is free has a queue pair that may send.
    fn await_turn(&mut self, host: u32) {
        let nic = &self.nics[host as usize];
        if !self.rules.nic_quirks {
            if let Some(at) = nic.turns.earliest() {
                self.arm_wake(host, at);
            }
            return;
        }
        // HPCC's simulator looks at all queue pairs with bytes left, also those that a window or a
        // pause stops; if the earliest of them is not in the future, nobody is woken.
        let earliest = (0..nic.turns.len() as u32)
            .filter_map(|position| self.connection_at(host, position))
            .filter(|connection| connection.requester.has_packet())
            .map(|connection| connection.pacer.available())
            .min();
        match earliest {
            Some(at) if !nic.wake.is_armed() && at > self.now() => self.arm_wake(host, at),
            _ => {}
        }
    }

    /// The connection in a position, unless it is finished and only waits to be swept.
    fn connection_at(&self, host: u32, position: u32) -> Option<&Connection> {
        let slot = self.nics[host as usize].turns.connection(position);
        let connection = self.connections.get(slot);
        let here = connection.source == host && connection.position == position;
        (connection.live && here).then_some(connection)
    }

    fn arm_wake(&mut self, host: u32, at: Time) {
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
    fn finish(&mut self, slot: u32, status: Status) {
        let outcome = match status {
            Status::Success => Outcome::Completed,
            Status::RetryExceeded | Status::Flushed => Outcome::RetryExceeded,
        };
        self.counters.failed += u32::from(outcome != Outcome::Completed);
        let finish = (outcome == Outcome::Completed).then_some(self.now());
        let record = self.record(slot, finish, outcome);
        self.records.push(record);
    }

    /// Ends the use of a connection.
    fn forget(&mut self, slot: u32) {
        let connection = &mut self.connections.slots[slot as usize];
        let (position, host) = (connection.position, connection.source);
        self.connections.remove(slot);
        let turns = &mut self.nics[host as usize].turns;
        if self.rules.nic_quirks {
            turns.finish(position);
        } else {
            let slots = &mut self.connections.slots;
            turns.remove(position, |slot, position| {
                slots[slot as usize].position = position
            });
        }
    }
}

/// When a connection may send its next packet, if it has one and nothing stops it.
#[inline]
fn available(connection: &Connection, paused: bool) -> Option<Time> {
    let requester = &connection.requester;
    let open =
        requester.has_packet() && !paused && requester.bytes_in_flight() < connection.window_limit;
    open.then(|| connection.pacer.available())
}

/// Rank and component of a deadline of a connection.
fn deadline_ids(slot: u32, message: u32, timer: usize) -> (u64, fairlane_engine::Component) {
    let rank = Waking::Connection.rank(u64::from(message) * WAKES as u64 + timer as u64);
    (
        rank,
        Waking::Connection.component(slot * WAKES as u32 + timer as u32),
    )
}
