//! The responding end of a queue pair: packets become placements, completions and responses.

use alloc::boxed::Box;

use fairlane_units::{Bytes, Psn, Time};
use fairlane_wire::{Aeth, NakCode, Operation as Kind, Position, RnrTimer, Syndrome};

use crate::config::Config;
use crate::memory::{Memory, Receives};
use crate::out_of_order::{Kept, OutOfOrder, Range};
use crate::packet::{Extension, Outgoing, Packet, Placement, Reply};
use crate::responses::Responses;
use crate::work::{Receive, ReceiveCompletion, Status};

/// What a message in progress does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Write,
    Send,
}

/// The responding end of a queue pair.
///
/// Inputs: [`on_packet`](Self::on_packet). Outputs: what that returns, and
/// [`poll_transmit`](Self::poll_transmit) for responses that take their turn.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Responder {
    /// The next packet in order.
    expected: Psn,
    /// Messages completed, 24 bits on the wire.
    msn: u32,
    /// Packets of the message in progress that may still come; of a SEND, counted down from the top.
    left: u32,
    phase: Phase,
    failed: bool,
    /// Why it refused the request that made it fail.
    fault: Option<NakCode>,
    /// The packet that the last NAK asked for.
    nak_for: Psn,
    /// Before this, no second NAK for the same packet.
    nak_again: Time,
    /// The message in progress; of a SEND, only its packet count has a meaning.
    current: Range,
    /// The receive that the SEND in progress fills.
    receive: Option<Receive>,
    responses: Option<Box<Responses>>,
    out_of_order: Option<Box<OutOfOrder>>,
}

/// What a packet led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Where its payload goes; `None` if it is not to be placed.
    pub placement: Option<Placement>,
    /// Bytes to place.
    pub placed: Bytes,
    /// Messages that are complete.
    pub messages: u32,
    /// A receive that has ended.
    pub completion: Option<ReceiveCompletion>,
    /// The response to send at once. Others take their turn: see [`Responder::poll_transmit`].
    pub reply: Option<Reply>,
    /// Why the queue pair has failed.
    pub fault: Option<NakCode>,
}

/// Why a request isn't carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// No receive is posted.
    NotReady,
    /// The request is wrong, and the connection ends.
    Nak(NakCode),
    /// A SEND is longer than its receive.
    TooLong,
    /// The memory of its receive doesn't permit writing.
    Closed,
}

impl Responder {
    /// A responder whose first packet has number `initial`.
    pub fn new(config: &Config, initial: Psn) -> Self {
        let selective = config.is_selective() && config.service.is_reliable();
        Self {
            expected: initial,
            msn: 0,
            left: 0,
            phase: Phase::Idle,
            failed: false,
            fault: None,
            nak_for: initial,
            nak_again: Time::ZERO,
            current: Range::default(),
            receive: None,
            responses: None,
            out_of_order: selective.then(|| Box::new(OutOfOrder::new(config.selective_window))),
        }
    }

    /// The next packet in order.
    #[inline]
    pub const fn expected(&self) -> Psn {
        self.expected
    }

    /// Whether it takes nothing any more.
    #[inline]
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// Why it refused the request that made it fail, if one did.
    pub const fn fault(&self) -> Option<NakCode> {
        self.fault
    }

    /// The receive that a SEND in progress fills, or that is kept for the next one.
    pub fn receiving(&self) -> Option<u64> {
        self.receive.map(|receive| receive.id)
    }

    /// Whether responses wait for [`poll_transmit`](Self::poll_transmit).
    #[inline]
    pub fn has_packet(&self) -> bool {
        match &self.responses {
            Some(responses) => !responses.is_empty(),
            None => false,
        }
    }

    /// Whether the next response in turn has data of a READ.
    pub fn owes_data(&self) -> bool {
        let responses = self.responses.as_ref();
        responses.is_some_and(|responses| responses.begins_with_read())
    }

    /// Whether the next response has data of a READ, and answers to other requests wait behind it.
    pub fn delays_answers(&self) -> bool {
        let responses = self.responses.as_ref();
        responses.is_some_and(|responses| responses.delay_answers())
    }

    /// The PSN of the READ response that leaves next, and whether it was asked for again.
    pub fn next_response(&self) -> Option<(Psn, bool)> {
        self.responses.as_ref()?.next_read()
    }

