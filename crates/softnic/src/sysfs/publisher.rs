//! The thread that adds a device's counters to those of its tree.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::Tree;
use crate::counters::Counters;
use crate::engine::figures;
use crate::error::Error;
use crate::progress::Shared;
use crate::signal::{self, Signal, start_thread};

/// How often it adds: ten times a second costs nobody anything, and is more often than people and their tools look.
const PERIOD: Duration = Duration::from_millis(100);
/// Room of its stack, of which it needs little.
const STACK: usize = 256 << 10;

/// The thread.
#[derive(Debug)]
pub(crate) struct Publisher {
    thread: JoinHandle<()>,
    stop: Arc<Signal>,
}

impl Publisher {
    /// Adds what a device counts to the files of its name.
    pub(crate) fn start(shared: Arc<Shared>, tree: Tree, name: String) -> Result<Self, Error> {
        let stop = Arc::new(Signal::new()?);
        let told = stop.clone();
        let mut publishing = Publishing {
            shared,
            tree,
            name,
            published: Counters::default(),
            was_up: true,
        };
        let run = move || {
            while !signal::wait([told.descriptor()], Some(PERIOD))[0] {
                publishing.publish();
            }
            publishing.publish();
        };
        let builder = std::thread::Builder::new().name("softnic-sysfs".to_owned());
        let thread = start_thread(builder.stack_size(STACK), run);
        let thread = thread.map_err(|error| Error::System("thread", error))?;
        Ok(Self { thread, stop })
    }

    /// Adds the rest, and ends the thread.
    pub(crate) fn close(self) {
        self.stop.raise();
        // A thread that has panicked has said so.
        drop(self.thread.join());
    }
}

/// What the thread has.
struct Publishing {
    shared: Arc<Shared>,
    tree: Tree,
    name: String,
    published: Counters,
    was_up: bool,
}

impl Publishing {
    fn publish(&mut self) {
        let (all, is_up) = {
            let inner = self.shared.lock();
            (figures::of_device(&inner.engine), inner.port.is_up())
        };
        if all == self.published && is_up == self.was_up {
            return;
        }
        let more = all.since(&self.published);
        // Whoever has removed the tree, or may not write it, has no counters there.
        if self.tree.count(&self.name, &more, is_up).is_ok() {
            (self.published, self.was_up) = (all, is_up);
        }
    }
}
