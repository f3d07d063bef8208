//! Sections of calls between which others wait: a program begins by one call and ends by another one.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A lock that one call takes and another frees: one thread has it at a time.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    taken: Mutex<bool>,
    ended: Condvar,
}

impl Turn {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn and takes it.
    pub(crate) fn begin(&self) {
        let taken = self.ended.wait_while(self.lock(), |taken| *taken);
        *taken.unwrap_or_else(PoisonError::into_inner) = true;
    }

    /// Lets others have it.
    pub(crate) fn end(&self) {
        *self.lock() = false;
        self.ended.notify_one();
    }
}
