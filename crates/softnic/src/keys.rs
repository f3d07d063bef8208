//! Memory regions and windows by key: what may be touched, by whom, and how.

use crate::error::Error;
use crate::limits::MOST;
use crate::memory::Span;
use crate::rights::Rights;
use crate::slots::Slots;
use crate::work::Sge;

mod reach;
mod window;

pub(crate) use reach::Reach;
use window::Bound;
pub use window::{Binding, Window, WindowType};

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

/// The lower bits of a key differ each time its slot is used.
const GENERATION_BITS: u32 = 8;
const GENERATION: u32 = (1 << GENERATION_BITS) - 1;

const OUTSIDE: Error = Error::Invalid("place in a memory region", "bytes inside of it");

/// A memory region or window.
#[derive(Debug)]
struct Entry {
    domain: Domain,
    rights: Rights,
    key: u32,
    /// Whether the other end may use the key: of a region until it is invalidated, of a window while it is bound.
    valid: bool,
    address: u64,
    length: u64,
    behind: Behind,
}

/// What is behind a key.
#[derive(Debug)]
enum Behind {
    Region {
        span: Span,
        /// Windows that are bound to it.
        windows: u32,
    },
    Window(Bound),
}

impl Entry {
    /// The place of `length` bytes at `address`.
    fn offset(&self, address: u64, length: u64) -> Option<usize> {
        let offset = address.checked_sub(self.address)?;
        let end = offset.checked_add(length)?;
        (end <= self.length).then_some(offset as usize)
    }

    /// Whether a queue pair of a domain may invalidate the key, if it is valid (IBTA 10.6.5): itself, or as its peer asks.
    fn may_be_invalidated(&self, domain: Domain, pair: u32, remote: bool) -> bool {
        let may = match &self.behind {
            Behind::Region { windows, .. } => {
                *windows == 0 && (!remote || self.rights.include(Rights::REMOTE_INVALIDATE))
            }
            Behind::Window(bound) => bound.may_invalidate(pair),
        };
        may && self.domain == domain
    }

    const fn span(&self) -> Option<&Span> {
        match &self.behind {
            Behind::Region { span, .. } => Some(span),
            Behind::Window(_) => None,
        }
    }
}

/// All regions of a device.
#[derive(Debug)]
pub(crate) struct Keys {
    domains: Slots<()>,
    regions: Slots<Entry>,
    /// The lower bits of the latest key of each slot of `regions`.
    generations: Vec<u8>,
}

impl Keys {
    pub(crate) const fn new() -> Self {
        Self {
            domains: Slots::new(MOST),
            regions: Slots::new(MOST),
            generations: Vec::new(),
        }
    }

    pub(crate) fn allocate_domain(&mut self) -> Result<Domain, Error> {
        let slot = self.domains.insert(|_| ());
        slot.map(Domain)
            .ok_or(Error::Exhausted("protection domain"))
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
        check_rights(rights)?;
        let length = span.length() as u64;
        if address.checked_add(length).is_none() {
            return Err(Error::Invalid("memory region", "an end within 64 bits"));
        }
        let behind = Behind::Region { span, windows: 0 };
        let key = self.insert(|key| Entry {
            domain,
            rights,
            key,
            valid: true,
            address,
            length,
            behind,
        });
        let key = key.ok_or(Error::Exhausted("memory region"))?;
        Ok(Region {
            address,
            length,
            local_key: key,
            remote_key: key,
        })
    }

    /// Registers a region that any address of this end is in: what is written there is dropped, what is read is zeros. The
    /// other end can't use it.
    pub(crate) fn register_null(&mut self, domain: Domain) -> Result<Region, Error> {
        let region = self.register((domain, Rights::LOCAL_WRITE), 0, Span::null())?;
        Ok(Region {
            remote_key: 0,
            ..region
        })
    }

    /// Stores what `make` makes of its key, which is returned.
    fn insert(&mut self, make: impl FnOnce(u32) -> Entry) -> Option<u32> {
        let generations = &mut self.generations;
        let slot = self.regions.insert(|slot| {
            if generations.len() == slot as usize {
                // Slots differ, so that a key of another one isn't taken for one of theirs.
                generations.push(slot as u8);
            }
            let generation = generations[slot as usize].wrapping_add(1);
            make(slot << GENERATION_BITS | u32::from(generation))
        });
        self.regions.get(slot?).map(|entry| entry.key)
    }

    /// Forgets what is in a slot; its next key is behind all that it has had.
    fn remove(&mut self, slot: u32) {
        if let Some(entry) = self.regions.remove(slot) {
            self.generations[slot as usize] = entry.key as u8;
        }
    }

    /// Forgets a region; its keys permit nothing from then on.
    pub(crate) fn deregister(&mut self, key: u32) -> Result<(), Error> {
        match self.entry(key).map(|entry| &entry.behind) {
            Some(Behind::Region { windows: 0, .. }) => {
                self.remove(key >> GENERATION_BITS);
                Ok(())
            }
            Some(Behind::Region { .. }) => Err(Error::Busy("memory region")),
            _ => Err(Error::Unknown("memory region")),
        }
    }