    /// The next response in turn; sending it is the driver's duty.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config) -> Option<Outgoing> {
        self.responses.as_mut()?.poll_transmit(config, self.msn)
    }

    /// An acknowledgement of all that has been taken, which may repeat one: to be sent at once, or behind responses in turn. Nothing
    /// once it has failed.
    pub fn acknowledge_again(&mut self, config: &Config) -> Option<Reply> {
        if self.failed {
            return None;
        }
        let reply = self.acknowledge(config, self.before_expected(), Syndrome::ACK);
        self.in_turn(reply)
    }

    /// Ends the receive in progress and answers nothing further.
    pub fn flush(&mut self) -> Option<ReceiveCompletion> {
        self.failed = true;
        self.responses = None;
        self.abandon(Status::Flushed)
    }

    /// Takes a packet that has arrived; `memory` and `receives` are what it may act on.
    #[inline]
    pub fn on_packet(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Received {
        if self.failed || !packet.opcode.is_request() {
            return Received::default();
        }
        if !config.service.is_reliable() {
            return self.on_unreliable(config, packet, memory, receives);
        }
        let distance = packet.psn.distance(self.expected);
        if distance == 0 {
            self.on_expected(config, now, packet, memory, receives)
        } else if distance > 0 {
            self.on_early(config, now, packet, distance, memory)
        } else {
            self.on_duplicate(config, packet, distance, memory)
        }
    }

    #[inline]
    fn on_expected(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Received {
        let mut received = Received::default();
        let carried_out = match packet.opcode.operation() {
            Kind::Write => self.on_write(config, packet, memory, receives, &mut received),
            Kind::Send => self.on_send(config, packet, memory, receives, &mut received),
            _ => self.on_inquiry(config, packet, memory, &mut received),
        };
        let span = match carried_out {
            Ok(span) => span,
            Err(refusal) => {
                self.refuse(config, now, refusal, &mut received);
                return received;
            }
        };
        self.expected = self.expected.advance(span);
        self.msn = self.msn.wrapping_add(received.messages);
        let caught_up = match self.catch_up(span, memory, &mut received) {
            Ok(caught_up) => caught_up,
            Err(refusal) => {
                self.refuse(config, now, refusal, &mut received);
                return received;
            }
        };
        let answered = !packet.opcode.has_payload();
        if caught_up || (packet.ack_request && !answered) {
            let reply = self.acknowledge(config, self.before_expected(), Syndrome::ACK);
            received.reply = self.in_turn(reply);
        }
        received
    }

    /// The PSN that an acknowledgement names: that of the last packet taken.
    #[inline]
    const fn before_expected(&self) -> Psn {
        self.expected.advance(u32::MAX)
    }

    #[inline]
    fn acknowledge(&self, config: &Config, psn: Psn, syndrome: Syndrome) -> Reply {
        Reply {
            psn,
            aeth: Aeth {
                syndrome,
                msn: self.msn & 0x00ff_ffff,
            },
            selective: config.is_selective(),
        }
    }

    /// Lets an acknowledgement out at once if no response is before it.
    #[inline]
    fn in_turn(&mut self, reply: Reply) -> Option<Reply> {
        match &mut self.responses {
            Some(responses) if !responses.is_empty() => {
                responses.push_acknowledge(reply);
                None
            }
            _ => Some(reply),
        }
    }

    /// Follows the packets that had come early, up to the next gap; `span` packets have come in order.
    #[inline]
    fn catch_up(
        &mut self,
        span: u32,
        memory: &impl Memory,
        received: &mut Received,
    ) -> Result<bool, Refusal> {
        match &self.out_of_order {
            Some(out_of_order) if !out_of_order.is_empty() => self.follow(span, memory, received),
            _ => Ok(false),
        }
    }

    #[cold]
    fn follow(
        &mut self,
        span: u32,
        memory: &impl Memory,
        received: &mut Received,
    ) -> Result<bool, Refusal> {
        let Some(out_of_order) = &mut self.out_of_order else {
            return Ok(false);
        };
        out_of_order.advance(span as usize);
        let before = self.expected;
        while let Some((ends, begun)) = out_of_order.take(self.expected) {
            if let Some(range) = begun {
                // Its key may have been invalidated by what came in between.
                if !range.is_allowed(memory) {
                    return Err(Refusal::Nak(NakCode::RemoteAccess));
                }
                (self.phase, self.left, self.current) = (Phase::Write, range.packets, range);
            }
            self.left = self.left.saturating_sub(1);
            if ends {
                self.phase = Phase::Idle;
                self.msn = self.msn.wrapping_add(1);
                received.messages += 1;
            }
            self.expected = self.expected.advance(1);
        }
        out_of_order.forget_before(self.expected);
        Ok(self.expected != before)
    }

    /// Answers a request that isn't carried out, and fails unless it may be tried again.
    fn refuse(&mut self, config: &Config, now: Time, refusal: Refusal, received: &mut Received) {
        let (syndrome, status) = match refusal {
            Refusal::NotReady => {
                let timer = RnrTimer::at_least(config.rnr_timer);
                // What follows the refused packet is early but needs no NAK of its own.
                self.nak_for = self.expected;
                self.nak_again = now.saturating_add(timer.duration());
                (Syndrome::RnrNak { timer }, None)
            }
            Refusal::Nak(code) => (Syndrome::Nak(code), Some((code, Status::Flushed))),
            Refusal::TooLong => {
                let code = NakCode::InvalidRequest;
                (Syndrome::Nak(code), Some((code, Status::LocalLength)))
            }
            // IBTA 9.7.5.2.6: the responder couldn't carry out what was right.
            Refusal::Closed => {
                let code = NakCode::RemoteOperational;
                (Syndrome::Nak(code), Some((code, Status::LocalProtection)))
            }
        };
        let reply = self.acknowledge(config, self.expected, syndrome);
        received.reply = self.in_turn(reply);
        if let Some((code, status)) = status {
            self.failed = true;
            self.fault = Some(code);
            received.fault = Some(code);
            received.completion = self.abandon(status).or(received.completion);
        }
    }

    /// Ends the receive in progress, if there is one.
    fn abandon(&mut self, status: Status) -> Option<ReceiveCompletion> {
        self.phase = Phase::Idle;
        let receive = self.receive.take()?;
        Some(ReceiveCompletion::failed(receive.id, status))
    }

    #[cold]
    fn on_early(
        &mut self,
        config: &Config,
        now: Time,
        packet: &Packet,
        distance: i32,
        memory: &impl Memory,
    ) -> Received {
        let mut received = Received::default();
        let kept = match &mut self.out_of_order {
            Some(out_of_order) => {
                let current = (self.phase == Phase::Write).then_some(&self.current);
                let distance = usize::try_from(distance).unwrap_or(usize::MAX);
                out_of_order.keep(config.mtu, distance, packet, current, memory)
            }
            None => Kept::No,
        };
        if let Kept::Placed(placement) = kept {
            received.placement = Some(placement);
            received.placed = packet.payload;
        }
        let reports = packet.selective && !matches!(kept, Kept::No);
        if !reports && now < self.nak_again && self.nak_for == self.expected {
            return received;
        }
        self.nak_for = self.expected;
        self.nak_again = now.saturating_add(config.nak_interval);
        let syndrome = Syndrome::Nak(NakCode::SequenceError);
        let mut reply = self.acknowledge(config, self.expected, syndrome);
        reply.selective = config.is_selective() && packet.selective;
        if reply.selective {
            let arrived = if reports { packet.psn } else { self.expected };
            reply.aeth.msn = arrived.get();
        }
        received.reply = self.in_turn(reply);
        received
    }

    /// Answers a packet that has been taken before (IBTA 9.7.5.1.4).
    #[cold]
    fn on_duplicate(
        &mut self,
        config: &Config,
        packet: &Packet,
        distance: i32,
        memory: &impl Memory,
    ) -> Received {
        let mut received = Received::default();
        match packet.opcode.operation() {
            Kind::Send | Kind::Write if config.ack_duplicates => {
                let reply = self.acknowledge(config, self.before_expected(), Syndrome::ACK);
                received.reply = self.in_turn(reply);
            }
            Kind::ReadRequest => {
                received.reply = self.repeat_read(config, packet, distance, memory);
            }
            Kind::CompareSwap | Kind::FetchAdd => self.repeat_atomic(config, packet.psn),
            _ => {}
        }
        received
    }

    /// Takes a message of an unreliable service; what can't be taken is dropped silently.
    #[cold]
    fn on_unreliable(
        &mut self,
        config: &Config,
        packet: &Packet,
        memory: &mut impl Memory,
        receives: &mut impl Receives,
    ) -> Received {
        let mut received = Received::default();
        if let Extension::Datagram { .. } = packet.extension {
            self.on_datagram(packet, receives, &mut received);
            return received;
        }
        let position = packet.opcode.position();
        let begins = matches!(position, Position::First | Position::Only);
        if packet.psn != self.expected {
            // IBTA 9.8.2.2: the message in progress is lost; the next one begins anew.
            self.phase = Phase::Idle;
            if !begins {
                return received;
            }
        } else if begins {
            self.phase = Phase::Idle;
        }
        self.expected = packet.psn.advance(1);
        let carried_out = match packet.opcode.operation() {
            Kind::Write => self.on_write(config, packet, memory, receives, &mut received),
            Kind::Send => self.on_send(config, packet, memory, receives, &mut received),
            _ => Err(Refusal::Nak(NakCode::InvalidRequest)),
        };
        if let Err(refusal) = carried_out {
            self.phase = Phase::Idle;
            received = Received::default();
            let status = match refusal {
                Refusal::TooLong => Some(Status::LocalLength),
                Refusal::Closed => Some(Status::LocalProtection),
                Refusal::NotReady | Refusal::Nak(_) => None,
            };
            received.completion = status.and_then(|status| self.abandon(status));
        }
        received
    }
}

pub(crate) mod answer;
mod request;
