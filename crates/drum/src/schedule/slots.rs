//! Who is active in which epochs of a frame: as many as each application's rate is worth, balanced over rows.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::{Ordering, Reverse};

use super::case::{Case, Member, PerRow};
use super::frame::{Epoch, Frame};
use crate::host::Host;

/// How many epochs each application is active in, of so many.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    epochs: usize,
    counts: Vec<usize>,
    /// Rates that the counts allow, at the prices of rows.
    rates: Vec<f64>,
}

/// An application and what speaks for giving it one slot more.
#[derive(Clone, Copy, PartialEq)]
struct Bid {
    worth: f64,
    index: usize,
}

impl Eq for Bid {}

impl Ord for Bid {
    fn cmp(&self, other: &Self) -> Ordering {
        self.worth
            .total_cmp(&other.worth)
            .then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Bid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Slots {
    /// Shares the slots of a frame out: what minimums need, then one by one where the next is worth most at the prices
    /// of rows, then, those that nobody needs, to whoever uses most of a row at a time. None if there are too few.
    pub(super) fn new(case: &Case, epochs: usize) -> Option<Self> {
        let room = epochs * case.slots;
        let least = |round: fn(f64) -> f64| -> Vec<usize> {
            let count = |member: &Member| {
                let exact = member.least / member.peak * epochs as f64;
                let wants = usize::from(member.wanted > 0.0);
                (round(exact * (1.0 - 1e-9)) as usize)
                    .max(wants)
                    .min(epochs)
            };
            case.members.iter().map(count).collect()
        };
        let mut counts = least(libm::ceil);
        if counts.iter().sum::<usize>() > room {
            counts = least(libm::floor);
        }
        let mut free = room.checked_sub(counts.iter().sum())?;
        let mut slots = Self {
            epochs,
            counts,
            rates: Vec::new(),
        };
        free = slots.give(free, |slots, index| slots.gain(case, index));
        let rate = |(index, member): (usize, &Member)| slots.target(member, slots.counts[index]);
        slots.rates = case.members.iter().enumerate().map(rate).collect();
        slots.give(free, |slots, index| {
            case.members[index].largest(slots.rates[index]) / slots.counts[index].max(1) as f64
        });
        Some(slots)
    }

    /// Gives free slots to who bids most for each; returns how many nobody wants.
    fn give(&mut self, mut free: usize, worth: impl Fn(&Self, usize) -> f64) -> usize {
        let bid = |slots: &Self, index: usize| {
            let worth = if slots.counts[index] < slots.epochs {
                worth(slots, index)
            } else {
                0.0
            };
            (worth > 0.0).then_some(Bid { worth, index })
        };
        let mut bids: BinaryHeap<Bid> = (0..self.counts.len())
            .filter_map(|index| bid(self, index))
            .collect();
        while free > 0 {
            let Some(Bid { index, .. }) = bids.pop() else {
                break;
            };
            self.counts[index] += 1;
            free -= 1;
            bids.extend(bid(self, index));
        }
        free
    }

    /// The best rate with so many slots at the prices of rows.
    fn target(&self, member: &Member, count: usize) -> f64 {
        let most = member.peak * count as f64 / self.epochs as f64;
        member.curve.rate(member.price).min(most)
    }

    /// What one slot more is worth at the prices of rows.
    fn gain(&self, case: &Case, index: usize) -> f64 {
        let member = &case.members[index];
        let count = self.counts[index];
        let worth = |rate: f64| member.curve.value(rate) - member.price * rate;
        let (now, next) = (self.target(member, count), self.target(member, count + 1));
        if member.wanted > 0.0 && next > now {
            worth(next) - worth(now)
        } else {
            0.0
        }
    }

    pub(super) const fn epochs(&self) -> usize {
        self.epochs
    }

    /// What the rates that the counts allow are worth less than the best, at the prices of rows.
    pub(super) fn loss(&self, case: &Case) -> f64 {
        let lost = |(member, rate): (&Member, &f64)| {
            let worth = |rate: f64| member.curve.value(rate) - member.price * rate;
            if member.wanted > 0.0 {
                worth(member.wanted) - worth(*rate)
            } else {
                0.0
            }
        };
        case.members.iter().zip(&self.rates).map(lost).sum()
    }

    /// Assigns slots to epochs: those who use most of a row in one first, to the epochs that are used least.
    pub(super) fn assign(&self, case: &Case) -> Frame {
        let mut order: Vec<usize> = (0..case.members.len())
            .filter(|index| self.counts[*index] > 0)
            .collect();
        order.sort_by(|a, b| {
            // Who is active in most epochs leaves no choice.
            let often =
                |index: usize| Reverse((2 * self.counts[index]).saturating_sub(self.epochs));
            let large = |index: usize| case.members[index].largest(self.piece(index));
            often(*a)
                .cmp(&often(*b))
                .then(large(*b).total_cmp(&large(*a)))
                .then(a.cmp(b))
        });
        let mut bins = Bins {
            case,
            members: alloc::vec![Vec::new(); self.epochs],
            usage: alloc::vec![[0.0; Host::MOST_ROWS]; self.epochs],
        };
        for index in order {
            let rate = self.piece(index);
            let assigned = bins.spread(index, rate, self.counts[index]);
            for _ in assigned..self.counts[index] {
                bins.squeeze(index, |index| self.piece(index));
            }
        }
        let epoch = |members: Vec<usize>| {
            let rates = members.iter().map(|index| self.piece(*index)).collect();
            Epoch::new(members, rates)
        };
        Frame::new(case, bins.members.into_iter().map(epoch).collect())
    }

    /// Rate of an application in each of its epochs.
    fn piece(&self, index: usize) -> f64 {
        self.rates[index] * self.epochs as f64 / self.counts[index] as f64
    }
}

/// Epochs while slots are assigned.
struct Bins<'a> {
    case: &'a Case,
    members: Vec<Vec<usize>>,
    usage: Vec<PerRow>,
}

impl Bins<'_> {
    /// Adds an application to so many epochs, those that are used least; gives in how many there was a slot.
    fn spread(&mut self, index: usize, rate: f64, count: usize) -> usize {
        let slots = self.case.slots;
        let used = |epoch: usize| {
            let active = self.members[epoch].len();
            let part = (active + 1) as f64 / slots as f64;
            (
                fullest(&self.usage[epoch], &self.case.members[index], rate).max(part),
                active,
                epoch,
            )
        };
        let open = (0..self.members.len()).filter(|epoch| self.members[*epoch].len() < slots);
        let mut open: Vec<(f64, usize, usize)> = open.map(used).collect();
        let count = count.min(open.len());
        if count < open.len() && count > 0 {
            open.select_nth_unstable_by(count - 1, |a, b| {
                a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2))
            });
        }
        for (_, _, epoch) in &open[..count] {
            self.add(*epoch, index, rate);
        }
        count
    }

    fn add(&mut self, epoch: usize, index: usize, rate: f64) {
        self.members[epoch].push(index);
        for (used, load) in self.usage[epoch]
            .iter_mut()
            .zip(&self.case.members[index].load)
        {
            *used += load * rate;
        }
    }

    /// Adds an application that all epochs with a slot have already to another one, from which the application that uses
    /// least moves.
    fn squeeze(&mut self, index: usize, rate: impl Fn(usize) -> f64) {
        let slots = self.case.slots;
        let Some(open) = (0..self.members.len()).find(|epoch| self.members[*epoch].len() < slots)
        else {
            return;
        };
        if !self.members[open].contains(&index) {
            self.add(open, index, rate(index));
            return;
        }
        let mut least: Option<(f64, usize, usize)> = None;
        for epoch in (0..self.members.len()).filter(|epoch| !self.members[*epoch].contains(&index))
        {
            for (at, other) in self.members[epoch].iter().enumerate() {
                let size = self.case.members[*other].largest(rate(*other));
                let smaller = least.is_none_or(|(least, ..)| size < least);
                if smaller && !self.members[open].contains(other) {
                    least = Some((size, epoch, at));
                }
            }
        }
        let Some((_, epoch, at)) = least else { return };
        let moved = self.members[epoch].swap_remove(at);
        self.add(epoch, moved, -rate(moved));
        self.members[epoch].pop();
        self.add(open, moved, rate(moved));
        self.add(epoch, index, rate(index));
    }
}

/// The most used row of an epoch with one more application, by rate.
fn fullest(usage: &PerRow, member: &Member, rate: f64) -> f64 {
    let rows = usage.iter().zip(&member.load);
    rows.map(|(used, load)| used + load * rate)
        .fold(0.0, f64::max)
}
