//! Memory of a case: data of messages at the sender, what WRITEs touch and receives at the receiver.

use fairlane_multipath::{Remote, Segment};
use fairlane_transport as transport;
use fairlane_units::Bytes;

use crate::operations::SHARED;

/// Bytes of messages at the sender, each with room of its own.
pub(crate) const ROOM: u64 = 1 << 14;
/// Messages of a case at most.
pub(crate) const MESSAGES: u64 = 64;

/// Where it begins.
const LOCAL: u64 = 1 << 40;
const TOUCHED: u64 = 1 << 50;
const RECEIVES: u64 = 1 << 60;

/// All of it; each host keeps to its own.
#[derive(Clone, Debug)]
pub(crate) struct Memory([Vec<u8>; 3]);

impl Memory {
    pub(crate) fn new() -> Self {
        let room = (MESSAGES * ROOM) as usize;
        Self([vec![0; room], vec![0; SHARED as usize], vec![0; room]])
    }

    fn place(address: u64) -> (usize, usize) {
        match address {
            RECEIVES.. => (2, (address - RECEIVES) as usize),
            TOUCHED.. => (1, (address - TOUCHED) as usize),
            _ => (0, (address - LOCAL) as usize),
        }
    }

    pub(crate) fn bytes(&self, address: u64, length: u64) -> &[u8] {
        let (memory, at) = Self::place(address);
        &self.0[memory][at..at + length as usize]
    }

    pub(crate) fn put(&mut self, address: u64, bytes: &[u8]) {
        // An empty probe has no address.
        if !bytes.is_empty() {
            let (memory, at) = Self::place(address);
            self.0[memory][at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    pub(crate) fn gather(&self, pieces: &[Segment]) -> Vec<u8> {
        let bytes = pieces
            .iter()
            .flat_map(|piece| self.bytes(piece.address, piece.length));
        bytes.copied().collect()
    }

    /// Puts bytes into pieces, from `offset` of these on.
    pub(crate) fn scatter(&mut self, pieces: &[Segment], offset: u64, bytes: &[u8]) {
        let (mut start, mut from, mut left) = (0, offset, bytes);
        for piece in pieces {
            let end = start + piece.length;
            if from < end && !left.is_empty() {
                let room = (end - from).min(left.len() as u64) as usize;
                let (now, later) = left.split_at(room);
                self.put(piece.address + (from - start), now);
                (from, left) = (from + room as u64, later);
            }
            start = end;
        }
        assert!(left.is_empty(), "they have room");
    }

    pub(crate) fn add(&mut self, address: u64, add: u64) -> u64 {
        let word = self.bytes(address, 8).try_into().expect("eight bytes");
        let before = u64::from_ne_bytes(word);
        self.put(address, &before.wrapping_add(add).to_ne_bytes());
        before
    }
}

impl transport::Memory for Memory {
    fn permits(&self, _: transport::Access, _: transport::Remote, _: Bytes) -> bool {
        true
    }

    fn execute(&mut self, operation: &transport::Operation) -> u64 {
        match *operation {
            transport::Operation::FetchAdd { remote, add } => self.add(remote.address, add),
            _ => unreachable!("the model adds"),
        }
    }

    fn invalidate(&mut self, _: u32) -> bool {
        unreachable!("nobody asks for that")
    }
}

/// Memory of the sender that a message's data is in.
pub(crate) const fn local(message: u64) -> Segment {
    Segment {
        address: LOCAL + message * ROOM,
        length: ROOM,
        key: 1,
    }
}

/// Memory of the receiver that a receive's data goes to.
pub(crate) const fn receive(number: u64) -> Segment {
    Segment {
        address: RECEIVES + number * ROOM,
        length: ROOM,
        key: 2,
    }
}

/// Memory of the receiver that WRITEs, READs and atomics touch.
pub(crate) const fn shared(at: u64) -> Remote {
    Remote {
        address: TOUCHED + at,
        key: 3,
    }
}
