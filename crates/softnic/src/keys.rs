//! Memory regions by key: what may be touched, by whom, and how.

use fairlane_transport::{Access, Memory, Operation, Remote};
use fairlane_units::Bytes;

use crate::error::Error;
use crate::memory::Span;
use crate::rights::Rights;
use crate::slots::Slots;
use crate::work::Sge;

/// A protection domain: queue pairs and regions of different ones don't meet (IBTA 10.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain(pub(crate) u32);

/// A memory region that is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Where it begins, as requests name it.
    pub address: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The key for this end.
    pub local_key: u32,
    /// The key for the other end.
    pub remote_key: u32,
}

/// Regions at most.
const MOST: usize = 1 << 24;
/// The lower bits of a key differ each time its slot is used.
const GENERATION_BITS: u32 = 8;

#[derive(Debug)]
struct Entry {
    domain: Domain,
    rights: Rights,
    key: u32,
    /// Whether the other end may use the key, until it is invalidated.
    valid: bool,
    address: u64,
    span: Span,
}

impl Entry {
    /// The place of `length` bytes at `address`.
    fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let offset = address.checked_sub(self.address)?;
        let end = offset.checked_add(length)?;
        (end <= self.span.length() as u64).then_some(offset as usize)
    }
}

/// All regions of a device.
#[derive(Debug)]
pub(crate) struct Keys {
    domains: Slots<()>,
    regions: Slots<Entry>,
    generation: u32,
}

impl Keys {
    pub(crate) const fn new() -> Self {
        Self {
            domains: Slots::new(MOST),
            regions: Slots::new(MOST),
            generation: 0,
        }
    }

    pub(crate) fn allocate_domain(&mut self) -> Domain {
        Domain(self.domains.insert(|_| ()).unwrap_or(u32::MAX))
    }

    pub(crate) fn check_domain(&self, domain: Domain) -> Result<(), Error> {
        let known = self.domains.get(domain.0);
        known.copied().ok_or(Error::Unknown("protection domain"))
    }

    /// Forgets a domain that no region has.
    pub(crate) fn free_domain(&mut self, domain: Domain) -> Result<(), Error> {
        self.check_domain(domain)?;
        if self.regions.iter().any(|(_, entry)| entry.domain == domain) {
            return Err(Error::Busy("protection domain"));
        }
        self.domains.remove(domain.0);
        Ok(())
    }

    /// Registers memory, which requests name by `address`.
    pub(crate) fn register(
        &mut self,
        (domain, rights): (Domain, Rights),
        address: u64,
        span: Span,
    ) -> Result<Region, Error> {
        self.check_domain(domain)?;
        if rights.write_remotely() && !rights.include(Rights::LOCAL_WRITE) {
            let expected = "LOCAL_WRITE beside rights of others to write";
            return Err(Error::Invalid("rights", expected));
        }
        let length = span.length() as u64;
        if address.checked_add(length).is_none() {
            return Err(Error::Invalid("memory region", "an end within 64 bits"));
        }
        self.generation = (self.generation + 1) & ((1 << GENERATION_BITS) - 1);
        let generation = self.generation;
        let mut key = 0;
        let stored = self.regions.insert(|slot| {
            key = slot << GENERATION_BITS | generation;
            Entry {
                domain,
                rights,
                key,
                valid: true,
                address,
                span,
            }
        });
        stored.ok_or(Error::Exhausted("memory region"))?;
        Ok(Region {
            address,
            length,
            local_key: key,
            remote_key: key,
        })
    }

    /// Forgets a region; its keys permit nothing from then on.
    pub(crate) fn deregister(&mut self, key: u32) -> Result<(), Error> {
        self.entry(key).ok_or(Error::Unknown("memory region"))?;
        self.regions.remove(key >> GENERATION_BITS);
        Ok(())
    }

    fn entry(&self, key: u32) -> Option<&Entry> {
        let entry = self.regions.get(key >> GENERATION_BITS);
        entry.filter(|entry| entry.key == key)
    }

    fn entry_mut(&mut self, key: u32) -> Option<&mut Entry> {
        let entry = self.regions.get_mut(key >> GENERATION_BITS);
        entry.filter(|entry| entry.key == key)
    }

    /// The region with a key, if it permits what is asked.
    fn find(
        &mut self,
        key: u32,
        domain: Domain,
        rights: Rights,
        (address, length): (u64, u64),
    ) -> Option<(&Span, usize)> {
        let entry = self.entry_mut(key)?;
        if entry.domain != domain || !entry.rights.include(rights) {
            return None;
        }
        let offset = entry.offset(address, length)?;
        Some((&entry.span, offset))
    }

