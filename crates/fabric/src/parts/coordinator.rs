//! What is decided between windows.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

use fairlane_engine::{Event, Key};
use fairlane_network::Network;
use fairlane_network::waking::Waking;
use fairlane_units::Time;

use super::cut::Cut;
use super::{Panic, Shared, Threading};
use crate::endpoint::Endpoints;
use crate::events::control;
use crate::goal::Goal;
use crate::waits::{self, Circle};
use crate::watch::Watch;
use crate::world::{Account, World, applications_go_on, look};
use crate::{Control, Ending};

/// Windows between two reports of progress.
const REPORT_WINDOWS: u64 = 256;
/// Events that are handled one by one before windows are tried again.
const SINGLE_EVENTS: u64 = 256;

type Worlds<'a> = Vec<MutexGuard<'a, World>>;

/// Runs a fabric in parts; returns it as one world again, which has ended.
pub(crate) fn run(
    whole: World,
    cut: &Cut,
    goal: &Goal,
    report: &mut dyn FnMut(&crate::Progress<'_>) -> Control,
) -> (World, Threading) {
    let number = |part: usize| u16::try_from(part).unwrap_or(u16::MAX);
    let parts = (0..cut.parts).map(|part| whole.part(number(part), cut.parts, &cut.part_of));
    let shared = Shared::new(parts.collect());
    let mut coordinator = Coordinator::new(&whole, cut, goal, &shared);
    drop(whole);
    let circle = std::thread::scope(|scope| {
        for part in 1..cut.parts {
            let shared = &shared;
            scope.spawn(move || shared.work(part));
        }
        let circle = coordinator.coordinate(goal, report);
        shared.over.store(true, Ordering::Release);
        shared.gate.wait();
        match circle {
            Ok(circle) => circle,
            Err(Some(panic)) => std::panic::resume_unwind(panic),
            // The scope passes on the panic of another thread.
            Err(None) => Circle::new(),
        }
    });
    let threading = coordinator.threading();
    let worlds = shared.parts.into_iter();
    let worlds = worlds.map(|part| {
        part.into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    });
    let mut world = crate::world::merge(worlds.collect());
    if !world.is_done() && world.ending.is_none() {
        let stall = Account { world: &world }.stall(&circle);
        world.ending = Some(Ending::Stalled(stall));
    }
    (world, threading)
}

/// Decides how far the parts may go.
struct Coordinator<'a> {
    shared: &'a Shared,
    threading: Threading,
    /// When links change, the next time last.
    faults: Vec<Event>,
    watch: Event,
    stop: Event,
    watcher: Watch,
    /// Events in all, and if every part had had as many as the busiest one of each window.
    events: u64,
    busiest: u64,
    handled: Vec<u64>,
}

/// What comes next.
enum Next {
    /// A window that ends before this event.
    Window(Event),
    /// Nothing.
    Over,
}

impl<'a> Coordinator<'a> {
    fn new(whole: &World, cut: &Cut, goal: &Goal, shared: &'a Shared) -> Self {
        let event = |at: Option<Time>, index| {
            at.map_or(Event::NEVER, |at| Waking::Control.event(at, index))
        };
        let mut faults: Vec<Event> = whole
            .faults
            .times()
            .map(|at| Waking::Control.event(at, control::FAULT))
            .collect();
        faults.sort_unstable_by(|a, b| b.cmp(a));
        faults.dedup();
        let mut watcher = whole.watch.clone();
        let watch = goal.first.map(|first| watcher.begin(first));
        Self {
            shared,
            threading: Threading {
                threads: cut.parts,
                lookahead: cut.lookahead,
                ..Threading::default()
            },
            faults,
            watch: event(watch, control::WATCH),
            stop: event(goal.stop, control::STOP),
            watcher,
            events: 0,
            busiest: 0,
            handled: vec![0; cut.parts],
        }
    }

    fn threading(&self) -> Threading {
        let all = self.busiest * self.threading.threads as u64;
        Threading {
            waiting: match all {
                0 => 0.0,
                all => 1.0 - self.events as f64 / all as f64,
            },
            ..self.threading
        }
    }

