//! Work requests end: messages complete, paths are suspected, parts go to others.

use fairlane_units::{Bytes, PathId, Time};

use super::Connection;
use super::message::Notice;
use super::slots::{Kind, Slot};
use crate::balancer::Report;
use crate::path::Sample;
use crate::{Cause, Completion, Failure, Outcome, Tag};

impl Connection {
    /// Hears that a work request has ended. One that has been given to another path meanwhile is ignored.
    pub fn on_completion(&mut self, now: Time, tag: Tag, completion: &Completion) {
        let Some(slot) = self.slots.take(tag) else {
            return;
        };
        let path = usize::from(slot.path);
        let is_probe = matches!(slot.piece.kind, Kind::Probe | Kind::Measure);
        let bytes = u64::from(slot.piece.length);
        let delivered = completion.outcome == Outcome::Delivered;
        let mut is_given_up = false;
        match completion.outcome {
            Outcome::Delivered | Outcome::Rejected => {
                let sample = Sample {
                    bytes,
                    posted: slot.posted,
                    completion,
                    is_probe,
                };
                self.paths.on_delivered(now, path, &sample);
            }
            Outcome::RetryExceeded | Outcome::Flushed => {
                let flushed = completion.outcome == Outcome::Flushed;
                is_given_up = self.paths.on_failed(now, path, bytes, flushed);
            }
        }
        if !is_probe {
            let report = Report {
                path,
                bytes: Bytes::new(bytes),
                delivered,
                marked: completion.marked,
            };
            self.balancer.on_completion(now, &report, &self.paths);
        }
        match completion.outcome {
            Outcome::Delivered => self.succeed(now, &slot),
            Outcome::Rejected => self.reject(now, &slot),
            Outcome::RetryExceeded | Outcome::Flushed => self.fail(now, &slot),
        }
        if is_given_up {
            self.take_back(now, path);
        }
    }

    /// Does what is due: paths that were silent for too long are given up, others are probed again.
    pub fn on_deadline(&mut self, now: Time) {
        while let Some((path, is_given_up)) = self.paths.expire(now) {
            if is_given_up {
                self.take_back(now, path);
            }
        }
    }

    /// Hears from whoever knows the fabric which way a path takes: paths of one way are used as one.
    pub fn on_route(&mut self, path: PathId, route: u64) {
        if path.index() < self.paths.count() {
            self.paths.on_route(path.index(), route);
        }
    }

    fn succeed(&mut self, now: Time, slot: &Slot) {
        let number = slot.piece.number;
        match slot.piece.kind {
            Kind::Data => {
                let message = self.message_mut(number);
                message.open -= 1;
                if message.is_atomic() {
                    self.atomics -= 1;
                }
                self.advance();
            }
            Kind::Notice => {
                self.message_mut(number).notice = Notice::Done;
                self.advance();
            }
            Kind::Grant => self.grants.on_delivered(number),
            Kind::Measure => self.on_measured(now, slot, true),
            Kind::Probe | Kind::Orphan => {}
        }
    }

    /// Counts complete messages, in order.
    fn advance(&mut self) {
        while let Some(message) = self.messages.get(self.done) {
            if !message.is_complete() {
                break;
            }
            if message.consumes_receive() {
                self.grants.consume();
            }
            self.done += 1;
        }
    }

    fn reject(&mut self, now: Time, slot: &Slot) {
        let path = PathId::new(slot.path.into());
        match slot.piece.kind {
            Kind::Data | Kind::Notice => self.break_at(slot.piece.number, Cause::Rejected { path }),
            // What can't be offered fails where it is waited for.
            Kind::Grant => self.grants.on_delivered(slot.piece.number),
            Kind::Measure => self.on_measured(now, slot, false),
            Kind::Probe | Kind::Orphan => {}
        }
    }

    /// A part goes again, unless it was tried often enough or must not be executed twice.
    fn fail(&mut self, now: Time, slot: &Slot) {
        let mut piece = slot.piece;
        let path = PathId::new(slot.path.into());
        match piece.kind {
            Kind::Data | Kind::Notice => {}
            Kind::Grant => return self.grants.offer_again(piece.number),
            Kind::Measure => return self.on_measured(now, slot, false),
            Kind::Probe | Kind::Orphan => return,
        }
        if self.message_mut(piece.number).is_atomic() {
            self.atomics -= 1;
            return self.break_at(piece.number, Cause::Indeterminate { path });
        }
        piece.attempts = piece.attempts.saturating_add(1);
        if piece.attempts > self.settings.retries {
            let cause = Cause::Retries {
                offset: piece.offset,
                attempts: piece.attempts,
                path,
            };
            return self.break_at(piece.number, cause);
        }
        self.again.push_back(piece);
    }

    /// Everything on a path goes to others.
    fn take_back(&mut self, now: Time, path: usize) {
        while let Some(slot) = self.slots.take_of(path) {
            self.fail(now, &slot);
        }
        self.settle(now);
    }

    /// The oldest message fails if no path answers any more.
    pub(super) fn settle(&mut self, now: Time) {
        if !self.paths.have_given_up() {
            return;
        }
        self.tell_balancer(now);
        self.round = None;
        if self.done < self.messages.end() {
            let cause = Cause::NoPath {
                paths: self.paths.count() as u32,
                probes: self.settings.retries,
            };
            self.break_at(self.done, cause);
        }
    }

    /// A message fails, and those behind it with it; those before it go on.
    pub(super) fn break_at(&mut self, number: u64, cause: Cause) {
        if self.broken.is_some_and(|broken| broken.message <= number) {
            return;
        }
        self.broken = Some(Failure {
            message: number,
            cause,
        });
        self.slots.orphan(number);
        self.again.retain(|piece| piece.number < number);
        self.next = self.next.min(number);
    }
}