    /// Whether pieces of local memory permit what is asked of them.
    pub(crate) fn permit(&self, domain: Domain, rights: Rights, pieces: &[Sge]) -> bool {
        pieces.iter().all(|piece| {
            piece.length == 0
                || self.entry(piece.key).is_some_and(|entry| {
                    let inside = entry.offset(piece.address, piece.length.into());
                    entry.domain == domain && entry.rights.include(rights) && inside.is_some()
                })
        })
    }

    /// Collects the bytes from `offset` on of pieces of local memory; `false` if that isn't allowed.
    pub(crate) fn gather(
        &mut self,
        domain: Domain,
        pieces: &[Sge],
        offset: u64,
        into: &mut [u8],
    ) -> bool {
        let mut rest = into;
        for (key, address, length) in parts(pieces, offset, rest.len()) {
            let (part, behind) = rest.split_at_mut(length);
            let place = self.find(key, domain, Rights::NONE, (address, length as u64));
            if !place.is_some_and(|(span, at)| span.read(at, part)) {
                return false;
            }
            rest = behind;
        }
        rest.is_empty()
    }

    /// Distributes bytes over pieces of local memory, from `offset` on; `false` if that isn't allowed.
    pub(crate) fn scatter(
        &mut self,
        domain: Domain,
        pieces: &[Sge],
        offset: u64,
        bytes: &[u8],
    ) -> bool {
        let mut rest = bytes;
        for (key, address, length) in parts(pieces, offset, rest.len()) {
            let (part, behind) = rest.split_at(length);
            let place = self.find(key, domain, Rights::LOCAL_WRITE, (address, length as u64));
            if !place.is_some_and(|(span, at)| span.write(at, part)) {
                return false;
            }
            rest = behind;
        }
        rest.is_empty()
    }

    /// Copies bytes into or out of a region for the application that has registered it.
    pub(crate) fn span(&mut self, key: u32) -> Result<&Span, Error> {
        let entry = self.entry_mut(key);
        entry
            .map(|entry| &entry.span)
            .ok_or(Error::Unknown("memory region"))
    }
}

/// Keys, addresses and lengths of the parts that `length` bytes from `offset` on of all pieces take.
fn parts(
    pieces: &[Sge],
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u32, u64, usize)> + '_ {
    let (mut skip, mut left) = (offset, length);
    pieces.iter().filter_map(move |piece| {
        let own = u64::from(piece.length);
        let skipped = skip.min(own);
        skip -= skipped;
        let taken = (own - skipped).min(left as u64) as usize;
        left -= taken;
        let address = piece.address.wrapping_add(skipped);
        (taken > 0).then_some((piece.key, address, taken))
    })
}

/// What a queue pair's peer may do.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) keys: &'a mut Keys,
    pub(crate) domain: Domain,
    /// Of the queue pair.
    pub(crate) rights: Rights,
}

impl Reach<'_> {
    fn find(&mut self, access: Access, remote: Remote, length: u64) -> Option<(&Span, usize)> {
        let rights = Rights::from(access);
        let valid = self.keys.entry(remote.key).is_some_and(|own| own.valid);
        if !valid || !self.rights.include(rights) {
            return None;
        }
        let place = (remote.address, length);
        self.keys.find(remote.key, self.domain, rights, place)
    }

    /// Writes what has been permitted; checks it again.
    pub(crate) fn write(&mut self, remote: Remote, bytes: &[u8]) -> bool {
        let place = self.find(Access::Write, remote, bytes.len() as u64);
        place.is_some_and(|(span, at)| span.write(at, bytes))
    }

    /// Reads what has been permitted; checks it again.
    pub(crate) fn read(&mut self, remote: Remote, into: &mut [u8]) -> bool {
        let place = self.find(Access::Read, remote, into.len() as u64);
        place.is_some_and(|(span, at)| span.read(at, into))
    }
}

