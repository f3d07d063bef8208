//! Answers that wait for the transmitter: CNPs first, then acknowledgements.

use alloc::collections::VecDeque;

use fairlane_transport::{Extension, Packet, Reply};
use fairlane_units::{Bytes, Psn};
use fairlane_wire::Opcode;

use crate::packet::{Departure, Meta, NO_ECHO, PairId, Role};
use crate::settings::{AckPause, Settings};

/// An answer to a packet that has come, small enough for one cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) pair: PairId,
    /// But for its size.
    pub(crate) meta: Meta,
    pub(crate) kind: ReplyKind,
    /// The congestion control of the queue pair, by which its size is found.
    pub(crate) control: u8,
    pub(crate) from_responder: bool,
}

const _: () = assert!(size_of::<Answer>() <= 64);

impl Answer {
    #[inline]
    fn departure(&self, settings: &Settings) -> Departure {
        let (sizes, packet) = (settings.sizes_of(self.control), self.kind.packet());
        let wire = match self.meta.role {
            Role::Cnp => sizes.cnp,
            _ => sizes.reply(packet.opcode),
        };
        Departure {
            pair: self.pair,
            packet,
            meta: Meta { wire, ..self.meta },
            from_responder: self.from_responder,
            ends: false,
            ends_quantum: false,
        }
    }
}

/// What an answer says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReplyKind {
    /// Congestion: a CNP.
    Congestion,
    /// An acknowledgement or NAK.
    Reply(Reply),
    /// The result of an atomic, in two halves.
    Result(Reply, [u32; 2]),
}

impl ReplyKind {
    /// What the packet of a responder says that isn't the response to a READ.
    pub(crate) const fn of(packet: &Packet) -> Self {
        let (aeth, original) = match packet.extension {
            Extension::AtomicResult { aeth, original } => (aeth, Some(original)),
            Extension::Acknowledge(aeth) => (aeth, None),
            _ => return Self::Congestion,
        };
        let reply = Reply {
            psn: packet.psn,
            aeth,
            selective: packet.selective,
        };
        match original {
            Some(original) => Self::Result(reply, [(original >> 32) as u32, original as u32]),
            None => Self::Reply(reply),
        }
    }

    #[inline]
    const fn packet(self) -> Packet {
        match self {
            Self::Congestion => CNP,
            Self::Reply(reply) => reply.packet(),
            Self::Result(reply, [high, low]) => Packet {
                opcode: Opcode::RcAtomicAcknowledge,
                extension: Extension::AtomicResult {
                    aeth: reply.aeth,
                    original: (high as u64) << 32 | low as u64,
                },
                ..reply.packet()
            },
        }
    }
}

/// Answers that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replies {
    /// Ahead of acknowledgements, which a pause may hold back.
    cnps: VecDeque<Answer>,
    others: VecDeque<Answer>,
}

impl Replies {
    #[inline]
    pub(crate) fn push(&mut self, answer: Answer) {
        self.others.push_back(answer);
    }

    pub(crate) fn push_cnp(&mut self, answer: Answer) {
        self.cnps.push_back(answer);
    }

    /// Whether there are any.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.cnps.is_empty() && self.others.is_empty()
    }

    /// How many wait: CNPs, and others.
    pub(crate) fn waiting(&self) -> [usize; 2] {
        [self.cnps.len(), self.others.len()]
    }

    /// Answers behind the first `cnps` CNPs and `others` other answers.
    pub(crate) fn behind<'a>(
        &'a self,
        settings: &'a Settings,
        [cnps, others]: [usize; 2],
    ) -> impl Iterator<Item = Departure> + 'a {
        let answers = self.cnps.iter().skip(cnps);
        let answers = answers.chain(self.others.iter().skip(others));
        answers.map(|answer| answer.departure(settings))
    }

    /// Whether the first one may be sent while these classes are paused.
    #[inline]
    pub(crate) fn may_leave(&self, settings: &Settings, paused: u8) -> bool {
        if !self.cnps.is_empty() {
            return true;
        }
        let Some(first) = self.others.front() else {
            return false;
        };
        let class = match settings.ack_pause {
            AckPause::Never => return true,
            AckPause::Class3 => 3,
            AckPause::OwnClass => first.meta.class,
        };
        class == 0 || paused & 1 << class == 0
    }

    /// Takes the first one.
    #[inline]
    pub(crate) fn pop(&mut self, settings: &Settings) -> Option<Departure> {
        let answer = match self.cnps.is_empty() {
            true => self.others.pop_front()?,
            false => self.cnps.pop_front()?,
        };
        Some(answer.departure(settings))
    }

    /// Forgets all of them, and tells of their echoes.
    pub(crate) fn clear(&mut self, mut lost: impl FnMut(u32)) {
        let answers = self.cnps.drain(..).chain(self.others.drain(..));
        answers
            .map(|answer| answer.meta.echo)
            .filter(|&echo| echo != NO_ECHO)
            .for_each(&mut lost);
    }
}

/// A CNP.
const CNP: Packet = Packet {
    opcode: Opcode::Cnp,
    psn: Psn::new(0),
    payload: Bytes::ZERO,
    ack_request: false,
    solicited: false,
    selective: false,
    extension: Extension::None,
};
