//! Which process this is, without a system call: how often it and those before it have been forked off.
//!
//! Invariant of the `unsafe` block: the handler does nothing but add to an atomic number, which a process that has just been
//! forked off may do.
#![allow(
    unsafe_code,
    reason = "pthread_atfork, which the standard library doesn't have"
)]

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Error;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Forks from the first [`watch`] to this process.
#[inline]
pub(crate) fn count() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Counts forks from now on, of this process and those that come of it; returns the [count](count).
pub(crate) fn watch() -> Result<u32, Error> {
    static CODE: OnceLock<i32> = OnceLock::new();
    let code = CODE.get_or_init(|| {
        // SAFETY: the handler may be called in a process that has just been forked off.
        unsafe { libc::pthread_atfork(None, None, Some(on_fork)) }
    });
    match *code {
        0 => Ok(count()),
        code => Err(Error::System(
            "handler of forks",
            io::Error::from_raw_os_error(code),
        )),
    }
}

extern "C" fn on_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
