//! What wakes who sleeps, and tells that the other end has gone: the socket between both.
//!
//! Each end has a descriptor of its own, with flags of its own, so neither can make the other wait.
//!
//! Invariant of the `unsafe` blocks: every pointer that a call gets is to a buffer that outlives the call, and the length is its own.
#![allow(
    unsafe_code,
    reason = "calls that don't wait, whatever the descriptor does"
)]

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use crate::memory::checked;

/// The socket to the other end.
#[derive(Clone, Debug)]
pub(crate) struct Event(Arc<UnixStream>);

impl Event {
    pub(crate) fn new(socket: UnixStream) -> Self {
        Self(Arc::new(socket))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Wakes the other end. If it has more to read than it has room for, it is awake.
    pub(crate) fn raise(&self) {
        let byte = 0_u8;
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: a byte on the stack.
        unsafe { libc::send(self.descriptor(), (&raw const byte).cast(), 1, flags) };
    }

    /// Takes what the other end has woken this one with; `false` if it has gone.
    pub(crate) fn lower(&self) -> bool {
        let mut bytes = [0_u8; 64];
        let room = bytes.as_mut_ptr().cast();
        // SAFETY: bytes on the stack.
        let taken = unsafe { libc::recv(self.descriptor(), room, 64, libc::MSG_DONTWAIT) };
        match checked(taken) {
            Ok(count) => count > 0,
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
            ),
        }
    }
}
