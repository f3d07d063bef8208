//! Pointers that C has.

use crate::guard::Errno;
use crate::layout::{Channel, CmEvent, CmId, PathRecord};

/// A pointer that this library has given to C, or has got from libibverbs.
#[derive(Debug)]
pub(crate) struct Ptr<T>(pub(crate) *mut T);

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ptr<T> {}

// SAFETY: what it points to is used under the lock of the world, or belongs to libibverbs, which has locks of its own.
unsafe impl<T> Send for Ptr<T> {}

impl<T> Ptr<T> {
    pub(crate) fn give(value: T) -> Self {
        Self(Box::into_raw(Box::new(value)))
    }

    /// Its number.
    pub(crate) fn key(self) -> usize {
        self.0.addr()
    }
}

impl Ptr<CmId> {
    /// What the program sees of an id. The lock of the world is held, and programs read only.
    pub(crate) fn seen<'a>(self) -> &'a mut CmId {
        // SAFETY: ids are in the world from `rdma_create_id` to `rdma_destroy_id`, and only those are asked for.
        unsafe { &mut *self.0 }
    }

    /// Takes an id back for good, with its path.
    pub(crate) fn take(self) {
        // SAFETY: `give` has made it, and the world has just forgotten it.
        let id = unsafe { Box::from_raw(self.0) };
        if !id.route.path_rec.is_null() {
            Ptr(id.route.path_rec).take();
        }
    }
}

impl Ptr<PathRecord> {
    pub(crate) fn take(self) {
        // SAFETY: `give` has made it, and its id has just forgotten it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Ptr<Channel> {
    pub(crate) fn take(self) {
        // SAFETY: `give` has made it, and the world has just forgotten it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// An event with what it points to.
#[repr(C)]
pub(crate) struct Event {
    pub(crate) seen: CmEvent,
    /// What the peer says; longer than any private data.
    pub(crate) said: [u8; 256],
    /// The id that waits for its acknowledgement.
    pub(crate) of: usize,
}

impl Ptr<Event> {
    pub(crate) fn event<'a>(self) -> &'a mut Event {
        // SAFETY: events exist from `give` to `rdma_ack_cm_event`.
        unsafe { &mut *self.0 }
    }

    pub(crate) fn of_program(seen: *mut CmEvent) -> Result<Self, Errno> {
        // An event begins with what the program sees.
        (!seen.is_null())
            .then_some(Self(seen.cast()))
            .ok_or(Errno::INVALID)
    }

    pub(crate) fn take(self) {
        // SAFETY: `give` has made it, and the program has acknowledged it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Writes what C wants to be told.
pub(crate) fn tell<T>(to: *mut T, value: T) -> Result<(), Errno> {
    if to.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: programs pass null or room for a value.
    unsafe { to.write(value) };
    Ok(())
}

/// Reads what C says, if it says anything.
pub(crate) fn read<T: Copy>(from: *const T) -> Option<T> {
    // SAFETY: programs pass null or a value.
    (!from.is_null()).then(|| unsafe { from.read() })
}

/// The `length` bytes at a pointer of C; none if it is null.
pub(crate) fn bytes<'a>(from: *const u8, length: usize) -> &'a [u8] {
    if from.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: programs pass so many bytes.
    unsafe { std::slice::from_raw_parts(from, length) }
}
