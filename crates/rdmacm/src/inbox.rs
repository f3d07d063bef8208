//! Events of a channel, and the descriptor that says whether there are any.

use std::collections::VecDeque;
use std::ffi::c_int;

use crate::guard::Errno;
use crate::object::{Event, Ptr};

/// Events that haven't been taken. The descriptor is readable exactly while there are any; the lock of the world is held
/// by who changes either.
pub(crate) struct Inbox {
    fd: c_int,
    waiting: VecDeque<Ptr<Event>>,
}

impl Inbox {
    pub(crate) fn new() -> Result<Self, Errno> {
        // SAFETY: it takes numbers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(Errno::last());
        }
        let waiting = VecDeque::new();
        Ok(Self { fd, waiting })
    }

    pub(crate) const fn fd(&self) -> c_int {
        self.fd
    }

    pub(crate) fn push(&mut self, event: Ptr<Event>) {
        self.waiting.push_back(event);
        if self.waiting.len() == 1 {
            let one = 1_u64.to_ne_bytes();
            // SAFETY: the bytes are there; the descriptor is the channel's own.
            unsafe { libc::write(self.fd, one.as_ptr().cast(), one.len()) };
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Ptr<Event>> {
        let event = self.waiting.pop_front()?;
        self.settle();
        Some(event)
    }

    /// Takes the events of an id, and of requests to it.
    pub(crate) fn take_of(&mut self, id: usize) -> VecDeque<Ptr<Event>> {
        let split = self
            .waiting
            .drain(..)
            .partition(|event| event.event().of == id);
        let of_it: VecDeque<_>;
        (of_it, self.waiting) = split;
        if !of_it.is_empty() {
            self.settle();
        }
        of_it
    }

    /// Some have been taken.
    fn settle(&self) {
        if self.waiting.is_empty() {
            let mut bytes = [0; 8];
            // SAFETY: there is room for the count, which isn't zero: it doesn't block.
            unsafe { libc::read(self.fd, bytes.as_mut_ptr().cast(), bytes.len()) };
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.waiting.drain(..).for_each(Ptr::<Event>::take);
        // SAFETY: the descriptor is the channel's own.
        unsafe { libc::close(self.fd) };
    }
}

/// Waits until a descriptor is readable. `EAGAIN` if the program has said that it doesn't wait.
pub(crate) fn wait(fd: c_int) -> Result<(), Errno> {
    // SAFETY: it takes numbers.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(Errno::last());
    }
    if flags & libc::O_NONBLOCK != 0 {
        return Err(Errno(libc::EAGAIN));
    }
    let (events, revents) = (libc::POLLIN, 0);
    let mut watched = libc::pollfd {
        fd,
        events,
        revents,
    };
    // SAFETY: there is one descriptor.
    if unsafe { libc::poll(&raw mut watched, 1, -1) } < 0 {
        return Err(Errno::last());
    }
    Ok(())
}
