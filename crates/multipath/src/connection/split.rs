//! Messages go out: which part of which message comes next, and on which path.

use fairlane_units::{Bytes, PathId, Time};

use super::Connection;
use super::message::{Message, Notice, Shape};
use super::slots::{Kind, Piece};
use crate::balancer::{Choice, Unit};
use crate::frame::Transfer;
use crate::{Cause, Chunk, Frame, Operation, Remote, Work};

impl Connection {
    /// The next work request, to be posted to the queue pair of its path at once; `None` until something else
    /// happens.
    ///
    /// Probes go first, then parts that failed, then SENDs that make finished messages seen, then what is new.
    pub fn poll_chunk(&mut self, now: Time) -> Option<Chunk> {
        self.tell_balancer(now);
        if let Some(path) = self.paths.take_probe() {
            return Some(self.launch(now, path, Piece::control(Kind::Probe, 0, 0)));
        }
        if self.round.is_some() {
            return self.poll_round(now);
        }
        if self.paths.are_full() {
            return None;
        }
        if let Some(grant) = self.poll_grant(now) {
            return Some(grant);
        }
        if let Some(&piece) = self.again.front() {
            // Nothing new goes before: holes at the other end stay few.
            return self.relaunch(now, piece);
        }
        self.poll_notice(now).or_else(|| self.poll_fresh(now))
    }

    /// Tells the balancer which paths have come or gone.
    pub(super) fn tell_balancer(&mut self, now: Time) {
        if self.heard != self.paths.epoch() {
            self.heard = self.paths.epoch();
            self.balancer.on_change(now, &self.paths);
        }
    }

    /// A path for `left` bytes of a message, and how many of them it takes.
    #[inline]
    fn choose(&mut self, now: Time, left: u64) -> Option<(usize, u64)> {
        let paths = &self.paths;
        let is_open = |choice: &Choice| choice.path < paths.count() && paths.is_open(choice.path);
        let chosen = self.balancer.choose(now, Bytes::new(left), paths);
        let Choice { path, at_most } = match chosen.filter(is_open) {
            Some(choice) => choice,
            // Nothing will complete, so that waiting would be for ever.
            None if self.slots.in_flight() == 0 => self.any_open().map(Choice::of)?,
            None => return None,
        };
        let limit = match self.settings.balancer.unit() {
            Unit::Chunk => self.paths.limit(path),
            Unit::Packet => self.settings.mtu,
        };
        let limit = limit.min(at_most).min(self.settings.message_limit);
        Some((path, left.min(limit.get().max(1))))
    }

    /// The open path with the fewest work requests in flight.
    pub(super) fn any_open(&self) -> Option<usize> {
        let open = (0..self.paths.count()).filter(|&it| self.paths.is_open(it));
        open.min_by_key(|&it| self.paths.in_flight(it))
    }

    /// Posts a part of a message that failed, or as much of it as fits.
    fn relaunch(&mut self, now: Time, piece: Piece) -> Option<Chunk> {
        let message = *self.messages.get(piece.number)?;
        let whole = u64::from(piece.length);
        let (path, length) = self.choose(now, whole)?;
        let length = match piece.kind {
            Kind::Data => self.cut(&message, piece.offset, length),
            _ => whole,
        };
        self.again.pop_front();
        if length < whole {
            self.again.push_front(Piece {
                offset: piece.offset + length,
                length: (whole - length) as u32,
                ..piece
            });
            self.message_mut(piece.number).open += 1;
        }
        let length = length as u32;
        Some(self.launch(now, path, Piece { length, ..piece }))
    }

    /// What a work request can cover from a position on.
    fn cut(&self, message: &Message, offset: u64, length: u64) -> u64 {
        let frame = usize::from(message.shape == Shape::Stream);
        let most = self.settings.segments - frame;
        self.memory.cut(message.pieces, offset, length, most)
    }

    /// The SEND that makes the other end see a message, when its data and all that must come before is there.
    fn poll_notice(&mut self, now: Time) -> Option<Chunk> {
        while self.noticed < self.next {
            let number = self.noticed;
            let Some(&message) = self.messages.get(number) else {
                // Complete and reported.
                self.noticed = self.messages.first().max(number + 1);
                continue;
            };
            if message.notice != Notice::Owed {
                self.noticed += 1;
                continue;
            }
            if !message.is_delivered() || self.done < message.seen_after {
                return None;
            }
            self.room(number, &message)?;
            let (path, _) = self.choose(now, message.size)?;
            let is_single = message.shape == Shape::Single;
            let length = if is_single { message.size } else { 0 };
            let offset = message.size - length;
            let it = self.message_mut(number);
            it.notice = Notice::Posted;
            self.noticed += 1;
            let piece = Piece {
                offset,
                length: length as u32,
                ..Piece::control(Kind::Notice, number, 0)
            };
            return Some(self.launch(now, path, piece));
        }
        None
    }

