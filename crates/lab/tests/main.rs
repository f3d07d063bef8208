//! Tests of software NICs at the hosts of a simulated fabric.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failure fails the test"
)]

mod cost;
mod live;
mod replay;
