//! Packets go again where packets came through unmarked.
//!
//! Source: REPS (Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure
//! Mitigation", arXiv 2407.21625), section 3. An acknowledgement without mark puts its entropy, here the path,
//! into a small ring; a packet takes the oldest entry that hasn't been taken, else a random path. After a
//! failure the ring is frozen for a while: entries are used over and over instead of random paths. Deviation: an
//! entry whose path isn't open is passed over, since here a path has a limit of its own.

use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, Time};

use super::two_choices::drawn;
use super::{Balance, Choice, Report, Unit};
use crate::random::Random;
use crate::{Paths, Settings};

/// Packets by recycled entropy.
#[derive(Clone, Debug)]
pub struct Reps {
    random: Random,
    /// A ring of paths: `fresh` of them before `head` haven't been taken.
    ring: Vec<u16>,
    size: usize,
    head: usize,
    fresh: usize,
    /// Packets that go at random before anything is recycled.
    explore: u32,
    explore_after: u32,
    freeze: Duration,
    frozen_until: Option<Time>,
}

impl Reps {
    /// The next entry to use, if there is one.
    fn recycled(&mut self) -> Option<usize> {
        let length = self.ring.len();
        if self.fresh > 0 {
            let at = (self.head + length - self.fresh) % length;
            self.fresh -= 1;
            return Some(self.ring[at].into());
        }
        if self.frozen_until.is_none() || length == 0 {
            return None;
        }
        let at = self.head % length;
        self.head = (at + 1) % length;
        Some(self.ring[at].into())
    }

    fn keep(&mut self, path: u16) {
        if self.ring.len() < self.size {
            self.ring.push(path);
            self.head = self.ring.len() % self.size;
        } else {
            self.ring[self.head] = path;
            self.head = (self.head + 1) % self.size;
        }
        self.fresh = (self.fresh + 1).min(self.ring.len());
    }
}

impl Balance for Reps {
    const UNIT: Unit = Unit::Packet;

    fn new(settings: &Settings, _paths: usize, seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            ring: Vec::with_capacity(settings.reps_cache as usize),
            size: settings.reps_cache as usize,
            head: 0,
            fresh: 0,
            explore: settings.reps_explore,
            explore_after: settings.reps_explore,
            freeze: settings.reps_freeze,
            frozen_until: None,
        }
    }

    fn choose(&mut self, _now: Time, _left: Bytes, paths: &Paths) -> Option<Choice> {
        if self.explore > 0 {
            self.explore -= 1;
        } else {
            for _ in 0..self.size {
                match self.recycled() {
                    Some(path) if paths.is_open(path) => return Some(Choice::of(path)),
                    Some(_) => {}
                    None => break,
                }
            }
        }
        drawn(&mut self.random, paths).map(Choice::of)
    }

    fn on_completion(&mut self, now: Time, report: &Report, _paths: &Paths) {
        if self.frozen_until.is_some_and(|until| now > until) {
            self.frozen_until = None;
            self.explore = self.explore_after;
        }
        if report.delivered && !report.marked {
            self.keep(report.path as u16);
        }
    }

    fn heap(&self) -> usize {
        self.ring.capacity() * size_of::<u16>()
    }

    fn on_change(&mut self, now: Time, _paths: &Paths) {
        if self.frozen_until.is_none() && self.explore == 0 {
            self.frozen_until = Some(now.saturating_add(self.freeze));
        }
    }
}
