//! The side that forks: the streams of one switch, by which ports they leave, and which forks they have.
//!
//! A *stream* is the packets of one direction of a flow that reach a switch with the same labels, of which the last one
//! says which those are. It begins at its port under ECMP. To move it, the switch puts a tail behind its last
//! packet on the old port; packets after that leave by the new port with the label of the fork. The
//! next fork replaces that label by its own. Only once the last switch has said that the tail is through may there be a next fork.
//!
//! The table is bounded. A stream that never forked may be forgotten at any time. One that did is closed by a fork to the port that
//! it has: when the tail is through and no packet came after it, nothing of the stream is under way. A stream
//! for which there is no room doesn't fork.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use fairlane_scenario::IofdParameters;
use fairlane_units::{Bytes, FlowId, Time};

use super::super::Candidates;
use crate::fork::{Fork, Forks};

/// Places that are looked at for a stream to be forgotten when the table is full.
const LOOKS: usize = 4;
/// A tail that hasn't been answered is sent again after a time that doubles so often while nothing comes.
const DOUBLINGS: u32 = 6;

/// The flow that a packet belongs to, and what a tail among its packets looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Number of the flow.
    pub flow: FlowId,
    /// Whether it goes from the responder to the requester.
    pub back: bool,
    /// Traffic class.
    pub class: u8,
    /// Number of the tenant.
    pub tenant: u16,
    /// How often routes had changed when it set out.
    pub epoch: u16,
    /// The port that it came from.
    pub sender: u32,
}

impl Origin {
    /// The direction of a flow.
    pub const fn direction(&self) -> u64 {
        (self.flow.get() as u64) << 1 | self.back as u64
    }
}

/// A packet or tail of a stream that is at a switch.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// The flow that it belongs to.
    pub origin: Origin,
    /// The labels that it has come with.
    pub forks: Forks,
    /// Bytes on the wire.
    pub wire: u16,
    /// Whether it is a tail: it goes where its stream goes.
    pub is_tail: bool,
}

/// Where a packet goes, with which labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The egress port.
    pub port: u32,
    /// The labels that it leaves with.
    pub forks: Forks,
}

/// A tail that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// The port by which everything before it has left.
    pub port: u32,
    /// Its fork.
    pub fork: Fork,
    /// The labels that everything before it has left with.
    pub forks: Forks,
    /// The flow whose packets it follows.
    pub origin: Origin,
    /// Whether it was sent before.
    pub again: bool,
}

/// The streams of one switch.
#[derive(Clone, Debug)]
pub struct Streams {
    switch: u32,
    parameters: IofdParameters,
    places: Vec<Place>,
    /// Places without a stream.
    free: Vec<u16>,
    index: HashMap<(u64, Fork), u16, BuildHasherDefault<Mix>>,
    /// When a stream last left which port.
    left: Vec<(u32, Time)>,
    /// Where the search for streams to be forgotten goes on.
    hand: usize,
    /// When to look whether the tail of a fork has been answered.
    unanswered: BinaryHeap<Reverse<(Time, Fork)>>,
    /// Tails that are to be sent, the first one first.
    pub tails: Vec<Tail>,
    /// Forks so far, and those of them to a way that isn't shortest.
    pub forks: u64,
    /// See above.
    pub detours: u64,
    /// How often a stream wanted to fork and there was no room for it.
    pub refused: u64,
}

/// A place in the table.
#[derive(Clone, Debug, Default)]
struct Place {
    /// Forks that it had, of this stream or others.
    number: u32,
    stream: Option<Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    origin: Origin,
    /// The labels that its packets come with.
    forks: Forks,
    /// The port by which its packets leave.
    port: u32,
    /// The label that they leave with, if it has forked.
    own: Fork,
    /// The port and the label of the packets before that fork.
    before: (u32, Fork),
    /// Whether nothing has come since a fork that is to close it.
    closing: bool,
    /// Bytes since its last fork.
    moved: u64,
    /// When something of it was here last.
    seen: Time,
    /// When its tail was sent last, and how often without need.
    tried: Time,
    again: u32,
}

impl Streams {
    /// The streams of a switch with this number among switches.
    pub fn new(switch: u32, parameters: &IofdParameters) -> Self {
        Self {
            switch,
            parameters: parameters.clone(),
            places: Vec::new(),
            free: Vec::new(),
            index: HashMap::default(),
            left: Vec::new(),
            hand: 0,
            unanswered: BinaryHeap::new(),
            tails: Vec::new(),
            forks: 0,
            detours: 0,
            refused: 0,
        }
    }

