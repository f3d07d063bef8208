//! What the other end of a queue pair may do with memory.

use fairlane_transport::{Access, Memory, Operation, Remote};
use fairlane_units::Bytes;

use super::{Behind, Domain, Keys};
use crate::memory::Span;
use crate::rights::Rights;

/// What a queue pair's peer may do.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) keys: &'a mut Keys,
    /// The slot of the queue pair.
    pub(crate) pair: u32,
    pub(crate) domain: Domain,
    /// Access rights that the queue pair grants.
    pub(crate) rights: Rights,
}

impl Reach<'_> {
    /// The place behind a key that may be used, of a region or by a window.
    fn find(&self, access: Access, remote: Remote, length: u64) -> Option<(&Span, usize)> {
        let rights = Rights::from(access);
        if !self.rights.include(rights) {
            return None;
        }
        let entry = self.keys.entry(remote.key)?;
        if !entry.valid || entry.domain != self.domain || !entry.rights.include(rights) {
            return None;
        }
        let offset = entry.offset(remote.address, length)?;
        match &entry.behind {
            Behind::Region { span, .. } => Some((span, offset)),
            Behind::Window(bound) if bound.may_use(self.pair) => {
                let region = self.keys.regions.get(bound.region)?;
                Some((region.span()?, bound.offset + offset))
            }
            Behind::Window(_) => None,
        }
    }

    /// Writes what has been permitted; checks it again.
    pub(crate) fn write(&self, remote: Remote, bytes: &[u8]) -> bool {
        let place = self.find(Access::Write, remote, bytes.len() as u64);
        place.is_some_and(|(span, at)| span.write(at, bytes))
    }

    /// Reads what has been permitted; checks it again.
    pub(crate) fn read(&self, remote: Remote, into: &mut [u8]) -> bool {
        let place = self.find(Access::Read, remote, into.len() as u64);
        place.is_some_and(|(span, at)| span.read(at, into))
    }
}

impl Memory for Reach<'_> {
    fn permits(&self, access: Access, remote: Remote, length: Bytes) -> bool {
        let place = self.find(access, remote, length.get());
        // An atomic must lie right in memory, too, which may begin elsewhere than its name says.
        place.is_some_and(|(span, at)| access != Access::Atomic || span.is_aligned(at))
    }

    fn execute(&mut self, operation: &Operation) -> u64 {
        let (remote, change): (_, &dyn Fn(u64) -> u64) = match operation {
            Operation::FetchAdd { remote, add } => (*remote, &|was: u64| was.wrapping_add(*add)),
            Operation::CompareSwap {
                remote,
                compare,
                swap,
            } => (*remote, &|was| if was == *compare { *swap } else { was }),
            _ => return 0,
        };
        let place = self.find(Access::Atomic, remote, 8);
        let original = place.and_then(|(span, at)| span.update(at, change));
        original.unwrap_or(0)
    }

    fn invalidate(&mut self, key: u32) -> bool {
        let entry = self.keys.entry(key);
        let may = entry.is_some_and(|own| own.may_be_invalidated(self.domain, self.pair, true));
        may && self.keys.revoke(key)
    }
}