    /// Gives a region another domain or other rights.
    pub(crate) fn reregister(
        &mut self,
        key: u32,
        domain: Option<Domain>,
        rights: Option<Rights>,
    ) -> Result<(), Error> {
        if let Some(domain) = domain {
            self.check_domain(domain)?;
        }
        check_rights(rights.unwrap_or_default())?;
        let entry = self.entry_mut(key);
        let entry = entry.ok_or(Error::Unknown("memory region"))?;
        match &entry.behind {
            Behind::Region { span, .. } if span.is_null() => {
                Err(Error::Invalid("memory region", "one that isn't null"))
            }
            Behind::Region { windows: 0, .. } => {
                entry.domain = domain.unwrap_or(entry.domain);
                entry.rights = rights.unwrap_or(entry.rights);
                Ok(())
            }
            Behind::Region { .. } => Err(Error::Busy("memory region")),
            Behind::Window(_) => Err(Error::Unknown("memory region")),
        }
    }

    /// Domains, and regions and windows, that there are.
    #[cfg(feature = "testing")]
    pub(crate) fn live(&self) -> [usize; 2] {
        [self.domains.iter().count(), self.regions.iter().count()]
    }

    fn entry(&self, key: u32) -> Option<&Entry> {
        let entry = self.regions.get(key >> GENERATION_BITS);
        entry.filter(|entry| entry.key == key)
    }

    fn entry_mut(&mut self, key: u32) -> Option<&mut Entry> {
        let entry = self.regions.get_mut(key >> GENERATION_BITS);
        entry.filter(|entry| entry.key == key)
    }

    /// The place in a region that this end names by its key, if it permits what is asked.
    fn find(
        &self,
        key: u32,
        domain: Domain,
        rights: Rights,
        (address, length): (u64, u64),
    ) -> Option<(&Span, usize)> {
        let entry = self.entry(key)?;
        if entry.domain != domain || !entry.rights.include(rights) {
            return None;
        }
        let offset = entry.offset(address, length)?;
        Some((entry.span()?, offset))
    }

    /// Whether pieces of local memory permit what is asked of them.
    pub(crate) fn permit(&self, domain: Domain, rights: Rights, pieces: &[Sge]) -> bool {
        pieces.iter().all(|piece| {
            piece.length == 0 || {
                let place = (piece.address, piece.length.into());
                self.find(piece.key, domain, rights, place).is_some()
            }
        })
    }

    /// Collects the bytes from `offset` on of pieces of local memory; `false` if that isn't allowed.
    pub(crate) fn gather(
        &self,
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
        &self,
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

    /// Copies bytes out of a region.
    pub(crate) fn read(
        &self,
        region: &Region,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), Error> {
        let read = self.span(region.local_key)?.read(offset, into);
        read.then_some(()).ok_or(OUTSIDE)
    }

    /// Copies bytes into a region.
    pub(crate) fn write(&self, region: &Region, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let written = self.span(region.local_key)?.write(offset, bytes);
        written.then_some(()).ok_or(OUTSIDE)
    }

    /// Copies bytes into or out of a region for the application that has registered it.
    pub(crate) fn span(&self, key: u32) -> Result<&Span, Error> {
        let span = self.entry(key).and_then(Entry::span);
        span.ok_or(Error::Unknown("memory region"))
    }
}

/// Refuses rights of others to write without the local one (IBTA 11.2.8.2).
fn check_rights(rights: Rights) -> Result<(), Error> {
    if rights.write_remotely() && !rights.include(Rights::LOCAL_WRITE) {
        let expected = "LOCAL_WRITE beside rights of others to write";
        return Err(Error::Invalid("rights", expected));
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use fairlane_transport::{Access, Memory, Remote};
    use fairlane_units::Bytes;

    use super::*;

    fn keys() -> (Keys, Domain, Region) {
        let mut keys = Keys::new();
        let domain = keys.allocate_domain().unwrap();
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
        let other = keys.allocate_domain().unwrap();
        let mut reach = Reach {
            keys: &mut keys,
            pair: 0,
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
    fn a_slot_that_is_used_again_has_a_key_that_it_has_not_had() {
        let (mut keys, domain, region) = keys();
        let mut stale = vec![region.local_key];
        for _ in 0..100 * 64 {
            let last = stale[stale.len() - 1];
            keys.deregister(last).unwrap();
            let again = keys.register((domain, Rights::NONE), 0, Span::zeroed(1));
            stale.push(again.unwrap().local_key);
        }
        let fresh: std::collections::BTreeSet<_> = stale.iter().collect();
        assert_eq!(fresh.len(), stale.len());
    }

    #[test]
    fn pieces_are_gathered_and_scattered_in_order() {
        let (keys, domain, region) = keys();
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
            pair: 0,
            domain,
            rights: Rights::ALL,
        };
        assert!(!reach.invalidate(region.remote_key));
        assert!(reach.permits(Access::Read, remote(&other, 0), Bytes::new(8)));
        assert!(reach.invalidate(other.remote_key) && !reach.invalidate(other.remote_key));
        assert!(!reach.permits(Access::Read, remote(&other, 0), Bytes::new(8)));
    }
}
