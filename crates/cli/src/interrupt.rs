//! Notices SIGINT, SIGTERM and SIGHUP, so that a run can clean up before it dies.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Remembers whether the process has been asked to end.
///
/// A second signal ends the process at once: then the staging directory stays behind under its
/// telltale name.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Starts to listen.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let signal = Arc::new(AtomicUsize::new(0));
        Self::register(&signal)
            .map_err(|error| Failure::new(format!("can't listen for signals: {error}")))?;
        Ok(Self { signal })
    }

    fn register(signal: &Arc<AtomicUsize>) -> io::Result<()> {
        let again = Arc::new(AtomicBool::new(false));
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // Handlers run in this order: the first signal finds `again` still false.
            flag::register_conditional_default(number, Arc::clone(&again))?;
            flag::register(number, Arc::clone(&again))?;
            flag::register_usize(number, Arc::clone(signal), number.unsigned_abs() as usize)?;
        }
        Ok(())
    }

    /// Whether a signal has arrived.
    pub(crate) fn arrived(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// An error if a signal has arrived.
    ///
    /// # Errors
    /// [`Failure::Interrupted`] with the signal's number.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self.signal.load(Ordering::Relaxed) {
            0 => Ok(()),
            number => Err(Failure::Interrupted {
                signal: i32::try_from(number).unwrap_or(SIGINT),
                words: "interrupted: nothing was written".into(),
            }),
        }
    }
}
