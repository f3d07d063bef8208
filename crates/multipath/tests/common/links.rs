//! Links that carry chunks one after the other, each at its rate.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairlane_multipath::{
    Completion, Connection, Event, Health, Opening, Operation, Outcome, Remote, Request, Segment,
    Settings, Tag,
};
use fairlane_units::{Bytes, Duration, PathId, Rate, Time};

pub struct Links {
    pub connection: Connection,
    pub now: Time,
    /// The link of each path: twins have the same.
    of: Vec<usize>,
    pub rates: Vec<Rate>,
    free: Vec<Time>,
    pub round_trip: Duration,
    /// Links that take everything and answer nothing.
    pub dead: Vec<bool>,
    /// Chunks above this size are lost.
    pub loses_above: Vec<u64>,
    /// For how long after one was lost others are: what it left fills the queue.
    pub clogged: Duration,
    clogged_until: Vec<Time>,
    /// Whether completions say that packets were marked.
    pub marks: Vec<bool>,
    /// The sender's own link.
    pub line: Option<Rate>,
    line_free: Time,
    ends: BTreeMap<(Time, u64), (Tag, usize, u64, Outcome)>,
    count: u64,
    posted: u64,
    pub carried: Vec<u64>,
    pub chunks: Vec<u64>,
    pub completed: Vec<(u64, Time)>,
    pub failed: Vec<fairlane_multipath::Failure>,
    pub health: Vec<(Time, usize, Health)>,
    /// Bytes delivered in each tenth of a millisecond.
    pub series: Vec<u64>,
}

impl Links {
    pub fn new(settings: Settings, gbps: &[u64]) -> Self {
        let of = (0..gbps.len()).collect();
        Self::shared(settings, gbps, of)
    }

    /// Paths over links: `of` has the link of each path.
    pub fn shared(settings: Settings, gbps: &[u64], of: Vec<usize>) -> Self {
        let opening = Opening {
            paths: of.len(),
            seed: 5,
            group: 9,
            probe_region: Some(Remote::default()),
        };
        let links = gbps.len();
        let paths = of.len();
        Self {
            connection: Connection::new(Arc::new(settings), &opening).expect("right settings"),
            now: Time::ZERO,
            of,
            rates: gbps.iter().map(|&it| Rate::from_gbps(it)).collect(),
            free: vec![Time::ZERO; links],
            round_trip: Duration::from_us(8),
            dead: vec![false; links],
            loses_above: vec![u64::MAX; links],
            clogged: Duration::ZERO,
            clogged_until: vec![Time::ZERO; links],
            marks: vec![false; links],
            line: None,
            line_free: Time::ZERO,
            ends: BTreeMap::new(),
            count: 0,
            posted: 0,
            carried: vec![0; paths],
            chunks: vec![0; paths],
            completed: Vec::new(),
            failed: Vec::new(),
            health: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Each message has memory of its own.
    pub fn write(&mut self, size: u64) {
        self.posted += 1;
        let memory = [Segment {
            address: 0,
            length: size,
            key: 0,
        }];
        let operation = Operation::Write(Remote {
            address: self.posted << 40,
            key: 0,
        });
        let request = Request::new(operation, &memory);
        self.connection
            .post(self.now, &request)
            .expect("there is room");
        self.pump();
    }

    pub fn probe(&mut self) {
        self.connection.probe().expect("paths are idle");
        self.pump();
        while self.connection.is_probing() {
            assert!(self.step(Time::MAX), "a round ends");
        }
    }

    /// Handles one instant; returns whether there was one until then.
    pub fn step(&mut self, until: Time) -> bool {
        let next = self.ends.keys().next().map(|key| key.0);
        let Some(time) = [next, self.connection.deadline()]
            .into_iter()
            .flatten()
            .min()
        else {
            return false;
        };
        if time > until {
            return false;
        }
        self.now = time;
        if next == Some(time) {
            let (_, (tag, path, bytes, outcome)) = self.ends.pop_first().expect("it was seen");
            let link = self.of[path];
            let completion = Completion {
                marked: self.marks[link],
                round_trip: Some(self.round_trip),
                ..Completion::of(outcome)
            };
            if outcome == Outcome::Delivered {
                let slice = (self.now.as_ns() / 100_000) as usize;
                self.series.resize(self.series.len().max(slice + 1), 0);
                self.series[slice] += bytes;
            }
            self.connection.on_completion(self.now, tag, &completion);
        } else {
            self.connection.on_deadline(self.now);
        }
        self.pump();
        true
    }

    pub fn run(&mut self, until: Time) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Runs until no message is left.
    pub fn finish(&mut self) {
        while self.connection.outstanding() > 0 {
            assert!(
                self.step(Time::MAX),
                "it hangs: {:?}",
                self.connection.paths()
            );
        }
    }

    pub fn pump(&mut self) {
        loop {
            while let Some(event) = self.connection.poll_event() {
                match event {
                    Event::Completed { message, .. } => self.completed.push((message, self.now)),
                    Event::Failed { failure, .. } => self.failed.push(failure),
                    Event::Path { path, health } => {
                        self.health.push((self.now, path.index(), health))
                    }
                }
            }
            let Some(chunk) = self.connection.poll_chunk(self.now) else {
                break;
            };
            let (path, bytes) = (chunk.path.index(), chunk.length.get());
            let link = self.of[path];
            if chunk.message.is_some() {
                self.carried[path] += bytes;
                self.chunks[path] += 1;
            }
            if self.dead[link] {
                continue;
            }
            let mut start = self.now;
            if let Some(line) = self.line {
                start = self.line_free.max(start);
                self.line_free = start + Bytes::new(bytes).serialization(line);
            }
            let done =
                self.free[link].max(start) + Bytes::new(bytes).serialization(self.rates[link]);
            let done = done.max(self.line_free);
            self.free[link] = done;
            let clogged = bytes > 0 && start < self.clogged_until[link];
            let outcome = match clogged || bytes > self.loses_above[link] {
                true => {
                    self.clogged_until[link] = done + self.round_trip + self.clogged;
                    Outcome::RetryExceeded
                }
                false => Outcome::Delivered,
            };
            self.count += 1;
            let end = (chunk.tag, path, bytes, outcome);
            self.ends.insert((done + self.round_trip, self.count), end);
        }
    }

    pub fn health(&self, path: usize) -> Health {
        self.connection.paths().health(path)
    }

    /// Gigabits per second delivered in a slice of time, from and to in tenths of a millisecond.
    pub fn gbps(&self, from: usize, until: usize) -> f64 {
        let bytes: u64 = self.series[from.min(self.series.len())..until.min(self.series.len())]
            .iter()
            .sum();
        bytes as f64 * 8.0 / ((until - from) as f64 * 1e5)
    }

    pub fn tell_route(&mut self, path: usize, route: u64) {
        self.connection.on_route(PathId::new(path as u32), route);
        self.pump();
    }
}
