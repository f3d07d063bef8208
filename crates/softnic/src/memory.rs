//! Memory that packets are read from and written to: the bytes behind a registered region.
//!
//! Invariants, on which every `unsafe` block here relies:
//! 1. The bytes `start .. start + length` of a [`Span`] stay allocated for reads and writes while it exists: it owns them, or
//!    whoever made it of an address promised so. Of a null one there are none, and no place is ever made.
//! 2. Bounds are checked here, whatever callers have checked before.
//! 3. Every access of a device happens under its lock. Memory that an application has registered by address may be
//!    touched by it at the same time, as with any NIC; what then is read is unspecified, and only by it.
#![allow(unsafe_code, reason = "the memory of applications is known by address")]

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// A piece of memory.
#[derive(Debug)]
pub(crate) struct Span {
    start: *mut u8,
    length: usize,
    behind: Behind,
}

/// What is behind a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// Memory of others.
    Foreign,
    /// Memory of this many words, which is freed with the span.
    Own(usize),
    /// No memory: what is written is dropped, what is read is zeros.
    Nothing,
}

// SAFETY: it is bytes; whoever made it of an address promised that they stay, on whichever thread.
unsafe impl Send for Span {}

impl Span {
    /// Zeros that live as long as the span, aligned to eight bytes.
    pub(crate) fn zeroed(length: usize) -> Self {
        let words = length.div_ceil(8);
        let bytes = Box::into_raw(vec![0_u64; words].into_boxed_slice());
        Self {
            start: bytes.cast::<u8>(),
            length,
            behind: Behind::Own(words),
        }
    }

    /// As many bytes as there can be, with no memory behind them.
    pub(crate) const fn null() -> Self {
        Self {
            start: ptr::null_mut(),
            length: usize::MAX,
            behind: Behind::Nothing,
        }
    }

    /// The memory at an address.
    ///
    /// # Safety
    /// `length` bytes there must stay allocated for reads and writes, by any thread, until the span is dropped.
    pub(crate) unsafe fn at(start: *mut u8, length: usize) -> Self {
        Self {
            start,
            length,
            behind: Behind::Foreign,
        }
    }

    pub(crate) fn address(&self) -> u64 {
        self.start.addr() as u64
    }

    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// Whether there is no memory behind it.
    pub(crate) fn is_null(&self) -> bool {
        self.behind == Behind::Nothing
    }

    /// The place of `length` bytes of memory from `offset` on, if they are inside.
    fn place(&self, offset: usize, length: usize) -> Option<*mut u8> {
        let end = offset.checked_add(length)?;
        let inside = end <= self.length && !self.is_null();
        // SAFETY: invariant 1, as the place is inside or right behind the last byte.
        inside.then(|| unsafe { self.start.add(offset) })
    }

    /// Copies bytes out; `false` if they aren't inside.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> bool {
        if self.is_null() {
            into.fill(0);
            return true;
        }
        let Some(from) = self.place(offset, into.len()) else {
            return false;
        };
        // SAFETY: invariants 1 and 2. A caller may pass memory that it has registered: then they may overlap.
        unsafe { ptr::copy(from, into.as_mut_ptr(), into.len()) };
        true
    }

    /// Copies bytes in; `false` if they aren't inside.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(to) = self.place(offset, bytes.len()) else {
            return self.is_null();
        };
        // SAFETY: as in `read`.
        unsafe { ptr::copy(bytes.as_ptr(), to, bytes.len()) };
        true
    }

    /// Whether eight bytes at a place are aligned in memory.
    pub(crate) fn is_aligned(&self, offset: usize) -> bool {
        (self.start.addr() + offset).is_multiple_of(8)
    }

    /// Changes eight aligned bytes, atomically for the processor's own atomics too; returns what they were. `None` if
    /// they aren't inside, or not aligned in memory.
    pub(crate) fn update(&self, offset: usize, change: impl Fn(u64) -> u64) -> Option<u64> {
        let place = self.place(offset, 8)?.cast::<u64>();
        if !place.is_aligned() {
            return None;
        }
        // SAFETY: invariants 1 and 2, and the place is aligned.
        let word = unsafe { AtomicU64::from_ptr(place) };
        let changed =
            word.fetch_update(Ordering::AcqRel, Ordering::Acquire, |was| Some(change(was)));
        changed.ok()
    }
}

/// Whether every page of some memory is mapped, so that to touch it won't end the process.
pub(crate) fn is_mapped(start: *const u8, length: usize) -> bool {
    const PAGES: usize = 1024;
    // SAFETY: it has no pointers.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let Some(end) = start.addr().checked_add(length) else {
        return false;
    };
    let mut at = start.addr() / page * page;
    let mut resident = [0; PAGES];
    while at < end {
        let part = (end - at).min(PAGES * page);
        let place = start.with_addr(at).cast_mut().cast();
        // SAFETY: it looks at no memory but the list on the stack, which has room for a byte of each page.
        if unsafe { libc::mincore(place, part, resident.as_mut_ptr()) } != 0 {
            return false;
        }
        at += part;
    }
    true
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Behind::Own(words) = self.behind {
            let slice = ptr::slice_from_raw_parts_mut(self.start.cast::<u64>(), words);
            // SAFETY: it is the box that `zeroed` made.
            drop(unsafe { Box::from_raw(slice) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_is_touched() {
        let span = Span::zeroed(16);
        assert!(span.write(12, &[1, 2, 3, 4]) && !span.write(13, &[9; 4]));
        assert!(!span.write(usize::MAX, &[9]) && span.write(16, &[]));
        let mut bytes = [0; 5];
        assert!(!span.read(12, &mut bytes) && span.read(11, &mut bytes));
        assert_eq!(bytes, [0, 1, 2, 3, 4]);
        assert_eq!(span.update(8, |was| was + 1), Some(0x0403_0201 << 32));
        assert_eq!(
            (span.update(9, |was| was), span.update(16, |was| was)),
            (None, None)
        );
    }

    #[test]
    fn nothing_is_behind_a_null_span() {
        let span = Span::null();
        assert!(span.write(1 << 40, &[1, 2]));
        let mut bytes = [7; 2];
        assert!(span.read(1 << 40, &mut bytes));
        assert_eq!(bytes, [0, 0]);
        assert_eq!(span.update(8, |was| was + 1), None);
    }

    #[test]
    fn pages_that_are_not_mapped_are_known() {
        let bytes = vec![1_u8; 5 << 20];
        assert!(is_mapped(bytes.as_ptr(), bytes.len()));
        assert!(is_mapped(ptr::null(), 0));
        assert!(!is_mapped(ptr::null(), 1));
        assert!(!is_mapped(bytes.as_ptr(), usize::MAX));
        assert!(!is_mapped(bytes.as_ptr(), 1 << 46));
    }

    #[test]
    fn memory_of_others_is_not_freed() {
        let mut bytes = [7_u8; 8];
        // SAFETY: the bytes outlive the span.
        let span = unsafe { Span::at(bytes.as_mut_ptr(), bytes.len()) };
        assert!(span.write(2, &[1]));
        drop(span);
        assert_eq!(bytes, [7, 7, 1, 7, 7, 7, 7, 7]);
    }
}
