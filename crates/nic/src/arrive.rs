//! Packets that arrive.

use alloc::boxed::Box;

use fairlane_congestion::Loss;
use fairlane_transport::{
    Extension, Memory, Packet, ReceiveCompletion, Received, Receives, Reply, Status,
};
use fairlane_units::{Psn, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};

use crate::apportion;
use crate::nic::Nic;
use crate::packet::{Arrival, Event, Meta, NO_ECHO, PairId, Reception, Role};
use crate::pair::{Reading, Stream};
use crate::replies::{Answer, ReplyKind};

impl Nic {
    /// A packet for a queue pair has arrived. `memory` and `receives` are what it may act on.
    #[inline]
    pub fn on_packet(
        &mut self,
        now: Time,
        id: PairId,
        arrival: &Arrival<'_>,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Reception {
        match arrival.meta.role {
            Role::Request => self.on_request(now, id, arrival, memory, receives),
            Role::Response => match arrival.packet.opcode {
                Opcode::RcAcknowledge | Opcode::RcAtomicAcknowledge => {
                    self.on_reply(now, id, arrival)
                }
                _ => self.on_data(now, id, arrival),
            },
            Role::Feedback => self.on_feedback(now, id, arrival),
            Role::Cnp => {
                self.ledger.on_reply(arrival.meta.tenant, true);
                self.on_cnp(now, id);
                Reception::default()
            }
        }
    }

    /// A packet for a queue pair that has gone has arrived.
    pub fn on_stale(&mut self, arrival: &Arrival<'_>) {
        if arrival.meta.role == Role::Cnp {
            self.ledger.on_reply(arrival.meta.tenant, true);
        }
    }

    #[inline]
    fn on_request(
        &mut self,
        now: Time,
        id: PairId,
        arrival: &Arrival<'_>,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Reception {
        let packet = arrival.packet;
        let pair = &mut self.pairs[id.index()];
        let asks = packet.opcode == Opcode::RcReadRequest;
        let arbitrated = self.ports[usize::from(pair.port)].arbitrated;
        if !arrival.meta.retransmitted {
            self.ledger.all.reordered += u64::from(comes_late(&mut pair.latest, packet));
        }
        let fresh = packet.psn == pair.responder.expected();
        let (config, responder) = (&pair.config, &mut pair.responder);
        let received = responder.on_packet(config, now, packet, memory, receives);
        pair.placed += received.placed;
        self.ledger.on_placed(arrival.meta.tenant, received.placed);
        if arbitrated && !asks {
            let taken = received.placement.is_some() || received.messages > 0;
            apportion::on_data(self, now, id, arrival, taken);
        }
        let inquires = asks || matches!(packet.extension, Extension::Atomic(_));
        let ended = received.fault.is_some() | received.completion.is_some();
        if ended {
            let messages = if inquires { 0 } else { received.messages };
            self.on_end(now, id, messages, received.completion, received.fault);
        }
        if inquires {
            return self.on_inquiry(now, id, arrival, fresh && asks, &received);
        }
        if received.messages > 0 && !ended {
            self.note_received(id, received.messages, None);
        }
        Reception {
            placement: received.placement,
            ..self.answer_data(now, id, arrival, received.reply)
        }
    }

    /// Answers a request with data, or doesn't; tells of its mark in any case, at once or later.
    #[inline]
    fn answer_data(
        &mut self,
        now: Time,
        id: PairId,
        arrival: &Arrival<'_>,
        reply: Option<Reply>,
    ) -> Reception {
        let notified = self.notify(now, id, arrival);
        let marked = arrival.meta.marked && !notified;
        let pair = &mut self.pairs[id.index()];
        let Some(reply) = reply else {
            pair.pending_mark |= marked;
            if self.ports[usize::from(pair.port)].arbitrated && pair.responds() {
                // Its answer waits behind a READ, which the enforcer is to know, or the gate.
                self.refresh(now, id);
            }
            return Reception::default();
        };
        let marked = core::mem::take(&mut pair.pending_mark) || marked;
        self.answer(id, arrival, ReplyKind::Reply(reply), marked);
        Reception {
            echoed: true,
            ..Reception::default()
        }
    }

    /// Lets a CNP tell of the mark of a packet, if CNPs do; whether the mark is told of by that.
    #[inline]
    fn notify(&mut self, now: Time, id: PairId, arrival: &Arrival<'_>) -> bool {
        if !arrival.meta.marked {
            return false;
        }
        let pair = &mut self.pairs[id.index()];
        let Some(interval) = pair.cnp_interval(&self.settings) else {
            return false;
        };
        if pair.notification_point.on_mark(now, interval) {
            self.ledger.all.cnps_sent += 1;
            let replies = &mut self.ports[usize::from(pair.port)].replies;
            let Meta { flow, tenant, .. } = arrival.meta;
            replies.push_cnp(Answer {
                pair: id,
                meta: Meta::new(flow, tenant, Role::Cnp, 0),
                kind: ReplyKind::Congestion,
                control: pair.control,
                from_responder: arrival.meta.role == Role::Request,
            });
        }
        true
    }

