//! Memory windows: parts of regions that are opened to others, and closed, by requests (IBTA 10.6.6).

use super::{Behind, Domain, Entry, GENERATION, GENERATION_BITS, Keys};
use crate::error::Error;
use crate::rights::Rights;

/// The two kinds of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowType {
    /// Every queue pair of the protection domain may use it; binding it again moves it.
    One,
    /// Only the queue pair that it was bound by may use it; it must be invalidated before it is bound again.
    Two,
}

/// A memory window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The key that it has been made with. Each time that it is bound it gets another one, of which the lower 8 bits are
    /// the application's.
    pub key: u32,
    /// Which kind it is.
    pub kind: WindowType,
}

impl Window {
    /// A key for binding it again: the next one in its lower 8 bits.
    pub const fn next_key(key: u32) -> u32 {
        key & !GENERATION | key.wrapping_add(1) & GENERATION
    }
}

/// What a window is to be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its key from then on, with other lower 8 bits than it has.
    pub key: u32,
    /// The local key of the region, which must have [`Rights::BIND`].
    pub region: u32,
    /// Where it begins, as the region names it.
    pub address: u64,
    /// Its length; none unbinds a window of type 1.
    pub length: u64,
    /// What others may do.
    pub rights: Rights,
    /// Whether others name its first byte 0, instead of as the region does.
    pub zero_based: bool,
}

/// What a window is bound to, if it is.
#[derive(Debug)]
pub(super) struct Bound {
    kind: WindowType,
    /// The slot of the region.
    pub(super) region: u32,
    /// Where the window begins in it.
    pub(super) offset: usize,
    /// The slot of the queue pair that it was bound by.
    pair: u32,
}

impl Bound {
    pub(super) fn may_use(&self, pair: u32) -> bool {
        self.kind == WindowType::One || self.pair == pair
    }

    pub(super) fn may_invalidate(&self, pair: u32) -> bool {
        self.kind == WindowType::Two && self.pair == pair
    }
}

impl Keys {
    pub(crate) fn allocate_window(
        &mut self,
        domain: Domain,
        kind: WindowType,
    ) -> Result<Window, Error> {
        self.check_domain(domain)?;
        let bound = Bound {
            kind,
            region: 0,
            offset: 0,
            pair: 0,
        };
        let key = self.insert(|key| Entry {
            domain,
            rights: Rights::NONE,
            key,
            valid: false,
            address: 0,
            length: 0,
            behind: Behind::Window(bound),
        });
        let key = key.ok_or(Error::Exhausted("memory window"))?;
        Ok(Window { key, kind })
    }

    /// Forgets a window, whatever it is bound to; the key may be any that it has had.
    pub(crate) fn free_window(&mut self, key: u32) -> Result<(), Error> {
        let slot = key >> GENERATION_BITS;
        let own = self.regions.get(slot);
        let own = own.filter(|entry| matches!(entry.behind, Behind::Window(_)));
        let key = own.ok_or(Error::Unknown("memory window"))?.key;
        self.revoke(key);
        self.remove(slot);
        Ok(())
    }

    /// Binds a window as a queue pair of a domain asks; `false` if that isn't allowed.
    pub(crate) fn bind(&mut self, domain: Domain, pair: u32, to: &Binding) -> bool {
        let slot = to.key >> GENERATION_BITS;
        let Some(window) = self.regions.get(slot) else {
            return false;
        };
        let Behind::Window(Bound { kind, .. }) = window.behind else {
            return false;
        };
        let fresh = window.key != to.key && (!window.valid || kind == WindowType::One);
        if window.domain != domain || !fresh {
            return false;
        }
        let before = window.key;
        let unbinds = to.length == 0 && kind == WindowType::One;
        let place = if unbinds {
            None
        } else {
            self.bindable(domain, to)
        };
        if place.is_none() && !unbinds {
            return false;
        }
        self.revoke(before);
        if let Some((region, offset)) = place {
            self.count_window(region, 1);
            let bound = Bound {
                kind,
                region,
                offset,
                pair,
            };
            self.set_window(slot, to, bound);
        } else if let Some(window) = self.regions.get_mut(slot) {
            window.key = to.key;
        }
        true
    }

    /// The slot of the region that a window is to be bound to, and its place there, if that is allowed (IBTA 10.6.6.2).
    fn bindable(&self, domain: Domain, to: &Binding) -> Option<(u32, usize)> {
        let region = self.entry(to.region)?;
        let writes = !to.rights.write_remotely() || region.rights.include(Rights::LOCAL_WRITE);
        let may = region.domain == domain && region.valid && region.rights.include(Rights::BIND);
        let offset = region.offset(to.address, to.length)?;
        let fits = may && writes && to.length > 0 && region.span().is_some();
        fits.then_some((to.region >> GENERATION_BITS, offset))
    }

    fn set_window(&mut self, slot: u32, to: &Binding, bound: Bound) {
        let Some(window) = self.regions.get_mut(slot) else {
            return;
        };
        (window.key, window.rights, window.valid) = (to.key, to.rights, true);
        window.address = if to.zero_based { 0 } else { to.address };
        window.length = to.length;
        window.behind = Behind::Window(bound);
    }

    fn count_window(&mut self, region: u32, by: i32) {
        let region = self.regions.get_mut(region);
        if let Some(Behind::Region { windows, .. }) = region.map(|entry| &mut entry.behind) {
            *windows = windows.saturating_add_signed(by);
        }
    }

    /// Ends that others may use a key; a window is bound to nothing from then on. Returns whether they could before.
    pub(super) fn revoke(&mut self, key: u32) -> bool {
        let Some(entry) = self.entry_mut(key).filter(|entry| entry.valid) else {
            return false;
        };
        entry.valid = false;
        if let Behind::Window(bound) = &entry.behind {
            let region = bound.region;
            self.count_window(region, -1);
        }
        true
    }

    /// Invalidates a key as this end asks itself (IBTA 10.6.5); `false` if it isn't a valid one of a region, or of a window of
    /// type 2 that the queue pair has bound.
    pub(crate) fn invalidate(&mut self, domain: Domain, pair: u32, key: u32) -> bool {
        let entry = self.entry(key);
        let may = entry.is_some_and(|own| own.may_be_invalidated(domain, pair, false));
        may && self.revoke(key)
    }

    /// A queue pair goes, and with it what its windows of type 2 are bound to.
    pub(crate) fn unbind_all(&mut self, pair: u32) {
        let all = self.regions.iter().filter(|(_, entry)| {
            let window = matches!(&entry.behind, Behind::Window(own) if own.may_invalidate(pair));
            window && entry.valid
        });
        let keys: Vec<u32> = all.map(|(_, entry)| entry.key).collect();
        for key in keys {
            self.revoke(key);
        }
    }
}
