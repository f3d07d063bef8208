//! The core of a discrete-event simulation: an event queue, a virtual clock, random streams.
//!
//! An [`Event`] is 16 bytes: a time and a key that says which component it wakes. Payload doesn't
//! travel in events: a component knows what it waits for. [`Engine`] is the clock and the queue in
//! one; a [`Wake`] is the one pending deadline of a component, which can be moved and cancelled
//! without searching the queue; a [`Stream`] is the random numbers of one component.
//!
//! What this crate refuses: to know what a packet is, to read a real clock, to hold global state
//! (many engines live in one process), to leave the order of simultaneous events to chance.
//!
//! # Order of simultaneous events
//! Events at equal times fire in ascending order of their *order* number, and that number is chosen
//! by [`Ties`]: a rank that belongs to the component, so that the order doesn't depend on which
//! other components share the engine; or the order of insertion, first in, first out.
//!
//! ```
//! use fairlane_engine::{Component, Engine, Ties};
//! use fairlane_units::{Duration, Time};
//!
//! let mut engine = Engine::new(Ties::Rank, Duration::from_us(4));
//! let (first, second) = (Component::new(7), Component::new(8));
//! for component in [second, first] {
//!     let key = engine.reserve(u64::from(component.get()), component);
//!     engine.schedule(Time::from_ns(5), key);
//! }
//! assert_eq!(engine.next_event().map(|event| event.component()), Some(first));
//! assert_eq!(engine.now(), Time::from_ns(5));
//! assert_eq!(engine.next_event().map(|event| event.component()), Some(second));
//! assert_eq!(engine.next_event(), None);
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod calendar;
mod clock;
mod event;
mod few;
mod random;
mod wake;

pub use calendar::Calendar;
pub use clock::{Engine, Ties};
pub use event::{Component, Event, Key};
pub use random::Stream;
pub use wake::Wake;
