//! Layouts of libibverbs, as programs have them compiled in (x86-64 and other 64-bit Linux).
//!
//! Only what programs look into is named; the rest is room. `tests/layout.rs` holds sizes and offsets against the headers.

#![forbid(unsafe_code)]

mod attributes;
mod context;
mod objects;
mod pair;
mod work;

pub use attributes::*;
pub use context::*;
pub use objects::*;
pub use pair::*;
pub use work::*;

/// A GID: an IPv6 address, or one of IPv4 mapped into it.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gid {
    /// Its bytes in network order.
    pub raw: [u8; 16],
}

/// A mutex of the C library, which nobody locks.
#[repr(C, align(8))]
#[derive(Debug, Default)]
pub struct MutexRoom([u64; 5]);

/// A condition variable of the C library, which nobody waits for.
#[repr(C, align(8))]
#[derive(Debug, Default)]
pub struct ConditionRoom([u64; 6]);

/// A number, or -1 (of sizes a negative one) with errno set.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrMinus<T>(pub T);