    /// Queues the answer to a packet, which takes its echo along.
    #[inline]
    fn answer(&mut self, id: PairId, arrival: &Arrival<'_>, kind: ReplyKind, marked: bool) {
        let responds = arrival.meta.role == Role::Request;
        let role = match responds {
            true => Role::Response,
            false => Role::Feedback,
        };
        let Meta {
            flow,
            tenant,
            class,
            echo,
            ..
        } = arrival.meta;
        self.push(Answer {
            pair: id,
            meta: Meta {
                marked,
                echo,
                ..Meta::new(flow, tenant, role, class)
            },
            kind,
            control: self.pairs[id.index()].control,
            from_responder: responds,
        });
    }

    /// Queues an answer in its class, with the share if it acknowledges.
    #[inline]
    pub(crate) fn push(&mut self, mut answer: Answer) {
        self.ledger.all.cnps_sent += u64::from(answer.meta.marked);
        if self.settings.ack_control_class {
            answer.meta.class = 0;
        }
        let pair = &self.pairs[answer.pair.index()];
        let port = &mut self.ports[usize::from(pair.port)];
        if port.arbitrated && acknowledges(&answer.kind) {
            let own = port.apportion.as_ref().and_then(|own| own.share(pair));
            answer.meta.share = own.unwrap_or(0);
        }
        port.replies.push(answer);
    }

    /// Queues the answers that no data of a READ is before any more: they aren't data, and wait for no window.
    #[cold]
    pub(crate) fn answer_behind(&mut self, id: PairId) {
        loop {
            let pair = &mut self.pairs[id.index()];
            if pair.responder.owes_data() {
                return;
            }
            let Some(outgoing) = pair.responder.poll_transmit(&pair.config) else {
                return;
            };
            let marked = core::mem::take(&mut pair.pending_mark);
            let answer = Answer {
                pair: id,
                meta: Meta {
                    marked,
                    ..pair.meta(Role::Response)
                },
                kind: ReplyKind::of(&outgoing.packet),
                control: pair.control,
                from_responder: true,
            };
            self.push(answer);
        }
    }

    /// Tells the application of messages that have arrived, and of receives that have ended.
    pub(crate) fn note_received(
        &mut self,
        id: PairId,
        messages: u32,
        completion: Option<ReceiveCompletion>,
    ) {
        let pair = &self.pairs[id.index()];
        self.events.push_back(Event::Received {
            pair: id,
            flow: pair.opening.flow,
            messages,
            placed: pair.placed,
            completion,
        });
    }

    /// A READ request has come, a new one or not, or an atomic.
    #[cold]
    fn on_inquiry(
        &mut self,
        now: Time,
        id: PairId,
        arrival: &Arrival<'_>,
        fresh: bool,
        received: &Received,
    ) -> Reception {
        let mtu = self.pairs[id.index()].config.mtu.get();
        let psn = arrival.packet.psn;
        let mut echoed = false;
        if let Some(reply) = received.reply {
            self.answer(id, arrival, ReplyKind::Reply(reply), false);
            echoed = true;
        }
        let pair = &mut self.pairs[id.index()];
        if let (true, Extension::Remote { length, .. }) = (fresh, arrival.packet.extension)
            && received.messages > 0
        {
            pair.reading
                .get_or_insert_with(Box::<Reading>::default)
                .ask(psn, length);
        }
        let Some((next, repeated)) = pair.responder.next_response() else {
            echoed |= self.answer_at_once(id, arrival);
            // What was to be sent may have been asked for again, and refused.
            self.refresh(now, id);
            return Reception {
                echoed,
                ..Reception::default()
            };
        };
        if let Some(reading) = &mut pair.reading {
            reading.go_to(next, mtu);
            if repeated {
                reading.confirm_before(psn, mtu);
            }
        }
        self.enforce(now, id, Stream::Responses);
        self.join(id);
        if repeated {
            self.on_loss(now, id, Stream::Responses, Loss::Nak);
        }
        self.refresh(now, id);
        Reception {
            echoed,
            ..Reception::default()
        }
    }

    /// Answers that no READ response is before: results of atomics; whether there were any.
    fn answer_at_once(&mut self, id: PairId, arrival: &Arrival<'_>) -> bool {
        let mut arrival = *arrival;
        let mut answered = false;
        loop {
            let pair = &mut self.pairs[id.index()];
            let Some(outgoing) = pair.responder.poll_transmit(&pair.config) else {
                return answered;
            };
            let by_cnp = pair.cnp_interval(&self.settings).is_some();
            let marked = arrival.meta.marked && !answered && !by_cnp;
            self.answer(id, &arrival, ReplyKind::of(&outgoing.packet), marked);
            (answered, arrival.meta.echo) = (true, NO_ECHO);
        }
    }

