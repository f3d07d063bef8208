//! A library to preload: functions of libc that take paths look for folders of RDMA devices in the tree that `FAIRLANE_SYSFS` names.
//!
//! The library serves where a process may not have a mount namespace, as in containers by default. What it doesn't reach:
//! programs that are linked statically or make system calls themselves, paths relative to a descriptor, libc's own `glob`, and
//! lists of `/sys/class` and `/dev`.
//!
//! Functions may be called from anywhere, by an allocator that is being set up, too: they allocate nothing and take no lock.
//!
//! Invariants of the `unsafe` blocks: pointers are what the program gave libc's function of that name, to which all go that aren't paths of
//! ours; symbols of libc have the types that its headers declare. The optional argument of `open` is passed as C passes all small integers, so that a function of
//! three arguments receives it (System V ABI of x86-64 and AArch64).
#![allow(unsafe_code, reason = "functions of libc")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{mode_t, size_t, ssize_t};

/// The variable that names the tree.
const VARIABLE: &CStr = c"FAIRLANE_SYSFS";
/// What is in it.
const PLACES: [&[u8]; 3] = [
    b"/sys/class/infiniband",
    b"/sys/class/infiniband_verbs",
    b"/dev/infiniband",
];

const ROOM: usize = libc::PATH_MAX as usize;

/// A path that leads into the tree.
struct Redirected([u8; ROOM]);

impl Redirected {
    const fn new() -> Self {
        Self([0; ROOM])
    }

    /// The path to take instead of a program's, which is this one unless it is one of ours.
    fn of(&mut self, path: *const c_char) -> *const c_char {
        if path.is_null() {
            return path;
        }
        // SAFETY: a path ends with a zero.
        let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
        if !PLACES.iter().any(|place| is_within(bytes, place)) {
            return path;
        }
        // SAFETY: the name ends with a zero.
        let tree = unsafe { libc::getenv(VARIABLE.as_ptr()) };
        if tree.is_null() {
            return path;
        }
        // SAFETY: a variable ends with a zero.
        let tree = unsafe { CStr::from_ptr(tree) }.to_bytes();
        let whole = tree.iter().chain(bytes).chain(&[0]);
        if tree.len() + bytes.len() >= self.0.len() {
            return path;
        }
        self.0
            .iter_mut()
            .zip(whole)
            .for_each(|(to, byte)| *to = *byte);
        self.0.as_ptr().cast()
    }
}

/// Whether a path is that of a place or leads into it.
fn is_within(path: &[u8], place: &[u8]) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
}

/// The next function of a name behind this library's, which is libc's; null if it has none.
fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let found = known.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    known.store(found, Ordering::Relaxed);
    found
}

fn set_errno(error: c_int) {
    // SAFETY: it is this thread's.
    unsafe { *libc::__errno_location() = error };
}

/// Functions of libc with the place of the path among their arguments, and what they return if they fail.
macro_rules! functions {
    ($($name:ident([$($before:ident: $first:ty),*] path $(, $after:ident: $last:ty)*) -> $result:ty, $failed:expr;)*) => {$(
        /// libc's, but for folders of devices.
        ///
        /// # Safety
        /// As libc's.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C" fn $name($($before: $first,)* path: *const c_char $(, $after: $last)*) -> $result {
            type Function = unsafe extern "C" fn($($first,)* *const c_char $(, $last)*) -> $result;
            static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            let found = next(NAME, &NEXT);
            if found.is_null() {
                set_errno(libc::ENOSYS);
                return $failed;
            }
            // SAFETY: it is libc's function of this name.
            let function = unsafe { std::mem::transmute::<*mut c_void, Function>(found) };
            let mut redirected = Redirected::new();
            // SAFETY: the arguments are the program's.
            unsafe { function($($before,)* redirected.of(path) $(, $after)*) }
        }
    )*};
}

