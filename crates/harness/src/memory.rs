//! The memory of a host, byte for byte.

use fairlane_transport::{Access, Memory, Operation, Remote};
use fairlane_units::Bytes;

use super::generate::GUARD;
use super::program::Region;

/// What a responder did to memory by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Carried out an atomic; the eight bytes were `original`.
    Executed { operation: Operation, original: u64 },
    /// Invalidated a key, or was refused.
    Invalidated { key: u32, done: bool },
}

/// Bytes, and the regions that the other side may name.
#[derive(Clone, Debug)]
pub(super) struct HostMemory {
    base: u64,
    bytes: Vec<u8>,
    regions: Vec<Region>,
    /// What has been done since it was asked for last.
    pub(super) deeds: Vec<Deed>,
}

impl HostMemory {
    pub(super) fn new(regions: &[Region]) -> Self {
        let first = regions.iter().map(|r| r.start.address).min().unwrap_or(0);
        let end = regions
            .iter()
            .map(|r| r.start.address + r.length.get())
            .max();
        let base = first - GUARD;
        let length = end.unwrap_or(first) + GUARD - base;
        let mut memory = Self {
            base,
            bytes: vec![0; length as usize],
            regions: regions.to_vec(),
            deeds: Vec::new(),
        };
        for (place, byte) in memory.bytes.iter_mut().enumerate() {
            *byte = ((place * 37) >> 3) as u8;
        }
        memory
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place of `length` bytes in the array, if they are there.
    fn place(&self, address: u64, length: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(address.checked_sub(self.base)?).ok()?;
        let end = start.checked_add(length)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    pub(super) fn read(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.place(address, length).map(|place| &self.bytes[place])
    }

    /// Writes; `false` if the place isn't in this memory.
    pub(super) fn write(&mut self, address: u64, data: &[u8]) -> bool {
        if data.is_empty() {
            return true;
        }
        let Some(place) = self.place(address, data.len()) else {
            return false;
        };
        self.bytes[place].copy_from_slice(data);
        true
    }

    fn word(&self, address: u64) -> u64 {
        let bytes = self
            .read(address, 8)
            .and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }
}

/// What an atomic makes of eight bytes.
pub(super) fn result(operation: &Operation, original: u64) -> Option<(Remote, u64)> {
    match *operation {
        Operation::FetchAdd { remote, add } => Some((remote, original.wrapping_add(add))),
        Operation::CompareSwap {
            remote,
            compare,
            swap,
        } => Some((remote, if original == compare { swap } else { original })),
        _ => None,
    }
}

impl Memory for HostMemory {
    fn permits(&self, access: Access, remote: Remote, length: Bytes) -> bool {
        let Some(end) = remote.address.checked_add(length.get()) else {
            return false;
        };
        self.regions.iter().any(|region| {
            let start = region.start.address;
            let granted = match access {
                Access::Read => region.read,
                Access::Write => region.write,
                Access::Atomic => region.atomic,
            };
            let inside = start <= remote.address && end <= start + region.length.get();
            region.start.key == remote.key && granted && inside
        })
    }

    fn execute(&mut self, operation: &Operation) -> u64 {
        let remote = result(operation, 0).map_or_else(Remote::default, |(remote, _)| remote);
        let original = self.word(remote.address);
        if let Some((_, value)) = result(operation, original) {
            self.write(remote.address, &value.to_le_bytes());
        }
        let operation = *operation;
        self.deeds.push(Deed::Executed {
            operation,
            original,
        });
        original
    }

    fn invalidate(&mut self, key: u32) -> bool {
        let held = self.regions.len();
        self.regions
            .retain(|region| region.start.key != key || region.owner.is_none());
        let done = self.regions.len() < held;
        self.deeds.push(Deed::Invalidated { key, done });
        done
    }
}
