//! A pipe in virtual time that delays, loses work requests or their acknowledgements, and whose paths die.

use std::collections::{BTreeMap, VecDeque};

use fairlane_middleware::Posting;
use fairlane_multipath::{Atomic, Outcome, Random, Remote, Segment, Tag, Work};
use fairlane_units::{Duration, PathId, Time};

use crate::carrier::{Carrier, Happened, Side};
use crate::memory::Memory;

/// Of a hundred work requests, those that fail without having been executed, and those whose acknowledgement is lost.
const LOST: usize = 3;
const UNHEARD: usize = 3;
/// Most microseconds that a work request takes.
const DELAY: usize = 40;

/// One direction of a path.
#[derive(Clone, Debug, Default)]
struct Lane {
    /// When its last work request is executed.
    free: Time,
    /// Whether one has failed: those behind it are flushed.
    failed: bool,
    outstanding: VecDeque<Tag>,
}

#[derive(Clone, Debug)]
enum Event {
    Execute(Side, Posting, Vec<Segment>),
    Complete(Side, PathId, Tag, Outcome),
}

pub(crate) struct Pipe {
    now: Time,
    random: Random,
    rough: bool,
    lanes: Vec<[Lane; 2]>,
    /// By path, how often its queue pairs were replaced.
    epochs: Vec<u32>,
    dead: Vec<bool>,
    queue: BTreeMap<(Time, u64), (Event, usize, u32)>,
    number: u64,
    happened: [VecDeque<Happened>; 2],
    memory: Memory,
}

impl Pipe {
    pub(crate) fn new(seed: u64, paths: usize, rough: bool) -> Self {
        Self {
            now: Time::from_ns(1000),
            random: Random::new(seed),
            rough,
            lanes: vec![Default::default(); paths],
            epochs: vec![0; paths],
            dead: vec![false; paths],
            queue: BTreeMap::new(),
            number: 0,
            happened: Default::default(),
            memory: Memory::new(),
        }
    }

    fn at(&mut self, time: Time, path: PathId, event: Event) {
        self.number += 1;
        let epoch = self.epochs[path.index()];
        self.queue
            .insert((time, self.number), (event, path.index(), epoch));
    }

    fn execute(&mut self, side: Side, posting: &Posting, pieces: &[Segment]) {
        let chunk = &posting.chunk;
        match chunk.work {
            // Probes have no memory.
            Work::Write(_) | Work::Read(_) if chunk.message.is_none() => {}
            Work::Write(Remote { address, .. }) => {
                let data = self.memory.gather(pieces);
                self.memory.put(address, &data);
            }
            Work::Read(Remote { address, .. }) => {
                let data = self.memory.bytes(address, chunk.length.get()).to_vec();
                self.memory.scatter(pieces, 0, &data);
            }
            Work::Send(frame) => {
                let bytes = [&frame.encode()[..], &self.memory.gather(pieces)].concat();
                self.happened[side.other() as usize].push_back(Happened::Came(bytes));
            }
            Work::Atomic(Remote { address, .. }, Atomic::FetchAdd(add)) => {
                self.memory.add(address, add);
            }
            Work::Atomic(..) => unreachable!("the model adds"),
        }
    }
}

impl Carrier for Pipe {
    fn now(&self) -> Time {
        self.now
    }

    fn post(&mut self, side: Side, posting: &Posting, pieces: &[Segment]) {
        let (path, tag) = (posting.chunk.path, posting.chunk.tag);
        let takes = Duration::from_us(1 + self.random.below(DELAY) as u64);
        let roll = self.random.below(100);
        let rough = self.rough;
        let lane = &mut self.lanes[path.index()][side as usize];
        lane.outstanding.push_back(tag);
        if self.dead[path.index()] {
            return;
        }
        let executed = lane.free.max(self.now) + takes;
        lane.free = executed;
        let heard = executed + Duration::from_us(1);
        if lane.failed {
            return self.at(
                heard,
                path,
                Event::Complete(side, path, tag, Outcome::Flushed),
            );
        }
        let lost = rough && roll < LOST;
        let unheard = rough && !lost && roll < LOST + UNHEARD;
        lane.failed = lost || unheard;
        if !lost {
            self.at(
                executed,
                path,
                Event::Execute(side, *posting, pieces.to_vec()),
            );
        }
        let outcome = match lost || unheard {
            true => Outcome::RetryExceeded,
            false => Outcome::Delivered,
        };
        self.at(heard, path, Event::Complete(side, path, tag, outcome));
    }

    fn poll(&mut self, side: Side) -> Option<Happened> {
        self.happened[side as usize].pop_front()
    }

    fn wait(&mut self, until: Time) {
        let due = self.queue.first_key_value().map(|(&(at, _), _)| at);
        let Some(at) = due.filter(|&at| at <= until) else {
            self.now = self.now.max(until);
            return;
        };
        self.now = self.now.max(at);
        let Some((_, (event, path, epoch))) = self.queue.pop_first() else {
            return;
        };
        // A queue pair that was torn down says nothing.
        if self.epochs[path] != epoch {
            return;
        }
        match event {
            Event::Execute(side, posting, pieces) => self.execute(side, &posting, &pieces),
            Event::Complete(side, path, tag, outcome) => {
                let lane = &mut self.lanes[path.index()][side as usize];
                lane.outstanding.retain(|&own| own != tag);
                self.happened[side as usize].push_back(Happened::Ended(path, tag, outcome));
            }
        }
    }

    fn replace(&mut self, path: PathId) -> [Vec<Tag>; 2] {
        self.epochs[path.index()] += 1;
        let lanes = std::mem::take(&mut self.lanes[path.index()]);
        let mut flushed = lanes.map(|lane| Vec::from(lane.outstanding));
        // A completion of the queue pair that has gone says nothing of the new one.
        for (tags, happened) in flushed.iter_mut().zip(&mut self.happened) {
            happened.retain(|one| match one {
                Happened::Ended(of, tag, outcome)
                    if *of == path && *outcome != Outcome::Delivered =>
                {
                    tags.push(*tag);
                    false
                }
                _ => true,
            });
        }
        flushed
    }

    fn kill(&mut self, path: PathId) {
        let path = path.index();
        if let Some(dead) = self.dead.get_mut(path) {
            *dead = true;
            // What was under way is gone, and its queue pairs won't be right again.
            self.queue.retain(|_, (_, of, _)| *of != path);
            self.lanes[path]
                .iter_mut()
                .for_each(|lane| lane.failed = true);
        }
    }

    fn revive(&mut self, path: PathId) {
        if let Some(dead) = self.dead.get_mut(path.index()) {
            *dead = false;
        }
    }

    fn write(&mut self, _: Side, address: u64, bytes: &[u8]) {
        self.memory.put(address, bytes);
    }

    fn read(&self, _: Side, address: u64, length: u64) -> Vec<u8> {
        self.memory.bytes(address, length).to_vec()
    }
}
