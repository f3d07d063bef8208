//! The way out of this library: errors become errno, and no panic passes.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use fairlane_softnic::{Error, PostError};

use crate::abi::OrMinus;

/// An error number of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

impl Errno {
    pub(crate) const INVALID: Self = Self(libc::EINVAL);
    pub(crate) const NO_MEMORY: Self = Self(libc::ENOMEM);
    pub(crate) const NOT_SUPPORTED: Self = Self(libc::EOPNOTSUPP);
}

impl From<Error> for Errno {
    fn from(error: Error) -> Self {
        Self(match error {
            Error::Bind(_, error) | Error::System(_, error) => {
                error.raw_os_error().unwrap_or(libc::EIO)
            }
            Error::Busy(_) => libc::EBUSY,
            Error::Exhausted(_) | Error::Post(PostError::Full) => libc::ENOMEM,
            _ => libc::EINVAL,
        })
    }
}

/// What a function returns to C if something goes wrong.
pub(crate) trait Outcome {
    fn failed(errno: Errno) -> Self;
}

impl Outcome for c_int {
    /// The number itself, as most verbs do.
    fn failed(errno: Errno) -> Self {
        errno.0
    }
}

impl<T> Outcome for *const T {
    fn failed(_: Errno) -> Self {
        std::ptr::null()
    }
}

impl<T> Outcome for *mut T {
    fn failed(_: Errno) -> Self {
        std::ptr::null_mut()
    }
}

impl Outcome for () {
    fn failed(_: Errno) -> Self {}
}

impl Outcome for OrMinus<c_int> {
    fn failed(_: Errno) -> Self {
        Self(-1)
    }
}

impl Outcome for OrMinus<isize> {
    /// Some return the number negated; the sign is what callers look at.
    fn failed(errno: Errno) -> Self {
        Self(-(errno.0 as isize))
    }
}

macro_rules! zero_if_failed {
    ($($type:ty)*) => {$(
        impl Outcome for $type {
            fn failed(_: Errno) -> Self {
                0
            }
        }
    )*};
}
zero_if_failed!(u8 u16 u32 u64);

/// Runs what a function of this library does.
pub(crate) fn run<R: Outcome>(act: impl FnOnce() -> Result<R, Errno>) -> R {
    // Whatever a panic leaves half done is behind locks that don't mind.
    let errno = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(result)) => return result,
        Ok(Err(errno)) => errno,
        Err(_) => Errno(libc::EIO),
    };
    set(errno);
    R::failed(errno)
}

/// Sets errno.
#[allow(unsafe_code, reason = "errno is a place of the C library")]
pub(crate) fn set(errno: Errno) {
    // SAFETY: it returns a place of this thread.
    unsafe { *libc::__errno_location() = errno.0 };
}

/// Makes panics say what has happened in one line. The hook belongs to this library: programs have another, if any.
pub(crate) fn one_line_for_panics() {
    static ONCE: Once = Once::new();
    if cfg!(test) {
        return;
    }
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            crate::words::say(&format!("bug in this library: {panic}").replace('\n', " "));
        }));
    });
}

/// Functions that are exported.
macro_rules! entry {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: <$type as $crate::args::Wire>::Raw),*) $(-> $ret)? {
            $(let $arg = <$type as $crate::args::Wire>::of($arg);)*
            $crate::guard::run(|| $body)
        }
    )*};
}

/// Functions that programs reach through pointers.
macro_rules! callback {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        pub(crate) unsafe extern "C" fn $name($($arg: <$type as $crate::args::Wire>::Raw),*) $(-> $ret)? {
            $(let $arg = <$type as $crate::args::Wire>::of($arg);)*
            $crate::guard::run(|| $body)
        }
    )*};
}
pub(crate) use {callback, entry};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_errors() {
        let number: c_int = run(|| panic!("no"));
        assert_eq!(number, libc::EIO);
        let pointer: *const u8 = run(|| panic!("no"));
        assert!(pointer.is_null());
        let minus: OrMinus<c_int> = run(|| Err(Errno::INVALID));
        assert_eq!(minus.0, -1);
        assert_eq!(
            std::io::Error::last_os_error().raw_os_error(),
            Some(libc::EINVAL)
        );
    }
}
