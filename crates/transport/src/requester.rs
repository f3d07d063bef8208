//! The requesting end of a queue pair: work requests become packets, responses become completions.

use alloc::boxed::Box;

use fairlane_units::{Bytes, Psn, Time};

use crate::config::Config;
use crate::messages::{Message, Messages};
use crate::packet::{Outgoing, Packet, Source};
use crate::segment;
use crate::selective::Scoreboard;
use crate::work::{Completion, Operation, Status, WorkRequest};

/// Why nothing may be sent, as a set of bits.
mod hold {
    /// The queue pair has failed.
    pub(super) const FAILED: u8 = 1;
    /// The responder had no receive; it is left alone for a while.
    pub(super) const RNR: u8 = 2;
    /// The next work request waits for READs and atomics.
    pub(super) const GATE: u8 = 4;
}

/// Packets that may be unacknowledged: half the circle of PSNs (IBTA 9.7.2).
const PSN_WINDOW: u64 = 1 << 23;

/// The requesting end of a queue pair.
///
/// Inputs: [`post`](Self::post), [`on_packet`](Self::on_packet) or
/// [`on_reply`](Self::on_reply), [`on_timeout`](Self::on_timeout).
/// Outputs: [`poll_transmit`](Self::poll_transmit), [`poll_completion`](Self::poll_completion),
/// [`deadline`](Self::deadline). Time never goes back.
///
/// Packets have numbers of 64 bits, counted from the first one; the PSN is their low end. A READ
/// takes the numbers of its response packets, so that going back into the middle of it asks for
/// the rest (IBTA 9.7.5.1.4).
#[derive(Clone, Debug)]
pub struct Requester {
    initial: Psn,
    retries: u32,
    /// Oldest unacknowledged packet.
    unacked: u64,
    /// Next packet to send.
    next: u64,
    /// Number after the highest packet ever sent.
    sent: u64,
    /// Number after the last packet posted.
    posted: u64,
    /// Number after the last packet that asked for an acknowledgement.
    asked: u64,
    /// Stream positions of `unacked`, `next` and the end of what is posted.
    unacked_at: u64,
    next_at: u64,
    posted_at: u64,
    deadline: Option<Time>,
    /// Whether the deadline is of packets that couldn't leave.
    cut_off: bool,
    /// Messages at the front that are done but not yet polled.
    completed: usize,
    /// Index of the message that `next` belongs to.
    sending: usize,
    hold: u8,
    /// Whether no further work request begins.
    draining: bool,
    /// READs and atomics sent and not finished.
    reads: u32,
    rnr_retries: u32,
    retransmitted: u64,
    /// Oldest unacknowledged packet when a missing response was last asked for again.
    implied_nak: u64,
    /// A packet of the work request that has failed or is to, and how it ends.
    failure: Option<(u64, Status)>,
    /// What the responder keeps out of order, if it may.
    scoreboard: Option<Box<Scoreboard>>,
    /// Messages not yet completed to the application, oldest first.
    messages: Messages,
}

/// What a response changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Stream position that the response confirms, which may be an old one.
    pub acknowledged: Bytes,
    /// Bytes confirmed for the first time.
    pub advanced: Bytes,
    /// Whether sending goes back to packets sent before.
    pub went_back: bool,
}

impl Requester {
    /// A requester whose first packet has number `initial`.
    pub fn new(config: &Config, initial: Psn) -> Self {
        let selective = config.is_selective() && config.service.is_reliable();
        Self {
            initial,
            messages: Messages::new(),
            completed: 0,
            sending: 0,
            unacked: 0,
            next: 0,
            sent: 0,
            posted: 0,
            asked: 0,
            unacked_at: 0,
            next_at: 0,
            posted_at: 0,
            retransmitted: 0,
            deadline: None,
            cut_off: false,
            retries: 0,
            rnr_retries: 0,
            hold: 0,
            draining: false,
            reads: 0,
            implied_nak: u64::MAX,
            failure: None,
            scoreboard: selective.then(|| Box::new(Scoreboard::new(config))),
        }
    }

    /// Posts a work request; one of no bytes still takes one packet.
    pub fn post(&mut self, config: &Config, request: WorkRequest) {
        let packets = request.length.get().div_ceil(config.mtu.get()).max(1);
        let message = Message {
            first: self.posted,
            packets,
            start: self.posted_at,
            request,
        };
        self.messages.push_back(message);
        let blocked = self.next == self.posted;
        self.posted += packets;
        self.posted_at = message.position(self.posted, config.mtu.get());
        if blocked {
            self.update_gate(config);
        }
    }

