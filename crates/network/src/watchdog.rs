//! The watchdog of switches against pauses that don't end.
//!
//! A port that has been paused for `switch.pfc.watchdog` without a break sends in spite of pauses for
//! `switch.pfc.watchdog_restore`, then obeys again: the PFC watchdog of SONiC with action `forward`.

use std::collections::BTreeSet;

use fairlane_scenario::Pfc;
use fairlane_units::{Duration, Time};

/// What a port's watchdog does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Looks whether the port is still paused.
    Look,
    /// Lets pauses count again.
    Restore,
}

/// The watchdogs of all ports.
#[derive(Clone, Debug, Default)]
pub struct Watchdog {
    pub(crate) limit: Option<Duration>,
    pub(crate) restore: Duration,
    pub(crate) due: BTreeSet<(Time, u32, Step)>,
    /// Ports that ignore pauses, each with the classes that it would be paused in.
    pub(crate) ignoring: Vec<(u32, u8)>,
    /// How often a port began to ignore pauses.
    pub bites: u64,
}

impl Watchdog {
    pub(crate) fn new(pfc: &Pfc) -> Self {
        Self {
            limit: pfc.watchdog.filter(|_| pfc.enabled),
            restore: pfc.watchdog_restore,
            ..Self::default()
        }
    }

    /// Whether ports are watched.
    pub const fn is_on(&self) -> bool {
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