functions! {
    open([] path, flags: c_int, mode: mode_t) -> c_int, -1;
    open64([] path, flags: c_int, mode: mode_t) -> c_int, -1;
    openat([folder: c_int] path, flags: c_int, mode: mode_t) -> c_int, -1;
    openat64([folder: c_int] path, flags: c_int, mode: mode_t) -> c_int, -1;
    fopen([] path, mode: *const c_char) -> *mut c_void, ptr::null_mut();
    fopen64([] path, mode: *const c_char) -> *mut c_void, ptr::null_mut();
    opendir([] path) -> *mut c_void, ptr::null_mut();
    chdir([] path) -> c_int, -1;
    scandir([] path, list: *mut c_void, choose: *mut c_void, compare: *mut c_void) -> c_int, -1;
    scandir64([] path, list: *mut c_void, choose: *mut c_void, compare: *mut c_void) -> c_int, -1;
    access([] path, mode: c_int) -> c_int, -1;
    eaccess([] path, mode: c_int) -> c_int, -1;
    euidaccess([] path, mode: c_int) -> c_int, -1;
    faccessat([folder: c_int] path, mode: c_int, flags: c_int) -> c_int, -1;
    stat([] path, to: *mut c_void) -> c_int, -1;
    stat64([] path, to: *mut c_void) -> c_int, -1;
    lstat([] path, to: *mut c_void) -> c_int, -1;
    lstat64([] path, to: *mut c_void) -> c_int, -1;
    fstatat([folder: c_int] path, to: *mut c_void, flags: c_int) -> c_int, -1;
    fstatat64([folder: c_int] path, to: *mut c_void, flags: c_int) -> c_int, -1;
    statx([folder: c_int] path, flags: c_int, mask: c_uint, to: *mut c_void) -> c_int, -1;
    readlink([] path, to: *mut c_char, room: size_t) -> ssize_t, -1;
    readlinkat([folder: c_int] path, to: *mut c_char, room: size_t) -> ssize_t, -1;
    realpath([] path, to: *mut c_char) -> *mut c_char, ptr::null_mut();
    canonicalize_file_name([] path) -> *mut c_char, ptr::null_mut();
    // What programs call that were compiled with _FORTIFY_SOURCE, or for glibc before 2.33.
    __open_2([] path, flags: c_int) -> c_int, -1;
    __open64_2([] path, flags: c_int) -> c_int, -1;
    __openat_2([folder: c_int] path, flags: c_int) -> c_int, -1;
    __openat64_2([folder: c_int] path, flags: c_int) -> c_int, -1;
    __readlink_chk([] path, to: *mut c_char, room: size_t, most: size_t) -> ssize_t, -1;
    __realpath_chk([] path, to: *mut c_char, most: size_t) -> *mut c_char, ptr::null_mut();
    __xstat([version: c_int] path, to: *mut c_void) -> c_int, -1;
    __xstat64([version: c_int] path, to: *mut c_void) -> c_int, -1;
    __lxstat([version: c_int] path, to: *mut c_void) -> c_int, -1;
    __lxstat64([version: c_int] path, to: *mut c_void) -> c_int, -1;
    __fxstatat([version: c_int, folder: c_int] path, to: *mut c_void, flags: c_int) -> c_int, -1;
    __fxstatat64([version: c_int, folder: c_int] path, to: *mut c_void, flags: c_int) -> c_int, -1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_devices_lead_elsewhere() {
        for (path, within) in [
            (&b"/sys/class/infiniband"[..], true),
            (b"/sys/class/infiniband/fairlane0", true),
            (b"/sys/class/infiniband_verbs/uverbs0/dev", true),
            (b"/sys/class/infiniband_mad", false),
            (b"/sys/class", false),
            (b"/dev/infiniband/", true),
            (b"dev/infiniband", false),
            (b"", false),
        ] {
            let found = PLACES.iter().any(|place| is_within(path, place));
            assert_eq!(found, within, "{}", String::from_utf8_lossy(path));
        }
    }
}
