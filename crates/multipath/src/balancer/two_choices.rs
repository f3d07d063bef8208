//! The better one of two random paths.
//!
//! Source: Mitzenmacher, "The Power of Two Choices in Randomized Load Balancing" (TPDS 2001). UCCL chooses by
//! the round trips of two of its paths; here it is the expected delay, as in `least-delay`.

use fairlane_units::{Bytes, Time};

use super::{Balance, Choice};
use crate::random::Random;
use crate::{Paths, Settings};

/// Chunks by two draws.
#[derive(Clone, Debug)]
pub struct TwoChoices {
    random: Random,
}

impl Balance for TwoChoices {
    fn new(_settings: &Settings, _paths: usize, seed: u64) -> Self {
        Self {
            random: Random::new(seed),
        }
    }

    fn choose(&mut self, _now: Time, left: Bytes, paths: &Paths) -> Option<Choice> {
        let one = drawn(&mut self.random, paths)?;
        let other = drawn(&mut self.random, paths)?;
        let delay = |it| paths.expected(it, left.min(paths.limit(it)));
        let better = if delay(other) < delay(one) {
            other
        } else {
            one
        };
        Some(Choice::of(better))
    }
}

/// A random one of the open paths.
pub(super) fn drawn(random: &mut Random, paths: &Paths) -> Option<usize> {
    let open = || (0..paths.count()).filter(|&it| paths.is_open(it));
    match open().count() {
        0 => None,
        count => open().nth(random.below(count)),
    }
}
