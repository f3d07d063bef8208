//! Who measures runs.

use std::cmp::Reverse;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use fairlane_drum::Workers;
use fairlane_threads::Threads;

use crate::error::Error;
use crate::sweep::Sweep;
use crate::sweep::record::Record;

/// What hears of a run's end, and says whether to go on.
pub type Done<'a> = dyn FnMut(usize, Result<Record, Error>) -> ControlFlow<()> + Send + 'a;

/// Measures runs: on threads, in other processes or on other machines.
pub trait Executor {
    /// Measures `runs`, which are in the order in which to begin them, and hands over each as it ends, in any
    /// order. A run that nobody can say anything of, as its worker is gone, is to be measured again.
    ///
    /// # Errors
    /// If no more runs can be measured at all.
    fn execute(&self, sweep: &Sweep, runs: &[usize], done: &mut Done<'_>) -> Result<(), Error>;
}

/// Threads of this process.
#[derive(Clone, Copy)]
pub struct Local<'a> {
    /// The number of threads.
    pub threads: Threads,
    /// Whether to give up.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Local<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Local")
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl Executor for Local<'_> {
    fn execute(&self, sweep: &Sweep, runs: &[usize], done: &mut Done<'_>) -> Result<(), Error> {
        let ended = AtomicBool::new(false);
        let stopped = || ended.load(Ordering::Relaxed) || (self.stopped)();
        let done = Mutex::new(done);
        let mut runs = runs.to_vec();
        self.threads.for_each(&mut runs, |_, run| {
            if stopped() {
                return;
            }
            let record = sweep.measure(*run, &stopped);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            if !ended.load(Ordering::Relaxed) && done(*run, record).is_break() {
                ended.store(true, Ordering::Relaxed);
            }
        });
        Ok(())
    }
}

/// Runs in the order in which to begin them: the longest first, so that none of them is left at the end.
pub(super) fn in_order(sweep: &Sweep, mut runs: Vec<usize>) -> Vec<usize> {
    runs.sort_by_key(|run| (Reverse(sweep.runs()[*run].work), *run));
    runs
}
