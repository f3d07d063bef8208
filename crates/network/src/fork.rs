//! Labels: what packets carry of forks of their stream.
//!
//! A switch that moves a stream to another port *forks* it ([`crate::forwarding::iofd`]). The label names that fork and
//! no other, for ever: the switch, a place in its table, and how many forks that place had before.

const SWITCH_BITS: u32 = 20;
const SLOT_BITS: u32 = 16;
const NUMBER_BITS: u32 = 27;
/// The highest bit says that the switch knows the fork to be over.
const CLEARED: u64 = 1 << 63;

const _: () = assert!(SWITCH_BITS + SLOT_BITS + NUMBER_BITS == 63);

/// The label of one fork; the default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fork(u64);

impl Fork {
    /// No fork.
    pub const NONE: Self = Self(0);
    /// Switches that can be told apart.
    pub const SWITCHES: u32 = 1 << SWITCH_BITS;
    /// Places in the table of one switch.
    pub const SLOTS: usize = 1 << SLOT_BITS;
    /// Forks that one place can have, from 1.
    pub const LAST: u32 = (1 << NUMBER_BITS) - 1;

    /// Fork `number`, from 1, of a place in the table of a switch.
    pub const fn new(switch: u32, slot: u16, number: u32) -> Self {
        let place = (switch as u64) << SLOT_BITS | slot as u64;
        Self(place << NUMBER_BITS | number as u64)
    }

    /// Whether there is one.
    pub const fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The switch that forked.
    pub const fn switch(self) -> u32 {
        ((self.0 & !CLEARED) >> (SLOT_BITS + NUMBER_BITS)) as u32
    }

    /// The place in its table.
    pub const fn slot(self) -> u16 {
        (self.0 >> NUMBER_BITS) as u16
    }

    /// The fork itself, whether it is known to be over or not.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self(self.0 & !CLEARED)
    }

    /// This fork, known to be over: whoever carries it needn't wait.
    #[must_use]
    pub const fn cleared(self) -> Self {
        Self(self.0 | CLEARED)
    }

    /// Whether it is known to be over.
    pub const fn is_cleared(self) -> bool {
        self.0 & CLEARED != 0
    }

    /// As the two halves that a packet has room for.
    pub(crate) const fn halves(self) -> [u32; 2] {
        [(self.0 >> 32) as u32, self.0 as u32]
    }

    /// From two halves.
    pub(crate) const fn from_halves([high, low]: [u32; 2]) -> Self {
        Self((high as u64) << 32 | low as u64)
    }
}

/// The labels that a packet carries, in the order of the switches that gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Forks {
    list: [Fork; Self::MOST],
    count: u8,
}

impl Forks {
    /// The most labels that a packet has room for.
    pub const MOST: usize = 4;

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The last one, which says what stream the packet belongs to.
    pub fn last(&self) -> Fork {
        self.iter().last().unwrap_or(Fork::NONE)
    }

    /// These and one more, unless that is none.
    ///
    /// # Panics
    /// If there is no room for it.
    #[must_use]
    pub fn with(mut self, fork: Fork) -> Self {
        if fork.is_some() {
            self.list[self.len()] = fork;
            self.count += 1;
        }
        self
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Fork> + '_ {
        self.list[..self.len()].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_says_where_it_comes_from() {
        let fork = Fork::new(Fork::SWITCHES - 1, u16::MAX, Fork::LAST);
        for fork in [fork, fork.cleared()] {
            assert_eq!((fork.switch(), fork.slot()), (Fork::SWITCHES - 1, u16::MAX));
            assert_eq!(Fork::from_halves(fork.halves()), fork);
        }
        assert!(fork.cleared().is_cleared() && !fork.is_cleared());
        assert_eq!(fork.cleared().plain(), fork);
    }

    #[test]
    fn labels_keep_their_order() {
        let (one, other) = (Fork::new(1, 2, 3), Fork::new(4, 5, 6));
        let forks = Forks::default().with(one).with(Fork::NONE).with(other);
        assert_eq!(forks.iter().collect::<Vec<_>>(), [one, other]);
        assert_eq!((forks.len(), forks.last()), (2, other));
        assert_eq!(Forks::default().last(), Fork::NONE);
    }
}
