//! The queue pairs of a port that take turns: all in one round, or each traffic class in a round of its own.

use alloc::boxed::Box;

use fairlane_congestion::{CLASSES, ClassScheduler};
use fairlane_units::{Bytes, Time};

use crate::settings::Settings;
use crate::turns::Turns;

/// The queue pairs of a port. A queue pair is known by its class and its position in the round of that class.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    /// The round of all queue pairs, unless classes are scheduled.
    one: Turns,
    classes: Option<Box<Classes>>,
}

/// Rounds by class, and which class sends next.
#[derive(Clone, Debug)]
struct Classes {
    scheduler: ClassScheduler,
    rounds: [Turns; CLASSES],
}

impl Rounds {
    pub(crate) fn new(settings: &Settings) -> Self {
        let turns = || Turns::new(settings.leaving);
        let classes = settings.classes.clone().map(|scheduler| {
            let rounds = core::array::from_fn(|_| turns());
            Box::new(Classes { scheduler, rounds })
        });
        Self {
            one: turns(),
            classes,
        }
    }

    /// The round of a class.
    #[inline]
    pub(crate) fn of(&self, class: u8) -> &Turns {
        match &self.classes {
            None => &self.one,
            Some(classes) => &classes.rounds[usize::from(class)],
        }
    }

    /// The round of a class.
    #[inline]
    pub(crate) fn of_mut(&mut self, class: u8) -> &mut Turns {
        match &mut self.classes {
            None => &mut self.one,
            Some(classes) => &mut classes.rounds[usize::from(class)],
        }
    }

    /// The queue pair that sends next, of those that may send at `now`; calls `moved(queue pair, new position)` for those whose
    /// position changes.
    #[inline]
    pub(crate) fn choose(&mut self, now: Time, moved: impl FnMut(u32, u32)) -> Option<u32> {
        let turns = match &mut self.classes {
            None => &mut self.one,
            Some(classes) => classes.next(now)?,
        };
        let position = turns.choose(now, moved)?;
        Some(turns.at(position))
    }

    /// A packet of a class leaves.
    #[inline]
    pub(crate) fn on_sent(&mut self, class: u8, wire: u16) {
        if let Some(classes) = &mut self.classes {
            classes
                .scheduler
                .on_sent(class, Bytes::new(u64::from(wire)));
        }
    }

    /// The earliest time at which any queue pair may send.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<Time> {
        match &self.classes {
            None => self.one.earliest(),
            Some(_) => self.all().filter_map(Turns::earliest).min(),
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all().all(Turns::is_empty)
    }

    /// The queue pair at `index` among those of all rounds, and its position in its own.
    #[inline]
    pub(crate) fn nth(&self, mut index: usize) -> Option<(u32, u32)> {
        for turns in self.all() {
            if index < turns.len() {
                return Some((turns.at(index as u32), index as u32));
            }
            index -= turns.len();
        }
        None
    }

    fn all(&self) -> impl Iterator<Item = &Turns> {
        let classes = self.classes.iter().flat_map(|classes| &classes.rounds);
        core::iter::once(&self.one).chain(classes)
    }
}

impl Classes {
    /// The round of the class that sends next, of those with a queue pair that may send at `now`.
    fn next(&mut self, now: Time) -> Option<&mut Turns> {
        let mut ready = 0;
        for (class, turns) in self.rounds.iter().enumerate() {
            let may_send = turns.earliest().is_some_and(|at| at <= now);
            ready |= u8::from(may_send) << class;
        }
        let class = self.scheduler.choose(ready)?;
        Some(&mut self.rounds[usize::from(class)])
    }
}
