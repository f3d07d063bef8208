//! What a sender could use of its own link towards each receiver.

use alloc::vec::Vec;
use core::num::NonZeroUsize;

/// A link that is divided among receivers, max-min fairly, each with a cap.
///
/// The part of a receiver is what it would get without its cap, while the others keep theirs.
#[derive(Clone, Debug)]
pub(crate) struct Uplink {
    line: f64,
    /// By receiver, in bits per second; `None` if there is nothing to send.
    caps: Vec<Option<f64>>,
    parts: Vec<f64>,
    /// Receivers with something to send, by cap.
    order: Vec<u32>,
    /// Whether caps have changed since parts were computed.
    changed: bool,
    tolerance: f64,
}

impl Uplink {
    pub(crate) const fn new(line: f64, tolerance: f64) -> Self {
        Self {
            line,
            caps: Vec::new(),
            parts: Vec::new(),
            order: Vec::new(),
            changed: false,
            tolerance,
        }
    }

    /// Receiver number `at` can take so much.
    pub(crate) fn set(&mut self, at: usize, cap: Option<f64>) {
        if self.caps.len() <= at {
            self.caps.resize(at + 1, None);
            self.parts.resize(at + 1, self.line);
        }
        let same = match (self.caps[at], cap) {
            (None, None) => true,
            (Some(was), Some(is)) => (was - is).abs() <= self.tolerance * was,
            _ => false,
        };
        if !same {
            self.caps[at] = cap;
            self.changed = true;
        }
    }

    /// What receiver number `at` would get without its cap, in bits per second.
    #[inline]
    pub(crate) fn part(&mut self, at: usize) -> f64 {
        if core::mem::take(&mut self.changed) {
            self.divide();
        }
        self.parts.get(at).copied().unwrap_or(self.line)
    }

    /// Computes all parts. Without its cap c, a receiver gets the level x at which x and the others' caps,
    /// as far as they are below x, use up the link: x + sum of min(cap, x) over all = line + min(c, x). The left side doesn't
    /// depend on the receiver, so that one pass in the order of caps finds all levels.
    fn divide(&mut self) {
        self.order.clear();
        let active = (0_u32..).zip(&self.caps).filter(|(_, cap)| cap.is_some());
        self.order.extend(active.map(|(at, _)| at));
        let caps = &self.caps;
        let cap = |at: u32| caps[at as usize].unwrap_or(0.0);
        self.order
            .sort_unstable_by(|&a, &b| cap(a).total_cmp(&cap(b)).then(a.cmp(&b)));
        let sorted = |place: usize| self.order.get(place).map(|&at| cap(at));
        let level = Fill::default().rise(self.order.len(), self.line, sorted);
        let mut fill = Fill::default();
        for place in 0..self.order.len() {
            let at = self.order[place] as usize;
            // Who has more than the level of all isn't held back by its cap.
            self.parts[at] = match sorted(place) {
                Some(cap) if cap < level => {
                    let water = self.line + cap;
                    fill.rise(self.order.len() + 1, water, sorted)
                        .min(self.line)
                }
                _ => level,
            };
        }
    }
}

/// How far caps in their order are filled.
#[derive(Default)]
struct Fill {
    /// How many are full, and what they hold together.
    full: usize,
    sum: f64,
}

impl Fill {
    /// The level of so much water in `count` caps, of which those that have a place aren't infinite; infinite if all are
    /// full. It never falls from call to call.
    fn rise(&mut self, count: usize, water: f64, cap: impl Fn(usize) -> Option<f64>) -> f64 {
        loop {
            let Some(open) = NonZeroUsize::new(count - self.full) else {
                return f64::INFINITY;
            };
            let level = (water - self.sum) / open.get() as f64;
            match cap(self.full) {
                Some(next) if next < level => {
                    self.sum += next;
                    self.full += 1;
                }
                _ => return level,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dasr::fill::{Basin, level};

    /// The definition, receiver by receiver.
    fn expected(caps: &[f64], line: f64) -> Vec<f64> {
        let part = |own: usize| {
            let basin = |(at, &cap): (usize, &f64)| Basin {
                depth: if at == own { f64::INFINITY } else { cap },
                weight: 1.0,
            };
            let mut basins: Vec<Basin> = caps.iter().enumerate().map(basin).collect();
            level(&mut basins, line)
        };
        (0..caps.len()).map(part).collect()
    }

    #[test]
    fn parts_are_what_each_would_get_without_its_cap() {
        let mut random = 7_u64;
        for round in 0..500_usize {
            let caps: Vec<f64> = (0..1 + round % 9)
                .map(|_| {
                    random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                    (random >> 40) as f64 / (1_u64 << 24) as f64 * 60.0
                })
                .collect();
            let mut uplink = Uplink::new(100.0, 0.0);
            for (at, &cap) in caps.iter().enumerate() {
                uplink.set(at, Some(cap));
            }
            for (at, expected) in expected(&caps, 100.0).into_iter().enumerate() {
                let part = uplink.part(at);
                assert!(
                    (part - expected).abs() < 1e-9,
                    "{caps:?}: {at}, {part}, {expected}"
                );
            }
        }
    }

    #[test]
    fn who_has_nothing_to_send_takes_no_part() {
        let mut uplink = Uplink::new(100.0, 0.01);
        uplink.set(0, Some(100.0));
        uplink.set(1, Some(100.0));
        assert_eq!(uplink.part(0), 50.0);
        uplink.set(1, None);
        assert_eq!(uplink.part(0), 100.0);
    }
}