    /// Whether a packet is waiting to be sent.
    #[inline]
    pub const fn has_packet(&self) -> bool {
        self.next < self.posted && self.hold == 0 && self.next - self.unacked < PSN_WINDOW
    }

    /// Whether everything posted is acknowledged or has failed.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.unacked == self.posted || self.hold & hold::FAILED != 0
    }

    /// Whether it has failed, so that everything posted ends as flushed.
    #[inline]
    pub const fn has_failed(&self) -> bool {
        self.hold & hold::FAILED != 0
    }

    /// Whether every work request that has begun has ended.
    pub fn is_drained(&self) -> bool {
        let next = self.messages.get(self.sending);
        self.unacked == self.sent && next.is_none_or(|message| message.first >= self.sent)
    }

    /// Work requests that [`poll_completion`](Self::poll_completion) hasn't passed yet.
    pub fn outstanding(&self) -> usize {
        self.messages.len()
    }

    /// Whether a packet under way has asked for an acknowledgement.
    #[inline]
    pub const fn awaits_acknowledgement(&self) -> bool {
        self.unacked < self.asked
    }

    /// Notes that the packet sent last asks for an acknowledgement because the driver made it.
    #[inline]
    pub fn ask(&mut self) {
        self.asked = self.next;
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub const fn bytes_in_flight(&self) -> Bytes {
        Bytes::new(self.next_at - self.unacked_at)
    }

    /// Bytes posted that are to be sent, or sent again.
    #[inline]
    pub const fn bytes_to_send(&self) -> Bytes {
        Bytes::new(self.posted_at - self.next_at)
    }

    /// Stream position of the next byte to send.
    #[inline]
    pub const fn next_position(&self) -> Bytes {
        Bytes::new(self.next_at)
    }

    /// Whether the next packet to send is a READ request.
    #[inline]
    pub fn asks_for_data(&self) -> bool {
        let message = self.messages.get(self.sending);
        message.is_some_and(|message| matches!(message.request.operation, Operation::Read(_)))
    }

    /// Bytes of the work request that the next packet to send is of.
    #[inline]
    pub fn next_length(&self) -> Bytes {
        let message = self.messages.get(self.sending);
        message.map_or(Bytes::ZERO, |message| message.request.length)
    }

    /// Whether the oldest work request that hasn't ended is a READ.
    pub fn awaits_data(&self) -> bool {
        let message = self.messages.get(self.completed);
        message.is_some_and(|message| matches!(message.request.operation, Operation::Read(_)))
    }

    /// Whether every packet of what is posted has been sent.
    #[inline]
    pub const fn has_sent_all(&self) -> bool {
        self.sent >= self.posted
    }

    /// Packets posted and not acknowledged; of a READ, those of its response.
    #[inline]
    pub const fn unacknowledged_packets(&self) -> u64 {
        self.posted - self.unacked
    }

    /// Packets sent more than once.
    pub const fn retransmitted(&self) -> u64 {
        self.retransmitted
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    #[inline]
    pub const fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// Ends what is posted: nothing further is sent, all of it completes as flushed.
    pub fn flush(&mut self) {
        self.fail(u64::MAX, Status::Flushed);
    }

    /// Ends the work request `id`, of which a packet has just been polled, with `status`, and all
    /// behind it as flushed. On a reliable connection those before it end first. `false` if it has completed already, as
    /// one of an unreliable service has with its last packet.
    pub fn fail_request(&mut self, config: &Config, id: u64, status: Status) -> bool {
        let reliable = config.service.is_reliable();
        let from = if reliable { self.completed } else { 0 };
        let named = |index: &usize| {
            self.messages
                .get(*index)
                .is_some_and(|m| m.request.id == id)
        };
        let Some(index) = (from..self.messages.len()).find(named) else {
            return false;
        };
        let first = self.messages.get(index).map_or(0, |message| message.first);
        if !reliable {
            // Its last packet counted as its end.
            self.completed = self.completed.min(index);
            self.fail(first, status);
            return true;
        }
        self.failure = Some((first, status));
        if self.next > first {
            self.next = first;
            self.sending = index;
            self.next_at = self.messages.get(index).map_or(0, |message| message.start);
        }
        self.update_gate(config);
        true
    }

    /// The number that the next new packet gets.
    pub const fn next_psn(&self) -> Psn {
        self.psn(self.sent)
    }

    /// The number before the oldest packet that isn't acknowledged; of a READ, of the last response packet that came in order.
    pub const fn acknowledged_psn(&self) -> Psn {
        self.psn(self.unacked).advance(u32::MAX)
    }

    /// The number behind everything that is posted.
    pub const fn posted_psn(&self) -> Psn {
        self.psn(self.posted)
    }

    /// Begins no work request that hasn't begun yet.
    pub fn drain(&mut self, config: &Config) {
        self.draining = true;
        self.update_gate(config);
    }

    /// Ends [`drain`](Self::drain).
    pub fn resume(&mut self, config: &Config) {
        self.draining = false;
        self.update_gate(config);
    }

    /// The next packet, or `None` if nothing waits. Sending it is the driver's duty; a driver whose
    /// window closes behind it sets its `ack_request` and calls [`ask`](Self::ask).
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Outgoing> {
        if !self.has_packet() {
            return None;
        }
        let mtu = config.mtu.get();
        let number = self.next;
        let message = self.messages.get(self.sending)?;
        let offset = message.offset(number, mtu);
        let rest = message.request.length.get() - offset;
        let (end, payload) = if message.request.operation.carries_payload() {
            (number + 1, rest.min(mtu))
        } else {
            (message.end(), 0)
        };
        let (first, last) = (number == message.first, end == message.end());
        let retransmitted = number < self.sent;
        let part = segment::Part {
            offset: Bytes::new(offset),
            payload: Bytes::new(payload),
            first,
            last,
        };
        let asks = config.ack_interval == 1 || end.is_multiple_of(config.ack_interval.into());
        let packet = Packet {
            opcode: segment::opcode(config, &message.request.operation, &part),
            psn: self.psn(number),
            payload: part.payload,
            ack_request: config.service.is_reliable() && (asks || last || retransmitted),
            solicited: last && message.request.solicited,
            selective: self.scoreboard.is_some(),
            extension: segment::extension(config, &message.request, &part),
        };
        let source = if payload == 0 {
            Source::Nothing
        } else {
            let id = message.request.id;
            let offset = part.offset;
            Source::Request { id, offset }
        };
        let awaits = !retransmitted && message.request.operation.awaits_response();
        self.reads += u32::from(awaits);
        self.retransmitted += u64::from(retransmitted);
        if packet.ack_request {
            self.asked = end;
        }
        self.next = end;
        self.next_at += payload;
        self.sent = self.sent.max(end);
        if last {
            self.sending += 1;
            self.update_gate(config);
        }
        self.after_transmission(config, now);
        Some(Outgoing {
            packet,
            source,
            retransmitted,
            ends: last,
        })
    }

    #[inline]
    fn after_transmission(&mut self, config: &Config, now: Time) {
        if !config.service.is_reliable() {
            self.acknowledge(config, self.next);
            return;
        }
        if self.scoreboard.is_some() && self.next < self.sent {
            self.resume_at(config, self.next);
        }
        if self.deadline.is_none() {
            self.restart_timer(config, now);
        }
    }

    /// Fires the deadline: ends a wait for the responder, or goes back, or fails at the retry limit.
    pub fn on_timeout(&mut self, config: &Config, now: Time) {
        self.deadline = None;
        self.cut_off = false;
        if self.hold & hold::RNR != 0 {
            self.hold &= !hold::RNR;
            self.restart_timer(config, now);
            return;
        }
        if self.is_idle() {
            return;
        }
        if self.retries >= config.retry_limit {
            self.fail(self.unacked, Status::RetryExceeded);
            return;
        }
        self.retries += 1;
        if self.retries > 1
            && let Some(scoreboard) = &mut self.scoreboard
        {
            // What the responder seemed to keep doesn't help; perhaps it doesn't keep it.
            scoreboard.forget();
        }
        self.go_back(config);
        // The driver may hold packets back for longer than the timeout: it begins with the next one.
        if !self.has_packet() {
            self.restart_timer(config, now);
        }
    }

    /// The link is down: the timeout runs as if what waits had been sent, so that a queue pair that can't send fails as one
    /// whose packets are lost.
    pub fn cut_off(&mut self, config: &Config, now: Time) {
        if self.deadline.is_none() && self.has_packet() && config.service.is_reliable() {
            self.deadline = (config.ack_timeout).map(|timeout| now.saturating_add(timeout));
            self.cut_off = self.deadline.is_some();
        }
    }

    /// The link is up again: the timeout of what couldn't leave begins with the next packet.
    pub fn reconnect(&mut self) {
        if core::mem::take(&mut self.cut_off) {
            self.deadline = None;
        }
    }

    /// The next finished work request to report, in the order of posting.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completion> {
        while self.completed > 0 {
            self.completed -= 1;
            self.sending -= 1;
            let request = self.messages.pop_front()?.request;
            if request.signaled {
                return Some(Completion {
                    id: request.id,
                    status: Status::Success,
                });
            }
        }
        let (number, status) = self.failure.filter(|_| self.has_failed())?;
        let message = self.messages.pop_front()?;
        let culprit = (message.first..message.end()).contains(&number);
        Some(Completion {
            id: message.request.id,
            status: if culprit { status } else { Status::Flushed },
        })
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "24 bits are wanted")]
    pub(crate) const fn psn(&self, number: u64) -> Psn {
        self.initial.advance(number as u32)
    }

    /// The packet number of a PSN on the circle around the oldest unacknowledged packet; `None` if it
    /// is before the first one.
    #[inline]
    fn number(&self, psn: Psn) -> Option<u64> {
        let ahead = psn.distance(self.psn(self.unacked));
        self.unacked.checked_add_signed(i64::from(ahead))
    }

    /// Takes packets before `expected` as acknowledged; returns how many bytes they had.
    #[inline]
    fn acknowledge(&mut self, config: &Config, expected: u64) -> u64 {
        let reads = self.reads;
        while let Some(message) = self.messages.get(self.completed) {
            if message.end() > expected {
                break;
            }
            self.reads -= u32::from(message.request.operation.awaits_response());
            self.completed += 1;
        }
        let position = match self.messages.get(self.completed) {
            Some(message) if message.first < expected => {
                message.position(expected, config.mtu.get())
            }
            Some(message) => message.start,
            None => self.posted_at,
        };
        let advanced = position - self.unacked_at;
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.advance(expected - self.unacked);
        }
        self.unacked = expected;
        self.unacked_at = position;
        if self.next < expected {
            // Packets sent before going back have arrived after all.
            self.resume_at(config, expected);
        } else if self.reads != reads || self.hold & hold::GATE != 0 {
            self.update_gate(config);
        }
        advanced
    }

    /// Stream position before packet `expected`; for one acknowledged long ago, a lower bound.
    #[inline]
    fn position_near(&self, expected: u64, mtu: u64) -> u64 {
        if expected >= self.unacked {
            return self.unacked_at;
        }
        self.unacked_at
            .saturating_sub((self.unacked - expected) * mtu)
    }

    /// Sends again from the oldest unacknowledged packet.
    fn go_back(&mut self, config: &Config) {
        if let Some(scoreboard) = &mut self.scoreboard {
            scoreboard.repeat_all(self.sent);
        }
        self.resume_at(config, self.unacked);
    }

    /// Makes `number`, or the first one behind it that is worth sending, the next packet.
    fn resume_at(&mut self, config: &Config, number: u64) {
        let number = match &self.scoreboard {
            Some(scoreboard) => scoreboard.next_missing(number, self.unacked, self.sent),
            None => number,
        };
        // Nothing behind a work request that is to fail may be sent.
        let last = self
            .failure
            .map_or(u64::MAX, |(first, _)| first.max(self.unacked));
        let number = number.min(last);
        self.next = number;
        self.sending = self.messages.locate(number);
        self.next_at = match self.messages.get(self.sending) {
            Some(message) => message.position(number, config.mtu.get()),
            None => self.posted_at,
        };
        self.update_gate(config);
    }

    /// Whether the message at `next` has to wait for READs and atomics, or for the end of draining. One
    /// that is to fail does so when all before it have ended.
    #[inline]
    fn update_gate(&mut self, config: &Config) {
        self.hold &= !hold::GATE;
        let Some(message) = self.messages.get(self.sending) else {
            return;
        };
        if self
            .failure
            .is_some_and(|(number, _)| number == message.first)
        {
            self.hold |= hold::GATE;
            if self.unacked >= message.first {
                self.hold |= hold::FAILED;
                self.deadline = None;
            }
            return;
        }
        let fresh = self.next == message.first && self.next >= self.sent;
        let request = &message.request;
        let full = self.reads >= config.max_reads.into() && request.operation.awaits_response();
        let wide = message.end() - self.unacked > PSN_WINDOW && full_range(message);
        if fresh && (full || wide || self.draining || (request.fence && self.reads > 0)) {
            self.hold |= hold::GATE;
        }
    }

    fn fail(&mut self, number: u64, status: Status) {
        if !self.has_failed() {
            self.failure = Some((number, status));
            self.hold |= hold::FAILED;
            self.deadline = None;
        }
    }

    #[inline]
    fn restart_timer(&mut self, config: &Config, now: Time) {
        self.deadline = match config.ack_timeout {
            Some(timeout) if self.unacked < self.sent => Some(now.saturating_add(timeout)),
            _ => None,
        };
    }
}

/// Whether a message takes all its packet numbers with its first packet.
const fn full_range(message: &Message) -> bool {
    message.request.operation.awaits_response()
}

mod response;
