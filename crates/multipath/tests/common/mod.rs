//! Two hosts and a network between them that delays, loses and repeats, whose paths die and come back.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

pub mod links;
pub mod model;

use std::collections::BTreeMap;
use std::sync::Arc;

use fairlane_multipath::{
    Arrived, Atomic, Chunk, Completion, Connection, Event, Failure, Frame, Health, Opening,
    Operation, Outcome, Placement, Random, Reassembler, Remote, Request, Segment, Settings, Tag,
    Work,
};
use fairlane_units::{Bytes, Duration, Time};

use model::Model;

/// Bytes of the memory that WRITEs, READs and atomics touch.
pub const SHARED: u64 = 4096;
/// Receives lie from here on, each 2^32 apart.
const RECEIVES: u64 = 1 << 60;

/// One message of a program.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Write(u64, u64),
    Read(u64, u64),
    Send(u64),
    Add(u64),
}

/// What a network does to work requests, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weather {
    /// Those that fail without having been executed.
    pub lost: u8,
    /// Those that are executed, but whose acknowledgement is lost.
    pub unheard: u8,
    /// Frames of SENDs that arrive twice.
    pub doubled: u8,
    /// Most microseconds that a work request takes.
    pub delay: u32,
}

/// A path that dies without a word, and comes back.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    pub path: usize,
    pub from: u32,
    pub until: u32,
}

#[derive(Clone, Debug)]
enum Happening {
    Execute(Chunk, u32, Vec<u8>),
    Complete(Tag, Outcome),
    Grant(Chunk, u32),
    Granted(Tag, Outcome),
}

pub struct World {
    pub connection: Connection,
    back: Connection,
    pub reassembler: Reassembler,
    segments: usize,
    random: Random,
    weather: Weather,
    outages: Vec<Outage>,
    now: Time,
    queue: BTreeMap<(Time, u64), Happening>,
    sequence: u64,
    /// When the last work request of each path is executed, and how often its queue pair was torn down.
    lanes: Vec<(Time, u32)>,
    lanes_back: Vec<(Time, u32)>,
    pub shared: Vec<u8>,
    local: Vec<Vec<u8>>,
    receives: Vec<Vec<u8>>,
    steps: Vec<Step>,
    executed: Vec<Vec<u8>>,
    pub completed: Vec<u64>,
    pub failed: Vec<Failure>,
    pub arrived: Vec<Arrived>,
    /// The most ranges and slots.
    pub footprint: usize,
    pub chunks: u64,
}

pub const fn us(time: u32) -> Time {
    Time::from_ns(time as u64 * 1000)
}

pub fn pattern(message: usize, at: u64) -> u8 {
    (message as u64 * 37 + at * 11 + 1) as u8
}

impl World {
    pub fn new(settings: Settings, paths: usize, seed: u64, weather: Weather) -> Self {
        let segments = settings.segments;
        let settings = Arc::new(settings);
        let opening = Opening {
            paths,
            seed,
            ..Opening::default()
        };
        let open = || Connection::new(settings.clone(), &opening).expect("settings are right");
        Self {
            connection: open(),
            back: open(),
            reassembler: Reassembler::new(settings.clone()),
            segments,
            random: Random::new(seed ^ 0x5eed),
            weather,
            outages: Vec::new(),
            now: Time::ZERO,
            queue: BTreeMap::new(),
            sequence: 0,
            lanes: vec![(Time::ZERO, 0); paths],
            lanes_back: vec![(Time::ZERO, 0); paths],
            shared: vec![0; SHARED as usize],
            local: Vec::new(),
            receives: Vec::new(),
            steps: Vec::new(),
            executed: Vec::new(),
            completed: Vec::new(),
            failed: Vec::new(),
            arrived: Vec::new(),
            footprint: 0,
            chunks: 0,
        }
    }

    pub fn with_outages(mut self, outages: &[Outage]) -> Self {
        self.outages = outages.to_vec();
        self
    }