    /// A packet or tail is here; `own` is the candidate that it leaves by under ECMP. Its stream may fork, which
    /// adds to [`tails`](Self::tails).
    #[inline]
    pub fn steer(
        &mut self,
        now: Time,
        packet: &Passing,
        own: u32,
        candidates: &impl Candidates,
    ) -> Way {
        let mut place = self.find(packet);
        let at = match place.and_then(|place| self.stream(place)) {
            None => Some(own),
            Some(stream) => position(candidates, stream.port),
        };
        let load = at.map_or(Bytes::ZERO, |at| candidates.waiting(at));
        if load > self.parameters.trigger && !packet.is_tail {
            place = self.consider(now, packet, candidates.port(own), place, candidates);
        }
        let stream = place.and_then(|place| self.places[usize::from(place)].stream.as_mut());
        let Some(stream) = stream else {
            return Way {
                port: candidates.port(own),
                forks: packet.forks,
            };
        };
        stream.pass(now, packet)
    }

    /// The last switch says that the tail of a fork is through.
    pub fn on_clear(&mut self, fork: Fork) {
        let place = fork.slot();
        let Some(stream) = self
            .stream_mut(place)
            .filter(|stream| stream.own == fork.plain())
        else {
            return;
        };
        stream.own = fork.cleared();
        if stream.closing {
            self.forget(place);
        }
    }

    /// Sends the tails again that are due.
    pub fn on_due(&mut self, now: Time) {
        while let Some(&Reverse((at, fork))) = self.unanswered.peek() {
            if at > now {
                break;
            }
            self.unanswered.pop();
            let timeout = self.parameters.hold_timeout;
            let Some(stream) = self
                .stream_mut(fork.slot())
                .filter(|stream| stream.own == fork)
            else {
                continue;
            };
            // What waits for the tail is lost after as long; where nothing does, there is no hurry.
            let waits = stream.seen > stream.tried;
            stream.again = if waits {
                0
            } else {
                (stream.again + 1).min(DOUBLINGS)
            };
            stream.tried = now;
            let next = now.saturating_add(timeout.saturating_mul(1 << stream.again));
            let tail = stream.tail(true);
            self.tails.push(tail);
            self.unanswered.push(Reverse((next, fork)));
        }
    }

    /// When a tail is to be sent again, or earlier.
    pub fn next_due(&self) -> Option<Time> {
        self.unanswered.peek().map(|due| due.0.0)
    }

    /// Forgets streams whose ways have changed.
    pub fn retain(&mut self, keep: impl Fn(&Origin) -> bool) {
        for place in 0..self.places.len() {
            let stream = &self.places[place].stream;
            if stream.is_some_and(|stream| !keep(&stream.origin)) {
                self.forget(place as u16);
            }
        }
    }

    /// How many streams it knows.
    pub fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn find(&self, packet: &Passing) -> Option<u16> {
        if self.index.is_empty() {
            return None;
        }
        self.index.get(&key(&packet.origin, &packet.forks)).copied()
    }

    fn stream(&self, place: u16) -> Option<&Stream> {
        self.places.get(usize::from(place))?.stream.as_ref()
    }

    fn stream_mut(&mut self, place: u16) -> Option<&mut Stream> {
        self.places.get_mut(usize::from(place))?.stream.as_mut()
    }

    /// The queue that a packet would join is long: forks its stream if it may. Returns the place of the stream.
    #[cold]
    fn consider(
        &mut self,
        now: Time,
        packet: &Passing,
        own: u32,
        place: Option<u16>,
        candidates: &impl Candidates,
    ) -> Option<u16> {
        if packet.forks.len() >= self.parameters.labels as usize {
            return place;
        }
        let Some(place) = place.or_else(|| self.admit(now, packet, own)) else {
            self.refused += 1;
            return None;
        };
        let stream = self.stream(place)?;
        let uncleared = stream.own.is_some() && !stream.own.is_cleared();
        if uncleared || stream.moved <= self.parameters.moved.get() {
            return Some(place);
        }
        let port = stream.port;
        let recent = |left: &&(u32, Time)| left.0 == port;
        let last = self.left.iter().find(recent).map(|left| left.1);
        if last.is_some_and(|last| now - last <= self.parameters.interval) {
            return Some(place);
        }
        let from = self.places[usize::from(place)].number;
        if let Some(to) = self.best(port, from, candidates) {
            self.detours += u64::from(to >= candidates.count());
            self.fork(now, place, candidates.port(to));
        }
        Some(place)
    }

