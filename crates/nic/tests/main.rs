//! The tests of the crate as one program, which is linked once.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod apportioning;
mod parameters;
mod pipe;
mod ports;
mod quantum;
mod queue_pair;
mod subflows;
