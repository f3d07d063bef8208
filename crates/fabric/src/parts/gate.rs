//! Where threads wait for each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread goes to sleep: windows are short.
const LOOKS: u32 = 1 << 10;

/// A barrier that is cheap where threads arrive nearly together.
#[derive(Debug)]
pub(super) struct Gate {
    threads: usize,
    arrived: AtomicUsize,
    openings: AtomicUsize,
    sleep: Mutex<()>,
    opened: Condvar,
}

impl Gate {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads,
            arrived: AtomicUsize::new(0),
            openings: AtomicUsize::new(0),
            sleep: Mutex::new(()),
            opened: Condvar::new(),
        }
    }

    /// Waits until all threads have come.
    pub(super) fn wait(&self) {
        let opening = self.openings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Release);
            // Under the lock, so that nobody falls asleep between looking and waiting.
            let guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
            self.openings.fetch_add(1, Ordering::Release);
            drop(guard);
            self.opened.notify_all();
            return;
        }
        for _ in 0..LOOKS {
            if self.openings.load(Ordering::Acquire) != opening {
                return;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.sleep.lock().unwrap_or_else(PoisonError::into_inner);
        while self.openings.load(Ordering::Acquire) == opening {
            guard = self
                .opened
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