    /// The candidate with the shortest queue of those that a stream may move to; of equal ones the first from `from` on,
    /// and a detour only if there is no other.
    fn best(&self, port: u32, from: u32, candidates: &impl Candidates) -> Option<u32> {
        let count = candidates.count();
        let order = (0..count).map(|step| (from % count + step) % count);
        let fits = |at: &u32| {
            candidates.port(*at) != port
                && !candidates.is_paused(*at)
                && candidates.waiting(*at) < self.parameters.target
        };
        let load = |at: &u32| candidates.waiting(*at);
        let around = || {
            let detours = count..count + candidates.detours();
            detours.filter(fits).min_by_key(load)
        };
        order.filter(fits).min_by_key(load).or_else(around)
    }

    /// Moves a stream to another port, or closes it on its own.
    fn fork(&mut self, now: Time, place: u16, to: u32) {
        let switch = self.switch;
        let slot = &mut self.places[usize::from(place)];
        let Some(stream) = slot.stream.as_mut().filter(|_| slot.number < Fork::LAST) else {
            return;
        };
        slot.number += 1;
        let fork = Fork::new(switch, place, slot.number);
        let port = stream.port;
        stream.before = (port, stream.own);
        (stream.own, stream.port) = (fork, to);
        (stream.moved, stream.again, stream.closing) = (0, 0, port == to);
        stream.tried = now;
        let tail = stream.tail(false);
        self.tails.push(tail);
        let next = now.saturating_add(self.parameters.hold_timeout);
        self.unanswered.push(Reverse((next, fork)));
        if port == to {
            return;
        }
        self.forks += 1;
        match self.left.iter_mut().find(|left| left.0 == port) {
            Some(left) => left.1 = now,
            None => self.left.push((port, now)),
        }
    }

    /// Finds a place for a stream that hasn't forked.
    fn admit(&mut self, now: Time, packet: &Passing, port: u32) -> Option<u16> {
        let most = self.parameters.streams as usize;
        if self.free.is_empty() && self.places.len() < most {
            self.free.push(self.places.len() as u16);
            self.places.push(Place::default());
        }
        if self.free.is_empty() {
            self.tidy(now);
        }
        let place = self.free.pop()?;
        self.places[usize::from(place)].stream = Some(Stream {
            origin: packet.origin,
            forks: packet.forks,
            port,
            own: Fork::NONE,
            before: (port, Fork::NONE),
            closing: false,
            moved: 0,
            seen: now,
            tried: now,
            again: 0,
        });
        self.index.insert(key(&packet.origin, &packet.forks), place);
        Some(place)
    }

    /// Looks at some streams, forgets those that haven't forked and closes others, if they have been silent.
    fn tidy(&mut self, now: Time) {
        for _ in 0..LOOKS.min(self.places.len()) {
            self.hand = (self.hand + 1) % self.places.len();
            let place = self.hand as u16;
            let Some(stream) = self.stream(place) else {
                continue;
            };
            if now - stream.seen <= self.parameters.hold_timeout {
                continue;
            }
            if !stream.own.is_some() {
                self.forget(place);
            } else if stream.own.is_cleared() {
                let port = stream.port;
                self.fork(now, place, port);
            }
        }
    }

    fn forget(&mut self, place: u16) {
        if let Some(stream) = self.places[usize::from(place)].stream.take() {
            self.index.remove(&key(&stream.origin, &stream.forks));
            self.free.push(place);
        }
    }
}

impl Stream {
    /// A packet or tail of the stream goes on.
    #[inline]
    fn pass(&mut self, now: Time, packet: &Passing) -> Way {
        // Labels may have been cleared in the meantime, and routes elsewhere changed.
        (self.origin, self.forks) = (packet.origin, packet.forks);
        self.seen = now;
        self.moved += u64::from(packet.wire);
        self.closing = false;
        Way {
            port: self.port,
            forks: packet.forks.with(self.own),
        }
    }

    /// The tail of its latest fork.
    fn tail(&self, again: bool) -> Tail {
        Tail {
            port: self.before.0,
            fork: self.own,
            forks: self.forks.with(self.before.1),
            origin: self.origin,
            again,
        }
    }
}

/// What a stream is found by.
fn key(origin: &Origin, forks: &Forks) -> (u64, Fork) {
    (origin.direction(), forks.last().plain())
}

/// Which candidate a port is.
fn position(candidates: &impl Candidates, port: u32) -> Option<u32> {
    let all = candidates.count() + candidates.detours();
    (0..all).find(|&at| candidates.port(at) == port)
}

/// A hash that is the same in every run.
#[derive(Clone, Debug, Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29);
    }
}
