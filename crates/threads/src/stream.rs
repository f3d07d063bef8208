//! A source mapped by several threads, in order and in bounded memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::Threads;

/// Results that may wait for an earlier one, for each thread.
const AHEAD: usize = 4;

impl Threads {
    /// Maps the items of a source and hands the results to `sink` in the order of the items.
    ///
    /// Besides the items at work, one for each thread, at most four results for each thread exist at
    /// a time. When `sink` breaks off, no further item is taken.
    pub fn stream<T: Send, R: Send>(
        self,
        source: impl IntoIterator<Item = T, IntoIter: Send>,
        task: impl Fn(usize, T) -> R + Sync,
        sink: impl FnMut(R) -> ControlFlow<()> + Send,
    ) {
        let source = Mutex::new(source.into_iter().enumerate());
        let outlet = Outlet {
            state: Mutex::new(State {
                waiting: BTreeMap::new(),
                next: 0,
                open: true,
                sink,
            }),
            moved: Condvar::new(),
            ahead: AHEAD * self.count(),
        };
        let work = || {
            let close = CloseOnPanic(&outlet);
            let take = || lock(&source).next();
            while outlet.is_open()
                && let Some((index, item)) = take()
            {
                outlet.put(index, task(index, item));
            }
            std::mem::forget(close);
        };
        thread::scope(|scope| {
            for _ in 1..self.count() {
                scope.spawn(work);
            }
            work();
        });
    }
}

/// Where results are put into their order.
struct Outlet<R, S> {
    state: Mutex<State<R, S>>,
    moved: Condvar,
    ahead: usize,
}

struct State<R, S> {
    waiting: BTreeMap<usize, R>,
    next: usize,
    open: bool,
    sink: S,
}

impl<R, S: FnMut(R) -> ControlFlow<()>> Outlet<R, S> {
    fn is_open(&self) -> bool {
        lock(&self.state).open
    }

    /// Hands on a result and those that waited for it, or lets it wait for its turn.
    fn put(&self, index: usize, result: R) {
        let far = |state: &mut State<R, S>| state.open && index >= state.next + self.ahead;
        let state = lock(&self.state);
        let mut state = self
            .moved
            .wait_while(state, far)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting.insert(index, result);
        state.drain();
        self.moved.notify_all();
    }
}

impl<R, S: FnMut(R) -> ControlFlow<()>> State<R, S> {
    fn drain(&mut self) {
        while self.open
            && let Some(result) = self.waiting.remove(&self.next)
        {
            self.next += 1;
            self.open = (self.sink)(result).is_continue();
        }
    }
}

/// Ends the stream when a task panics, so that nobody waits for its result.
struct CloseOnPanic<'a, R, S>(&'a Outlet<R, S>);

impl<R, S> Drop for CloseOnPanic<'_, R, S> {
    fn drop(&mut self) {
        lock(&self.0.state).open = false;
        self.0.moved.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;

    use super::*;

    fn collect(threads: usize, items: Vec<u32>, stop: usize) -> Vec<u64> {
        let mut all = Vec::new();
        Threads::new(threads).stream(
            items,
            |index, item| u64::from(item) + index as u64,
            |result| {
                all.push(result);
                if all.len() == stop {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        all
    }

    proptest! {
        #[test]
        fn order_is_kept(items in proptest::collection::vec(any::<u32>(), 0..100), threads in 0usize..6, stop in 1usize..120) {
            let expected: Vec<u64> =
                items.iter().zip(0..).map(|(item, index)| u64::from(*item) + index).take(stop).collect();
            prop_assert_eq!(collect(threads, items, stop), expected);
        }

        #[test]
        fn memory_is_bounded(threads in 1usize..5, slow in 0usize..40) {
            let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let source = (0..200usize).inspect(|_| {
                most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            });
            let task = |index, item| {
                if index == slow {
                    thread::sleep(std::time::Duration::from_millis(2));
                }
                item
            };
            Threads::new(threads).stream(source, task, |_: usize| {
                alive.fetch_sub(1, Ordering::SeqCst);
                ControlFlow::Continue(())
            });
            prop_assert!(most.load(Ordering::SeqCst) <= threads * (AHEAD + 1), "{most:?}");
        }
    }

    #[test]
    #[should_panic(expected = "panicked")]
    fn a_panic_of_a_task_ends_the_stream() {
        let task = |index: usize, (): ()| assert!(index != 5, "panicked at the fifth");
        Threads::new(3).stream(std::iter::repeat_n((), 1000), task, |()| {
            ControlFlow::Continue(())
        });
    }
}
