//! Who is at the other end of a Unix socket.
//!
//! Invariant of the `unsafe` blocks: pointers are to values on the stack that outlive the call, with their lengths.
#![allow(
    unsafe_code,
    reason = "credentials of sockets, which the standard library doesn't have"
)]

use std::io;
use std::os::fd::RawFd;

use crate::socket::checked;

/// Whether who has connected is of our user, or root.
pub(super) fn may_ask(socket: RawFd) -> io::Result<bool> {
    let mut peer = libc::ucred {
        pid: 0,
        uid: libc::uid_t::MAX,
        gid: libc::gid_t::MAX,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the structure and its length live on the stack.
    let code = unsafe {
        libc::getsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    checked(code as isize)?;
    // SAFETY: it has no arguments and can't fail.
    let own = unsafe { libc::geteuid() };
    Ok(peer.uid == own || peer.uid == 0)
}
