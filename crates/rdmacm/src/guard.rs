//! The way out of this library: errors become errno, and no panic passes.

use std::ffi::c_int;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// An error number of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

impl Errno {
    pub(crate) const INVALID: Self = Self(libc::EINVAL);
    pub(crate) const NO_MEMORY: Self = Self(libc::ENOMEM);
    pub(crate) const NO_DEVICE: Self = Self(libc::ENODEV);
    pub(crate) const NOT_SUPPORTED: Self = Self(libc::EOPNOTSUPP);

    /// What the last call of the C library has left.
    pub(crate) fn last() -> Self {
        let error = std::io::Error::last_os_error().raw_os_error();
        Self(error.filter(|code| *code != 0).unwrap_or(libc::EIO))
    }
}

impl From<fairlane_cm::Error> for Errno {
    fn from(error: fairlane_cm::Error) -> Self {
        Self(match error {
            fairlane_cm::Error::InUse => libc::EADDRINUSE,
            fairlane_cm::Error::Full => libc::ENOMEM,
            _ => libc::EINVAL,
        })
    }
}

impl From<fairlane_cm::Malformed> for Errno {
    fn from(_: fairlane_cm::Malformed) -> Self {
        Self::INVALID
    }
}

/// What a function returns to C if something goes wrong.
pub(crate) trait Outcome {
    fn failed() -> Self;
}

impl Outcome for c_int {
    fn failed() -> Self {
        -1
    }
}

impl Outcome for u16 {
    fn failed() -> Self {
        0
    }
}

impl Outcome for () {
    fn failed() -> Self {}
}

impl<T> Outcome for *mut T {
    fn failed() -> Self {
        std::ptr::null_mut()
    }
}

impl<T> Outcome for *const T {
    fn failed() -> Self {
        std::ptr::null()
    }
}

/// Runs what a function of this library does.
pub(crate) fn run<R: Outcome>(act: impl FnOnce() -> Result<R, Errno>) -> R {
    // Whatever a panic leaves half done is behind a lock that doesn't mind.
    let errno = match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(result)) => return result,
        Ok(Err(errno)) => errno,
        Err(_) => Errno(libc::EIO),
    };
    // SAFETY: it returns a place of this thread.
    unsafe { *libc::__errno_location() = errno.0 };
    R::failed()
}

/// Makes panics say what has happened in one line. The hook belongs to this library: programs have another, if any.
pub(crate) fn one_line_for_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let line = format!("bug in this library: {panic}").replace('\n', " ");
            // Nobody may be there to read it.
            let _ = writeln!(std::io::stderr(), "fairlane: {line}");
        }));
    });
}

/// Functions that are exported. Who calls them promises that pointers are null or what their types say, as the manual pages do.
macro_rules! entry {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            $crate::guard::run(|| $body)
        }
    )*};
}
pub(crate) use entry;
