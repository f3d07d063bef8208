//! What C passes: pointers that become references here.
//!
//! Functions of this library are `unsafe`: who calls them promises that each pointer is null or what its type says, as
//! the manual pages do. The `unsafe` code of this file relies on nothing else.
#![allow(unsafe_code, reason = "C passes pointers")]

use std::mem::MaybeUninit;

use crate::guard::Errno;
use crate::object::Object;

/// A pointer to an object of this library.
#[derive(Debug)]
pub(crate) struct Handle<T: Object>(pub(crate) *const T::Public);

impl<T: Object> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Object> Copy for Handle<T> {}

impl<T: Object> Handle<T> {
    /// The object; null is an invalid argument.
    pub(crate) fn get<'a>(self) -> Result<&'a T, Errno> {
        self.option().ok_or(Errno::INVALID)
    }

    /// The object, if there is one.
    pub(crate) fn option<'a>(self) -> Option<&'a T> {
        // SAFETY: the pointer is null or came from `object::give` and hasn't been taken back.
        (!self.0.is_null()).then(|| unsafe { &*T::behind(self.0) })
    }
}

/// A pointer to a value that C wants to be told, not necessarily with anything in it.
#[derive(Debug)]
pub(crate) struct Out<T>(pub(crate) *mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Tells it; null is an invalid argument.
    pub(crate) fn set(self, value: T) -> Result<(), Errno> {
        if self.0.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: there is room for a value.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Tells as many bytes of it as there is room for.
    pub(crate) fn set_part(self, value: &T, room: usize) -> Result<(), Errno>
    where
        T: Copy,
    {
        if self.0.is_null() {
            return Err(Errno::INVALID);
        }
        let length = room.min(size_of::<T>());
        // SAFETY: there is room for so many bytes, and the value has them.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const *value).cast::<u8>(), self.0.cast(), length)
        };
        // What a later version has behind that isn't known here.
        // SAFETY: there is room for `room` bytes.
        unsafe {
            self.0
                .cast::<u8>()
                .add(length)
                .write_bytes(0, room - length)
        };
        Ok(())
    }

    /// The value, which C has filled in.
    pub(crate) fn filled<'a>(self) -> Result<&'a mut T, Errno> {
        // SAFETY: the pointer is null or leads to a value that nobody else uses meanwhile.
        unsafe { self.0.as_mut() }.ok_or(Errno::INVALID)
    }

    /// Room for so many values.
    pub(crate) fn array<'a>(self, count: usize) -> Result<&'a mut [MaybeUninit<T>], Errno> {
        if count == 0 {
            return Ok(&mut []);
        }
        if self.0.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: there is room for so many values.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), count) })
    }
}

/// A pointer to values that C has filled in.
#[derive(Debug)]
pub(crate) struct In<T>(pub(crate) *const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    /// The value; null is an invalid argument.
    pub(crate) fn get<'a>(self) -> Result<&'a T, Errno> {
        // SAFETY: the pointer is null or leads to a value.
        unsafe { self.0.as_ref() }.ok_or(Errno::INVALID)
    }

    /// An array of `count` values; null is an invalid argument unless `count` is 0.
    pub(crate) fn array<'a>(self, count: usize) -> Result<&'a [T], Errno> {
        if count == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: there are so many values.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

impl In<std::ffi::c_char> {
    /// A text that ends with a zero.
    pub(crate) fn text<'a>(self) -> Result<&'a std::ffi::CStr, Errno> {
        if self.0.is_null() {
            return Err(Errno::INVALID);
        }
        // SAFETY: it ends with a zero.
        Ok(unsafe { std::ffi::CStr::from_ptr(self.0) })
    }
}

/// An argument as C passes it, and as it is used here.
pub(crate) trait Wire {
    type Raw;

    fn of(raw: Self::Raw) -> Self;
}

impl<T: Object> Wire for Handle<T> {
    type Raw = *const T::Public;

    fn of(raw: Self::Raw) -> Self {
        Self(raw)
    }
}

impl<T> Wire for Out<T> {
    type Raw = *mut T;

    fn of(raw: Self::Raw) -> Self {
        Self(raw)
    }
}

impl<T> Wire for In<T> {
    type Raw = *const T;

    fn of(raw: Self::Raw) -> Self {
        Self(raw)
    }
}

macro_rules! as_it_is {
    ($([$($param:ident)?] $type:ty;)*) => {$(
        impl<$($param)?> Wire for $type {
            type Raw = Self;

            fn of(raw: Self) -> Self {
                raw
            }
        }
    )*};
}
as_it_is!([] u8; [] u16; [] u32; [] u64; [] usize; [] i32; [T] *const T; [T] *mut T;);

/// Requests that lead to the next one.
pub(crate) trait Linked: Sized {
    fn next(&self) -> *mut Self;
}

/// Hands over requests of a list until one isn't taken, which is then told.
pub(crate) fn each<T: Linked + 'static>(
    first: Out<T>,
    bad: Out<*mut T>,
    mut take: impl FnMut(&T) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut at = first.0;
    // SAFETY: the pointer is null or leads to a request, as those of requests do.
    while let Some(request) = unsafe { at.as_ref() } {
        if let Err(errno) = take(request) {
            bad.set(at)?;
            return Err(errno);
        }
        at = request.next();
    }
    Ok(())
}

/// The request at a place of a list that is at least so long.
pub(crate) fn nth<T: Linked + 'static>(first: Out<T>, at: usize) -> *mut T {
    (0..at).fold(first.0, |own, _| {
        // SAFETY: as above.
        unsafe { own.as_ref() }.map_or(own, Linked::next)
    })
}