impl Memory for Reach<'_> {
    fn permits(&self, access: Access, remote: Remote, length: Bytes) -> bool {
        let rights = Rights::from(access);
        let entry = self.keys.entry(remote.key);
        self.rights.include(rights)
            && entry.is_some_and(|entry| {
                let inside = entry.offset(remote.address, length.get());
                entry.valid
                    && entry.domain == self.domain
                    && entry.rights.include(rights)
                    && inside.is_some()
            })
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
        let domain = self.domain;
        let entry = self.keys.entry_mut(key);
        let entry = entry.filter(|entry| {
            let may = entry.rights.include(Rights::REMOTE_INVALIDATE);
            entry.valid && may && entry.domain == domain
        });
        entry.map(|entry| entry.valid = false).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> (Keys, Domain, Region) {
        let mut keys = Keys::new();
        let domain = keys.allocate_domain();
        let rights = Rights::LOCAL_WRITE | Rights::REMOTE_WRITE;
        let region = keys
            .register((domain, rights), 0x1000, Span::zeroed(64))
            .unwrap();
        (keys, domain, region)
    }

    const fn remote(region: &Region, offset: u64) -> Remote {
        Remote {
            address: region.address.wrapping_add(offset),
            key: region.remote_key,
        }
    }

    #[test]
    fn bounds_rights_domain_and_key_are_checked() {
        let (mut keys, domain, region) = keys();
        let other = keys.allocate_domain();
        let mut reach = Reach {
            keys: &mut keys,
            domain,
            rights: Rights::ALL,
        };
        let permits = |reach: &Reach<'_>, access, remote, length| {
            reach.permits(access, remote, Bytes::new(length))
        };
        assert!(permits(&reach, Access::Write, remote(&region, 0), 64));
        assert!(permits(&reach, Access::Write, remote(&region, 63), 1));
        assert!(!permits(&reach, Access::Write, remote(&region, 0), 65));
        assert!(!permits(
            &reach,
            Access::Write,
            remote(&region, u64::MAX),
            1
        ));
        assert!(!permits(
            &reach,
            Access::Write,
            remote(&region, 1),
            u64::MAX
        ));
        assert!(!permits(&reach, Access::Read, remote(&region, 0), 1));
        assert!(!permits(&reach, Access::Atomic, remote(&region, 0), 8));
        let mut wrong = remote(&region, 0);
        wrong.key += 1;
        assert!(!permits(&reach, Access::Write, wrong, 1) && !reach.write(wrong, &[1]));
        reach.rights = Rights::REMOTE_READ;
        assert!(!permits(&reach, Access::Write, remote(&region, 0), 1));
        reach.rights = Rights::ALL;
        reach.domain = other;
        assert!(!permits(&reach, Access::Write, remote(&region, 0), 1));
    }

    #[test]
    fn keys_of_regions_that_have_gone_permit_nothing() {
        let (mut keys, domain, region) = keys();
        assert!(matches!(keys.free_domain(domain), Err(Error::Busy(_))));
        keys.deregister(region.local_key).unwrap();
        assert!(keys.deregister(region.local_key).is_err());
        let piece = Sge::of(&region, 0, 1);
        assert!(!keys.permit(domain, Rights::NONE, &[piece]));
        keys.free_domain(domain).unwrap();
        assert!(keys.check_domain(domain).is_err());
    }

    #[test]
    fn pieces_are_gathered_and_scattered_in_order() {
        let (mut keys, domain, region) = keys();
        let pieces = [
            Sge::of(&region, 8, 3),
            Sge::of(&region, 0, 0),
            Sge::of(&region, 32, 5),
        ];
        assert!(keys.scatter(domain, &pieces, 2, &[1, 2, 3, 4]));
        let mut bytes = [0; 8];
        assert!(keys.gather(domain, &pieces, 0, &mut bytes));
        assert_eq!(bytes, [0, 0, 1, 2, 3, 4, 0, 0]);
        assert!(!keys.gather(domain, &pieces, 1, &mut bytes));
        assert!(!keys.scatter(domain, &[Sge::of(&region, 60, 5)], 0, &[0; 5]));
    }

    #[test]
    fn a_key_is_invalidated_once_and_only_if_it_may() {
        let (mut keys, domain, region) = keys();
        let may = Rights::REMOTE_READ | Rights::REMOTE_INVALIDATE;
        let other = keys.register((domain, may), 0, Span::zeroed(8)).unwrap();
        let mut reach = Reach {
            keys: &mut keys,
            domain,
            rights: Rights::ALL,
        };
        assert!(!reach.invalidate(region.remote_key));
        assert!(reach.permits(Access::Read, remote(&other, 0), Bytes::new(8)));
        assert!(reach.invalidate(other.remote_key) && !reach.invalidate(other.remote_key));
        assert!(!reach.permits(Access::Read, remote(&other, 0), Bytes::new(8)));
    }
}
