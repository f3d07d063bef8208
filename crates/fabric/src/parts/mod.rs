//! A fabric on several threads: parts that share nothing, in windows of virtual time.
//!
//! The fabric is [cut](cut) at links. Each part is a [`World`] with an engine of its own, which handles the
//! events of the nodes that are in it; packets cross by value. A window is no longer than what
//! happens in one part takes to be heard of in another, so that within it no part waits for another. In
//! profile `exact` the order of simultaneous events follows from the scenario alone, so a part does what it
//! would do within the whole.
//!
//! What has no such delay is decided between windows: links fail, the watch looks, the scenario's end comes at
//! times that are known beforehand, and windows end there. The run ends with the last message, which nobody
//! knows beforehand: windows go on only while some message has so much to send that it can't end in the next
//! one. Where there is none, one thread handles the events of all parts in their order, one by one.

pub(crate) mod coordinator;
pub(crate) mod cut;
mod gate;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fairlane_engine::Event;
use fairlane_units::Duration;

use crate::world::World;
use gate::Gate;

/// How a run on several threads went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Threading {
    /// Threads, each with a part of the fabric.
    pub threads: usize,
    /// Windows.
    pub windows: u64,
    /// Events that one thread handled for all parts.
    pub single_events: u64,
    /// The longest that a window may be.
    pub lookahead: Duration,
    /// The part of events for which threads had to wait: those that the busiest thread handled in each window,
    /// beyond an equal share.
    pub waiting: f64,
}

/// What the threads of a run have in common.
pub(crate) struct Shared {
    parts: Vec<Mutex<World>>,
    gate: Gate,
    /// The event before which the present window ends.
    bound: Mutex<Event>,
    over: AtomicBool,
    /// A thread has panicked.
    failed: AtomicBool,
}

/// What a thread has panicked with.
type Panic = Box<dyn std::any::Any + Send>;

impl Shared {
    fn new(parts: Vec<World>) -> Self {
        Self {
            gate: Gate::new(parts.len()),
            parts: parts.into_iter().map(Mutex::new).collect(),
            bound: Mutex::new(Event::NEVER),
            over: AtomicBool::new(false),
            failed: AtomicBool::new(false),
        }
    }

    fn lock(&self, part: usize) -> MutexGuard<'_, World> {
        // A thread that panics takes the run down with it.
        self.parts[part]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn bound(&self) -> Event {
        *self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_bound(&self, bound: Event) {
        *self.bound.lock().unwrap_or_else(PoisonError::into_inner) = bound;
    }

    /// Handles the events of a part window by window, until the run is over.
    fn work(&self, part: usize) {
        let mut panic = None;
        loop {
            self.gate.wait();
            if self.over.load(Ordering::Acquire) {
                break;
            }
            panic = self.window(part).or(panic);
        }
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
    }

    /// Handles the events of a part in the present window; returns when all have. Whoever panics still comes to
    /// the gate, or the others would wait there for ever.
    fn window(&self, part: usize) -> Option<Panic> {
        let bound = self.bound();
        let handled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            self.lock(part).handle(u64::MAX, bound, false);
        }));
        let panic = handled.err();
        if panic.is_some() {
            self.failed.store(true, Ordering::Release);
        }
        self.gate.wait();
        panic
    }
}
