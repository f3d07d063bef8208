//! The tests of the crate as one program, which is linked once.

mod allocator;
mod at_least;
mod bounded;
mod certificates;
mod clarabel;
mod common;
#[allow(dead_code, reason = "benchmarks use the rest of it")]
mod conic;
mod coupled;
mod dual;
mod extremes;
mod floors;
mod gaps;
mod instances;
mod large;
mod linear;
mod max_min;
mod mixed;
mod network;
mod problems;
mod random;
mod schedules;
mod selection;
mod settled;
mod throughput;

mod vectors;
