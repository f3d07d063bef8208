//! Which listener of this host localhost is.
#![allow(dead_code, reason = "the library uses the rest")]

// The library is an archive for C, which no test can be linked with.
#[path = "../src/signs.rs"]
mod signs;
