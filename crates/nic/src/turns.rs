//! Round robin of queue pairs.

use alloc::vec::Vec;

use fairlane_units::Time;

use crate::settings::Leaving;

/// A queue pair that can't send now.
const BLOCKED: Time = Time::MAX;
const BLOCK: usize = 16;

/// The queue pairs of a port that have work, each with the time from which it may send.
///
/// Times are kept in blocks with a minimum each, so that finding the next queue pair in turn among
/// n costs about n / 16 + 16 comparisons.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    turns: Vec<u32>,
    available: Vec<Time>,
    finished: Vec<bool>,
    minima: Vec<Time>,
    /// Position served last.
    last: usize,
    finished_count: usize,
    leaving: Leaving,
}

impl Turns {
    pub(crate) fn new(leaving: Leaving) -> Self {
        Self {
            leaving,
            ..Self::default()
        }
    }

    /// The queue pair at `position` has nothing further to send, ever.
    pub(crate) fn leave(&mut self, position: u32, moved: impl FnMut(u32, u32)) {
        match self.leaving {
            Leaving::AtOnce => self.remove(position, moved),
            Leaving::WhenPassed => self.finish(position),
        }
    }

    /// The position in turn that may send at `now`, after forgetting those that the search has passed.
    #[inline]
    pub(crate) fn choose(&mut self, now: Time, moved: impl FnMut(u32, u32)) -> Option<u32> {
        let chosen = self.in_turn(now);
        match self.leaving {
            Leaving::AtOnce => chosen,
            Leaving::WhenPassed => self.sweep(chosen, moved),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.turns.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Adds a queue pair at the end; returns its position.
    pub(crate) fn push(&mut self, turn: u32) -> u32 {
        self.turns.push(turn);
        self.available.push(BLOCKED);
        self.finished.push(false);
        if self.turns.len() > self.minima.len() * BLOCK {
            self.minima.push(BLOCKED);
        }
        (self.turns.len() - 1) as u32
    }

    /// Sets the time from which the queue pair at `position` may send, `None` if it can't.
    #[inline]
    pub(crate) fn set(&mut self, position: u32, available: Option<Time>) {
        let position = position as usize;
        let available = available.unwrap_or(BLOCKED);
        let was = core::mem::replace(&mut self.available[position], available);
        let block = position / BLOCK;
        if available <= self.minima[block] {
            self.minima[block] = available;
        } else if was == self.minima[block] {
            self.minima[block] = self.minimum(block);
        }
    }

    fn minimum(&self, block: usize) -> Time {
        let end = (block * BLOCK + BLOCK).min(self.available.len());
        self.available[block * BLOCK..end]
            .iter()
            .copied()
            .min()
            .unwrap_or(BLOCKED)
    }

    /// The earliest time at which any queue pair may send.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<Time> {
        self.minima
            .iter()
            .copied()
            .min()
            .filter(|&at| at != BLOCKED)
    }

    /// The position in turn that may send at `now`.
    #[inline]
    pub(crate) fn in_turn(&self, now: Time) -> Option<u32> {
        let count = self.len();
        if count == 0 {
            return None;
        }
        let start = (self.last + 1) % count;
        self.first_in(start, count, now)
            .or_else(|| self.first_in(0, start, now))
    }

    /// The first position in `from..to` that may send at `now`.
    fn first_in(&self, from: usize, to: usize, now: Time) -> Option<u32> {
        let mut at = from;
        while at < to {
            if at.is_multiple_of(BLOCK) && self.minima[at / BLOCK] > now {
                at += BLOCK;
                continue;
            }
            if self.available[at] <= now {
                return Some(at as u32);
            }
            at += 1;
        }
        None
    }

    /// Notes that the queue pair at `position` is being served.
    #[inline]
    pub(crate) fn serve(&mut self, position: u32) -> u32 {
        self.last = position as usize;
        self.turns[position as usize]
    }

    /// The time from which the queue pair at `position` may send.
    #[inline]
    pub(crate) fn available(&self, position: u32) -> Option<Time> {
        let available = self.available.get(position as usize).copied();
        available.filter(|&at| at != BLOCKED)
    }

    pub(crate) fn at(&self, position: u32) -> u32 {
        self.turns[position as usize]
    }

    /// Removes the queue pair at `position`; calls `moved(turn, new position)` for those
    /// behind it. The turn stays with the same neighbour.
    fn remove(&mut self, position: u32, moved: impl FnMut(u32, u32)) {
        let position = position as usize;
        self.turns.remove(position);
        self.available.remove(position);
        self.finished.remove(position);
        if self.last >= position {
            // One before the first is the last, as turns go round.
            self.last = self
                .last
                .checked_sub(1)
                .unwrap_or_else(|| self.len().saturating_sub(1));
        }
        self.renumber(position, moved);
    }

    /// Marks the queue pair at `position` as finished, to be removed by
    /// [`sweep`](Self::sweep).
    fn finish(&mut self, position: u32) {
        self.set(position, None);
        self.finished[position as usize] = true;
        self.finished_count += 1;
    }

    /// Removes finished queue pairs as HPCC's simulator does: only if the search for the one in turn,
    /// `chosen`, came across one, then all behind the first such; the turn's position is not
    /// adjusted. Returns the position of `chosen` afterwards.
    fn sweep(&mut self, chosen: Option<u32>, moved: impl FnMut(u32, u32)) -> Option<u32> {
        if self.finished_count == 0 {
            return chosen;
        }
        let count = self.len();
        let steps = (1..=count).map(|step| (step + self.last) % count);
        let seen = steps.take_while(|&at| chosen != Some(at as u32));
        let Some(first) = seen.filter(|&at| self.finished[at]).min() else {
            return chosen;
        };
        let mut kept = first;
        let mut result = chosen;
        for at in first..count {
            if self.finished[at] {
                self.finished_count -= 1;
                continue;
            }
            if chosen == Some(at as u32) {
                result = Some(kept as u32);
            }
            self.turns[kept] = self.turns[at];
            self.available[kept] = self.available[at];
            self.finished[kept] = false;
            kept += 1;
        }
        self.turns.truncate(kept);
        self.available.truncate(kept);
        self.finished.truncate(kept);
        self.renumber(first, moved);
        result
    }

    fn renumber(&mut self, from: usize, mut moved: impl FnMut(u32, u32)) {
        for at in from..self.turns.len() {
            moved(self.turns[at], at as u32);
        }
        self.minima.truncate(self.turns.len().div_ceil(BLOCK));
        for block in from / BLOCK..self.minima.len() {
            self.minima[block] = self.minimum(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The plain search that `Turns` must agree with.
    fn naive(available: &[Time], last: usize, now: Time) -> Option<u32> {
        let count = available.len();
        let mut order = (1..=count).map(|step| (step + last) % count);
        order.find(|&at| available[at] <= now).map(|at| at as u32)
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_search(
            steps in prop::collection::vec((0u8..4, 0u32..80, prop::option::of(0u64..50)), 1..300),
        ) {
            let mut turns = Turns::default();
            let mut model: Vec<(u32, Time)> = Vec::new();
            for (number, (action, pick, at)) in (0u32..).zip(steps) {
                let position = if model.is_empty() { 0 } else { pick % model.len() as u32 };
                match action {
                    0 => {
                        prop_assert_eq!(turns.push(number), model.len() as u32);
                        model.push((number, BLOCKED));
                    }
                    1 if !model.is_empty() => {
                        let mut moves = Vec::new();
                        turns.remove(position, |connection, to| moves.push((connection, to)));
                        model.remove(position as usize);
                        for (connection, to) in moves {
                            prop_assert_eq!(model[to as usize].0, connection);
                        }
                    }
                    2 if !model.is_empty() => {
                        let time = at.map(Time::from_ns);
                        turns.set(position, time);
                        model[position as usize].1 = time.unwrap_or(BLOCKED);
                    }
                    _ => {
                        let now = Time::from_ns(u64::from(pick));
                        let available: Vec<Time> = model.iter().map(|&(_, at)| at).collect();
                        let expected = naive(&available, turns.last, now);
                        prop_assert_eq!(turns.in_turn(now), expected);
                        if let Some(position) = expected {
                            let served = turns.serve(position);
                            prop_assert_eq!(served, model[position as usize].0);
                        }
                    }
                }
                let earliest = model.iter().map(|&(_, at)| at).min().filter(|&at| at != BLOCKED);
                prop_assert_eq!(turns.earliest(), earliest);
            }
        }
    }
}
