//! The sending end of a reliable connection.

use alloc::collections::VecDeque;

use fairlane_units::{Bytes, Psn, Time};

use crate::config::Config;
use crate::packet::{Reply, ReplyKind, Segment};

/// A posted message on its way.
#[derive(Clone, Copy, Debug)]
struct Message {
    id: u64,
    length: u64,
    /// Stream position of its first byte.
    start: u64,
    /// Number of its first packet, counted from the first packet of the connection.
    first: u64,
    packets: u64,
}

impl Message {
    const fn end(&self) -> u64 {
        self.first + self.packets
    }

    /// Bytes of this message before packet `number`.
    fn offset(&self, number: u64, mtu: u64) -> u64 {
        ((number - self.first) * mtu).min(self.length)
    }
}

/// Messages in order. The first is inline: most connections have one, and then a packet costs no
/// visit to the heap.
#[derive(Clone, Debug)]
struct Messages {
    first: Option<Message>,
    rest: VecDeque<Message>,
}

impl Messages {
    const fn new() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }

    fn push_back(&mut self, message: Message) {
        if self.first.is_none() {
            self.first = Some(message);
        } else {
            self.rest.push_back(message);
        }
    }

    fn pop_front(&mut self) -> Option<Message> {
        let first = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(first)
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&Message> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(behind) => self.rest.get(behind),
        }
    }
}

/// The sending end of a reliable connection.
///
/// Inputs: [`post_write`](Self::post_write), [`on_reply`](Self::on_reply),
/// [`on_timeout`](Self::on_timeout). Outputs: [`poll_transmit`](Self::poll_transmit),
/// [`poll_completion`](Self::poll_completion), [`deadline`](Self::deadline). Time never goes back.
#[derive(Clone, Debug)]
pub struct Requester {
    initial: Psn,
    /// Messages not yet completed to the application, oldest first.
    messages: Messages,
    /// Messages at the front that are acknowledged but not yet polled.
    completed: usize,
    /// Index of the message that `next` belongs to.
    sending: usize,
    /// Oldest unacknowledged packet.
    unacked: u64,
    /// Next packet to send.
    next: u64,
    /// Number after the highest packet ever sent.
    sent: u64,
    /// Number after the last packet posted.
    posted: u64,
    /// Stream positions of `unacked`, `next` and the end of what is posted.
    unacked_at: u64,
    next_at: u64,
    posted_at: u64,
    retransmitted: u64,
    deadline: Option<Time>,
    retries: u32,
    failed: bool,
}

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Stream position that this acknowledgement confirms, which may be an old one.
    pub acknowledged: Bytes,
    /// Bytes confirmed for the first time.
    pub advanced: Bytes,
    /// Whether sending goes back to the oldest unacknowledged packet.
    pub went_back: bool,
}

/// The end of a work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given when it was posted.
    pub id: u64,
    /// How it ended.
    pub status: Status,
}

/// How a work request ended (IBTA 11.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Acknowledged to the last byte.
    Success,
    /// The retry limit was reached while this request was the oldest.
    RetryExceeded,
    /// The queue pair failed before this request was served.
    Flushed,
}

impl Requester {
    /// A sender whose first packet has number `initial`.
    pub const fn new(initial: Psn) -> Self {
        Self {
            initial,
            messages: Messages::new(),
            completed: 0,
            sending: 0,
            unacked: 0,
            next: 0,
            sent: 0,
            posted: 0,
            unacked_at: 0,
            next_at: 0,
            posted_at: 0,
            retransmitted: 0,
            deadline: None,
            retries: 0,
            failed: false,
        }
    }

    /// Posts an RDMA WRITE of `length` bytes; a WRITE of nothing still takes one packet.
    pub fn post_write(&mut self, config: &Config, id: u64, length: Bytes) {
        let packets = length.get().div_ceil(config.mtu.get()).max(1);
        self.messages.push_back(Message {
            id,
            length: length.get(),
            start: self.posted_at,
            first: self.posted,
            packets,
        });
        self.posted += packets;
        self.posted_at += length.get();
    }

    /// Whether a packet is waiting to be sent.
    #[inline]
    pub const fn has_packet(&self) -> bool {
        self.next < self.posted && !self.failed
    }

    /// Whether everything posted is acknowledged or has failed.
    #[inline]
    pub const fn is_idle(&self) -> bool {
        self.unacked == self.posted || self.failed
    }

    /// Bytes sent and not acknowledged.
    #[inline]
    pub const fn bytes_in_flight(&self) -> Bytes {
        Bytes::new(self.next_at - self.unacked_at)
    }

