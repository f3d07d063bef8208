//! Which traffic class of a link sends next: strict priorities, then weights.
//!
//! Classes are selected as IEEE 802.1Q has it (8.6.8, with the enhanced transmission selection of 802.1Qaz): a strict class goes
//! before all with weights, of several strict ones the highest number first, and classes with weights divide what is left. They
//! take turns by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) in its surplus form: a class may send while it has
//! credit, and pays for a packet once that is sent, so that nobody needs to know the size of the next one.

use fairlane_units::Bytes;

/// Traffic classes of a link.
pub const CLASSES: usize = 8;

/// When the packets of a class leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Before all classes of a lower number and all with weights.
    Strict,
    /// In proportion to its weight, which is above 0.
    Weight(u32),
}

/// Chooses among the classes of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassScheduler {
    /// Strict classes, as a bit set.
    strict: u8,
    /// The class with a weight whose turn it is.
    turn: u8,
    /// Bytes that a class may send in a turn.
    quanta: [i64; CLASSES],
    /// Bytes that it may still send in this turn; below 0 what it has sent beyond its last one.
    credits: [i64; CLASSES],
}

impl ClassScheduler {
    /// A scheduler of packets of at most `largest` bytes; a class that isn't listed has the least weight of those that are, or 1.
    ///
    /// The least weight is worth at least one such packet a turn, so that every class sends in every turn.
    pub fn new(selections: &[(u8, Selection)], largest: Bytes) -> Self {
        let weights = selections
            .iter()
            .filter_map(|(_, selection)| match selection {
                Selection::Strict => None,
                Selection::Weight(weight) => Some(u64::from(*weight).max(1)),
            });
        let least = weights.min().unwrap_or(1);
        let unit = largest.get().max(1).div_ceil(least);
        let quantum = |weight: u64| i64::try_from(weight.saturating_mul(unit)).unwrap_or(i64::MAX);
        let mut strict = 0;
        let mut quanta = [quantum(least); CLASSES];
        for &(class, selection) in selections {
            match selection {
                Selection::Strict => strict |= 1 << class,
                Selection::Weight(weight) => quanta[usize::from(class)] = quantum(weight.into()),
            }
        }
        Self {
            strict,
            turn: 0,
            quanta,
            credits: [0; CLASSES],
        }
    }

    /// The class that sends next, of those in the bit set `ready`; `None` if that is empty.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "below the number of classes"
    )]
    pub const fn choose(&mut self, ready: u8) -> Option<u8> {
        if ready == 0 {
            return None;
        }
        let strict = ready & self.strict;
        if strict != 0 {
            return Some(strict.ilog2() as u8);
        }
        while ready & 1 << self.turn == 0 || self.credits[self.turn as usize] <= 0 {
            let turn = self.turn as usize;
            // Who has nothing to send keeps a debt but saves nothing.
            if self.credits[turn] > 0 {
                self.credits[turn] = 0;
            }
            let after = self.turn + 1;
            let rotated = (ready as u16 | (ready as u16) << CLASSES) >> after;
            self.turn = (after + rotated.trailing_zeros() as u8) % CLASSES as u8;
            let next = self.turn as usize;
            self.credits[next] = self.credits[next].saturating_add(self.quanta[next]);
        }
        Some(self.turn)
    }

    /// A packet of `size` bytes of a class is sent.
    pub fn on_sent(&mut self, class: u8, size: Bytes) {
        if self.strict & 1 << class == 0 {
            let size = i64::try_from(size.get()).unwrap_or(i64::MAX);
            let credit = &mut self.credits[usize::from(class)];
            *credit = credit.saturating_sub(size);
        }
    }
}
