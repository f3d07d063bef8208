//! The tests of the crate as one program, which is linked once.

#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod apportioning;
mod behaviour;
mod capture;
mod chosen;
mod classes;
mod collectives;
mod common;
mod controllers;
mod controls;
mod deadlocks;
mod determinism;
mod exact;
mod exact_pause;
mod faults;
mod forwarding;
mod goodput;
mod headroom;
mod iofd;
mod limits;
mod load;
mod matrix;
mod metrics;
mod multipath;
mod nic;
mod nscc;
mod parallel;
mod parity;
mod planes;
mod progress;
mod random;
mod rates;
mod receivers;
mod scopes;
mod stall;
mod standing;
mod storm;
mod tenants;
mod threads;
mod topology;
mod unequal;
mod verbs;
mod warnings;
mod workload;
