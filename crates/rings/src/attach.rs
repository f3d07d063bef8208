//! How the other end of a port comes to another process.
//!
//! Invariant of the `unsafe` blocks: every pointer that a call gets is to a value or buffer that outlives the call, and every length is
//! that of what it points to.
#![allow(
    unsafe_code,
    reason = "descriptors through sockets, which the standard library doesn't have"
)]

use std::io::{self, Read as _, Write as _};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use crate::memory::checked;
use crate::port::{Port, Shared};

/// The byte that the memory comes with: the version of the memory's layout.
const VERSION: u8 = 2;
/// The byte that a reason comes with, in place of memory.
const REFUSED: u8 = 0;
/// Bytes of the longest reason.
const REASON: u64 = 200;
/// Room for a control message with a descriptor.
const ROOM: usize = 64;

/// Room for a control message, aligned as that wants it.
#[repr(C, align(8))]
struct Control([u8; ROOM]);

/// Makes a port, gives its other end to who is at the other end of a socket, and returns the own one. What that end is to know from the
/// beginning, `tell` states.
///
/// # Errors
/// If the system has no memory, or the socket takes nothing.
pub fn give(socket: UnixStream, tell: impl FnOnce(&Shared)) -> io::Result<Port> {
    let descriptor = socket.as_raw_fd();
    let (port, file) = Port::own(socket)?;
    tell(&port.shared);
    send(descriptor, file.as_raw_fd())?;
    Ok(port)
}

/// Tells who is at the other end of a socket why it is given no port.
///
/// # Errors
/// If the socket takes nothing.
pub fn refuse(mut socket: &UnixStream, reason: &str) -> io::Result<()> {
    socket.write_all(&[REFUSED])?;
    socket.write_all(reason.as_bytes())
}

/// Takes the end of a port that somebody [gives](give); waits for it.
///
/// # Errors
/// If nothing comes, something else, or the reason why there is none.
pub fn take(mut socket: UnixStream) -> io::Result<Port> {
    let Some(file) = receive(socket.as_raw_fd())? else {
        let mut reason = Vec::new();
        (&mut socket).take(REASON).read_to_end(&mut reason)?;
        let reason = String::from_utf8_lossy(&reason);
        return Err(io::Error::other(reason.into_owned()));
    };
    Port::of(socket, &file)
}

fn send(socket: RawFd, descriptor: RawFd) -> io::Result<()> {
    let mut byte = VERSION;
    let mut vector = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let mut control = Control([0; ROOM]);
    let length = size_of::<RawFd>() as libc::c_uint;
    // SAFETY: it is plain numbers and pointers, of which zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    // SAFETY: these compute lengths, and the room has that of a message with a descriptor.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(length) as usize;
        let first = libc::CMSG_FIRSTHDR(&raw const header);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(length) as usize;
        libc::CMSG_DATA(first)
            .cast::<RawFd>()
            .write_unaligned(descriptor);
    }
    // SAFETY: header, vector, byte and control message live until the end of this function.
    let sent = unsafe { libc::sendmsg(socket, &raw const header, libc::MSG_NOSIGNAL) };
    checked(sent).map(drop)
}

/// The memory of a port, unless there is a reason for none.
fn receive(socket: RawFd) -> io::Result<Option<OwnedFd>> {
    let mut byte = 0_u8;
    let mut vector = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let mut control = Control([0; ROOM]);
    // SAFETY: it is plain numbers and pointers, of which zero is a value.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = ROOM;
    // SAFETY: header, vector, byte and room live until the end of this function.
    let length = unsafe { libc::recvmsg(socket, &raw mut header, libc::MSG_CMSG_CLOEXEC) };
    let length = checked(length)?;
    let mut taken = Vec::new();
    // SAFETY: the header is that of the call that has just filled it; each message is within what the kernel has filled, and its
    // descriptors are new and nobody else's.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(&raw const header);
        while !message.is_null() {
            if (*message).cmsg_level == libc::SOL_SOCKET && (*message).cmsg_type == libc::SCM_RIGHTS
            {
                let bytes = (*message).cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(message).cast::<RawFd>();
                for at in 0..bytes / size_of::<RawFd>() {
                    taken.push(OwnedFd::from_raw_fd(data.add(at).read_unaligned()));
                }
            }
            message = libc::CMSG_NXTHDR(&raw const header, message);
        }
    }
    let wrong = || io::Error::other("the other end isn't of this version");
    if length == 1 && byte == REFUSED && taken.is_empty() {
        return Ok(None);
    }
    if length != 1 || byte != VERSION {
        return Err(wrong());
    }
    let [file] = <[OwnedFd; 1]>::try_from(taken).map_err(|_| wrong())?;
    Ok(Some(file))
}