    fn is_dead(&self, path: usize) -> bool {
        let dead =
            |it: &Outage| it.path == path && us(it.from) <= self.now && self.now < us(it.until);
        self.outages.iter().any(dead)
    }

    /// Posts one step; `fence` as in verbs. Memory is in pieces of odd sizes.
    pub fn post(&mut self, step: Step, fence: bool) {
        let message = self.steps.len();
        let remote = |address| Remote { address, key: 7 };
        let (operation, size) = match step {
            Step::Write(at, size) => (Operation::Write(remote(at)), size),
            Step::Read(at, size) => (Operation::Read(remote(at)), size),
            Step::Send(size) => (Operation::Send, size),
            Step::Add(at) => (Operation::Atomic(remote(at), Atomic::FetchAdd(1)), 8),
        };
        if let Step::Send(size) = step {
            let memory = Segment {
                address: RECEIVES + ((self.receives.len() as u64) << 32),
                length: size,
                key: 1,
            };
            self.receives.push(vec![0; size as usize]);
            let context = message as u64;
            let grant = self
                .reassembler
                .post_receive(memory, context)
                .expect("there is room");
            assert!(self.back.offer(&grant));
        }
        self.local
            .push((0..size).map(|at| pattern(message, at)).collect());
        self.executed.push(vec![0; size as usize]);
        self.steps.push(step);
        let base = (message as u64) << 32;
        // An atomic has one piece.
        let (pieces, count) = match step {
            Step::Add(_) => ([8, 0, 0, 0], 1),
            _ => ([size / 7, 0, size / 3, size - size / 7 - size / 3], 4),
        };
        let mut at = base;
        let memory = pieces.map(|length| {
            let segment = Segment {
                address: at,
                length,
                key: 3,
            };
            at += length;
            segment
        });
        let request = Request {
            fence,
            context: message as u64,
            ..Request::new(operation, &memory[..count])
        };
        if self.connection.failure().is_none() {
            let number = self
                .connection
                .post(self.now, &request)
                .expect("there is room");
            assert_eq!(number, message as u64);
        } else {
            assert!(self.connection.post(self.now, &request).is_err());
            self.steps.pop();
        }
        self.pump();
    }

    /// Runs until nothing happens any more, or `until`.
    pub fn run(&mut self, until: Time) {
        loop {
            let next = self.queue.keys().next().map(|key| key.0);
            let deadlines = [self.connection.deadline(), self.back.deadline()];
            let deadline = deadlines.into_iter().flatten().min();
            let is_over = self.reported() == self.steps.len();
            let Some(time) = [next, deadline].into_iter().flatten().min() else {
                break;
            };
            if time > until || is_over {
                break;
            }
            self.now = self.now.max(time);
            if next.is_some_and(|next| next <= self.now) {
                let (_, happening) = self.queue.pop_first().expect("it was seen");
                self.happen(happening);
            }
            for connection in [&mut self.connection, &mut self.back] {
                if connection.deadline().is_some_and(|it| it <= self.now) {
                    connection.on_deadline(self.now);
                }
            }
            self.pump();
        }
    }

    pub fn reported(&self) -> usize {
        self.completed.len() + self.failed.len()
    }

