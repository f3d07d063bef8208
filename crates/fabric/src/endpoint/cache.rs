//! The connections whose state a NIC keeps.

use fairlane_network::packet::NONE;

/// One connection that is kept.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    /// Entry used before and after this one, or [`NONE`].
    older: u32,
    newer: u32,
}

/// A cache of connections by number; the least recently used goes first.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    capacity: usize,
    entries: Vec<Entry>,
    /// Entry of each connection, [`NONE`] if it isn't kept.
    place: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl Cache {
    /// An empty cache of `capacity` entries, at least one.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: Vec::new(),
            place: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Uses the connection `key`; whether it was kept.
    pub(crate) fn touch(&mut self, key: u32) -> bool {
        if self.place.len() <= key as usize {
            self.place.resize(key as usize + 1, NONE);
        }
        let found = self.place[key as usize];
        if found == self.newest && found != NONE {
            return true;
        }
        let at = if found != NONE {
            self.unlink(found);
            found
        } else {
            self.room()
        };
        self.entries[at as usize].key = key;
        self.place[key as usize] = at;
        self.link_newest(at);
        found != NONE
    }

    /// An entry that is linked to nothing.
    fn room(&mut self) -> u32 {
        if self.entries.len() < self.capacity {
            self.entries.push(Entry {
                key: NONE,
                older: NONE,
                newer: NONE,
            });
            return (self.entries.len() - 1) as u32;
        }
        let at = self.oldest;
        self.unlink(at);
        self.place[self.entries[at as usize].key as usize] = NONE;
        at
    }

    fn unlink(&mut self, at: u32) {
        let Entry { older, newer, .. } = self.entries[at as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, at: u32) {
        let below = std::mem::replace(&mut self.newest, at);
        self.entries[at as usize].older = below;
        self.entries[at as usize].newer = NONE;
        match below {
            NONE => self.oldest = at,
            _ => self.entries[below as usize].newer = at,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_entries_keep_no_three_connections() {
        let mut cache = Cache::new(2);
        let hits: Vec<bool> = [0, 1, 0, 2, 1, 2, 0].map(|key| cache.touch(key)).into();
        assert_eq!(hits, [false, false, true, false, false, true, false]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_in_order_of_use(
            capacity in 1usize..6,
            keys in prop::collection::vec(0u32..9, 1..200),
        ) {
            let mut cache = Cache::new(capacity);
            let mut kept: Vec<u32> = Vec::new();
            for key in keys {
                let position = kept.iter().position(|&other| other == key);
                prop_assert_eq!(cache.touch(key), position.is_some());
                match position {
                    Some(position) => { kept.remove(position); }
                    None if kept.len() == capacity => { kept.remove(0); }
                    None => {}
                }
                kept.push(key);
            }
        }
    }
}