    /// Conducts the run to its end. Returns the circle of waits in which it may have ended; or, if a thread
    /// has panicked, what this one has panicked with.
    fn coordinate(
        &mut self,
        goal: &Goal,
        report: &mut dyn FnMut(&crate::Progress<'_>) -> Control,
    ) -> Result<Circle, Option<Panic>> {
        let count = self.shared.parts.len();
        (0..count).for_each(|part| self.shared.lock(part).start(goal));
        loop {
            let mut worlds: Worlds<'_> = (0..count).map(|part| self.shared.lock(part)).collect();
            self.count(&worlds);
            let reports = self.threading.windows.is_multiple_of(REPORT_WINDOWS);
            if reports && report(&goal.progress(&worlds)) == Control::Interrupt {
                worlds[0].ending = Some(Ending::Interrupted);
            }
            let Next::Window(bound) = self.next(&mut worlds) else {
                self.finish(&mut worlds);
                report(&goal.progress(&worlds));
                return Ok(waits::circle(&networks(&worlds)));
            };
            drop(worlds);
            self.threading.windows += 1;
            self.shared.set_bound(bound);
            self.shared.gate.wait();
            let panic = self.shared.window(0);
            if self.shared.failed.load(Ordering::Acquire) {
                return Err(panic);
            }
        }
    }

    /// Notes how many events each part has handled since the last time.
    fn count(&mut self, worlds: &Worlds<'_>) {
        let mut most = 0;
        for (world, before) in worlds.iter().zip(&mut self.handled) {
            let handled = world.net.engine.handled();
            let span = handled - std::mem::replace(before, handled);
            self.events += span;
            most = most.max(span);
        }
        self.busiest += most;
    }

    /// Delivers what crosses, does what is to be done for all parts at once, and says what comes next.
    fn next(&mut self, worlds: &mut Worlds<'_>) -> Next {
        let count = worlds.len();
        for from in 0..count {
            deliver(worlds, from);
        }
        loop {
            if is_over(worlds) {
                return Next::Over;
            }
            let Some((part, next)) = first(worlds) else {
                return Next::Over;
            };
            let meeting = self.meeting();
            if next >= meeting {
                self.meet(meeting, worlds);
            } else if goes_on(worlds, next.time.saturating_add(self.threading.lookahead)) {
                let end = next.time.saturating_add(self.threading.lookahead);
                let end = Event {
                    time: end,
                    key: Key::MIN,
                };
                return Next::Window(end.min(meeting));
            } else {
                self.single(part, worlds);
            }
        }
    }

    /// The next event before which all parts must have come equally far.
    fn meeting(&self) -> Event {
        let fault = self.faults.last().copied().unwrap_or(Event::NEVER);
        fault.min(self.watch).min(self.stop)
    }

    fn meet(&mut self, meeting: Event, worlds: &mut Worlds<'_>) {
        if self.faults.last() == Some(&meeting) {
            // Each part has an event of its own for it.
            self.faults.pop();
            return;
        }
        worlds
            .iter_mut()
            .for_each(|world| world.net.engine.advance(meeting));
        if meeting == self.stop {
            worlds[0].ending = Some(Ending::Stopped);
            return;
        }
        let all: Vec<&World> = worlds.iter().map(|world| &**world).collect();
        if look(&mut self.watcher, &all).is_some() {
            // What else there is won't change that; the merged world says why.
            worlds[0].stuck = true;
        }
        let at = meeting.time.saturating_add(self.watcher.interval);
        self.watch = Waking::Control.event(at, control::WATCH);
    }

    /// Handles some events of all parts in their order, beginning with the next one of `part`.
    fn single(&mut self, mut part: usize, worlds: &mut Worlds<'_>) {
        let meeting = self.meeting();
        for _ in 0..SINGLE_EVENTS {
            worlds[part].handle(1, Event::NEVER, false);
            self.threading.single_events += 1;
            deliver(worlds, part);
            if is_over(worlds) {
                return;
            }
            match first(worlds) {
                Some((next, event)) if event < meeting => part = next,
                _ => return,
            }
        }
    }

    /// Brings the clocks of all parts to the same time.
    fn finish(&self, worlds: &mut Worlds<'_>) {
        let last = worlds.iter().map(|world| world.net.engine.latest()).max();
        if let Some(last) = last {
            worlds
                .iter_mut()
                .for_each(|world| world.net.engine.advance(last));
        }
    }
}

fn networks<'a>(worlds: &'a Worlds<'_>) -> Vec<&'a Network> {
    worlds.iter().map(|world| &world.net).collect()
}

/// Gives the other parts what one has for them, and tells all who still goes on.
fn deliver(worlds: &mut Worlds<'_>, from: usize) {
    for to in 0..worlds.len() {
        if let Ok([from, other]) = worlds.get_disjoint_mut([from, to]) {
            from.net.hand_over(&mut other.net, to);
        }
        if let Some(mail) = worlds[from].hosts.mail.take(to) {
            let spare = worlds[to].receive_mail(mail);
            worlds[from].hosts.mail.give_back(to, spare);
        }
    }
    let endpoints = || worlds.iter().filter_map(|world| world.endpoints.as_deref());
    let ending: usize = endpoints().map(|all| all.ending).sum();
    for world in worlds.iter_mut() {
        if let Some(endpoints) = world.endpoints.as_deref_mut() {
            endpoints.others_go_on = ending > endpoints.ending;
        }
    }
}

/// The next event of all, and whose it is.
fn first(worlds: &mut Worlds<'_>) -> Option<(usize, Event)> {
    let events = worlds.iter_mut().enumerate();
    let events = events.filter_map(|(part, world)| Some((part, world.net.engine.peek()?)));
    events.min_by_key(|&(_, event)| event)
}

fn is_over(worlds: &Worlds<'_>) -> bool {
    worlds.iter().all(|world| world.is_done())
        || worlds
            .iter()
            .any(|world| world.ending.is_some() || world.stuck)
}

/// Whether a part has something that can't end `until` then. Applications in the background go on as long as
/// others do, so as long as they need to know, one of those must be what can't end.
fn goes_on(worlds: &mut Worlds<'_>, until: Time) -> bool {
    let endpoints = || worlds.iter().filter_map(|world| world.endpoints.as_deref());
    let ending = endpoints().any(|all| all.ending > 0);
    let known = !ending || !endpoints().any(Endpoints::has_background);
    let steady = known || worlds.iter().any(|world| applications_go_on(world, until));
    steady && worlds.iter_mut().any(|world| world.goes_on(until))
}
