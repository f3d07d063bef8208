//! Cases of other simulators as scenarios: [`hpcc`] imports those of HPCC's ns-3 simulator, [`conweave`] those of one that
//! descends from it, [`htsim`] connection matrices and fat trees of htsim.
//!
//! What this crate refuses: a key that it would have to leave out without saying so; to panic on any input.
#![forbid(unsafe_code)]

pub mod conweave;
pub mod hpcc;
pub mod htsim;
mod imported;

pub use imported::{Imported, Traffic};
