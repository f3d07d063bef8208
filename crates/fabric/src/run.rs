//! A run, from its first event to its last.

use std::ops::Deref;

use fairlane_engine::Event;
use fairlane_units::{Bytes, Time};

use crate::parts::{self, Threading};
use crate::schedule::total_bytes;
use crate::simulation::Simulation;
use crate::world::{World, control};
use crate::{Ending, Results};

/// Events between two reports of progress.
const REPORT_EVENTS: u64 = 1 << 17;

/// Data packets from which on a run is shared by several threads unless it is said otherwise.
const PACKETS_MIN: u64 = 1_000_000;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets put on links so far.
    pub transmissions: u64,
    /// Events handled so far.
    pub events: u64,
    /// Messages that have ended.
    pub messages_done: u32,
    /// Messages of the whole run.
    pub messages: u32,
    /// Payload placed at receivers so far.
    pub placed: Bytes,
    /// Payload of the whole run.
    pub total: Bytes,
    /// When the last message starts.
    pub last_start: Time,
}

/// What the caller wants after a report of progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// End now.
    Interrupt,
}

/// What is known of a run beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    /// When the first message or application starts.
    pub(crate) first: Option<Time>,
    /// The scenario's end.
    pub(crate) stop: Option<Time>,
    last_start: Time,
    total: Bytes,
}

impl Goal {
    fn new(world: &World, stop: Option<Time>) -> Self {
        let messages = world.schedule.next_start(&world.specs);
        let endpoints = world.endpoints.as_deref();
        let applications = endpoints.and_then(|all| all.first_start());
        Self {
            first: messages.into_iter().chain(applications).min(),
            stop,
            last_start: world.specs.last().map_or(Time::ZERO, |spec| spec.start),
            total: total_bytes(&world.specs),
        }
    }

    /// How far the parts of a run have come.
    pub(crate) fn progress(&self, parts: &[impl Deref<Target = World>]) -> Progress {
        let mut progress = Progress {
            now: Time::ZERO,
            transmissions: 0,
            events: 0,
            messages_done: 0,
            messages: 0,
            placed: Bytes::ZERO,
            total: self.total,
            last_start: self.last_start,
        };
        for world in parts {
            progress.now = progress.now.max(world.now());
            progress.transmissions += world.counters.transmissions;
            progress.events += world.engine.handled();
            progress.messages_done += world.records.len() as u32;
            progress.messages += world.owed as u32;
            progress.placed += Bytes::new(world.heard().placed);
        }
        progress
    }
}

impl World {
    /// Schedules what is known beforehand.
    pub(crate) fn start(&mut self, goal: &Goal) {
        self.start_schedule();
        self.start_faults();
        self.start_storms();
        self.start_applications();
        if goal.first.is_some() {
            self.start_sampler();
        }
    }
}

impl Simulation {
    /// Runs to the end, reporting progress from time to time.
    pub fn run(mut self, report: &mut dyn FnMut(&Progress) -> Control) -> Results {
        let goal = Goal::new(&self.world, self.stop);
        let world = &mut self.world;
        world.start(&goal);
        if let Some(first) = goal.first {
            world.watch.since = first;
            world.start_watch(first);
        }
        if let Some(stop) = goal.stop {
            world.schedule_control(stop, control::STOP);
        }
        while world.handle(REPORT_EVENTS, Event::NEVER, true) == REPORT_EVENTS {
            if report(&goal.progress(&[&*world])) == Control::Interrupt {
                world.ending = Some(Ending::Stopped);
            }
        }
        report(&goal.progress(&[&*world]));
        self.world.into_results()
    }

    /// Of `cores` threads, how many shorten the run: one if it is so small that they would wait for each other
    /// most of the time.
    pub fn threads_that_pay(&self, cores: usize) -> usize {
        let mtu = u64::from(self.world.rules.mtu);
        let specs = &self.world.specs[..self.world.messages];
        let packets: u64 = specs.iter().map(|spec| spec.size.get().div_ceil(mtu)).sum();
        if packets < PACKETS_MIN { 1 } else { cores }
    }

    /// Runs to the end on `threads` threads, or on as many as the fabric can be cut into parts. The results are
    /// the same whatever the number; with one, or in profile `hpcc-ns3`, this is [`run`](Self::run).
    pub fn run_on(
        self,
        threads: usize,
        report: &mut dyn FnMut(&Progress) -> Control,
    ) -> (Results, Threading) {
        let most = match self.world.ns3 {
            Some(_) => 1,
            None => threads.max(1),
        };
        let cut = self.world.cut(most);
        if cut.parts < 2 || cut.lookahead.is_zero() {
            let threading = Threading {
                threads: 1,
                ..Threading::default()
            };
            return (self.run(report), threading);
        }
        let goal = Goal::new(&self.world, self.stop);
        let (world, threading) = parts::conductor::run(self.world, &cut, &goal, report);
        (world.into_results(), threading)
    }
}
