//! Work on a thread of its own, while the caller's hears of it and of signals.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

/// Signals wait no longer than this.
const PATIENCE: Duration = Duration::from_millis(50);

/// What work has of whoever waits for it.
pub(crate) struct Line<'a, E> {
    stop: &'a AtomicBool,
    tell: Mutex<Sender<E>>,
}

impl<E> Line<'_, E> {
    /// Whether to give up.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Tells of something.
    pub(crate) fn say(&self, event: E) {
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever waits stays until the work is done.
        let _ = tell.send(event);
    }
}

/// Carries out work without the interpreter's lock. Signals, and errors of `hear`, stop it; it is waited for all the
/// same, so that it can keep what is done.
///
/// # Errors
/// What a signal's handler or `hear` has raised.
pub(crate) fn during<E: Send, T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Line<'_, E>) -> T + Send,
    mut hear: impl FnMut(Python<'_>, E) -> PyResult<()> + Send,
) -> PyResult<T> {
    py.detach(|| {
        let (tell, told) = mpsc::channel();
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let tell = Mutex::new(tell);
            let worker = scope.spawn(move || work(&Line { stop, tell }));
            let mut raised = None;
            loop {
                let event = match told.recv_timeout(PATIENCE) {
                    Ok(event) => Some(event),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if raised.is_some() {
                    continue;
                }
                let heard = Python::attach(|py| {
                    event.map_or(Ok(()), |event| hear(py, event))?;
                    py.check_signals()
                });
                raised = heard.err();
                stop.store(raised.is_some(), Ordering::Relaxed);
            }
            match (raised, worker.join()) {
                (Some(raised), _) => Err(raised),
                (None, Ok(done)) => Ok(done),
                (None, Err(panic)) => resume_unwind(panic),
            }
        })
    })
}