    /// An acknowledgement, a NAK or the result of an atomic has arrived.
    #[inline]
    fn on_reply(&mut self, now: Time, id: PairId, arrival: &Arrival<'_>) -> Reception {
        let packet = arrival.packet;
        let pair = &mut self.pairs[id.index()];
        let requester = &mut pair.requester;
        let (progress, placement) = requester.on_packet(&pair.config, now, packet);
        let next = requester.next_position();
        self.ledger.all.naks += u64::from(is_nak(packet));
        self.ledger
            .on_reply(arrival.meta.tenant, arrival.meta.marked);
        let positions = (Stream::Requests, (progress.acknowledged, next));
        let shifted = self.hear(now, id, arrival, positions, progress.went_back);
        self.complete(id);
        self.refresh(now, id);
        Reception {
            placement,
            echoed: false,
            shifted,
        }
    }

    /// Data that a READ asked for has arrived.
    fn on_data(&mut self, now: Time, id: PairId, arrival: &Arrival<'_>) -> Reception {
        let packet = arrival.packet;
        let pair = &mut self.pairs[id.index()];
        if !arrival.meta.retransmitted {
            let latest = pair.latest_response.get_or_insert(packet.psn);
            self.ledger.all.reordered += u64::from(comes_late(latest, packet));
        }
        let (_, placement) = pair.requester.on_packet(&pair.config, now, packet);
        if placement.is_some() {
            pair.placed += packet.payload;
            self.ledger.on_placed(arrival.meta.tenant, packet.payload);
        }
        if self.ports[usize::from(pair.port)].apportion.is_some() {
            apportion::on_data(self, now, id, arrival, placement.is_some());
        }
        self.complete(id);
        self.refresh(now, id);
        let told = self.notify(now, id, arrival);
        let feeds_back = self.pairs[id.index()].has_read_feedback(&self.settings);
        if feeds_back {
            let aeth = Aeth {
                syndrome: Syndrome::ACK,
                msn: 0,
            };
            let reply = Reply {
                psn: packet.psn,
                aeth,
                selective: false,
            };
            self.answer(
                id,
                arrival,
                ReplyKind::Reply(reply),
                arrival.meta.marked && !told,
            );
        }
        Reception {
            placement,
            echoed: feeds_back,
            shifted: false,
        }
    }

    /// A response packet of a READ has arrived at the requester, which says so.
    fn on_feedback(&mut self, now: Time, id: PairId, arrival: &Arrival<'_>) -> Reception {
        let mtu = self.pairs[id.index()].config.mtu.get();
        self.ledger
            .on_reply(arrival.meta.tenant, arrival.meta.marked);
        let Some(reading) = &mut self.pairs[id.index()].reading else {
            return Reception::default();
        };
        let positions = (Stream::Responses, reading.confirm(arrival.packet.psn, mtu));
        let shifted = self.hear(now, id, arrival, positions, false);
        self.refresh(now, id);
        Reception {
            shifted,
            ..Reception::default()
        }
    }

    /// Tells the application of work requests that have ended.
    #[inline]
    pub(crate) fn complete(&mut self, id: PairId) {
        let pair = &mut self.pairs[id.index()];
        let mut fails = false;
        while let Some(completion) = pair.requester.poll_completion() {
            fails |= completion.status != Status::Success;
            self.events.push_back(Event::Completed {
                pair: id,
                flow: pair.opening.flow,
                id: completion.id,
                status: completion.status,
            });
        }
        if fails && self.pairs[id.index()].config.service.is_reliable() {
            self.end_responder(id);
        }
    }
}

/// Whether an answer acknowledges: those carry the receiver's share.
const fn acknowledges(kind: &ReplyKind) -> bool {
    match kind {
        ReplyKind::Reply(reply) | ReplyKind::Result(reply, _) => {
            matches!(reply.aeth.syndrome, Syndrome::Ack { .. })
        }
        ReplyKind::Congestion => false,
    }
}

/// Whether one that was sent later has come before a packet; `latest` is the latest so far.
#[inline]
fn comes_late(latest: &mut Psn, packet: &Packet) -> bool {
    let ahead = packet.psn.distance(*latest);
    *latest = if ahead > 0 { packet.psn } else { *latest };
    ahead < 0
}

#[inline]
const fn is_nak(packet: &Packet) -> bool {
    match packet.extension {
        Extension::Acknowledge(aeth) => !matches!(aeth.syndrome, Syndrome::Ack { .. }),
        _ => false,
    }
}
