//! Places by key, found in constant time and in the same order on every machine.

use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{HostId, TenantId};

/// A host at the other end, and whose traffic it is.
pub(crate) type Key = (TenantId, HostId);

/// Where things of a key lie. A tree would take a cache miss for every level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    /// A key lies at its hash or behind it; at most half of the slots are used.
    slots: Vec<Option<(Key, u32)>>,
    used: usize,
}

impl Index {
    /// The place of a key.
    #[inline]
    pub(crate) fn get(&self, key: Key) -> Option<u32> {
        let slot = self.slots.get(self.find(key)?)?;
        slot.map(|(_, place)| place)
    }

    /// Gives a key its place, or another one.
    pub(crate) fn set(&mut self, key: Key, place: u32) {
        if (self.used + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let at = self.find(key).expect("slots are free");
        self.used += usize::from(self.slots[at].is_none());
        self.slots[at] = Some((key, place));
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: Key) {
        let Some(mut hole) = self.find(key).filter(|&at| self.slots[at].is_some()) else {
            return;
        };
        self.used -= 1;
        self.slots[hole] = None;
        let mask = self.slots.len() - 1;
        let mut at = (hole + 1) & mask;
        // What lies behind its hash moves up, so that no search ends at the hole.
        while let Some((moved, _)) = self.slots[at] {
            let home = hash(moved) & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[at].take();
                hole = at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Where a key lies, or would; nothing without slots.
    #[inline]
    fn find(&self, key: Key) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = hash(key) & mask;
        while self.slots[at].is_some_and(|(other, _)| other != key) {
            at = (at + 1) & mask;
        }
        Some(at)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        let old = core::mem::replace(&mut self.slots, vec![None; size]);
        for (key, place) in old.into_iter().flatten() {
            let at = self.find(key).expect("there are slots");
            self.slots[at] = Some((key, place));
        }
    }
}

/// Neighbours come to lie apart: multiplication by 2^64 over the golden ratio.
#[inline]
const fn hash((tenant, host): Key) -> usize {
    let key = (tenant.get() as u64) << 32 | host.get() as u64;
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    #[test]
    fn it_finds_what_a_tree_finds() {
        let (mut index, mut tree) = (Index::default(), BTreeMap::new());
        let mut random = 1_u64;
        for place in 0..20_000_u32 {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let number = (random >> 56) as u32;
            let key = (TenantId::new(number % 3), HostId::new(number));
            if random >> 40 & 1 == 0 {
                index.set(key, place);
                tree.insert(key, place);
            } else {
                index.remove(key);
                tree.remove(&key);
            }
            for host in 0..256 {
                let key = (TenantId::new(host % 3), HostId::new(host));
                if place % 100 == 0 {
                    assert_eq!(index.get(key), tree.get(&key).copied());
                }
            }
            assert_eq!(index.used, tree.len());
        }
        assert!(index.slots.len() <= 1024);
    }
}
