//! What a responder owes: responses to READs and atomics, and acknowledgements behind them.

use alloc::collections::VecDeque;

use fairlane_units::{Bytes, Psn};
use fairlane_wire::{Aeth, Opcode, Syndrome};

use crate::config::Config;
use crate::packet::{Extension, Outgoing, Packet, Reply, Source};
use crate::work::Remote;

/// One response. They leave in the order of their requests (IBTA 9.7.5.1.2).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Response {
    /// The rest of a READ.
    Read {
        psn: Psn,
        remote: Remote,
        rest: Bytes,
        /// Whether none of it has been sent.
        fresh: bool,
        /// Whether it was asked for again.
        repeated: bool,
    },
    /// The result of an atomic.
    Atomic {
        psn: Psn,
        original: u64,
        /// As of a READ.
        repeated: bool,
    },
    /// An acknowledgement or NAK.
    Acknowledge(Reply),
}

impl Response {
    const fn psn(&self) -> Psn {
        match self {
            Self::Read { psn, .. } | Self::Atomic { psn, .. } => *psn,
            Self::Acknowledge(reply) => reply.psn,
        }
    }
}

/// The queue of responses, and results of atomics in case they are asked for again.
#[derive(Clone, Debug)]
pub(crate) struct Responses {
    queue: VecDeque<Response>,
    /// Results of the latest atomics, oldest first.
    results: VecDeque<(Psn, u64)>,
    /// The PSN after the latest one that data was sent under.
    reached: Option<Psn>,
    /// Beyond so many, acknowledgements get lost.
    limit: usize,
}

impl Responses {
    pub(crate) fn new(config: &Config) -> Self {
        let depth = usize::from(config.max_destination_reads);
        Self {
            queue: VecDeque::with_capacity(depth * 2 + 2),
            results: VecDeque::with_capacity(depth),
            reached: None,
            limit: depth * 2 + (config.selective_window as usize).max(64),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// READs and atomics that are still to be answered for the first time, or again.
    pub(crate) fn pending(&self, again: bool) -> usize {
        let counts = |response: &&Response| match response {
            Response::Read { repeated, .. } | Response::Atomic { repeated, .. } => {
                *repeated == again
            }
            Response::Acknowledge(_) => false,
        };
        self.queue.iter().filter(counts).count()
    }

    pub(crate) fn push(&mut self, response: Response) {
        self.queue.push_back(response);
    }

    /// Queues an acknowledgement; a positive one makes a positive one right before it unnecessary.
    pub(crate) fn push_acknowledge(&mut self, reply: Reply) {
        if let Some(Response::Acknowledge(tail)) = self.queue.back_mut()
            && matches!(tail.aeth.syndrome, Syndrome::Ack { .. })
        {
            *tail = reply;
        } else if self.queue.len() < self.limit {
            self.queue.push_back(Response::Acknowledge(reply));
        }
    }

    /// Forgets responses from `psn` on, which the requester is about to ask for again.
    pub(crate) fn discard_from(&mut self, config: &Config, psn: Psn) {
        self.queue.retain(|response| response.psn().is_before(psn));
        for response in &mut self.queue {
            if let Response::Read { psn: own, rest, .. } = response {
                let packets = u64::from(psn.distance(*own).unsigned_abs());
                *rest = (*rest).min(Bytes::new(packets * config.mtu.get()));
            }
        }
    }

    /// The PSN of the READ response that leaves next, and whether it was asked for again.
    pub(crate) fn next_read(&self) -> Option<(Psn, bool)> {
        self.queue.iter().find_map(|response| match response {
            Response::Read { psn, repeated, .. } => Some((*psn, *repeated)),
            _ => None,
        })
    }

    /// Whether a READ is first.
    pub(crate) fn begins_with_read(&self) -> bool {
        matches!(self.queue.front(), Some(Response::Read { .. }))
    }

    /// Whether a READ is first, and something else behind it.
    pub(crate) fn delay_answers(&self) -> bool {
        let other = |response: &Response| !matches!(response, Response::Read { .. });
        self.begins_with_read() && self.queue.iter().any(other)
    }

    /// Remembers the result of an atomic for as many as the requester may have under way.
    pub(crate) fn remember(&mut self, config: &Config, psn: Psn, original: u64) {
        if self.results.len() >= usize::from(config.max_destination_reads).max(1) {
            self.results.pop_front();
        }
        self.results.push_back((psn, original));
    }

    /// The result of the atomic with that PSN.
    pub(crate) fn recall(&self, psn: Psn) -> Option<u64> {
        let mut known = self.results.iter();
        known
            .find(|(known, _)| *known == psn)
            .map(|&(_, original)| original)
    }

    /// Notes that a response leaves; returns whether it was sent before.
    fn leaves(reached: &mut Option<Psn>, psn: Psn) -> bool {
        let again = reached.is_some_and(|reached| psn.is_before(reached));
        if !again {
            *reached = Some(psn.advance(1));
        }
        again
    }

    /// The next packet.
    pub(crate) fn poll_transmit(&mut self, config: &Config, msn: u32) -> Option<Outgoing> {
        let aeth = Aeth {
            syndrome: Syndrome::ACK,
            msn: msn & 0x00ff_ffff,
        };
        let front = self.queue.front_mut()?;
        let outgoing = match front {
            Response::Acknowledge(reply) => plain(reply.packet()),
            Response::Atomic { psn, original, .. } => {
                let extension = Extension::AtomicResult {
                    aeth,
                    original: *original,
                };
                Outgoing {
                    retransmitted: Self::leaves(&mut self.reached, *psn),
                    ..plain(response(Opcode::RcAtomicAcknowledge, *psn, extension))
                }
            }
            Response::Read {
                psn,
                remote,
                rest,
                fresh,
                ..
            } => {
                let payload = (*rest).min(config.mtu);
                let last = payload == *rest;
                let opcode = match (*fresh, last) {
                    (true, true) => Opcode::RcReadResponseOnly,
                    (true, false) => Opcode::RcReadResponseFirst,
                    (false, false) => Opcode::RcReadResponseMiddle,
                    (false, true) => Opcode::RcReadResponseLast,
                };
                let extension = if opcode.has_aeth() {
                    Extension::Acknowledge(aeth)
                } else {
                    Extension::None
                };
                let mut packet = response(opcode, *psn, extension);
                packet.payload = payload;
                let outgoing = Outgoing {
                    packet,
                    source: Source::Memory(*remote),
                    retransmitted: Self::leaves(&mut self.reached, *psn),
                    ends: last,
                };
                *rest -= payload;
                (*psn, *remote, *fresh) = (psn.advance(1), remote.behind(payload), false);
                if !last {
                    return Some(outgoing);
                }
                outgoing
            }
        };
        self.queue.pop_front();
        Some(outgoing)
    }
}

/// A packet of a responder without payload.
const fn response(opcode: Opcode, psn: Psn, extension: Extension) -> Packet {
    Packet {
        opcode,
        psn,
        payload: Bytes::ZERO,
        ack_request: false,
        solicited: false,
        selective: false,
        extension,
    }
}

const fn plain(packet: Packet) -> Outgoing {
    Outgoing {
        packet,
        source: Source::Nothing,
        retransmitted: false,
        ends: true,
    }
}
