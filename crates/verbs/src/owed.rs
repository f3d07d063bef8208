//! Events that a program has taken and not acknowledged: an object waits for that before it goes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How many acknowledgements an object is owed.
#[derive(Debug, Default)]
pub(crate) struct Owed {
    count: Mutex<u64>,
    paid: Condvar,
}

impl Owed {
    fn lock(&self) -> MutexGuard<'_, u64> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more has been taken.
    pub(crate) fn add(&self) {
        *self.lock() += 1;
    }

    /// `count` events are acknowledged.
    pub(crate) fn pay(&self, count: u64) {
        let mut owed = self.lock();
        *owed = owed.saturating_sub(count);
        self.paid.notify_all();
    }

    /// Waits until all are.
    pub(crate) fn wait(&self) {
        let waited = self.paid.wait_while(self.lock(), |owed| *owed > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
