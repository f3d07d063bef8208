//! The receiving end of a reliable connection.

use fairlane_units::{Bytes, Psn, Time};

use crate::config::Config;
use crate::packet::{Reply, ReplyKind, Segment};

/// The receiving end of a reliable connection.
#[derive(Clone, Debug)]
pub struct Responder {
    expected: Psn,
    /// The packet that the last NAK asked for.
    nak_for: Psn,
    /// Before this, no second NAK for the same packet.
    nak_again: Time,
}

/// What a packet led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Payload to place, zero if the packet is out of order or a duplicate.
    pub placed: Bytes,
    /// Whether a message is now complete.
    pub message_complete: bool,
    /// The acknowledgement to send.
    pub reply: Option<Reply>,
}

impl Responder {
    /// A receiver whose first packet has number `initial`.
    pub const fn new(initial: Psn) -> Self {
        Self {
            expected: initial,
            nak_for: initial,
            nak_again: Time::ZERO,
        }
    }

    /// The next packet in order.
    pub const fn expected(&self) -> Psn {
        self.expected
    }

    /// Takes a packet; every packet in order is acknowledged.
    #[inline]
    pub fn on_packet(&mut self, config: &Config, now: Time, segment: &Segment) -> Received {
        let distance = segment.psn.distance(self.expected);
        if distance == 0 {
            self.expected = self.expected.advance(1);
            return Received {
                placed: segment.payload,
                message_complete: segment.last,
                reply: Some(Reply {
                    kind: ReplyKind::Ack,
                    expected: self.expected,
                }),
            };
        }
        let kind = if distance > 0 {
            self.too_early(config, now)
        } else {
            duplicate(config)
        };
        let reply = kind.map(|kind| Reply {
            kind,
            expected: self.expected,
        });
        Received {
            placed: Bytes::ZERO,
            message_complete: false,
            reply,
        }
    }

    fn too_early(&mut self, config: &Config, now: Time) -> Option<ReplyKind> {
        if now < self.nak_again && self.nak_for == self.expected {
            return None;
        }
        self.nak_for = self.expected;
        self.nak_again = now.saturating_add(config.nak_interval);
        Some(ReplyKind::NakSequence)
    }
}

fn duplicate(config: &Config) -> Option<ReplyKind> {
    config.ack_duplicates.then_some(ReplyKind::Ack)
}
