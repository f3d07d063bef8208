//! The watchdog of switches against pauses that don't end.
//!
//! A port that has been paused for `switch.pfc.watchdog` without a break sends in spite of pauses for
//! `switch.pfc.watchdog_restore`, then obeys again: the PFC watchdog of SONiC with action `forward`.

use std::collections::BTreeSet;

use fairlane_scenario::Pfc;
use fairlane_units::{Duration, Time};

use crate::port::CLASSES;
use crate::world::{World, control};

/// What a port's watchdog does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Looks whether the port is still paused.
    Look,
    /// Lets pauses count again.
    Restore,
}

/// The watchdogs of all ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watchdog {
    limit: Option<Duration>,
    restore: Duration,
    due: BTreeSet<(Time, u32, Step)>,
    /// Ports that ignore pauses, each with the classes that it would be paused in.
    ignoring: Vec<(u32, u8)>,
    /// How often a port began to ignore pauses.
    pub(crate) bites: u64,
}

impl Watchdog {
    pub(crate) fn new(pfc: &Pfc) -> Self {
        Self {
            limit: pfc.watchdog.filter(|_| pfc.enabled),
            restore: pfc.watchdog_restore,
            ..Self::default()
        }
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.limit.is_some()
    }

    /// The link of a port has gone down, and its pauses with it.
    pub(crate) fn forget_pauses(&mut self, number: u32) {
        let mut ignoring = self.ignoring.iter_mut();
        if let Some((_, asked)) = ignoring.find(|(port, _)| *port == number) {
            *asked = 0;
        }
    }
}

impl World {
    /// Hears of a pause frame that has reached `port`; whether the port ignores it.
    pub(crate) fn watchdog_hears(&mut self, number: u32, class: u8, pause: bool) -> bool {
        let watchdog = &mut self.watchdog;
        if let Some((_, asked)) = watchdog
            .ignoring
            .iter_mut()
            .find(|(port, _)| *port == number)
        {
            let bit = 1 << class;
            *asked = if pause { *asked | bit } else { *asked & !bit };
            return true;
        }
        let port = &self.ports[number as usize];
        if pause && port.on_switch && port.paused == 0 {
            self.watch_pause(number);
        }
        false
    }

    /// A pause of a port begins.
    fn watch_pause(&mut self, number: u32) {
        if let Some(limit) = self.watchdog.limit {
            self.await_watchdog(self.now().saturating_add(limit), number, Step::Look);
        }
    }

    fn await_watchdog(&mut self, at: Time, number: u32, step: Step) {
        self.watchdog.due.insert((at, number, step));
        self.schedule_control(at, control::WATCHDOG);
    }

    pub(crate) fn on_watchdog(&mut self) {
        let now = self.now();
        while let Some(&(at, number, step)) = self.watchdog.due.first() {
            if at > now {
                break;
            }
            self.watchdog.due.pop_first();
            match step {
                Step::Look => self.look(number),
                Step::Restore => self.restore(number),
            }
        }
    }

    /// Bites if the port has been paused ever since the pause that this look is for.
    fn look(&mut self, number: u32) {
        let (now, restore) = (self.now(), self.watchdog.restore);
        let port = &mut self.ports[number as usize];
        let since = self
            .watchdog
            .limit
            .map(|limit| port.paused_since.saturating_add(limit));
        if port.paused == 0 || since != Some(now) {
            return;
        }
        let asked = port.paused;
        for class in 0..CLASSES as u8 {
            port.set_paused(now, class, false);
        }
        self.watchdog.bites += 1;
        self.watchdog.ignoring.push((number, asked));
        self.await_watchdog(now.saturating_add(restore), number, Step::Restore);
        self.send_from(number);
    }

    /// The port obeys pauses again, also those that came in the meantime and still hold.
    fn restore(&mut self, number: u32) {
        let now = self.now();
        let ignoring = &mut self.watchdog.ignoring;
        let Some(index) = ignoring.iter().position(|(port, _)| *port == number) else {
            return;
        };
        let (_, asked) = ignoring.swap_remove(index);
        for class in (0..CLASSES as u8).filter(|class| asked & 1 << class != 0) {
            self.ports[number as usize].set_paused(now, class, true);
        }
        if asked != 0 {
            self.watch_pause(number);
        }
    }
}
