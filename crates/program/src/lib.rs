//! What the ranks of a parallel program compute and say to each other.
//!
//! A [`Program`] is what traces are read into and what training steps are made of. Each rank has operations, and
//! an operation begins when those before it have ended. Nothing here says how long communication takes: a fabric does.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod error;
mod expansion;
mod operation;
pub mod pattern;

pub use error::Error;
pub use expansion::{Expansion, Instance, LONGEST, MOST_NODES, Message, Node, Step};
pub use operation::{Algorithm, Collective, Kind, Operation, Program, Work};