    /// The receive that a message is to consume; a message that doesn't fit fails.
    fn room(&mut self, number: u64, message: &Message) -> Option<Remote> {
        let grant = self.grants.granted(message.id)?;
        if grant.length < message.size {
            let (size, room) = (message.size, grant.length);
            self.break_at(number, Cause::TooLong { size, room });
            return None;
        }
        Some(grant.remote)
    }

    /// The next part of a message that has something left to give.
    fn poll_fresh(&mut self, now: Time) -> Option<Chunk> {
        loop {
            let number = self.next;
            if self.broken.is_some_and(|broken| number >= broken.message) {
                return None;
            }
            let message = *self.messages.get(number)?;
            if self.done < message.starts_after {
                return None;
            }
            match message.shape {
                Shape::Single => {
                    let it = self.message_mut(number);
                    it.started = true;
                    it.given = it.size;
                    self.next += 1;
                    if let Some(notice) = self.poll_notice(now) {
                        return Some(notice);
                    }
                    continue;
                }
                Shape::Written | Shape::Stream => {
                    self.room(number, &message)?;
                }
                Shape::OneSided => {}
            }
            let left = message.size - message.given;
            let (path, length) = if message.is_atomic() {
                (self.path_of_atomics()?, left)
            } else {
                let (path, length) = self.choose(now, left)?;
                (path, self.cut(&message, message.given, length))
            };
            let piece = Piece {
                offset: message.given,
                length: length as u32,
                ..Piece::control(Kind::Data, number, 0)
            };
            let it = self.message_mut(number);
            it.started = true;
            it.given += length;
            it.open += 1;
            if it.given == it.size {
                self.next += 1;
            }
            return Some(self.launch(now, path, piece));
        }
    }

    /// All atomics in flight have one path, which executes them in order.
    fn path_of_atomics(&mut self) -> Option<usize> {
        if self.atomics > 0 {
            let path = self.atomic_path;
            return self.paths.is_open(path).then_some(path);
        }
        if !self.paths.is_open(self.atomic_path) {
            self.atomic_path = self.any_open()?;
        }
        Some(self.atomic_path)
    }

    pub(super) fn message_mut(&mut self, number: u64) -> &mut Message {
        let message = self.messages.get_mut(number);
        message.expect("a message stays while parts of it are open")
    }

    /// Gives out a work request.
    #[inline]
    pub(super) fn launch(&mut self, now: Time, path: usize, piece: Piece) -> Chunk {
        let tag = self.slots.put(now, path, piece);
        self.paths.on_posted(now, path, piece.length.into());
        let (work, message) = self.work(&piece);
        if let Work::Atomic(..) = work {
            self.atomics += 1;
        } else if message.is_some() {
            let bytes = Bytes::new(piece.length.into());
            self.balancer.on_posted(path, bytes);
        }
        Chunk {
            tag,
            path: PathId::new(path as u32),
            message,
            work,
            offset: Bytes::new(piece.offset),
            length: Bytes::new(piece.length.into()),
        }
    }

    /// What a work request does, and for which message.
    fn work(&self, piece: &Piece) -> (Work, Option<u64>) {
        let (number, offset) = (piece.number, piece.offset);
        let control = |remote: Option<Remote>| (Work::Write(remote.unwrap_or_default()), None);
        let message = match piece.kind {
            Kind::Grant => return (Work::Send(self.grants.offer_frame(number)), None),
            Kind::Probe | Kind::Measure => return control(self.probe_region),
            Kind::Data | Kind::Notice | Kind::Orphan => self.messages.get(number),
        };
        let Some(message) = message else {
            return control(None);
        };
        let frame = Frame::Transfer(Transfer {
            id: message.id,
            total: message.size,
            offset,
        });
        let work = match message.operation {
            Operation::Write(remote) => Work::Write(remote.after(offset)),
            Operation::Read(remote) => Work::Read(remote.after(offset)),
            Operation::Atomic(remote, atomic) => Work::Atomic(remote, atomic),
            Operation::Send => match (piece.kind, message.shape) {
                (Kind::Data, Shape::Written) => {
                    let grant = self.grants.granted(message.id).unwrap_or_default();
                    Work::Write(grant.remote.after(offset))
                }
                _ => Work::Send(frame),
            },
        };
        (work, Some(number))
    }
}

impl Piece {
    /// A part without data.
    pub(super) const fn control(kind: Kind, number: u64, length: u32) -> Self {
        Self {
            number,
            offset: 0,
            length,
            attempts: 0,
            kind,
        }
    }
}
