//! Puts a pattern together.

use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::Bytes;

use super::{Part, Pattern, Transfer};

/// A pattern that grows.
pub(super) struct Builder {
    blocks: u32,
    size: u64,
    parts: Vec<Part>,
    /// For each member, the join that everything that it sends now waits for.
    gates: Vec<u32>,
    /// For each member, what it has received since its gate, and what it has sent.
    received: Vec<Vec<u32>>,
    sent: Vec<Vec<u32>>,
}

impl Builder {
    pub(super) fn new(members: u32, blocks: u32, size: Bytes) -> Self {
        let enter = |member| Part::Join {
            member,
            after: Vec::new(),
        };
        Self {
            blocks,
            size: size.get(),
            parts: (0..members).map(enter).collect(),
            gates: (0..members).collect(),
            received: vec![Vec::new(); members as usize],
            sent: vec![Vec::new(); members as usize],
        }
    }

    pub(super) fn members(&self) -> u32 {
        self.gates.len() as u32
    }

    pub(super) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Where a block begins.
    fn begin(&self, block: u32) -> u64 {
        let (block, blocks) = (u64::from(block), u64::from(self.blocks));
        block * (self.size / blocks) + block.min(self.size % blocks)
    }

    /// A message with some blocks; it waits for `after` at its sender, which has come as far as its gate. Returns its part unless
    /// it would be empty.
    pub(super) fn send(
        &mut self,
        [from, to]: [u32; 2],
        blocks: [u32; 2],
        reduces: bool,
        after: &[u32],
    ) -> Option<u32> {
        let size = self.begin(blocks[1]) - self.begin(blocks[0]);
        self.send_bytes([from, to], Bytes::new(size), blocks, reduces, after)
    }

    /// As [`Builder::send`], of a size of its own.
    pub(super) fn send_bytes(
        &mut self,
        [from, to]: [u32; 2],
        size: Bytes,
        blocks: [u32; 2],
        reduces: bool,
        after: &[u32],
    ) -> Option<u32> {
        if size.is_zero() {
            return None;
        }
        let number = self.parts.len() as u32;
        let mut all = vec![self.gates[from as usize]];
        all.extend_from_slice(after);
        self.parts.push(Part::Transfer(Transfer {
            from,
            to,
            size,
            blocks,
            reduces,
            after: all,
        }));
        self.received[to as usize].push(number);
        self.sent[from as usize].push(number);
        Some(number)
    }

    /// What a member has received since its gate.
    pub(super) fn received(&self, member: u32) -> Vec<u32> {
        self.received[member as usize].clone()
    }

    /// From here on, every member waits for all that it has received.
    pub(super) fn gate(&mut self) {
        for member in 0..self.members() {
            let received = core::mem::take(&mut self.received[member as usize]);
            if !received.is_empty() {
                self.join(member, received);
            }
        }
    }

    fn join(&mut self, member: u32, mut after: Vec<u32>) {
        let gate = &mut self.gates[member as usize];
        after.push(*gate);
        *gate = self.parts.len() as u32;
        self.parts.push(Part::Join { member, after });
    }

    pub(super) fn finish(mut self) -> Pattern {
        for member in 0..self.members() {
            let mut after = core::mem::take(&mut self.received[member as usize]);
            after.append(&mut self.sent[member as usize]);
            self.join(member, after);
        }
        Pattern {
            members: self.members(),
            blocks: self.blocks,
            parts: self.parts,
        }
    }
}
