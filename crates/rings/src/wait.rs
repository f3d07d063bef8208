//! The system's clock, and waiting.
//!
//! Invariant of the `unsafe` blocks: pointers are to values that outlive the call, with their lengths.
#![allow(unsafe_code, reason = "what the standard library doesn't have")]

use std::os::fd::RawFd;
use std::time::Duration;

/// Nanoseconds of `CLOCK_MONOTONIC`, which all processes have in common.
pub fn monotonic() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure lives on the stack.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Lets this thread's sleeps end when they should: by default the kernel adds 50 us, to wake up for several at a time.
pub fn precise_sleep() {
    const NANOSECONDS: libc::c_ulong = 1;
    // SAFETY: it has no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, NANOSECONDS) };
}

/// Waits for descriptors, without allocating each time.
#[derive(Default)]
pub struct Waiter(Vec<libc::pollfd>);

impl Waiter {
    /// Waits until one of the descriptors has something to read, at most so long, or until a signal comes.
    pub fn wait(&mut self, descriptors: impl Iterator<Item = RawFd>, most: Duration) {
        let poll = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        self.0.clear();
        self.0.extend(descriptors.map(poll));
        let most = libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: most.subsec_nanos().into(),
        };
        // SAFETY: the descriptors are in a list of that length, and the time lives on the stack.
        unsafe {
            libc::ppoll(
                self.0.as_mut_ptr(),
                self.0.len() as libc::nfds_t,
                &raw const most,
                std::ptr::null(),
            )
        };
    }
}
