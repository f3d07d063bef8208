//! The tests of the crate as one program, which is linked once.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod mutations;
mod programs;
