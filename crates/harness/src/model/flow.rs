//! One direction of a connection: which packets its work requests take.

use std::collections::{BTreeSet, VecDeque};

use fairlane_transport::{
    Config, Operation, Receive, ReceiveCompletion, Service, Status, WorkRequest,
};
use fairlane_units::{Bytes, Psn};

use super::ended;

/// A work request and what has become of it.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) request: WorkRequest,
    /// Number of its first packet.
    pub(super) first: u64,
    pub(super) packets: u64,
    /// Packets of the result that have been placed at the requester.
    pub(super) results: u64,
    /// What an atomic found.
    pub(super) original: Option<u64>,
    /// Checksums of the data that answered a READ, by packet.
    pub(super) fetched: Vec<(u64, u64)>,
    /// Whether an unreliable service has delivered it.
    pub(super) delivered: bool,
}

impl Op {
    pub(super) const fn end(&self) -> u64 {
        self.first + self.packets
    }

    /// Offset and length of the data of one of its packets.
    pub(super) fn part(&self, number: u64, mtu: u64) -> (u64, u64) {
        let offset = (number - self.first) * mtu;
        (offset, (self.request.length.get() - offset).min(mtu))
    }

    pub(super) const fn has_result(&self) -> bool {
        self.request.operation.awaits_response()
    }

    /// Whether its packets may be placed before earlier ones have come.
    pub(super) const fn may_be_early(&self, number: u64) -> bool {
        match self.request.operation {
            Operation::Write(_) => true,
            Operation::WriteImmediate(..) => number + 1 < self.end(),
            _ => false,
        }
    }
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) service: Service,
    pub(super) mtu: u64,
    /// Whether every packet of a WRITE has its address.
    pub(super) direct: bool,
    /// How far the responder keeps packets that come early.
    pub(super) window: u64,
    /// READs and atomics under way at most, and those that the responder has resources for.
    pub(super) depths: (usize, usize),
    pub(super) retry_limits: (u32, u32),
    initial: Psn,
    pub(super) ops: Vec<Op>,
    /// Packets sent at least once.
    pub(super) sent: u64,
    /// Packets taken in order.
    pub(super) taken: u64,
    /// Packets taken early.
    pub(super) early: BTreeSet<u64>,
    pub(super) receives: Vec<Receive>,
    /// Receives that have been used or flushed.
    pub(super) received: usize,
    pub(super) due: VecDeque<ReceiveCompletion>,
    /// The request that the responder refused, and how it ends; more than one if it can't be told.
    pub(super) refused: Vec<(usize, Status)>,
    /// READs that could not be repeated, since their keys had been invalidated.
    pub(super) denied: BTreeSet<usize>,
    /// Whether a receive was missing once.
    pub(super) not_ready: bool,
    /// Requests that have ended.
    pub(super) completed: usize,
    /// Whether a request has ended other than well.
    pub(super) broken: bool,
}

impl Flow {
    pub(super) fn new(from: &Config, to: &Config, initial: Psn) -> Self {
        Self {
            service: from.service,
            mtu: from.mtu.get(),
            direct: from.direct_placement,
            window: u64::from(to.selective_window).next_multiple_of(64),
            depths: (from.max_reads.into(), to.max_destination_reads.into()),
            retry_limits: (from.retry_limit, from.rnr_retry_limit),
            initial,
            ops: Vec::new(),
            sent: 0,
            taken: 0,
            early: BTreeSet::new(),
            receives: Vec::new(),
            received: 0,
            due: VecDeque::new(),
            refused: Vec::new(),
            not_ready: false,
            denied: BTreeSet::new(),
            completed: 0,
            broken: false,
        }
    }

    /// Number after the last packet.
    pub(super) fn end(&self) -> u64 {
        self.ops.last().map_or(0, Op::end)
    }

    pub(super) fn post(&mut self, request: WorkRequest) {
        let first = self.end();
        self.ops.push(Op {
            request,
            first,
            packets: request.length.get().div_ceil(self.mtu).max(1),
            results: 0,
            original: None,
            fetched: Vec::new(),
            delivered: false,
        });
    }

    /// Forgets what was posted and not sent: the next request begins behind what was.
    pub(super) fn restart(&mut self) {
        let sent = self.sent;
        for op in self.ops.iter_mut().rev().take_while(|op| op.end() > sent) {
            op.packets = sent.saturating_sub(op.first);
            op.first = op.first.min(sent);
        }
        self.broken = false;
    }

    /// The number of the packet with a PSN: programs are shorter than half the circle.
    pub(super) fn number(&self, psn: Psn) -> Option<u64> {
        u64::try_from(psn.distance(self.initial)).ok()
    }

    /// The request that a packet belongs to.
    pub(super) fn locate(&self, number: u64) -> Option<usize> {
        let index = self.ops.partition_point(|op| op.end() <= number);
        (index < self.ops.len()).then_some(index)
    }

    /// The request with an identifier.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        self.ops.binary_search_by_key(&id, |op| op.request.id).ok()
    }

    /// Takes the next packet and those behind it that have come early.
    pub(super) fn take(&mut self) {
        self.taken += 1;
        while self.early.remove(&self.taken) {
            self.taken += 1;
        }
    }

    pub(super) fn receive(&self) -> Option<Receive> {
        self.receives.get(self.received).copied()
    }

    /// The next receive ends as flushed.
    pub(super) fn flush_receive(&mut self) -> Option<ReceiveCompletion> {
        let receive = self.receive()?;
        self.received += 1;
        Some(ended(receive, Status::Flushed))
    }

    /// How the receive ends that a request filled.
    pub(super) fn filled(&self, op: &Op, receive: Receive) -> ReceiveCompletion {
        let (immediate, invalidated) = match op.request.operation {
            Operation::SendImmediate(data) | Operation::WriteImmediate(_, data) => {
                (Some(data), None)
            }
            Operation::SendInvalidate(key) => (None, Some(key)),
            Operation::Datagram { immediate, .. } => (immediate, None),
            _ => (None, None),
        };
        let is_write = matches!(op.request.operation, Operation::WriteImmediate(..));
        let length = if self.direct && is_write {
            op.part(op.end() - 1, self.mtu).1
        } else {
            op.request.length.get()
        };
        ReceiveCompletion {
            status: Status::Success,
            length: Bytes::new(length),
            written: is_write,
            immediate,
            invalidated,
            solicited: op.request.solicited,
            ..ended(receive, Status::Success)
        }
    }

    /// READs and atomics that have been sent and not been answered.
    pub(super) fn reads_under_way(&self) -> usize {
        let sent = |op: &&Op| op.first < self.sent;
        let waits = |op: &&Op| op.has_result() && op.results < op.packets;
        self.ops.iter().take_while(sent).filter(waits).count()
    }
}
