//! The virtual clock.

use fairlane_units::{Duration, Time};

use crate::calendar::Calendar;
use crate::event::{Component, Event, Key};

/// What decides between simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// A rank given with the event, so that the order among some components is the same whatever
    /// other components there are.
    Rank,
    /// Insertion order over the whole engine.
    Insertion,
}

/// A virtual clock with the events to come.
#[derive(Clone, Debug)]
pub struct Engine {
    calendar: Calendar,
    ties: Ties,
    /// The event being handled.
    current: Event,
    /// The latest one of those from which the clock went back to an earlier one.
    latest: Event,
    inserted: u64,
    handled: u64,
}

impl Engine {
    /// A clock at zero with nothing to come, fastest for events up to `span` ahead.
    pub fn new(ties: Ties, span: Duration) -> Self {
        Self {
            calendar: Calendar::new(span),
            ties,
            current: Event::FIRST,
            latest: Event::FIRST,
            inserted: 0,
            handled: 0,
        }
    }

    /// The time of the event being handled.
    #[inline]
    pub const fn now(&self) -> Time {
        self.current.time
    }

    /// The event being handled.
    #[inline]
    pub const fn current(&self) -> Event {
        self.current
    }

    /// The latest event of all that have been handled: an event that is scheduled for its own instant may come
    /// before the one that has scheduled it, so [`current`](Self::current) goes back there, and this doesn't.
    #[inline]
    pub fn latest(&self) -> Event {
        self.latest.max(self.current)
    }

    /// The next event.
    #[inline]
    pub fn peek(&mut self) -> Option<Event> {
        if !self.calendar.turn(|_| ()) {
            return None;
        }
        self.calendar.near().last().copied()
    }

    /// Moves the clock on to the time of an event that comes before all that wait, or of the last one handled.
    ///
    /// # Panics
    /// In debug builds, if that time has passed.
    pub fn advance(&mut self, event: Event) {
        debug_assert!(event >= self.current, "time went back");
        self.current = event;
    }

    /// Events handled so far.
    pub const fn handled(&self) -> u64 {
        self.handled
    }

    /// How many events wait.
    pub fn pending(&self) -> usize {
        self.calendar.len()
    }

    /// Whether an event at `time` with `key` has not been handled yet.
    #[inline]
    pub fn is_ahead(&self, time: Time, key: Key) -> bool {
        Event { time, key } > self.current
    }

    /// The key that an event for `component` gets if it is inserted here and now.
    ///
    /// `rank` decides under [`Ties::Rank`] and is ignored under [`Ties::Insertion`]. An event may be
    /// scheduled later with a key reserved now; it takes the place that it would have had.
    ///
    /// # Panics
    /// After 2^38 (2.7e11) insertions: days of computing. In debug builds, if `rank` exceeds
    /// [`Key::ORDER_MAX`].
    #[inline]
    pub fn reserve(&mut self, rank: u64, component: Component) -> Key {
        match self.ties {
            Ties::Rank => Key::new(rank, component),
            Ties::Insertion => {
                self.inserted += 1;
                assert!(
                    self.inserted <= Key::ORDER_MAX,
                    "order numbers of events are used up"
                );
                Key::new(self.inserted, component)
            }
        }
    }

    /// As [`reserve`](Self::reserve), for what the [key](Key::ranked) of rank and component is known of.
    #[inline]
    pub fn reserve_ranked(&mut self, ranked: Key) -> Key {
        match self.ties {
            Ties::Rank => ranked,
            Ties::Insertion => self.reserve(0, ranked.component()),
        }
    }

    /// Schedules an event.
    ///
    /// # Panics
    /// In debug builds, if `time` has passed.
    #[inline]
    pub fn schedule(&mut self, time: Time, key: Key) {
        debug_assert!(time >= self.now(), "an event in the past");
        self.calendar.push(Event { time, key });
    }

    /// A few of the next events, last one first: hints for whoever wants to fetch what they will touch.
    #[inline]
    pub fn near(&self) -> &[Event] {
        self.calendar.near()
    }

    /// Finds the next few events if none is [`near`](Self::near); `false` if none waits at all. Shows
    /// most of those that will be near after them, in any order, for the same reason.
    #[inline]
    pub fn turn(&mut self, show: impl FnMut(Event)) -> bool {
        self.calendar.turn(show)
    }

    /// Moves the clock to the next event if it is [`near`](Self::near) and comes before `bound`.
    #[inline]
    pub fn next_event_before(&mut self, bound: Event) -> Option<Event> {
        let next = self.calendar.near().last()?;
        if *next >= bound {
            return None;
        }
        self.next_event()
    }

    /// Moves the clock to the next event.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        let event = self.calendar.pop()?;
        debug_assert!(event.time >= self.now(), "time went back");
        if event < self.current {
            self.latest = self.latest.max(self.current);
        }
        self.current = event;
        self.handled += 1;
        Some(event)
    }
}
