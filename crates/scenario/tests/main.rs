//! The tests of the crate as one program, which is linked once.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod apportioning;
mod arbitrary;
mod classes;
mod common;
mod controls;
mod forwarding;
mod lab;
mod mistakes;
mod multipath;
mod names;
mod nic;
mod page;
mod pauses;
mod planes;
mod programs;
mod resolve;
mod schema;
mod side_files;
mod sizes;
mod tenants;
mod traffic;