    /// Stream position of the next byte to send.
    #[inline]
    pub const fn next_position(&self) -> Bytes {
        Bytes::new(self.next_at)
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

    /// The next packet, or `None` if nothing waits. Sending it is the driver's duty.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Segment> {
        if !self.has_packet() {
            return None;
        }
        let mtu = config.mtu.get();
        let message = *self.messages.get(self.sending)?;
        let offset = message.offset(self.next, mtu);
        let payload = (message.length - offset).min(mtu);
        let segment = Segment {
            psn: self.psn(self.next),
            offset: Bytes::new(offset),
            payload: Bytes::new(payload),
            first: self.next == message.first,
            last: self.next + 1 == message.end(),
            retransmitted: self.next < self.sent,
        };
        self.retransmitted += u64::from(segment.retransmitted);
        self.next += 1;
        self.next_at += payload;
        self.sent = self.sent.max(self.next);
        self.sending += usize::from(segment.last);
        if self.deadline.is_none() {
            self.restart_timer(config, now);
        }
        Some(segment)
    }

    /// Hears an acknowledgement; one for packets never sent is ignored.
    #[inline]
    pub fn on_reply(&mut self, config: &Config, now: Time, reply: &Reply) -> Progress {
        let expected = self.number(reply.expected);
        let mut progress = Progress {
            acknowledged: Bytes::ZERO,
            advanced: Bytes::ZERO,
            went_back: false,
        };
        if expected > self.sent || self.failed {
            progress.acknowledged = Bytes::new(self.unacked_at);
            return progress;
        }
        if expected > self.unacked {
            progress.advanced = Bytes::new(self.acknowledge(expected, config.mtu.get()));
            self.retries = 0;
            self.restart_timer(config, now);
        }
        progress.acknowledged = Bytes::new(self.position_near(expected, config.mtu.get()));
        // IBTA 9.7.5.2.8: a NAK that is not older than what is known asks for a retransmission.
        if reply.kind == ReplyKind::NakSequence && expected >= self.unacked {
            self.go_back();
            progress.went_back = true;
        }
        progress
    }

    /// Fires the deadline: goes back, or fails at the retry limit.
    pub fn on_timeout(&mut self, config: &Config, now: Time) {
        self.deadline = None;
        if self.is_idle() {
            return;
        }
        if self.retries >= config.retry_limit {
            self.failed = true;
            return;
        }
        self.retries += 1;
        self.go_back();
        self.restart_timer(config, now);
    }

    /// The next finished work request, in the order of posting.
    #[inline]
    pub fn poll_completion(&mut self) -> Option<Completion> {
        if self.completed > 0 {
            self.completed -= 1;
            self.sending -= 1;
            let message = self.messages.pop_front()?;
            return Some(Completion {
                id: message.id,
                status: Status::Success,
            });
        }
        if !self.failed {
            return None;
        }
        let oldest = self
            .messages
            .get(0)
            .is_some_and(|message| message.first <= self.unacked);
        let message = self.messages.pop_front()?;
        let status = if oldest {
            Status::RetryExceeded
        } else {
            Status::Flushed
        };
        Some(Completion {
            id: message.id,
            status,
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "24 bits are wanted")]
    const fn psn(&self, number: u64) -> Psn {
        self.initial.advance(number as u32)
    }

    /// The packet number of a PSN on the circle around the oldest unacknowledged packet.
    fn number(&self, psn: Psn) -> u64 {
        let ahead = psn.distance(self.psn(self.unacked));
        self.unacked.saturating_add_signed(i64::from(ahead))
    }

    /// Takes packets before `expected` as acknowledged; returns how many bytes they had.
    fn acknowledge(&mut self, expected: u64, mtu: u64) -> u64 {
        while let Some(message) = self.messages.get(self.completed) {
            if message.end() > expected {
                break;
            }
            self.completed += 1;
        }
        let position = match self.messages.get(self.completed) {
            Some(message) => message.start + message.offset(expected, mtu),
            None => self.posted_at,
        };
        let advanced = position - self.unacked_at;
        self.unacked = expected;
        self.unacked_at = position;
        if self.next < expected {
            // Packets sent before going back have arrived after all.
            self.next = expected;
            self.next_at = position;
            self.sending = self.completed;
        }
        advanced
    }

    /// Stream position before packet `expected`; for one acknowledged long ago, a lower bound.
    fn position_near(&self, expected: u64, mtu: u64) -> u64 {
        if expected >= self.unacked {
            return self.unacked_at;
        }
        self.unacked_at
            .saturating_sub((self.unacked - expected) * mtu)
    }

    fn go_back(&mut self) {
        self.next = self.unacked;
        self.next_at = self.unacked_at;
        self.sending = self.completed;
    }

    fn restart_timer(&mut self, config: &Config, now: Time) {
        self.deadline = match config.ack_timeout {
            Some(timeout) if self.unacked < self.sent => Some(now.saturating_add(timeout)),
            _ => None,
        };
    }
}
