//! Packets of WRITEs that a responder keeps although earlier ones are missing.
//!
//! A packet can be placed early if its address is known: it carries a RETH itself, or the first
//! packet of its message has arrived. What takes a receive, and requests that are answered, wait for
//! their turn.

use alloc::collections::VecDeque;

use fairlane_units::{Bytes, Psn};
use fairlane_wire::{Operation as Kind, Position};

use crate::bitmap::Bitmap;
use crate::memory::{Access, Memory};
use crate::packet::{Extension, Packet, Placement};
use crate::work::Remote;

/// A WRITE of several packets whose address is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Range {
    pub(crate) first: Psn,
    pub(crate) packets: u32,
    pub(crate) remote: Remote,
    pub(crate) length: Bytes,
}

impl Range {
    /// Whether memory permits all of it.
    pub(crate) fn is_allowed(&self, memory: &impl Memory) -> bool {
        self.length.is_zero() || memory.permits(Access::Write, self.remote, self.length)
    }

    /// Where a packet of it goes, if its size and position are right.
    pub(crate) fn placement(&self, packet: &Packet, mtu: Bytes) -> Option<Placement> {
        let index = u32::try_from(packet.psn.distance(self.first)).ok()?;
        if index >= self.packets {
            return None;
        }
        let offset = Bytes::new(u64::from(index) * mtu.get());
        let last = index + 1 == self.packets;
        let fits = packet.opcode.position().ends() == last
            && packet.payload == (self.length - offset).min(mtu);
        fits.then(|| Placement::Memory(self.remote.behind(offset)))
    }
}

/// What is kept, by distance from the packet that is expected next.
#[derive(Clone, Debug)]
pub(crate) struct OutOfOrder {
    /// Packets from here on are not kept.
    window: usize,
    kept: Bitmap,
    /// Kept packets that end a message.
    ends: Bitmap,
    /// WRITEs that have begun early, in the order of arrival.
    ranges: VecDeque<Range>,
}

/// What became of a packet that came too early.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kept {
    /// The packet was placed.
    Placed(Placement),
    /// The packet had been placed before.
    Again,
    /// The packet must be sent again.
    No,
}

impl OutOfOrder {
    pub(crate) fn new(window: u32) -> Self {
        Self {
            window: window as usize,
            kept: Bitmap::new(window),
            ends: Bitmap::new(window),
            ranges: VecDeque::new(),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.kept.is_clear()
    }

    /// Takes a packet `distance` packets too early; `current` is the WRITE that is in progress.
    pub(crate) fn keep(
        &mut self,
        mtu: Bytes,
        distance: usize,
        packet: &Packet,
        current: Option<&Range>,
        memory: &impl Memory,
    ) -> Kept {
        if distance >= self.window {
            return Kept::No;
        }
        if self.kept.get(distance) {
            return Kept::Again;
        }
        let Some(placement) = self.place(mtu, packet, current, memory) else {
            return Kept::No;
        };
        self.kept.set(distance);
        if packet.opcode.position().ends() {
            self.ends.set(distance);
        }
        Kept::Placed(placement)
    }

    fn place(
        &mut self,
        mtu: Bytes,
        packet: &Packet,
        current: Option<&Range>,
        memory: &impl Memory,
    ) -> Option<Placement> {
        if packet.opcode.operation() != Kind::Write || packet.opcode.has_immediate() {
            return None;
        }
        match (packet.opcode.position(), packet.extension) {
            (Position::First | Position::Only, Extension::Remote { remote, length, .. }) => {
                let range = Range {
                    first: packet.psn,
                    packets: packets(length, mtu),
                    remote,
                    length,
                };
                let placement = range.placement(packet, mtu)?;
                if !range.is_allowed(memory) {
                    return None;
                }
                if range.packets > 1 {
                    self.ranges.push_back(range);
                }
                Some(placement)
            }
            (Position::Middle | Position::Last, _) => {
                let mut ranges = current.into_iter().chain(&self.ranges);
                let (range, placement) =
                    ranges.find_map(|range| Some((range, range.placement(packet, mtu)?)))?;
                range.is_allowed(memory).then_some(placement)
            }
            _ => None,
        }
    }

    /// Forgets messages that began before `expected`.
    pub(crate) fn forget_before(&mut self, expected: Psn) {
        self.ranges.retain(|range| !range.first.is_before(expected));
    }

    /// The expected packet is `by` packets later.
    pub(crate) fn advance(&mut self, by: usize) {
        self.kept.advance(by);
        self.ends.advance(by);
    }

    /// Takes the expected packet, with number `psn`, if it is kept: whether it ends its message, and
    /// the message if it begins one of several packets.
    pub(crate) fn take(&mut self, psn: Psn) -> Option<(bool, Option<Range>)> {
        if !self.kept.get(0) {
            return None;
        }
        let ends = self.ends.get(0);
        self.advance(1);
        let begun = self.ranges.iter().position(|range| range.first == psn);
        let range = begun.and_then(|at| self.ranges.remove(at));
        Some((ends, range))
    }
}

/// How many packets a message of `length` takes.
#[inline]
pub(crate) fn packets(length: Bytes, mtu: Bytes) -> u32 {
    u32::try_from(length.get().div_ceil(mtu.get()).max(1)).unwrap_or(u32::MAX)
}
