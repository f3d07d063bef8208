//! The tests of the crate as one program, which is linked once.

#![expect(
    clippy::unwrap_used,
    reason = "a step of a test that fails fails the test"
)]

mod attack;
mod begin;
mod capture;
mod drum;
mod exec;
mod explain;
mod live;
mod messages;
mod pages;
mod programs;
mod reproduce;
mod results;
mod stat;
mod support;
mod sweep;
mod tshark;