    pub fn step_to(&mut self, now: Time) {
        self.run(now);
        self.now = now;
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Execute(chunk, epoch, data) => {
                if self.lanes[chunk.path.index()].1 == epoch {
                    self.execute(&chunk, &data);
                }
            }
            Happening::Complete(tag, outcome) => {
                let completion = Completion::of(outcome);
                self.connection.on_completion(self.now, tag, &completion);
            }
            Happening::Grant(chunk, epoch) => {
                let Work::Send(Frame::Grant(grant)) = chunk.work else {
                    return;
                };
                if self.lanes_back[chunk.path.index()].1 == epoch {
                    let bytes = Frame::Grant(grant).encode();
                    assert_eq!(Frame::parse(&bytes), Ok((Frame::Grant(grant), &[][..])));
                    assert!(self.connection.on_grant(&grant));
                }
            }
            Happening::Granted(tag, outcome) => {
                self.back
                    .on_completion(self.now, tag, &Completion::of(outcome));
            }
        }
    }

    /// Events first, so that a queue pair is torn down before what it had goes elsewhere.
    fn pump(&mut self) {
        while let Some(event) = self.connection.poll_event() {
            self.hear(event);
        }
        while let Some(event) = self.back.poll_event() {
            if let Event::Path {
                path,
                health: Health::Quarantined,
            } = event
            {
                self.lanes_back[path.index()].1 += 1;
            }
        }
        while let Some(chunk) = self.connection.poll_chunk(self.now) {
            self.chunks += 1;
            self.carry(chunk, false);
        }
        while let Some(chunk) = self.back.poll_chunk(self.now) {
            self.carry(chunk, true);
        }
        let footprint = self.connection.footprint() + self.reassembler.footprint();
        self.footprint = self.footprint.max(footprint);
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Completed {
                message,
                context,
                size,
            } => {
                assert_eq!(message, context);
                let message = message as usize;
                assert_eq!(message, self.completed.len(), "in order, once");
                assert!(self.failed.is_empty());
                assert_eq!(size.get(), self.executed[message].len() as u64);
                match self.steps[message] {
                    Step::Add(_) => assert_eq!(self.executed[message], [1; 8]),
                    _ => assert!(self.executed[message].iter().all(|&times| times > 0)),
                }
                self.completed.push(message as u64);
            }
            Event::Failed { failure, context } => {
                assert_eq!(failure.message, context);
                assert_eq!(failure.message as usize, self.reported());
                self.failed.push(failure);
            }
            Event::Path {
                path,
                health: Health::Quarantined,
            } => self.lanes[path.index()].1 += 1,
            Event::Path { .. } => {}
        }
    }

    /// Puts a work request onto its path, which keeps their order.
    fn carry(&mut self, chunk: Chunk, is_back: bool) {
        let path = chunk.path.index();
        let roll = self.random.below(100) as u8;
        let delay = 1 + self.random.below(self.weather.delay.max(1) as usize) as u64;
        let lanes = if is_back {
            &mut self.lanes_back
        } else {
            &mut self.lanes
        };
        let start = lanes[path].0.max(self.now);
        let arrives = start + Duration::from_us(delay);
        let heard = arrives + Duration::from_us(1);
        lanes[path].0 = arrives;
        let epoch = lanes[path].1;
        if self.is_dead(path) {
            return;
        }
        let Weather {
            lost,
            unheard,
            doubled,
            ..
        } = self.weather;
        let is_lost = roll < lost;
        let is_unheard = !is_lost && roll < lost + unheard;
        let outcome = if is_lost || is_unheard {
            Outcome::RetryExceeded
        } else {
            Outcome::Delivered
        };
        let complete = match is_back {
            true => Happening::Granted(chunk.tag, outcome),
            false => Happening::Complete(chunk.tag, outcome),
        };
        let data = self.gather(&chunk, is_back);
        let execute = match is_back {
            true => Happening::Grant(chunk, epoch),
            false => Happening::Execute(chunk, epoch, data),
        };
        if !is_lost {
            let twice =
                matches!(chunk.work, Work::Send(_)) && self.random.below(100) < doubled.into();
            if twice {
                let later = arrives + Duration::from_us(self.random.below(50) as u64);
                self.at(later, execute.clone());
            }
            self.at(arrives, execute);
        }
        self.at(heard, complete);
    }

    fn at(&mut self, time: Time, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((time, self.sequence), happening);
    }

    /// The bytes that a chunk carries, from the pieces of local memory.
    fn gather(&self, chunk: &Chunk, is_back: bool) -> Vec<u8> {
        if is_back {
            return Vec::new();
        }
        let pieces: Vec<Segment> = self.connection.segments(chunk).collect();
        let length: u64 = pieces.iter().map(|it| it.length).sum();
        let frame = usize::from(matches!(chunk.work, Work::Send(_)));
        assert!(pieces.len() + frame <= self.segments, "{pieces:?}");
        if chunk.message.is_some() {
            assert_eq!(Bytes::new(length), chunk.length);
        }
        let bytes = pieces.iter().flat_map(|it| {
            let (message, at) = ((it.address >> 32) as usize, it.address as u32 as usize);
            &self.local[message][at..at + it.length as usize]
        });
        bytes.copied().collect()
    }

    fn execute(&mut self, chunk: &Chunk, data: &[u8]) {
        let Some(message) = chunk.message.map(|it| it as usize) else {
            return;
        };
        let offset = chunk.offset.get() as usize;
        match chunk.work {
            Work::Write(remote) => {
                let (memory, at) = match remote.address.checked_sub(RECEIVES) {
                    Some(place) => (&mut self.receives[(place >> 32) as usize], place as u32),
                    None => (&mut self.shared, remote.address as u32),
                };
                memory[at as usize..][..data.len()].copy_from_slice(data);
                self.count(message, offset, data.len());
            }
            Work::Read(remote) => {
                let at = remote.address as usize;
                let length = chunk.length.get() as usize;
                let got = self.shared[at..at + length].to_vec();
                self.local[message][offset..offset + length].copy_from_slice(&got);
                self.count(message, offset, length);
            }
            Work::Atomic(remote, _) => {
                let cell = &mut self.shared[remote.address as usize];
                *cell = cell.wrapping_add(1);
                self.count(message, 0, 8);
                assert_eq!(self.executed[message], [1; 8], "an atomic is executed once");
            }
            Work::Send(frame) => self.deliver(message, frame, data),
        }
    }

    fn count(&mut self, message: usize, offset: usize, length: usize) {
        for times in &mut self.executed[message][offset..offset + length] {
            *times = times.saturating_add(1);
        }
    }

    fn deliver(&mut self, message: usize, frame: Frame, data: &[u8]) {
        let bytes = [&frame.encode()[..], data].concat();
        let (Frame::Transfer(transfer), data) = Frame::parse(&bytes).expect("it was written")
        else {
            panic!("no transfer");
        };
        let placed = self.reassembler.on_transfer(&transfer, data.len() as u64);
        if let Placement::Place(to) = placed.expect("the sender keeps to the rules") {
            let place = to.address - RECEIVES;
            let memory = &mut self.receives[(place >> 32) as usize];
            memory[place as u32 as usize..][..data.len()].copy_from_slice(data);
            self.count(message, transfer.offset as usize, data.len());
        }
        while let Some(arrived) = self.reassembler.poll_arrived() {
            self.see(arrived);
        }
    }

    /// A receive is consumed: its data and that of all WRITEs before it is there.
    fn see(&mut self, arrived: Arrived) {
        assert_eq!(arrived.receive, self.arrived.len() as u64, "in order, once");
        let message = arrived.context as usize;
        let Step::Send(size) = self.steps[message] else {
            panic!("not a SEND")
        };
        assert_eq!(arrived.size.get(), size);
        let expected: Vec<u8> = (0..size).map(|at| pattern(message, at)).collect();
        assert_eq!(self.receives[arrived.receive as usize], expected);
        for earlier in 0..message {
            if let Step::Write(..) | Step::Add(_) = self.steps[earlier] {
                assert!(
                    self.executed[earlier].iter().all(|&times| times > 0),
                    "WRITE before SEND"
                );
            }
        }
        self.arrived.push(arrived);
    }

    /// Compares everything with what one queue pair would have done.
    pub fn compare(&self, reads_too: bool) {
        assert_eq!(
            self.reported(),
            self.steps.len(),
            "every message is reported once"
        );
        if !self.failed.is_empty() {
            return;
        }
        let model = Model::of(&self.steps);
        assert_eq!(self.shared, model.shared);
        let sent: Vec<&Vec<u8>> = self
            .arrived
            .iter()
            .map(|it| &self.receives[it.receive as usize])
            .collect();
        assert_eq!(sent, model.sent.iter().collect::<Vec<_>>());
        if reads_too {
            for (message, data) in &model.read {
                assert_eq!(&self.local[*message], data, "READ {message}");
            }
        }
    }
}
