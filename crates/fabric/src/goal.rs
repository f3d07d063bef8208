//! What is known of a run beforehand, and how far it has come.

use std::ops::Deref;

use fairlane_units::{Bytes, Time};

use crate::schedule::total_bytes;
use crate::world::{World, merge};
use crate::{Ending, Results};

/// How far a run has come.
#[derive(Clone)]
pub struct Progress<'a> {
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
    /// The run itself, or its parts.
    worlds: Vec<&'a World>,
}

impl Progress<'_> {
    /// What the run would leave behind if it were interrupted here.
    ///
    /// The run isn't touched: this works on a copy of its whole state, and takes as much memory and time. Packets
    /// that are just crossing from one thread's part to another's aren't counted as in flight.
    pub fn results(&self) -> Results {
        let mut worlds: Vec<World> = self.worlds.iter().map(|&world| world.clone()).collect();
        let latest = worlds.iter().map(|world| world.net.engine.latest()).max();
        let mut world = match (worlds.len(), latest) {
            (2.., Some(latest)) => {
                let clocks = worlds.iter_mut().map(|world| &mut world.net.engine);
                clocks.for_each(|clock| clock.advance(latest));
                merge(worlds)
            }
            _ => worlds.swap_remove(0),
        };
        world.ending.get_or_insert(Ending::Interrupted);
        world.into_results()
    }
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
    pub(crate) fn new(world: &World, stop: Option<Time>) -> Self {
        let messages = world.schedule.next_start(world.traffic.messages());
        let endpoints = world.endpoints.as_deref();
        let applications = endpoints.and_then(|all| all.first_start());
        Self {
            first: messages.into_iter().chain(applications).min(),
            stop,
            last_start: world
                .traffic
                .messages()
                .last()
                .map_or(Time::ZERO, |spec| spec.start),
            total: total_bytes(world.traffic.messages()),
        }
    }

    /// How far the parts of a run have come.
    pub(crate) fn progress<'a>(&self, parts: &'a [impl Deref<Target = World>]) -> Progress<'a> {
        let mut progress = Progress {
            now: Time::ZERO,
            transmissions: 0,
            events: 0,
            messages_done: 0,
            messages: 0,
            placed: Bytes::ZERO,
            total: self.total,
            last_start: self.last_start,
            worlds: parts.iter().map(|world| &**world).collect(),
        };
        for world in parts {
            progress.now = progress.now.max(world.net.now());
            progress.transmissions += world.net.counters().transmissions;
            progress.events += world.net.engine.handled();
            progress.messages_done += world.records.len() as u32;
            progress.messages += (world.owed - world.schedule.local.left) as u32;
            progress.placed += Bytes::new(world.hosts.heard().placed);
        }
        progress
    }
}
