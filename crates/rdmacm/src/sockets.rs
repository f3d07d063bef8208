//! Waiting for descriptors, as sockets over RDMA have it. There are none of those here, so every descriptor is an ordinary
//! one.
//!
//! librspreload calls these for all that a program waits for, also where it has fallen back to the system's sockets. It stands
//! before `poll` and `select`, but not before those that are called here.

use std::ffi::c_int;

use crate::guard::{Errno, entry};

/// The result of a call of the system.
fn said(result: c_int) -> Result<c_int, Errno> {
    if result < 0 {
        Err(Errno::last())
    } else {
        Ok(result)
    }
}

entry! {
    fn rpoll(descriptors: *mut libc::pollfd, count: libc::nfds_t, timeout: c_int) -> c_int {
        let wait = libc::timespec {
            tv_sec: (timeout / 1_000).into(),
            tv_nsec: (timeout % 1_000 * 1_000_000).into(),
        };
        // Whoever says less than nothing waits for ever.
        let wait = if timeout < 0 { std::ptr::null() } else { &raw const wait };
        // SAFETY: programs pass so many descriptors.
        said(unsafe { libc::ppoll(descriptors, count, wait, std::ptr::null()) })
    }

    fn rselect(
        count: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        exceptional: *mut libc::fd_set,
        timeout: *const libc::timeval,
    ) -> c_int {
        let wait = crate::object::read(timeout).map(|timeout| libc::timespec {
            tv_sec: timeout.tv_sec,
            tv_nsec: timeout.tv_usec.saturating_mul(1_000),
        });
        let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: programs pass null or sets of so many.
        said(unsafe {
            libc::pselect(count, readable, writable, exceptional, wait, std::ptr::null())
        })
    }
}
