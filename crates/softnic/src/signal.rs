//! Descriptors that are readable while something waits: for the device's thread, and for applications. And signals of the
//! system, which are for applications only.
//!
//! Invariants of the `unsafe` blocks: pointers are to values on the stack that outlive the call, with their lengths.
#![allow(
    unsafe_code,
    reason = "eventfd and signals, which the standard library doesn't have"
)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::error::Error;
use crate::socket::checked;

/// A descriptor that is readable from when it is raised until it is lowered.
#[derive(Debug)]
pub(crate) struct Signal {
    descriptor: OwnedFd,
}

impl Signal {
    /// One that isn't raised.
    pub(crate) fn new() -> Result<Self, Error> {
        // SAFETY: it has no pointers. Whether reads wait is what an application decides, as of any channel's descriptor.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        checked(descriptor as isize).map_err(|error| Error::System("eventfd", error))?;
        // SAFETY: the descriptor is new and nobody else's.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        Ok(Self { descriptor })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Makes it readable; also tells whoever watches for edges.
    pub(crate) fn raise(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes of a value on the stack. That it may be full doesn't matter: then it is readable.
        unsafe { libc::write(self.descriptor(), (&raw const one).cast(), 8) };
    }

    /// Makes it unreadable.
    pub(crate) fn lower(&self) {
        if !wait([self.descriptor()], Some(Duration::ZERO))[0] {
            return;
        }
        let mut count = 0_u64;
        // SAFETY: eight bytes of a value on the stack.
        unsafe { libc::read(self.descriptor(), (&raw mut count).cast(), 8) };
    }

    /// Waits until it is raised, and lowers it; or until another descriptor has something to read, which is returned, or until
    /// time is over.
    pub(crate) fn wait(&self, other: Option<RawFd>, most: Duration) -> bool {
        // A negative descriptor is passed over.
        let [raised, readable] = wait([self.descriptor(), other.unwrap_or(-1)], Some(most));
        if raised {
            self.lower();
        }
        readable
    }
}

/// Waits until a descriptor has something to read, at most so long, or until a signal of the system comes; returns which have.
pub(crate) fn wait<const COUNT: usize>(
    descriptors: [RawFd; COUNT],
    most: Option<Duration>,
) -> [bool; COUNT] {
    let mut all = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    let most = most.map(|most| libc::timespec {
        tv_sec: most.as_secs() as libc::time_t,
        tv_nsec: most.subsec_nanos().into(),
    });
    let most = most.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: descriptors and time live on the stack, and the number of descriptors is theirs.
    unsafe {
        libc::ppoll(
            all.as_mut_ptr(),
            COUNT as libc::nfds_t,
            most,
            std::ptr::null(),
        )
    };
    all.map(|one| one.revents != 0)
}

/// Lets this thread's sleeps end when they should: by default the kernel adds 50 us, to wake up for several at a time.
pub(crate) fn precise_sleep() {
    const NANOSECONDS: libc::c_ulong = 1;
    // SAFETY: it has no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, NANOSECONDS) };
}

/// Lets other threads go first from now on, before this one and those that it starts: one that polls without end would have a lab, and
/// NICs, wait for processors.
pub(crate) fn let_others_go_first() {
    const LAST: libc::c_int = 19;
    // SAFETY: it has no pointers. On Linux it is about the thread that calls; that it may fail doesn't matter.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LAST) };
}

/// Does something with all signals of the system held back from this thread. A thread that is started meanwhile never gets
/// any: an application's handlers run on its own threads, whose calls they interrupt.
fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both are sets on the stack; the first one is filled before it is read.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let done = act();
    // SAFETY: the set has been filled: what the call above is told to do with a set is one of the three that exist.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    done
}

/// Starts a thread that takes no signals, and waits until it runs: libfabric replaces code of `munmap` while a program starts
/// (`memhooks`), and a thread that the C library gives a heap to at that moment is in there.
pub(crate) fn start_thread(
    builder: thread::Builder,
    run: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let runs = Arc::new(Barrier::new(2));
    let known = runs.clone();
    let thread = without_signals(|| {
        builder.spawn(move || {
            known.wait();
            run();
        })
    })?;
    runs.wait();
    Ok(thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readable(signal: &Signal) -> bool {
        wait([signal.descriptor()], Some(Duration::ZERO))[0]
    }

    #[test]
    fn it_is_readable_from_raise_to_lower() {
        let signal = Signal::new().unwrap();
        assert!(!readable(&signal));
        signal.raise();
        signal.raise();
        assert!(readable(&signal));
        signal.lower();
        assert!(!readable(&signal));
    }
}
