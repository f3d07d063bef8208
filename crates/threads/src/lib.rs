//! Threads that work through items: all at once, or as a stream.
//!
//! [`Threads::for_each`](fairlane_drum::Workers::for_each) is how the solvers of `fairlane-drum` use
//! more than one processor, and [`Threads::stream`] maps a source that doesn't fit into memory.
//! Items are taken in order by whichever thread is free.
//!
//! What this crate refuses: results that depend on the number of threads. A task sees its own item
//! alone, and a stream comes out in the order in which it went in.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use fairlane_drum::Workers;
//! use fairlane_threads::Threads;
//!
//! let threads = Threads::new(4);
//! let mut numbers = [1, 2, 3];
//! threads.for_each(&mut numbers, |index, number| *number += index);
//! assert_eq!(numbers, [1, 3, 5]);
//!
//! let mut squares = Vec::new();
//! threads.stream(1.., |_, number| number * number, |square| {
//!     squares.push(square);
//!     if squares.len() < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
//! });
//! assert_eq!(squares, [1, 4, 9, 16]);
//! ```
#![forbid(unsafe_code)]

mod stream;

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

use fairlane_drum::Workers;

/// A number of threads that exist while there is work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    count: NonZeroUsize,
}

impl Threads {
    /// `count` threads, at least one.
    pub fn new(count: usize) -> Self {
        let count = NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
        Self { count }
    }

    /// As many threads as this machine runs at a time; one where it doesn't say.
    pub fn available() -> Self {
        let count = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { count }
    }

    /// How many there are.
    pub const fn count(self) -> usize {
        self.count.get()
    }
}

impl Workers for Threads {
    fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        let threads = self.count().min(items.len());
        if threads <= 1 {
            return fairlane_drum::Sequential.for_each(items, task);
        }
        let queue = Mutex::new(items.iter_mut().enumerate());
        let work = || {
            // The guard goes before the task runs. Taking an item can't panic.
            let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((index, item)) = next() {
                task(index, item);
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_item_is_worked_on_once(count in 0usize..200, threads in 0usize..9) {
            let mut items = vec![0; count];
            Threads::new(threads).for_each(&mut items, |index, item| *item += index + 1);
            prop_assert_eq!(items, (1..=count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_more_threads_than_asked_for_are_at_work() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Threads::new(3).for_each(&mut [(); 50], |_, ()| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::yield_now();
            now.fetch_sub(1, Ordering::SeqCst);
        });
        assert!((1..=3).contains(&most.load(Ordering::SeqCst)));
    }

    #[test]
    #[should_panic(expected = "panicked")]
    fn a_panic_of_a_task_is_passed_on() {
        Threads::new(2).for_each(&mut [(); 8], |index, ()| {
            assert!(index != 3, "panicked at the third");
        });
    }
}
