//! Memory that two processes have.
//!
//! Invariants, on which every `unsafe` block here relies:
//! 1. The bytes of a [`Memory`] stay mapped for reads and writes while it exists, and its file is sealed, so that they stay there.
//! 2. Bounds are checked here; words are aligned to their size.
//! 3. The other process may write anywhere at any time. Words are atomic; bytes are copied out and in, and what is copied while it
//!    is written has no meaning.
#![allow(unsafe_code, reason = "memory that another process has, too")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Pages of memory that another process has, too.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: it is bytes, which any thread may use as the invariants say.
unsafe impl Send for Memory {}
// SAFETY: as before.
unsafe impl Sync for Memory {}

/// The error of a call that says so.
pub(crate) fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

impl Memory {
    /// Zeros in a file without a name, whose length nobody can change.
    pub(crate) fn new(length: usize) -> io::Result<(Self, OwnedFd)> {
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: the name is a string with an end.
        let file = unsafe { libc::memfd_create(c"fairlane-rings".as_ptr(), flags) };
        checked(file as isize)?;
        // SAFETY: the descriptor is new and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        let size = libc::off_t::try_from(length).map_err(io::Error::other)?;
        // SAFETY: it has no pointers.
        checked(unsafe { libc::ftruncate(file.as_raw_fd(), size) } as isize)?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: it has no pointers.
        checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } as isize)?;
        let memory = Self::map(file.as_fd(), length)?;
        Ok((memory, file))
    }

    /// The memory in a file of another process.
    ///
    /// # Errors
    /// If it hasn't this length, or its length can change: then bytes could go away.
    pub(crate) fn of(file: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        // SAFETY: it has no pointers.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        checked(seals as isize)?;
        // SAFETY: it is plain numbers, of which zero is a value.
        let mut known: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: the structure lives on the stack.
        checked(unsafe { libc::fstat(file.as_raw_fd(), &raw mut known) } as isize)?;
        let fits = usize::try_from(known.st_size) == Ok(length);
        if seals & SEALS != SEALS || !fits {
            return Err(io::Error::other("the memory isn't what rings need"));
        }
        Self::map(file, length)
    }

    fn map(file: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses where; the file has that length, and is sealed by then.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(mapped) if start != libc::MAP_FAILED => Ok(Self {
                start: mapped,
                length,
            }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// A word of 32 bits.
    pub(crate) fn word(&self, at: usize) -> &AtomicU32 {
        assert!(
            at.is_multiple_of(4) && at + 4 <= self.length,
            "a word there"
        );
        // SAFETY: it is within the memory, aligned, and lives as long as that.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// A word of 64 bits.
    pub(crate) fn long(&self, at: usize) -> &AtomicU64 {
        assert!(
            at.is_multiple_of(8) && at + 8 <= self.length,
            "a word there"
        );
        // SAFETY: it is within the memory, aligned, and lives as long as that.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Copies bytes out.
    pub(crate) fn read(&self, at: usize, into: &mut [u8]) {
        assert!(at + into.len() <= self.length, "bytes there");
        // SAFETY: they are within the memory, and what they are copied to is nobody else's.
        unsafe {
            self.start
                .as_ptr()
                .add(at)
                .copy_to_nonoverlapping(into.as_mut_ptr(), into.len())
        };
    }

    /// Copies bytes in.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.length, "bytes there");
        // SAFETY: they are within the memory, and what is copied is no part of it.
        unsafe {
            self.start
                .as_ptr()
                .add(at)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has a reference into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
