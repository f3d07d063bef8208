//! Paths are measured before there is data: alone, then two at a time, which finds twins.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{Duration, Time};

use super::Connection;
use super::slots::{Kind, Piece, Slot};
use crate::path::pace_of;
use crate::{Chunk, Mistake};

/// What is measured now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The round trip of an empty WRITE.
    RoundTrip(usize),
    /// A flow on its own.
    Alone(usize),
    /// Flows on two paths.
    Pair(usize, usize),
}

/// A round of measurements.
#[derive(Clone, Debug)]
pub(super) struct Round {
    stage: Stage,
    /// Probes of this stage that aren't posted yet.
    to_post: u8,
    /// And those that haven't ended.
    pending: u8,
    failed: bool,
    began: Time,
    /// How long the flow of each path took alone, without round trip; zero where there was none.
    alone: Vec<Duration>,
}

impl Connection {
    /// Measures all paths with flows of [`Settings::probe`](crate::Settings::probe) bytes (S3, section 3.5) and
    /// drops those that share their way with another one. Messages that are posted meanwhile wait.
    ///
    /// Two paths are twins if a flow on each at once takes more than 1.5 times as long as on the slower one
    /// alone: on different ways it would take as long, on one way both together 2 times. If the host's own link
    /// explains that (within a quarter, by [`Settings::line_rate`](crate::Settings::line_rate)), it proves nothing.
    ///
    /// # Errors
    /// If the other end has named no memory for probes, or something is in flight.
    pub fn probe(&mut self) -> Result<(), Mistake> {
        let refuse =
            |message: &str, hint: &str| Err(Mistake::new("multipath.probe", message, hint));
        if self.probe_region.is_none() {
            return refuse(
                "there is no memory that probes may overwrite",
                "give `probe_region`, or let completions measure",
            );
        }
        if self.slots.in_flight() > 0 || self.round.is_some() {
            return refuse(
                "paths aren't idle",
                "probe before the first message, or when all are complete",
            );
        }
        let alone = vec![Duration::ZERO; self.paths.count()];
        self.round = self.usable_from(0).map(|first| {
            Box::new(Round {
                stage: Stage::RoundTrip(first),
                to_post: 1,
                pending: 1,
                failed: false,
                began: Time::ZERO,
                alone,
            })
        });
        Ok(())
    }

    /// Whether paths are being measured.
    pub const fn is_probing(&self) -> bool {
        self.round.is_some()
    }

    fn usable_from(&self, first: usize) -> Option<usize> {
        (first..self.paths.count()).find(|&it| self.paths.is_usable(it))
    }

    pub(super) fn poll_round(&mut self, now: Time) -> Option<Chunk> {
        let bytes = self.settings.probe.get() as u32;
        let round = self.round.as_mut()?;
        let posted = round.pending - round.to_post;
        round.to_post = round.to_post.checked_sub(1)?;
        if posted == 0 {
            round.began = now;
        }
        let (path, length) = match round.stage {
            Stage::RoundTrip(path) => (path, 0),
            Stage::Alone(path) => (path, bytes),
            Stage::Pair(path, _) if posted == 0 => (path, bytes),
            Stage::Pair(_, path) => (path, bytes),
        };
        Some(self.launch(now, path, Piece::control(Kind::Measure, 0, length)))
    }

    /// A probe has ended.
    pub(super) fn on_measured(&mut self, now: Time, _slot: &Slot, delivered: bool) {
        let Some(mut round) = self.round.take() else {
            return;
        };
        round.pending -= 1;
        round.failed |= !delivered;
        if round.pending == 0 || (round.failed && round.to_post == round.pending) {
            if !round.failed {
                self.conclude(now, &mut round);
            }
            let Some(stage) = self.stage_after(round.stage, &round.alone) else {
                return;
            };
            round.stage = stage;
            round.pending = if matches!(stage, Stage::Pair(..)) {
                2
            } else {
                1
            };
            round.to_post = round.pending;
            round.failed = false;
        }
        self.round = Some(round);
    }

    fn conclude(&mut self, now: Time, round: &mut Round) {
        let took = now.saturating_since(round.began);
        let round_trip = |it| self.paths.round_trip(it).unwrap_or(Duration::ZERO);
        let bytes = self.settings.probe;
        match round.stage {
            Stage::RoundTrip(_) => {}
            Stage::Alone(path) => {
                let alone = took.saturating_sub(round_trip(path));
                let alone = alone.max(Duration::from_ps(1));
                round.alone[path] = alone;
                self.paths.set_pace(path, pace_of(bytes.get(), alone));
            }
            Stage::Pair(one, other) => {
                let together = took.saturating_sub(round_trip(one).max(round_trip(other)));
                let slower = round.alone[one].max(round.alone[other]);
                let line = self.settings.line_rate;
                let host = match line.is_zero() {
                    true => Duration::ZERO,
                    false => (bytes * 2).serialization(line),
                };
                let slowed = together.saturating_mul(2) > slower.saturating_mul(3);
                let by_host = together.saturating_mul(4) <= host.saturating_mul(5);
                if slowed && !by_host {
                    self.paths.join(one, other);
                }
            }
        }
    }

    /// What is measured next: paths that failed and twins are passed over.
    fn stage_after(&self, stage: Stage, alone: &[Duration]) -> Option<Stage> {
        let known = |&it: &usize| self.paths.is_usable(it) && !alone[it].is_zero();
        let pair = |one: usize, other: usize| {
            let rest = (one..alone.len()).filter(known);
            { rest }.find_map(|first| {
                let begin = if first == one { other } else { first + 1 };
                let second = (begin..alone.len()).find(known)?;
                Some(Stage::Pair(first, second))
            })
        };
        match stage {
            Stage::RoundTrip(path) => {
                let next = self.usable_from(path + 1).map(Stage::RoundTrip);
                next.or_else(|| self.usable_from(0).map(Stage::Alone))
            }
            Stage::Alone(path) => {
                let next = self.usable_from(path + 1).map(Stage::Alone);
                next.or_else(|| pair(0, 1))
            }
            Stage::Pair(one, other) => pair(one, other + 1),
        }
    }
}
