//! A run, from its first event to its last.

use fairlane_engine::Event;

use crate::events::control;
use crate::goal::{Control, Goal, Progress};
use crate::parts::cut::Cut;
use crate::parts::{self, Threading};
use crate::simulation::Simulation;
use crate::world::World;
use crate::{Ending, Results};

/// Events between two reports of progress.
const REPORT_EVENTS: u64 = 1 << 17;

/// Data packets from which on a run is shared by several threads unless it is said otherwise.
const PACKETS_MIN: u64 = 1_000_000;

impl World {
    /// Schedules what is known beforehand.
    pub(crate) fn start(&mut self, goal: &Goal) {
        self.start_schedule();
        self.start_faults();
        self.start_storms();
        self.start_applications();
        if let Some(first) = goal.first {
            self.net
                .schedule_control(self.sampler.next, control::SAMPLE);
            if let Some(chosen) = &self.chosen {
                chosen.schedule(&mut self.net);
            }
            if let Some(rates) = &self.rates {
                self.net.schedule_control(rates.next(first), control::RATES);
            }
        }
    }
}

impl Simulation {
    /// Schedules what is known beforehand of a run that is handled as a whole.
    pub(crate) fn begin(&mut self, goal: &Goal) {
        let world = &mut self.world;
        world.start(goal);
        if let Some(first) = goal.first {
            let at = world.watch.begin(first);
            world.net.schedule_control(at, control::WATCH);
        }
        if let Some(stop) = goal.stop {
            world.net.schedule_control(stop, control::STOP);
        }
    }

    /// Runs to the end, reporting progress from time to time.
    pub fn run(mut self, report: &mut dyn FnMut(&Progress<'_>) -> Control) -> Results {
        let goal = Goal::new(&self.world, self.stop);
        self.begin(&goal);
        let world = &mut self.world;
        while world.handle(REPORT_EVENTS, Event::NEVER, true) == REPORT_EVENTS {
            if report(&goal.progress(&[&*world])) == Control::Interrupt {
                world.ending = Some(Ending::Interrupted);
            }
        }
        report(&goal.progress(&[&*world]));
        self.world.into_results()
    }

    /// How many of `cores` threads shorten the run: one if it is so small that they would wait for each other
    /// most of the time.
    pub fn threads_that_pay(&self, cores: usize) -> usize {
        let mtu = u64::from(self.world.net.settings().mtu);
        let messages = self.world.traffic.messages().iter();
        let packets: u64 = messages.map(|spec| spec.size.get().div_ceil(mtu)).sum();
        if packets < PACKETS_MIN { 1 } else { cores }
    }

    /// Runs to the end on `threads` threads, or on as many as the fabric can be cut into parts. The results are
    /// the same whatever the number; with one, or in profile `hpcc-ns3`, this is [`run`](Self::run).
    pub fn run_on(
        self,
        threads: usize,
        report: &mut dyn FnMut(&Progress<'_>) -> Control,
    ) -> (Results, Threading) {
        let most = match self.world.hosts.ns3 {
            Some(_) => 1,
            None => threads.max(1),
        };
        let cut = Cut::new(
            &self.world.net,
            &self.world.traffic,
            &self.world.faults,
            most,
        );
        if cut.parts < 2 || cut.lookahead.is_zero() {
            let threading = Threading {
                threads: 1,
                ..Threading::default()
            };
            return (self.run(report), threading);
        }
        let goal = Goal::new(&self.world, self.stop);
        let (world, threading) = parts::coordinator::run(self.world, &cut, &goal, report);
        (world.into_results(), threading)
    }
}
